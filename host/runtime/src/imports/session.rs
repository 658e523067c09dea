//! The session as its harness sees it: its settings, its own journal, and what it shows.

use futures_util::future::BoxFuture;
use rewake_bindings::{SessionImports, session, types};
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
use crate::event::{DriverHandle, Unrecorded};
use crate::journal_query;
use crate::record::{Call, Facts, Recorder, Stop, misfit};
use rewake_sandbox::convert::{parts_in, seq_out};

/// Bytes of the name of an author's own kind.
const KIND_BYTES_MAX: usize = 128;
/// Bytes of a blob that are read at once.
const BLOB_READ_BYTES_MAX: usize = 4 << 20;
/// Bytes of what a read of the own journal asked for that are recorded as they are, beside their digest.
const ASKED_BYTES_MAX: usize = 512;

impl SessionImports for StepImports {
    fn info(&mut self) -> BoxFuture<'_, wasmtime::Result<session::SessionInfo>> {
        Box::pin(async { Ok(info(self)) })
    }

    fn events(&mut self, slice: session::Slice) -> BoxFuture<'_, wasmtime::Result<Vec<session::Event>>> {
        Box::pin(events(self, slice))
    }

    fn blob(
        &mut self,
        digest: String,
        offset: u32,
        length: u32,
    ) -> BoxFuture<'_, wasmtime::Result<Result<Vec<u8>, String>>> {
        Box::pin(blob(self, digest, offset, length))
    }

    fn say(&mut self, parts: Vec<types::Part>) -> BoxFuture<'_, wasmtime::Result<u32>> {
        Box::pin(note(self, "session.say", AgentMessage::new(parts_in(parts)).into()))
    }

    fn emit(&mut self, kind: String, data: String) -> BoxFuture<'_, wasmtime::Result<Result<u32, String>>> {
        Box::pin(emit(self, kind, data))
    }

    fn set_title(&mut self, title: String) -> BoxFuture<'_, wasmtime::Result<()>> {
        let title = AgentTitle { title: cut_chars(&title, TITLE_CHARS_MAX) };
        Box::pin(async { note(self, "session.set-title", title.into()).await.map(|_| ()) })
    }

    /// Shown while it is true, never recorded.
    fn set_activity(&mut self, line: String) -> BoxFuture<'_, wasmtime::Result<()>> {
        let line = cut_chars(line.lines().next().unwrap_or_default(), 200);
        Box::pin(async {
            self.recorder.activity(line).await;
            Ok(())
        })
    }

    fn spawn(&mut self, _: session::Child) -> BoxFuture<'_, wasmtime::Result<Result<String, String>>> {
        self.recorder.count("session.spawn");
        Box::pin(async { Ok(Err("spawn is not available here".to_owned())) })
    }

    fn archive(&mut self, _: Option<String>) -> BoxFuture<'_, wasmtime::Result<Result<(), String>>> {
        self.recorder.count("session.archive");
        Box::pin(async { Ok(Err("archive is not available here".to_owned())) })
    }
}

