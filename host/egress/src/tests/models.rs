//! Requests to models: where they connect to, whom they trust, and what they do not follow.

use hyper::header::HeaderMap;

use super::tls::{Authority, YEAR_FAR, secure};
use super::*;
use crate::{ModelAddress, ModelRequest, NotOpened};

async fn ask(egress: &Egress, base_url: &str) -> Result<String, NotOpened> {
    let address = ModelAddress::parse(base_url).unwrap();
    let (headers, body) = (HeaderMap::new(), Vec::new().into());
    let head = egress.open(ModelRequest { address: &address, path: "messages", headers, body }).await?;
    let status = head.status.as_u16();
    Ok(format!("{status} {}", String::from_utf8(head.read(1_000).await.unwrap()).unwrap()))
}

/// Why it is not connected to, if that is what the name means.
fn refusal(error: &NotOpened) -> Option<&str> {
    match error {
        NotOpened::Refused(why) => Some(why),
        _ => None,
    }
}

#[tokio::test]
async fn a_name_leads_to_the_internet_or_nowhere() {
    let server = Server::ok().await;
    let port = server.address.port();
    for (address, kind) in [
        ("127.0.0.1", "loopback"),
        ("10.0.0.7", "private"),
        ("169.254.169.254", "link-local"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "a mapped IPv4 address"),
    ] {
        let network = Fake::default().name("api.example.com", &[&[address]]);
        let error = ask(&over(&network), &format!("http://api.example.com:{port}/v1")).await.unwrap_err();
        let why = refusal(&error).unwrap_or_else(|| panic!("{address}: {error:?}"));
        assert!(why.contains(address) && why.contains(kind) && why.contains("`base_url`"), "{why}");
    }
    assert!(server.asked().is_empty());
    // What is written as an address is meant as one.
    assert_eq!(ask(&over(&Fake::default()), &server.url("/v1")).await.unwrap(), "200 ok");
}

#[tokio::test]
async fn localhost_is_this_machine_and_nothing_else() {
    let server = Server::ok().await;
    let url = format!("http://localhost:{}/v1", server.address.port());
    let here = Fake::default().name("localhost", &[&["127.0.0.1"]]);
    assert_eq!(ask(&over(&here), &url).await.unwrap(), "200 ok");
    for address in ["10.0.0.7", "8.8.8.8"] {
        let there = Fake::default().name("localhost", &[&[address]]);
        let error = ask(&over(&there), &url).await.unwrap_err();
        assert!(refusal(&error).is_some_and(|why| why.contains(address)), "{error:?}");
    }
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn whom_models_are_asked_of_is_who_it_says_it_is() {
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    for (names, trusted, says) in [
        (&["localhost"][..], &ours, None),
        (&["localhost"], &other, Some("UnknownIssuer")),
        (&["api.example.com"], &ours, Some("not valid for name")),
    ] {
        let server = secure(ours.certify(names, YEAR_FAR)).await;
        let network = Fake::default().name("localhost", &[&["127.0.0.1"]]);
        let egress = trusting(&network, bounds(), &trusted.trusted());
        let answer = ask(&egress, &format!("https://localhost:{}/v1", server.address.port())).await;
        match says {
            None => assert!(answer.unwrap().starts_with("200 ")),
            Some(says) => {
                let error = format!("{:?}", answer.unwrap_err());
                assert!(error.contains(says), "{says}: {error}");
                assert!(server.asked().is_empty());
            }
        }
    }
}

/// What unpacks itself on the way is larger than what any bound sees.
#[tokio::test]
async fn nothing_is_unpacked() {
    let server = Server::start(|_| response("200 OK", &[("content-encoding", "gzip")], "as it came")).await;
    assert_eq!(ask(&over(&Fake::default()), &server.url("/v1")).await.unwrap(), "200 as it came");
    assert!(!server.asked()[0].to_lowercase().contains("accept-encoding"));
}

#[tokio::test]
async fn a_redirect_is_an_answer_like_another() {
    let other = Server::ok().await;
    let location = other.url("/elsewhere");
    let server =
        Server::start(move |_| response("307 Temporary Redirect", &[("location", &location)], "there")).await;
    assert_eq!(ask(&over(&Fake::default()), &server.url("/v1")).await.unwrap(), "307 there");
    assert!(other.asked().is_empty());
}
