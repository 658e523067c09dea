//! Secrets: put in at the edge, and seen nowhere behind it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// Nothing of an outcome may show the canary.
#[track_caller]
fn hides(result: &Result<HttpAnswer, HttpFailure>) {
    let mut shown = format!("{result:?}");
    if let Ok(answer) = result {
        shown.push_str(&String::from_utf8_lossy(&answer.body));
    }
    let percent: String = url::form_urlencoded::byte_serialize(CANARY.as_bytes()).collect();
    for dress in [CANARY, &STANDARD.encode(CANARY), &percent] {
        assert!(!shown.contains(dress), "{dress} in {shown}");
    }
}

#[tokio::test]
async fn what_comes_back_is_scrubbed() {
    let server = Server::start(|request| {
        let line = request.lines().find(|line| line.starts_with("authorization")).unwrap();
        let value = line.rsplit(' ').next().unwrap();
        let encoded = STANDARD.encode(format!("user:{value}"));
        let body = format!("{line}\n{}\n{encoded}", STANDARD.encode(value));
        response("200 OK", &[("x-echo", value), ("www-authenticate", &encoded)], &body)
    })
    .await;
    let result = fetch(&Fake::default(), &[with_secret(server.grant(&["GET"]))], &get(server.url("/"))).await;
    hides(&result);
    let answer = result.unwrap();
    assert!(String::from_utf8(answer.body).unwrap().starts_with("authorization: Bearer [secret]\n[secret]"));
    assert!(answer.headers.contains(&("x-echo".into(), "[secret]".into())), "{:?}", answer.headers);
    assert!(server.asked()[0].contains("accept-encoding: identity\r\n"));
}

#[tokio::test]
async fn what_cannot_be_read_is_not_handed_on() {
    let server = Server::start(|_| response("200 OK", &[("content-encoding", "gzip")], "…")).await;
    let asks = vec![("accept-encoding".into(), "gzip".into()), ("range".into(), "bytes=0-3".into())];
    let call = HttpCall { headers: asks, ..get(server.url("/")) };
    let result = fetch(&Fake::default(), &[with_secret(server.grant(&["GET"]))], &call).await;
    assert!(matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("compressed")), "{result:?}");
    assert!(!server.asked()[0].contains("range") && !server.asked()[0].contains("gzip"));
    fetch(&Fake::default(), &[server.grant(&["GET"])], &call).await.unwrap();
    assert!(
        server.asked()[1].contains("range: bytes=0-3"),
        "without a secret it is the guest's own business"
    );
}

