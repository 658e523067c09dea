//! Slices of a session's own journal, and the blobs that it names, as its harness reads them.

use std::collections::HashSet;

use rewake_bindings::session::{Event, Slice};
use rewake_core::codec::Record;
use rewake_core::entry::Place;
use rewake_core::fact::{Created, Fact, HookEvent, HttpBody, HttpCompleted, HttpOutcome, ToolCompleted};
use rewake_core::ids::{Digest, SessionId, turn_name};
use rewake_store::Store;

use crate::PROJECT;
use crate::hooks::left;
use rewake_sandbox::convert::seq_out;

/// Events of one slice.
const EVENTS_MAX: usize = 1_000;
/// Bytes of the data of one slice.
const BYTES_MAX: usize = 4 << 20;
/// Records read at once.
const WINDOW: u64 = 256;

/// The events with after < seq < before, up to `head`, of the kinds named.
pub(crate) async fn read(
    store: &dyn Store,
    created: &Created,
    session: &SessionId,
    slice: &Slice,
    head: u64,
) -> Result<Vec<Event>, String> {
    let has_after = created.hooks.iter().any(|hook| is_after(hook.event));
    let first = u64::from(slice.after) + 1;
    let last = slice.before.map_or(head, |before| u64::from(before).saturating_sub(1).min(head));
    let limit = (slice.limit as usize).min(EVENTS_MAX);
    // A set: anyone who names a million kinds does not have every entry compared with all of them.
    let kinds: HashSet<&str> = slice.kinds.iter().map(String::as_str).collect();
    let mut events = Vec::new();
    let mut bytes = 0;
    let (mut low, mut high) = (first, last);
    while low <= high && events.len() < limit {
        let mut records = if slice.newest_first {
            let records = window_to(store, session, low, high).await?;
            high = records.first().map_or(low, |first| first.seq) - 1;
            records
        } else {
            let to = (low + WINDOW - 1).min(high);
            let records = window(store, session, low, to).await?;
            low = records.last().map_or(high, |last| last.seq) + 1;
            records
        };
        if slice.newest_first {
            records.reverse();
        }
        let wanted = |record: &Record| kinds.is_empty() || kinds.contains(record.kind.as_str());
        for record in records.into_iter().filter(|record| wanted(record) && record.seq <= head) {
            let mut record = record;
            if has_after && record.kind == "tool.completed" {
                leave(store, created, session, &mut record, head).await?;
            }
            let event = event(record);
            bytes += event.data.len();
            if events.len() == limit || bytes > BYTES_MAX && !events.is_empty() {
                return Ok(events);
            }
            events.push(event);
        }
    }
    Ok(events)
}

fn fact(record: &Record) -> Result<Fact, String> {
    let payload = record.payload.as_ref().map_or(&b"null"[..], |payload| &payload.bytes);
    Fact::decode(&record.kind, record.version, payload)
}

fn is_after(event: HookEvent) -> bool {
    matches!(event, HookEvent::PostToolUse | HookEvent::PostToolUseFailure)
}

