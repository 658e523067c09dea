//! Why there is no answer, in words for who has to do something about it: whether it is the key, the model, the
//! quota, the size of the request, the network or the provider itself; and whether another attempt can help.
//!
//! Knows what providers say. Sends nothing, and shows no key.

#[cfg(test)]
mod tests;

use std::time::Duration;

use http::HeaderMap;
use http::header::LOCATION;
use jiff::Timestamp;
use rewake_core::fact::ModelOutcome;
use rewake_core::limits::{DETAIL_BYTES_MAX, cut};
use serde_json::Value;
use url::Url;

use super::after::after;
use super::incoming::Stop;
use super::spec::Spec;
use super::stream::Trouble;
use super::{Attempt, Bill};
use rewake_egress::{NotOpened, Scrubber};

/// Bytes of a provider's own words, and of those that are read to find them.
const SAID_BYTES_MAX: usize = 500;
const READ_BYTES_MAX: usize = 64 << 10;

/// Makes words of what went wrong with one attempt.
pub(super) struct Faults<'a> {
    pub(super) spec: &'a Spec,
    pub(super) scrubber: &'a Scrubber,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Key,
    Model,
    Quota,
    Size,
    Rate,
    Busy,
    Request,
}

/// A provider's error, as far as it is understood.
#[derive(Debug, Default, PartialEq)]
struct Said {
    /// Its type and its code.
    codes: Vec<String>,
    message: String,
}