#[tokio::test]
async fn a_redirect_that_repeats_the_secret_is_not_followed() {
    let server = Server::start(|request| {
        let value = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap();
        response("302 Found", &[("location", &format!("/x?k={value}"))], "")
    })
    .await;
    let grants = [with_secret(server.grant(&["GET"])), grant(Scheme::Http, "*", &["GET"])];
    let result = fetch(&Fake::default(), &grants, &get(server.url("/"))).await;
    hides(&result);
    assert!(
        matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("repeats a secret")),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_guest_does_not_set_the_header_that_carries_a_secret() {
    let server = Server::ok().await;
    let other = Server::ok().await;
    let grants = [with_secret(server.grant(&["GET"])), other.grant(&["GET"])];
    for url in [server.url("/"), other.url("/")] {
        let headers = vec![("authORIZATION".into(), "Bearer mine".into())];
        denied(fetch(&Fake::default(), &grants, &HttpCall { headers, ..get(url) }).await, "carries a secret");
    }
    assert!(server.asked().is_empty() && other.asked().is_empty());
}

#[tokio::test]
async fn a_secret_that_is_not_there_or_cannot_be_sent_is_told_without_it() {
    let server = Server::ok().await;
    let grants = [with_secret(server.grant(&["GET"]))];
    let pass = Pass { grants: &grants, bundle: "test/b", secrets: &(), key: None };
    let result = over(&Fake::default()).fetch(&pass, &get(server.url("/"))).await;
    denied(result, "no value for its configuration key `key`");
    let secrets =
        BTreeMap::from([(("test/b".to_owned(), "key".to_owned()), Secret::new(format!("{CANARY}\r\nX: y")))]);
    let pass = Pass { grants: &grants, bundle: "test/b", secrets: &secrets, key: None };
    let result = over(&Fake::default()).fetch(&pass, &get(server.url("/"))).await;
    hides(&result);
    assert!(matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("characters")), "{result:?}");
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn a_key_is_sent_to_who_honours_it() {
    let server = Server::ok().await;
    let grants = [server.grant(&["PUT"])];
    let pass = Pass { grants: &grants, bundle: "test/b", secrets: &(), key: Some("abc123") };
    let call = HttpCall { method: "PUT".into(), ..get(server.url("/")) };
    over(&Fake::default()).fetch(&pass, &call).await.unwrap();
    assert!(server.asked()[0].contains("idempotency-key: abc123\r\n"));
    let own = HttpCall { headers: vec![("Idempotency-Key".into(), "mine".into())], ..call };
    over(&Fake::default()).fetch(&pass, &own).await.unwrap();
    assert!(server.asked()[1].contains("idempotency-key: abc123\r\n") && !server.asked()[1].contains("mine"));
}

/// However a server writes it: as JSON, HTML and URLs escape it, in hexadecimal, in base64 over several lines,
/// in a header's name, which has no upper case.
#[tokio::test]
async fn a_secret_is_found_in_whatever_dress_it_comes_back() {
    let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    let wrapped = |text: &str, every: usize, with: &str| {
        let lines: Vec<String> =
            text.as_bytes().chunks(every).map(|line| String::from_utf8_lossy(line).into()).collect();
        lines.join(with)
    };
    let in_a_longer = STANDARD.encode(format!("name:{CANARY}"));
    for dress in [
        CANARY.replace('/', "\\/"),
        CANARY.replace('/', "\\u002F").replace('+', "\\u002b"),
        CANARY.replace('/', "%2f").replace('+', "%2b"),
        CANARY.replace('-', "%2D"),
        CANARY.replace('/', "&#47;").replace('+', "&#x2b;"),
        hex.clone(),
        hex.to_uppercase(),
        wrapped(&STANDARD.encode(CANARY), 10, "\r\n"),
        wrapped(&in_a_longer, 13, "\n"),
        wrapped(&in_a_longer, 13, "\\n"),
        in_a_longer.replace('=', "%3D"),
        wrapped(CANARY, 7, "\n"),
    ] {
        let said = dress.clone();
        let server = Server::start(move |_| response("200 OK", &[], &format!("it was {said} indeed"))).await;
        let result =
            fetch(&Fake::default(), &[with_secret(server.grant(&["GET"]))], &get(server.url("/"))).await;
        let body = text(result);
        assert!(body.contains("[secret]") && body.ends_with(" indeed"), "{dress} is in {body}");
        assert!(!body.contains(&dress), "{dress} is in {body}");
    }
    let secrets = BTreeMap::from([(("test/b".to_owned(), "key".to_owned()), Secret::new("CanaryInAName"))]);
    let server = Server::start(|_| response("200 OK", &[("X-CanaryInAName", "1")], "")).await;
    let grants = [with_secret(server.grant(&["GET"]))];
    let pass = Pass { grants: &grants, bundle: "test/b", secrets: &secrets, key: None };
    let answer = over(&Fake::default()).fetch(&pass, &get(server.url("/"))).await.unwrap();
    let names: Vec<&String> = answer.headers.iter().map(|(name, _)| name).collect();
    assert!(names.contains(&&"x-[secret]".to_owned()), "{names:?}");
}

/// What a server was told with one request it can say with the next, which carries no secret; so can another
/// server that it talks to.
#[tokio::test]
async fn a_secret_does_not_come_back_with_a_request_that_has_none() {
    let server = Server::ok().await;
    let other =
        Server::start(|_| response("200 OK", &[("x-seen", CANARY)], &format!("seen: {CANARY}"))).await;
    let grants = [with_secret(server.grant(&["GET"])), other.grant(&["GET"])];
    let result = fetch(&Fake::default(), &grants, &get(other.url("/"))).await;
    hides(&result);
    assert!(!other.asked()[0].contains(CANARY) && !other.asked()[0].contains("accept-encoding"));
    assert_eq!(text(result), "seen: [secret]");
}
