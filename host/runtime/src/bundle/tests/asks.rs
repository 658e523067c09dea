//! Hosts, secrets, and what asks amount to.

use rewake_core::grant::Access;

use super::super::asks::{secret_format, secret_header};
use super::super::{Asks, FsAsk, FsSource, GrantKind, HostPattern};

#[test]
fn hosts_are_names_and_not_urls() {
    for (text, shown) in [
        ("api.example.com", "api.example.com"),
        ("API.Example.com:8443", "api.example.com:8443"),
        ("*.example.com", "*.example.com"),
        ("*", "*"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("[::1]:80", "[::1]:80"),
        ("[::1]", "[::1]"),
    ] {
        assert_eq!(HostPattern::parse(text).map(|host| host.to_string()).as_deref(), Ok(shown), "{text}");
    }
    for text in [
        "",
        "https://a.com",
        "a.com/x",
        "a.com:",
        "a.com:0",
        "a.com:+80",
        "a.com:99999",
        "a..com",
        "-a.com",
        "*a.com",
        "a.*.com",
        "*.",
        "::1",
        "a b",
        "user@a.com",
        "*.*",
    ] {
        assert!(HostPattern::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_host_pattern_matches_no_more_than_it_says() {
    let matches =
        |pattern: &str, host: &str, port| HostPattern::parse(pattern).unwrap().matches(host, port, 443);
    assert!(matches("a.example.com", "A.example.com", 443));
    assert!(!matches("a.example.com", "a.example.com", 8443), "without a port: the scheme's own");
    assert!(matches("a.example.com:8443", "a.example.com", 8443));
    assert!(matches("*.example.com", "x.y.example.com", 443));
    for host in ["example.com", ".example.com", "evilexample.com", "example.com.evil.org"] {
        assert!(!matches("*.example.com", host, 443), "{host}");
    }
    assert!(matches("*", "anything.org", 443) && !matches("*", "anything.org", 22));
}

#[test]
fn a_secret_goes_into_a_header_s_value_and_nowhere_else() {
    assert!(secret_header("Authorization").is_ok() && secret_header("X-Api-Key").is_ok());
    for text in ["", "Host", "content-length", "a b", "a:b", "x\r\ny"] {
        assert!(secret_header(text).is_err(), "{text:?}");
    }
    assert!(secret_format("Bearer {}").is_ok());
    for text in ["", "Bearer", "{}{}", "{}\r\nX: y", "ä {}"] {
        assert!(secret_format(text).is_err(), "{text:?}");
    }
}

#[test]
fn sources_are_a_closed_set_and_host_names() {
    for text in ["workspace", "scratch", "bundle", "host:docs"] {
        assert_eq!(FsSource::parse(text).map(|source| source.to_string()).as_deref(), Ok(text));
    }
    for text in ["", "host:", "host:../x", "/etc", "Workspace"] {
        assert!(FsSource::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn asks_amount_to_kinds_of_grant() {
    let fs = |access| FsAsk { mount: "/w".into(), source: FsSource::Workspace, access, why: None };
    let asks =
        Asks { fs: vec![fs(Access::ReadWrite), fs(Access::ReadOnly), fs(Access::ReadWrite)], http: vec![] };
    assert_eq!(asks.grant_kinds(), [GrantKind::FsRo, GrantKind::FsRw]);
    assert_eq!(asks.describe(), ["fs:workspace:ro", "fs:workspace:rw"]);
    assert!(Asks::default().grant_kinds().is_empty());
}
