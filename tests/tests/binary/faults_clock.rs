//! A wall clock that jumps: order is by number, waits are by the clock as it is, and nothing else notices.

use rewake_tests::preload::Preload;
use rewake_tests::program::Ended;
use serde_json::json;

use crate::faulty::{Three, turn};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Says something to a session while the clock is wrong by so much.
fn tell_at(three: &Three, ahead_ms: i64, args: &[&str]) -> Ended {
    let clock = three.program.beside("clock");
    std::fs::write(&clock, ahead_ms.to_string()).unwrap();
    three.program.run_with(args, &Preload::new().clock(&clock))
}

/// B12: the clock jumps by days between turns and within one: each turn ends, and the journal verifies and
/// replays in its own order.
#[test]
fn turns_end_whatever_the_clock_says() {
    let three = Three::new();
    for (at, days) in [10, -10, 400, 0].into_iter().enumerate() {
        let line = format!("clock {at}");
        tell_at(&three, days * DAY_MS, &["run", "--session", &three.hit, &turn(&line).to_string()]).expect(0);
        assert_eq!(three.program.lines(&three.hit, "log", &line), 1);
        three.program.check(&three.hit);
        // Another process, with the right clock, is not kept away by what is dated in days to come.
        three.program.resume(&three.hit).expect(0);
    }
    let events = three.program.check(&three.hit);
    assert_eq!(events.count("turn.completed"), 6);
    let dated: Vec<&str> = events.0.iter().map(|event| event.at.as_str()).collect();
    assert!(!dated.is_sorted(), "the clock did not jump");
    assert!(tell_at(&three, -9 * DAY_MS, &["show", &three.hit]).expect(0).stdout.contains("awaiting"));
    three.stands_by(&three.other, "three");
}

/// A reading of a monotonic clock never goes back, and a sleep that a jump falls into is as long as it is.
#[test]
fn a_clock_that_goes_back_is_no_negative_time() {
    let three = Three::new();
    let ops = json!([{ "op": "clock" }, { "op": "sleep", "ms": 20 }, { "op": "clock" }, { "op": "more" }]);
    for days in [30, -30, 0] {
        let args = ["run", "--session", &three.hit, &ops.to_string()];
        tell_at(&three, days * DAY_MS, &args).expect(0);
    }
    let events = three.program.check(&three.hit);
    assert_eq!(events.count("turn.completed"), 5);
    for learned in events.learned().iter().flatten().filter(|line| line.starts_with("slept")) {
        let number = learned.chars().filter(char::is_ascii_digit).collect::<String>();
        let ns: u64 = number.parse().expect("a number");
        assert!((20_000_000..60_000_000_000).contains(&ns), "{learned}");
    }
    three.stands_by(&three.other, "three");
}

/// A turn that waits for a time is due when the clock says so: a jump beyond it wakes the turn, one back does not,
/// and the time that is waited for stays the one that was named.
#[test]
fn a_wait_is_due_by_the_clock_as_it_is() {
    let three = Three::new();
    let hour_ms = 60 * 60 * 1_000;
    let ops = json!([{ "op": "wait", "ms": hour_ms }, { "op": "say", "text": "awake" }]).to_string();
    three.program.tell(&three.hit, &ops).expect(5);
    let resume = ["run", "--session", three.hit.as_str()];
    for ahead_ms in [0, -10 * DAY_MS, hour_ms / 2] {
        tell_at(&three, ahead_ms, &resume).expect(5).says(&["waits for"]);
        assert!(!three.program.events(&three.hit).said().iter().any(|text| text == "awake"));
    }
    tell_at(&three, 10 * DAY_MS, &resume).expect(0);
    let events = three.program.check(&three.hit);
    assert_eq!(events.said().iter().filter(|text| *text == "awake").count(), 1);
    assert_eq!(events.count("turn.waiting"), 1);
    three.stands_by(&three.other, "three");
}

/// A process that died with its clock days ahead left a lease that ends in days: it keeps nobody away.
#[test]
fn a_lease_from_days_to_come_keeps_nobody_away() {
    let three = Three::new();
    let clock = three.program.beside("clock");
    std::fs::write(&clock, (20 * DAY_MS).to_string()).unwrap();
    let ops =
        json!([crate::cut::call(&[crate::cut::append("append_once", "three", crate::cut::FOREVER_MS)])]);
    let args = ["run", "--session", &three.hit, &ops.to_string()];
    let mut process = three.program.start_with(&args, &Preload::new().clock(&clock));
    process.until("the tool's line", || three.program.lines(&three.hit, "log", "three") > 0);
    // While it lives it is waited for, and told.
    three.program.resume(&three.hit).expect(1).says(&["is run by"]);
    process.kill();
    three.program.resume(&three.hit).expect(0);
    let events = three.program.check(&three.hit);
    three.did_once(&three.hit, "three");
    assert_eq!(events.count("tool.lost"), 1);
    three.stands_by(&three.other, "three");
}
