//! Bytes of the store's file, and of the log beside it, that are not what was written: damaged pages, a torn log, a
//! log that is gone or another file's.

use std::fs::OpenOptions;

use rewake_tests::program::Process;
use rewake_tests::tamper::{flip, last_leaf, log_of, transactions};
use serde_json::json;

use crate::cut::{FOREVER_MS, append, call};
use crate::faulty::{Three, says, turn};

/// R0: a damaged page with entries: whose entries stand elsewhere goes on being read, every command says that the file
/// is damaged and what to do, and with the page as it was everything goes on.
#[test]
fn a_damaged_page_is_told_as_that() {
    let whole = Three::new();
    for (name, at, count) in [("entries", 0, 8), ("entries_by_seq", 0, 8), ("payloads", 0, 8)] {
        let three = whole.copied();
        let page = last_leaf(&three.journal(), name);
        flip(&three.journal(), page + at, count);
        let all = three.verified(7);
        says(
            &all,
            &["the store's file is damaged: ", "the store's file is damaged (", "Copy the data folder"],
        );
        three.program.run(&["doctor"]).expect(1);
        for id in [&three.hit, &three.other] {
            // Whether it can be read at all depends on which pages its entries are on.
            let shown = three.program.run(&["show", id]);
            let told = shown.code == Some(0) || shown.stderr.contains("the store's file is damaged");
            assert!(told, "{shown:?}");
            let told = three.tell(id, "three");
            assert!(matches!(told.code, Some(0 | 1 | 6)), "{told:?}");
            assert!(told.code == Some(0) || told.stderr.contains("damaged"), "{told:?}");
        }
        three.restore(&whole);
        three.verified(0);
        for id in [&three.hit, &three.other] {
            // What was told to it while the page was damaged was not, or was in the file that was put away.
            let events = three.program.check(id);
            assert_eq!(events.count("turn.completed"), 2);
        }
        three.goes_on(&three.second, "three");
    }
}

/// A damaged page of an index hides entries of one session only; the other is read, verified and goes on.
#[test]
fn a_damaged_row_of_an_index_harms_no_other_session() {
    let three = Three::new();
    let whole = three.copied();
    // The number in the cell of the first session's entry 9. A cell whose length is damaged is found when its page is
    // read, whichever session is looked for.
    let page = last_leaf(&three.journal(), "entries_by_seq");
    let bytes = std::fs::read(three.journal()).unwrap();
    let cell = bytes[page as usize..].windows(5).position(|cell| cell == [4, 9, 1, 1, 9]).expect("a cell");
    flip(&three.journal(), page + cell as u64 + 4, 1);
    let all = three.verified(7);
    says(&all, &[&format!("{}: ", three.hit), "the store's file is damaged: "]);
    let line = all.lines().find(|line| line.starts_with(&three.other)).expect("a line");
    says(line, &[" hold, head "]);
    let told = three.tell(&three.hit, "three");
    assert!(matches!(told.code, Some(1 | 6)), "{told:?}");
    three.stands_by(&three.other, "three");
    three.restore(&whole);
    three.goes_on(&three.hit, "three");
}

/// The file's header: what it is cannot be told any more. Nothing is made in its place.
#[test]
fn a_damaged_header_is_refused() {
    let whole = Three::new();
    for (at, count) in [(0, 16), (18, 2), (60, 12), (100, 12)] {
        let three = whole.copied();
        flip(&three.journal(), at, count);
        let before = std::fs::read(three.journal()).unwrap();
        for args in [&["sessions"][..], &["verify"], &["run", "--session", &three.hit, "[]"], &["doctor"]] {
            let told = three.program.run(args).expect(1);
            let said = format!("{}{}", told.stdout, told.stderr);
            assert!(said.contains("damaged") && said.to_lowercase().contains("copy"), "{at}: {said}");
        }
        assert_eq!(std::fs::read(three.journal()).unwrap(), before, "{at}");
        three.restore(&whole);
        three.goes_on(&three.hit, "three");
    }
}

/// A session in the middle of a call, killed: all that it wrote since it was loaded stands in the log.
fn with_a_log(whole: &Three) -> Three {
    let three = whole.copied();
    let ops = json!([{ "op": "say", "text": "x" }, call(&[append("append_once", "three", FOREVER_MS)])]);
    let mut process: Process = three.program.start(&["run", "--session", &three.hit, &ops.to_string()]);
    process.until("the tool's line", || three.program.lines(&three.hit, "log", "three") > 0);
    process.kill();
    three
}