/// Has a completion say what hooks left of its output: the raw output is for operators.
async fn leave(
    store: &dyn Store,
    created: &Created,
    session: &SessionId,
    record: &mut Record,
    head: u64,
) -> Result<(), String> {
    let Some(payload) = &mut record.payload else { return Ok(()) };
    let mut completed: ToolCompleted =
        serde_json::from_slice(&payload.bytes).map_err(|error| error.to_string())?;
    if completed.start.is_none() {
        return Ok(());
    }
    let of_call = |other: &Record| Place { index: 0, ..other.place } == Place { index: 0, ..record.place };
    let is_of_step = |other: &Record| other.place.is_in_step(record.place.turn, record.place.step);
    // The request is before it, and the verdicts after it, among entries of the same step.
    let (mut after, mut high) = (Vec::new(), record.seq);
    while high > 1 {
        let records = window_to(store, session, 1, high).await?;
        let request = records.iter().rev().find(|other| of_call(other) && other.kind == "tools.requested");
        if let Some(Fact::ToolsRequested(body)) = request.map(fact).transpose()? {
            after =
                body.uses.get(record.place.index as usize).map(|one| one.after.clone()).unwrap_or_default();
            break;
        }
        high = records.first().map_or(1, |first| first.seq) - 1;
    }
    if after.is_empty() {
        return Ok(());
    }
    let (mut verdicts, mut low) = (Vec::new(), record.seq + 1);
    'call: while low <= head {
        let records = window(store, session, low, (low + WINDOW - 1).min(head)).await?;
        for other in &records {
            if other.place == record.place && other.kind == "hook.verdict" {
                verdicts.push(fact(other)?);
            }
            if is_of_step(other) && other.place.ordinal > record.place.ordinal || other.kind == "turn.started"
            {
                break 'call;
            }
        }
        low = records.last().map_or(head, |last| last.seq) + 1;
    }
    if let Some(parts) = left::of_call(created, &completed, &after, verdicts.iter()) {
        completed.parts = parts;
        payload.bytes = serde_json::to_vec(&completed).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// The bytes of a blob that an event up to `head` names: the body of a response. What else is kept as blobs,
/// such as the models' scripts, is not for guests.
pub(crate) async fn blob(
    store: &dyn Store,
    session: &SessionId,
    digest: &Digest,
    head: u64,
) -> Result<Option<Vec<u8>>, String> {
    let mut high = head;
    while high > 0 {
        let records = window_to(store, session, 1, high).await?;
        if records.iter().any(|record| names(record, digest)) {
            let bytes = store.blob(PROJECT, digest).await.map_err(|error| error.to_string())?;
            let missing = || format!("the body of a recorded response ({digest}) is not in this store");
            return bytes.ok_or_else(missing).map(Some);
        }
        high = records.first().map_or(1, |first| first.seq) - 1;
    }
    Ok(None)
}

fn names(record: &Record, digest: &Digest) -> bool {
    let payload = record.payload.as_ref().filter(|_| record.kind == "http.completed");
    let body = payload.and_then(|payload| serde_json::from_slice::<HttpCompleted>(&payload.bytes).ok());
    body.is_some_and(|body| match body.outcome {
        HttpOutcome::Response { body: HttpBody::Blob { digest: named, .. }, .. } => named == *digest,
        _ => false,
    })
}

/// The records from one seq to another; a store may give fewer at once, from the first on.
async fn window(store: &dyn Store, session: &SessionId, from: u64, to: u64) -> Result<Vec<Record>, String> {
    let count = u32::try_from(to - from + 1).unwrap_or(u32::MAX);
    store.read(session, from - 1, count).await.map_err(|error| error.to_string())
}

/// The records up to a seq, as many as the store gives at once; not below `low`.
async fn window_to(store: &dyn Store, session: &SessionId, low: u64, to: u64) -> Result<Vec<Record>, String> {
    let mut from = to.saturating_sub(WINDOW - 1).max(low);
    loop {
        let records = window(store, session, from, to).await?;
        match records.last() {
            Some(last) if last.seq < to => from = last.seq + 1,
            _ => return Ok(records),
        }
    }
}

/// An edit without what the message said before it, and says now.
fn untold(data: &str) -> String {
    let mut edit: serde_json::Value = serde_json::from_str(data).unwrap_or_default();
    if let Some(fields) = edit.as_object_mut() {
        fields.retain(|field, _| !matches!(field.as_str(), "before" | "after"));
    }
    edit.to_string()
}

fn event(record: Record) -> Event {
    let mut data = match record.payload {
        Some(payload) => String::from_utf8_lossy(&payload.bytes).into_owned(),
        None => "null".into(),
    };
    // What somebody thought better of is not told: what a message says is told once it is accepted, by itself.
    if record.kind == "command.edited" {
        data = untold(&data);
    }
    // Which of the request's uses it is about; payloads do not repeat their place.
    let is_of_use = record.kind.starts_with("tool.") || record.kind.starts_with("hook.");
    if is_of_use && record.place.ordinal > 0 && data.starts_with("{\"") {
        data.insert_str(1, &format!("\"index\":{},", record.place.index));
    }
    Event {
        seq: seq_out(record.seq),
        kind: record.kind,
        turn: (record.place.turn > 0).then(|| turn_name(record.place.turn)),
        at: record.at.to_string(),
        data,
    }
}
