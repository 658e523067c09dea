//! The gate through which every fact of a guest's doing passes: each refusal, provoked.

use rewake_core::Refusal;
use rewake_core::effect::Effect;
use rewake_core::entry::Place;
use rewake_core::fact::{
    AgentMessage, CallRetried, Custom, Decision as Verdict, Fact, HookEvent, HookStarted, LogLines, Lost,
    ModelLost, SessionStopped, Source, StepRerun, ToolLost, ToolStarted, ToolsRequested, TurnCompleted,
};
use rewake_core::ids::Digest;
use rewake_core::limits::{
    MARKER_LEVELS_MAX, RETRIES_MAX, SAID_BYTES_MAX, SESSION_ENTRIES_MAX, TOOL_INPUTS_BYTES_MAX, USES_MAX,
};
use rewake_wire::Outcome;

use crate::bench::{
    Bench, STEP, USE, arguments, bound, completed, hook_started, model_started, refused, tool_started,
    verdict,
};
use crate::corrupt::corrupt;
use crate::pins::{ADVISER, GREETER, GUARD, SETUP, WELCOME};

const NOT_PASSED: &str = "a hook that must judge the use has not let it pass";
const NO_USE: &str = "no tool use was requested at that place";
const BEGUN: &str = "the use was started or refused before";
const NO_START: &str = "an end needs an open start at the same place";
const OTHER_KIND: &str = "an end of another kind";
const NOT_OPEN: &str = "it belongs to a step that is not open";

#[test]
fn a_tool_starts_only_after_every_hook_that_must_judge_it_let_it_pass() {
    let mut bench = Bench::requested("send", &[GUARD, ADVISER]);
    refused(&bench, USE, tool_started("send", vec![]), NOT_PASSED);
    let one = bench.judge(GUARD, Verdict::Allow, bound("send"));
    refused(&bench, USE, tool_started("send", vec![one]), NOT_PASSED);
    let two = bench.judge(ADVISER, Verdict::None, bound("send"));
    refused(&bench, USE, tool_started("send", vec![one]), NOT_PASSED);
    refused(&bench, USE, tool_started("send", vec![]), NOT_PASSED);
    bench.record(USE, tool_started("send", vec![one, two])).unwrap();
}

#[test]
fn a_denied_use_never_starts() {
    let mut bench = Bench::requested("send", &[GUARD]);
    let denied = bench.judge(GUARD, Verdict::Deny, bound("send"));
    refused(&bench, USE, tool_started("send", vec![denied]), NOT_PASSED);
    refused(&bench, USE, hook_started(GUARD, bound("send")), "the hook was asked about the use before");
    bench.record(USE, completed(None, Outcome::Denied)).unwrap();
    refused(&bench, USE, tool_started("send", vec![denied]), BEGUN);
}

#[test]
fn a_verdict_lets_nothing_else_pass() {
    let other = Digest::of(b"other arguments");
    let bindings = [
        crate::bench::bound_as(USE, "send", other),
        crate::bench::bound_as(USE, "read", arguments()),
        crate::bench::bound_as(USE.at_index(1), "send", arguments()),
        Digest::default(),
    ];
    for bound in bindings {
        let mut bench = Bench::requested("send", &[GUARD]);
        let seq = bench.judge(GUARD, Verdict::Allow, bound);
        refused(&bench, USE, tool_started("send", vec![seq]), NOT_PASSED);
    }
}

#[test]
fn a_tool_starts_only_as_it_was_asked_for_and_pinned() {
    let bench = Bench::requested("send", &[]);
    let started = tool_started("send", vec![]);
    let asked = "a tool may start only with the arguments that were requested";
    let pinned = "a tool may start only by its pinned definition and class";
    for (changed, why) in [
        (ToolStarted { arguments: Digest::of(b"other"), ..started.clone() }, asked),
        (ToolStarted { name: "read".into(), ..started.clone() }, asked),
        (ToolStarted { definition: Digest::of(b"other"), ..started.clone() }, pinned),
        (ToolStarted { class: Effect::Pure, ..started.clone() }, pinned),
    ] {
        refused(&bench, USE, changed, why);
    }
    refused(&bench, USE.at_index(1), started.clone(), NO_USE);
    refused(&bench, Place { ordinal: 2, ..USE }, started.clone(), NO_USE);
    let unknown = Bench::requested("unknown", &[]);
    refused(&unknown, USE, ToolStarted { name: "unknown".into(), ..started }, pinned);
}

