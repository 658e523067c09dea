//! Mismatches and refused states: nothing is performed, nothing of the step is appended, and the session
//! takes no step until somebody has looked at it.

use std::sync::Arc;

use rewake_core::entry::{Draft as Fresh, Place};
use rewake_core::fact::{
    AgentMessage, AgentTitle, Fact, Next, Observed, StateRef, StepCompleted, StepInput, StepObserved,
    StepStarted, TurnStarted, UserMessage,
};
use rewake_core::ids::{Digest, SessionId};
use rewake_core::{canonical, session};
use rewake_runtime::live::UnloadReason;
use rewake_runtime::{HOST_VERSION, HostError, host};
use rewake_tests::bundles::Draft;
use rewake_tests::world::{ann, send};
use rewake_tests::{CutStore, Outcome, Running, World, forge};
use rewake_wire::{Fault, Part};
use serde_json::json;

/// A bundle whose harness is the one of two versions that differ.
fn version(harness: &str) -> Draft {
    Draft::new("test/versioned").harness(harness).tools("tool_probe", "rw")
}

/// The journal of a session of version 1 whose host was killed after so many appends; none: never.
async fn recorded(appends: i64) -> (SessionId, Vec<Fresh>) {
    let world = World::new().await;
    let id = world.create(&version("harness_v1")).await;
    let host = world.host_over(Arc::new(CutStore::new(world.store.clone(), appends)));
    send(&host, &id, "go").await;
    Running::load(&host, &id).await.rest().await;
    host.shut_down().await;
    (id.clone(), forge::drafts(&forge::entries(world.store.as_ref(), &id).await))
}

/// A world that holds this journal, and whose bundle has the harness `harness`.
async fn holding(id: &SessionId, mut drafts: Vec<Fresh>, harness: &str) -> World {
    let world = World::new().await;
    let other = world.create(&version(harness)).await;
    let created = host::pins(world.store.as_ref(), &other).await.unwrap().unwrap();
    let component = created.components[created.agent.harness as usize].digest;
    drafts[0].fact = Fact::SessionCreated(created);
    for draft in &mut drafts {
        if let Fact::StepStarted(started) = &mut draft.fact {
            started.component = component;
        }
    }
    forge::create(world.store.as_ref(), id, drafts).await;
    world.own().approve(id, None, "ann").await.expect("approved");
    std::fs::create_dir(world.path().join("workspaces").join(id.as_str())).expect("a workspace");
    world
}

/// Loads a session and returns the fault that it meets; checks that nothing of a step was appended.
async fn fault_of(world: &World, id: &SessionId) -> Fault {
    let before = world.events(id).await.0.len();
    let outcome = Running::load(&world.host(), id).await.rest().await;
    let Outcome::Gone(UnloadReason::Faulted(fault)) = outcome else { panic!("no fault: {outcome:?}") };
    let events = world.events(id).await;
    let since: Vec<&str> = events.kinds().split_off(before);
    let allowed = ["session.loaded", "step.rerun", "step.started"];
    assert!(since.iter().all(|kind| allowed.contains(kind)), "{since:?}");
    assert_eq!(host::verify(world.store.as_ref(), id).await.unwrap().broken, None);
    fault
}

fn seq_of(drafts: &[Fresh], kind: &str) -> u64 {
    drafts.iter().position(|draft| draft.fact.kind() == kind).unwrap() as u64 + 1
}

/// R6, A47, B24: another component makes another call: the report names entry, function and field.
#[tokio::test(flavor = "multi_thread")]
async fn another_component_is_a_mismatch() {
    let (id, drafts) = recorded(2).await;
    assert_eq!(drafts.last().unwrap().fact.kind(), "tool.started");
    let world = holding(&id, drafts.clone(), "harness_v2").await;
    let fault = fault_of(&world, &id).await;
    assert_eq!((fault.reason.as_str(), fault.seq), ("mismatch", Some(seq_of(&drafts, "tools.requested"))));
    assert_eq!(fault.field, "uses[0].input.version");
    assert_eq!(fault.expected, "tools.call 1");
    assert_eq!(fault.got, "tools.call 2");
    assert!(fault.detail.contains("nothing was done"), "{}", fault.detail);

    let shown = world.store.session(&id).await.unwrap().unwrap();
    assert_eq!(shown.fault.as_ref(), Some(&fault));
    let Err(HostError::Faulted { fault: told, .. }) = Running::try_load(&world.host(), &id).await.map(|_| ())
    else {
        panic!("a session with a fault was loaded")
    };
    assert_eq!(*told, fault);
    // What is sent meanwhile is kept.
    send(&world.host(), &id, "are you there?").await;
    assert_eq!(world.store.pending(&id).await.unwrap().len(), 1);

    world.store.set_fault(&id, None).await.unwrap();
    assert_eq!(fault_of(&world, &id).await, fault, "it is still another component");
}

