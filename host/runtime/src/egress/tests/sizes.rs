//! Bounds of size and time.

use std::time::Instant;

use super::*;

#[tokio::test]
async fn a_response_over_the_bound_is_too_large() {
    let said = Server::start(|_| response("200 OK", &[], &"x".repeat(10_001))).await;
    let result = fetch(&Fake::default(), &[said.grant(&["GET"])], &get(said.url("/"))).await;
    assert_eq!(result, Err(HttpFailure::TooLarge));
    let fits = Server::start(|_| response("200 OK", &[], &"x".repeat(10_000))).await;
    assert_eq!(
        text(fetch(&Fake::default(), &[fits.grant(&["GET"])], &get(fits.url("/"))).await).len(),
        10_000
    );

    let unsaid =
        Server::start(|_| format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(10_001)).into_bytes()).await;
    let result = fetch(&Fake::default(), &[unsaid.grant(&["GET"])], &get(unsaid.url("/"))).await;
    assert_eq!(result, Err(HttpFailure::TooLarge));

    let chunk = format!("2711\r\n{}\r\n0\r\n\r\n", "x".repeat(10_001));
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}").into_bytes();
    let chunked = Server::start(move |_| chunked.clone()).await;
    let result = fetch(&Fake::default(), &[chunked.grant(&["GET"])], &get(chunked.url("/"))).await;
    assert_eq!(result, Err(HttpFailure::TooLarge));
}

#[tokio::test]
async fn an_endless_head_is_cut() {
    let server = Server::start(|_| {
        let header = format!("x-a: {}\r\n", "y".repeat(1_000));
        format!("HTTP/1.1 200 OK\r\n{}\r\n", header.repeat(90)).into_bytes()
    })
    .await;
    let result = fetch(&Fake::default(), &[server.grant(&["GET"])], &get(server.url("/"))).await;
    assert_eq!(result, Err(HttpFailure::TooLarge));
    let server =
        Server::start(|_| format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20)).into_bytes()).await;
    let result = fetch(&Fake::default(), &[server.grant(&["GET"])], &get(server.url("/"))).await;
    assert!(matches!(result, Err(HttpFailure::Failed(_))), "{result:?}");
}

/// A server that sends this, and then a byte at a time for ever, or nothing more.
async fn endless(first: &'static str, pause: Option<Duration>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.write_all(first.as_bytes()).await;
                let Some(pause) = pause else { return std::future::pending().await };
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn slow_and_endless_responses_are_given_up() {
    let drip = Some(Duration::from_millis(1));
    for (first, pause) in [
        ("", None),
        ("HTTP/1.1 200 OK\r\n", None),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n", None),
        ("HTTP/1.1 200 OK\r\n\r\n", Some(Duration::from_millis(50))),
    ] {
        let address = endless(first, pause).await;
        let grants = [grant(Scheme::Http, &address.to_string(), &["GET"])];
        let call = HttpCall { timeout_ms: Some(300), ..get(format!("http://{address}/")) };
        let since = Instant::now();
        assert_eq!(fetch(&Fake::default(), &grants, &call).await, Err(HttpFailure::TimedOut), "{first:?}");
        assert!(since.elapsed() < Duration::from_secs(10));
    }
    let address = endless("HTTP/1.1 200 OK\r\n\r\n", drip).await;
    let grants = [grant(Scheme::Http, &address.to_string(), &["GET"])];
    let small = HttpLimits { response_bytes_max: 20, ..bounds() };
    let egress = Egress { network: Box::new(Fake::default()), limits: small };
    let pass = Pass { grants: &grants, bundle: "test/b", secrets: &(), key: None };
    let result = egress.fetch(&pass, &get(format!("http://{address}/"))).await;
    assert_eq!(result, Err(HttpFailure::TooLarge));
}

#[tokio::test]
async fn a_request_s_body_is_bounded() {
    let server = Server::ok().await;
    let grants = [server.grant(&["POST"])];
    let post =
        |bytes: usize| HttpCall { method: "POST".into(), body: vec![b'x'; bytes], ..get(server.url("/")) };
    let result = fetch(&Fake::default(), &grants, &post(1_001)).await;
    assert!(matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("at most 1000")), "{result:?}");
    assert_eq!(text(fetch(&Fake::default(), &grants, &post(1_000)).await), "ok");
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn what_is_not_http_and_what_is_not_there_fails() {
    let server = Server::start(|_| b"SSH-2.0-x\r\n".to_vec()).await;
    let result = fetch(&Fake::default(), &[server.grant(&["GET"])], &get(server.url("/"))).await;
    assert!(matches!(result, Err(HttpFailure::Failed(_))), "{result:?}");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let grants = [grant(Scheme::Http, &closed.to_string(), &["GET"])];
    let result = fetch(&Fake::default(), &grants, &get(format!("http://{closed}/"))).await;
    assert!(matches!(result, Err(HttpFailure::Failed(_))), "{result:?}");
    let plain = endless("HTTP/1.1 400 no\r\n\r\n", None).await;
    let secure = [grant(Scheme::Https, &plain.to_string(), &["GET"])];
    let result = fetch(&Fake::default(), &secure, &get(format!("https://{plain}/"))).await;
    assert!(matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("TLS")), "{result:?}");
}