#[test]
fn a_use_is_started_or_refused_once() {
    let (mut bench, start) = Bench::started("put");
    refused(&bench, USE, tool_started("put", vec![]), BEGUN);
    refused(&bench, USE, completed(None, Outcome::Denied), BEGUN);
    bench.record(USE, completed(Some(start), Outcome::Ok)).unwrap();
    refused(&bench, USE, tool_started("put", vec![]), BEGUN);
    refused(&bench, USE, completed(None, Outcome::Denied), BEGUN);

    let mut bench = Bench::requested("put", &[]);
    let done = "a tool that was not started can only have been refused";
    for outcome in [Outcome::Ok, Outcome::TimedOut, Outcome::Unknown] {
        refused(&bench, USE, completed(None, outcome), done);
    }
    refused(&bench, USE.at_index(1), completed(None, Outcome::Denied), NO_USE);
    bench.record(USE, completed(None, Outcome::Error)).unwrap();
    refused(&bench, USE, completed(None, Outcome::Denied), BEGUN);
}

/// R4, `N-A1`: a use that may change a directory starts after every earlier one that sees it, and one that reads it after
/// every earlier one that may change it; a journal in which they overlap is corrupt.
#[test]
fn a_use_waits_for_earlier_ones_that_its_files_depend_on() {
    let waits = "an earlier use of the request that sees the same directory has not ended";
    let overlaps = "it overlaps a call that sees the same directory, and one of the two may change it";
    let at = |index| USE.at_index(index);
    for (earlier, later, is_free) in
        [("put", "send", false), ("read", "put", false), ("send", "read", false), ("read", "read", true)]
    {
        let mut bench = Bench::requested_all(&[earlier, later], &[]);
        if is_free {
            bench.record(at(1), tool_started(later, vec![])).unwrap();
            bench.record(at(0), tool_started(earlier, vec![])).unwrap();
            continue;
        }
        refused(&bench, at(1), tool_started(later, vec![]), waits);
        let start = bench.record(at(0), tool_started(earlier, vec![])).unwrap();
        refused(&bench, at(1), tool_started(later, vec![]), waits);
        corrupt(&bench, at(1), tool_started(later, vec![]), overlaps);
        bench.record(at(0), completed(Some(start), Outcome::Ok)).unwrap();
        bench.record(at(1), tool_started(later, vec![])).unwrap();
    }
    // One that was refused, or whose end nobody knows, is waited for no longer.
    for end in
        [Fact::from(completed(None, Outcome::Denied)), Fact::from(ToolLost { start: 0, why: Lost::Host })]
    {
        let mut bench = Bench::requested_all(&["put", "put"], &[]);
        let end = match end {
            Fact::ToolLost(lost) => {
                let start = bench.record(at(0), tool_started("put", vec![])).unwrap();
                Fact::from(ToolLost { start, ..lost })
            }
            end => end,
        };
        bench.record(at(0), end).unwrap();
        bench.record(at(1), tool_started("put", vec![])).unwrap();
    }
}

#[test]
fn an_end_needs_its_start() {
    let (mut bench, start) = Bench::started("put");
    let lost = |start| ToolLost { start, why: Lost::Limit };
    refused(&bench, USE, completed(Some(start + 1), Outcome::Ok), NO_START);
    refused(&bench, USE.at_index(1), completed(Some(start), Outcome::Ok), NO_START);
    refused(&bench, USE, ModelLost::new(start, Lost::Limit), OTHER_KIND);
    refused(&bench, USE, verdict(start, GUARD, Verdict::Allow, bound("put")), OTHER_KIND);
    bench.record(USE, lost(start)).unwrap();
    refused(&bench, USE, lost(start), NO_START);
    refused(&bench, USE, completed(Some(start), Outcome::Ok), NO_START);

    let (bench, start) = Bench::asking();
    refused(&bench, USE, completed(Some(start), Outcome::Ok), OTHER_KIND);
    refused(&bench, USE, lost(start), OTHER_KIND);
}

#[test]
fn what_may_be_repeated_is_repeated_so_often() {
    let again = |start, n| CallRetried::again(start, n);
    let (bench, start) = Bench::started("send");
    refused(&bench, USE, again(start, 1), "a call of class `once` is never repeated");

    let often = "the call was tried as often as it may be";
    let (mut bench, start) = Bench::started("put");
    refused(&bench, USE, again(start, 0), often);
    refused(&bench, USE, again(start, 2), often);
    refused(&bench, USE, again(start + 1, 1), NO_START);
    refused(&bench, STEP, again(start, 1), NO_START);
    for n in 1..=RETRIES_MAX {
        bench.record(USE, again(start, n)).unwrap();
    }
    refused(&bench, USE, again(start, RETRIES_MAX + 1), often);
}

