//! What is granted, however a host is written, and what a name turns out to mean.

use super::*;

#[tokio::test]
async fn host_port_scheme_and_method_must_all_be_granted() {
    let server = Server::ok().await;
    let network = Fake::default();
    let grants = [server.grant(&["GET"])];
    assert_eq!(text(fetch(&network, &grants, &get(server.url("/a?b=c"))).await), "ok");
    assert!(server.asked()[0].starts_with(&format!("GET /a?b=c HTTP/1.1\r\nhost: {}\r\n", server.address)));

    denied(
        fetch(&network, &[], &get(server.url("/"))).await,
        "is not granted: the component's manifest must",
    );
    let port = server.address.port();
    let other_port = grant(Scheme::Http, &format!("127.0.0.1:{}", port.wrapping_add(1).max(1)), &["GET"]);
    denied(fetch(&network, &[other_port], &get(server.url("/"))).await, "is not granted");
    let no_port = grant(Scheme::Http, "127.0.0.1", &["GET"]);
    denied(fetch(&network, &[no_port], &get(server.url("/"))).await, "is not granted");
    let secure = grant(Scheme::Https, &server.address.to_string(), &["GET"]);
    denied(fetch(&network, &[secure], &get(server.url("/"))).await, "Granted: https://127.0.0.1:");
    let post = HttpCall { method: "POST".into(), ..get(server.url("/")) };
    denied(fetch(&network, &grants, &post).await, "POST to");
    let lower = HttpCall { method: "get".into(), ..get(server.url("/")) };
    denied(fetch(&network, &grants, &lower).await, "get to");
    assert_eq!(server.asked().len(), 1, "what is denied sends nothing");
}

/// Whatever a host is written as, it is read once, and the reading is what is granted and connected to.
#[tokio::test]
async fn an_address_is_one_in_every_notation() {
    let server = Server::ok().await;
    let port = server.address.port();
    let network = Fake::default();
    let anything = [grant(Scheme::Http, &format!("*:{port}"), &["GET"])];
    let exact = [server.grant(&["GET"])];
    for host in [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0x7F.0.0.0x1",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "127。0。0。1",
    ] {
        let call = get(format!("http://{host}:{port}/"));
        denied(fetch(&network, &anything, &call).await, "which is loopback");
        assert_eq!(text(fetch(&network, &exact, &call).await), "ok", "{host}");
    }
    for host in
        ["[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[::]"]
    {
        let call = get(format!("http://{host}:{port}/"));
        denied(fetch(&network, &anything, &call).await, "not of the internet");
        denied(fetch(&network, &exact, &call).await, "is not granted");
    }
    for host in ["0.0.0.0", "0", "10.0.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "172.16.0.1"] {
        denied(
            fetch(&network, &anything, &get(format!("http://{host}:{port}/"))).await,
            "not of the internet",
        );
    }
    assert!(network.dialled().iter().all(|dialled| *dialled == server.address.to_string()));
}

#[tokio::test]
async fn urls_that_could_be_read_in_two_ways_are_refused() {
    let server = Server::ok().await;
    let network = Fake::to(&server).name("api.example.com", &[&["8.8.8.8"]]);
    let grants = [grant(Scheme::Http, "api.example.com", &["GET"])];
    for (url, says) in [
        ("http://api.example.com@evil.example/", "user's name"),
        ("http://api.example.com:80@evil.example/", "user's name"),
        ("http://user:pw@api.example.com/", "user's name"),
        ("http://evil.example#@api.example.com/", "http://evil.example is not granted"),
        ("http://evil.example\\@api.example.com/", "http://evil.example is not granted"),
        ("http://api.example.com.evil.example/", "is not granted"),
        ("http://api.example.com./", "without the dot"),
        ("http://api.example.com:0/", "port 0"),
        ("ftp://api.example.com/", "not HTTP's"),
        ("file:///etc/passwd", "not HTTP's"),
        ("//api.example.com/", "no URL"),
        ("http://", "no URL"),
        ("", "no URL"),
        ("http://bücher.example/", "http://xn--bcher-kva.example is not granted"),
        ("http://api.example.com%00.evil.example/", "no URL"),
        ("http://api.example.com%2f.evil.example/", "no URL"),
        ("http://api.example.com evil.example/", "no URL"),
        ("http://[fe80::1%25eth0]/", "no URL"),
        ("http://[fe80::1%eth0]/", "no URL"),
        ("http://api.example.com:65536/", "no URL"),
        ("http://api.example.com:80:80/", "no URL"),
        ("http://api。example。com.evil.example/", "is not granted"),
        ("http://1.2.3.4.5/", "no URL"),
        ("http://xn--/", "no URL"),
    ] {
        denied(fetch(&network, &grants, &get(url)).await, says);
    }
    for (url, asked) in [
        ("http://api.example.com//evil.example/x", "GET //evil.example/x HTTP/1.1\r\n"),
        ("http://api.example.com/\r\nX: y", "GET /X:%20y HTTP/1.1\r\n"),
        ("http://api.example.com/?a b\tc#d", "GET /?a%20bc HTTP/1.1\r\n"),
        ("http://api.example.com/../../x/%2e%2e/y", "GET /y HTTP/1.1\r\n"),
        ("http:\\\\api.example.com\\x", "GET /x HTTP/1.1\r\n"),
    ] {
        let server = Server::ok().await;
        let network = Fake::to(&server).name("api.example.com", &[&["8.8.8.8"]]);
        assert_eq!(text(fetch(&network, &grants, &get(url)).await), "ok", "{url:?}");
        assert!(
            server.asked()[0].starts_with(&format!("{asked}host: api.example.com\r\n")),
            "{:?}",
            server.asked()
        );
    }
    let long = format!("http://api.example.com/{}", "x".repeat(9_000));
    denied(fetch(&network, &grants, &get(long)).await, "at most 8192");
    assert!(network.dialled().is_empty());
    assert_eq!(text(fetch(&network, &grants, &get("HTTP://API.Example.COM:80/x#frag")).await), "ok");
    assert!(server.asked()[0].starts_with("GET /x HTTP/1.1\r\nhost: api.example.com\r\n"));
    let idn = Fake::to(&server).name("xn--bcher-kva.example", &[&["8.8.8.8"]]);
    let grants = [grant(Scheme::Http, "xn--bcher-kva.example", &["GET"])];
    assert_eq!(text(fetch(&idn, &grants, &get("http://BÜCHER.example/")).await), "ok");
}

