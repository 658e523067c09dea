//! `http.fetch` of a harness: judged by hooks, recorded by its start and its end, and performed again or not
//! by its class (journal.md R5). The way out itself is `egress`.

use std::time::Instant;

use rewake_bindings::http;
use rewake_core::binding;
use rewake_core::canonical;
use rewake_core::difference::Difference;
use rewake_core::effect::Effect;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    CallRetried, Fact, HttpBody, HttpCompleted, HttpLost, HttpOutcome, HttpRequest, HttpStarted, Lost,
    class_of,
};
use rewake_core::ids::Digest;
use rewake_core::limits::{DETAIL_BYTES_MAX, PAYLOAD_INLINE_BYTES_MAX, cut};
use rewake_core::replay::Recorded;
use rewake_store::Blob;
use rewake_wire::Base64;
use serde_json::json;
use wasmtime::Result;

use super::judge::{Gate, Gated, gate};
use super::{StepImports, apart};
use crate::PROJECT;
use crate::record::Stop;
use rewake_bundle::GrantKind;
use rewake_egress::{HttpAnswer, HttpCall, HttpFailure, URL_BYTES_MAX};
use rewake_sandbox::http_client::{WayOut, call_in, failure_out, headers_out};

const FUNCTION: &str = "http.fetch";
/// The name that hooks know requests by.
const TOOL: &str = "http";
/// Header names of a request that are journaled; a request with more is refused.
const HEADERS_SHOWN_MAX: usize = 64;

type Answered = std::result::Result<http::Response, http::Error>;

pub(super) async fn fetch(imports: &mut StepImports, request: http::Request) -> Result<Answered> {
    let digest = Digest::of(&serde_json::to_vec(&request)?);
    let call = call_in(request);
    let shown = shown(&call);
    let wanted = HttpRequest {
        digest,
        arguments: canonical::digest(&shown).map_err(wasmtime::Error::msg)?,
        ..told(&call)
    };
    let (place, recorded) = imports.recorder.begin(FUNCTION)?;
    let recorded = recorded.unwrap_or_default();
    compare(imports, place, &wanted, &recorded)?;
    if let Some(end) = recorded.ended(0) {
        return ended(imports, &end.fact).await;
    }
    let way_out = imports.cx.way_out(imports.cx.harness());
    if let Some(start) = recorded.started(0) {
        return repeat(imports, &way_out, place, start, &call).await;
    }
    match judged(imports, &way_out, place, &recorded, &wanted, call).await? {
        Ok((started, call)) => {
            let entries = imports.recorder.record(place, vec![Draft::agent(place, started)], true).await?;
            let sending = Sending::of(&entries[0], false);
            perform(imports, &way_out, place, sending, &call).await
        }
        Err(failure) => refuse(imports, place, wanted, failure).await,
    }
}

/// Has a request judged by grants and hooks; what is to be recorded before it is sent, and what is sent.
async fn judged(
    imports: &mut StepImports,
    way_out: &WayOut,
    place: Place,
    recorded: &Recorded,
    wanted: &HttpRequest,
    call: HttpCall,
) -> Result<std::result::Result<(HttpStarted, HttpCall), HttpFailure>> {
    let granted = class_granted(way_out, &call);
    // What is not granted is no hook's business; but what was asked of one must come to its end.
    if let Err(failure) = &granted
        && recorded.first().is_none()
    {
        return Ok(Err(failure.clone()));
    }
    let effect = granted.clone().unwrap_or(class_of(&call.method, false));
    let (grants, input) = (vec![GrantKind::Http], shown(&call));
    let gated = Gated { name: TOOL, effect, grants, input, whole: wanted.digest };
    let (hooks, verdicts, input) = match gate(imports, place, recorded, gated).await? {
        Gate::Closed(why) => return Ok(Err(HttpFailure::Denied(why))),
        Gate::Open { hooks, verdicts, replaced } => (hooks, verdicts, replaced),
    };
    let class = match granted {
        Ok(class) => class,
        Err(failure) => return Ok(Err(failure)),
    };
    let Some(input) = input else {
        return Ok(Ok((HttpStarted { request: wanted.clone(), asked: None, class, hooks, verdicts }, call)));
    };
    let call = match replaced(way_out, &call, class, &input) {
        Ok(call) => call,
        Err(failure) => return Ok(Err(failure)),
    };
    let arguments = canonical::digest(&input).map_err(wasmtime::Error::msg)?;
    let request = HttpRequest { digest: wanted.digest, arguments, ..told(&call) };
    let asked = Some(wanted.arguments);
    Ok(Ok((HttpStarted { request, asked, class, hooks, verdicts }, call)))
}