fn info(imports: &mut StepImports) -> session::SessionInfo {
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
async fn events(imports: &mut StepImports, slice: session::Slice) -> wasmtime::Result<Vec<session::Event>> {
    let text = serde_json::to_string(&slice)?;
    let asked = Digest::of(text.as_bytes());
    let cx = imports.cx.clone();
    let read = move |head| {
        let (cx, slice) = (cx.clone(), slice.clone());
        async move { journal_query::read(cx.store.as_ref(), &cx.created, &cx.id, &slice, head).await }
    };
    let kept = |head, result, shown| Observed::Events { slice: asked, head, result, shown };
    read_own(&mut imports.recorder, asked, short(text), kept, read).await
}

/// Bytes of a blob that an event of this session names: a response that was too large for its entry. Recorded
/// as a slice is: a blob never changes, but what names it may come later.
async fn blob(
    imports: &mut StepImports,
    digest: String,
    offset: u32,
    length: u32,
) -> wasmtime::Result<Result<Vec<u8>, String>> {
    let asked = digest_of(&(&digest, offset, length))?;
    let shown = short(json!({ "digest": &digest, "offset": offset, "length": length }).to_string());
    let cx = imports.cx.clone();
    let read = move |head| {
        let (cx, digest) = (cx.clone(), digest.clone());
        async move {
            let bytes = match Digest::from_hex(&digest) {
                Some(blob) => journal_query::blob(cx.store.as_ref(), &cx.id, &blob, head).await?,
                None => None,
            };
            let Some(bytes) = bytes else {
                return Ok(Err(format!(
                    "no event of this session names the blob {:?}",
                    cut_chars(&digest, 100)
                )));
            };
            let from = (offset as usize).min(bytes.len());
            let to = from.saturating_add((length as usize).min(BLOB_READ_BYTES_MAX)).min(bytes.len());
            Ok(Ok(bytes[from..to].to_vec()))
        }
    };
    let kept = |head, result, shown| Observed::Blob { asked, head, result, shown };
    read_own(&mut imports.recorder, asked, shown, kept, read).await
}

/// What a read of the own journal asked for, as it is recorded beside its digest: where it is short.
fn short(asked: String) -> Option<String> {
    Some(asked).filter(|asked| asked.len() <= ASKED_BYTES_MAX)
}

/// A read of the own journal, up to where it goes now. Its result is not recorded, only the result's digest: a replay
/// reads again up to the recorded head, and must come to the same.
async fn read_own<T, F>(
    recorder: &mut Recorder,
    asked: Digest,
    shown: Option<String>,
    kept: impl Fn(u64, Digest, Option<String>) -> Observed,
    read: impl Fn(u64) -> F,
) -> wasmtime::Result<T>
where
    T: serde::Serialize + Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let function = kept(0, asked, None).function();
    let replayed = |recorded| {
        let (before, head, result, shown_before) = match recorded {
            Observed::Events { slice, head, result, shown } => (slice, head, result, shown),
            Observed::Blob { asked, head, result, shown } => (asked, head, result, shown),
            other => return Err(misfit(&other)),
        };
        if before == asked {
            return Ok((head, result, None));
        }
        let named = shown_before.as_deref().zip(shown.as_deref());
        let named = named.and_then(|(before, now)| Difference::of_json(before, now));
        Err(named.unwrap_or_else(|| digests("asked", before, asked)))
    };
    let live = async |recorder: &mut Recorder| {
        let head = recorder.driver().head().await.map_err(|why| recorder.unrecorded(why))?;
        let events = apart(read(head)).await?.map_err(|why| recorder.stopped(Stop::Host(why)))?;
        let result = digest_of(&events)?;
        Ok((kept(head, result, shown.clone()), (head, result, Some(events))))
    };
    let (head, result, read_now) = recorder.observe(function, replayed, live).await?;
    if let Some(read_now) = read_now {
        return Ok(read_now);
    }
    let again = apart(read(head)).await?.map_err(|why| recorder.stopped(Stop::Host(why)))?;
    match digest_of(&again)? {
        now if now == result => Ok(again),
        now => Err(recorder.misread(function, digests("result", result, now))),
    }
}

async fn emit(
    imports: &mut StepImports,
    kind: String,
    data: String,
) -> wasmtime::Result<Result<u32, String>> {
    if !kind.starts_with(CUSTOM) || kind.len() == CUSTOM.len() || kind.len() > KIND_BYTES_MAX {
        imports.recorder.count("session.emit");
        return Ok(Err(format!("{:?} is not a kind of your own: write {CUSTOM}NAME", cut_chars(&kind, 100))));
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
        Err(error) => format!("the data is not JSON: {error}"),
    };
    imports.recorder.count("session.emit");
    Ok(Err(refusal))
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

    async fn perform(&mut self, _: &DriverHandle, start: &Entry, _: u32) -> Result<Facts, Unrecorded> {
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
