//! One attempt to ask a provider's model, through the library. Of the library are the request's head, the ways in
//! which models are told how much to think and to say, and the reading of the stream into frames; messages,
//! tools (request/) and what the frames say (stream/) are ours.
//!
//! Never repeats anything: the import does. Nothing that the library logs is kept: it would log what providers
//! say before keys are taken out.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::Stream as _;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatFrameSink, ChatOptions, ChatRequest, ChatStream, ChatStreamEvent, FrameCtx, RawFrameRef,
    ReasoningEffort,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use rewake_bindings::model::Request;
use rewake_core::fact::{ModelContent, ModelOutcome};
use rewake_core::limits::cut;
use rewake_wire::Part;
use serde_json::Value;
use tokio::time::Instant;
use tracing::dispatcher::{Dispatch, with_default};

use super::fault::Faults;
use super::request::{self, Images, Maker};
use super::shown::Shown;
use super::spec::{Protocol, Spec};
use super::stream::{self, Answer};
use super::{Attempt, Bill, Deltas};
use rewake_egress::{Egress, SECRET_BYTES_MIN, Scrubber};
use rewake_policy::config::Thinking;

/// The version of Anthropic's protocol that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Bytes of the name of the model that answered.
const MODEL_NAME_BYTES_MAX: usize = 256;
/// Bytes of all frames of one answer, and of those that wait to be read.
const FRAMES_BYTES_MAX: usize = 64 << 20;
/// Tokens that models of before are given to think with, of those that they may say.
const BUDGETS: [(Thinking, ReasoningEffort, u32); 3] = [
    (Thinking::High, ReasoningEffort::High, 24_000),
    (Thinking::Medium, ReasoningEffort::Medium, 8_000),
    (Thinking::Low, ReasoningEffort::Low, 1_024),
];

/// How long a provider may say nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Before the first event.
    pub(super) first: Duration,
    /// Between two events. Some say nothing while they think.
    pub(super) between: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience { first: Duration::from_secs(180), between: Duration::from_secs(300) }
    }
}

/// What is asked, and with what.
pub(super) struct Ask<'a> {
    pub(super) egress: &'a Egress,
    pub(super) spec: &'a Spec,
    pub(super) request: &'a Request,
    pub(super) images: &'a Images,
    /// Tokens of the answer, if the request does not bound them.
    pub(super) output_tokens_max: u32,
    pub(super) context_tokens: Option<u64>,
    pub(super) deltas: Deltas<'a>,
    pub(super) patience: Patience,
}

impl Ask<'_> {
    /// Asks, once.
    pub(super) async fn attempt(&self) -> Attempt {
        let mut scrubber = Scrubber::default();
        let key = match self.key(&mut scrubber) {
            Ok(key) => key,
            Err(why) => return Faults { spec: self.spec, scrubber: &scrubber }.unsent(why),
        };
        let faults = Faults { spec: self.spec, scrubber: &scrubber };
        let tap = std::sync::Arc::new(Tap::default());
        let stream = match self.open(key, tap.clone()).await {
            Ok(stream) => stream,
            Err(why) => return faults.unsent(why),
        };
        let read = Reading { ask: self, faults: &faults, tap: &tap, stream };
        match tokio::time::timeout(self.spec.timeout, read.whole()).await {
            Ok(attempt) => attempt,
            Err(_) => faults.too_long(),
        }
    }

    /// The key, if the model has one, known to whatever keeps it out of what is shown.
    fn key(&self, scrubber: &mut Scrubber) -> Result<Option<String>, String> {
        let Some(source) = &self.spec.key else { return Ok(None) };
        let (address, place) = (&self.spec.address, &self.spec.place);
        let secret = source.read().map_err(|why| {
            format!("{why}. Put the key there, or name another place in {place} of rewake.toml, with `key_env` or `key_file`")
        })?;
        if secret.expose().len() < SECRET_BYTES_MIN {
            return Err(format!("{source} is too short to be kept apart from other text"));
        }
        scrubber.learn(secret.expose());
        if address.shows_keys() {
            return Err(format!(
                "{source} would be sent to {} in clear text. Write an address with https:// as `base_url` in {place} of rewake.toml",
                address.origin()
            ));
        }
        Ok(Some(secret.expose().to_owned()))
    }

    async fn open(&self, key: Option<String>, tap: std::sync::Arc<Tap>) -> Result<ChatStream, String> {
        let spec = self.spec;
        let (kind, path) = match spec.protocol {
            Protocol::Anthropic => (AdapterKind::Anthropic, "messages"),
            Protocol::OpenAi => (AdapterKind::OpenAI, "chat/completions"),
        };
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(spec.address.base()),
            auth: AuthData::RequestOverride {
                url: format!("{}{path}", spec.address.base()),
                headers: Headers::from(headers(spec.protocol, key)),
            },
            model: ModelIden::new(kind, spec.model.as_str()),
        };
        let options = self.options(tap)?;
        let client = Client::builder().with_reqwest(self.egress.model_client(&spec.address)?);
        let client = client.build().map_err(|error| error.to_string())?;
        let mut call = Box::pin(client.exec_chat_stream(target, ChatRequest::default(), Some(&options)));
        let opened = poll_fn(|cx| quietly(|| call.as_mut().poll(cx))).await;
        opened.map(|response| response.stream).map_err(|error| format!("the request cannot be made: {error}"))
    }

    fn options(&self, tap: std::sync::Arc<Tap>) -> Result<ChatOptions, String> {
        let mut body = request::body(self.spec, self.request, self.images)?;
        let output_tokens_max = self.request.max_tokens.unwrap_or(self.output_tokens_max);
        let effort = effort(self.spec, output_tokens_max);
        // The library takes the end of some names for how much to think.
        if effort.is_none() && ReasoningEffort::from_model_name(&self.spec.model).0.is_some() {
            body.insert("reasoning_effort".into(), Value::Null);
        }
        let options = ChatOptions::default()
            .with_max_tokens(output_tokens_max)
            .with_capture_reasoning_content(true)
            .with_extra_body(body.into())
            .with_raw_frame_sink_arc(tap);
        Ok(match effort {
            Some(effort) => options.with_reasoning_effort(effort),
            None => options,
        })
    }
}

