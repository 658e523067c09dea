//! That input is corrupted in all ways, the same in every run, and that what does not hold is found and told.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;

use super::*;

const TEXT: &str = "name = \"acme/words\"\nversion = 12\n\n[tool]\nkind = \"pure\"\n";

/// What every run sees: the sample and so many cases of it, and none of those that were tried while there was time.
fn seen(cases: u32, run: impl Fn(u32, &RefCell<Vec<Vec<u8>>>)) -> Vec<Vec<u8>> {
    let seen = RefCell::default();
    run(cases, &seen);
    let mut seen = seen.into_inner();
    seen.truncate(cases as usize + 1);
    seen
}

#[test]
fn the_same_input_is_made_in_every_run() {
    let run = || {
        seen(300, |cases, seen| {
            Samples::of([TEXT]).check(cases, |bytes| seen.borrow_mut().push(bytes.to_vec()));
        })
    };
    let (one, other) = (run(), run());
    assert_eq!(one, other);
    let distinct: BTreeSet<_> = one.iter().collect();
    assert!(distinct.len() > 200, "{} of 300", distinct.len());
}

#[test]
fn input_is_spoilt_in_many_ways_and_not_always() {
    let all = seen(2_000, |cases, seen| {
        Samples::of([TEXT]).words(&["once"]).check(cases, |bytes| seen.borrow_mut().push(bytes.to_vec()));
    });
    let any = |test: &dyn Fn(&[u8]) -> bool| all.iter().filter(|bytes| test(bytes)).count();
    let holds = |needle: &'static str| {
        move |bytes: &[u8]| bytes.windows(needle.len()).any(|part| part == needle.as_bytes())
    };
    assert!(any(&|bytes| bytes == TEXT.as_bytes()) > 100, "some are as they were");
    assert!(any(&|bytes| std::str::from_utf8(bytes).is_err()) > 20, "some are no text");
    assert!(any(&|bytes| bytes.len() > 10_000) > 20, "some are long");
    assert!(
        any(&|bytes| TEXT.as_bytes().starts_with(bytes) && bytes.len() < TEXT.len()) > 10,
        "some are cut"
    );
    assert!(any(&holds("once")) > 5, "words of the language are used");
    assert!(any(&holds("[[[[[[[[")) > 3, "some lie deep");
    assert!(any(&|bytes| bytes.starts_with(b"version")) > 3, "lines are lost or moved");
    assert!(all.iter().all(|bytes| bytes.len() <= INPUT_BYTES_MAX));
}

#[test]
fn spoilt_json_is_mostly_json_that_says_something_else() {
    let sample = r#"{"a":[1,{"b":"c"}],"d":null}"#;
    let all = seen(1_000, |cases, seen| {
        Samples::of([sample]).check_json(cases, |text| seen.borrow_mut().push(text.as_bytes().to_vec()));
    });
    let read: Vec<Value> = all.iter().filter_map(|text| serde_json::from_slice(text).ok()).collect();
    assert!(read.len() > 600 && read.len() < all.len(), "{} of {}", read.len(), all.len());
    let as_it_was: Value = serde_json::from_str(sample).unwrap();
    let same = read.iter().filter(|value| **value == as_it_was).count();
    assert!(same > 30 && same < 500, "{same}");
    assert!(read.iter().any(|value| value["a"].get(1).is_some_and(Value::is_string)));
    assert!(read.iter().any(|value| value.get("d").is_none() && value.get("a").is_some()));
}

#[test]
fn lines_of_json_stay_lines_of_json() {
    let sample = "a {\"x\":1}\nb {\"y\":[2,{}]}\nc [3]\n";
    let all = seen(1_000, |cases, seen| {
        Samples::of([sample])
            .check_json_lines(cases, |text| seen.borrow_mut().push(text.as_bytes().to_vec()));
    });
    let is_json = |line: &str| line.get(2..).is_some_and(|json| serde_json::from_str::<Value>(json).is_ok());
    let whole = all.iter().filter(|text| String::from_utf8_lossy(text).lines().all(is_json)).count();
    assert!(whole > 600 && whole < all.len(), "{whole} of {}", all.len());
    let any = |needle: &str| all.iter().filter(|text| String::from_utf8_lossy(text).contains(needle)).count();
    assert!(any("c [3]\nb") > 5 && any("b {\"y\":[2,{}]}\nb") > 5, "lines are moved and doubled");
    assert!(any("a {\"x\":") > 500 && any("a {\"x\":1}") < 950, "values are others");
}

#[test]
fn what_does_not_hold_is_told_small_and_with_its_seed() {
    let run = || Samples::of([TEXT]).check(2_000, |bytes| assert!(!bytes.contains(&0x1b), "an escape"));
    let why = catch_unwind(AssertUnwindSafe(run)).expect_err("it is found");
    let why = why.downcast_ref::<String>().unwrap();
    assert!(why.contains("an escape") && why.contains("REWAKE_FUZZ_SEED="), "{why}");
    assert!(why.contains("\\x1b"), "the input is shown: {why}");
}

#[test]
fn what_takes_too_long_is_found() {
    let spin = |bytes: &Vec<u8>| {
        let start = super::run::cpu();
        while !bytes.is_empty() && (super::run::cpu() - start).as_millis() < 30 {}
    };
    let run = || super::run::round(1, 5, 20, &Samples::of([TEXT]).bytes(), &spin);
    let why = catch_unwind(AssertUnwindSafe(run)).expect_err("it is found");
    assert!(why.downcast_ref::<String>().unwrap().contains("of a processor"));
}
