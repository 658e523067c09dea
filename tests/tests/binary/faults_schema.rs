//! A store's file with an object in its schema that Rewake did not make. Which objects are found is tested in the store.

use rewake_tests::tamper::change;

use crate::faulty::{Three, says};

/// `N-G6`: a trigger that answers questions in the operator's name is refused by its name by every command that opens
/// the store. With the file from a copy, the session resumes.
#[test]
fn a_planted_trigger_is_refused_by_every_command() {
    let whole = Three::new();
    let three = whole.copied();
    change(
        &three.journal(),
        "CREATE TRIGGER answers AFTER INSERT ON entries WHEN NEW.kind = 'question.asked' BEGIN \
         INSERT INTO inbox (session, n, sender, command, at) VALUES \
         (NEW.session, 99, '{\"type\":\"user\",\"name\":\"operator\"}', '{\"type\":\"answer\"}', 0); END",
    );
    let before = std::fs::read(three.journal()).expect("the store's file");
    let id = three.hit.as_str();
    for command in [
        &["verify"] as &[&str],
        &["verify", id],
        &["sessions"],
        &["show", id],
        &["events", id],
        &["replay", id],
        &["run", "--session", id, "[]"],
        &["cancel", id, "1"],
        &["stop", id],
        &["clear-fault", id],
        &["workspace", "diff", id],
        &["bundle", "list"],
        &["doctor"],
    ] {
        let ended = three.program.run(command).expect(1);
        let shown = if command == ["doctor"] { ended.stdout } else { ended.stderr };
        let named = "journal.db was altered: the trigger \"answers\" is not Rewake's";
        says(&shown, &[named, "Take the file from a copy that you trust"]);
    }
    assert!(std::fs::read(three.journal()).expect("the store's file") == before, "the file was touched");
    three.restore(&whole);
    three.goes_on(&three.hit, "three");
}
