//! Bugs that seeds have found, each as the shortest course that shows it, and rules that seeds rarely need: a plan and the
//! places of its faults, which hold whatever seeds come to mean.

use rewake_core::entry::Entry;
use rewake_core::fact::Fact;
use rewake_core::limits::{CRASHED_LOADS_MAX, RERUNS_MAX};

use crate::faults::{Fault, Listed, Renewal, Which};
use crate::plan::{LOG, People, Plan, Talk, Walls};
use crate::run::{Ran, With, run};
use crate::seeds::judge;
use crate::stage::Stage;

/// A bundle without hooks.
const PLAIN: usize = 0;
/// One with hooks on its start, its prompts and more.
const HOOKED: usize = 3;
/// One with a hook on being loaded again.
const RESUMED: usize = 5;

fn listed(kind: &'static str, nth: u32, fault: Fault) -> Listed {
    Listed { kind, nth, fault }
}

/// Runs messages of a bundle with these faults, and judges what is left.
fn held(bundle: usize, messages: &[String], faults: Vec<Listed>) -> Ran {
    renewed(bundle, messages, faults, vec![])
}

/// The same, with faults of renewals too.
fn renewed(bundle: usize, messages: &[String], faults: Vec<Listed>, renewals: Vec<(u32, Renewal)>) -> Ran {
    let stage = Stage::new();
    let messages = messages.to_vec();
    let sessions = vec![Talk { nth: 0, bundle, people: People::Calm, messages }];
    let plan = Plan { snapshot_entries: 1_000, walls: Walls::Steady, sessions };
    let ran = run(&stage, 0, &plan, With { faults: Which::Listed(faults, renewals), lie: None });
    let judged = judge(&stage, &plan, &ran);
    assert_eq!(judged, Ok(()), "{:#?}", ran.actions);
    ran
}

/// R0, R6 (seed 425 and three more of the first 8,000): a host stood still after it had started a step, and lost the
/// session to another, which went so far that the step's state was no longer kept. The first host took that for a
/// lost state and set a fault, and the session took no step on any host.
#[test]
fn a_stale_host_sets_no_fault() {
    goes_on_stale(vec![]);
}

/// The same (seed 121929), where the host that stood still can renew no lease either: it is not told that the session is
/// another's, and must not take no answer for its own.
#[test]
fn a_stale_host_that_cannot_ask_sets_no_fault() {
    goes_on_stale(vec![(1, Renewal::Fails(1_000_000))]);
}

