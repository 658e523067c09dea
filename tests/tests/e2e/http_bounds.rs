//! What bounds a harness's requests beside its grants: the operator's rules and their limits, hooks that
//! replace where a request goes, what a repeat may still do, who is trusted over TLS.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rewake_bundle::Bundle;
use rewake_core::ids::{Digest, SessionId};
use rewake_runtime::{Config, Host, NewSession};
use rewake_tests::CutStore;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::play::Scenario;
use rewake_tests::server::{Server, response};
use rewake_tests::world::{asked_for, rest, send};
use rewake_tests::{Outcome, World};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto};

use crate::http::{ask, fetch, harness};

/// Runs operations of a bundle in a world whose rules are these; what was learned, and the journal.
async fn ruled(bundle: &Draft, rules: &str, is_approved: bool, ops: &Value) -> (Vec<String>, Events) {
    let world = World::new().await;
    let folder = world.bundle(bundle);
    let digest = Bundle::load(&folder).expect("a bundle").digest();
    let rules = rules.replace("DIGEST", &format!("blake3:{digest}"));
    std::fs::write(world.path().join("rewake.toml"), rules).unwrap();
    let approval = asked_for().approval.filter(|_| is_approved);
    let new = NewSession { bundle: folder.into(), approval, ..asked_for() };
    let host = world.own();
    let id = host.create(&new).await.expect("a session").id;
    send(host, &id, &ops.to_string()).await;
    assert_eq!(rest(host, &id).await, Outcome::Idle);
    let events = world.check(&id).await;
    (events.learned().pop().unwrap_or_default(), events)
}

/// Issue B: every named limit can be set, and holds.
#[tokio::test(flavor = "multi_thread")]
async fn the_operator_s_limits_of_http_hold() {
    let server = Server::start(|request| {
        if request.starts_with("GET /slow") {
            std::thread::sleep(std::time::Duration::from_secs(3));
        }
        response("200 OK", &[], &"y".repeat(if request.starts_with("GET /large") { 2_049 } else { 2_048 }))
    });
    let bundle = harness(&ask(&server, "\"GET\", \"POST\"", ""));
    let ops = json!([fetch(&json!([
        { "url": server.url("/fits") },
        { "url": server.url("/large") },
        { "url": server.url("/"), "method": "POST", "body": "x".repeat(1_024) },
        { "url": server.url("/"), "method": "POST", "body": "x".repeat(1_025) },
        { "url": server.url("/slow") },
    ]))]);
    let rules = "[limits.http]\nrequest = \"1KiB\"\nresponse = \"2KiB\"\ntimeout = \"1s\"\n";
    let (learned, _) = ruled(&bundle, rules, true, &ops).await;
    for (line, says) in learned.iter().zip(["200 2048 bytes", "too large", "200 ", "failed: ", "timed out"]) {
        assert!(line.starts_with(&format!("fetch: {says}")), "{says}: {learned:?}");
    }
    assert!(learned[3].contains("at most 1024"), "{learned:?}");
    let (learned, _) = ruled(&bundle, "", true, &ops).await;
    assert!(learned.iter().all(|line| line.starts_with("fetch: 200 ")), "{learned:?}");
}

/// What a rule means by `*` is of the internet: an address of one's own must be allowed as such.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_any_host_allows_no_address() {
    let server = Server::echo();
    let port = server.host().rsplit_once(':').unwrap().1.to_owned();
    let bundle = harness(&ask(&server, "\"GET\"", ""));
    let ops = json!([fetch(&json!([{ "url": server.url("/") }]))]);
    for (host, is_allowed) in [(format!("*:{port}"), false), ("*".to_owned(), false), (server.host(), true)] {
        let rules = format!(
            "[[allow]]\nbundle = \"test/http\"\ndigest = \"DIGEST\"\nasks = [\"http:http://{host}:GET\"]\n"
        );
        let (learned, _) = ruled(&bundle, &rules, false, &ops).await;
        assert_eq!(learned[0].starts_with("fetch: 200 "), is_allowed, "{host}: {learned:?}");
    }
    assert_eq!(server.asked().len(), 1);
}

fn input(method: &str, url: &str) -> String {
    let body = format!("blake3:{}", Digest::of(b""));
    json!({ "method": method, "url": url, "headers": [], "body": body, "bytes": 0 }).to_string()
}

const REWRITES: &str = "[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = \"http\"\nrewrites = true";