impl Faults<'_> {
    /// Nothing was sent, and nothing can be.
    pub(super) fn unsent(&self, why: impl Into<String>) -> Attempt {
        let outcome = ModelOutcome::Rejected(self.clean(&why.into()));
        Attempt::Ended { outcome, bill: Bill::Nothing }
    }

    /// There is no response.
    pub(super) fn not_opened(&self, why: NotOpened) -> Attempt {
        let place = self.place();
        match why {
            NotOpened::Refused(why) => self.unsent(format!("{place} is not asked: {why}")),
            NotOpened::Unreached(why) => {
                self.again(format!("{place} cannot be reached: {}", self.said(&why)), None, Bill::Nothing)
            }
            NotOpened::NoResponse(why) => {
                self.again(format!("{place} gave no answer: {}", self.said(&why)), None, Bill::Unknown)
            }
        }
    }

    /// The answer stopped before its end.
    pub(super) fn stopped(&self, why: Stop, has_begun: bool) -> Attempt {
        let place = self.place();
        match why {
            Stop::Silent(waited) => self.silent(waited, has_begun),
            Stop::Broken(why) => {
                let words = self.said(&why);
                let why = match has_begun {
                    true => format!("the answer of {place} broke off: {words}"),
                    false => format!("{place} gave no answer: {words}"),
                };
                self.again(why, None, Bill::Unknown)
            }
            Stop::TooMuch { bytes_max } => self.too_much(bytes_max),
            Stop::EventTooLong { bytes_max } => {
                let why = format!("{place} sends an event of more than {bytes_max} bytes");
                Attempt::Ended { outcome: ModelOutcome::Rejected(self.clean(&why)), bill: Bill::Unknown }
            }
            Stop::Foreign => self.no_stream(),
            Stop::CutShort => self.cut_short(),
        }
    }

    /// A frame that is none, or in which the provider gives up.
    pub(super) fn trouble(&self, trouble: Trouble, has_begun: bool) -> Attempt {
        let place = self.place();
        match trouble {
            Trouble::TooMuch { bytes_max } => self.too_much(bytes_max),
            Trouble::Malformed(what) => {
                self.again(format!("what {place} answers cannot be read: {what}"), None, Bill::Unknown)
            }
            Trouble::Said(error) => {
                let said = said(&error);
                let kind = kind(None, &said);
                let bill = match has_begun {
                    true => Bill::Unknown,
                    false => bill(kind, None),
                };
                self.of_kind(kind, None, &said, None, bill)
            }
        }
    }

    /// A stream that ended before the answer did.
    pub(super) fn cut_short(&self) -> Attempt {
        self.again(format!("the answer of {} broke off before its end", self.place()), None, Bill::Unknown)
    }

    /// An answer in which there is no event of a stream.
    fn no_stream(&self) -> Attempt {
        let (place, at) = (self.place(), &self.spec.place);
        let why = format!(
            "{place} answers with something else than this protocol: it is a page of a proxy, or another protocol. Check `base_url` and `provider` in {at} of rewake.toml"
        );
        Attempt::Ended { outcome: ModelOutcome::Rejected(self.clean(&why)), bill: Bill::Unknown }
    }

    /// More than is taken.
    fn too_much(&self, bytes_max: usize) -> Attempt {
        let why = format!("{} answers with more than {bytes_max} bytes", self.place());
        Attempt::Ended { outcome: ModelOutcome::Rejected(self.clean(&why)), bill: Bill::Unknown }
    }

    /// Nothing comes any more.
    fn silent(&self, waited: Duration, has_begun: bool) -> Attempt {
        let (place, s) = (self.place(), waited.as_secs_f64());
        let what = if has_begun { "has said nothing more" } else { "has not begun to answer" };
        self.again(format!("{place} {what} for {s} s"), None, Bill::Unknown)
    }

    /// It takes longer than the operator lets it.
    pub(super) fn too_long(&self) -> Attempt {
        let (place, at, s) = (self.place(), &self.spec.place, self.spec.timeout.as_secs_f64());
        let why = format!("{place} has not answered whole in {s} s, which is the `timeout` of {at}");
        self.again(why, None, Bill::Unknown)
    }

    pub(super) fn status(&self, status: u16, headers: &HeaderMap, body: &str) -> Attempt {
        if (300..400).contains(&status) {
            return self.redirected(status, headers);
        }
        let said = match serde_json::from_str::<Value>(body) {
            Ok(value) => said(value.get("error").filter(|error| !error.is_null()).unwrap_or(&value)),
            Err(_) => Said { message: page(body), ..Said::default() },
        };
        let kind = kind(Some(status), &said);
        self.of_kind(kind, Some(status), &said, after(headers, Timestamp::now()), bill(kind, Some(status)))
    }

    fn of_kind(
        &self,
        kind: Kind,
        status: Option<u16>,
        said: &Said,
        after: Option<Duration>,
        bill: Bill,
    ) -> Attempt {
        let Spec { model, place: at, .. } = self.spec;
        let place = self.place();
        let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
        let said = match self.said(&said.words()) {
            words if words.is_empty() => words,
            words => format!(": {words}"),
        };
        let rejected =
            |why: String| Attempt::Ended { outcome: ModelOutcome::Rejected(self.clean(&why)), bill };
        match kind {
            Kind::Key => rejected(match &self.spec.key {
                Some(key) => format!(
                    "{place} does not accept {key}{status}{said}. Put a key there that is valid and may use {model}"
                ),
                None => format!(
                    "{place} wants a key{status}{said}. Name the variable that holds it, as `key_env` in {at} of rewake.toml"
                ),
            }),
            Kind::Model => rejected(format!(
                "{place} has no model {model}{status}{said}. Correct `model`, or `base_url`, in {at} of rewake.toml"
            )),
            Kind::Quota => rejected(format!(
                "the account at {place} has nothing left to pay with{status}{said}. Add credit there, or name another model"
            )),
            Kind::Size => {
                let why = format!("the request is larger than {model} takes{status}{said}");
                Attempt::Ended { outcome: ModelOutcome::TooLarge(self.clean(&why)), bill }
            }
            Kind::Request => rejected(format!("{place} refuses the request{status}{said}")),
            Kind::Rate => {
                self.again(format!("{place} takes no more requests for now{status}{said}"), after, bill)
            }
            Kind::Busy => self.again(format!("{place} cannot answer now{status}{said}"), after, bill),
        }
    }

    /// Where it would lead is told as an origin: the rest may hold what is nobody's business.
    fn redirected(&self, status: u16, headers: &HeaderMap) -> Attempt {
        let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
        let location = location.filter(|location| !self.scrubber.finds(location.as_bytes()));
        let base = Url::parse(self.spec.address.base()).ok();
        let to = location.zip(base).and_then(|(location, base)| base.join(location).ok());
        let to = to
            .map(|url| format!(" to {}", cut(&url.origin().ascii_serialization(), 260)))
            .unwrap_or_default();
        let (place, at) = (self.place(), &self.spec.place);
        self.unsent(format!(
            "{place} sends the request elsewhere ({status}{to}), which is not followed: the key is for this address. Correct `base_url` in {at} of rewake.toml"
        ))
    }

    fn again(&self, why: String, after: Option<Duration>, bill: Bill) -> Attempt {
        Attempt::Again { why: self.clean(&why), after, bill }
    }

    fn place(&self) -> String {
        self.spec.address.origin()
    }

    /// Somebody else's words in one line. The key is taken out before anything is cut, or its beginning would stay.
    fn said(&self, words: &str) -> String {
        let clean = self.scrubber.scrub_text(&cut(words, READ_BYTES_MAX));
        let line: String = clean.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        cut(&line, SAID_BYTES_MAX)
    }

    fn clean(&self, why: &str) -> String {
        cut(&self.scrubber.scrub_text(why), DETAIL_BYTES_MAX)
    }
}

