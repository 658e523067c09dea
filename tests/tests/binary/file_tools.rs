//! The tools of rewake/files in the sandbox, on what a case of a bundle's own tests cannot hold: thousands of
//! files, megabytes, links.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use rewake_tests::bundles::root;
use rewake_tests::program::{Ended, Program, text};
use serde_json::{Value, json};

/// A workspace beside the data folder, which tools change in place.
struct Workspace {
    program: Program,
    folder: PathBuf,
}

impl Workspace {
    fn new() -> Self {
        let program = Program::new();
        let folder = program.beside("work");
        fs::create_dir(&folder).expect("a folder");
        Self { program, folder }
    }

    fn put(&self, name: &str, content: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, content).expect("a file");
    }

    fn call(&self, tool: &str, input: &Value) -> Ended {
        let (input, folder) = (input.to_string(), text(&self.folder));
        let files = text(&root().join("plugins/files"));
        let fixed = ["--bundle", &files, "--workspace", &folder, "--in-place", "--grant-asked"];
        self.program.run(&[&["bundle", "call", tool, &input], &fixed[..]].concat())
    }

    #[track_caller]
    fn answers(&self, tool: &str, input: &Value) -> String {
        self.call(tool, input).expect(0).stdout
    }

    #[track_caller]
    fn fails(&self, tool: &str, input: &Value, words: &str) {
        self.call(tool, input).expect(3).says(&[words]);
    }
}

#[test]
fn a_folder_of_thousands_is_looked_through() {
    let work = Workspace::new();
    for number in 0..5000 {
        work.put(&format!("many/{number:04}.txt"), &format!("number {number}\n"));
    }
    let listed = work.answers("list_files", &json!({ "path": "many" }));
    assert!(listed.starts_with("0000.txt (9 bytes)\n") && listed.contains("first 500 of 5000"), "{listed}");
    let listed = work.answers("list_files", &json!({ "depth": 2 }));
    assert!(listed.trim_end().ends_with("many/0099.txt (10 bytes)\nmany/… (4900 more)"), "{listed}");
    let found = work.answers("glob", &json!({ "pattern": "49*.txt" }));
    assert_eq!(found.lines().count(), 100, "{found}");
    let found = work.answers("grep", &json!({ "pattern": "number 4999$" }));
    assert_eq!(found, "many/4999.txt\n1:number 4999\n");
}

#[test]
fn a_file_of_megabytes_is_read_searched_and_edited() {
    let work = Workspace::new();
    work.put("large.txt", &format!("{}needle\r\n", "0123456789\r\n".repeat(880_000)));
    let read = work.answers("read_file", &json!({ "path": "large.txt", "offset": 880_000 }));
    assert!(read.starts_with("880000\t0123456789\n880001\tneedle\n[lines end with CRLF"), "{read}");
    let found = work.answers("grep", &json!({ "pattern": "^needle$", "context": 1 }));
    assert_eq!(found, "large.txt\n880000-0123456789\n880001:needle\n");
    let input = json!({ "path": "large.txt", "old": "9\nneedle\n", "new": "9\nhay\nstack\n" });
    assert_eq!(work.answers("edit_file", &input), "changed `large.txt` at line 880000\n");
    let now = fs::read_to_string(work.folder.join("large.txt")).expect("the file");
    assert!(now.ends_with("0123456789\r\nhay\r\nstack\r\n"));
    work.fails("edit_file", &input, "this edit may have been made already");
    work.fails("edit_file", &json!({ "path": "large.txt", "old": "01", "new": "" }), "more than 1000 times");
}

#[test]
fn a_link_leads_nowhere_else_and_is_not_replaced() {
    let work = Workspace::new();
    work.put("notes/a.txt", "one\n");
    fs::write(work.program.beside("secret"), "secret\n").expect("a file");
    symlink("notes/a.txt", work.folder.join("inside")).expect("a link");
    symlink("../secret", work.folder.join("outside")).expect("a link");
    symlink("..", work.folder.join("up")).expect("a link");
    assert_eq!(work.answers("read_file", &json!({ "path": "inside" })), "1\tone\n");
    assert_eq!(work.answers("glob", &json!({ "pattern": "**/*.txt" })), "notes/a.txt\n");
    let listed = work.answers("list_files", &json!({ "depth": 3 }));
    assert_eq!(listed, "inside (link)\nnotes/\nnotes/a.txt (4 bytes)\noutside (link)\nup (link)\n");
    for (tool, path) in [("read_file", "outside"), ("read_file", "up/secret"), ("list_files", "up")] {
        work.fails(tool, &json!({ "path": path }), "a link on the way leads out of the workspace");
    }
    assert!(!work.answers("grep", &json!({ "pattern": "secret" })).contains(":secret"));
    let input = json!({ "path": "inside", "old": "one", "new": "two" });
    work.fails("edit_file", &input, "is a link to `notes/a.txt`");
    for path in ["outside", "up/secret"] {
        assert_ne!(work.call("write_file", &json!({ "path": path, "content": "new\n" })).code, Some(0));
    }
    assert_eq!(fs::read_to_string(work.program.beside("secret")).expect("the file"), "secret\n");
    assert_eq!(fs::read_to_string(work.folder.join("notes/a.txt")).expect("the file"), "one\n");
}

/// What the workspace's owner may do with a file is not changed by what an agent writes into it; nor does
/// that get a right that it runs with somebody else's.
#[test]
fn a_file_that_is_replaced_keeps_its_rights() {
    let work = Workspace::new();
    for (name, mode, kept) in [("run.sh", 0o755, 0o755), ("secret", 0o600, 0o600), ("lent", 0o4755, 0o755)] {
        work.put(name, "one\n");
        let path = work.folder.join(name);
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("rights");
        work.answers("edit_file", &json!({ "path": name, "old": "one", "new": "two" }));
        work.answers("write_file", &json!({ "path": name, "content": "three\n" }));
        let after = fs::metadata(&path).expect("the file").permissions().mode() & 0o7777;
        assert_eq!(after, kept, "{name}: {after:o}");
    }
}
