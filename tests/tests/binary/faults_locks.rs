//! A store that another process keeps locked: for a moment, which is waited for, and for longer, which is told.

use std::time::{Duration, Instant};

use rewake_tests::tamper::Lock;
use serde_json::json;

use crate::cut::{LONG_MS, append, call};
use crate::faulty::{Three, says};

/// Longer than a transaction waits.
const LONG: Duration = Duration::from_secs(12);

/// For two seconds: nobody notices but by the clock. Who only reads does not wait at all.
#[test]
fn a_lock_of_a_moment_is_waited_for() {
    let three = Three::new();
    for kind in ["IMMEDIATE", "EXCLUSIVE"] {
        let lock = Lock::take(&three.journal(), kind);
        let begun = Instant::now();
        let ops = json!([call(&[append("append_once", kind, 0)])]).to_string();
        let process = three.program.start(&["run", "--session", &three.hit, &ops]);
        three.program.run(&["show", &three.other]).expect(0);
        assert_eq!(three.verified(0).matches(" hold, head ").count(), 3);
        std::thread::sleep(Duration::from_secs(2).saturating_sub(begun.elapsed()));
        assert_eq!(three.program.lines(&three.hit, "log", kind), 0, "it was not locked");
        drop(lock);
        process.end().expect(0);
        three.program.check(&three.hit);
        assert_eq!(three.program.lines(&three.hit, "log", kind), 1);
    }
    three.stands_by(&three.other, "three");
}

/// For longer, from the start: it is told that nothing was written. And in the middle of a call: what had begun is
/// not done again, and the session can be had at once when the lock is gone.
#[test]
fn a_lock_that_lasts_is_told_and_nothing_is_lost() {
    let three = Three::new();
    // Both wait at once: the one that is to begin, and the one that is in the middle.
    let ops = json!([
        call(&[append("append_once", "three", 2 * LONG_MS)]),
        { "op": "say", "text": "after" },
        call(&[append("append_idempotent", "four", 0)]),
    ]);
    let mut middle = three.program.start(&["run", "--session", &three.hit, &ops.to_string()]);
    middle.until("the tool's line", || three.program.lines(&three.hit, "log", "three") > 0);
    let lock = Lock::take(&three.journal(), "IMMEDIATE");
    let begun = Instant::now();
    let start = three.tell(&three.second, "three").expect(1);
    start.says(&["another process kept it locked", "nothing was written", "try again"]);
    middle.end().expect(1).says(&["another process kept it locked", &format!("run --session {}", three.hit)]);
    std::thread::sleep(LONG.saturating_sub(begun.elapsed()));
    drop(lock);

    says(&three.listed(&three.hit), &["running"]);
    says(&three.program.run(&["show", &three.hit]).expect(0).stdout, &["1 call without an end", "resume"]);
    assert_eq!(three.verified(0).matches(" hold, head ").count(), 3);
    three.program.resume(&three.hit).expect(0);
    let events = three.program.check(&three.hit);
    three.did_once(&three.hit, "three");
    assert_eq!(three.program.lines(&three.hit, "log", "four"), 1);
    assert_eq!(events.said().iter().filter(|text| *text == "after").count(), 1);
    // What was to be sent while it was locked was not; sent again, it is there once.
    three.goes_on(&three.second, "three");
    three.stands_by(&three.other, "three");
}
