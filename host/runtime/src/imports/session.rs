//! The session as its harness sees it: its settings, its own journal, and what it shows.

use rewake_bindings::{session, types};
use rewake_core::canonical::levels;
use rewake_core::entry::Draft;
use rewake_core::fact::{AgentMessage, AgentTitle, CUSTOM, Custom, Fact, Observed};
use rewake_core::ids::{Digest, turn_name};
use rewake_core::limits::{MARKER_LEVELS_MAX, SAID_BYTES_MAX, TITLE_CHARS_MAX, cut_chars};

use super::StepImports;
use crate::convert::{parts_in, seq_out};
use crate::record::Stop;
use crate::slice;

/// Bytes of the name of an author's own kind.
const KIND_BYTES_MAX: usize = 128;

pub(super) fn info(imports: &mut StepImports) -> session::SessionInfo {
    imports.recorder.count("session.info");
    let cx = &imports.cx;
    session::SessionInfo {
        id: cx.id.to_string(),
        agent: cx.created.agent.name.clone(),
        turn: turn_name(imports.recorder.turn()),
        instructions: cx.created.agent.instructions.clone(),
        config: cx.harness().config.clone(),
    }
}

/// Recorded as the slice, the head, and the result's digest (R14): a replay reads it again.
pub(super) async fn events(
    imports: &mut StepImports,
    slice: session::Slice,
) -> wasmtime::Result<Vec<session::Event>> {
    const FUNCTION: &str = "session.events";
    let asked = digest_of_slice(&slice);
    let recorded = imports.recorder.recorded(FUNCTION)?;
    let at = match &recorded {
        Some(Observed::Events { slice, head, .. }) if *slice == asked => Some(*head),
        Some(Observed::Events { slice, .. }) => {
            let (expected, got) = (slice.to_hex(), asked.to_hex());
            return Err(imports.recorder.differs(0, "slice", expected, got));
        }
        _ => None,
    };
    let head = match at {
        Some(head) => head,
        None => imports.recorder.port().head().await.map_err(|why| imports.recorder.unrecorded(why))?,
    };
    let cx = imports.cx.clone();
    let events = match slice::read(cx.store.as_ref(), &cx.id, &slice, head).await {
        Ok(events) => events,
        Err(error) => return Err(imports.recorder.stopped(Stop::Host(error))),
    };
    let result = digest_of_events(&events);
    match recorded {
        Some(Observed::Events { result: before, .. }) if before != result => {
            Err(imports.recorder.differs(0, "result", before.to_hex(), result.to_hex()))
        }
        Some(_) => Ok(events),
        None => {
            imports.recorder.observed(Observed::Events { slice: asked, head, result })?;
            Ok(events)
        }
    }
}

/// Only bytes that an event shows as a blob to be read can be read, and none does yet: what entries keep as
/// blobs, a harness was given when it asked for it.
pub(super) fn blob(imports: &mut StepImports, digest: &str) -> Result<Vec<u8>, String> {
    imports.recorder.count("session.blob");
    Err(format!("no event of this session names the blob {:?}", cut_chars(digest, 100)))
}

pub(super) async fn say(imports: &mut StepImports, parts: Vec<types::Part>) -> wasmtime::Result<u32> {
    let parts = parts_in(parts);
    let message = AgentMessage { parts };
    note(imports, "session.say", message.into()).await
}

pub(super) async fn emit(
    imports: &mut StepImports,
    kind: String,
    data: String,
) -> wasmtime::Result<Result<u32, String>> {
    if !kind.starts_with(CUSTOM) || kind.len() == CUSTOM.len() || kind.len() > KIND_BYTES_MAX {
        imports.recorder.count("session.emit");
        return Ok(Err(format!("{:?} is no kind of your own: write {CUSTOM}NAME", cut_chars(&kind, 100))));
    }
    if data.len() > SAID_BYTES_MAX {
        imports.recorder.count("session.emit");
        return Ok(Err(format!("{} bytes are more than the {SAID_BYTES_MAX} of a marker", data.len())));
    }
    let refusal = match serde_json::from_str(&data) {
        Ok(data) if levels(&data) <= MARKER_LEVELS_MAX => {
            return note(imports, "session.emit", Custom { kind, data }.into()).await.map(Ok);
        }
        Ok(_) => format!("the data is nested deeper than {MARKER_LEVELS_MAX} levels"),
        Err(error) => format!("the data is no JSON: {error}"),
    };
    imports.recorder.count("session.emit");
    Ok(Err(refusal))
}

pub(super) async fn set_title(imports: &mut StepImports, title: String) -> wasmtime::Result<()> {
    let title = AgentTitle { title: cut_chars(&title, TITLE_CHARS_MAX) };
    note(imports, "session.set-title", title.into()).await.map(|_| ())
}

/// Shown while it is true, never recorded.
pub(super) async fn set_activity(imports: &mut StepImports, line: String) {
    imports.recorder.activity(cut_chars(line.lines().next().unwrap_or_default(), 200)).await;
}

/// An effect inside the store: one entry, performed by its own transaction (R3).
async fn note(imports: &mut StepImports, function: &'static str, fact: Fact) -> wasmtime::Result<u32> {
    let (place, recorded) = imports.recorder.begin(function)?;
    if let Some(entry) = recorded.as_ref().and_then(|recorded| recorded.first()) {
        if entry.fact == fact {
            return Ok(seq_out(entry.seq));
        }
        let field = if entry.fact.kind() == fact.kind() { "content" } else { "kind" };
        let shown =
            |fact: &Fact| format!("{function} {} {}", fact.kind(), String::from_utf8_lossy(&fact.encode()));
        return Err(imports.recorder.differs(entry.seq, field, shown(&entry.fact), shown(&fact)));
    }
    let entries = imports.recorder.record(place, vec![Draft::agent(place, fact)], true).await?;
    Ok(seq_out(entries[0].seq))
}

fn digest_of_slice(slice: &session::Slice) -> Digest {
    Digest::of(&serde_json::to_vec(slice).expect("a slice holds numbers and names"))
}

fn digest_of_events(events: &[session::Event]) -> Digest {
    Digest::of(&serde_json::to_vec(events).expect("events hold numbers and texts"))
}
