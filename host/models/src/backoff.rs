//! How long to wait before a provider is asked again. Pure: knows neither clock nor randomness, nor how often
//! a call may be repeated.

use std::time::Duration;

/// The longest wait after a first attempt, where the provider names none.
const FIRST: Duration = Duration::from_millis(1_000);
/// The longest wait between attempts, where the provider names none.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The wait before the next attempt; none, if the next attempt could not begin before the deadline.
///
/// `attempt` is how many attempts there were before the one that failed, `after` what the provider asked to be
/// left alone for, `left` the time until the deadline, `jitter` any number at all: attempts of many sessions
/// that failed together must not come back together.
///
/// Without `after` a wait is between half of its bound and all of it, and the bound doubles with each attempt.
/// The wait is never shorter than `after`, and at most an eighth longer than that or the bound.
pub fn delay(attempt: u32, after: Option<Duration>, left: Duration, jitter: u64) -> Option<Duration> {
    let bound = FIRST.saturating_mul(1_u32.checked_shl(attempt).unwrap_or(u32::MAX)).min(WAIT_MAX);
    let own = bound / 2 + share(bound / 2, jitter);
    let wait = match after {
        Some(after) => after.saturating_add(share(after / 8, jitter)).max(own),
        None => own,
    };
    (wait < left).then_some(wait)
}

/// A part of a span, by a number between nothing and all of it.
fn share(span: Duration, jitter: u64) -> Duration {
    let nanos = span.as_nanos().saturating_mul(u128::from(jitter)) / u128::from(u64::MAX);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    #[test]
    fn waits_double_up_to_their_bound() {
        for (attempt, shortest, longest) in [
            (0, 500, 1_000),
            (1, 1_000, 2_000),
            (5, 16_000, 32_000),
            (6, 30_000, 60_000),
            (40, 30_000, 60_000),
        ] {
            let ms = |jitter| delay(attempt, None, LONG, jitter).unwrap().as_millis();
            assert_eq!((ms(0), ms(u64::MAX)), (shortest, longest), "{attempt}");
            assert!((shortest..=longest).contains(&ms(u64::MAX / 3)), "{attempt}");
        }
    }

    #[test]
    fn a_provider_is_left_alone_for_as_long_as_it_asks() {
        let after = Duration::from_secs(80);
        assert_eq!(delay(0, Some(after), LONG, 0), Some(after));
        assert_eq!(delay(0, Some(after), LONG, u64::MAX), Some(Duration::from_secs(90)));
        // Less than our own wait is no reason to hurry.
        assert_eq!(delay(3, Some(Duration::ZERO), LONG, 0), Some(Duration::from_secs(4)));
    }

    #[test]
    fn nothing_begins_after_the_deadline() {
        assert_eq!(delay(0, None, Duration::from_millis(500), 0), None);
        assert_eq!(delay(0, None, Duration::from_millis(501), 0), Some(Duration::from_millis(500)));
        assert_eq!(delay(0, Some(Duration::from_secs(90)), Duration::from_secs(90), 0), None);
        assert_eq!(delay(u32::MAX, Some(Duration::MAX), Duration::MAX, u64::MAX), None);
        assert_eq!(delay(0, None, Duration::ZERO, 0), None);
    }
}
