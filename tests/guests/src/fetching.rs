//! HTTP requests, each with a word on how it went: the same for tools, hooks and harnesses.
//!
//! Knows the SDK's `http`. Does not know what a host should allow.

use rewake_sdk::http::{self, Error, Request};
use serde::{Deserialize, Serialize};

/// Characters of a response that are told.
const TOLD_CHARS_MAX: usize = 400;

/// A request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// Such as `GET`, which it is if not given.
    #[serde(default)]
    pub method: String,
    /// Where to.
    pub url: String,
    /// Names and values.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default)]
    pub body: String,
    /// At most so long, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u32>,
    /// How often; once if not given.
    #[serde(default)]
    pub times: Option<u32>,
}

/// Makes requests; a line each.
pub fn run(fetches: &[Fetch]) -> Vec<String> {
    fetches.iter().flat_map(|fetch| (0..fetch.times.unwrap_or(1)).map(|_| one(fetch))).collect()
}

fn one(fetch: &Fetch) -> String {
    let request = Request {
        method: if fetch.method.is_empty() { "GET".into() } else { fetch.method.clone() },
        url: fetch.url.clone(),
        headers: fetch.headers.clone(),
        body: fetch.body.clone().into_bytes(),
        timeout_ms: fetch.timeout_ms,
    };
    match http::fetch(&request) {
        Ok(response) => {
            let echoed = response.headers.iter().filter(|(name, _)| name.starts_with("x-"));
            let headers: String = echoed.map(|(name, value)| format!(" {name}={value}")).collect();
            let text: String = response.text().chars().take(TOLD_CHARS_MAX).collect();
            format!("{}{headers} {} bytes: {text}", response.status, response.body.len())
        }
        Err(Error::Denied(why)) => format!("denied: {why}"),
        Err(Error::TimedOut) => "timed out".into(),
        Err(Error::TooLarge) => "too large".into(),
        Err(Error::Unknown(why)) => format!("unknown: {why}"),
        Err(Error::Failed(why)) => format!("failed: {why}"),
    }
}