/// The class of a request that is granted.
fn class_granted(way_out: &WayOut, call: &HttpCall) -> std::result::Result<Effect, HttpFailure> {
    let grant = way_out.egress.check(&way_out.pass(None), call)?;
    Ok(class_of(&call.method, grant.honours_key))
}

/// The request with the URL that a hook gave it, if that is granted, and what it does is still what it was
/// judged as.
fn replaced(
    way_out: &WayOut,
    call: &HttpCall,
    class: Effect,
    input: &str,
) -> std::result::Result<HttpCall, HttpFailure> {
    let now: serde_json::Value = serde_json::from_str(input).unwrap_or_default();
    let url = now["url"].as_str().unwrap_or_default().to_owned();
    let call = HttpCall { url, ..call.clone() };
    if canonical::digest(&shown(&call)) != canonical::digest(input) {
        let why =
            "a hook can replace the `url` of a request and nothing else: it is not shown all of the rest";
        return Err(HttpFailure::Denied(why.into()));
    }
    let judged_as = class_granted(way_out, &call).map_err(|failure| match failure {
        HttpFailure::Denied(why) => HttpFailure::Denied(format!("as a hook replaced it: {why}")),
        other => other,
    })?;
    if judged_as == class {
        Ok(call)
    } else {
        let why = "a hook replaced the URL with one where repeating the request does something else than it was judged for";
        Err(HttpFailure::Denied(why.into()))
    }
}

/// A request that is recorded as started, on its way.
struct Sending {
    start: u64,
    /// For who honours it; to others it would say nothing.
    key: Option<String>,
    is_repeat: bool,
}

impl Sending {
    fn of(start: &Entry, is_repeat: bool) -> Sending {
        let is_keyed = matches!(&start.fact, Fact::HttpStarted(body) if body.class == Effect::Idempotent);
        Sending { start: start.seq, key: is_keyed.then(|| start.hash.to_hex()), is_repeat }
    }
}

/// What hooks are shown of a request.
fn shown(call: &HttpCall) -> String {
    let names: Vec<&str> = call.headers.iter().map(|(name, _)| name.as_str()).collect();
    let body = format!("blake3:{}", Digest::of(&call.body));
    json!({ "method": call.method, "url": call.url, "headers": names, "body": body, "bytes": call.body.len() })
        .to_string()
}

/// What is journaled of a request, cut: one that is longer is refused.
fn told(call: &HttpCall) -> HttpRequest {
    let names = call.headers.iter().take(HEADERS_SHOWN_MAX).map(|(name, _)| cut(name, 64));
    HttpRequest {
        method: cut(&call.method, 16),
        url: cut(&call.url, URL_BYTES_MAX),
        headers: names.collect(),
        body: Digest::of(&call.body),
        bytes: call.body.len() as u64,
        digest: Digest::default(),
        arguments: Digest::default(),
    }
}

/// What is asked for must be what is recorded, as far as something is.
fn compare(imports: &mut StepImports, place: Place, wanted: &HttpRequest, recorded: &Recorded) -> Result<()> {
    let Some((seq, fact)) = recorded.first().map(|entry| (entry.seq, &entry.fact)) else { return Ok(()) };
    let (before, asked) = match fact {
        Fact::HttpStarted(body) => (Some(&body.request), body.asked),
        Fact::HttpCompleted(body) => (body.request.as_ref(), None),
        Fact::HookStarted(body) => {
            let now = binding(&imports.cx.id, place, TOOL, wanted.digest, wanted.arguments);
            if body.binding == now {
                return Ok(());
            }
            // No more is recorded yet than that a hook was asked about it.
            let shown =
                |binding: Digest| format!("of what a hook was asked about with the binding {binding}");
            let (expected, got) = (shown(body.binding), format!("{} {}", wanted.method, wanted.url));
            let difference = Difference { path: "request".to_owned(), expected, got };
            return Err(imports.recorder.differs(seq, FUNCTION, difference));
        }
        _ => (None, None),
    };
    match before {
        Some(before) if before.digest == wanted.digest => Ok(()),
        Some(before) => {
            let difference = difference(before, wanted, asked.is_some());
            Err(imports.recorder.differs(seq, FUNCTION, difference))
        }
        None => Err(imports.recorder.another_call(seq, FUNCTION)),
    }
}

