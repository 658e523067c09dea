//! HTTP out of sessions: recorded for harnesses, audited for tools and hooks, and never more than is granted.

use std::path::Path;

use rewake_core::ids::SessionId;
use rewake_runtime::Config;
use rewake_runtime::Host;
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::play::Scenario;
use rewake_tests::server::{Server, response};
use rewake_tests::world::{asked_for, rest, send};
use rewake_tests::{Outcome, World};
use serde_json::{Value, json};

/// An ask for a server, as a manifest writes it.
pub(crate) fn ask(server: &Server, methods: &str, more: &str) -> String {
    format!("http = [{{ host = {:?}, scheme = \"http\", methods = [{methods}]{more} }}]", server.host())
}

/// A bundle whose harness asks for this.
pub(crate) fn harness(asks: &str) -> Draft {
    Draft::new("test/http").harness("harness_script").toml(&format!("[component.harness.asks]\n{asks}"))
}

/// The same, with a tool that asks for this.
fn with_tool(draft: Draft, asks: &str) -> Draft {
    let toml = format!(
        "[component.tool_http]\nkind = \"tool\"\nsource = \"tool_http.wasm\"\n\n[component.tool_http.asks]\n{asks}\n\n[component.tool_http.limits]\ntimeout = \"5s\""
    );
    draft.toml(&toml).file("tool_http.wasm", rewake_tests::bundles::guest("tool_http"))
}

/// Has the harness fetch.
pub(crate) fn fetch(fetches: &Value) -> Value {
    json!({ "op": "fetch", "fetches": fetches })
}