/// A log that is cut or changed anywhere in its last transaction: all before it is there, nothing of it; in an earlier
/// one: nothing from there on. Whatever is there verifies, and goes on.
#[test]
fn a_torn_log_is_read_to_the_last_whole_transaction() {
    let whole = Three::new();
    let killed = with_a_log(&whole);
    let log = log_of(&killed.journal());
    let ends = transactions(&log);
    let (last, before) = (ends[ends.len() - 1], ends[ends.len() - 2]);
    let entries = |three: &Three| three.program.events(&three.hit).0;
    let (all, less) = (entries(&killed), {
        let three = killed.copied();
        cut(&three, before);
        entries(&three)
    });
    assert!(all.starts_with(&less) && less.len() < all.len());
    // The store's own tests cut at every 500th byte.
    for at in [before + 24, before + 1_000, last - 1] {
        let three = killed.copied();
        cut(&three, at);
        assert_eq!(entries(&three), less, "cut at {at} of {before}..{last}");
        assert_eq!(three.verified(0).matches(" hold, head ").count(), 3);
    }
    for (at, left) in [(last - 2_000, Some(&less)), (before + 8, Some(&less)), (ends[0] - 100, None)] {
        let three = killed.copied();
        flip(&log_of(&three.journal()), at, 4);
        let found = entries(&three);
        assert!(less.starts_with(&found), "{at}");
        assert!(left.is_none_or(|left| found == *left), "{at}");
        assert_eq!(three.verified(0).matches(" hold, head ").count(), 3);
        three.stands_by(&three.other, "three");
    }
    // The whole log, once more: nothing is lost, and the tool is not run twice.
    let told = killed.program.start(&["run", "--session", &killed.hit]).end();
    told.expect(0);
    assert_eq!(killed.program.lines(&killed.hit, "log", "three"), 1);
    killed.program.check(&killed.hit);
}

fn cut(three: &Three, bytes: u64) {
    let log = OpenOptions::new().write(true).open(log_of(&three.journal())).expect("the log");
    log.set_len(bytes).expect("cut");
}

/// A log that is gone: the sessions are as they were when it was begun, which no journal can tell. Each holds, and
/// goes on from there.
#[test]
fn without_its_log_the_file_is_as_it_was_before() {
    let whole = Three::new();
    let three = with_a_log(&whole);
    std::fs::remove_file(log_of(&three.journal())).unwrap();
    assert_eq!(three.verified(0).matches(" hold, head ").count(), 3);
    assert_eq!(three.program.events(&three.hit).0, whole.program.events(&whole.hit).0);
    three.program.tell(&three.hit, &turn("four").to_string()).expect(0);
    three.program.check(&three.hit);
    three.stands_by(&three.other, "three");
}

/// The log of another file: SQLite takes it for this one's. Nothing healthy is shown, the file itself is not touched,
/// and without that log everything goes on.
#[test]
fn the_log_of_another_file_is_told_and_not_moved_into_this_one() {
    let whole = Three::new();
    let three = whole.copied();
    let strange = rewake_tests::program::Program::new();
    let id = strange.create(&crate::cut::scripted());
    let ops = json!([call(&[append("append_once", "strange", FOREVER_MS)])]);
    let mut process = strange.start(&["run", "--session", &id, &ops.to_string()]);
    process.until("the tool's line", || strange.lines(&id, "log", "strange") > 0);
    process.kill();
    let log = log_of(&three.journal());
    std::fs::copy(strange.data().join("journal.db-wal"), &log).unwrap();
    let before = std::fs::read(three.journal()).unwrap();
    for args in [&["sessions"][..], &["verify"], &["run", "--session", &three.hit, "[]"], &["doctor"]] {
        let told = three.program.run(args).expect(1);
        let said = format!("{}{}", told.stdout, told.stderr);
        assert!(said.contains("damaged") && said.contains("journal.db-wal"), "{said}");
    }
    assert_eq!(std::fs::read(three.journal()).unwrap(), before);
    std::fs::remove_file(&log).unwrap();
    let _ = std::fs::remove_file(three.journal().with_file_name("journal.db-shm"));
    three.verified(0);
    three.goes_on(&three.hit, "three");
    three.stands_by(&three.other, "three");
}
