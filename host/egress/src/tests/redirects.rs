//! Redirects: followed by the host, each granted again.

use super::*;

/// A server that redirects `/from` with a status to a place, and says what it is asked elsewhere.
async fn redirecting(status: &'static str, to: String) -> Server {
    Server::start(move |request| {
        if request.split(' ').nth(1).is_some_and(|path| path.starts_with("/from")) {
            response(status, &[("location", &to)], "")
        } else {
            response("200 OK", &[], request)
        }
    })
    .await
}

#[tokio::test]
async fn a_redirect_changes_the_method_as_http_says() {
    for (status, method, expected, keeps_body) in [
        ("301 x", "POST", "GET", false),
        ("302 x", "POST", "GET", false),
        ("303 x", "POST", "GET", false),
        ("303 x", "PUT", "GET", false),
        ("301 x", "PUT", "PUT", true),
        ("307 x", "POST", "POST", true),
        ("308 x", "POST", "POST", true),
    ] {
        let server = redirecting(status, "/to".into()).await;
        let grants = [server.grant(&["GET", "POST", "PUT"])];
        let headers = vec![("content-type".into(), "text/x".into()), ("x-a".into(), "b".into())];
        let call =
            HttpCall { method: method.into(), headers, body: b"body".to_vec(), ..get(server.url("/from")) };
        let said = text(fetch(&Fake::default(), &grants, &call).await);
        assert!(said.starts_with(&format!("{expected} /to ")), "{status} {method}: {said}");
        assert_eq!(said.ends_with("body"), keeps_body, "{status} {method}: {said}");
        assert_eq!(said.contains("content-type"), keeps_body, "{status} {method}: {said}");
        assert!(said.contains("x-a: b"));
    }
}

#[tokio::test]
async fn a_redirect_is_granted_anew() {
    let inner = Server::ok().await;
    for (to, says) in [
        (inner.url("/"), "by a redirect: http://127.0.0.1"),
        ("http://169.254.169.254/latest/meta-data".into(), "by a redirect: http://169.254.169.254"),
        ("https://elsewhere.example/".into(), "by a redirect: https://elsewhere.example"),
        ("//elsewhere.example/".into(), "by a redirect: http://elsewhere.example"),
    ] {
        let outer = redirecting("302 Found", to).await;
        denied(fetch(&Fake::default(), &[outer.grant(&["GET"])], &get(outer.url("/from"))).await, says);
    }
    assert!(inner.asked().is_empty());

    let outer = redirecting("307 x", inner.url("/")).await;
    let grants = [outer.grant(&["POST"]), inner.grant(&["GET"])];
    let post = HttpCall { method: "POST".into(), ..get(outer.url("/from")) };
    denied(fetch(&Fake::default(), &grants, &post).await, "by a redirect: POST to");
    let outer = redirecting("303 x", inner.url("/")).await;
    let grants = [outer.grant(&["POST"]), inner.grant(&["GET"])];
    let post = HttpCall { method: "POST".into(), ..get(outer.url("/from")) };
    assert_eq!(text(fetch(&Fake::default(), &grants, &post).await), "ok");

    for to in ["file:///etc/passwd", "gopher://127.0.0.1/"] {
        let outer = redirecting("302 x", to.into()).await;
        let result = fetch(&Fake::default(), &[outer.grant(&["GET"])], &get(outer.url("/from"))).await;
        assert!(matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("not HTTP's")), "{result:?}");
    }
}

#[tokio::test]
async fn a_name_behind_a_redirect_is_checked_too() {
    let server = redirecting("302 x", "http://inner.example/".into()).await;
    let network =
        Fake::to(&server).name("outer.example", &[&["8.8.8.8"]]).name("inner.example", &[&["127.0.0.1"]]);
    let grants = [grant(Scheme::Http, "*", &["GET"])];
    denied(fetch(&network, &grants, &get("http://outer.example/from")).await, "loopback");
    assert_eq!(network.dialled(), ["8.8.8.8:80"]);
}

#[tokio::test]
async fn redirects_come_to_an_end() {
    let server = redirecting("302 x", "/from/again".into()).await;
    let result = fetch(&Fake::default(), &[server.grant(&["GET"])], &get(server.url("/from"))).await;
    assert_eq!(result, Err(HttpFailure::Failed("it was redirected more than 5 times".into())));
    assert_eq!(server.asked().len(), 6);
}

#[tokio::test]
async fn what_is_meant_for_one_origin_does_not_go_to_another() {
    let other = Server::start(|request| response("200 OK", &[], request)).await;
    let server = redirecting("302 x", other.url("/")).await;
    let headers = vec![
        ("cookie".into(), "c=1".into()),
        ("idempotency-key".into(), "k".into()),
        ("x-stays".into(), "s".into()),
    ];
    let call = HttpCall { headers, ..get(server.url("/from")) };
    let grants = [with_secret(server.grant(&["GET"])), with_secret(other.grant(&["GET"]))];
    fetch(&Fake::default(), &grants, &call).await.unwrap();
    let first = &server.asked()[0];
    assert!(first.contains(&format!("authorization: Bearer {CANARY}")) && first.contains("cookie: c=1"));
    let second = &other.asked()[0];
    for gone in ["authorization", "cookie", "idempotency-key", CANARY] {
        assert!(!second.contains(gone), "{second}");
    }
    assert!(second.contains("x-stays: s"));

    let home = redirecting("302 x", "/to".into()).await;
    fetch(&Fake::default(), &[with_secret(home.grant(&["GET"]))], &get(home.url("/from"))).await.unwrap();
    assert!(home.asked().iter().all(|asked| asked.contains(CANARY)), "the same origin gets it again");
}

/// R5: a write that may be repeated goes to who honours its key. Whom that one sends it to may not.
#[tokio::test]
async fn a_write_with_a_key_does_not_go_to_another_origin() {
    for status in ["301 x", "302 x", "307 x", "308 x"] {
        let other = Server::ok().await;
        let server = redirecting(status, other.url("/")).await;
        let grants = [server.grant(&["PUT"]), other.grant(&["PUT"])];
        let pass = Pass { grants: &grants, bundle: "test/b", secrets: &(), key: Some("abc123") };
        let put = HttpCall { method: "PUT".into(), ..get(server.url("/from")) };
        let result = over(&Fake::default()).fetch(&pass, &put).await;
        assert!(matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("its key")), "{result:?}");
        assert!(other.asked().is_empty());
    }
    let other = Server::ok().await;
    let server = redirecting("303 x", other.url("/")).await;
    let grants = [server.grant(&["PUT"]), other.grant(&["GET"])];
    let pass = Pass { grants: &grants, bundle: "test/b", secrets: &(), key: Some("abc123") };
    let put = HttpCall { method: "PUT".into(), ..get(server.url("/from")) };
    assert_eq!(text(over(&Fake::default()).fetch(&pass, &put).await), "ok");
    assert!(!other.asked()[0].contains("abc123"));
    let home = redirecting("307 x", "/to".into()).await;
    let grants = [home.grant(&["PUT"])];
    let pass = Pass { grants: &grants, bundle: "test/b", secrets: &(), key: Some("abc123") };
    let put = HttpCall { method: "PUT".into(), ..get(home.url("/from")) };
    over(&Fake::default()).fetch(&pass, &put).await.unwrap();
    assert!(home.asked().iter().all(|asked| asked.contains("idempotency-key: abc123")));
}