fn headers(protocol: Protocol, key: Option<String>) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> =
        vec![("accept".into(), "text/event-stream".into()), ("accept-encoding".into(), "identity".into())];
    match protocol {
        Protocol::Anthropic => {
            headers.push(("anthropic-version".into(), ANTHROPIC_VERSION.into()));
            headers.extend(key.map(|key| ("x-api-key".into(), key)));
        }
        Protocol::OpenAi => {
            headers.extend(key.map(|key| ("authorization".into(), format!("Bearer {key}"))));
        }
    }
    headers
}

/// How much to think, as the library is told it; none: nothing is said of it. What does not fit into the
/// answer's bound is less.
fn effort(spec: &Spec, output_tokens_max: u32) -> Option<ReasoningEffort> {
    let is_anthropic = spec.protocol == Protocol::Anthropic;
    let Some(wanted) = spec.thinking else {
        let is_taken_for = ReasoningEffort::from_model_name(&spec.model).0.is_some();
        return (is_anthropic && is_taken_for).then_some(ReasoningEffort::Zero);
    };
    let from_wanted = BUDGETS.iter().skip_while(|(thinking, ..)| *thinking != wanted);
    let fits = |budget: u32| !is_anthropic || budget < output_tokens_max;
    let fitting = from_wanted.into_iter().find(|(.., budget)| fits(*budget));
    Some(fitting.map_or(ReasoningEffort::Zero, |(_, effort, _)| effort.clone()))
}

/// Runs something that logs nothing.
fn quietly<T>(run: impl FnOnce() -> T) -> T {
    with_default(&Dispatch::none(), run)
}

/// An answer while it comes.
struct Reading<'a> {
    ask: &'a Ask<'a>,
    faults: &'a Faults<'a>,
    tap: &'a Tap,
    stream: ChatStream,
}

