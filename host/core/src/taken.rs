//! Which rows of the inbox are in the journal.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The inbox rows that are in the journal: a fact per row, not a high-water mark (R1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Every row up to here is taken.
    through: u64,
    /// Taken rows beyond it.
    beyond: BTreeSet<u64>,
}

impl Taken {
    /// Whether the row is in the journal.
    pub fn contains(&self, n: u64) -> bool {
        n <= self.through || self.beyond.contains(&n)
    }

    /// Marks a row; false if it was marked already.
    pub(crate) fn insert(&mut self, n: u64) -> bool {
        let new = !self.contains(n) && self.beyond.insert(n);
        while self.beyond.remove(&(self.through + 1)) {
            self.through += 1;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taken_is_a_set_of_rows() {
        let mut taken = Taken::default();
        assert!(taken.insert(3) && taken.contains(3) && !taken.contains(2));
        assert!(!taken.insert(3));
        assert!(taken.insert(1) && taken.insert(2));
        assert_eq!(taken, Taken { through: 3, beyond: BTreeSet::new() });
        assert!(!taken.insert(2));
    }
}
