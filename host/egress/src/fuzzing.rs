//! A door for fuzzers: URLs that nobody vouches for.

use rewake_core::grant::{HttpGrant, Scheme};

use crate::{ModelAddress, Target};

/// URLs that guests, redirects and operators write.
pub fn urls(text: &str) {
    let (text, location) = text.split_once('\n').unwrap_or((text, "/"));
    let grant = HttpGrant {
        scheme: Scheme::Https,
        host: "*".into(),
        methods: vec!["GET".into()],
        honours_key: false,
        secret: None,
    };
    if let Ok(address) = ModelAddress::parse(text) {
        assert_eq!(ModelAddress::parse(&format!("{address:?}")), Ok(address));
    }
    if let Ok(target) = Target::parse(text) {
        assert!(target.origin().starts_with("http"), "{}", target.origin());
        assert!(!target.path().contains(['\n', '\r', ' ']), "{:?}", target.path());
        assert!(!target.authority().contains(['\n', '\r', ' ', '@', '/']), "{:?}", target.authority());
        if target.permit(std::slice::from_ref(&grant), "GET").is_ok() {
            assert_eq!(target.scheme, Scheme::Https);
        }
        assert!(target.permit(&[], "GET").is_err(), "without a grant nothing is permitted");
        if let Ok(next) = target.join(location) {
            assert!(next.is_same_origin(&next));
        }
    }
}

#[cfg(test)]
mod tests {
    use rewake_untrusted::Samples;

    use super::*;

    #[test]
    fn addresses() {
        Samples::corpus("urls").words(&["https://", "@", "[::1]", "%00", "..", "\\"]).check_text(2_000, urls);
    }
}
