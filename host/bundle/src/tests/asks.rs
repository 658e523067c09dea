//! Hosts, secrets, and what asks amount to.

use rewake_core::grant::{Access, Scheme};

use super::super::asks::{secret_format, secret_header};
use super::super::{Asks, FsAsk, GrantKind, HttpAsk, ModelAsk, fs_source, model_name};
use rewake_core::grant::{FsSource, HostPattern};

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
        ("[0:0:0:0:0:0:0:1]:80", "[::1]:80"),
        ("[2001:DB8::0:1]", "[2001:db8::1]"),
        ("10.example.com", "10.example.com"),
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
        "127.1",
        "2130706433",
        "0x7f.0.0.1",
        "1.2.3.4.5",
        "256.0.0.1",
        "*.0.0.1",
        "*.1",
        "*.127.0.0.1",
        "bücher.example",
        "[fe80::1%eth0]",
        "[127.0.0.1]",
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
    for text in [
        "",
        "Host",
        "content-length",
        "Proxy-Authorization",
        "keep-alive",
        "Trailer",
        "Expect",
        "Accept-Encoding",
        "Range",
        "Idempotency-Key",
        "a b",
        "a:b",
        "x\r\ny",
    ] {
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
        assert_eq!(fs_source(text).map(|source| source.to_string()).as_deref(), Ok(text));
    }
    for text in ["", "host:", "host:../x", "/etc", "Workspace"] {
        assert!(fs_source(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_model_s_name_is_one_word() {
    for text in ["fast", "anthropic/claude-sonnet-5", "openai/qwen3:8b", "*"] {
        assert_eq!(model_name(text).as_deref(), Ok(text));
    }
    for text in ["", "a b", "a\n", "fast*", "**", &"x".repeat(257)] {
        assert!(model_name(text).is_err(), "{text:?}");
    }
}

#[test]
fn asks_amount_to_kinds_of_grant() {
    let fs = |access| FsAsk { mount: "/w".into(), source: FsSource::Workspace, access, why: None };
    let fs = vec![fs(Access::ReadWrite), fs(Access::ReadOnly), fs(Access::ReadWrite)];
    let asks = Asks { fs, ..Asks::default() };
    assert_eq!(asks.grant_kinds(), [GrantKind::FsRo, GrantKind::FsRw]);
    assert_eq!(asks.describe(), ["fs:workspace:ro", "fs:workspace:rw"]);
    assert!(Asks::default().grant_kinds().is_empty());
}

#[test]
fn asks_of_the_network_are_a_line_for_each_method() {
    let ask = |scheme, host: &str, honours_key| HttpAsk {
        scheme,
        host: HostPattern::parse(host).unwrap(),
        methods: vec!["PUT".into(), "GET".into()],
        honours_key,
        secret: None,
        why: None,
    };
    let http = vec![ask(Scheme::Https, "*.Example.com:8443", true), ask(Scheme::Http, "[::1]:80", false)];
    let models = vec![ModelAsk { name: "fast".into(), why: None }];
    let asks = Asks { http, models, ..Asks::default() };
    assert_eq!(
        asks.describe(),
        [
            "http:*.example.com:8443:GET",
            "http:*.example.com:8443:PUT",
            "http:http://[::1]:80:GET",
            "http:http://[::1]:80:PUT",
            "model:fast",
        ]
    );
    let granted = asks.http[0].grant(|line| line.ends_with(":PUT")).unwrap();
    assert_eq!(
        (granted.methods, granted.honours_key, granted.scheme),
        (vec!["PUT".to_owned()], true, Scheme::Https)
    );
    assert_eq!(asks.http[0].grant(|_| false), None);
}
