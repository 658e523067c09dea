//! Grants: nothing without a rule or a person, never more than both the manifest and the rules allow, and
//! narrowing that holds from the next load on and stands in the journal.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rewake_bundle::Bundle;
use rewake_core::ids::{Digest, SessionId};
use rewake_runtime::live::UnloadReason;
use rewake_runtime::{Approval, NewSession};
use rewake_tests::bundles::{Draft, guest};
use rewake_tests::journal::Events;
use rewake_tests::world::asked_for;
use rewake_tests::{CutStore, Outcome, Running, World};
use serde_json::{Value, json};

/// Longer than a host takes to look at its rules again.
const LOOKED: Duration = Duration::from_millis(1_200);

/// A world, and the bundle that its session is made of.
pub(crate) struct Ruled {
    pub(crate) world: World,
    pub(crate) bundle: std::path::PathBuf,
}

impl Ruled {
    pub(crate) async fn new(draft: &Draft) -> Self {
        let world = World::new().await;
        let bundle = world.bundle(draft);
        Ruled { world, bundle }
    }

    pub(crate) fn digest(&self) -> Digest {
        Bundle::load(&self.bundle).expect("a bundle").digest()
    }

    pub(crate) fn write(&self, rules: &str) {
        std::fs::write(self.world.path().join("rewake.toml"), rules).expect("the rules");
    }

    /// Rules that allow the bundle this.
    pub(crate) fn allow(&self, asks: &str) -> String {
        allow(&self.bundle, asks)
    }

    pub(crate) async fn create(&self, approval: Option<Approval>) -> SessionId {
        let new = NewSession { bundle: self.bundle.clone().into(), approval, ..asked_for() };
        self.world.own().create(&new).await.expect("a session").id
    }

    pub(crate) async fn refused(&self) -> String {
        let new = NewSession { bundle: self.bundle.clone().into(), ..asked_for() };
        self.world.own().create(&new).await.expect_err("it is refused").to_string()
    }

    /// Has a tool append a line, and returns what the harness learned and the journal.
    pub(crate) async fn append(&self, id: &SessionId, line: &str) -> (String, Events) {
        let path = "/workspace/log";
        let uses = json!([{ "name": "append_once", "input": { "path": path, "line": line } }]);
        let (learned, events) = self.call(id, uses).await;
        (learned.join("\n"), events)
    }

    async fn call(&self, id: &SessionId, uses: Value) -> (Vec<String>, Events) {
        let ops = json!([{ "op": "tools", "uses": uses }]).to_string();
        assert_eq!(self.world.run(id, &ops).await, Outcome::Idle);
        let events = self.world.check(id).await;
        (events.learned().pop().unwrap_or_default(), events)
    }

    fn log(&self, id: &SessionId) -> Option<String> {
        self.world.workspace_file(id, "log")
    }
}

pub(crate) fn allow(bundle: &Path, asks: &str) -> String {
    let bundle = Bundle::load(bundle).expect("a bundle");
    let (name, digest) = (bundle.name(), bundle.digest());
    format!("[[allow]]\nbundle = \"{name}\"\ndigest = \"blake3:{digest}\"\nasks = [{asks}]\n")
}

pub(crate) fn approval() -> Option<Approval> {
    Some(Approval::of_all("ann"))
}

fn narrowed(events: &Events) -> Vec<(Value, Value)> {
    let access = |grants: &Value| grants["fs"][0]["access"].clone();
    let all = events.of_kind("grants.changed");
    all.map(|event| (access(&event.data["from"]), access(&event.data["to"]))).collect()
}

/// Deny by default: what no rule and no person allows is not there, and the failure says what to ask for.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_granted_without_a_rule_or_a_person() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    let id = ruled.create(None).await;
    let (learned, events) = ruled.append(&id, "x").await;
    assert!(learned.contains(": error: "), "{learned}");
    assert!(
        learned.contains("test/scripted:tool_probe asks for fs:workspace:rw and was not granted it"),
        "{learned}"
    );
    assert!(learned.contains(&format!("digest = \"blake3:{}\"", ruled.digest())), "{learned}");
    assert_eq!(events.first("tool.completed").data["withheld"], json!(["fs:workspace:rw"]));
    assert_eq!(ruled.log(&id), None);
    let tool = &events.first("session.created").data["components"][1];
    assert_eq!((&tool["asks"]["fs"][0]["access"], &tool["grants"]), (&json!("rw"), &json!({})));
    assert_eq!(events.count("grants.changed"), 0);
}

