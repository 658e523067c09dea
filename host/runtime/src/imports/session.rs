//! The session as its harness sees it: its settings, its own journal, and what it shows.

use rewake_bindings::{session, types};
use rewake_core::canonical::levels;
use rewake_core::difference::Difference;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{AgentMessage, AgentTitle, CUSTOM, Custom, Fact, Observed};
use rewake_core::ids::{Digest, turn_name};
use rewake_core::limits::{
    DETAIL_BYTES_MAX, MARKER_LEVELS_MAX, SAID_BYTES_MAX, TITLE_CHARS_MAX, cut, cut_chars,
};
use rewake_core::replay::Recorded;
use serde_json::json;

use super::{StepImports, apart};
use crate::event::{Port, Unrecorded};
use crate::journal_query;
use crate::record::{Call, Facts, Recorder, Stop};
use rewake_sandbox::convert::{parts_in, seq_out};

/// Bytes of the name of an author's own kind.
const KIND_BYTES_MAX: usize = 128;
/// Bytes of a blob that are read at once.
const BLOB_READ_BYTES_MAX: usize = 4 << 20;
/// Bytes of what a read of the own journal asked for that are recorded as they are, beside their digest.
const ASKED_BYTES_MAX: usize = 512;

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
    let text = serde_json::to_string(&slice)?;
    let (asked, shown) = (Digest::of(text.as_bytes()), short(text));
    let recorded = recorded_read(imports, FUNCTION, asked, shown.as_deref())?;
    let head = head(imports, recorded).await?;
    let cx = imports.cx.clone();
    let read =
        apart(async move { journal_query::read(cx.store.as_ref(), &cx.id, &slice, head).await }).await?;
    let events = match read {
        Ok(events) => events,
        Err(error) => return Err(imports.recorder.stopped(Stop::Host(error))),
    };
    let result = digest_of(&events)?;
    read_as(imports, recorded, Observed::Events { slice: asked, head, result, shown }, result)?;
    Ok(events)
}

/// Bytes of a blob that an event of this session names: a response that was too large for its entry. Recorded
/// as a slice is: a blob never changes, but what names it may come later.
pub(super) async fn blob(
    imports: &mut StepImports,
    digest: String,
    offset: u32,
    length: u32,
) -> wasmtime::Result<Result<Vec<u8>, String>> {
    const FUNCTION: &str = "session.blob";
    let asked = digest_of(&(&digest, offset, length))?;
    let shown = short(json!({ "digest": &digest, "offset": offset, "length": length }).to_string());
    let recorded = recorded_read(imports, FUNCTION, asked, shown.as_deref())?;
    let head = head(imports, recorded).await?;
    let cx = imports.cx.clone();
    let read = match Digest::from_hex(&digest) {
        Some(blob) => {
            apart(async move { journal_query::blob(cx.store.as_ref(), &cx.id, &blob, head).await }).await?
        }
        None => Ok(None),
    };
    let bytes = match read {
        Ok(Some(bytes)) => {
            let from = (offset as usize).min(bytes.len());
            let to = from.saturating_add((length as usize).min(BLOB_READ_BYTES_MAX)).min(bytes.len());
            Ok(bytes[from..to].to_vec())
        }
        Ok(None) => Err(format!("no event of this session names the blob {:?}", cut_chars(&digest, 100))),
        Err(error) => return Err(imports.recorder.stopped(Stop::Host(error))),
    };
    let result = digest_of(&bytes)?;
    read_as(imports, recorded, Observed::Blob { asked, head, result, shown }, result)?;
    Ok(bytes)
}

/// What a read of the own journal asked for, as it is recorded beside its digest: where it is short.
fn short(asked: String) -> Option<String> {
    Some(asked).filter(|asked| asked.len() <= ASKED_BYTES_MAX)
}

