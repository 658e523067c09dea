//! `rewake workspace import`: files for a session that rests, brought in whole or not at all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use rewake_tests::bundles::Draft;
use rewake_tests::program::{Program, text};

/// Enough that a copy of them takes a while.
const FILES: usize = 200;
const FILE_BYTES: usize = 64 << 10;

/// A program with a session that was given a folder, and another folder to bring in.
struct Given {
    program: Program,
    id: String,
}

impl Given {
    fn new() -> Given {
        let program = Program::new();
        for (path, words) in [("first/a.txt", "one\n"), ("first/b.txt", "old\n"), ("more/b.txt", "new\n")] {
            let path = program.beside(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, words).unwrap();
        }
        let bundle = program.bundle(&Draft::scripted());
        let first = text(&program.beside("first"));
        let made = program.run(&["run", "--grant-asked", &bundle, "--workspace", &first]).expect(0);
        let id = made.stdout.trim().to_owned();
        Given { program, id }
    }

    fn more(&self) -> String {
        text(&self.program.beside("more"))
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.program.data().join("workspaces").join(&self.id).join(path)
    }

    fn diff(&self) -> String {
        self.program.run(&["workspace", "diff", &self.id, "--names"]).expect(0).stdout
    }
}

#[test]
fn files_come_in_and_are_not_taken_for_the_session_s_work() {
    let given = Given::new();
    symlink("/etc/passwd", given.program.beside("more/out")).unwrap();
    fs::write(given.inside("mine.txt"), "mine\n").unwrap();
    let told = given.program.run(&["workspace", "import", &given.id, &given.more()]).expect(0);
    told.says(&[
        "1 file or folder (4 bytes) brought into the workspace",
        "1 thing was left out",
        "run --session",
    ]);
    assert_eq!(fs::read_to_string(given.inside("b.txt")).unwrap(), "new\n");
    assert!(given.inside("a.txt").exists() && given.inside("mine.txt").exists());
    assert_eq!(given.diff(), "A mine.txt\n");
    // What is compared with is what was brought, and not what stands in the folder that it all began with.
    fs::write(given.inside("b.txt"), "newer\n").unwrap();
    let shown = given.program.run(&["workspace", "diff", &given.id]).expect(0).stdout;
    assert!(shown.contains("M b.txt\n  (not shown") && !shown.contains("-old"), "{shown}");
    let shown =
        given.program.run(&["workspace", "diff", &given.id, "--against", &given.more()]).expect(0).stdout;
    assert!(shown.contains("-new\n+newer\n"), "{shown}");

    let told = given.program.run(&["workspace", "import", &given.id, &given.more(), "--replace"]).expect(0);
    told.says(&["and it holds nothing else now"]);
    assert!(!given.inside("a.txt").exists() && given.diff().is_empty());
    given.program.tell(&given.id, "[]").expect(0);
    assert_eq!(given.program.check(&given.id).count("workspace.imported"), 2);
}

#[test]
fn what_cannot_be_brought_in_is_said() {
    let given = Given::new();
    let none = text(&given.program.beside("none"));
    given.program.run(&["workspace", "import", &given.id, &none]).expect(2).says(&["is not a folder"]);
    let holding = text(given.program.data().parent().unwrap());
    given
        .program
        .run(&["workspace", "import", &given.id, &holding])
        .expect(2)
        .says(&["holds Rewake's own data"]);
    let unknown = "ses_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    given.program.run(&["workspace", "import", unknown, &given.more()]).expect(2).says(&[unknown]);
    given.program.tell(&given.id, r#"[{ "op": "ask", "id": "q", "text": "?" }]"#).expect(5);
    let refused = given.program.run(&["workspace", "import", &given.id, &given.more()]).expect(2);
    refused.says(&["turn 1 of", "is open", "interrupt it"]);
    assert_eq!(given.program.events(&given.id).count("workspace.imported"), 0);
}

/// Wherever it is killed: what the journal says came is there, and what it does not say is not.
#[test]
fn a_killed_import_came_whole_or_not_at_all() {
    let given = Given::new();
    let beside = given.program.data().join("workspaces").join(format!(".import-{}", given.id));
    for n in 0..FILES {
        fs::write(given.program.beside("more").join(format!("{n}")), vec![b'x'; FILE_BYTES]).unwrap();
    }
    let args = ["workspace", "import", &given.id, &text(&given.program.beside("more"))];
    let is_made = || {
        fs::read_dir(&beside).is_ok_and(|mut found| {
            found
                .next()
                .is_some_and(|epoch| epoch.is_ok_and(|epoch| epoch.path().join("baseline.json").exists()))
        })
    };
    for (n, later) in [0, 0, 5, 20, 60, 150].into_iter().enumerate() {
        let brought = format!("brought {n}\n");
        fs::write(given.program.beside("more/b.txt"), &brought).unwrap();
        let before = given.program.events(&given.id).count("workspace.imported");
        let mut importing = given.program.start(&args);
        importing.until("it is being made", || beside.exists());
        if n > 0 {
            importing.until("it is made", is_made);
        }
        std::thread::sleep(Duration::from_millis(later));
        importing.kill_if_there();
        given.program.tell(&given.id, "[]").expect(0);
        let came = given.program.events(&given.id).count("workspace.imported") - before;
        let is_there = fs::read_to_string(given.inside("b.txt")).unwrap() == brought;
        assert_eq!(came == 1, is_there, "killed {later} ms later: {came} imports");
        assert_eq!(
            given.inside("199").exists(),
            given.program.events(&given.id).count("workspace.imported") > 0
        );
        assert!(!beside.exists());
    }
    given.program.check(&given.id);
}
