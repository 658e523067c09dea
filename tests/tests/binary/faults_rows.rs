//! Rows of the store that somebody changed, removed or moved: found, named, not built upon, and nobody else's matter.
//! What the storage refuses to anyone who asks it in SQL is tested in the store.

use rewake_tests::tamper::change;

use crate::faulty::{Three, says};

/// Something that is done to the rows of session 1, and what is then said of it.
struct Fault {
    rows: &'static str,
    /// What `verify` says of it.
    verify: &'static [&'static str],
    /// What going on with it says, with exit code 6.
    told: &'static [&'static str],
    /// What lists and `show` say from then on.
    fault: &'static str,
}

const CHAIN: &str = "the hash chain is broken: this entry or one before it was changed";

const JOURNAL_FAULTS: [Fault; 7] = [
    Fault {
        rows: "UPDATE entries SET turn = 9 WHERE session = 1 AND seq = 9",
        verify: &["broken at entry 9: ", CHAIN, "8 entries before it hold"],
        told: &["cannot be replayed", "entry 9", "rewake verify"],
        fault: "corrupt",
    },
    Fault {
        rows: "UPDATE entries SET kind = 'agent.dream' WHERE session = 1 AND seq = 20",
        verify: &["broken at entry 20: ", CHAIN],
        told: &["cannot be replayed", "entry 20"],
        fault: "corrupt",
    },
    Fault {
        rows: "UPDATE payloads SET bytes = x'7b7d' WHERE entry = \
               (SELECT id FROM entries WHERE session = 1 AND seq = 12)",
        verify: &["broken at entry 12: the payload is not the one that was appended"],
        told: &["cannot be replayed", "entry 12"],
        fault: "corrupt",
    },
    Fault {
        rows: "DELETE FROM payloads WHERE entry = (SELECT id FROM entries WHERE session = 1 AND seq = 12)",
        verify: &["broken at entry 12: its payload has been removed"],
        told: &["cannot be replayed", "entry 12"],
        fault: "corrupt",
    },
    Fault {
        rows: "DELETE FROM entries WHERE session = 1 AND seq = 9",
        verify: &["broken at entry 9: missing; the next one there is 10"],
        told: &["cannot be replayed", "entry 9: missing"],
        fault: "corrupt",
    },
    // The chain of what is left holds: the session's row tells.
    Fault {
        rows: "DELETE FROM entries WHERE session = 1 AND seq >= 24",
        verify: &["broken at entry 24: missing; the session's row says that ", "23 entries before it hold"],
        told: &["cannot be replayed", "entry 24: missing"],
        fault: "corrupt",
    },
    Fault {
        rows: "UPDATE sessions SET head_hash = zeroblob(32) WHERE id = 1",
        verify: &["the session's row names another entry"],
        told: &["cannot be replayed", "another entry"],
        fault: "corrupt",
    },
];

/// R0: whatever is done to a journal's rows, it is found where it is, the session takes no step, lists say so, and
/// the others go on. With the rows as they were it goes on too, with nothing lost or done twice.
#[test]
fn a_journal_whose_rows_were_changed_takes_no_step_and_harms_no_other() {
    let whole = Three::new();
    for Fault { rows, verify, told, fault } in JOURNAL_FAULTS {
        let three = whole.copied();
        change(&three.journal(), rows);
        let all = three.verified(7);
        let line = all.lines().find(|line| line.starts_with(&three.hit)).expect(rows);
        says(line, verify);
        says(
            &all,
            &[&format!("{}: ", three.other), " hold, head ", "the store's file is as SQLite wrote it"],
        );

        three.program.run(&["replay", &three.hit]).expect(6).says(&["entry "]);
        three.program.run(&["events", &three.hit]).expect(6).says(&["entry "]);
        three.tell(&three.hit, "three").expect(6).says(told);
        says(&three.listed(&three.hit), &[&format!("fault: {fault}")]);
        let shown = three.program.run(&["show", &three.hit]).expect(0).stdout;
        says(&shown, &["cannot be replayed", "clear-fault", "entry "]);
        assert!(!shown.contains("resume "), "{shown}");
        // It was not even sent.
        three.program.resume(&three.hit).expect(6).says(&["clear-fault", "entry "]);
        three.stands_by(&three.other, "three");

        three.restore(&whole);
        three.goes_on(&three.hit, "three");
    }
}

