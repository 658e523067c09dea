//! Harnesses that do something else the second time (journal.md R6): for every host function, what a re-run asks
//! for differs from what is recorded, in one thing. The fault names the entry, the function and the first field
//! that differs; nothing is performed, and nothing of the step is appended.
//!
//! The scripted harness does what its message says. Here another message stands in the journal than the one that
//! it was recorded with: to the host that is a harness that depends on more than its input.

mod counted;
mod covered;
mod rows;

use std::path::Path;

use rewake_core::entry::Draft as Fresh;
use rewake_core::fact::{Fact, HookEvent, HookStarted, ModelStarted, Observed, StepObserved, Stored};
use rewake_core::ids::{Digest, SessionId};
use rewake_runtime::live::UnloadReason;
use rewake_runtime::{HostError, PROJECT, host};
use rewake_tests::bundles::Draft;
use rewake_tests::server::{Server, response};
use rewake_tests::{Outcome, Running, World, forge};
use rewake_wire::{Fault, Part};
use serde_json::{Value, json};

use self::rows::{Row, op_say, op_tools};

/// What ends what is kept of a recorded step.
const END: &str = "end of what is kept";
/// The line that a tool writes if a re-run gets beyond what is recorded.
const PERFORMED: &str = "performed";

/// A bundle whose harness can call everything there is.
fn bundle(server: &Server) -> Draft {
    let http = format!("{{ host = {:?}, scheme = \"http\", methods = [\"GET\", \"POST\"] }}", server.host());
    let asks = format!(
        "[component.harness.asks]\nhttp = [{http}]\nfs = [{{ mount = \"/bundle\", source = \"bundle\", access = \"ro\", why = \"the test\" }}]"
    );
    let replies = "[[reply]]\ntext = \"one\"\n\n[[reply]]\ntext = \"two\"\n\n[[reply]]\ntext = \"three\"\n";
    Draft::new("test/all").harness("harness_script").toml(&asks).tools("tool_probe", "rw").model(replies)
}

fn server() -> Server {
    Server::start(|_| response("200 OK", &[], "fine"))
}

/// A world to record in, and one with the same bundle, in which what is recorded is run again.
struct Pair {
    bundle: Draft,
    first: World,
    second: World,
}

impl Pair {
    async fn new(bundle: Draft) -> Pair {
        let (first, second) = (World::new().await, World::new().await);
        second.create(&bundle).await;
        Pair { bundle, first, second }
    }

    /// Runs a session of these operations to its end; its journal.
    async fn record(&self, ops: &[Value]) -> (SessionId, Vec<Fresh>) {
        let id = self.first.create(&self.bundle).await;
        let mut running = Running::start(self.first.own(), &id, &json!(ops).to_string()).await;
        assert_eq!(running.rest().await, Outcome::Idle);
        running.unload().await;
        (id.clone(), forge::drafts(&forge::entries(self.first.store.as_ref(), &id).await))
    }

    /// The journal of a step that was cut after these operations.
    async fn cut(&self, ops: &Value) -> (SessionId, Vec<Fresh>) {
        let mut all = list(ops);
        all.push(op_say(END));
        let (id, mut drafts) = self.record(&all).await;
        let is_end = |draft: &Fresh| match &draft.fact {
            Fact::AgentMessage(said) => said.parts == [Part::text(END)],
            _ => false,
        };
        let end = drafts.iter().position(is_end).expect("the end of what is kept");
        drafts.truncate(end + 1);
        (id, drafts)
    }

    /// Puts a journal into the second world, where nothing of its session was before.
    async fn put(&self, id: &SessionId, drafts: Vec<Fresh>) {
        for draft in &drafts {
            if let Fact::ModelStarted(ModelStarted { stored: Some(stored), .. }) = &draft.fact {
                self.bring(stored).await;
            }
        }
        forge::create(self.second.store.as_ref(), id, drafts).await;
        self.second.own().approve(id, None, "ann").await.expect("approved");
        std::fs::create_dir(self.workspace(id)).expect("a workspace");
    }

    /// Brings what was sent to a model from the first world's store to the second's.
    async fn bring(&self, stored: &Stored) {
        let mut digests = vec![stored.list];
        digests.extend([stored.system, stored.tools, stored.options].into_iter().flatten());
        while let Some(digest) = digests.pop() {
            let bytes = self.first.store.blob(PROJECT, &digest).await.unwrap().expect("a blob");
            // A list of messages names them, and the list that it goes on from.
            let list: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let named = list["messages"].as_array().into_iter().flatten().chain([&list["parent"]]);
            digests.extend(named.filter_map(Value::as_str).filter_map(Digest::from_hex));
            self.second.store.put_blob(PROJECT, bytes).await.unwrap();
        }
    }

