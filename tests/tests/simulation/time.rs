//! Time as a seed has it: it passes while all wait, and leaps while processes stand still or their machine sleeps.
//! Every host has a wall clock of its own, which is set forth and back; nothing but leases and waits may notice.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rewake_core::ids::Timestamp;
use rewake_sandbox::clock::Clock;
use tokio::time::Instant;

use crate::sim::Sim;

/// When every seed begins, by a wall clock that is right: 14 November 2023.
const BEGINS_MS: i64 = 1_700_000_000_000;
/// Hosts began at different times.
const BOOTED_MS: u64 = 1_000_003;

/// Time as a seed has it.
#[derive(Debug, Default)]
pub(crate) struct Time {
    /// What has passed in the lives that ended.
    passed_ms: u64,
    /// What has passed while all stood still.
    leapt_ms: u64,
    /// When the present life began.
    since: Option<Instant>,
    /// By how much the wall clocks of hosts are wrong.
    wrong_ms: BTreeMap<u32, i64>,
}

impl Time {
    /// A life begins.
    pub(crate) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// A life ends.
    pub(crate) fn end(&mut self) {
        self.passed_ms = self.awake_ms();
        self.since = None;
    }

    /// What has passed since the beginning while hosts could do something.
    pub(crate) fn awake_ms(&self) -> u64 {
        let passed = self.since.map_or(0, |since| u64::try_from(since.elapsed().as_millis()).unwrap_or(0));
        self.passed_ms + passed
    }

    /// What has passed since the beginning.
    pub(crate) fn now_ms(&self) -> u64 {
        self.awake_ms() + self.leapt_ms
    }

    /// What has passed while all stood still.
    pub(crate) fn leapt_ms(&self) -> u64 {
        self.leapt_ms
    }

    /// All stand still for so long.
    pub(crate) fn leap(&mut self, ms: u64) {
        self.leapt_ms += ms;
    }

    /// The wall clock of a host.
    pub(crate) fn wall(&self, host: u32) -> Timestamp {
        let wrong = self.wrong_ms.get(&host).copied().unwrap_or(0);
        Timestamp(BEGINS_MS + i64::try_from(self.now_ms()).unwrap_or(0) + wrong)
    }

    /// The wall clock of a host is set, by so much.
    pub(crate) fn set(&mut self, host: u32, by_ms: i64) {
        *self.wrong_ms.entry(host).or_default() += by_ms;
    }

    /// Every wall clock is set right. False if each was.
    pub(crate) fn set_right(&mut self) -> bool {
        std::mem::take(&mut self.wrong_ms).values().any(|ms| *ms != 0)
    }
}

/// The clocks of a host of a seed.
pub(crate) struct HostClock {
    pub(crate) sim: Arc<Sim>,
    pub(crate) host: u32,
}

impl Clock for HostClock {
    fn boot_ms(&self) -> u64 {
        self.sim.boot_ms(self.host) + u64::from(self.host) * BOOTED_MS
    }

    fn wall(&self) -> Duration {
        let wall = self.sim.lock().time.wall(self.host);
        Duration::from_millis(u64::try_from(wall.0).unwrap_or(0))
    }
}
