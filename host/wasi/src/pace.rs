//! Fairness among guests on one thread.

use std::time::Duration;

// Tokio's, which a test can stop: the simulation must not depend on how fast the machine is.
use tokio::time::Instant;

/// How long calls of one guest are answered without other tasks in between.
const PACE: Duration = Duration::from_millis(1);

/// Lets other tasks run, if that was some time ago. A guest yields after so much fuel; what the host computes
/// for it costs none, so that a loop of calls that are answered at once would hold a thread.
pub struct Pace(Instant);

impl Pace {
    /// Of an instance that is made now.
    #[must_use]
    pub fn new() -> Pace {
        Pace(Instant::now())
    }

    /// Lets them run, if it is time.
    pub async fn keep(&mut self) {
        if self.0.elapsed() >= PACE {
            tokio::task::yield_now().await;
            self.0 = Instant::now();
        }
    }
}

impl Default for Pace {
    fn default() -> Self {
        Pace::new()
    }
}