/// A row that is put into another session breaks that one too, and a third one not.
#[test]
fn a_row_that_is_moved_to_another_session_is_found_in_both() {
    let whole = Three::new();
    let three = whole.copied();
    change(
        &three.journal(),
        "UPDATE entries SET session = 2, seq = 1 + (SELECT max(seq) FROM entries WHERE session = 2) \
         WHERE session = 1 AND seq = (SELECT max(seq) FROM entries WHERE session = 1)",
    );
    let all = three.verified(7);
    let line = |id: &str| all.lines().find(|line| line.starts_with(id)).expect("a line").to_owned();
    says(&line(&three.hit), &["missing; the session's row says"]);
    says(&line(&three.second), &[CHAIN]);
    says(&line(&three.other), &[" hold, head "]);
    for id in [&three.hit, &three.second] {
        three.tell(id, "three").expect(6).says(&["cannot be replayed"]);
    }
    three.stands_by(&three.other, "three");
    three.restore(&whole);
    three.goes_on(&three.hit, "three");
    three.goes_on(&three.second, "three");
}

/// A session's row that makes no sense hides no other session.
#[test]
fn a_damaged_row_of_a_session_hides_no_other() {
    let three = Three::new();
    let whole = three.copied();
    change(&three.journal(), "UPDATE sessions SET status = 'dreaming' WHERE id = 1");
    says(&three.listed(&three.hit), &["fault: damaged"]);
    says(&three.listed(&three.other), &["awaiting"]);
    says(&three.verified(7), &[&format!("{}: the status of ", three.hit), "dreaming", " hold, head "]);
    three.program.run(&["show", &three.hit]).expect(1).says(&["the status of", "dreaming"]);
    three.tell(&three.hit, "three").expect(1).says(&["the status of", "dreaming"]);
    three.stands_by(&three.other, "three");
    three.restore(&whole);
    three.goes_on(&three.hit, "three");
}

/// A row of the inbox that cannot be read is not skipped, as it may be anything; no other session meets it.
#[test]
fn a_damaged_row_of_an_inbox_stops_its_session_only() {
    let three = Three::new();
    change(
        &three.journal(),
        "INSERT INTO inbox (session, n, sender, command, at) SELECT 1, 9, sender, '{\"type\":\"dance\"}', at \
         FROM inbox WHERE session = 1 AND n = 1",
    );
    let told = three.program.resume(&three.hit).expect(1);
    told.says(&["row 9 of the inbox", "its command", "once this is fixed"]);
    assert_eq!(three.verified(0).matches(" hold, head ").count(), 3);
    three.stands_by(&three.other, "three");
    change(&three.journal(), "DELETE FROM inbox WHERE session = 1 AND n = 9");
    three.goes_on(&three.hit, "three");
}

