//! Several hosts over one store: one has a session, anyone who has lost it writes nothing more, and what a
//! killed one left is loaded at once.

use std::sync::Arc;

use rewake_core::ids::HostId;
use rewake_runtime::live::UnloadReason;
use rewake_runtime::{HostError, NewSession};
use rewake_store::memory::{Failure, MemoryStore};
use rewake_store::{Inbox as _, StoreError};
use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::world::{HANGS, asked_for};
use rewake_tests::{Outcome, Running, World};
use serde_json::json;

const TTL_MS: u64 = 60_000;

/// How often something was said.
fn times(events: &Events, text: &str) -> usize {
    events.said().iter().filter(|said| *said == text).count()
}

/// C41, C53: a load of a session that another host runs is refused, and names the owner.
#[tokio::test(flavor = "multi_thread")]
async fn one_host_has_a_session() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let (first, second) = (world.host(), world.host());
    let session = Running::rested(&first, &id).await;
    let refused = Running::try_load(&second, &id).await.map(|_| ()).unwrap_err();
    let HostError::Store(StoreError::Busy { holder, .. }) = &refused else { panic!("{refused}") };
    assert_eq!(world.events(&id).await.first("session.loaded").data["host"], holder.as_str());
    assert!(refused.to_string().contains(holder.as_str()));

    assert_eq!(session.unload().await, UnloadReason::Unloaded);
    let session = Running::rested(&second, &id).await;
    session.unload().await;
    let events = world.check(&id).await;
    assert_eq!(events.count("session.loaded"), 2);
    assert_ne!(events.first("session.loaded").data["host"], events.last("session.loaded").data["host"]);
}

/// A host can be asked to load twice; it is one load.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_load_is_the_same_load() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let (one, two) = tokio::join!(host.load(&id), host.load(&id));
    let (one, two) = (one.unwrap().0, two.unwrap().0);
    assert_eq!(one.unload("test").await, UnloadReason::Unloaded);
    assert_eq!(two.unloaded().await, UnloadReason::Unloaded);
    assert!(host.loaded(&id).is_none());
    assert_eq!(world.check(&id).await.count("session.loaded"), 1);
}

/// R0: a driver whose lease was taken over appends nothing more, and what was sent is not lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_driver_writes_nothing_more() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let stale = world.host();
    let mut session = Running::rested(&stale, &id).await;
    let before = world.events(&id).await.0.len();

    let other = HostId::parse("host_other").unwrap();
    let lease = world.store.acquire(&id, &other, TTL_MS, &|_| true).await.unwrap();
    session.send(r#"[{ "op": "say", "text": "once" }]"#).await;
    assert_eq!(session.rest().await, Outcome::Gone(UnloadReason::Fenced));
    assert!(stale.loaded(&id).is_none());
    assert_eq!(world.events(&id).await.0.len(), before);
    assert_eq!(world.store.pending(&id).await.unwrap().len(), 1);
    assert_eq!(world.store.holder(&id).await.unwrap().unwrap().host, other, "it gave back another's lease");

    world.store.release(&lease).await.unwrap();
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    assert_eq!(world.check(&id).await.said()[0], "once");
}

/// R0: a host that lost a session's lease loads the session again, if it can have it. What it had in
/// memory is gone; nothing is lost or done twice, and that the step is run again does not count against it.
#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_session_is_taken_up_again_where_its_lease_is_free() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let host = world.host();
    let append = |name: &str, line: &str| json!({ "name": name, "input": { "path": "/workspace/log", "line": line, "sleep_ms": 1_500 } });
    let uses = [append("append_once", "once"), append("append_idempotent", "again")];
    let ops = json!([{ "op": "tools", "uses": uses }, { "op": "say", "text": "and on" }]);
    let mut session = Running::start(&host, &id, &ops.to_string()).await;
    session.event("tool.started").await;
    let other = HostId::parse("host_other").unwrap();
    let lease = world.store.acquire(&id, &other, TTL_MS, &|_| true).await.unwrap();
    world.store.release(&lease).await.unwrap();
    assert_eq!(session.rest().await, Outcome::Idle);
    assert!(host.loaded(&id).is_some(), "whoever follows it need not do anything");
    session.send(r#"[{ "op": "say", "text": "later" }]"#).await;
    assert_eq!(session.rest().await, Outcome::Idle);
    assert_eq!(session.unload().await, UnloadReason::Unloaded);
    let events = world.check(&id).await;
    let loads: Vec<_> = events.of_kind("session.loaded").collect();
    assert_eq!(loads.len(), 2);
    assert_eq!((loads[0].data.get("again"), &loads[1].data["again"]), (None, &json!("lease")));
    assert_eq!(loads[0].data["host"], loads[1].data["host"]);
    assert_eq!(events.learned()[0][..2], ["use-1: unknown: ", "use-2: ok: appended again"]);
    assert_eq!((events.count("tool.lost"), events.count("call.retried")), (1, 0));
    assert_eq!(times(&events, "and on"), 1);
    assert_eq!(times(&events, "later"), 1);
    let log = world.workspace_file(&id, "log").unwrap();
    assert_eq!(log.lines().filter(|line| *line == "once").count(), 1, "{log}");
}

