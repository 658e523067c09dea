//! Failures and a clock that tests set.

use std::collections::VecDeque;

use rewake_core::ids::Timestamp;

use super::MemoryStore;
use crate::{Result, StoreError};

/// How an append is to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// As if the lease had been lost; nothing is written.
    Fenced,
    /// As if something outside had failed; nothing is written.
    Io,
    /// The commit's outcome is not known, and it was written.
    UnknownApplied,
    /// The commit's outcome is not known, and it was not written.
    UnknownNotApplied,
}

/// What a test asked for.
#[derive(Default)]
pub(super) struct Asked {
    failures: VecDeque<Failure>,
    /// The clock, if it was set.
    pub(super) now: Option<Timestamp>,
}

impl Asked {
    /// Takes the next failure: an error if nothing is to be written, else the result after the append was written.
    pub(super) fn next(&mut self, fenced: StoreError) -> Result<Result<()>> {
        let unknown = || StoreError::Unknown("as the test asked".into());
        match self.failures.pop_front() {
            None => Ok(Ok(())),
            Some(Failure::Fenced) => Err(fenced),
            Some(Failure::Io) => Err(StoreError::io("writing to the store", "as the test asked")),
            Some(Failure::UnknownNotApplied) => Err(unknown()),
            Some(Failure::UnknownApplied) => Ok(Err(unknown())),
        }
    }
}

impl MemoryStore {
    /// Has the next append that would succeed fail instead; more are lined up.
    pub fn fail_next_append(&self, failure: Failure) {
        self.lock().asked.failures.push_back(failure);
    }

    /// Stops the clock at a time; leases end by it.
    pub fn set_now(&self, now: Timestamp) {
        self.lock().asked.now = Some(now);
    }
}
