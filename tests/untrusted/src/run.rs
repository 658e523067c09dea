//! How a property is run: first the same cases as ever, then, if there is time, cases that nobody has seen yet.

use std::fmt::Debug;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestError, TestRunner};
use rustix::time::{ClockId, clock_gettime};

/// The seed of the cases that every run tries.
const SEED: u64 = 0x5e55_1035;
/// Cases of a seed that is tried while there is time.
const ROUND_CASES: u32 = 64;
/// Milliseconds of a processor that one case may take: much more than any should, as builds without optimisation
/// run too.
pub const CPU_MS_MAX: u128 = 4_000;
/// Milliseconds in which a failing input is made smaller.
const SHRINK_MS_MAX: u32 = 20_000;
/// Bytes of an input that a failure shows.
const SHOWN_BYTES_MAX: usize = 4_000;

/// How long to go on with seeds of chance, for each property.
const SECONDS: &str = "REWAKE_FUZZ_SECONDS";
/// The only seed to try.
const ONE_SEED: &str = "REWAKE_FUZZ_SEED";

/// Runs a property over what a strategy makes.
///
/// # Panics
/// If the property does, or takes [`CPU_MS_MAX`]: with the smallest input found that makes it, and its seed.
#[track_caller]
pub fn check<S>(cases: u32, strategy: S, property: impl Fn(&S::Value))
where
    S: Strategy,
    S::Value: Debug,
{
    if let Some(seed) = number(ONE_SEED) {
        return round(seed, cases.max(ROUND_CASES), CPU_MS_MAX, &strategy, &property);
    }
    round(SEED, cases, CPU_MS_MAX, &strategy, &property);
    let end = Instant::now() + Duration::from_secs(number(SECONDS).unwrap_or_default());
    while Instant::now() < end {
        round(RandomState::new().hash_one(()), ROUND_CASES, CPU_MS_MAX, &strategy, &property);
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a whole number, not {text:?}")))
}

#[track_caller]
pub(crate) fn round<S>(seed: u64, cases: u32, cpu_ms_max: u128, strategy: &S, property: &impl Fn(&S::Value))
where
    S: Strategy,
    S::Value: Debug,
{
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        max_shrink_iters: 500,
        max_shrink_time: SHRINK_MS_MAX,
        ..ProptestConfig::default()
    });
    let tried = runner.run(strategy, |value| {
        let before = cpu();
        property(&value);
        let took = cpu().saturating_sub(before).as_millis();
        prop_assert!(took < cpu_ms_max, "it took {took} ms of a processor");
        Ok(())
    });
    match tried {
        Ok(()) => {}
        Err(TestError::Fail(why, value)) => {
            let mut shown = format!("{value:?}");
            let shown_end = shown.floor_char_boundary(SHOWN_BYTES_MAX);
            if shown_end < shown.len() {
                let cut = shown.len() - shown_end;
                shown.truncate(shown_end);
                shown += &format!("… ({cut} bytes more)");
            }
            panic!("{why}\nwith {shown}\nto have it again: {ONE_SEED}={seed}");
        }
        Err(abort) => panic!("{abort}"),
    }
}

/// What this thread has had of a processor.
pub(crate) fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
