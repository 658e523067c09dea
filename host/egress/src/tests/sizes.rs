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
    for endless in ["HTTP/1.1 200 OK\r\nx: ", "HTTP/1.1 200 "] {
        let server = Server::start(move |_| format!("{endless}{}", "y".repeat(1 << 20)).into_bytes()).await;
        let result = fetch(&Fake::default(), &[server.grant(&["GET"])], &get(server.url("/"))).await;
        assert_eq!(result, Err(HttpFailure::TooLarge), "{endless}");
    }
    let many = "x: y\r\n".repeat(5_000);
    let server = Server::start(move |_| format!("HTTP/1.1 200 OK\r\n{many}\r\n").into_bytes()).await;
    let result = fetch(&Fake::default(), &[server.grant(&["GET"])], &get(server.url("/"))).await;
    assert_eq!(result, Err(HttpFailure::TooLarge));
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
    let egress = trusting(&Fake::default(), small, &[]);
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

async fn of(bytes: impl Into<Vec<u8>>, method: &str) -> Result<HttpAnswer, HttpFailure> {
    let bytes = bytes.into();
    let server = Server::start(move |_| bytes.clone()).await;
    let call = HttpCall { method: method.into(), ..get(server.url("/")) };
    fetch(&Fake::default(), &[server.grant(&["GET", "HEAD"])], &call).await
}

/// Where a response ends is read in one way or not at all; nothing is left over for a next one.
#[tokio::test]
async fn a_response_that_says_its_end_in_two_ways_is_no_response() {
    for head in [
        "content-length: 2\r\ncontent-length: 3\r\n",
        "content-length: +2\r\n",
        "content-length: 0x2\r\n",
        "content-length: 99999999999999999999\r\n",
        "transfer-encoding: chunked\r\n",
        "transfer-encoding: chunked\r\nx: y\r\n z\r\n",
        "x : y\r\n",
        "x\0: y\r\n",
    ] {
        let result = of(format!("HTTP/1.1 200 OK\r\n{head}\r\nok"), "GET").await;
        assert!(matches!(result, Err(HttpFailure::Failed(_))), "{head:?}: {result:?}");
    }
    let both =
        "HTTP/1.1 200 OK\r\ncontent-length: 90\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    assert_eq!(text(of(both, "GET").await), "ok", "chunks count, whatever the length says (RFC 9112, 6.3)");
    for bad in ["zz\r\nok\r\n0\r\n\r\n", "ffffffffffffffffff\r\nok", "-1\r\nok", "2\r\nokX\r\n0\r\n\r\n"] {
        let result = of(format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{bad}"), "GET").await;
        assert!(matches!(result, Err(HttpFailure::Failed(_))), "{bad:?}: {result:?}");
    }
    for cut in [
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nshort",
    ] {
        let result = of(cut, "GET").await;
        assert!(matches!(&result, Err(HttpFailure::Failed(why)) if why.contains("broke off")), "{result:?}");
    }
    let two =
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil";
    assert_eq!(text(of(two, "GET").await), "ok");
}

/// A body that a status or a method does not have is none, whatever the head says of it.
#[tokio::test]
async fn a_response_without_a_body_is_not_waited_for() {
    let large = "content-length: 99999999\r\n\r\n";
    let answer = of(format!("HTTP/1.1 200 OK\r\n{large}"), "HEAD").await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    for status in ["204 No Content", "304 Not Modified"] {
        assert_eq!(of(format!("HTTP/1.1 {status}\r\n{large}"), "GET").await.unwrap().body, b"");
    }
    let early = "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
    let late = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    assert_eq!(text(of(format!("{early}{late}"), "GET").await), "ok");
    let switched = "HTTP/1.1 101 Switching Protocols\r\nupgrade: evil\r\nconnection: upgrade\r\n\r\nhello";
    let result = of(switched, "GET").await;
    assert!(!matches!(&result, Ok(answer) if !answer.body.is_empty()), "{result:?}");
}

/// Bytes that are handed on are those that were sent: nothing here unpacks them, so nothing swells.
#[tokio::test]
async fn a_compressed_body_is_handed_on_as_it_is() {
    let bomb = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let mut said = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 10\r\n\r\n".to_vec();
    said.extend(bomb);
    assert_eq!(of(said, "GET").await.unwrap().body, bomb);
}