/// hooks.md: a rewriter replaces the input, which then goes through the grants again. Of a request that is
/// its URL: a hook is not shown all of the rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_replaces_where_a_request_goes() {
    let server = Server::echo();
    let asks = ask(&server, "\"GET\", \"POST\"", "");
    let bundle = harness(&asks).hook(&[("input", &input("GET", &server.url("/there")))], REWRITES);
    let ops = json!([fetch(&json!([{ "url": server.url("/here") }]))]);
    let scenario = Scenario::new(bundle).say(&ops);
    scenario
        .everywhere(|_, _, events| {
            let learned = events.learned().pop().unwrap();
            assert_eq!(learned, ["fetch: 200 19 bytes: GET /there HTTP/1.1"]);
            let started = &events.first("http.started").data;
            assert_eq!(started["request"]["url"], server.url("/there"));
            assert!(started["asked"].is_string() && started["asked"] != started["request"]["arguments"]);
        })
        .await;
    assert!(server.asked().iter().all(|asked| asked.starts_with("GET /there ")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_replaces_nothing_else_of_a_request_and_goes_nowhere_else() {
    let server = Server::echo();
    let asks = ask(&server, "\"GET\", \"POST\"", "");
    let ops = json!([fetch(&json!([{ "url": server.url("/") }]))]);
    let elsewhere = input("GET", "http://127.0.0.1:1/");
    let more = input("GET", &server.url("/")).replace("\"bytes\":0", "\"bytes\":0,\"x\":1");
    for (input, says) in [
        (elsewhere, "as a hook replaced it: http://127.0.0.1:1 is not granted"),
        (input("POST", &server.url("/")), "nothing else"),
        (input("GET", &server.url("/")).replace("[]", "[\"x\"]"), "nothing else"),
        (more, "nothing else"),
        ("{}".to_owned(), "nothing else"),
        ("{\"url\":7}".to_owned(), "nothing else"),
    ] {
        let bundle = harness(&asks).hook(&[("input", &input)], REWRITES);
        let (learned, events) = ruled(&bundle, "", true, &ops).await;
        assert!(
            learned[0].starts_with("fetch: denied: ") && learned[0].contains(says),
            "{input}: {learned:?}"
        );
        assert_eq!(events.count("http.started"), 0);
        assert_eq!(events.first("http.completed").data["request"]["url"], server.url("/"));
    }
    assert!(server.asked().is_empty());
}

/// Judges see what a rewriter made of a request, and can deny that.
#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_request_is_judged_as_it_is_sent() {
    let server = Server::echo();
    let judge = "\n\n[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = \"http\"";
    let replaced = input("GET", &server.url("/there"));
    let config = [("input", replaced.as_str()), ("context", "heard")];
    let bundle = harness(&ask(&server, "\"GET\"", "")).hook(&config, &format!("{REWRITES}{judge}"));
    let ops = json!([fetch(&json!([{ "url": server.url("/here") }]))]);
    let (_, events) = ruled(&bundle, "", true, &ops).await;
    let verdicts: Vec<&Value> = events.of_kind("hook.verdict").map(|event| &event.data).collect();
    // The judge is the same component: that it replaces something is its error.
    assert!(verdicts[1]["error"].as_str().unwrap().contains("rewrites = true"), "{verdicts:?}");
    assert_ne!(verdicts[0]["binding"], verdicts[1]["binding"]);
    assert_eq!((events.count("http.started"), server.asked().len()), (0, 0));
}

/// R5: a repeat that is refused ends lost, not denied, and says why it is not sent again.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_that_is_not_granted_any_more_is_lost() {
    let server = Server::echo();
    let bundle = harness(&ask(&server, "\"GET\"", ""));
    let ops = json!([fetch(&json!([{ "url": server.url("/") }]))]).to_string();
    let started = |events: &Events| events.count("http.started") - events.count("http.completed");
    for appends in 0.. {
        assert!(appends < 30, "it was never cut in a request");
        let world = World::new().await;
        let folder = world.bundle(&bundle);
        let digest = Bundle::load(&folder).expect("a bundle").digest();
        let new = NewSession { bundle: folder.into(), ..asked_for() };
        let id = world.own().create(&new).await.expect("a session").id;
        let host = world.host_over(Arc::new(CutStore::new(world.store.clone(), appends)));
        if cut(&host, &id, &ops).await.is_none() || started(&world.events(&id).await) != 1 {
            continue;
        }
        drop(host);
        let rules = format!("[[allow]]\nbundle = \"test/http\"\ndigest = \"blake3:{digest}\"\nasks = []\n");
        std::fs::write(world.path().join("rewake.toml"), rules).unwrap();
        let host = world.host();
        assert_eq!(rest(&host, &id).await, Outcome::Idle);
        let events = world.check(&id).await;
        let lost = &events.first("http.lost").data;
        assert_eq!(lost["why"], "host");
        assert!(lost["refused"].as_str().unwrap().contains("is not granted"), "{lost}");
        let learned = events.learned().pop().unwrap();
        assert!(learned[0].starts_with("fetch: unknown: ") && learned[0].contains("may not be sent now"));
        return;
    }
}