/// A failure that has nothing to do with what was withheld is left as it is.
#[tokio::test(flavor = "multi_thread")]
async fn other_failures_say_nothing_of_grants() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    let id = ruled.create(None).await;
    let uses = json!([{ "name": "fail", "input": { "message": "out of luck" } }, { "name": "sleep_pure", "input": { "ms": 0 } }]);
    let (learned, events) = ruled.call(&id, uses).await;
    assert_eq!(learned, ["use-1: error: out of luck", "use-2: ok: slept 0 ms"]);
    assert!(events.of_kind("tool.completed").all(|event| event.data.get("withheld").is_none()));
}

/// The manifest's asks ∩ the rules: no more than either.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_grants_what_is_asked_and_allowed() {
    for (asked, allowed, granted) in [
        ("rw", "\"fs:workspace:rw\", \"fs:scratch:rw\", \"http:*:GET\"", json!("rw")),
        ("rw", "\"fs:workspace:ro\"", json!("ro")),
        ("ro", "\"fs:workspace:rw\"", json!("ro")),
        ("rw", "\"fs:bundle:ro\", \"fs:host:workspace:rw\"", Value::Null),
        ("rw", "", Value::Null),
    ] {
        let draft = Draft::new("test/asks").harness("harness_script").tools("tool_probe", asked);
        let ruled = Ruled::new(&draft).await;
        ruled.write(&ruled.allow(allowed));
        // A person's approval adds nothing to a rule.
        for approval in [None, approval()] {
            let id = ruled.create(approval).await;
            let created = &ruled.world.events(&id).await.first("session.created").data.clone();
            assert_eq!(created["components"][1]["grants"]["fs"][0]["access"], granted, "{asked} {allowed}");
            assert_eq!(created["bundles"][0].get("approved_by"), None);
            let (_, events) = ruled.append(&id, "x").await;
            assert_eq!(ruled.log(&id).is_some(), granted == "rw", "{asked} {allowed}");
            let withheld = events.first("tool.completed").data.get("withheld").is_some();
            assert_eq!(withheld, asked == "rw" && granted != "rw");
        }
    }
}

/// An allowance is for the version that somebody looked at.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_another_version_grants_nothing() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    let other = ruled.world.bundle(&Draft::scripted().toml("# another version"));
    ruled.write(&allow(&other, "\"fs:workspace:rw\""));
    let id = ruled.create(None).await;
    let (learned, _) = ruled.append(&id, "x").await;
    assert!(learned.contains("was not granted"), "{learned}");
    assert_eq!(ruled.log(&id), None);
}

/// A rule names a bundle by both its name and its digest; neither alone is enough, and no bundle gets what
/// another one is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_another_bundle_grants_nothing() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    ruled.write(&ruled.allow("\"fs:workspace:rw\"").replace("test/scripted", "test/other"));
    let id = ruled.create(None).await;
    assert!(ruled.append(&id, "x").await.0.contains("was not granted"));
    // Beside a bundle that is allowed it, by whatever name its component has.
    let other = ruled.world.bundle(&Draft::new("test/other").tools("tool_http", "rw"));
    ruled.write(&allow(&other, "\"fs:workspace:rw\""));
    let new = NewSession {
        bundle: ruled.bundle.clone().into(),
        with: vec![other.into()],
        approval: None,
        ..asked_for()
    };
    let id = ruled.world.own().create(&new).await.unwrap().id;
    let created = ruled.world.events(&id).await.first("session.created").data.clone();
    let granted = created["components"].as_array().unwrap().iter().filter(|pin| pin["kind"] == "tool");
    let granted: Vec<_> = granted.map(|pin| (pin["bundle"].clone(), pin["grants"] == json!({}))).collect();
    assert_eq!(granted, [(json!("test/scripted"), true), (json!("test/other"), false)]);
    assert!(ruled.append(&id, "x").await.0.contains("was not granted"));
    assert_eq!(ruled.log(&id), None);
}

