//! One attempt to ask a provider's model: the request's head, and the answer as it arrives. Messages and tools are
//! written by request/, and what events say is read by stream/.
//!
//! Never repeats anything: the import does.

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use rewake_bindings::model::Request;
use rewake_core::fact::{ModelContent, ModelOutcome};
use rewake_core::limits::cut;
use rewake_wire::Part;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::fault::Faults;
use super::incoming::{Events, Patience, Stop, error_body};
use super::request::{self, Images, Maker};
use super::shown::Shown;
use super::spec::{Protocol, Spec};
use super::stream::{self, Answer, Reader};
use super::{Attempt, Bill, Deltas};
use rewake_egress::{Egress, ModelRequest, SECRET_BYTES_MIN, Scrubber};

/// The version of Anthropic's protocol that is spoken.
const ANTHROPIC_VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");
/// Bytes of the name of the model that answered.
const MODEL_NAME_BYTES_MAX: usize = 256;

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
        let request = self.request(&mut scrubber);
        let faults = Faults { spec: self.spec, scrubber: &scrubber };
        let request = match request {
            Ok(request) => request,
            Err(why) => return faults.unsent(why),
        };
        let reading = Reading { ask: self, faults: &faults };
        match timeout(self.spec.timeout, reading.whole(request)).await {
            Ok(attempt) => attempt,
            Err(_) => faults.too_long(),
        }
    }

    fn request(&self, scrubber: &mut Scrubber) -> Result<ModelRequest<'_>, String> {
        let key = self.key(scrubber)?;
        let output_tokens_max = self.request.max_tokens.unwrap_or(self.output_tokens_max);
        let mut body = request::head(self.spec, output_tokens_max);
        body.extend(request::body(self.spec, self.request, self.images)?);
        let body = Bytes::from(Value::Object(body).to_string());
        let path = match self.spec.protocol {
            Protocol::Anthropic => "messages",
            Protocol::OpenAi => "chat/completions",
        };
        let headers = headers(self.spec.protocol, key)?;
        Ok(ModelRequest { address: &self.spec.address, path, headers, body })
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
}

fn headers(protocol: Protocol, key: Option<String>) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    // What unpacks itself has no size that could be bounded on the way.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if protocol == Protocol::Anthropic {
        headers.insert(HeaderName::from_static("anthropic-version"), ANTHROPIC_VERSION);
    }
    if let Some(key) = key {
        let (name, value) = match protocol {
            Protocol::Anthropic => (HeaderName::from_static("x-api-key"), key),
            Protocol::OpenAi => (AUTHORIZATION, format!("Bearer {key}")),
        };
        let value = HeaderValue::from_str(&value);
        let mut value = value.map_err(|_| "the key has characters that no header may have".to_owned())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// An answer while it arrives.
struct Reading<'a> {
    ask: &'a Ask<'a>,
    faults: &'a Faults<'a>,
}

impl Reading<'_> {
    async fn whole(&self, request: ModelRequest<'_>) -> Attempt {
        let Ask { egress, patience, spec, deltas, .. } = *self.ask;
        let until = Instant::now() + patience.first;
        let mut head = match timeout_at(until, egress.open(request)).await {
            Ok(Ok(head)) => head,
            Ok(Err(why)) => return self.faults.not_opened(why),
            Err(_) => return self.faults.stopped(Stop::Silent(patience.first), false),
        };
        if !head.status.is_success() {
            let body = error_body(&mut head, patience).await;
            return self.faults.status(head.status.as_u16(), &head.headers, &body);
        }
        let mut events = Events::of(head, spec.protocol, patience, until);
        let mut reader = stream::reader(spec.protocol);
        let mut shown = Shown::new(self.faults.scrubber, deltas);
        if let Err(attempt) = self.read(&mut events, reader.as_mut(), &mut shown).await
            && !reader.is_whole()
        {
            return attempt;
        }
        shown.flush().await;
        self.ended(reader.answer(&Maker::of(spec), deltas.start))
    }

    /// Reads events until the answer is over, and shows what they add. Fails if it ends in another way, which need
    /// not mean that it is not whole: some servers leave out its mark.
    async fn read(
        &self,
        events: &mut Events,
        reader: &mut dyn Reader,
        shown: &mut Shown<'_>,
    ) -> Result<(), Attempt> {
        loop {
            let next = events.next().await;
            let next = next.map_err(|why| self.faults.stopped(why, reader.has_begun()))?;
            let Some(next) = next else { return Err(self.faults.cut_short()) };
            for event in next {
                let pieces = reader.take(&event);
                let pieces = pieces.map_err(|trouble| self.faults.trouble(trouble, reader.has_begun()))?;
                for piece in pieces {
                    shown.show(piece).await;
                }
                if reader.is_over() {
                    return Ok(());
                }
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
