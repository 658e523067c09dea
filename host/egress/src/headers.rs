//! The headers of a request: what a guest may set, and what the host sets in its place. Knows no grant.

use hyper::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST,
    HeaderMap, HeaderName, HeaderValue, RANGE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use rewake_core::grant::can_carry_secret;
use rewake_core::limits::cut;

use super::limits::{HEADERS_BYTES_MAX, HEADERS_MAX};

/// The header that carries an idempotency key.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What a request says of itself if its guest says nothing.
const AGENT: &str = concat!("rewake/", env!("CARGO_PKG_VERSION"));

/// Reads a guest's headers.
///
/// # Errors
/// Which one it may not set, or what is wrong with it; no value is repeated.
pub(crate) fn read(
    given: &[(String, String)],
    reserved: impl Fn(&HeaderName) -> bool,
) -> Result<HeaderMap, String> {
    let bytes: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if given.len() > HEADERS_MAX || bytes > HEADERS_BYTES_MAX {
        return Err(format!(
            "{} headers of {bytes} bytes; at most {HEADERS_MAX} of {HEADERS_BYTES_MAX} bytes are taken",
            given.len()
        ));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        let shown = cut(name, 64);
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("{shown:?} is not a header's name"))?;
        if is_the_host_s(&name) {
            return Err(format!("the header {shown:?} is the host's to set"));
        }
        if reserved(&name) {
            return Err(format!(
                "the header {shown:?} carries a secret of the component's; the host sets it"
            ));
        }
        let value = HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header {shown:?} has characters that none may have"))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// Headers that say where a request goes, where it ends, or who else may see it.
fn is_the_host_s(name: &HeaderName) -> bool {
    [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, TE, TRAILER, UPGRADE, EXPECT].contains(name)
        || name.as_str() == "keep-alive"
        || name.as_str() == "http2-settings"
        || name.as_str().starts_with("proxy-")
}

/// Sets what the host sets.
pub(crate) fn complete(headers: &mut HeaderMap, authority: &str) -> Result<(), String> {
    let host = HeaderValue::from_str(authority).map_err(|_| "the host's name is not a header's value")?;
    headers.insert(HOST, host);
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
    Ok(())
}

/// Puts a secret in. What comes back must be readable, or the secret could come back unseen: compressed, or
/// piece by piece.
pub(crate) fn add_secret(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), String> {
    if !can_carry_secret(name) {
        return Err(format!("the header {name:?} cannot carry a secret"));
    }
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| "the secret's header is not a header")?;
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| "the secret's value has characters that no header may have".to_owned())?;
    value.set_sensitive(true);
    headers.insert(name, value);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.remove(RANGE);
    Ok(())
}

/// What is meant for one origin is not for another.
pub(crate) fn leave_origin(headers: &mut HeaderMap) {
    for name in [AUTHORIZATION, COOKIE, IDEMPOTENCY_KEY] {
        headers.remove(name);
    }
}

/// A request whose method a redirect made a `GET` has no body any more.
pub(crate) fn leave_body(headers: &mut HeaderMap) {
    for name in ["content-encoding", "content-language", "content-location", "digest"] {
        headers.remove(name);
    }
    headers.remove(CONTENT_TYPE);
}

/// Names and values of a response, without those that concern the connection alone. Bytes that are no text
/// are replaced.
pub(crate) fn shown(headers: &HeaderMap) -> Vec<(String, String)> {
    let end_to_end = headers.iter().filter(|(name, _)| {
        ![CONNECTION, TRANSFER_ENCODING, TE, TRAILER, UPGRADE].contains(name)
            && name.as_str() != "keep-alive"
            && !name.as_str().starts_with("proxy-")
    });
    end_to_end
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}
