//! Secrets on the way out: where their values come from. Knows no request and no grant.

use std::fmt;
use std::sync::Arc;

/// A secret value. It is never shown: what prints it prints that it is one.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Of a value.
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Secret(value.into())
    }

    /// The value: for a request's header, and for nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Where the values of sensitive configuration come from. They are asked for with every request, and kept
/// nowhere else.
pub trait Secrets: Send + Sync + 'static {
    /// The value of a configuration key of a bundle, such as `acme/word-tools` and `api_key`; none: the
    /// operator has set none.
    fn secret(&self, bundle: &str, key: &str) -> Option<Secret>;
}

/// No secrets at all.
impl Secrets for () {
    fn secret(&self, _bundle: &str, _key: &str) -> Option<Secret> {
        None
    }
}

/// Secrets in memory, by bundle and key.
impl Secrets for std::collections::BTreeMap<(String, String), Secret> {
    fn secret(&self, bundle: &str, key: &str) -> Option<Secret> {
        self.get(&(bundle.to_owned(), key.to_owned())).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_shown() {
        assert_eq!(format!("{:?}", Secret::new("canary")), "Secret(…)");
    }
}