/// A pattern of names means no addresses, whatever their text ends with.
#[tokio::test]
async fn a_pattern_of_names_means_no_address() {
    let network = Fake::default();
    for pattern in ["*.0.0.1", "*.8.8", "127.1", "2130706433", "0x7f.0.0.1", "*.1.2.3.4"] {
        let grants = [grant(Scheme::Http, pattern, &["GET"])];
        for url in ["http://127.0.0.1/", "http://8.8.8.8/", "http://1.2.3.4/"] {
            denied(fetch(&network, &grants, &get(url)).await, "is not granted");
        }
    }
    assert!(network.dialled().is_empty());
}

#[tokio::test]
async fn a_name_is_not_an_address_and_may_not_mean_one_s_own() {
    let server = Server::ok().await;
    let port = server.address.port();
    for own in ["127.0.0.1", "::1", "10.0.0.7", "169.254.169.254", "fd00:ec2::254", "::ffff:127.0.0.1"] {
        let network = Fake::default().name("rebind.example", &[&[own]]);
        let grants = [grant(Scheme::Http, &format!("*.example:{port}"), &["GET"]), server.grant(&["GET"])];
        let call = get(format!("http://rebind.example:{port}/"));
        denied(fetch(&network, &grants, &call).await, "only a grant of that very address reaches it");
        assert!(network.dialled().is_empty());
    }
    let localhost = [grant(Scheme::Http, &format!("localhost:{port}"), &["GET"])];
    let network = Fake::default().name("localhost", &[&["127.0.0.1", "::1"]]);
    denied(fetch(&network, &localhost, &get(format!("http://localhost:{port}/"))).await, "loopback");
}

/// The answer that was checked is the one that is used: the name is asked for once.
#[tokio::test]
async fn a_name_that_changes_is_connected_to_where_it_was_checked() {
    let server = Server::ok().await;
    let network = Fake::to(&server).name("flip.example", &[&["8.8.4.4"], &["127.0.0.1"]]);
    let grants = [grant(Scheme::Http, "flip.example", &["GET"])];
    assert_eq!(text(fetch(&network, &grants, &get("http://flip.example/")).await), "ok");
    assert_eq!(network.dialled(), ["8.8.4.4:80"]);
    denied(fetch(&network, &grants, &get("http://flip.example/")).await, "loopback");
    assert_eq!(network.dialled().len(), 1);
}

#[tokio::test]
async fn of_several_addresses_only_the_internet_s_are_tried() {
    let server = Server::ok().await;
    let answers: &[&str] = &["127.0.0.1", "64:ff9b::808:808", "9.9.9.9", "10.0.0.1"];
    let network = Fake::to(&server).name("mixed.example", &[answers]);
    let grants = [grant(Scheme::Http, "mixed.example", &["GET"])];
    assert_eq!(text(fetch(&network, &grants, &get("http://mixed.example/")).await), "ok");
    assert_eq!(network.dialled(), ["9.9.9.9:80"]);
}

#[tokio::test]
async fn a_guest_does_not_set_what_says_where_a_request_goes_or_ends() {
    let server = Server::ok().await;
    let network = Fake::default();
    let grants = [server.grant(&["GET", "POST"])];
    for name in [
        "Host",
        "connection",
        "Transfer-Encoding",
        "CONTENT-LENGTH",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Keep-Alive",
        "Proxy-Authorization",
        "proxy-connection",
    ] {
        let call = HttpCall { headers: vec![(name.into(), "x".into())], ..get(server.url("/")) };
        denied(fetch(&network, &grants, &call).await, "is the host's to set");
    }
    for (name, value, says) in [
        ("a b", "x", "not a header's name"),
        ("", "x", "not a header's name"),
        ("x:y", "x", "not a header's name"),
        ("x", "a\r\nHost: evil", "characters that none may have"),
        ("x", "a\0", "characters that none may have"),
    ] {
        let call = HttpCall { headers: vec![(name.into(), value.into())], ..get(server.url("/")) };
        denied(fetch(&network, &grants, &call).await, says);
    }
    let many = HttpCall { headers: vec![("x".into(), "y".into()); 65], ..get(server.url("/")) };
    denied(fetch(&network, &grants, &many).await, "at most 64");
    assert!(server.asked().is_empty());

    let own = vec![("X-Mine".into(), "1".into()), ("x-mine".into(), "2".into())];
    let call =
        HttpCall { method: "POST".into(), headers: own, body: b"hello".to_vec(), ..get(server.url("/")) };
    assert_eq!(text(fetch(&network, &grants, &call).await), "ok");
    let asked = &server.asked()[0];
    assert!(
        asked.contains("x-mine: 1\r\nx-mine: 2\r\n") && asked.contains("content-length: 5\r\n"),
        "{asked}"
    );
    assert!(asked.ends_with("\r\n\r\nhello"));
}