/// Runs operations in a session of a bundle; what was learned, and the events.
async fn run(bundle: &Draft, ops: &Value) -> (World, SessionId, Vec<String>, Events) {
    let world = World::new().await;
    let id = world.create(bundle).await;
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let events = world.check(&id).await;
    let learned = events.learned().pop().unwrap_or_default();
    (world, id, learned, events)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_s_requests_are_recorded() {
    let server = Server::start(|_| response("201 Created", &[("x-seen", "yes")], "made"));
    let ops = json!([fetch(&json!([
        { "url": server.url("/a"), "headers": [["x-own", "1"]] },
        { "url": server.url("/b"), "method": "POST", "body": "hello" },
    ]))]);
    let (_, _, learned, events) = run(&harness(&ask(&server, "\"GET\", \"POST\"", "")), &ops).await;
    assert_eq!(learned, ["fetch: 201 x-seen=yes 4 bytes: made"; 2]);
    let started: Vec<_> = events.of_kind("http.started").collect();
    assert_eq!((&started[0].data["class"], &started[1].data["class"]), (&json!("pure"), &json!("once")));
    let request = &started[0].data["request"];
    assert_eq!((&request["method"], &request["url"]), (&json!("GET"), &json!(server.url("/a"))));
    assert_eq!((&request["headers"], &started[1].data["request"]["bytes"]), (&json!(["x-own"]), &json!(5)));
    let completed = events.last("http.completed");
    assert_eq!(completed.data["start"], started[1].seq);
    assert_eq!(completed.data["outcome"]["response"]["status"], 201);
    assert_eq!(completed.data["outcome"]["response"]["body"], json!({ "text": "made" }));
    assert_eq!(server.asked().len(), 2, "checking the journal asks nobody");
}

/// R3: a large body is a blob of the entry's transaction, and a replay is told it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_response_is_kept_as_a_blob() {
    let server = Server::start(|_| response("200 OK", &[], &"y".repeat(100_000)));
    let ops =
        json!([fetch(&json!([{ "url": server.url("/") }])), { "op": "more" }, { "op": "say", "text": "x" }]);
    let (world, id, learned, events) = run(&harness(&ask(&server, "\"GET\"", "")), &ops).await;
    assert!(learned[0].starts_with("fetch: 200 100000 bytes: yyy"), "{learned:?}");
    let body = &events.first("http.completed").data["outcome"]["response"]["body"]["blob"];
    assert_eq!(body["size"], 100_000);
    assert!(world.own().replay(&id).await.unwrap().steps >= 2);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_granted_is_denied_and_journaled() {
    let server = Server::echo();
    let other = Server::echo();
    let localhost = server.url("/").replace("127.0.0.1", "localhost");
    let ops = json!([fetch(&json!([
        { "url": server.url("/"), "method": "PUT" },
        { "url": other.url("/") },
        { "url": localhost },
        { "url": "http://169.254.169.254/latest/meta-data" },
        { "url": "nonsense" },
        { "url": server.url("/"), "headers": [["Host", "evil"]] },
        { "url": server.url("/fine") },
    ]))]);
    let (_, _, learned, events) = run(&harness(&ask(&server, "\"GET\"", "")), &ops).await;
    let says =
        ["only GET", "is not granted", "is not granted", "is not granted", "no URL", "the host's to set"];
    for (line, says) in learned.iter().zip(says) {
        assert!(line.starts_with("fetch: denied: ") && line.contains(says), "{says}: {line}");
    }
    assert_eq!(learned[6], "fetch: 200 18 bytes: GET /fine HTTP/1.1");
    assert!(learned[1].contains("the component's manifest must ask for it"), "{learned:?}");
    assert_eq!((server.asked().len(), other.asked().len()), (1, 0));
    assert_eq!((events.count("http.started"), events.count("http.completed")), (1, 7));
    let denied = events.first("http.completed");
    assert_eq!((&denied.data["request"]["method"], denied.data.get("start")), (&json!("PUT"), None));
    assert!(denied.data["outcome"]["denied"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_asks_for_nothing_reaches_nothing() {
    let server = Server::echo();
    let ops = json!([fetch(&json!([{ "url": server.url("/") }]))]);
    let (_, _, learned, _) = run(&Draft::new("test/none").harness("harness_script"), &ops).await;
    assert!(learned[0].starts_with("fetch: denied: "), "{learned:?}");
    assert!(server.asked().is_empty());
}

/// Tools and hooks are never replayed: what they did is told, not recorded.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_s_requests_stand_on_its_end() {
    let server = Server::echo();
    let fetches = json!([{ "url": server.url("/t") }, { "url": server.url("/t"), "method": "DELETE" }, { "url": "http://127.0.0.1:1/" }]);
    let ops = json!([{ "op": "tools", "uses": [{ "name": "fetch_once", "input": { "fetches": fetches } }] }]);
    let bundle = with_tool(Draft::new("test/http").harness("harness_script"), &ask(&server, "\"GET\"", ""));
    let (_, _, learned, events) = run(&bundle, &ops).await;
    assert!(learned[0].starts_with("use-1: ok: 200 15 bytes: GET /t HTTP/1.1\ndenied: "), "{learned:?}");
    let completed = events.first("tool.completed");
    let made = completed.data["http"].as_array().unwrap();
    assert_eq!(made.len(), 3);
    assert_eq!(
        (&made[0]["method"], &made[0]["status"], &made[0]["bytes"]),
        (&json!("GET"), &json!(200), &json!(15))
    );
    assert!(made[1]["denied"].as_str().unwrap().contains("only GET"), "{made:?}");
    assert!(made[2]["denied"].is_string() && made[2].get("status").is_none());
    assert_eq!(server.asked().len(), 1);
    assert_eq!(events.count("http.started"), 0);
}

/// R13: wall time runs while a guest waits for the network, and what was cut off is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_waits_for_a_silent_server_is_timed_out() {
    let server = Server::start(|_| {
        std::thread::sleep(std::time::Duration::from_secs(30));
        Vec::new()
    });
    let fetches = json!([{ "url": server.url("/") }]);
    let ops = json!([{ "op": "tools", "uses": [{ "name": "fetch_once", "input": { "fetches": fetches } }] }]);
    let bundle = with_tool(Draft::new("test/http").harness("harness_script"), &ask(&server, "\"GET\"", ""));
    let (_, _, learned, events) = run(&bundle, &ops).await;
    assert!(learned[0].starts_with("use-1: timed out: "), "{learned:?}");
    let made = &events.first("tool.completed").data["http"][0];
    assert_eq!(made["error"], "it was cut off");
}

/// Every request of one call stands in the journal, so there are only so many.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_makes_so_many_requests_and_no_more() {
    let server = Server::echo();
    let fetches = json!([{ "url": "http://127.0.0.1:1/", "times": 300 }]);
    let ops = json!([{ "op": "tools", "uses": [{ "name": "fetch_once", "input": { "fetches": fetches } }] }]);
    let bundle = with_tool(Draft::new("test/http").harness("harness_script"), &ask(&server, "\"GET\"", ""));
    let (_, _, learned, events) = run(&bundle, &ops).await;
    assert!(learned[0].contains("one call makes at most 256 requests"), "{learned:?}");
    assert_eq!(events.first("tool.completed").data["http"].as_array().unwrap().len(), 256);
}

/// R5: what can change something, or acts in somebody's name, is never pure.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_can_post_is_not_pure() {
    let server = Server::echo();
    for (methods, class) in [("\"GET\"", "pure"), ("\"GET\", \"POST\"", "idempotent")] {
        let bundle = with_tool(Draft::new("test/http").harness("harness_script"), &ask(&server, methods, ""));
        let input = json!({ "fetches": [] });
        let ops = json!([{ "op": "tools", "uses": [{ "name": "fetch_pure", "input": input }] }]);
        let (_, _, _, events) = run(&bundle, &ops).await;
        assert_eq!(events.first("tool.started").data["class"], class);
    }
}

