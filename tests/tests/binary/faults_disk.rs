//! A disk that fails under a write or a sync of a running session (journal.md R0): nothing is concluded from it, and
//! nothing is lost or done twice.

use rewake_tests::preload::{Call, JOURNAL, Preload, Then, WAL};
use rewake_tests::program::{Ended, Process};
use rewake_tests::tamper;
use serde_json::json;

use crate::cut::{LONG_MS, append, call};
use crate::faulty::{Three, says};

/// Whether every point is tried, or every so many of them.
const ALL: &str = "REWAKE_FAULT_POINTS";

/// One small turn, with a message that is to be there once.
fn begin(three: &Three, preload: &Preload) -> Process {
    let ops = json!([
        call(&[append("append_once", "three", 0)]),
        { "op": "say", "text": "after" },
    ]);
    three.program.start_with(&["run", "--session", &three.hit, &ops.to_string()], preload)
}

/// The calls of a kind that a turn makes.
fn count(three: &Three, kind: Call, file: &str) -> u64 {
    let log = three.program.beside("calls");
    let counts = Preload::new().rule(kind, file, 1..=u64::MAX, Then::Note).log(&log);
    begin(three, &counts).end().expect(0);
    Preload::noted(&log, kind, file) as u64
}

/// After a fault that passed: the process said what it did, and anyone who goes on finds the message once and its effect
/// once, or an outcome that is recorded as unknown.
fn settled(three: &Three, ended: &Ended, what: &str) {
    assert!(matches!(ended.code, Some(0 | 1)), "{what}: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{what}: {ended:?}");
    let told = ended.code == Some(1);
    if told {
        let says_so = ["not known whether", "the disk is full", "disk I/O error", "SQLite"];
        assert!(says_so.iter().any(|word| ended.stderr.contains(word)), "{what}: {ended:?}");
    }
    let taken =
        |three: &Three| tamper::number(&three.journal(), "SELECT count(*) FROM inbox WHERE session = 1");
    // A message that was told to be kept is.
    if taken(three) == 2 {
        assert!(told, "{what}: {ended:?}");
        three.tell(&three.hit, "three").expect(0);
    } else if told {
        three.program.resume(&three.hit).expect(0);
    }
    let events = three.program.check(&three.hit);
    assert_eq!(taken(three), 3, "{what}: the message is there once");
    assert_eq!(events.count("turn.completed"), 3, "{what}");
    let (lost, lines) = (events.count("tool.lost"), three.program.lines(&three.hit, "log", "three"));
    assert!(lines == 1 || lost == 1 && lines == 0, "{what}: {lines} lines, {lost} lost");
    three.program.run(&["verify", &three.second]).expect(0);
}

/// A11, R0: the Nth write or sync of a turn fails. The process mostly recovers alone, because it reopens the
/// file.
#[test]
fn a_disk_that_fails_once_loses_nothing() {
    let whole = Three::new();
    let all = std::env::var(ALL).is_ok_and(|points| points == "all");
    for (kind, file, then, step) in [
        (Call::Sync, WAL, Then::Eio, 1),
        (Call::Write, WAL, Then::Enospc, 11),
        (Call::Write, WAL, Then::Eio, 23),
        (Call::Write, WAL, Then::Short, 31),
        (Call::Write, JOURNAL, Then::Enospc, 6),
        (Call::Sync, JOURNAL, Then::Eio, 1),
    ] {
        let points = count(&whole.copied(), kind, file);
        assert!(points > 0, "{kind:?} of {file}");
        let (mut tried, mut met) = (0, 0);
        for n in (1..=points).step_by(if all { 1 } else { step }) {
            let three = whole.copied();
            let log = three.program.beside("met");
            let faults = Preload::new().rule(kind, file, n..=n, then).log(&log);
            let ended = begin(&three, &faults).end();
            settled(&three, &ended, &format!("{then:?} at {kind:?} {n} of {points} of {file}"));
            (tried, met) = (tried + 1, met + Preload::noted(&log, kind, file).min(1));
        }
        // What is counted in one run may be fewer in another; not many fewer.
        assert!(met * 10 >= tried * 8, "only {met} of {tried} failed: {then:?} at {kind:?} of {file}");
    }
}

/// A11: a disk that fails for good: the process exits with the reason, and the entries in the file verify.
#[test]
fn a_disk_that_stays_broken_is_told() {
    let whole = Three::new();
    for (kind, file, first, then, said) in [
        (Call::Sync, WAL, 1, Then::Eio, "disk I/O error"),
        (Call::Sync, WAL, 4, Then::Eio, "disk I/O error"),
        (Call::Sync, WAL, 6, Then::Eio, "disk I/O error"),
        (Call::Write, WAL, 3, Then::Enospc, "the disk is full"),
        (Call::Write, WAL, 30, Then::Enospc, "the disk is full"),
    ] {
        let three = whole.copied();
        let faults = Preload::new().rule(kind, file, first..=u64::MAX, then);
        let ended = begin(&three, &faults).end().expect(1).says(&[said]);
        says(&three.verified(0), &[&three.hit, &three.other]);
        settled(&three, &ended, &format!("{then:?} from {kind:?} {first} on"));
        three.stands_by(&three.other, "three");
    }
}

/// A disk that is full for a moment, while a session runs: it goes on by itself as soon as there is room.
#[test]
fn a_disk_that_is_full_for_a_moment_ends_nothing() {
    let three = Three::new();
    let full = three.program.beside("full");
    let disk = [WAL, JOURNAL].iter().fold(Preload::new(), |disk, file| {
        disk.rule(Call::Write, file, 1..=u64::MAX, Then::Enospc).only_while(&full)
    });
    let met = three.program.beside("met");
    let ops = json!([
        call(&[append("append_once", "three", LONG_MS)]),
        { "op": "say", "text": "after" },
    ]);
    let args = ["run", "--session", &three.hit, &ops.to_string()];
    let mut process = three.program.start_with(&args, &disk.log(&met));
    process.until("the tool's line", || three.program.lines(&three.hit, "log", "three") > 0);
    std::fs::write(&full, "").unwrap();
    process.until("a write that fails", || Preload::noted(&met, Call::Write, WAL) > 0);
    std::fs::remove_file(&full).unwrap();
    process.end().expect(0).says(&["the disk is full", "the session is loaded again"]);
    let events = three.program.check(&three.hit);
    three.did_once(&three.hit, "three");
    assert_eq!(events.count("session.loaded"), 4);
    three.stands_by(&three.other, "three");
}