/// R9: a saved state that is another than its digest says, or is gone: no step is run from it, and it is said before.
#[test]
fn a_saved_state_that_is_damaged_or_gone_is_a_fault() {
    let whole = Three::new();
    for (rows, back, reason, why) in [
        (
            "UPDATE states SET bytes = CAST(bytes || x'20' AS BLOB) WHERE session = 1",
            "UPDATE states SET bytes = substr(bytes, 1, length(bytes) - 1) WHERE session = 1",
            "state_damaged",
            "not those of its digest",
        ),
        (
            "UPDATE states SET session = 99 WHERE session = 1",
            "UPDATE states SET session = 1 WHERE session = 99",
            "state_lost",
            "is not in this store",
        ),
    ] {
        let three = whole.copied();
        change(&three.journal(), rows);
        let all = three.verified(7);
        let line = all.lines().find(|line| line.starts_with(&three.hit)).expect("a line");
        says(line, &["entries hold, but it cannot go on", why]);
        let told = three.tell(&three.hit, "three").expect(6);
        told.says(&[reason, why, "take it from a copy", "clear-fault"]);
        says(&three.listed(&three.hit), &[&format!("fault: {reason}")]);
        says(&three.program.run(&["show", &three.hit]).expect(0).stdout, &[reason, "clear-fault"]);
        three.program.resume(&three.hit).expect(6).says(&[reason]);
        three.stands_by(&three.other, "three");
        // As it was, the session continues with what it was told.
        change(&three.journal(), back);
        three.program.run(&["clear-fault", &three.hit]).expect(0);
        three.program.resume(&three.hit).expect(0);
        three.program.check(&three.hit);
        three.did_once(&three.hit, "three");
    }
}

/// R9: a snapshot is a cache. One that does not decode, is another's, of another entry or of an unknown version is
/// put aside, and said to be; nothing else comes of it.
#[test]
fn a_snapshot_that_cannot_be_used_is_put_aside() {
    let whole = Three::new();
    let head = "(SELECT head_seq FROM sessions WHERE id = 1)";
    let hash = "(SELECT head_hash FROM sessions WHERE id = 1)";
    for (snapshot, why) in [
        (format!("1, {head}, {hash}, 1, NULL, x'00'"), "too short"),
        (format!("1, {head}, {hash}, 1, NULL, zeroblob(500)"), "not those that were kept"),
        (format!("1, {head}, {hash}, 99, NULL, zeroblob(500)"), "version 99"),
        (format!("1, {head}, zeroblob(32), 1, NULL, x'00'"), "too short"),
        (format!("1, {head} + 7, {hash}, 1, NULL, zeroblob(40)"), "not those that were kept"),
    ] {
        let three = whole.copied();
        let row =
            format!("INSERT INTO snapshots (session, seq, hash, version, state, bytes) VALUES ({snapshot})");
        change(&three.journal(), &row);
        three.verified(0);
        let events = three.goes_on(&three.hit, "three");
        let rejected = &events.last("snapshot.rejected").data;
        assert!(rejected.to_string().contains(why), "{rejected} of {snapshot}");
        three.stands_by(&three.other, "three");
    }
}

/// A number that none can be is damage, not a disk that fails: what it is of is named, the others are looked at, and
/// where it is a cache it is put aside.
#[test]
fn a_number_that_none_can_be_is_told_as_damage() {
    let three = Three::new();
    let whole = three.copied();
    change(&three.journal(), "UPDATE sessions SET turns = -1 WHERE id = 1");
    let all = three.verified(7);
    let line = |id: &str| all.lines().find(|line| line.starts_with(id)).expect("a line").to_owned();
    says(&line(&three.hit), &["a number out of its range"]);
    says(&line(&three.other), &[" hold, head "]);
    three.stands_by(&three.other, "three");
    three.restore(&whole);
    change(
        &three.journal(),
        "INSERT INTO snapshots (session, seq, hash, version, state, bytes) \
         SELECT id, head_seq, head_hash, -1, NULL, x'00' FROM sessions WHERE id = 1",
    );
    three.goes_on(&three.hit, "three");
}

/// A bundle of which a file is gone: its sessions do not run, and are told that the store is to blame.
#[test]
fn a_bundle_that_is_damaged_in_the_store_is_told() {
    let three = Three::new();
    let whole = three.copied();
    change(&three.journal(), "DELETE FROM bundle_files");
    three.program.run(&["replay", &three.hit]).expect(1).says(&["is damaged in this store", "from a copy"]);
    three.program.resume(&three.hit).expect(1).says(&["bundle test/scripted", "is damaged in this store"]);
    assert_eq!(three.verified(0).matches(" hold, head ").count(), 3);
    three.restore(&whole);
    three.goes_on(&three.hit, "three");
    three.stands_by(&three.other, "three");
}
