//! How often a guest called each host function in one run (journal.md R7).

use std::collections::BTreeMap;

/// Counts of calls, by the function's name in journals.
#[derive(Debug, Default)]
pub struct HostCalls(BTreeMap<&'static str, u64>);

impl HostCalls {
    /// Counts one call.
    pub fn count(&mut self, function: &'static str) {
        *self.0.entry(function).or_default() += 1;
    }

    /// As an entry keeps them; functions that were never called are left out.
    pub fn into_map(self) -> BTreeMap<String, u64> {
        self.0.into_iter().map(|(function, calls)| (function.to_owned(), calls)).collect()
    }
}
