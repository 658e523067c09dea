//! Failing calls that the model repeats in a turn: how often the same call failed in the same way.
//!
//! Knows the numbers that stand for calls (`uses`), not the calls. Does not decide what follows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Failing calls of a turn that are remembered; with more, counting begins again.
const CALLS_MAX: usize = 1_000;

/// The failing calls of a turn. Answers of the model are counted: two identical calls in one answer are one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Repeats {
    counts: BTreeMap<u64, u32>,
    /// The call of the newest answer that failed most often.
    newest: Option<Repeated>,
}

/// A call that fails again and again in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Repeated {
    /// The tool.
    pub(crate) name: String,
    /// How often.
    pub(crate) times: u32,
}

impl Repeats {
    /// Counts the failing calls of the newest answer, each with its tool.
    pub(super) fn count(&mut self, failures: BTreeMap<u64, String>) {
        self.newest = None;
        if self.counts.len() > CALLS_MAX {
            self.counts.clear();
        }
        for (call, name) in failures {
            let times = self.counts.entry(call).or_default();
            *times += 1;
            if self.newest.as_ref().is_none_or(|most| most.times < *times) {
                self.newest = Some(Repeated { name, times: *times });
            }
        }
    }

    /// The call of the newest answer that failed most often, if that is at least this number of times; 0: never.
    pub(crate) fn reached(&self, times: u32) -> Option<&Repeated> {
        self.newest.as_ref().filter(|newest| (1..=newest.times).contains(&times))
    }
}
