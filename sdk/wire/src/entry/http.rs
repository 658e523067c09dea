//! Facts of HTTP: a harness's requests, recorded like other effects, and the audit lines of tools and
//! hooks. Knows nothing of connections.

use serde::{Deserialize, Serialize};

use super::Lost;
use crate::{Base64, Effect};

/// What was asked for, as far as it is journaled: header values and bodies are only digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest<D> {
    /// Such as `GET`.
    pub method: String,
    /// As the guest wrote it, or as a hook replaced it; cut.
    pub url: String,
    /// Names of the headers that the guest set, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Digest of the body.
    pub body: D,
    /// Bytes of the body.
    pub bytes: u64,
    /// Digest of the whole request: what a replay is compared with.
    pub digest: D,
    /// Digest of what hooks were shown, in canonical form (RFC 8785).
    pub arguments: D,
}

/// `http.started`: committed before anything is sent. Its chain hash is the idempotency key (R5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpStarted<D> {
    /// The request, as it is sent.
    pub request: HttpRequest<D>,
    /// Digest of what hooks were shown at first, in canonical form, where one of them replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<D>,
    /// Its effect class: by method, and by whether the receiver honours the key.
    pub class: Effect,
    /// The pinned hooks that had to judge it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<u32>,
    /// The verdicts that let it pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<u64>,
}

/// `http.completed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpCompleted<D> {
    /// Its start; none where it was refused before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// The request, where there is no start that tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<HttpRequest<D>>,
    /// What came of it.
    pub outcome: HttpOutcome<D>,
    /// Milliseconds it took.
    #[serde(default)]
    pub ms: u64,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpOutcome<D> {
    /// A response, whatever its status.
    Response {
        /// Such as 200.
        status: u16,
        /// Names and values, without secrets.
        headers: Vec<(String, String)>,
        /// The body, without secrets.
        body: HttpBody<D>,
    },
    /// Not granted, or a hook denied it: why, and what to ask for.
    Denied(String),
    /// It took too long.
    TimedOut,
    /// The response is over the limit.
    TooLarge,
    /// It could not be done.
    Failed(String),
}

/// The body of a response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpBody<D> {
    /// Text.
    Text(String),
    /// Other bytes.
    Bytes(Base64),
    /// Kept as a blob.
    Blob {
        /// Of its bytes.
        digest: D,
        /// How many.
        size: u64,
    },
}

/// `http.lost`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpLost {
    /// Its start.
    pub start: u64,
    /// Why its end is not known.
    pub why: Lost,
    /// Why it may not be sent again, where its class would let it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// One request of a tool or a hook, as its end tells it. Nothing is recorded for a replay: it never runs
/// them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpUse {
    /// Such as `GET`.
    pub method: String,
    /// As the guest wrote it, cut.
    pub url: String,
    /// The response's status; none: there is no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Bytes of the response's body.
    #[serde(default)]
    pub bytes: u64,
    /// Milliseconds it took.
    #[serde(default)]
    pub ms: u64,
    /// Why it is not granted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied: Option<String>,
    /// Why else there is no response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
