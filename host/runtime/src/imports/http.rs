//! `http.fetch` of a harness: judged by hooks, recorded by its start and its end, and performed again or not
//! by its class (journal.md R5). The way out itself is `egress`.

use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use rewake_bindings::{HttpImports, http};
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
use rewake_core::limits::{BODY_INLINE_BYTES_MAX, DETAIL_BYTES_MAX, cut};
use rewake_core::replay::Recorded;
use rewake_store::Blob;
use rewake_wire::Base64;
use serde_json::json;
use wasmtime::Result;

use super::judge::{Gate, Gated, gate};
use super::{StepImports, apart};
use crate::PROJECT;
use crate::context::SessionContext;
use crate::event::{DriverHandle, Unrecorded};
use crate::record::{Call, Facts, Recorder, Stop};
use rewake_bundle::GrantKind;
use rewake_egress::{HttpAnswer, HttpCall, HttpFailure, URL_BYTES_MAX};
use rewake_sandbox::http_client::{WayOut, call_in, failure_out, headers_out};

const FUNCTION: &str = "http.fetch";
/// The name that hooks know requests by.
const TOOL: &str = "http";
/// Header names of a request that are journaled; a request with more is refused.
const HEADERS_SHOWN_MAX: usize = 64;

type Answered = std::result::Result<http::Response, http::Error>;

impl HttpImports for StepImports {
    fn fetch(&mut self, request: http::Request) -> BoxFuture<'_, Result<Answered>> {
        Box::pin(fetch(self, request))
    }
}

async fn fetch(imports: &mut StepImports, request: http::Request) -> Result<Answered> {
    let digest = Digest::of(&serde_json::to_vec(&request)?);
    let call = call_in(request);
    let arguments = canonical::digest(&shown(&call)).map_err(wasmtime::Error::msg)?;
    let wanted = HttpRequest { digest, arguments, ..told(&call) };
    let cx = imports.cx.clone();
    let way_out = cx.way_out(cx.harness());
    let (fetch, end) = imports.recorder.run(Fetch { cx, way_out, call, wanted, answered: None }).await?;
    match fetch.answered {
        Some(answered) => Ok(answered),
        None => ended(imports, &end.fact).await,
    }
}

struct Fetch {
    cx: Arc<SessionContext>,
    way_out: WayOut,
    call: HttpCall,
    wanted: HttpRequest,
    /// What came of it, if it was sent now: a body that is a blob may not be in the store yet.
    answered: Option<Answered>,
}

impl Call for Fetch {
    fn function(&self) -> &'static str {
        FUNCTION
    }

    async fn compare(&self, place: Place, recorded: &Recorded) -> std::result::Result<(), (u64, Difference)> {
        let different = recorded.first().and_then(|first| self.difference(place, &first.fact));
        different.map_or(Ok(()), |difference| Err((recorded.seq(), difference)))
    }

    async fn start(&mut self, recorder: &mut Recorder, place: Place, recorded: &Recorded) -> Result<Facts> {
        Ok(match self.judged(recorder, place, recorded).await? {
            Ok(started) => Draft::agent(place, started).into(),
            Err(failure) => {
                let failure = self.with_remedy(failure);
                let (request, (outcome, _)) = (Some(self.wanted.clone()), outcome_of(Err(failure)));
                Draft::system(place, HttpCompleted { start: None, request, outcome, ms: 0 }).into()
            }
        })
    }

    /// What may not be sent by the grants of now is not sent again.
    fn again(&mut self, _: &Recorder, _: &Recorded, start: &Entry, attempt: Option<u32>) -> Facts {
        let checked = self.way_out.egress.check(&self.way_out.pass(None), &self.as_started(start));
        let draft = match (checked, attempt) {
            (Err(failure), _) => lost(start, Lost::Host, Some(&failure)),
            (Ok(_), None) => self.lost(start),
            (Ok(_), Some(attempt)) => Draft::system(start.place, CallRetried::again(start.seq, attempt)),
        };
        draft.into()
    }

    fn lost(&self, start: &Entry) -> Draft {
        lost(start, Lost::Limit, None)
    }

    async fn perform(
        &mut self,
        _: &DriverHandle,
        start: &Entry,
        attempt: u32,
    ) -> std::result::Result<Facts, Unrecorded> {
        let since = Instant::now();
        // Only who honours a key gets one; to others it would say nothing.
        let is_keyed = matches!(&start.fact, Fact::HttpStarted(body) if body.class == Effect::Idempotent);
        let key = is_keyed.then(|| start.hash.to_hex());
        let pass = self.way_out.pass(key.as_deref());
        let result = self.way_out.egress.fetch(&pass, &self.as_started(start)).await;
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        // That it may not be sent now does not undo that it was, perhaps (R5).
        if let Err(failure @ HttpFailure::Denied(_)) = &result
            && attempt > 0
        {
            return Ok(lost(start, Lost::Host, Some(failure)).into());
        }
        let answered = result.clone().map(|HttpAnswer { status, headers, body }| http::Response {
            status,
            headers: headers_out(headers),
            body,
        });
        self.answered = Some(answered.map_err(failure_out));
        let (outcome, blob) = outcome_of(result);
        let completed = HttpCompleted { start: Some(start.seq), request: None, outcome, ms };
        let drafts = vec![Draft::agent(start.place, completed)];
        Ok(Facts { drafts, blobs: blob.into_iter().collect(), ..Facts::default() })
    }
}

