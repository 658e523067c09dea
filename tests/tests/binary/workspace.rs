//! A session's work, seen and taken out: nothing is lost in the folder it came from, and nothing leads out.

use std::fs;
use std::path::PathBuf;

use rewake_tests::bundles::Draft;
use rewake_tests::program::{Program, text};

/// A program with a session whose workspace was copied from a folder, and then changed.
struct Worked {
    program: Program,
    id: String,
}

impl Worked {
    fn new() -> Worked {
        let program = Program::new();
        let source = program.beside("source");
        fs::create_dir_all(source.join("sub")).unwrap();
        fs::write(source.join("a.txt"), "one\ntwo\nthree\n").unwrap();
        fs::write(source.join("sub/gone.txt"), "old\n").unwrap();
        let bundle = program.bundle(&Draft::scripted());
        let made = program.run(&["run", "--grant-asked", &bundle, "--workspace", &text(&source)]).expect(0);
        let id = made.stdout.trim().to_owned();
        let worked = Worked { program, id };
        fs::write(worked.inside("a.txt"), "one\n2\nthree\n").unwrap();
        fs::write(worked.inside("new.txt"), "fresh\n").unwrap();
        fs::remove_file(worked.inside("sub/gone.txt")).unwrap();
        worked
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.program.data().join("workspaces").join(&self.id).join(path)
    }

    fn source(&self, path: &str) -> PathBuf {
        self.program.beside("source").join(path)
    }
}

#[test]
fn a_diff_shows_files_and_lines() {
    let worked = Worked::new();
    let names = worked.program.run(&["workspace", "diff", &worked.id, "--names"]).expect(0).stdout;
    assert_eq!(names, "M a.txt\nA new.txt\nD sub/gone.txt\n");
    let lines = worked.program.run(&["workspace", "diff", &worked.id]).expect(0).stdout;
    for line in ["M a.txt", "-two", "+2", " three", "+fresh", "-old"] {
        assert!(lines.lines().any(|found| found == line), "{line:?} is not in:\n{lines}");
    }
    // Without the folder it came from there is nothing to compare with, and that is said.
    fs::remove_dir_all(worked.source("")).unwrap();
    let lines = worked.program.run(&["workspace", "diff", &worked.id]).expect(0).stdout;
    assert!(lines.contains("M a.txt\n  (not shown") && lines.contains("+fresh"), "{lines}");
}

#[test]
fn a_workspace_is_exported_whole_into_a_new_folder_only() {
    let worked = Worked::new();
    let to = worked.program.beside("out");
    worked.program.run(&["workspace", "export", &worked.id, &text(&to)]).expect(0);
    assert_eq!(fs::read_to_string(to.join("a.txt")).unwrap(), "one\n2\nthree\n");
    assert!(to.join("new.txt").exists() && to.join("sub").is_dir() && !to.join("sub/gone.txt").exists());
    let again = worked.program.run(&["workspace", "export", &worked.id, &text(&to)]);
    again.expect(2).says(&["is not empty"]);
}

/// `N-A5`: an export that fails in the middle leaves nothing, so that the next one is not refused.
#[test]
fn an_export_that_fails_leaves_nothing() {
    let worked = Worked::new();
    // More folders inside each other than are copied: found after other files were copied.
    let deep = worked.inside("z").join("d/".repeat(130));
    fs::create_dir_all(&deep).unwrap();
    let (new, empty) = (worked.program.beside("new/out"), worked.program.beside("empty"));
    fs::create_dir(&empty).unwrap();
    for to in [&new, &empty] {
        let refused = worked.program.run(&["workspace", "export", &worked.id, &text(to)]);
        refused.expect(2).says(&["folders inside each other"]);
    }
    assert!(!new.parent().unwrap().exists(), "the folders on the way were made for it");
    assert!(fs::read_dir(&empty).unwrap().next().is_none());
    fs::remove_dir_all(worked.inside("z")).unwrap();
    for to in [&new, &empty] {
        worked.program.run(&["workspace", "export", &worked.id, &text(to)]).expect(0);
        assert_eq!(fs::read_to_string(to.join("a.txt")).unwrap(), "one\n2\nthree\n");
        let beside = fs::read_dir(to.parent().unwrap()).unwrap().flatten();
        assert!(beside.into_iter().all(|found| !found.path().to_string_lossy().contains(".part-")));
    }
}

#[test]
fn changes_are_brought_back_unless_the_folder_changed_too() {
    let worked = Worked::new();
    fs::write(worked.source("mine.txt"), "mine").unwrap();
    fs::write(worked.source("a.txt"), "mine too").unwrap();
    let refused = worked.program.run(&["workspace", "export", &worked.id, "--apply"]).expect(2);
    refused.says(&["have changed in the folder", "a.txt", "Nothing was done"]);
    assert!(!worked.source("new.txt").exists() && worked.source("sub/gone.txt").exists());
    fs::write(worked.source("a.txt"), "one\ntwo\nthree\n").unwrap();
    let applied = worked.program.run(&["workspace", "export", &worked.id, "--apply"]).expect(0).stdout;
    assert_eq!(applied, "changed a.txt\nadded new.txt\nremoved sub/gone.txt\n");
    assert_eq!(fs::read_to_string(worked.source("a.txt")).unwrap(), "one\n2\nthree\n");
    assert_eq!(fs::read_to_string(worked.source("mine.txt")).unwrap(), "mine");
    assert!(worked.source("new.txt").exists() && !worked.source("sub/gone.txt").exists());
}

#[test]
fn a_session_that_is_not_here_is_named() {
    let worked = Worked::new();
    let none = "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    worked.program.run(&["workspace", "diff", none]).expect(2).says(&[none]);
    fs::remove_file(worked.program.data().join("baselines").join(format!("{}.json", worked.id))).unwrap();
    worked.program.run(&["workspace", "diff", &worked.id]).expect(2).says(&["is not known", "export"]);
}
