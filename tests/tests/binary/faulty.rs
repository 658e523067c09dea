//! A data folder with three sessions, one of which something goes wrong with. Knows how it is made, copied, looked at
//! and put right again; not what goes wrong.

use std::path::PathBuf;

use rewake_tests::journal::Events;
use rewake_tests::program::{Ended, Program};
use rewake_tests::tamper::log_of;
use serde_json::{Value, json};

use crate::cut::{append, call, scripted};

/// Three sessions that rest after two turns each. In the store's file they have the numbers 1 to 3.
pub(crate) struct Three {
    pub(crate) program: Program,
    /// What goes wrong goes wrong with it.
    pub(crate) hit: String,
    /// It may be drawn into it.
    pub(crate) second: String,
    /// It has nothing to do with it.
    pub(crate) other: String,
}

/// A turn that calls a tool that must not run twice, and says something.
pub(crate) fn turn(line: &str) -> Value {
    json!([call(&[append("append_once", line, 0)]), { "op": "say", "text": line }])
}

impl Three {
    pub(crate) fn new() -> Three {
        let program = Program::new();
        let bundle = program.bundle(&scripted());
        let create = || program.run(&["run", "--grant-asked", &bundle]).expect(0).stdout.trim().to_owned();
        let (hit, second, other) = (create(), create(), create());
        for id in [&hit, &second, &other] {
            for line in ["one", "two"] {
                program.tell(id, &turn(line).to_string()).expect(0);
            }
        }
        let three = Three { program, hit, second, other };
        assert!(!log_of(&three.journal()).exists(), "a process that ends well leaves one file");
        three
    }

    /// The same, in a data folder of its own.
    pub(crate) fn copied(&self) -> Three {
        let (hit, second, other) = (self.hit.clone(), self.second.clone(), self.other.clone());
        Three { program: self.program.copied(), hit, second, other }
    }

    /// The store's file.
    pub(crate) fn journal(&self) -> PathBuf {
        self.program.data().join("journal.db")
    }

    pub(crate) fn tell(&self, id: &str, line: &str) -> Ended {
        self.program.tell(id, &turn(line).to_string())
    }

    /// What `rewake verify` says of all of them, if it ends with this code.
    #[track_caller]
    pub(crate) fn verified(&self, code: i32) -> String {
        self.program.run(&["verify"]).expect(code).stdout
    }

    /// A session is told more, and nothing is wrong with it.
    #[track_caller]
    pub(crate) fn goes_on(&self, id: &str, line: &str) -> Events {
        let before = self.program.events(id);
        self.tell(id, line).expect(0);
        let events = self.program.check(id);
        assert!(events.0.starts_with(&before.0), "what was there has changed");
        assert_eq!(events.count("turn.completed"), before.count("turn.completed") + 1);
        self.did_once(id, line);
        events
    }

    /// A session that nothing went wrong with is told more, and nothing is wrong with it.
    #[track_caller]
    pub(crate) fn stands_by(&self, id: &str, line: &str) {
        self.tell(id, line).expect(0);
        self.program.run(&["verify", id]).expect(0);
        self.did_once(id, line);
    }

    /// Each line of a session's tools is there, and once.
    #[track_caller]
    pub(crate) fn did_once(&self, id: &str, last: &str) {
        let lines = ["one", "two", last].map(|line| self.program.lines(id, "log", line));
        assert_eq!(lines, [1, 1, 1], "{id}");
    }

    /// The row of a session in `rewake sessions`.
    #[track_caller]
    pub(crate) fn listed(&self, id: &str) -> String {
        let listed = self.program.run(&["sessions"]).expect(0).stdout;
        let row = listed.lines().find(|line| line.contains(id));
        row.unwrap_or_else(|| panic!("{id} is not in:\n{listed}")).to_owned()
    }

    /// The store's file is taken from a copy, as an operator does it.
    pub(crate) fn restore(&self, from: &Three) {
        for end in ["-wal", "-shm"] {
            let mut file = self.journal().into_os_string();
            file.push(end);
            // Not there, mostly.
            let _ = std::fs::remove_file(file);
        }
        std::fs::copy(from.journal(), self.journal()).expect("a copy of the store");
    }
}

/// All these words are in a text.
#[track_caller]
pub(crate) fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not in:\n{text}");
    }
}