/// The end of a request of which it will not be known what came.
fn lost(start: &Entry, why: Lost, refused: Option<&HttpFailure>) -> Draft {
    Draft::system(start.place, HttpLost { start: start.seq, why, refused: refused.map(words) })
}

impl Fetch {
    /// A refusal, with how the operator approves again, if only that is missing.
    fn with_remedy(&self, failure: HttpFailure) -> HttpFailure {
        match (failure, self.cx.approve_again(self.cx.harness())) {
            (HttpFailure::Denied(why), Some(again)) => HttpFailure::Denied(format!("{why}. {again}")),
            (failure, _) => failure,
        }
    }

    /// The request as it was started: a hook may have replaced the URL.
    fn as_started(&self, start: &Entry) -> HttpCall {
        match &start.fact {
            Fact::HttpStarted(started) => HttpCall { url: started.request.url.clone(), ..self.call.clone() },
            _ => self.call.clone(),
        }
    }

    /// Has the request judged by grants and hooks; what is recorded before it is sent.
    async fn judged(
        &mut self,
        recorder: &mut Recorder,
        place: Place,
        recorded: &Recorded,
    ) -> Result<std::result::Result<HttpStarted, HttpFailure>> {
        let Fetch { cx, way_out, call, wanted, .. } = self;
        let granted = class_granted(way_out, call);
        // What is not granted is no hook's business; but what was asked of one must come to its end.
        if let Err(failure) = &granted
            && recorded.is_empty()
        {
            return Ok(Err(failure.clone()));
        }
        let effect = granted.clone().unwrap_or(class_of(&call.method, false));
        let (grants, input) = (vec![GrantKind::Http], shown(call));
        let gated = Gated { name: TOOL, effect, grants, input, whole: wanted.digest };
        let (hooks, verdicts, input) = match gate(recorder, cx, place, recorded, gated).await? {
            Gate::Closed(why) => return Ok(Err(HttpFailure::Denied(why))),
            Gate::Open { hooks, verdicts, replaced } => (hooks, verdicts, replaced),
        };
        let class = match granted {
            Ok(class) => class,
            Err(failure) => return Ok(Err(failure)),
        };
        let Some(input) = input else {
            return Ok(Ok(HttpStarted { request: wanted.clone(), asked: None, class, hooks, verdicts }));
        };
        let call = match replaced(way_out, call, class, &input) {
            Ok(call) => call,
            Err(failure) => return Ok(Err(failure)),
        };
        let arguments = canonical::digest(&input).map_err(wasmtime::Error::msg)?;
        let request = HttpRequest { digest: wanted.digest, arguments, ..told(&call) };
        let asked = Some(wanted.arguments);
        Ok(Ok(HttpStarted { request, asked, class, hooks, verdicts }))
    }

    /// Where the request differs from the one whose first entry this is.
    fn difference(&self, place: Place, first: &Fact) -> Option<Difference> {
        let wanted = &self.wanted;
        let (before, is_replaced) = match first {
            Fact::HttpStarted(body) => (Some(&body.request), body.asked.is_some()),
            Fact::HttpCompleted(body) => (body.request.as_ref(), false),
            Fact::HookStarted(body) => {
                let now = binding(&self.cx.id, place, TOOL, wanted.digest, wanted.arguments);
                // No more is recorded yet than that a hook was asked about it.
                let expected = format!("of what a hook was asked about with the binding {}", body.binding);
                let got = format!("{} {}", wanted.method, wanted.url);
                let path = "request".to_owned();
                return (body.binding != now).then_some(Difference { path, expected, got });
            }
            _ => (None, false),
        };
        let before = before.filter(|before| before.digest != wanted.digest)?;
        Some(difference(before, wanted, is_replaced))
    }
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
    let (body, blob) = if body.len() > BODY_INLINE_BYTES_MAX {
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
            "it may have been sent before its host died or unloaded the session; it is not sent again"
                .to_owned();
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
