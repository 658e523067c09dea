//! The one way out: a request of a guest, or of the host for a guest, goes through `Egress::fetch`, and a request
//! to a model through `Egress::open`. Both connect to addresses that were checked, and to nothing else.
//! It knows grants, addresses, secrets and bounds. It does not know sessions, and whether a request is
//! recorded or audited.

mod address;
mod exchange;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod headers;
mod limits;
mod mock;
mod models;
mod network;
mod scrub;
mod secrets;
mod target;
#[cfg(test)]
mod tests;
mod trust;

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{CONTENT_ENCODING, HeaderMap, LOCATION};
use hyper::{Method, StatusCode};
use rewake_core::grant::{HttpGrant, SecretGrant};
use rewake_core::limits::{DETAIL_BYTES_MAX, cut};
use tokio_rustls::rustls::ClientConfig;
pub use tokio_rustls::rustls::pki_types::CertificateDer;

pub use self::limits::HttpLimits;
pub use self::limits::{REQUESTS_MAX, URL_BYTES_MAX, URL_SHOWN_BYTES_MAX};
pub use self::mock::Mock;
use self::mock::Mocks;
pub use self::models::ModelAddress;
pub use self::models::{ModelRequest, NotOpened};
pub use self::secrets::{Secret, Secrets};
pub use self::trust::authorities;

pub use self::exchange::Head;
use self::exchange::{Reach, Sent};
use self::headers::IDEMPOTENCY_KEY;
use self::limits::REDIRECTS_MAX;
use self::network::{Machine, Network};
pub use self::scrub::Scrubber;
use self::target::Permit;
pub(crate) use self::target::Target;

/// The way out of a host.
pub struct Egress {
    network: Arc<dyn Network>,
    limits: HttpLimits,
    tls: Arc<ClientConfig>,
    /// Answers in place of the network.
    mocks: Option<Mocks>,
}

/// On whose account a request goes out.
pub struct Pass<'a> {
    /// What is granted.
    pub grants: &'a [HttpGrant],
    /// The bundle whose configuration holds the secrets.
    pub bundle: &'a str,
    /// Where the values of secrets are read, when a request leaves.
    pub secrets: &'a dyn Secrets,
    /// The idempotency key, where the receiver honours it.
    pub key: Option<&'a str>,
}

/// A request of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpCall {
    /// In upper case.
    pub method: String,
    /// Absolute, with a scheme and a host.
    pub url: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
    /// At most so long, in milliseconds.
    pub timeout_ms: Option<u32>,
}

/// A response, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status code.
    pub status: u16,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// The body as it came: nothing is decompressed.
    pub body: Vec<u8>,
}

/// Why there is no response. No text of it holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpFailure {
    /// It is not granted: why, and what is.
    Denied(String),
    /// There was no whole response in time.
    TimedOut,
    /// The response is over its limit.
    TooLarge,
    /// Anything else: why.
    Failed(String),
}

impl HttpFailure {
    /// As words alone.
    fn words(self) -> String {
        match self {
            HttpFailure::Denied(why) | HttpFailure::Failed(why) => why,
            HttpFailure::TimedOut => "it timed out".into(),
            HttpFailure::TooLarge => "the response is too large".into(),
        }
    }
}

fn failed(why: impl Into<String>) -> HttpFailure {
    HttpFailure::Failed(why.into())
}