#[test]
fn a_verdict_is_bound_to_what_was_asked() {
    let unbound = "a verdict is bound to what was asked";
    let mut bench = Bench::requested("send", &[GUARD, ADVISER]);
    let start = bench.record(USE, hook_started(GUARD, bound("send"))).unwrap();
    refused(&bench, USE, verdict(start, GUARD, Verdict::Allow, bound("read")), unbound);
    refused(&bench, USE, verdict(start, ADVISER, Verdict::Allow, bound("send")), unbound);
    refused(&bench, USE, verdict(start + 1, GUARD, Verdict::Allow, bound("send")), NO_START);
    refused(&bench, USE.at_index(1), verdict(start, GUARD, Verdict::Allow, bound("send")), NO_START);
    bench.record(USE, verdict(start, GUARD, Verdict::Allow, bound("send"))).unwrap();
    refused(&bench, USE, verdict(start, GUARD, Verdict::Deny, bound("send")), NO_START);
}

#[test]
fn a_use_is_judged_by_the_hooks_that_it_names() {
    let none = "the hook is none of those that must judge the use";
    let bench = Bench::requested("send", &[GUARD]);
    refused(&bench, USE, hook_started(ADVISER, bound("send")), none);
    refused(&bench, USE, hook_started(99, bound("send")), none);
    let event = HookEvent::SessionStart;
    refused(&bench, USE, HookStarted { event, ..hook_started(GUARD, bound("send")) }, none);
    refused(&bench, USE.at_index(1), hook_started(GUARD, bound("send")), NO_USE);
}

#[test]
fn a_request_names_few_uses_and_hooks_that_exist() {
    let mut bench = Bench::requested("send", &[]);
    let request = |hooks: Vec<u32>, count: usize| {
        let one = rewake_core::fact::RequestedUse {
            id: "use".into(),
            name: "send".into(),
            input: "{}".into(),
            arguments: arguments(),
            hooks,
            after: vec![],
        };
        ToolsRequested { uses: vec![one; count] }
    };
    let second = Place { ordinal: 2, ..USE };
    let unknown = "a use names a hook that the session does not have for it";
    refused(&bench, second, request(vec![99], 1), unknown);
    refused(&bench, second, request(vec![GREETER], 1), unknown);
    let many = bench.record(second, request(vec![], USES_MAX + 1)).unwrap_err();
    let (got, max) = (USES_MAX as u64 + 1, USES_MAX as u64);
    assert_eq!(many, Refusal::Limit { what: "tool uses of one call", got, max });
    bench.record(second, request(vec![GUARD], USES_MAX)).unwrap();
}

#[test]
fn facts_belong_to_the_open_step() {
    let say = || AgentMessage::new(vec![]);
    let bench = Bench::in_step();
    for place in [
        Place::default(),
        Place::turn(1),
        Place { step: 2, ..USE },
        Place { turn: 2, ..USE },
        Place { turn: 0, ..USE },
    ] {
        refused(&bench, place, say(), NOT_OPEN);
    }
    refused(&Bench::in_turn(), USE, say(), NOT_OPEN);
    refused(&Bench::loaded(), USE, say(), NOT_OPEN);
}

/// B11: a step can emit only kinds of its own.
#[test]
fn a_step_may_not_record_what_is_not_its_own() {
    let bench = Bench::in_step();
    let forbidden = "a step may not record that";
    refused(&bench, STEP, TurnCompleted { steps: 1, ..TurnCompleted::default() }, forbidden);
    refused(&bench, STEP, SessionStopped { reason: String::new() }, forbidden);
    refused(&bench, STEP, StepRerun { again: 0 }, forbidden);
    refused(&bench, STEP, bench.step_started(), forbidden);
    for kind in ["custom.", "note", "turn.completed", ""] {
        let data = serde_json::Value::Null;
        refused(&bench, USE, Custom { kind: kind.into(), data }, forbidden);
    }
}

#[test]
fn a_full_journal_takes_ends_and_no_starts() {
    let (mut bench, start) = Bench::asking();
    bench.session.head.seq = SESSION_ENTRIES_MAX;
    let full = Refusal::Limit {
        what: "entries of a session",
        got: SESSION_ENTRIES_MAX + 1,
        max: SESSION_ENTRIES_MAX,
    };
    let next = Place { ordinal: 2, ..USE };
    let starts: [Fact; 4] = [
        model_started().into(),
        ToolsRequested { uses: vec![] }.into(),
        AgentMessage::new(vec![]).into(),
        Custom { kind: "custom.note".into(), data: serde_json::Value::Null }.into(),
    ];
    for fact in starts {
        assert_eq!(bench.record(next, fact.clone()), Err(full.clone()), "{fact:?}");
    }
    bench.record(USE, ModelLost::new(start, Lost::Limit)).unwrap();
}