/// Sends a message to a session of a host that will be killed; why the session went.
async fn cut(host: &Host, id: &SessionId, ops: &str) -> Option<()> {
    let mut session = rewake_tests::running::Running::try_load(host, id).await.ok()?;
    if session.rest().await != Outcome::Idle {
        return Some(());
    }
    let command =
        rewake_core::command::Command::Message { parts: vec![rewake_wire::Part::text(ops.to_owned())] };
    session.command_with_key(command, None).await.ok()?;
    matches!(session.rest().await, Outcome::Gone(_)).then_some(())
}

/// R14 and the contract: a body that its entry keeps as a blob can be read again, by who was told of it.
#[tokio::test(flavor = "multi_thread")]
async fn the_body_of_a_large_response_can_be_read_again() {
    let body = "0123456789".repeat(10_000);
    let digest = Digest::of(body.as_bytes()).to_hex();
    let said = body.clone();
    let server = Server::start(move |_| response("200 OK", &[], &said));
    let ops = json!([
        { "op": "blob", "digest": digest, "length": 10 },
        fetch(&json!([{ "url": server.url("/") }])),
        { "op": "blob", "digest": digest, "length": 10 },
        { "op": "more" },
        { "op": "blob", "offset": 99_995, "length": 4_000_000_000_u32 },
        { "op": "blob", "offset": 4_000_000_000_u32, "length": 1 },
        { "op": "blob", "digest": "blake3:00", "length": 1 },
        { "op": "blob", "digest": Digest::of(b"other").to_hex(), "length": 1 },
    ]);
    let learns = [
        "no blob: no event of this session names the blob",
        "fetch: 200 100000 bytes: ",
        "blob: 10 bytes: 0123456789",
        "blob: 5 bytes: 56789",
        "blob: 0 bytes: ",
        "no blob: ",
        "no blob: ",
    ];
    let scenario = Scenario::new(harness(&ask(&server, "\"GET\"", ""))).say(&ops);
    scenario
        .everywhere(|_, _, events| {
            let learned = events.learned().pop().unwrap();
            assert!(learned.iter().zip(learns).all(|(line, says)| line.starts_with(says)), "{learned:?}");
        })
        .await;

    // Another session of the same store is told nothing of it; nor is what hosts keep as blobs for guests.
    let world = World::new().await;
    let bundle = harness(&ask(&server, "\"GET\"", ""));
    let first = world.create(&bundle).await;
    assert_eq!(world.run(&first, &json!([ops[1]]).to_string()).await, Outcome::Idle);
    let second = world.create(&bundle).await;
    assert_eq!(world.run(&second, &json!([ops[2]]).to_string()).await, Outcome::Idle);
    assert!(world.check(&second).await.learned().pop().unwrap()[0].starts_with("no blob: "));
}

/// A server that speaks TLS, with a certificate of this authority for 127.0.0.1; says `secure`.
fn secure(issuer: &Issuer<'_, KeyPair>) -> SocketAddr {
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, issuer).unwrap().der().clone();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = Arc::new(config.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
            let mut bytes = [0; 8 << 10];
            // A client that does not trust it goes away.
            if stream.read(&mut bytes).is_ok_and(|count| count > 0) {
                let _ = stream.write_all(&response("200 OK", &[], "secure")).and_then(|()| stream.flush());
            }
        }
    });
    address
}

/// An operator adds the authority of servers of their own; without it they are not who they say.
#[tokio::test(flavor = "multi_thread")]
async fn an_authority_of_the_operator_s_is_trusted() {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    let address = secure(&Issuer::new(params, key));
    let asks = format!("http = [{{ host = \"{address}\", methods = [\"GET\"] }}]");
    let ops = json!([fetch(&json!([{ "url": format!("https://{address}/") }]))]);
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("ca.pem");
    std::fs::write(&file, pem).unwrap();
    let rules = format!("[egress]\nca_file = {:?}\n", file.display().to_string());
    let (learned, _) = ruled(&harness(&asks), &rules, true, &ops).await;
    assert_eq!(learned, ["fetch: 200 6 bytes: secure"]);
    let (learned, _) = ruled(&harness(&asks), "", true, &ops).await;
    assert!(learned[0].starts_with("fetch: failed: ") && learned[0].contains("UnknownIssuer"), "{learned:?}");

    let world = World::new().await;
    let config = |rules: &str| {
        let file = elsewhere.path().join("rules.toml");
        std::fs::write(&file, rules).unwrap();
        Config { rules: Some(file), ..world.config() }
    };
    std::fs::write(elsewhere.path().join("empty.pem"), "none").unwrap();
    for (rules, says) in [
        ("[egress]\nca_file = \"missing.pem\"\n", "No such file"),
        ("[egress]\nca_file = \"empty.pem\"\n", "holds no certificate"),
        ("[egress]\nca_files = \"x\"\n", "did you mean `ca_file`?"),
    ] {
        let refused =
            Host::open(&config(rules), world.store.clone()).err().expect("it is refused").to_string();
        assert!(refused.contains(says) && refused.contains("rules.toml"), "{says}: {refused}");
    }
}
