//! Reading the journal: what came since the state was saved, or all of it.
//!
//! Knows how far a step must read. Does not know what the entries mean.

use rewake_sdk::prelude::*;

use crate::context::{Context, KINDS, Pinned};

/// Entries read at once; the host bounds their bytes.
const ENTRIES_MAX: u32 = 500;

/// Brings the context up to the start of this step. What the step does itself is for the next one
/// to read, so every run of a step sees the same.
///
/// # Errors
/// The journal does not hold the step's start.
pub(crate) fn catch_up(
    context: &mut Context,
    cx: &Session,
    step: u32,
    pinned: Pinned,
) -> Result<(), Failure> {
    let turn = cx.info().turn;
    let mut after = context.through;
    loop {
        let kinds = KINDS.map(str::to_owned).to_vec();
        let events = cx.events(&Slice { after, kinds, limit: ENTRIES_MAX, ..Slice::default() });
        let Some(newest) = events.last() else {
            let detail = format!("step {step} of {turn} is not in the journal, which ends at entry {after}");
            return Err(Failure::turn("journal_incomplete", detail));
        };
        after = newest.seq;
        for event in &events {
            if let Err(error) = context.apply(event, pinned) {
                cx.log(Level::Warn, format!("left out of the context: {error}"));
            }
            if event.kind == "step.started" && context.is_at(&turn, step) {
                return Ok(());
            }
        }
    }
}
