//! The bounds of the way out, each with its unit.

use std::time::Duration;

/// Bytes of a URL.
pub const URL_BYTES_MAX: usize = 8 << 10;
/// Bytes of a URL in a message, an audit line or an entry.
pub const URL_SHOWN_BYTES_MAX: usize = 2 << 10;
/// Headers of a request.
pub(crate) const HEADERS_MAX: usize = 64;
/// Bytes of a request's headers, names and values together.
pub(crate) const HEADERS_BYTES_MAX: usize = 32 << 10;
/// Bytes of a response's status line and headers.
pub(crate) const HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes of a body that one task reads before it lets others run.
pub(crate) const PACE_BYTES: usize = 64 << 10;
/// Redirects that are followed of one request.
pub(crate) const REDIRECTS_MAX: usize = 5;
/// Addresses of one name that are tried.
pub(crate) const ADDRESSES_MAX: usize = 4;
/// Requests of one call of a tool or a hook: every one of them stands in the journal.
pub const REQUESTS_MAX: usize = 256;

/// The bounds of one request.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Bytes of a request's body.
    pub request_bytes_max: usize,
    /// Bytes of a response's body.
    pub response_bytes_max: usize,
    /// Time for all of it, redirects included; a guest can ask for less.
    pub total: Duration,
    /// Time until a connection stands, for each address.
    pub connect: Duration,
    /// Time from the request to the response's head.
    pub head: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        HttpLimits {
            request_bytes_max: 1 << 20,
            response_bytes_max: 4 << 20,
            total: Duration::from_secs(120),
            connect: Duration::from_secs(10),
            head: Duration::from_secs(60),
        }
    }
}
