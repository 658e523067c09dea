//! HTTP within the component's grant.
//!
//! Knows requests and responses. Does not know what is granted, nor any secret: the host checks
//! the one and adds the other. Outside a component every request fails, unless a test answers it
//! with [`crate::testing::with_http`].

use std::fmt;

use serde::de::DeserializeOwned;

/// A request. The host puts in the secrets that the manifest names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Such as `GET`.
    pub method: String,
    /// An absolute `http` or `https` URL.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// At most so long, in milliseconds; none: the host's limit.
    pub timeout_ms: Option<u32>,
}

impl Request {
    /// A `GET` of this URL.
    pub fn get(url: impl Into<String>) -> Self {
        Self { method: "GET".to_owned(), url: url.into(), ..Self::default() }
    }

    /// A `POST` of this body.
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { method: "POST".to_owned(), url: url.into(), body: body.into(), ..Self::default() }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

/// A response, whatever its status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Such as 200.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The body as text; what is no UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body read as JSON.
    ///
    /// # Errors
    /// It is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> crate::Result<T> {
        Ok(serde_json::from_slice(&self.body)?)
    }
}

/// Why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not granted: host, port, method, address, or a redirect to one.
    Denied(String),
    /// It took too long.
    TimedOut,
    /// The response is over the limit.
    TooLarge,
    /// It was sent and the host died: whether it was done is not known, and it was not repeated.
    Unknown(String),
    /// It could not be done.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(why) => write!(f, "the request is not granted: {why}"),
            Self::TimedOut => f.write_str("the request took too long"),
            Self::TooLarge => f.write_str("the response is larger than the limit"),
            Self::Unknown(why) => write!(f, "whether the request was done is not known: {why}"),
            Self::Failed(why) => write!(f, "the request failed: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// Sends a request and waits for the response.
///
/// # Errors
/// It is not granted, or there is no response.
pub fn fetch(request: &Request) -> Result<Response, Error> {
    #[cfg(target_arch = "wasm32")]
    return crate::glue::fetch(request);
    #[cfg(not(target_arch = "wasm32"))]
    return crate::testing::answer_http(request);
}