/// B40: a replay of completed steps finds the same difference, and changes no entry.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_finds_another_component() {
    let (id, drafts) = recorded(i64::MAX).await;
    let world = holding(&id, drafts.clone(), "harness_v2").await;
    let mismatch = world.host().replay(&id).await.unwrap().mismatch.unwrap();
    assert_eq!(
        (mismatch.seq, mismatch.field.as_str()),
        (seq_of(&drafts, "tools.requested"), "uses[0].input.version")
    );
    assert_eq!(world.events(&id).await.0.len(), drafts.len());
    assert_eq!(world.store.fault(&id).await.unwrap(), None);

    let world = holding(&id, drafts.clone(), "harness_v1").await;
    let replayed = world.host().replay(&id).await.unwrap();
    assert_eq!((replayed.mismatch, replayed.steps), (None, 1));
}

/// An entry of the recorded step that is changed, and what the mismatch must say.
struct Change {
    change: fn(&mut Vec<Fresh>),
    /// The kind whose first entry is named.
    at: &'static str,
    field: &'static str,
    got: &'static str,
}

fn fact_mut<'a>(drafts: &'a mut [Fresh], kind: &str) -> &'a mut Fact {
    &mut drafts.iter_mut().find(|draft| draft.fact.kind() == kind).unwrap().fact
}

fn use_mut(drafts: &mut [Fresh]) -> &mut rewake_core::fact::RequestedUse {
    let Fact::ToolsRequested(requested) = fact_mut(drafts, "tools.requested") else { unreachable!() };
    &mut requested.uses[0]
}

/// The place of the recorded message.
fn said(drafts: &[Fresh]) -> Place {
    drafts.last().unwrap().place
}

const CHANGES: [Change; 8] = [
    Change {
        change: |drafts| {
            let one = use_mut(drafts);
            one.input = r#"{"version":3}"#.into();
            one.arguments = canonical::digest(&one.input).unwrap();
        },
        at: "tools.requested",
        field: "uses[0].input.version",
        got: "tools.call 1",
    },
    Change {
        change: |drafts| use_mut(drafts).name = "look".into(),
        at: "tools.requested",
        field: "uses[0].name",
        got: "tools.call \"echo\"",
    },
    Change {
        change: |drafts| {
            let one = use_mut(drafts).clone();
            let Fact::ToolsRequested(requested) = fact_mut(drafts, "tools.requested") else { unreachable!() };
            requested.uses.push(one);
        },
        at: "tools.requested",
        field: "uses[1]",
        got: "tools.call nothing",
    },
    Change {
        change: |drafts| {
            let parts = vec![Part::text("something else")];
            *fact_mut(drafts, "agent.message") = AgentMessage::new(parts).into();
        },
        at: "agent.message",
        field: "parts[0].text",
        got: "session.say \"version 1",
    },
    Change {
        change: |drafts| *fact_mut(drafts, "agent.message") = AgentTitle { title: "t".into() }.into(),
        at: "agent.title",
        field: "function",
        got: "session.say as call 2",
    },
    Change {
        change: |drafts| drafts.last_mut().unwrap().place.ordinal = 3,
        at: "agent.message",
        field: "position",
        got: "session.say as call 2",
    },
    Change {
        change: |drafts| {
            let place = Place { ordinal: 3, ..said(drafts) };
            drafts.push(Fresh::agent(place, AgentTitle { title: "t".into() }));
        },
        at: "agent.title",
        field: "function",
        got: "the end of the step",
    },
    Change {
        change: |drafts| {
            let observed = StepObserved { items: vec![Observed::Wall(1, 2)] };
            let place = said(drafts);
            drafts.insert(drafts.len() - 1, Fresh::agent(Place { ordinal: 1, ..place }, observed));
        },
        at: "step.observed",
        field: "function",
        got: "session.say as call 2",
    },
];