/// R0: after a failed commit nothing is concluded: the session is read back, whether the transaction was kept
/// or not. A store that fails every time is not tried for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_read_back_when_it_is_not_known_what_was_written() {
    for (failures, outcome) in [
        (&[Failure::UnknownApplied][..], None),
        (&[Failure::UnknownNotApplied, Failure::UnknownApplied], None),
        (&[Failure::Fenced], None),
        (&[Failure::UnknownNotApplied; 9], Some("not known whether it was written")),
    ] {
        let world = World::new().await;
        let store = Arc::new(MemoryStore::new());
        let host = world.host_over(store.clone());
        let new = NewSession { bundle: world.bundle(&Draft::scripted()).into(), ..asked_for() };
        let id = host.create(&new).await.unwrap().id;
        let mut session = Running::rested(&host, &id).await;
        for failure in failures {
            store.fail_next_append(*failure);
        }
        session.send(r#"[{ "op": "say", "text": "once" }]"#).await;
        let rest = session.rest().await;
        match outcome {
            None => {
                assert_eq!(rest, Outcome::Idle, "{failures:?}");
                assert_eq!(session.unload().await, UnloadReason::Unloaded);
            }
            Some(why) => {
                assert!(
                    matches!(&rest, Outcome::Gone(UnloadReason::Failed(told)) if told.contains(why)),
                    "{rest:?}"
                );
                assert!(host.loaded(&id).is_none());
                assert_eq!(store.pending(&id).await.unwrap().len(), 1, "what was sent is there still");
                continue;
            }
        }
        let events = Events::of(store.as_ref(), &id).await;
        events.check();
        assert_eq!((times(&events, "once"), events.count("user.message")), (1, 1), "{failures:?}");
        let again: Vec<_> = events.of_kind("session.loaded").map(|event| event.data.get("again")).collect();
        assert!(again.len() > 1 && again[0].is_none() && again[1..].iter().all(Option::is_some), "{again:?}");
    }
}

/// R0: a driver that is fenced while its tool runs does not tell of the tool's end.
#[tokio::test(flavor = "multi_thread")]
async fn a_driver_fenced_in_a_call_does_not_tell_its_end() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let stale = world.host();
    let append = json!({ "path": "/workspace/log", "line": "a", "sleep_ms": 1_000 });
    let ops = json!([{ "op": "tools", "uses": [{ "name": "append_once", "input": append }] }]);
    let mut session = Running::start(&stale, &id, &ops.to_string()).await;
    session.event("tool.started").await;
    let other = HostId::parse("host_other").unwrap();
    let lease = world.store.acquire(&id, &other, TTL_MS, &|_| true).await.unwrap();
    assert_eq!(session.rest().await, Outcome::Gone(UnloadReason::Fenced));
    world.store.release(&lease).await.unwrap();
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!((events.count("tool.completed"), events.count("tool.lost")), (0, 1));
    assert_eq!(events.learned(), [["use-1: unknown: "]]);
    assert_eq!(world.workspace_file(&id, "log").as_deref(), Some("a\n"), "it ran once");
}

/// B04, A44, R5: the session of a killed host is resumed without a wait for its lease to expire.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_host_is_not_waited_for() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let append = |name: &str, line: &str| json!({ "name": name, "input": { "path": "/workspace/log", "line": line, "sleep_ms": 1_000 } });
    let uses = [append("append_once", "once"), append("append_idempotent", "again")];
    let ops = json!([{ "op": "print", "text": "early" }, { "op": "tools", "uses": uses }]).to_string();
    let holder = kill_in_a_call(&world, &id, &ops).await;
    assert_eq!(world.resume(&id).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.first("tool.lost").data["why"], "host");
    assert_eq!(events.count("call.retried"), 0, "the one that waited had not begun");
    // `N-A2`: what was printed before the host died is kept, once.
    let lines: Vec<_> = events.of_kind("log.lines").map(|said| said.data["lines"].to_string()).collect();
    assert!(lines.len() == 1 && lines[0].contains("early"), "{lines:?}");
    assert_eq!(events.learned(), [["use-1: unknown: ", "use-2: ok: appended again"]]);
    assert_ne!(events.last("session.loaded").data["host"], holder.as_str());
}

/// Runs a session on a runtime of its own and ends that in the middle of a call. Returns the host's id.
async fn kill_in_a_call(world: &World, id: &rewake_core::ids::SessionId, ops: &str) -> HostId {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let (host, session, text) = (world.host(), id.clone(), ops.to_owned());
    let running = runtime.spawn(async move {
        let mut session = Running::start(&host, &session, &text).await;
        session.event("tool.started").await;
        (host, session)
    });
    let (host, session) = running.await.expect("it runs");
    let lease = world.store.holder(id).await.unwrap().expect("a holder");
    drop((session, host));
    let ended = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(HANGS));
    ended.await.expect("all of it is gone");
    // A killed process leaves its lock's file, and nobody holds the lock.
    let lock = world.path().join("hosts").join(format!("{}.lock", lease.host.as_str()));
    std::fs::write(lock, b"").expect("the lock's file");
    lease.host
}