/// hooks.md: every effectful import passes the same gate; a harness's request is the tool `http`.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_judge_a_harness_s_requests() {
    let server = Server::echo();
    for (config, matcher, is_denied) in [
        (("deny", "http"), "http", true),
        (("deny", "http"), "grant:http", true),
        (("deny", "http"), "effect:pure", true),
        (("deny", "http"), "effect:once", false),
        (("deny", "other"), "http", false),
        (("allow", "http"), "", false),
    ] {
        let on = format!("[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = {matcher:?}");
        let bundle = harness(&ask(&server, "\"GET\"", "")).hook(&[config], &on);
        let before = server.asked().len();
        let ops = json!([fetch(&json!([{ "url": server.url("/h") }]))]);
        let (_, _, learned, events) = run(&bundle, &ops).await;
        assert_eq!(learned[0].starts_with("fetch: denied: the probe denies http"), is_denied, "{learned:?}");
        assert_eq!(server.asked().len() - before, usize::from(!is_denied));
        assert_eq!(events.count("http.started"), usize::from(!is_denied));
        let asked = events.count("hook.verdict");
        assert_eq!(asked, usize::from(matcher != "effect:once"));
        if asked > 0 && !is_denied {
            let verdict = events.first("hook.verdict").seq;
            assert_eq!(events.first("http.started").data["verdicts"], json!([verdict]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_has_its_own_way_out_and_it_is_told() {
    let server = Server::echo();
    let fetches =
        json!([{ "url": server.url("/k") }, { "url": server.url("/k"), "method": "POST" }]).to_string();
    let hook = format!(
        "[component.hook_http]\nkind = \"hook\"\nsource = \"hook_http.wasm\"\n\n[component.hook_http.asks]\n{}\n\n[[component.hook_http.on]]\nevent = \"PreToolUse\"\n\n[config.fetches]\ntype = \"string\"\ndefault = {fetches:?}",
        ask(&server, "\"GET\"", "")
    );
    let guest = rewake_tests::bundles::guest("hook_http");
    let bundle = with_tool(Draft::new("test/http").harness("harness_script"), &ask(&server, "\"GET\"", ""))
        .toml(&hook)
        .file("hook_http.wasm", guest);
    let ops = json!([{ "op": "tools", "uses": [{ "name": "fetch_pure", "input": { "fetches": [] } }] }]);
    let (_, _, learned, events) = run(&bundle, &ops).await;
    assert!(learned[1].starts_with("use-1: context: 200 15 bytes: GET /k HTTP/1.1\ndenied: "), "{learned:?}");
    let made = &events.first("hook.verdict").data["http"];
    assert_eq!((&made[0]["status"], made[1]["denied"].is_string()), (&json!(200), true));
    assert_eq!(server.asked().len(), 1);
}

/// R5, wherever the host dies: a POST is sent once at most, what reads and what the receiver tells apart by
/// its key may be sent again, with the same key.
#[tokio::test(flavor = "multi_thread")]
async fn cuts_repeat_only_what_may_be_repeated() {
    let server = Server::echo();
    let asks = ask(&server, "\"GET\", \"POST\", \"PUT\"", ", honours_key = true");
    let nth = std::sync::atomic::AtomicUsize::new(0);
    let bundle = harness(&asks).hook(
        &[("allow", "http")],
        "[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = \"effect:once\"",
    );
    let ops = json!([
        fetch(&json!([{ "url": server.url("/get") }, { "url": server.url("/post"), "method": "POST", "body": "b" }])),
        { "op": "say", "text": "between" },
        fetch(&json!([{ "url": server.url("/put"), "method": "PUT" }, { "url": server.url("/x"), "method": "DELETE" }])),
    ]);
    let scenario = Scenario::new(bundle).say(&ops);
    scenario
        .everywhere(|_, _, events| {
            nth.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let starts = |method: &str| {
                let of = events.of_kind("http.started");
                of.filter(|event| event.data["request"]["method"] == method).count()
            };
            assert_eq!((starts("GET"), starts("POST"), starts("PUT"), starts("DELETE")), (1, 1, 1, 0));
            let learned = events.learned().pop().unwrap();
            let unknown = learned.iter().filter(|line| line.starts_with("fetch: unknown")).count();
            assert_eq!(unknown, events.count("http.lost"));
            assert!(learned.last().unwrap().starts_with("fetch: denied"), "{learned:?}");
            let put =
                events.of_kind("http.started").find(|event| event.data["class"] == "idempotent").unwrap();
            let keyed = format!("idempotency-key: {}", put.hash);
            assert!(server.asked().iter().any(|asked| asked.contains(&keyed)), "no request with {keyed}");
        })
        .await;
    // Each of the two rounds ends with a session that the cut came too late for, which is not checked.
    let played = nth.into_inner() + 2;
    assert!(
        server.count("POST") <= played,
        "a POST was sent {} times in {played} sessions",
        server.count("POST")
    );
}

/// A secret goes out in the request, and is nowhere else: not in what comes back, nor on the disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_sent_and_seen_nowhere() {
    const CANARY: &str = "canary-0d15ea5e-not/for+guests";
    let server = Server::start(|request| {
        let value = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
        let value = value.unwrap_or("nothing");
        if request.starts_with("GET /away") {
            return response("302 Found", &[("location", &format!("/?k={value}"))], value);
        }
        response("200 OK", &[("x-echo", value)], &format!("it was {value}. {request}"))
    });
    let secret = ", secret = { config = \"key\", header = \"Authorization\", format = \"Bearer {}\" }";
    let asks = ask(&server, "\"GET\"", secret);
    let bundle = with_tool(harness(&asks), &asks)
        .toml("[config.key]\ntype = \"string\"\nsensitive = true\nrequired = true");
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("key"), CANARY).unwrap();
    let rules = elsewhere.path().join("rewake.toml");
    std::fs::write(&rules, "[config.\"test/http\"]\nkey = { file = \"key\" }\n").unwrap();
    let world = World::new().await;
    let config = Config { rules: Some(rules), ..world.config() };
    let host = Host::open(&config, world.store.clone()).unwrap();
    let new = rewake_runtime::NewSession { bundle: world.bundle(&bundle).into(), ..asked_for() };
    let id = host.create(&new).await.unwrap().id;
    let fetches = json!([
        { "url": server.url("/") },
        { "url": server.url("/away") },
        { "url": server.url("/"), "headers": [["Authorization", "mine"]] },
    ]);
    let ops = json!([
        fetch(&fetches),
        { "op": "tools", "uses": [{ "name": "fetch_once", "input": { "fetches": fetches } }] },
    ]);
    send(&host, &id, &ops.to_string()).await;
    assert_eq!(rest(&host, &id).await, Outcome::Idle);
    let events = world.events(&id).await;
    let learned = events.learned().pop().unwrap();
    host.shut_down().await;

    let sent = server
        .asked()
        .iter()
        .filter(|asked| asked.contains(&format!("authorization: Bearer {CANARY}")))
        .count();
    assert_eq!(sent, 4, "it is sent, by harness and tool: {:?}", server.asked());
    assert!(learned[0].starts_with("fetch: 200 x-echo=[secret] "), "{learned:?}");
    assert!(
        learned[1].contains("repeats a secret") && learned[2].contains("carries a secret"),
        "{learned:?}"
    );
    assert!(!format!("{:?}{learned:?}", events.0).contains(CANARY));
    assert_eq!(holding(world.path(), CANARY.as_bytes()), Vec::<String>::new());
}

/// The files below a folder that hold some bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, bytes));
        } else if std::fs::read(&path).unwrap_or_default().windows(bytes.len()).any(|window| window == bytes)
        {
            found.push(path.display().to_string());
        }
    }
    found
}
