//! Answers in place of the network, for tests of bundles: grants, redirects, headers and bounds are as ever, and nothing
//! leaves the machine.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};

use super::exchange::Head;
use super::target::Target;
use super::{HttpFailure, failed};

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mock {
    method: Method,
    /// The URL in the form that requests are compared in.
    url: String,
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Mock {
    /// An answer to a request of this method to this URL.
    ///
    /// # Errors
    /// What is wrong with one of them.
    pub fn new(
        method: &str,
        url: &str,
        status: u16,
        headers: &[(String, String)],
        body: Vec<u8>,
    ) -> Result<Mock, String> {
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| format!("{method:?} is no method"))?;
        let status = StatusCode::from_u16(status).map_err(|_| format!("{status} is no status"))?;
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let parsed = name.parse::<HeaderName>().ok().zip(value.parse::<HeaderValue>().ok());
            let (name, value) = parsed.ok_or_else(|| format!("{name:?} = {value:?} is no header"))?;
            map.append(name, value);
        }
        Ok(Mock { method, url: form(&Target::parse(url)?), status, headers: map, body: body.into() })
    }
}

fn form(target: &Target) -> String {
    format!("{}{}", target.origin(), target.path())
}

/// The answers of one test, and which of them were given.
pub(crate) struct Mocks(Mutex<Vec<(Mock, bool)>>);

impl Mocks {
    pub(crate) fn new(mocks: Vec<Mock>) -> Mocks {
        Mocks(Mutex::new(mocks.into_iter().map(|mock| (mock, false)).collect()))
    }

    /// The first answer to the request that was not given yet; else the last one again.
    pub(crate) fn answer(&self, method: &Method, target: &Target) -> Result<Head, HttpFailure> {
        let url = form(target);
        let mut mocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |mock: &Mock| mock.method == *method && mock.url == url;
        let next = mocks.iter().position(|(mock, given)| fits(mock) && !given);
        let Some(at) = next.or_else(|| mocks.iter().rposition(|(mock, _)| fits(mock))) else {
            return Err(failed(format!(
                "the test has no answer for {method} {url}: add one to the case's `http`, or let the tests reach the network with --network"
            )));
        };
        let (mock, given) = &mut mocks[at];
        *given = true;
        Ok(Head::made(mock.status, mock.headers.clone(), mock.body.clone()))
    }
}
