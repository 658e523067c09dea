//! What a turn waits for.

use serde::{Deserialize, Serialize};

use crate::ids::Timestamp;

/// `turn.waiting`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnWaiting {
    /// What it waits for.
    pub on: WaitOn,
}

/// What a turn can wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitOn {
    /// People's answers to these questions.
    Answers(Vec<String>),
    /// A time, a message, or the first of both.
    Time {
        /// Not longer than until then.
        until: Option<Timestamp>,
        /// A message ends it.
        on_message: bool,
    },
}

impl WaitOn {
    /// Whether a wait that begins then is over at once: the harness only lets messages in between two steps.
    pub fn is_over(&self, begins: Timestamp) -> bool {
        matches!(self, WaitOn::Time { until: Some(until), .. } if *until <= begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_until_a_time_that_is_over_is_none() {
        let on = |until: Option<i64>| WaitOn::Time { until: until.map(Timestamp), on_message: true };
        assert!(on(Some(0)).is_over(Timestamp(5)) && on(Some(5)).is_over(Timestamp(5)));
        assert!(!on(Some(6)).is_over(Timestamp(5)) && !on(None).is_over(Timestamp(5)));
        assert!(!WaitOn::Answers(vec![]).is_over(Timestamp(5)));
    }
}