    fn workspace(&self, id: &SessionId) -> std::path::PathBuf {
        self.second.path().join("workspaces").join(id.as_str())
    }

    /// Has the second world's host go on with a session; the fault that it meets. Nothing is performed, and
    /// nothing of the step is appended.
    async fn fault(&self, id: &SessionId, name: &str) -> Fault {
        let before = self.second.events(id).await.0.len();
        let outcome = Running::load(self.second.own(), id).await.rest().await;
        let Outcome::Gone(UnloadReason::Faulted(fault)) = outcome else {
            panic!("{name}: no fault: {outcome:?}")
        };
        let since = self.second.events(id).await.kinds().split_off(before).join(" ");
        assert_eq!(since, "session.loaded step.rerun", "{name}");
        assert!(is_empty(&self.workspace(id)), "{name}: something was done");
        assert_eq!(host::verify(self.second.store.as_ref(), id).await.unwrap().broken, None);
        fault
    }
}

fn list(ops: &Value) -> Vec<Value> {
    ops.as_array().expect("a list of operations").clone()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("a workspace").next().is_none()
}

/// Has another message stand where the one was that the session was recorded with.
fn tell(drafts: &mut [Fresh], ops: &[Value]) {
    let parts = || vec![Part::text(json!(ops).to_string())];
    for draft in drafts {
        match &mut draft.fact {
            Fact::UserMessage(message) => message.parts = parts(),
            Fact::StepStarted(started) => {
                started.input.messages.iter_mut().for_each(|one| one.parts = parts())
            }
            _ => {}
        }
    }
}

/// Stands for the entry that holds what a poll came to.
const POLLED: &str = "polled";

/// The seq of the first entry of a kind.
fn seq_of(drafts: &[Fresh], kind: &str) -> Option<u64> {
    let is_it = |draft: &Fresh| match &draft.fact {
        Fact::StepObserved(StepObserved { items }) if kind == POLLED => {
            items.iter().any(|item| matches!(item, Observed::Ready(_)))
        }
        fact => fact.kind() == kind,
    };
    drafts.iter().position(is_it).map(|at| at as u64 + 1)
}

/// R6: every function, and every way to differ.
#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_does_something_else_is_found_and_told_where() {
    let server = server();
    let pair = Pair::new(bundle(&server)).await;
    for Row { name, first, second, is_all, change, at, field, expected, got, .. } in
        rows::all(&server.url(""))
    {
        let (id, mut drafts) = pair.cut(&first).await;
        let mut ops = list(&second);
        if !is_all {
            let line = json!({ "path": "/workspace/log", "line": PERFORMED });
            ops.push(op_tools(&[("append_once", line)]));
        }
        tell(&mut drafts, &ops);
        change(&mut drafts);
        let seq = seq_of(&drafts, at);
        pair.put(&id, drafts).await;
        let asked = server.asked().len();
        let fault = pair.fault(&id, name).await;
        assert_eq!((fault.reason.as_str(), fault.seq), ("mismatch", seq), "{name}: {fault:?}");
        assert_eq!(fault.field, field, "{name}: {fault:?}");
        assert!(fault.expected.contains(&expected), "{name}: {expected:?} in {fault:?}");
        assert!(fault.got.contains(&got), "{name}: {got:?} in {fault:?}");
        assert!(fault.expected.len() < 700 && fault.got.len() < 700, "{name}: {fault:?}");
        assert_eq!(server.asked().len(), asked, "{name}: something was sent");
    }
}