/// R11: the pin is the ceiling; what the rules take away is gone at the next load, and comes back no
/// further than the pin. Each change is an entry.
#[tokio::test(flavor = "multi_thread")]
async fn narrowing_holds_from_the_next_load_and_is_journaled() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    ruled.write(&ruled.allow("\"fs:workspace:rw\""));
    let id = ruled.create(None).await;
    assert_eq!(ruled.append(&id, "one").await.0, "use-1: ok: appended one");
    ruled.write(&ruled.allow("\"fs:workspace:ro\""));
    let (learned, events) = ruled.append(&id, "two").await;
    assert!(learned.contains(": error: "), "{learned}");
    assert_eq!(narrowed(&events), [(json!("rw"), json!("ro"))]);
    let (loaded, change) = (events.last("session.loaded").seq, events.first("grants.changed").seq);
    assert!(change > loaded && change < events.last("step.started").seq);
    // The same rules again change nothing.
    assert_eq!(narrowed(&ruled.append(&id, "three").await.1).len(), 1);
    std::fs::remove_file(ruled.world.path().join("rewake.toml")).unwrap();
    let (_, events) = ruled.append(&id, "four").await;
    assert_eq!(narrowed(&events)[1], (json!("ro"), Value::Null));
    ruled.write(&ruled.allow("\"fs:workspace:rw\""));
    let (learned, events) = ruled.append(&id, "five").await;
    assert_eq!(
        (learned.split_once(": ").map(|(_, what)| what), narrowed(&events)[2].clone()),
        (Some("ok: appended five"), (Value::Null, json!("rw")))
    );
    assert_eq!(ruled.log(&id).as_deref(), Some("one\nfive\n"));
}

/// Rules that change while the store fails: the session is given up after some tries, and holds nobody up.
#[tokio::test(flavor = "multi_thread")]
async fn rules_that_change_over_a_store_that_fails_hold_up_no_host() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    ruled.write(&ruled.allow("\"fs:workspace:rw\""));
    let id = ruled.create(None).await;
    let host = ruled.world.host_over(Arc::new(CutStore::leasing(ruled.world.store.clone(), 1)));
    let input = json!({ "path": "/workspace/log", "line": "one", "sleep_ms": 1_500 });
    let ops = json!([{ "op": "tools", "uses": [{ "name": "append_once", "input": input }] }]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("tool.started").await;
    ruled.write(&ruled.allow("\"fs:workspace:ro\""));
    let given_up = tokio::time::timeout(Duration::from_secs(30), async {
        let outcome = session.rest().await;
        host.shut_down().await;
        outcome
    });
    let outcome = given_up.await.expect("the session is given up");
    assert!(
        matches!(&outcome, Outcome::Gone(UnloadReason::Failed(why)) if why.contains("the disk is gone")),
        "{outcome:?}"
    );
}

/// R11: narrowing is immediate. A call that runs keeps what it began with; the next one of the same step is
/// made under the rules of now, and the journal says in between what changed.
#[tokio::test(flavor = "multi_thread")]
async fn narrowing_holds_for_the_next_call_of_a_running_step() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    ruled.write(&ruled.allow("\"fs:workspace:rw\""));
    let id = ruled.create(None).await;
    let append = |line: &str, ms: u64| {
        let input = json!({ "path": "/workspace/log", "line": line, "sleep_ms": ms });
        json!({ "op": "tools", "uses": [{ "name": "append_once", "input": input }] })
    };
    let ops = json!([append("one", 3_500), append("two", 0)]);
    let host = ruled.world.host();
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("tool.started").await;
    // One that is being written changes nothing.
    ruled.write("[[allow");
    tokio::time::sleep(LOOKED).await;
    ruled.write(&ruled.allow("\"fs:workspace:ro\""));
    assert_eq!(session.rest().await, Outcome::Idle);
    session.unload().await;
    let events = ruled.world.check(&id).await;
    let learned = events.learned().pop().unwrap();
    assert_eq!(learned[0], "use-1: ok: appended one");
    assert!(learned[1].contains(": error: "), "{learned:?}");
    assert_eq!(narrowed(&events), [(json!("rw"), json!("ro"))]);
    assert_eq!((events.count("session.loaded"), events.count("tool.lost")), (2, 0));
    assert_eq!(events.first("session.unloaded").data["why"], "rules");
    let change = events.first("grants.changed").seq;
    assert!(events.first("tool.completed").seq < change && change < events.last("tool.started").seq);
    assert_eq!(events.first("step.rerun").data["again"], 1);
    assert_eq!(ruled.log(&id).as_deref(), Some("one\n"));
}

/// A session that rests is told of rules that change for it, and not of others.
#[tokio::test(flavor = "multi_thread")]
async fn rules_that_change_for_a_session_at_rest_are_journaled() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    let wide = ruled.allow("\"fs:workspace:rw\"");
    ruled.write(&wide);
    let id = ruled.create(None).await;
    let host = ruled.world.host();
    let mut session = Running::rested(&host, &id).await;
    ruled.write(&format!("# nothing for it\n{wide}[limits.tool]\nfuel = 7\n"));
    tokio::time::sleep(LOOKED).await;
    assert_eq!(ruled.world.events(&id).await.count("session.loaded"), 1);
    ruled.write(&ruled.allow(""));
    session.event("grants.changed").await;
    ruled.write(&wide);
    session.event("grants.changed").await;
    assert_eq!(session.unload().await, UnloadReason::Unloaded);
    let events = ruled.world.check(&id).await;
    assert_eq!(narrowed(&events), [(json!("rw"), Value::Null), (Value::Null, json!("rw"))]);
    assert_eq!(events.count("session.loaded"), 3);
}