impl Egress {
    /// Over the machine's network, trusting these authorities beside those that are built in.
    ///
    /// # Errors
    /// One of them is invalid, or TLS cannot be done at all.
    pub fn new(limits: HttpLimits, authorities: &[CertificateDer<'static>]) -> Result<Self, String> {
        Ok(Egress { network: Arc::new(Machine), limits, tls: trust::tls(authorities)?, mocks: None })
    }

    /// With these answers in place of the network. Nothing leaves the machine, and no model is asked.
    #[must_use]
    pub fn mocked(self, mocks: Vec<Mock>) -> Self {
        Egress { mocks: Some(Mocks::new(mocks)), ..self }
    }

    /// Whether a request may go out at all, before anything is done for it.
    ///
    /// # Errors
    /// Why not.
    pub fn check<'a>(&self, pass: &Pass<'a>, call: &HttpCall) -> Result<&'a HttpGrant, HttpFailure> {
        let target = Target::parse(&call.url).map_err(HttpFailure::Denied)?;
        let permit = target.permit(pass.grants, &call.method).map_err(HttpFailure::Denied)?;
        method(&call.method)?;
        guest_headers(pass, call)?;
        if call.body.len() > self.limits.request_bytes_max {
            let (got, max) = (call.body.len(), self.limits.request_bytes_max);
            return Err(failed(format!("the request's body has {got} bytes; at most {max} are taken")));
        }
        Ok(permit.grant)
    }

    /// Sends a request and follows its redirects, each granted again.
    ///
    /// # Errors
    /// It is not granted, or there is no response within its bounds.
    pub async fn fetch(&self, pass: &Pass<'_>, call: &HttpCall) -> Result<HttpAnswer, HttpFailure> {
        self.check(pass, call)?;
        let asked = call.timeout_ms.map_or(self.limits.total, |ms| {
            std::time::Duration::from_millis(ms.into()).min(self.limits.total)
        });
        let mut journey = Journey {
            egress: self,
            pass,
            scrubber: scrubber(pass),
            method: method(&call.method)?,
            headers: guest_headers(pass, call)?,
            body: Bytes::copy_from_slice(&call.body),
            is_home: true,
            has_sent_secret: false,
        };
        let target = Target::parse(&call.url).map_err(HttpFailure::Denied)?;
        let ended = tokio::time::timeout(asked, journey.go(target)).await;
        ended.unwrap_or(Err(HttpFailure::TimedOut)).map_err(|failure| journey.clean(failure))
    }
}

fn method(text: &str) -> Result<Method, HttpFailure> {
    Method::from_bytes(text.as_bytes()).map_err(|_| failed(format!("{:?} is not a method", cut(text, 16))))
}

fn guest_headers(pass: &Pass<'_>, call: &HttpCall) -> Result<HeaderMap, HttpFailure> {
    let secrets = || pass.grants.iter().filter_map(|grant| grant.secret.as_ref());
    let headers = headers::read(&call.headers, |name| {
        secrets().any(|secret| secret.header.eq_ignore_ascii_case(name.as_str()))
    });
    headers.map_err(HttpFailure::Denied)
}

/// What keeps each secret of the component's out of whatever comes back: a server can say what it was told with
/// an earlier request.
fn scrubber(pass: &Pass<'_>) -> Scrubber {
    let granted = pass.grants.iter().filter_map(|grant| grant.secret.as_ref());
    let mut scrubber = Scrubber::default();
    for value in granted.filter_map(|secret| pass.secrets.secret(pass.bundle, &secret.config)) {
        if value.expose().len() >= SECRET_BYTES_MIN {
            scrubber.learn(value.expose());
        }
    }
    scrubber
}

/// Bytes of a secret: less would be found, and taken out, everywhere.
pub const SECRET_BYTES_MIN: usize = 4;

/// A request on its way, from one redirect to the next.
struct Journey<'a> {
    egress: &'a Egress,
    pass: &'a Pass<'a>,
    scrubber: Scrubber,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
    /// It has not left the origin that it was meant for.
    is_home: bool,
    /// What comes back must be readable, so that the secret can be taken out.
    has_sent_secret: bool,
}