impl Said {
    fn is(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        words.iter().any(|words| message.contains(words))
    }

    /// What it says: its message, or its codes.
    fn words(&self) -> String {
        match self.message.trim() {
            "" => self.codes.join(", "),
            message => message.trim_end_matches('.').to_owned(),
        }
    }
}

/// An error object of any provider.
fn said(error: &Value) -> Said {
    let text = |key: &str| match error.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let message = error.as_str().map(str::to_owned).or_else(|| text("message")).or_else(|| text("detail"));
    let codes = ["type", "code", "status"].iter().filter_map(|key| text(key)).collect();
    Said { codes, message: message.unwrap_or_default() }
}

/// What of a body that is no JSON is worth showing.
fn page(body: &str) -> String {
    match body.trim_start().starts_with('<') {
        true => "it answers with a page, as a proxy does".into(),
        false => body.trim().to_owned(),
    }
}

fn kind(status: Option<u16>, said: &Said) -> Kind {
    const QUOTA: [&str; 4] =
        ["insufficient_quota", "billing_error", "billing_hard_limit_reached", "payment_required"];
    const SIZE: [&str; 3] = ["context_length_exceeded", "request_too_large", "exceed_context_size_error"];
    const SIZE_WORDS: [&str; 8] = [
        "prompt is too long",
        "context length",
        "context window",
        "context limit",
        "context size",
        "input is too long",
        "input length and `max_tokens` exceed",
        "request too large",
    ];
    const KEY: [&str; 4] =
        ["authentication_error", "permission_error", "invalid_api_key", "invalid_authentication"];
    const MODEL: [&str; 2] = ["model_not_found", "not_found_error"];
    const RATE: [&str; 3] = ["rate_limit_error", "rate_limit_exceeded", "too_many_requests"];
    const BUSY: [&str; 6] = [
        "overloaded_error",
        "api_error",
        "server_error",
        "timeout_error",
        "internal_error",
        "service_unavailable",
    ];
    let can_be_size = matches!(status, None | Some(400 | 413 | 422 | 429 | 500));
    let is_busy = matches!(status, Some(408 | 425 | 500 | 502..=504 | 506..=599));
    match status {
        _ if said.is(&QUOTA) || said.says(&["credit balance is too low"]) => Kind::Quota,
        Some(402) => Kind::Quota,
        Some(413) => Kind::Size,
        _ if said.is(&SIZE) || can_be_size && said.says(&SIZE_WORDS) => Kind::Size,
        Some(401 | 403) => Kind::Key,
        _ if said.is(&KEY) => Kind::Key,
        Some(404) => Kind::Model,
        _ if said.is(&MODEL) => Kind::Model,
        Some(429) => Kind::Rate,
        _ if said.is(&RATE) => Kind::Rate,
        _ if is_busy || said.is(&BUSY) => Kind::Busy,
        _ => Kind::Request,
    }
}

/// What is refused at the door is not counted; what broke on the way may have been.
fn bill(kind: Kind, status: Option<u16>) -> Bill {
    match (kind, status) {
        (Kind::Busy, Some(503 | 529) | None) => Bill::Nothing,
        (Kind::Busy, Some(_)) => Bill::Unknown,
        _ => Bill::Nothing,
    }
}