impl Reading<'_> {
    async fn whole(mut self) -> Attempt {
        let Ask { spec, deltas, .. } = *self.ask;
        let mut reader = stream::reader(spec.protocol);
        let mut shown = Shown::new(self.faults.scrubber, deltas);
        loop {
            let event = match self.next(reader.has_begun()).await {
                Ok(event) => event,
                Err(silent) => return silent,
            };
            for (event, data) in self.tap.take() {
                let pieces = match reader.take(event.as_deref(), &data) {
                    Ok(pieces) => pieces,
                    Err(trouble) => return self.faults.trouble(trouble, reader.has_begun()),
                };
                for piece in pieces {
                    shown.show(piece).await;
                }
                if reader.is_over() {
                    break;
                }
            }
            if self.tap.is_full() {
                return self.faults.too_much(FRAMES_BYTES_MAX);
            }
            match event {
                _ if reader.is_over() => break,
                None => break,
                // Only what the transport says counts: what frames mean is read here.
                Some(Err(error)) if is_of_transport(&error) => {
                    if reader.is_whole() {
                        break;
                    }
                    return self.faults.broken(&error, reader.has_begun());
                }
                Some(_) => {}
            }
        }
        if !reader.is_whole() {
            return match self.tap.is_no_stream() {
                true => self.faults.no_stream(),
                false => self.faults.cut_short(),
            };
        }
        shown.flush().await;
        self.ended(reader.answer(&Maker::of(spec), deltas.start))
    }

    /// The next thing that the library makes of the stream; or that nothing has come for too long. Anything at
    /// all that comes is a sign of life, whether the library makes something of it or not.
    async fn next(
        &mut self,
        has_begun: bool,
    ) -> Result<Option<Result<ChatStreamEvent, genai::Error>>, Attempt> {
        let Patience { first, between } = self.ask.patience;
        let since = Instant::now();
        loop {
            let (last, patience) = match self.tap.last() {
                Some(last) => (last.max(since), between),
                None => (since, first),
            };
            let stream = &mut self.stream;
            let next = poll_fn(|cx| quietly(|| Pin::new(&mut *stream).poll_next(cx)));
            if let Ok(next) = tokio::time::timeout_at(last + patience, next).await {
                return Ok(next);
            }
            if self.tap.last().is_none_or(|newest| newest <= last) {
                return Err(self.faults.silent(patience, has_begun));
            }
        }
    }

    fn ended(&self, answer: Answer) -> Attempt {
        let scrub = |text: &str| self.faults.scrubber.scrub_text(text);
        let content = answer.content.into_iter().map(|content| match content {
            ModelContent::Part(Part::Text { text }) => ModelContent::Part(Part::text(scrub(&text))),
            ModelContent::Part(other) => ModelContent::Part(other),
            ModelContent::Thinking(json) => ModelContent::Thinking(scrub(&json)),
            ModelContent::ToolUse { id, name, input } => {
                ModelContent::ToolUse { id: scrub(&id), name: scrub(&name), input: scrub(&input) }
            }
        });
        let model = answer.model.unwrap_or_else(|| self.ask.spec.model.clone());
        let outcome = ModelOutcome::Completion {
            model: cut(&scrub(&model), MODEL_NAME_BYTES_MAX),
            content: content.collect(),
            finish: answer.finish,
            usage: answer.usage.unwrap_or_default(),
            context_tokens: self.ask.context_tokens,
        };
        Attempt::Ended { outcome, bill: answer.usage.map_or(Bill::Unknown, Bill::Tokens) }
    }
}

fn is_of_transport(error: &genai::Error) -> bool {
    matches!(
        error,
        genai::Error::WebStream { .. } | genai::Error::HttpError { .. } | genai::Error::WebModelCall { .. }
    )
}

/// Keeps the frames of a stream until they are read.
#[derive(Default)]
struct Tap(Mutex<Tapped>);

#[derive(Default)]
struct Tapped {
    frames: VecDeque<(Option<String>, String)>,
    bytes: usize,
    /// Blocks of text between blank lines that were no events: comments, or no stream at all.
    others: u64,
    events: u64,
    last: Option<Instant>,
}

impl Tap {
    fn with<T>(&self, look: impl FnOnce(&mut Tapped) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn take(&self) -> VecDeque<(Option<String>, String)> {
        self.with(|tapped| std::mem::take(&mut tapped.frames))
    }

    fn is_full(&self) -> bool {
        self.with(|tapped| tapped.bytes > FRAMES_BYTES_MAX)
    }

    fn is_no_stream(&self) -> bool {
        self.with(|tapped| tapped.events == 0 && tapped.others > 0)
    }

    fn last(&self) -> Option<Instant> {
        self.with(|tapped| tapped.last)
    }
}

impl ChatFrameSink for Tap {
    fn on_frame(&self, _cx: &FrameCtx, frame: RawFrameRef<'_>) {
        self.with(|tapped| {
            tapped.last = Some(Instant::now());
            tapped.bytes = tapped.bytes.saturating_add(frame.data.len() + 16);
            // An event's name alone is one that was cut.
            if frame.data.is_empty() && frame.event.is_none() {
                tapped.others += 1;
                return;
            }
            tapped.events += 1;
            if !frame.data.is_empty() && tapped.bytes <= FRAMES_BYTES_MAX {
                tapped.frames.push_back((frame.event.map(str::to_owned), frame.data.to_owned()));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts what is logged.
    struct Counter(Arc<AtomicUsize>);

    impl tracing::Subscriber for Counter {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn what_the_library_says_is_not_logged() {
        let count = Arc::new(AtomicUsize::new(0));
        with_default(&Dispatch::new(Counter(count.clone())), || {
            tracing::error!("heard");
            quietly(|| tracing::error!("a key"));
            tracing::error!("heard");
        });
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}
