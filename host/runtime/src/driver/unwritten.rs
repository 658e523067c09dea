//! When what is staged is written although nothing takes it along. Knows the time only, not what is staged.

use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// What is unwritten is written after so long, if nothing takes it along before.
const UNWRITTEN_MAX: Duration = Duration::from_millis(2);

/// The timer of one driver.
#[derive(Default)]
pub(super) struct Unwritten {
    /// Left as it is when what it was set for has been written: it serves what is staged next. To set one for every
    /// call would wake the thread that waits for timers as often.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Unwritten {
    /// Waits until what is unwritten since then must be written; for ever, if nothing is.
    pub(super) async fn due(&mut self, since: Option<Instant>) {
        let Some(since) = since else { return pending().await };
        let due = since + UNWRITTEN_MAX;
        loop {
            self.timer.get_or_insert_with(|| Box::pin(sleep_until(due))).await;
            self.timer = None;
            if Instant::now() >= due {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_timer_that_was_set_for_something_else_is_not_early() {
        let mut unwritten = Unwritten::default();
        let first = Instant::now();
        assert_eq!(unwritten.due(Some(first)).now_or_never(), None);
        // It is written, and something else is staged, before the timer is there.
        tokio::time::advance(UNWRITTEN_MAX / 2).await;
        let second = Instant::now();
        unwritten.due(Some(second)).await;
        assert!(second.elapsed() >= UNWRITTEN_MAX, "{:?}", second.elapsed());
        assert_eq!(unwritten.due(None).now_or_never(), None);
    }
}