/// Rules that allow more than before widen no session that is there.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_widens_a_session() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    ruled.write(&ruled.allow("\"fs:workspace:ro\""));
    let id = ruled.create(None).await;
    ruled.write(&ruled.allow("\"fs:workspace:rw\""));
    let (learned, events) = ruled.append(&id, "x").await;
    assert!(learned.contains(": error: "), "{learned}");
    assert_eq!((events.count("grants.changed"), ruled.log(&id)), (0, None));
}

/// What a person approved stands for the session, until a rule names the bundle.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_s_approval_is_pinned_and_a_rule_can_take_it_back() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    let id = ruled.create(approval()).await;
    let (learned, events) = ruled.append(&id, "one").await;
    assert_eq!(learned, "use-1: ok: appended one");
    assert_eq!(events.first("session.created").data["bundles"][0]["approved_by"], "ann");
    ruled.write(&ruled.allow(""));
    let (_, events) = ruled.append(&id, "two").await;
    assert_eq!(narrowed(&events), [(json!("rw"), Value::Null)]);
    assert_eq!(ruled.log(&id).as_deref(), Some("one\n"));
    // An approval of other bundles is none of this one.
    std::fs::remove_file(ruled.world.path().join("rewake.toml")).unwrap();
    let other = Approval { by: "ann".into(), bundles: Some(vec![Digest::of(b"another")]) };
    let id = ruled.create(Some(other)).await;
    assert!(ruled.append(&id, "x").await.0.contains("was not granted"));
}

/// A directory of the host is there while the rules name it, anyone who approved what.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_of_the_host_is_there_while_the_rules_name_it() {
    let draft = Draft::new("test/dirs")
        .harness("harness_script")
        .toml("[component.tool_probe]\nkind = \"tool\"\nsource = \"tool_probe.wasm\"\n[component.tool_probe.asks]\nfs = [{ mount = \"/docs\", source = \"host:docs\", access = \"rw\" }]")
        .file("tool_probe.wasm", guest("tool_probe"));
    let ruled = Ruled::new(&draft).await;
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path();
    let dirs = |access: &str| format!("[dirs]\ndocs = {{ path = {docs:?}, access = {access:?} }}\n");
    let uses =
        |line: &str| json!([{ "name": "append_once", "input": { "path": "/docs/log", "line": line } }]);
    // Without the name, there is nothing to grant.
    let id = ruled.create(approval()).await;
    assert!(ruled.call(&id, uses("x")).await.0[0].contains("asks for fs:host:docs:rw"));
    ruled.write(&dirs("rw"));
    let id = ruled.create(approval()).await;
    assert_eq!(ruled.call(&id, uses("one")).await.0, ["use-1: ok: appended one"]);
    ruled.write(&dirs("ro"));
    let (learned, events) = ruled.call(&id, uses("two")).await;
    assert!(learned[0].contains(": error: "), "{learned:?}");
    assert_eq!(narrowed(&events), [(json!("rw"), json!("ro"))]);
    assert_eq!(std::fs::read_to_string(docs.join("log")).unwrap(), "one\n");
}

/// Operators' hooks stand first, whatever the bundles say, and are pinned by digest.
#[tokio::test(flavor = "multi_thread")]
async fn operators_hooks_come_first() {
    let own = Draft::scripted().hook(&[("context", "own")], "[[component.probe.on]]\nevent = \"PreToolUse\"");
    let ruled = Ruled::new(&own).await;
    let guard = ruled.world.bundle(
        &Draft::new("ops/guard")
            .hook(&[("deny", "append_once")], "[[component.probe.on]]\nevent = \"PreToolUse\"")
            .toml("[component.unused]\nkind = \"tool\"\nsource = \"tool_probe.wasm\"")
            .file("tool_probe.wasm", guest("tool_probe")),
    );
    let hook = |component: &str| format!("[[hook]]\nbundle = {guard:?}\ncomponent = {component:?}\n");
    ruled.write(&hook("probe"));
    let id = ruled.create(approval()).await;
    let (learned, events) = ruled.append(&id, "x").await;
    assert!(learned.starts_with("use-1: denied: the probe denies append_once"), "{learned}");
    assert_eq!(ruled.log(&id), None);
    let created = &events.first("session.created").data;
    let component = |hook: usize| {
        let index = created["hooks"][hook]["component"].as_u64().unwrap();
        created["components"][usize::try_from(index).unwrap()]["bundle"].clone()
    };
    assert_eq!((component(0), component(1)), (json!("ops/guard"), json!("test/scripted")));
    assert_eq!(created["bundles"][1]["name"], "ops/guard");
    assert!(created["tools"].as_array().unwrap().iter().all(|tool| tool["component"] != json!(2)));
    // One name cannot stand for two versions of a bundle.
    let twin = ruled.world.bundle(&own.clone().toml("# another version"));
    ruled.write(&format!("[[hook]]\nbundle = {twin:?}\ncomponent = \"probe\"\n"));
    assert!(ruled.refused().await.contains("the session has another bundle of the name test/scripted"));
    // One that is not there is told where it is written; so is a rule's typing error, at every load.
    ruled.write(&hook("prob"));
    assert!(ruled.refused().await.contains("ops/guard has no hook \"prob\""));
    ruled.write("[[hok]]\n");
    assert!(ruled.refused().await.contains("did you mean `hook`?"));
    let Err(error) = ruled.world.own().load(&id).await else { panic!("loaded by rules that cannot be read") };
    assert!(error.to_string().contains("did you mean `hook`?"), "{error}");
}