impl Journey<'_> {
    async fn go(&mut self, first: Target) -> Result<HttpAnswer, HttpFailure> {
        let mut target = first;
        for hop in 0..=REDIRECTS_MAX {
            let permit = target.permit(self.pass.grants, self.method.as_str()).map_err(|why| {
                HttpFailure::Denied(if hop == 0 { why } else { format!("by a redirect: {why}") })
            })?;
            let head = self.send(&target, permit).await?;
            let Some(location) = redirect(&head) else {
                return self.answer(head).await;
            };
            if self.scrubber.finds(location.as_bytes()) {
                return Err(failed("the redirect's address repeats a secret; it is not followed"));
            }
            let next = target.join(&location).map_err(|why| failed(format!("the redirect: {why}")))?;
            self.follow(&target, &next, head.status)?;
            target = next;
        }
        Err(failed(format!("it was redirected more than {REDIRECTS_MAX} times")))
    }

    async fn send(&mut self, target: &Target, permit: Permit<'_>) -> Result<Head, HttpFailure> {
        let reach = if permit.is_of_address { Reach::Named } else { Reach::Internet };
        if let Some(mocks) = &self.egress.mocks {
            exchange::check_address(target, reach).map_err(|why| why.of_guest(target))?;
            return mocks.answer(&self.method, target);
        }
        let mut headers = self.headers.clone();
        headers::complete(&mut headers, &target.authority()).map_err(failed)?;
        if self.is_home {
            if let Some(key) = self.pass.key {
                let key = key.parse().map_err(|_| failed("the idempotency key is not a header's value"))?;
                headers.insert(IDEMPOTENCY_KEY, key);
            }
            if let Some(secret) = &permit.grant.secret {
                self.add_secret(&mut headers, secret)?;
            }
        }
        let limits = &self.egress.limits;
        let connection = exchange::connect(self.egress, target, reach, limits.connect).await;
        let connection = connection.map_err(|why| why.of_guest(target))?;
        let sent = Sent { target, method: self.method.clone(), headers, body: self.body.clone() };
        let head = tokio::time::timeout(limits.head, exchange::exchange(connection, sent)).await;
        head.unwrap_or(Err(HttpFailure::TimedOut))
    }

    fn add_secret(&mut self, headers: &mut HeaderMap, secret: &SecretGrant) -> Result<(), HttpFailure> {
        let (bundle, key) = (self.pass.bundle, &secret.config);
        let Some(value) = self.pass.secrets.secret(bundle, key) else {
            return Err(HttpFailure::Denied(format!(
                "the bundle {bundle} has no value for its configuration key `{key}`: the operator sets it under [config.\"{bundle}\"]"
            )));
        };
        if value.expose().len() < SECRET_BYTES_MIN {
            return Err(failed(format!(
                "the value of `{key}` is too short to be kept apart from other text"
            )));
        }
        // It may have been set a moment ago.
        self.scrubber.learn(value.expose());
        self.has_sent_secret = true;
        let value = secret.format.replacen("{}", value.expose(), 1);
        headers::add_secret(headers, &secret.header, &value).map_err(failed)
    }

    /// Makes the request what it is after a redirect (RFC 9110, 15.4). A write that is safe to repeat is so for
    /// who honours its key, and for nobody else (journal.md R5).
    fn follow(&mut self, from: &Target, to: &Target, status: StatusCode) -> Result<(), HttpFailure> {
        let becomes_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
            headers::leave_body(&mut self.headers);
        }
        if from.is_same_origin(to) {
            return Ok(());
        }
        let reads = self.method == Method::GET || self.method == Method::HEAD;
        if self.pass.key.is_some() && self.is_home && !reads {
            return Err(failed(format!(
                "it was redirected to {}, which may not know its key; it is not sent there, as it could be done twice",
                to.origin()
            )));
        }
        self.is_home = false;
        headers::leave_origin(&mut self.headers);
        Ok(())
    }

    async fn answer(&mut self, head: Head) -> Result<HttpAnswer, HttpFailure> {
        let is_coded = head.headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity");
        if is_coded && self.has_sent_secret {
            return Err(failed("the response is compressed, so no secret could be taken out of it"));
        }
        let status = head.status.as_u16();
        let mut headers = headers::shown(&head.headers);
        let body = head.read(self.egress.limits.response_bytes_max).await?;
        if !self.scrubber.is_armed() {
            return Ok(HttpAnswer { status, headers, body });
        }
        for (name, value) in &mut headers {
            *name = self.scrubber.scrub_name(name);
            *value = self.scrubber.scrub_text(value);
        }
        Ok(HttpAnswer { status, headers, body: self.scrubber.scrub(body) })
    }

    fn clean(&self, failure: HttpFailure) -> HttpFailure {
        let clean = |why: String| cut(&self.scrubber.scrub_text(&why), DETAIL_BYTES_MAX);
        match failure {
            HttpFailure::Denied(why) => HttpFailure::Denied(clean(why)),
            HttpFailure::Failed(why) => HttpFailure::Failed(clean(why)),
            other => other,
        }
    }
}

/// Where a response says to go instead.
fn redirect(head: &Head) -> Option<String> {
    let follows = matches!(head.status.as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = head.headers.get(LOCATION).filter(|_| follows)?;
    location.to_str().ok().map(str::to_owned)
}