/// Where two requests first differ, as far as the journal tells them. The URL of one that a hook replaced is the
/// hook's.
fn difference(before: &HttpRequest, now: &HttpRequest, is_replaced: bool) -> Difference {
    let text = |name: &str, before: &str, now: &str| {
        Difference::of_texts(before, now).map(|found| found.within(name))
    };
    let headers =
        || Difference::of(&json!(before.headers), &json!(now.headers)).map(|found| found.within("headers"));
    let body = |request: &HttpRequest| format!("{} bytes, blake3:{}", request.bytes, request.body);
    let rest = || Difference {
        path: "values of headers, or timeout-ms".to_owned(),
        expected: format!("{} {} (its digest is {})", before.method, before.url, before.digest),
        got: format!("{} {} (its digest is {})", now.method, now.url, now.digest),
    };
    text("method", &before.method, &now.method)
        .or_else(|| if is_replaced { None } else { text("url", &before.url, &now.url) })
        .or_else(headers)
        .or_else(|| text("body", &body(before), &body(now)))
        .unwrap_or_else(rest)
}

/// Records that a request is not sent at all, and why.
async fn refuse(
    imports: &mut StepImports,
    place: Place,
    request: HttpRequest,
    failure: HttpFailure,
) -> Result<Answered> {
    let (outcome, _) = outcome_of(Err(failure));
    let completed = HttpCompleted { start: None, request: Some(request), outcome, ms: 0 };
    let fact = Fact::from(completed);
    imports.recorder.record(place, vec![Draft::system(place, fact.clone())], true).await?;
    ended(imports, &fact).await
}

/// Sends again what was started and has no end, if its class allows it. What may not be repeated was settled
/// as lost when the session was loaded.
async fn repeat(
    imports: &mut StepImports,
    way_out: &WayOut,
    place: Place,
    start: &Entry,
    call: &HttpCall,
) -> Result<Answered> {
    let Fact::HttpStarted(started) = &start.fact else {
        return Err(imports.recorder.another_call(start.seq, FUNCTION));
    };
    // A hook may have replaced the URL.
    let call = HttpCall { url: started.request.url.clone(), ..call.clone() };
    if let Err(failure) = way_out.egress.check(&way_out.pass(None), &call) {
        return lose(imports, place, start.seq, Lost::Host, Some(words(&failure))).await;
    }
    let Some(n) = imports.recorder.next_try(start.seq) else {
        return lose(imports, place, start.seq, Lost::Limit, None).await;
    };
    let again = Draft::system(place, CallRetried::again(start.seq, n));
    imports.recorder.record(place, vec![again], true).await?;
    perform(imports, way_out, place, Sending::of(start, true), &call).await
}

/// Records that it will not be known what came of a request.
async fn lose(
    imports: &mut StepImports,
    place: Place,
    start: u64,
    why: Lost,
    refused: Option<String>,
) -> Result<Answered> {
    let lost = Fact::from(HttpLost { start, why, refused });
    imports.recorder.record(place, vec![Draft::system(place, lost.clone())], true).await?;
    ended(imports, &lost).await
}