#[track_caller]
fn goes_on_stale(renewals: Vec<(u32, Renewal)>) {
    let say = |text: &str| {
        format!(r#"[{{"op":"say","text":"{text}"}},{{"op":"more"}},{{"op":"say","text":"on"}}]"#)
    };
    let ran = renewed(
        PLAIN,
        &[say("one"), say("two"), say("three")],
        // The second host has no state in memory when it starts turn 2.
        vec![listed("turn.completed", 1, Fault::KillAfter), listed("turn.started", 2, Fault::Seized)],
        renewals,
    );
    assert!(ran.actions.iter().any(|line| line == "host 2 goes on"), "{:#?}", ran.actions);
    assert_eq!(ends(&ran), ["completed", "completed", "completed"]);
}

/// R0 (seed 159523): a tool in the middle of its call wrote a file after its machine had slept, while a renewal came
/// back, for so long that nothing more was begun by it.
#[test]
fn a_tool_s_files_wait_for_the_lease() {
    let input = format!(r#"{{"path":"{LOG}","line":"late","before_ms":4200}}"#);
    let message = format!(r#"[{{"op":"tools","uses":[{{"name":"append_once","input":{input}}}]}}]"#);
    let ran = renewed(PLAIN, &[message], vec![], vec![(1, Renewal::LateBack(9_000))]);
    let [begun] = &ran.evidence[0].begun[..] else { panic!("{:#?}", ran.actions) };
    // It would have written at 13,200 ms; the lease was renewed at the next look, and then it did.
    assert!(begun.asked_ms > 13_200 && begun.at_ms >= begun.asked_ms, "{begun:?}");
    assert_eq!(ends(&ran), ["completed"]);
}

/// R5 (seeds 8055 and 11209): a session with a hook on its start or its prompts, whose hosts were killed six times
/// while it had nothing to do, failed its next turn without having tried it, and every turn after that.
#[test]
fn loads_with_nothing_to_do_fail_no_turn() {
    let say = |text: &str| format!(r#"[{{"op":"say","text":"{text}"}}]"#);
    let kills = (1..=CRASHED_LOADS_MAX + 1).map(|nth| listed("session.loaded", nth, Fault::KillAfter));
    let ran = held(HOOKED, &[say("one"), say("two")], kills.collect());
    assert_eq!(ends(&ran), ["completed", "completed"]);
}

/// R10 (the same, while a turn waits for a person): waiting costs nothing, however often its host is killed meanwhile.
#[test]
fn loads_while_a_turn_waits_do_not_fail_it() {
    let ask = r#"[{"op":"ask","id":"q","text":"?"},{"op":"say","text":"on"}]"#.to_owned();
    let kills = (2..=CRASHED_LOADS_MAX + 3).map(|nth| listed("session.loaded", nth, Fault::KillAfter));
    let first = listed("turn.waiting", 1, Fault::KillAfter);
    let ran = held(HOOKED, &[ask], kills.chain([first]).collect());
    assert_eq!(ends(&ran), ["completed"]);
}

/// R5: what kills its host before it comes to a step fails its turn, and that turn only.
#[test]
fn a_turn_that_comes_to_no_step_is_given_up() {
    let say = |text: &str| format!(r#"[{{"op":"say","text":"{text}"}}]"#);
    let kills = (1..=CRASHED_LOADS_MAX + 1).map(|nth| listed("hook.started", nth, Fault::KillAfter));
    let first = listed("step.started", 1, Fault::KillBefore);
    let ran = held(RESUMED, &[say("one"), say("two")], kills.chain([first]).collect());
    assert_eq!(ends(&ran), ["loads", "completed"]);
}

/// R2, R5: a later step's start is written with what the step first records, but the first after a load before its step
/// runs: so a step that kills its host is the one that is given up, and not the one before it.
#[test]
fn a_later_step_that_kills_its_host_is_given_up() {
    let message = r#"[{"op":"say","text":"one"},{"op":"more"},{"op":"say","text":"two"},{"op":"more"},
        {"op":"title","text":"three"}]"#;
    let ran = held(PLAIN, &[message.to_owned()], vec![]);
    let rides = "step.completed step.started agent.title";
    assert!(ran.actions.iter().any(|line| line.ends_with(rides)), "{:#?}", ran.actions);

    let kills = (1..=RERUNS_MAX + 2).map(|nth| listed("agent.title", nth, Fault::KillBefore));
    let ran = held(PLAIN, &[message.to_owned()], kills.collect());
    assert_eq!(ends(&ran), ["reruns"]);
    let rerun = ran.evidence[0].entries.iter().filter(|entry| matches!(entry.fact, Fact::StepRerun(_)));
    let steps: Vec<u32> = rerun.map(|entry| entry.place.step).collect();
    assert_eq!(steps, [2, 3, 3, 3]);
}

/// R5: what a tool of class `once` came to is lost with the start that it was to be written with. It is not done again.
#[test]
fn an_outcome_that_is_lost_with_the_next_start_is_unknown() {
    let once = format!(r#"{{"name":"append_once","input":{{"path":"{LOG}","line":"once"}}}}"#);
    let message = format!(
        r#"[{{"op":"more"}},{{"op":"tools","uses":[{once}]}},{{"op":"more"}},{{"op":"title","text":"on"}}]"#
    );
    let ran = held(PLAIN, &[message], vec![listed("agent.title", 1, Fault::KillBefore)]);
    let kinds = |kind: &str| ran.evidence[0].entries.iter().filter(|entry| entry.fact.kind() == kind).count();
    assert_eq!((kinds("tool.completed"), kinds("tool.lost"), ran.evidence[0].begun.len()), (0, 1, 1));
    assert_eq!(ends(&ran), ["completed"]);
}

/// How its turns ended.
fn ends(ran: &Ran) -> Vec<String> {
    let end = |entry: &Entry| match &entry.fact {
        Fact::TurnCompleted(_) => Some("completed".to_owned()),
        Fact::TurnFailed(body) => Some(body.code.clone()),
        Fact::TurnInterrupted(_) => Some("interrupted".to_owned()),
        _ => None,
    };
    ran.evidence[0].entries.iter().filter_map(end).collect()
}
