//! What loading a session comes to (journal.md R5): losses are settled with `session.loaded`, before
//! anything is replayed.

use crate::decide::{Decision, LoadInput};
use crate::entry::{Draft, Place};
use crate::error::Refusal;
use crate::fact::{HttpLost, Lost, SessionLoaded, SnapshotRejected, Source, ToolLost};
use crate::session::{CallKind, Session};
use crate::transitions::hook;

/// Decides what a load writes.
pub(crate) fn load(session: &Session, input: LoadInput) -> Result<Decision, Refusal> {
    if session.created.is_none() {
        return Err(Refusal::Conflict(format!("session {} does not exist", session.id)));
    }
    let source = session.load.next();
    let mut entries: Vec<Draft> = input
        .rejected
        .into_iter()
        .map(|(at, why)| Draft::system(Place::default(), SnapshotRejected { at, why }))
        .collect();
    // A `resume` belongs to the load it was fired for, so its loss stands before this one; a `startup` is
    // asked again.
    for (start, call) in &session.calls {
        if let CallKind::Hook(open) = call.kind
            && open.source == Some(Source::Resume)
        {
            let verdict = hook::lost(session, *start, open, "the host died while it ran");
            entries.push(Draft::system(call.place, verdict));
        }
    }
    entries.push(Draft::system(
        Place::default(),
        SessionLoaded {
            source,
            host: input.host,
            host_version: input.host_version,
            snapshot_seq: input.snapshot_seq,
            folded: input.folded,
            again: input.again,
        },
    ));
    for (start, call) in &session.calls {
        if call.effect.is_repeatable() {
            continue;
        }
        match call.kind {
            CallKind::Tool => {
                entries.push(Draft::system(call.place, ToolLost { start: *start, why: Lost::Host }));
            }
            CallKind::Http => {
                entries.push(Draft::system(
                    call.place,
                    HttpLost { start: *start, why: Lost::Host, refused: None },
                ));
            }
            CallKind::Model | CallKind::Hook(_) => {}
        }
    }
    Ok(Decision::append(entries))
}