/// What means the same is the same, however it is written.
#[tokio::test(flavor = "multi_thread")]
async fn another_spelling_is_no_difference() {
    let server = server();
    let pair = Pair::new(bundle(&server)).await;
    let raw = |raw: &str| json!([{ "op": "tools", "uses": [{ "name": "echo", "raw": raw }] }]);
    let (id, mut drafts) = pair.cut(&raw(r#"{"a":1,"b":[2]}"#)).await;
    let mut ops = list(&raw("{ \"b\": [2e0], \"a\": 1.0 }"));
    ops.push(op_say(END));
    tell(&mut drafts, &ops);
    pair.put(&id, drafts).await;
    let mut running = Running::load(pair.second.own(), &id).await;
    assert_eq!(running.rest().await, Outcome::Idle);
    running.unload().await;
    assert_eq!(pair.second.check(&id).await.count("turn.completed"), 1);
}

/// The same instant of what is recorded, whatever is asked for after it: that is live, and no mismatch.
#[tokio::test(flavor = "multi_thread")]
async fn what_follows_the_record_is_free() {
    let server = server();
    let pair = Pair::new(bundle(&server)).await;
    let (id, mut drafts) = pair.cut(&json!([op_say("a")])).await;
    tell(&mut drafts, &[op_say("a"), op_say(END), op_say("what the first run did not say")]);
    pair.put(&id, drafts).await;
    let mut running = Running::load(pair.second.own(), &id).await;
    assert_eq!(running.rest().await, Outcome::Idle);
    running.unload().await;
    assert_eq!(pair.second.check(&id).await.said()[2], "what the first run did not say");
}

/// A fault keeps its session, and that one alone, from taking steps, until an operator clears it; a harness that
/// then does what is recorded goes on, and nothing was lost or done twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_once_its_fault_is_cleared_and_its_harness_mended() {
    let server = server();
    let pair = Pair::new(bundle(&server)).await;
    let line = json!({ "path": "/workspace/log", "line": "once" });
    let first = json!([op_say("a"), op_tools(&[("append_once", line.clone())])]);
    let (id, drafts) = pair.cut(&first).await;
    let mut other = drafts.clone();
    tell(&mut other, &[op_say("b")]);
    pair.put(&id, other).await;
    let fault = pair.fault(&id, "say").await;

    // The same in a world where the harness is fixed: it is told what it was told at first.
    let mended = Pair::new(pair.bundle.clone()).await;
    mended.put(&id, drafts).await;
    let neighbour = mended.second.create(&mended.bundle).await;
    mended.second.store.set_fault(&id, Some(fault.clone())).await.unwrap();
    let refused = Running::try_load(mended.second.own(), &id).await.map(|_| ()).unwrap_err();
    let HostError::Faulted { fault: told, .. } = &refused else { panic!("{refused}") };
    assert_eq!(**told, fault);
    assert_eq!(mended.second.run(&neighbour, "[]").await, Outcome::Idle);

    mended.second.store.set_fault(&id, None).await.unwrap();
    assert_eq!(mended.second.resume(&id).await, Outcome::Idle);
    let events = mended.second.check(&id).await;
    assert_eq!((events.count("turn.completed"), events.count("tool.started")), (1, 1));
    assert!(is_empty(&mended.workspace(&id)), "a recorded call was made again");
}

/// Hooks judge what is recorded, and are asked nothing else under the same entry.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_was_asked_of_something_else_is_a_mismatch() {
    let server = server();
    let on = "[[component.probe.on]]\nevent = \"PreToolUse\"";
    let pair = Pair::new(bundle(&server).hook(&[], on)).await;
    let url = server.url("/a");
    let fetch = |url: &str| json!([{ "op": "fetch", "fetches": [{ "url": url }] }]);
    let is_asked = |draft: &Fresh| {
        matches!(&draft.fact, Fact::HookStarted(HookStarted { event: HookEvent::PreToolUse, .. }))
    };
    for (name, first, second, field, expected) in [
        ("tools", json!([op_tools(&[("echo", json!({}))])]), None, "binding", "asking hook 0"),
        (
            "http",
            fetch(&url),
            Some(fetch(&server.url("/b"))),
            "request",
            "http.fetch of what a hook was asked",
        ),
    ] {
        let (id, mut drafts) = pair.cut(&first).await;
        drafts.truncate(drafts.iter().position(is_asked).expect("a hook is asked") + 1);
        if let Some(second) = second {
            tell(&mut drafts, &list(&second));
        } else if let Some(Fact::HookStarted(asked)) = drafts.last_mut().map(|draft| &mut draft.fact) {
            asked.binding = Digest::of(b"another");
        }
        let seq = drafts.len() as u64;
        pair.put(&id, drafts).await;
        let asked = server.asked().len();
        let fault = pair.fault(&id, name).await;
        assert_eq!((fault.seq, fault.field.as_str()), (Some(seq), field), "{name}: {fault:?}");
        assert!(fault.expected.starts_with(expected), "{name}: {fault:?}");
        assert_eq!(server.asked().len(), asked);
    }
}