/// R6, B24: replay compares position and content of each call, and no recorded entry may be left over.
#[tokio::test(flavor = "multi_thread")]
async fn every_difference_is_found_and_named() {
    let (id, drafts) = recorded(3).await;
    assert_eq!(drafts.last().unwrap().fact.kind(), "agent.message");
    let unchanged = holding(&id, drafts.clone(), "harness_v1").await;
    assert_eq!(unchanged.resume(&id).await, Outcome::Idle);
    assert_eq!(unchanged.check(&id).await.count("turn.completed"), 1);
    for Change { change, at, field, got } in CHANGES {
        let mut drafts = drafts.clone();
        change(&mut drafts);
        let world = holding(&id, drafts.clone(), "harness_v1").await;
        let fault = fault_of(&world, &id).await;
        assert_eq!((fault.seq, fault.field.as_str()), (Some(seq_of(&drafts, at)), field), "{fault:?}");
        assert!(fault.got.starts_with(got), "{fault:?}");
        assert_ne!(fault.expected, fault.got);
    }
}

/// A20: a harness that rejects its saved state is a fault; no data is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_state_is_a_fault() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    let n = send(&world.host(), &id, "[]").await;
    save_as_version_7(&world, &id, n).await;
    let fault = fault_of(&world, &id).await;
    assert_eq!(fault.reason, "state_refused");
    assert!(fault.detail.contains("version 7") && fault.detail.contains("version 1"), "{}", fault.detail);
    let events = world.events(&id).await;
    assert_eq!(fault.seq, Some(events.last("step.started").seq));
    assert!(Running::try_load(&world.host(), &id).await.is_err());
}

/// A20, R5: the same for a state that was saved a moment before: its entries are on the disk, and the fault
/// names one of them.
#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_refused_at_once_is_a_fault() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let once = json!({ "name": "append_once", "input": { "path": "/workspace/log", "line": "one" } });
    let ops =
        json!([{ "op": "more" }, { "op": "tools", "uses": [once] }, { "op": "spoil" }, { "op": "more" }]);
    let outcome = world.run(&id, &ops.to_string()).await;
    let Outcome::Gone(UnloadReason::Faulted(fault)) = outcome else { panic!("no fault: {outcome:?}") };
    assert_eq!(fault.reason, "state_refused");
    assert!(fault.detail.contains("it is spoilt"), "{}", fault.detail);
    let events = world.events(&id).await;
    assert_eq!(events.kinds().last(), Some(&"step.started"), "{:?}", events.kinds());
    assert_eq!(fault.seq, Some(events.last("step.started").seq));
    assert_eq!((events.count("step.started"), events.count("tool.completed")), (3, 1));
}

/// A step of turn 2 completes, and saves what a newer version of the harness would.
async fn save_as_version_7(world: &World, id: &SessionId, n: u64) {
    let store = world.store.as_ref();
    let folded = session::fold(id.clone(), &forge::entries(store, id).await).unwrap();
    let pins = folded.pins();
    let bytes = b"{}".to_vec();
    let state = StateRef { version: 7, digest: Digest::of(&bytes) };
    let message = UserMessage { n, sender: ann(), parts: vec![Part::text("[]")] };
    let started = StepStarted {
        input: StepInput::default(),
        state: folded.saved,
        component: pins.components[pins.agent.harness as usize].digest,
        seed: Digest::default(),
    };
    let completed = StepCompleted { next: Next::More, state: Some(state), calls: Default::default() };
    let (turn, step) = (Place::turn(2), Place::step(2, 1));
    let drafts = vec![
        Fresh::system(turn, message),
        Fresh::system(turn, TurnStarted { commands: vec![n] }),
        Fresh::system(step, started),
        Fresh::agent(step, completed),
    ];
    forge::append(store, id, drafts, vec![n], Some((7, bytes))).await;
}

fn held(host_version: &str) -> Fault {
    Fault::plain("mismatch", None, "held by an operator".into(), host_version)
}

/// A fault that is cleared leaves nothing behind: the session goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_cleared_fault_lets_the_session_go_on() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    world.store.set_fault(&id, Some(held(HOST_VERSION))).await.unwrap();
    let refused = Running::try_load(&world.host(), &id).await.map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("held by an operator"), "{refused}");
    assert_eq!(world.events(&id).await.kinds(), ["session.created"]);
    world.store.set_fault(&id, None).await.unwrap();
    let ops = json!([{ "op": "say", "text": "on" }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    assert_eq!(world.check(&id).await.said()[0], "on");
}

/// R6: what one version of the host could not replay, another tries again.
#[tokio::test(flavor = "multi_thread")]
async fn another_version_of_the_host_tries_again() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    world.store.set_fault(&id, Some(held("0.0.1"))).await.unwrap();
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    assert_eq!(world.store.fault(&id).await.unwrap(), None);
    assert_eq!(world.check(&id).await.count("turn.completed"), 1);
}
