//! What a harness sees of clocks, randomness and polls is what the host's side says.

use std::time::{Duration, Instant};

use rewake_bindings::harness;

use crate::guest::{Parts, step};
use crate::recorder::Recorder;

const CLOCKS_AND_RANDOM: &str = r#"
(import "wasi:clocks/wall-clock@0.2.6" (instance $wall
  (type $datetime' (record (field "seconds" u64) (field "nanoseconds" u32)))
  (export "datetime" (type $datetime (eq $datetime')))
  (export "now" (func (result $datetime)))))
(import "wasi:clocks/monotonic-clock@0.2.6" (instance $mono (export "now" (func (result u64)))))
(import "wasi:random/random@0.2.6" (instance $random
  (export "get-random-bytes" (func (param "len" u64) (result (list u8))))
  (export "get-random-u64" (func (result u64)))))
(import "wasi:random/insecure@0.2.6" (instance $insecure
  (export "get-insecure-random-bytes" (func (param "len" u64) (result (list u8))))
  (export "get-insecure-random-u64" (func (result u64)))))
(import "wasi:random/insecure-seed@0.2.6" (instance $seed
  (export "insecure-seed" (func (result (tuple u64 u64))))))
(core func $wall-now (canon lower (func $wall "now") (memory $memory)))
(core func $mono-now (canon lower (func $mono "now")))
(core func $bytes (canon lower (func $random "get-random-bytes") (memory $memory) (realloc $realloc)))
(core func $u64 (canon lower (func $random "get-random-u64")))
(core func $insecure-bytes (canon lower (func $insecure "get-insecure-random-bytes") (memory $memory) (realloc $realloc)))
(core func $insecure-u64 (canon lower (func $insecure "get-insecure-random-u64")))
(core func $seed-of (canon lower (func $seed "insecure-seed") (memory $memory)))"#;

const CLOCKS_AND_RANDOM_LOWERED: &str = r#"
(export "wall-now" (func $wall-now)) (export "mono-now" (func $mono-now))
(export "bytes" (func $bytes)) (export "u64" (func $u64))
(export "insecure-bytes" (func $insecure-bytes)) (export "insecure-u64" (func $insecure-u64))
(export "seed" (func $seed-of))"#;

#[tokio::test]
async fn clocks_and_randomness_are_the_host_s() {
    // `unreachable` wherever a value is not the recorder's.
    let parts = Parts::harness(
        r#"
        (import "host" "wall-now" (func $wall (param i32)))
        (import "host" "mono-now" (func $mono (result i64)))
        (import "host" "bytes" (func $bytes (param i64 i32)))
        (import "host" "u64" (func $u64 (result i64)))
        (import "host" "insecure-bytes" (func $insecure-bytes (param i64 i32)))
        (import "host" "insecure-u64" (func $insecure-u64 (result i64)))
        (import "host" "seed" (func $seed (param i32)))
        (func $is (param i64 i64) (if (i64.ne (local.get 0) (local.get 1)) (then unreachable)))
        (func (export "step") (type $step)
          (call $wall (i32.const 64))
          (call $is (i64.load (i32.const 64)) (i64.const 1000))
          (call $is (i64.load32_u (i32.const 72)) (i64.const 7))
          (call $is (call $mono) (i64.const 42))
          (call $bytes (i64.const 3) (i32.const 64))
          (call $is (i64.load32_u (i32.const 68)) (i64.const 3))
          (call $is (i64.load8_u (i32.load (i32.const 64))) (i64.const 5))
          (call $is (call $u64) (i64.const 9))
          (call $insecure-bytes (i64.const 2) (i32.const 64))
          (call $is (i64.load32_u (i32.const 68)) (i64.const 2))
          (call $is (call $insecure-u64) (i64.const 9))
          (call $seed (i32.const 64))
          (call $is (i64.load (i32.const 72)) (i64.const 4))
          i32.const 0)"#,
    )
    .importing(CLOCKS_AND_RANDOM, CLOCKS_AND_RANDOM_LOWERED);
    let (result, mut store) = step(&parts, Recorder::default()).await;
    assert_eq!(result, Ok(Ok(harness::Next::More)));
    let recorder = store.data_mut().imports_as::<Recorder>().unwrap();
    assert_eq!(recorder.seen, ["wall", "monotonic", "bytes 3", "u64", "bytes 2", "u64", "seed"]);
}

#[tokio::test]
async fn too_much_randomness_traps_before_anyone_is_asked() {
    let parts = Parts::harness(
        r#"
        (import "host" "bytes" (func $bytes (param i64 i32)))
        (func (export "step") (type $step)
          (call $bytes (i64.const 65537) (i32.const 64)) i32.const 0)"#,
    )
    .importing(CLOCKS_AND_RANDOM, CLOCKS_AND_RANDOM_LOWERED);
    let (result, mut store) = step(&parts, Recorder::default()).await;
    let error = result.unwrap_err();
    assert!(error.contains("65537"), "{error}");
    assert!(error.contains("65536"), "{error}");
    let recorder = store.data_mut().imports_as::<Recorder>().unwrap();
    assert!(recorder.seen.is_empty());
}

/// A loop of calls that are answered at once comes to others all the same.
#[tokio::test]
async fn a_loop_that_draws_gives_way() {
    let parts = Parts::harness(
        r#"
        (import "host" "bytes" (func $bytes (param i64 i32)))
        (func (export "step") (type $step)
          (local $left i32)
          (local.set $left (i32.const 100000))
          (loop $draw
            (call $bytes (i64.const 0) (i32.const 64))
            (br_if $draw (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
          i32.const 0)"#,
    )
    .importing(CLOCKS_AND_RANDOM, CLOCKS_AND_RANDOM_LOWERED);
    let mut turns = 0;
    let others = async {
        loop {
            turns += 1;
            tokio::task::yield_now().await;
        }
    };
    let since = Instant::now();
    tokio::select! {
        (result, _) = step(&parts, Recorder::default()) => assert_eq!(result, Ok(Ok(harness::Next::More))),
        () = others => unreachable!("they never end"),
    }
    let passed_ms = since.elapsed().as_millis();
    assert!(turns > 2, "others had {turns} turns in {passed_ms} ms");
}

const POLLS: &str = r#"
(import "wasi:io/poll@0.2.6" (instance $poll
  (export "pollable" (type $pollable (sub resource)))
  (export "[method]pollable.ready" (func (param "self" (borrow $pollable)) (result bool)))
  (export "[method]pollable.block" (func (param "self" (borrow $pollable))))
  (export "poll" (func (param "in" (list (borrow $pollable))) (result (list u32))))))
(alias export $poll "pollable" (type $pollable))
(import "wasi:clocks/monotonic-clock@0.2.6" (instance $mono
  (alias outer 1 $pollable (type $pollable'))
  (export "pollable" (type $own (eq $pollable')))
  (export "subscribe-duration" (func (param "when" u64) (result (own $own))))
  (export "subscribe-instant" (func (param "when" u64) (result (own $own))))))
(core func $sleep (canon lower (func $mono "subscribe-duration")))
(core func $sleep-until (canon lower (func $mono "subscribe-instant")))
(core func $ready (canon lower (func $poll "[method]pollable.ready")))
(core func $block (canon lower (func $poll "[method]pollable.block")))
(core func $poll-all (canon lower (func $poll "poll") (memory $memory) (realloc $realloc)))
(core func $drop (canon resource.drop $pollable))"#;

const POLLS_LOWERED: &str = r#"
(export "sleep" (func $sleep)) (export "sleep-until" (func $sleep-until))
(export "ready" (func $ready)) (export "block" (func $block))
(export "poll" (func $poll-all)) (export "drop" (func $drop))"#;

/// Asks a sleep whether it is over, polls it together with another, blocks on it, drops both.
/// Traps unless the poll says that the second alone, or both, are ready.
const SLEEPER: &str = r#"
(import "host" "sleep" (func $sleep (param i64) (result i32)))
(import "host" "sleep-until" (func $sleep-until (param i64) (result i32)))
(import "host" "ready" (func $ready (param i32) (result i32)))
(import "host" "block" (func $block (param i32)))
(import "host" "poll" (func $poll (param i32 i32 i32)))
(import "host" "drop" (func $drop (param i32)))
(func (export "step") (type $step) (local $first i32) (local $second i32)
  (local.set $first (call $sleep (i64.const 5000)))
  (local.set $second (call $sleep-until (i64.const 6000)))
  (drop (call $ready (local.get $first)))
  (i32.store (i32.const 64) (local.get $first))
  (i32.store (i32.const 68) (local.get $second))
  (call $poll (i32.const 64) (i32.const 2) (i32.const 72))
  (if (i32.eqz (i32.load (i32.const 76))) (then unreachable))
  (call $block (local.get $second))
  (call $drop (local.get $first))
  (call $drop (local.get $second))
  i32.const 0)"#;

fn sleeper() -> Parts {
    Parts::harness(SLEEPER).importing(POLLS, POLLS_LOWERED)
}

#[tokio::test]
async fn a_live_sleep_is_polled_and_told() {
    let recorder = Recorder { sleep_ns: 2_000_000, ..Recorder::default() };
    let start = Instant::now();
    let (result, mut store) = step(&sleeper(), recorder).await;
    assert_eq!(result, Ok(Ok(harness::Next::More)));
    assert!(start.elapsed() >= Duration::from_nanos(2_000_000));
    let recorder = store.data_mut().imports_as::<Recorder>().unwrap();
    assert_eq!(recorder.seen.len(), 5);
    assert_eq!(recorder.seen[0], "sleep 5000");
    assert_eq!(recorder.seen[1], "sleep until 6000");
    assert!(recorder.seen[2].starts_with("wasi:io/poll.pollable.ready ["));
    assert!(recorder.seen[3].starts_with("wasi:io/poll.poll ["));
    assert_eq!(recorder.seen[4], "wasi:io/poll.pollable.block [0]");
}

#[tokio::test]
async fn a_replayed_poll_does_not_wait() {
    // The sleeps never end; what was recorded says that they did.
    let recorder =
        Recorder { sleep_ns: u64::MAX, replay: [vec![], vec![1], vec![0]].into(), ..Recorder::default() };
    let parts = sleeper();
    let replayed = tokio::time::timeout(Duration::from_secs(30), step(&parts, recorder));
    let (result, mut store) = replayed.await.expect("nothing is waited for");
    assert_eq!(result, Ok(Ok(harness::Next::More)));
    let recorder = store.data_mut().imports_as::<Recorder>().unwrap();
    assert_eq!(recorder.seen, ["sleep 5000", "sleep until 6000"]);
}

#[tokio::test]
async fn a_recorded_poll_that_does_not_fit_traps() {
    for bad in [vec![2], vec![1, 0], vec![]] {
        let recorder = Recorder { replay: [vec![0], bad.clone()].into(), ..Recorder::default() };
        let (result, _) = step(&sleeper(), recorder).await;
        let error = result.unwrap_err();
        assert!(error.contains("wasi:io/poll.poll asks about 2"), "{error}");
        assert!(error.contains(&format!("{bad:?}")), "{error}");
    }
}