/// What is recorded of a read of the own journal: the head then, and the result's digest. A replay reads
/// again what was read.
fn recorded_read(
    imports: &mut StepImports,
    function: &'static str,
    asked: Digest,
    shown: Option<&str>,
) -> wasmtime::Result<Option<(u64, Digest)>> {
    let (before, head, result, shown_before) = match imports.recorder.recorded(function)? {
        Some(Observed::Events { slice, head, result, shown }) => (slice, head, result, shown),
        Some(Observed::Blob { asked, head, result, shown }) => (asked, head, result, shown),
        _ => return Ok(None),
    };
    if before == asked {
        return Ok(Some((head, result)));
    }
    let named = shown_before.as_deref().zip(shown);
    let named = named.and_then(|(before, now)| Difference::of_json(before, now));
    let difference = named.unwrap_or_else(|| digests("asked", before, asked));
    Err(imports.recorder.misread(function, difference))
}

/// Up to where a read goes: as far as it went before, or as the journal goes now.
async fn head(imports: &mut StepImports, recorded: Option<(u64, Digest)>) -> wasmtime::Result<u64> {
    match recorded {
        Some((head, _)) => Ok(head),
        None => imports.recorder.port().head().await.map_err(|why| imports.recorder.unrecorded(why)),
    }
}

/// Keeps what a read came to; of one that is recorded, it must be the same.
fn read_as(
    imports: &mut StepImports,
    recorded: Option<(u64, Digest)>,
    observed: Observed,
    result: Digest,
) -> wasmtime::Result<()> {
    match recorded {
        Some((_, before)) if before != result => {
            Err(imports.recorder.misread(observed.function(), digests("result", before, result)))
        }
        Some(_) => Ok(()),
        None => imports.recorder.observed(observed),
    }
}

pub(super) async fn say(imports: &mut StepImports, parts: Vec<types::Part>) -> wasmtime::Result<u32> {
    note(imports, "session.say", AgentMessage::new(parts_in(parts)).into()).await
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

async fn note(imports: &mut StepImports, function: &'static str, fact: Fact) -> wasmtime::Result<u32> {
    let (_, noted) = imports.recorder.run(Note { function, fact }).await?;
    Ok(seq_out(noted.seq))
}

/// An effect inside the store: one entry, performed by its own transaction (R3). It is its own end, so that it is
/// never open.
struct Note {
    function: &'static str,
    fact: Fact,
}

impl Call for Note {
    fn function(&self) -> &'static str {
        self.function
    }

    async fn compare(&self, _: Place, recorded: &Recorded) -> Result<(), (u64, Difference)> {
        let Some(entry) = recorded.first() else { return Ok(()) };
        let fact = self.fact.clone().as_recorded(&entry.fact);
        if entry.fact == fact { Ok(()) } else { Err((entry.seq, difference(&entry.fact, &fact))) }
    }

    async fn start(&mut self, _: &mut Recorder, place: Place, _: &Recorded) -> wasmtime::Result<Facts> {
        Ok(Draft::agent(place, self.fact.clone()).into())
    }

    fn lost(&self, start: &Entry) -> Draft {
        Draft::agent(start.place, self.fact.clone())
    }

    async fn perform(&mut self, _: &Port, start: &Entry, _: u32) -> Result<Facts, Unrecorded> {
        Ok(self.lost(start).into())
    }
}

/// Where two facts of the same function differ.
fn difference(before: &Fact, now: &Fact) -> Difference {
    if let Some(kind) = Difference::of_texts(before.kind(), now.kind()) {
        return kind.within("kind");
    }
    let name = if matches!(before, Fact::Custom(_)) { "data" } else { "" };
    let text = |fact: &Fact| String::from_utf8_lossy(&fact.encode()).into_owned();
    let (before, now) = (text(before), text(now));
    // Two texts of JSON may be the same and their facts not: then all of it is the place.
    let shown = |text: &str| cut(text, DETAIL_BYTES_MAX);
    let whole = || Difference { path: String::new(), expected: shown(&before), got: shown(&now) };
    Difference::of_json(&before, &now).unwrap_or_else(whole).within(name)
}

/// A difference of which only digests are known.
fn digests(name: &str, before: Digest, now: Digest) -> Difference {
    let shown = |digest: Digest| format!("of digest {digest}");
    Difference { path: name.to_owned(), expected: shown(before), got: shown(now) }
}

fn digest_of(what: &impl serde::Serialize) -> wasmtime::Result<Digest> {
    Ok(Digest::of(&serde_json::to_vec(what)?))
}