/// A creation that is refused leaves nothing behind: no bundle, no workspace, no session.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_creation_leaves_nothing() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    let world = &ruled.world;
    let full = tempfile::tempdir().unwrap();
    std::fs::write(full.path().join("file"), "more than a byte").unwrap();
    ruled.write("[limits.workspace]\nsize = \"1B\"");
    for from in [world.path(), full.path(), &world.path().join("none")] {
        let workspace = Some(from.to_owned());
        let new = NewSession { bundle: ruled.bundle.clone().into(), workspace, ..asked_for() };
        world.own().create(&new).await.expect_err("it is refused");
        assert!(world.store.list_bundles().await.unwrap().is_empty());
        assert!(world.store.list_sessions(1, None).await.unwrap().is_empty());
        assert_eq!(std::fs::read_dir(world.path().join("workspaces")).map_or(0, Iterator::count), 0);
    }
}

/// C12: configuration values are checked, pinned, and passed to the guests; an error about a missing value has
/// the lines that set it.
#[tokio::test(flavor = "multi_thread")]
async fn configuration_is_checked_and_pinned() {
    let draft = Draft::scripted()
        .toml("[config.depth]\ntype = \"integer\"\nrequired = true")
        .toml("[config.key]\ntype = \"string\"\nsensitive = true\nrequired = true");
    let ruled = Ruled::new(&draft).await;
    let told = ruled.refused().await;
    for words in [
        "test/scripted needs a value for depth, key",
        "rewake.toml",
        "[config.\"test/scripted\"]",
        "depth = 0",
        "key = { env = \"KEY\" }",
    ] {
        assert!(told.contains(words), "{words} is not in:\n{told}");
    }
    ruled.write("[config.\"test/scripted\"]\ndepth = \"3\"\nkey = \"canary\"");
    let told = ruled.refused().await;
    assert!(
        told.contains("the value of `depth` is not of the type \"integer\"") && !told.contains("canary"),
        "{told}"
    );
    ruled.write("[config.\"test/scripted\"]\ndepth = 3\nkey = \"canary\"");
    let id = ruled.create(approval()).await;
    let (learned, events) = ruled.call(&id, json!([{ "name": "echo", "input": {} }])).await;
    let echoed: Value = serde_json::from_str(learned[0].strip_prefix("use-1: ok: ").unwrap()).unwrap();
    assert_eq!(echoed["config"], json!({ "depth": 3 }));
    assert_eq!(events.first("session.created").data["components"][1]["config"], "{\"depth\":3}");
}

/// The operator's bounds hold for components that set themselves more.
#[tokio::test(flavor = "multi_thread")]
async fn operators_bounds_hold_for_every_component() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    ruled.write(
        "[limits.tool]\ntimeout = \"100ms\"\nmemory = \"4MiB\"\noutput = \"1KiB\"\nfuel = 1_000_000_000",
    );
    let id = ruled.create(approval()).await;
    let limits =
        ruled.world.events(&id).await.first("session.created").data["components"][1]["limits"].clone();
    let expected = json!({ "memory_bytes_max": 4 << 20, "timeout_ms": 100, "fuel_max": 1_000_000_000, "output_bytes_max": 1024 });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(limits[name], *value, "{name}");
    }
    let (learned, _) = ruled.call(&id, json!([{ "name": "sleep_pure", "input": { "ms": 5_000 } }])).await;
    assert!(learned[0].contains("timed_out"), "{learned:?}");
}
