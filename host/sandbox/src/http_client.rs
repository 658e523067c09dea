//! A component's way out: the host's egress with exactly its grants and its bundle's secrets, and the audit
//! of what a tool or a hook did with it. Records nothing.

use std::sync::Arc;
use std::time::Instant;

use rewake_bindings::http;
use rewake_core::fact::HttpUse;
use rewake_core::grant::HttpGrant;
use rewake_core::limits::cut;

use crate::clock::Clock;
use crate::lease_deadline::LeaseDeadline;
use rewake_egress::{Egress, HttpAnswer, HttpCall, HttpFailure, Pass, REQUESTS_MAX, URL_SHOWN_BYTES_MAX};
use rewake_policy::config::Rules;

/// What a component reaches the network with.
#[derive(Clone)]
pub struct WayOut {
    /// The host's HTTP client.
    pub egress: Arc<Egress>,
    /// The clock that the deadline is compared with.
    pub clock: Arc<dyn Clock>,
    /// Until when the session is this host's.
    pub deadline: Arc<LeaseDeadline>,
    /// The operator's rules, which hold the secrets.
    pub rules: Arc<Rules>,
    /// The bundle whose secrets are used.
    pub bundle: String,
    /// The requests that are granted.
    pub grants: Vec<HttpGrant>,
}

impl WayOut {
    /// On whose account its requests go out.
    pub fn pass<'a>(&'a self, key: Option<&'a str>) -> Pass<'a> {
        Pass { grants: &self.grants, bundle: &self.bundle, secrets: self.rules.as_ref(), key }
    }
}

/// The requests of one call of a tool or a hook; each is noted before it goes out, so that what is cut off
/// is told too.
#[derive(Default)]
pub(crate) struct Requests {
    way_out: Option<WayOut>,
    made: Vec<HttpUse>,
}

impl Requests {
    /// With a way out; without one everything is denied.
    pub(crate) fn with(way_out: Option<WayOut>) -> Self {
        Requests { way_out, made: Vec::new() }
    }

    /// What was asked for, in order.
    pub(crate) fn into_made(self) -> Vec<HttpUse> {
        self.made
    }

    /// Waits until the guest may begin something outside: its session is this host's for a margin more. A guest that
    /// runs may be in the middle of many such things when it is not.
    pub(crate) async fn until_held(&self) {
        if let Some(way_out) = &self.way_out {
            way_out.deadline.wait(way_out.clock.as_ref()).await;
        }
    }

    /// Sends a request, if it is granted.
    pub(crate) async fn fetch(&mut self, request: http::Request) -> Result<http::Response, http::Error> {
        let call = call_in(request);
        if self.made.len() >= REQUESTS_MAX {
            return Err(http::Error::Denied(format!("one call makes at most {REQUESTS_MAX} requests")));
        }
        self.made.push(HttpUse {
            method: cut(&call.method, 16),
            url: cut(&call.url, URL_SHOWN_BYTES_MAX),
            status: None,
            bytes: 0,
            ms: 0,
            denied: None,
            error: Some("it was cut off".into()),
        });
        let since = Instant::now();
        self.until_held().await;
        let result = match &self.way_out {
            Some(way_out) => way_out.egress.fetch(&way_out.pass(None), &call).await,
            None => Err(HttpFailure::Denied("nothing is granted while a component lists its tools".into())),
        };
        if let Some(made) = self.made.last_mut() {
            made.ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
            note(made, &result);
        }
        result.map(answer_out).map_err(failure_out)
    }
}

fn note(made: &mut HttpUse, result: &Result<HttpAnswer, HttpFailure>) {
    made.error = None;
    match result {
        Ok(answer) => (made.status, made.bytes) = (Some(answer.status), answer.body.len() as u64),
        Err(HttpFailure::Denied(why)) => made.denied = Some(why.clone()),
        Err(HttpFailure::TimedOut) => made.error = Some("it took too long".into()),
        Err(HttpFailure::TooLarge) => made.error = Some("the response is over its limit".into()),
        Err(HttpFailure::Failed(why)) => made.error = Some(why.clone()),
    }
}

/// A guest's request.
pub fn call_in(request: http::Request) -> HttpCall {
    let headers = request.headers.into_iter().map(|header| (header.name, header.value)).collect();
    let http::Request { method, url, body, timeout_ms, .. } = http::Request { headers: vec![], ..request };
    HttpCall { method, url, headers, body, timeout_ms }
}

fn answer_out(answer: HttpAnswer) -> http::Response {
    http::Response { status: answer.status, headers: headers_out(answer.headers), body: answer.body }
}

/// Headers as guests get them.
pub fn headers_out(headers: Vec<(String, String)>) -> Vec<http::Header> {
    headers.into_iter().map(|(name, value)| http::Header { name, value }).collect()
}

/// Why there is no response, as guests are told it.
pub fn failure_out(failure: HttpFailure) -> http::Error {
    match failure {
        HttpFailure::Denied(why) => http::Error::Denied(why),
        HttpFailure::TimedOut => http::Error::TimedOut,
        HttpFailure::TooLarge => http::Error::TooLarge,
        HttpFailure::Failed(why) => http::Error::Failed(why),
    }
}