/// Sends a request that is started, and records what came of it.
async fn perform(
    imports: &mut StepImports,
    way_out: &WayOut,
    place: Place,
    sending: Sending,
    call: &HttpCall,
) -> Result<Answered> {
    let Sending { start, key, is_repeat } = sending;
    let since = Instant::now();
    let result = way_out.egress.fetch(&way_out.pass(key.as_deref()), call).await;
    let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    // That it may not be sent now does not undo that it was, perhaps (R5).
    if let Err(failure @ HttpFailure::Denied(_)) = &result
        && is_repeat
    {
        return lose(imports, place, start, Lost::Host, Some(words(failure))).await;
    }
    let answered = result.clone().map(|HttpAnswer { status, headers, body }| http::Response {
        status,
        headers: headers_out(headers),
        body,
    });
    let (outcome, blob) = outcome_of(result);
    let completed = HttpCompleted { start: Some(start), request: None, outcome, ms };
    let blobs = blob.into_iter().collect();
    imports.recorder.record_with(place, vec![Draft::agent(place, completed)], blobs, false).await?;
    Ok(answered.map_err(failure_out))
}

fn words(failure: &HttpFailure) -> String {
    let words = match failure {
        HttpFailure::Denied(why) | HttpFailure::Failed(why) => why,
        HttpFailure::TimedOut => "it took too long",
        HttpFailure::TooLarge => "the response is over its limit",
    };
    cut(words, DETAIL_BYTES_MAX)
}

/// As the journal keeps it; a large body as a blob.
fn outcome_of(result: std::result::Result<HttpAnswer, HttpFailure>) -> (HttpOutcome, Option<Blob>) {
    let answer = match result {
        Ok(answer) => answer,
        Err(HttpFailure::Denied(why)) => return (HttpOutcome::Denied(why), None),
        Err(HttpFailure::TimedOut) => return (HttpOutcome::TimedOut, None),
        Err(HttpFailure::TooLarge) => return (HttpOutcome::TooLarge, None),
        Err(HttpFailure::Failed(why)) => return (HttpOutcome::Failed(why), None),
    };
    let HttpAnswer { status, headers, body } = answer;
    let (body, blob) = if body.len() > PAYLOAD_INLINE_BYTES_MAX {
        let blob = Blob::of(body);
        (HttpBody::Blob { digest: blob.digest, size: blob.bytes.len() as u64 }, Some(blob))
    } else {
        match String::from_utf8(body) {
            Ok(text) => (HttpBody::Text(text), None),
            Err(bytes) => (HttpBody::Bytes(Base64(bytes.into_bytes())), None),
        }
    };
    (HttpOutcome::Response { status, headers, body }, blob)
}

/// A recorded end, as the harness is told it.
async fn ended(imports: &mut StepImports, fact: &Fact) -> Result<Answered> {
    let Fact::HttpCompleted(HttpCompleted { outcome, .. }) = fact else {
        let mut why =
            "it may have been sent before its host died or let go of it; it is not sent again".to_owned();
        if let Fact::HttpLost(HttpLost { refused: Some(refused), .. }) = fact {
            why.push_str(&format!(", as it may not be sent now: {refused}"));
        }
        return Ok(Err(http::Error::Unknown(why)));
    };
    let HttpOutcome::Response { status, headers, body } = outcome else { return Ok(Err(error_of(outcome))) };
    let body = match body {
        HttpBody::Text(text) => text.clone().into_bytes(),
        HttpBody::Bytes(bytes) => bytes.0.clone(),
        HttpBody::Blob { digest, .. } => {
            let (store, digest) = (imports.cx.store.clone(), *digest);
            match apart(async move { store.blob(PROJECT, &digest).await }).await? {
                Ok(Some(bytes)) => bytes,
                Ok(None) => {
                    let why = format!("the body of a recorded response ({digest}) is not in this store");
                    return Err(imports.recorder.stopped(Stop::Host(why)));
                }
                Err(error) => return Err(imports.recorder.stopped(Stop::Host(error.to_string()))),
            }
        }
    };
    Ok(Ok(http::Response { status: *status, headers: headers_out(headers.clone()), body }))
}

fn error_of(outcome: &HttpOutcome) -> http::Error {
    match outcome {
        HttpOutcome::Denied(why) => http::Error::Denied(why.clone()),
        HttpOutcome::TimedOut => http::Error::TimedOut,
        HttpOutcome::TooLarge => http::Error::TooLarge,
        HttpOutcome::Failed(why) => http::Error::Failed(why.clone()),
        HttpOutcome::Response { .. } => http::Error::Failed("there is a response".into()),
    }
}