#[test]
fn only_hooks_that_are_due_are_told_of_the_start() {
    let not_due = "the hook is not due to be asked";
    let mut bench = Bench::in_turn();
    let firing = match bench.due(vec![]).then {
        rewake_core::decide::Then::Fire(firings) => firings[0],
        other => panic!("hooks are due, not {other:?}"),
    };
    let started = HookStarted {
        hook: GREETER,
        event: HookEvent::SessionStart,
        source: Some(Source::Startup),
        message: None,
        binding: firing.binding,
    };
    let place = Place::default();
    refused(&bench, place, HookStarted { hook: WELCOME, ..started.clone() }, not_due);
    refused(&bench, place, HookStarted { hook: GUARD, ..started.clone() }, not_due);
    refused(&bench, place, HookStarted { source: Some(Source::Resume), ..started.clone() }, not_due);
    refused(&bench, place, HookStarted { event: HookEvent::PreToolUse, ..started.clone() }, not_due);
    refused(&bench, place, HookStarted { binding: bound("send"), ..started.clone() }, not_due);
    refused(&bench, USE, started.clone(), not_due);
    let seq = bench.record(place, started.clone()).unwrap();
    refused(&bench, place, started.clone(), not_due);
    let unbound = "a verdict is bound to what was asked";
    refused(&bench, place, verdict(seq, SETUP, Verdict::None, firing.binding), unbound);
    refused(&bench, place, verdict(seq, GREETER, Verdict::None, bound("send")), unbound);
    let lines = LogLines { component: "laws/agent:hooks".into(), lines: vec![], dropped: 0 };
    bench.record(place, lines).unwrap();
    bench.record(place, verdict(seq, GREETER, Verdict::None, firing.binding)).unwrap();
    refused(&bench, place, started.clone(), not_due);
    let mut stepped = Bench::in_step();
    assert_eq!(stepped.record(place, started), Err(Refusal::Rule(not_due)), "after the first step");
}

#[test]
fn a_marker_is_no_deeper_than_its_snapshot_can_be_read() {
    let nested = |levels| {
        let data = (0..levels).fold(serde_json::Value::Null, |inner, level| match level % 2 {
            0 => serde_json::json!([inner]),
            _ => serde_json::json!({ "in": inner }),
        });
        Custom { kind: "custom.note".into(), data }
    };
    let mut bench = Bench::in_step();
    let max = MARKER_LEVELS_MAX as u64;
    let deep = Refusal::Limit { what: "levels of a marker's data", got: max + 1, max };
    assert_eq!(bench.record(USE, nested(MARKER_LEVELS_MAX + 1)), Err(deep));
    bench.record(USE, nested(MARKER_LEVELS_MAX)).unwrap();
    let snapshot = serde_json::to_vec(&bench.session).unwrap();
    let read: rewake_core::Session = serde_json::from_slice(&snapshot).unwrap();
    assert_eq!(read, bench.session);
}

#[test]
fn what_a_guest_says_and_asks_for_is_bounded() {
    let say = |bytes: usize| AgentMessage::new(vec![rewake_wire::Part::text("x".repeat(bytes))]);
    let call = |bytes: usize| {
        let one = rewake_core::fact::RequestedUse {
            id: "i".repeat(5),
            name: "n".repeat(3),
            input: "x".repeat(bytes - 8),
            arguments: arguments(),
            hooks: vec![],
            after: vec![],
        };
        ToolsRequested { uses: vec![one] }
    };
    let over = |fact: Fact, what, max: usize| {
        let refused = Bench::in_step().record(USE, fact);
        assert_eq!(refused, Err(Refusal::Limit { what, got: max as u64 + 1, max: max as u64 }));
    };
    over(say(SAID_BYTES_MAX + 1).into(), "bytes of a message of the agent", SAID_BYTES_MAX);
    let inputs = "bytes of the inputs of one call's tool uses";
    over(call(TOOL_INPUTS_BYTES_MAX + 1).into(), inputs, TOOL_INPUTS_BYTES_MAX);
    Bench::in_step().record(USE, say(SAID_BYTES_MAX)).unwrap();
    Bench::in_step().record(USE, call(TOOL_INPUTS_BYTES_MAX)).unwrap();
}
