//! What models cost (journal.md R5): reserved before it is sent, never more than the cap, and counted whole where
//! nobody knows. Added up here a second time, from the journal alone.

use std::collections::BTreeMap;

use rewake_core::entry::Place;
use rewake_core::fact::{
    AgentPin, CallRetried, Created, Fact, Lost, ModelCompleted, ModelFinish, ModelLost, ModelOutcome,
    ModelStarted, PartialAnswer, StepRerun, Stored, TurnCompleted,
};
use rewake_core::ids::Digest;
use rewake_core::limits::{MODEL_RETRIES_MAX, RETRIES_MAX, SAID_BYTES_MAX};
use rewake_core::money::Usd;
use rewake_core::{Refusal, Session};
use rewake_wire::Usage;

use crate::bench::{Bench, STEP, USE, refused, snapshot};
use crate::world::World;
use crate::{pins, plan};

/// At every entry of a run.
pub(crate) fn it_adds_up(world: &World) {
    // Of each open call: what it reserves, and what it has cost before.
    let mut open: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let (mut spent, mut of_turn) = (0, 0);
    let mut session = Session::new(world.id.clone());
    for entry in &world.journal {
        let mut told = None;
        match &entry.fact {
            Fact::ModelStarted(body) => {
                open.insert(entry.seq, (body.reserved.nanos(), 0));
            }
            Fact::CallRetried(body) if open.contains_key(&body.start) => {
                let call = open.get_mut(&body.start).expect("it is there");
                *call = (body.reserved.nanos(), call.1 + body.cost.nanos());
            }
            Fact::ModelCompleted(body) => {
                let (_, before) = open.remove(&body.start).expect("it was started");
                of_turn += before + body.cost.nanos();
            }
            Fact::ModelLost(body) => {
                let (reserved, before) = open.remove(&body.start).expect("it was started");
                of_turn += before + body.partial.as_ref().map_or(reserved, |partial| partial.cost.nanos());
            }
            Fact::TurnCompleted(body) => told = Some(body.cost),
            Fact::TurnInterrupted(body) => told = Some(body.cost),
            Fact::TurnFailed(body) => told = Some(body.cost),
            _ => {}
        }
        let before = session.spent;
        session.apply(entry).expect("what was committed folds");
        if let Some(told) = told {
            assert_eq!(told.nanos(), of_turn, "a turn's end says what the turn cost");
            spent += std::mem::take(&mut of_turn);
        }
        let reserved: u64 = open.values().map(|(reserved, before)| reserved + before).sum();
        assert_eq!(session.spent.nanos(), spent + of_turn, "at {}", entry.seq);
        assert_eq!(session.committed().nanos(), spent + of_turn + reserved, "at {}", entry.seq);
        assert!(session.spent >= before, "what is spent is never given back");
        if let Some(cap) = world.plan.cap_nanos {
            assert!(session.committed().nanos() <= cap, "the cap of {cap} is passed at {}", entry.seq);
        }
    }
    assert_eq!(world.view.committed(), world.view.spent, "nothing is open in the end");
}

#[test]
fn the_random_runs_come_to_caps_retries_and_losses() {
    use proptest::strategy::{Strategy as _, ValueTree as _};
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::new(plan::config(1));
    let (mut not_sent, mut retried, mut died) = (0, 0, 0);
    for _ in 0..300 {
        let world = crate::driver::run(plan::wild().new_tree(&mut runner).expect("a plan").current());
        for fact in world.facts() {
            match fact {
                Fact::ModelCompleted(body) => {
                    not_sent += u32::from(matches!(body.outcome, ModelOutcome::Budget(_)));
                }
                Fact::CallRetried(body) if body.why.is_some() => retried += 1,
                Fact::CallRetried(body) if !body.cost.is_zero() => died += 1,
                _ => {}
            }
        }
    }
    assert!(
        not_sent > 10 && retried > 10 && died > 10,
        "{not_sent} not sent, {retried} retried, {died} died"
    );
}

fn started(reserved: u64) -> ModelStarted {
    ModelStarted {
        model: "scripted".into(),
        provider: Some("p/m".into()),
        request: Digest::of(b"request"),
        messages: 1,
        stored: None,
        reserved: Usd::from_nanos(reserved),
    }
}

fn completed(start: u64, cost: u64) -> ModelCompleted {
    let outcome = ModelOutcome::Unavailable("busy".into());
    ModelCompleted { start, outcome, cost: Usd::from_nanos(cost), ms: 1 }
}

fn retried(start: u64, n: u32, why: Option<&str>, cost: u64, reserved: u64) -> CallRetried {
    let [cost, reserved] = [cost, reserved].map(Usd::from_nanos);
    CallRetried { start, n, why: why.map(str::to_owned), cost, reserved }
}

/// In a step of a session with this cap.
fn capped(cap: u64) -> Bench {
    let mut bench = Bench::in_step();
    let pins = bench.session.created.as_mut().expect("it is created");
    pins.agent.max_usd = Some(Usd::from_nanos(cap));
    bench
}

fn place(ordinal: u32) -> Place {
    Place { ordinal, ..USE }
}

const OVER: Refusal =
    Refusal::Rule("a model is asked only if its cost is sure to stay within the session's cap");

#[test]
fn nothing_is_sent_that_could_pass_the_cap() {
    let mut bench = capped(1_000);
    assert_eq!(bench.record(place(1), started(1_001)), Err(OVER));
    let start = bench.record(place(1), started(600)).unwrap();
    // While an attempt is under way it counts whole, then by what it cost.
    bench.record(place(1), completed(start, 250)).unwrap();
    assert_eq!(bench.record(place(2), started(751)), Err(OVER));
    let start = bench.record(place(2), started(750)).unwrap();
    let again = |cost, reserved| retried(start, 1, Some("busy"), cost, reserved);
    assert_eq!(bench.clone().record(place(2), again(0, 751)), Err(OVER));
    assert_eq!(bench.clone().record(place(2), again(1, 750)), Err(OVER));
    bench.clone().record(place(2), again(0, 750)).unwrap();
    bench.record(place(2), again(700, 50)).unwrap();
    assert_eq!(bench.session.committed(), Usd::from_nanos(1_000));
    bench.record(place(2), ModelLost::new(start, Lost::Host)).unwrap();
    assert_eq!(bench.session.spent, Usd::from_nanos(1_000), "what was lost stays counted");
    // What is recorded as not sent reserves nothing.
    let start = bench.record(place(3), started(0)).unwrap();
    let outcome = ModelOutcome::Budget("the cap is reached".into());
    bench.record(place(3), ModelCompleted { start, outcome, cost: Usd::ZERO, ms: 0 }).unwrap();
}

#[test]
fn what_was_counted_wrong_is_no_reason_to_refuse_an_end() {
    let mut bench = capped(1_000);
    let start = bench.record(place(1), started(600)).unwrap();
    bench.record(place(1), completed(start, 5_000)).unwrap();
    assert_eq!(bench.session.spent, Usd::from_nanos(5_000));
    assert_eq!(bench.record(place(2), started(1)), Err(OVER));
    bench.record(place(2), started(0)).unwrap();
}

#[test]
fn an_attempt_that_died_counts_as_what_it_reserved() {
    let mut bench = Bench::in_step();
    let start = bench.record(place(1), started(600)).unwrap();
    let unknown = "an attempt that is not known to have ended counts as what it reserved";
    for cost in [0, 599, 601] {
        let got = bench.clone().record(place(1), retried(start, 1, None, cost, 600));
        assert_eq!(got, Err(Refusal::Rule(unknown)));
    }
    bench.record(place(1), retried(start, 1, None, 600, 700)).unwrap();
    assert_eq!((bench.session.spent, bench.session.committed()), (Usd::ZERO, Usd::from_nanos(1_300)));
    let mut ends = bench.clone();
    ends.record(place(1), completed(start, 5)).unwrap();
    assert_eq!(ends.session.spent, Usd::from_nanos(605));
}

/// `N-D7`: a call that is not made again, because of the cap or because no such model is there any more.
#[test]
fn a_call_that_died_and_is_not_made_again_counts_as_what_it_reserved() {
    let mut bench = Bench::in_step();
    let start = bench.record(place(1), started(600)).unwrap();
    let mut lives = bench.clone();
    lives.record(place(1), completed(start, 5)).unwrap();
    assert_eq!(lives.session.spent, Usd::from_nanos(5));
    bench.add(STEP, StepRerun { again: 1 }).unwrap();
    let not_made = |outcome: fn(String) -> ModelOutcome, cost| {
        let (outcome, cost) = (outcome("no".into()), Usd::from_nanos(cost));
        ModelCompleted { start, outcome, cost, ms: 0 }
    };
    let unknown = "an attempt that is not known to have ended counts as what it reserved";
    for outcome in [ModelOutcome::Budget, ModelOutcome::Rejected] {
        for cost in [0, 599, 601] {
            refused(&bench, place(1), not_made(outcome, cost), unknown);
        }
        let mut ends = bench.clone();
        ends.record(place(1), not_made(outcome, 600)).unwrap();
        assert_eq!(ends.session.spent, Usd::from_nanos(600));
    }
    let (model, content, finish) = ("m".into(), vec![], ModelFinish::End);
    let usage = Usage::default();
    let outcome = ModelOutcome::Completion { model, content, finish, usage, context_tokens: None };
    let answered = ModelCompleted { start, outcome, cost: Usd::from_nanos(600), ms: 0 };
    refused(&bench, place(1), answered.clone(), "an attempt that died with its host has no answer");
    // Another attempt is heard again.
    bench.record(place(1), retried(start, 1, None, 600, 700)).unwrap();
    bench.record(place(1), answered).unwrap();
    assert_eq!(bench.session.spent, Usd::from_nanos(1_200));
}

#[test]
fn what_was_not_sent_costs_nothing() {
    let mut bench = Bench::in_step();
    let start = bench.record(place(1), started(0)).unwrap();
    let not_sent = |outcome: fn(String) -> ModelOutcome, cost| {
        let (outcome, cost) = (outcome("no".into()), Usd::from_nanos(cost));
        ModelCompleted { start, outcome, cost, ms: 0 }
    };
    for outcome in [ModelOutcome::Budget, ModelOutcome::Denied] {
        refused(&bench, place(1), not_sent(outcome, 1), "what was not sent costs nothing");
        bench.clone().record(place(1), not_sent(outcome, 0)).unwrap();
    }
}

#[test]
fn the_beginning_of_an_interrupted_answer_costs_what_was_streamed() {
    let mut bench = Bench::in_step();
    let start = bench.record(place(1), started(600)).unwrap();
    let usage = Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() };
    let begun = |why, text: &str| {
        let partial = PartialAnswer { text: text.into(), usage, cost: Usd::from_nanos(40) };
        ModelLost { partial: Some(partial), ..ModelLost::new(start, why) }
    };
    for why in [Lost::Host, Lost::Limit] {
        refused(&bench, place(1), begun(why, "Once"), "only an interrupted answer has a beginning");
    }
    refused(&bench, place(1), begun(Lost::Interrupted, ""), "the beginning of an answer says something");
    let long = begun(Lost::Interrupted, &"x".repeat(SAID_BYTES_MAX + 1));
    assert!(matches!(bench.clone().record(place(1), long), Err(Refusal::Limit { .. })));
    let mut died = bench.clone();
    died.add(STEP, StepRerun { again: 1 }).unwrap();
    refused(&died, place(1), begun(Lost::Interrupted, "Once"), "only an interrupted answer has a beginning");
    bench.record(place(1), begun(Lost::Interrupted, "Once")).unwrap();
    assert_eq!((bench.session.spent, bench.session.usage), (Usd::from_nanos(40), usage));
    let due = bench.due(vec![rewake_core::command::Command::Interrupt { turn: 1 }]);
    let last = due.entries.last().map(|draft| &draft.fact);
    assert!(matches!(last, Some(Fact::TurnInterrupted(body)) if body.cost == Usd::from_nanos(40)));
}

#[test]
fn what_a_provider_will_not_answer_does_not_count_as_what_kills_its_host() {
    let often = Refusal::Rule("the call was tried as often as it may be");
    let mut bench = Bench::in_step();
    let start = bench.record(place(1), started(0)).unwrap();
    for n in 1..=MODEL_RETRIES_MAX {
        assert_eq!(bench.record(place(1), retried(start, n + 1, Some("busy"), 0, 0)), Err(often.clone()));
        bench.record(place(1), retried(start, n, Some("busy"), 0, 0)).unwrap();
    }
    let next = MODEL_RETRIES_MAX + 1;
    let asked = Refusal::Rule("the model was asked as often as it may be");
    assert_eq!(bench.record(place(1), retried(start, next, Some("busy"), 0, 0)), Err(asked));
    for n in 0..RETRIES_MAX {
        bench.record(place(1), retried(start, next + n, None, 0, 0)).unwrap();
    }
    assert_eq!(bench.record(place(1), retried(start, next + RETRIES_MAX, None, 0, 0)), Err(often));
}

#[test]
fn only_models_cost() {
    let only = Refusal::Rule("only asking a model costs, and is repeated because of what came of it");
    let (mut bench, start) = Bench::started("put");
    for body in
        [retried(start, 1, Some("busy"), 0, 0), retried(start, 1, None, 1, 0), retried(start, 1, None, 0, 1)]
    {
        assert_eq!(bench.record(USE, body), Err(only.clone()));
    }
    bench.record(USE, retried(start, 1, None, 0, 0)).unwrap();
}

/// A journal from elsewhere can say anything: sums saturate, on every host alike.
#[test]
fn absurd_amounts_do_not_overflow() {
    let mut bench = Bench::in_step();
    let all = u64::MAX;
    let start = bench.add(place(1), started(all)).unwrap();
    bench.add(place(1), retried(start, 1, Some("busy"), all, all)).unwrap();
    bench.add(place(1), retried(start, 2, None, all, all)).unwrap();
    let usage =
        Usage { input_tokens: all, output_tokens: all, cache_read_tokens: all, cache_write_tokens: all };
    let outcome = ModelOutcome::Completion {
        model: "m".into(),
        content: vec![],
        finish: ModelFinish::End,
        usage,
        context_tokens: Some(all),
    };
    bench.add(place(1), ModelCompleted { start, outcome, cost: Usd::from_nanos(all), ms: all }).unwrap();
    let second = bench.add(place(2), ModelStarted { messages: u32::MAX, ..started(all) }).unwrap();
    assert_eq!(bench.session.committed(), Usd::from_nanos(all));
    bench.add(place(2), ModelLost::new(second, Lost::Host)).unwrap();
    assert_eq!(
        (bench.session.spent, bench.session.committed()),
        (Usd::from_nanos(all), Usd::from_nanos(all))
    );
    let read: Session = serde_json::from_slice(&serde_json::to_vec(&bench.session).unwrap()).unwrap();
    assert_eq!(read, bench.session);
}

/// The fold of a session that an earlier version kept has none of it.
#[test]
fn a_snapshot_of_before_is_read() {
    let (bench, _) = Bench::asking();
    let mut value = snapshot(&bench.session);
    let fields = value.as_object_mut().unwrap();
    for field in ["spent", "asked"] {
        assert!(fields.remove(field).is_some(), "{field}");
    }
    let turn = fields["turn"].as_object_mut().unwrap();
    assert!(turn.remove("spent").is_some());
    let read: Session = serde_json::from_slice(&serde_json::to_vec(&value).unwrap()).unwrap();
    assert_eq!((read.spent, &read.asked), (Usd::ZERO, &Default::default()));
}

#[test]
fn a_turn_says_what_it_cost() {
    let created = Created { agent: AgentPin { max_usd: None, ..pins::created().agent }, ..pins::created() };
    assert_eq!(created, pins::created(), "without a cap nothing is refused");
    let mut bench = Bench::in_step();
    let start = bench.record(place(1), started(600)).unwrap();
    bench.record(place(1), completed(start, 250)).unwrap();
    let turn = bench.session.turn.clone().unwrap();
    assert_eq!((turn.spent, bench.session.spent), (Usd::from_nanos(250), Usd::from_nanos(250)));
    let body = TurnCompleted { steps: 1, usage: turn.usage, cost: turn.spent, pending: 0 };
    assert_eq!(serde_json::to_value(&body).unwrap()["cost"], 250);
    let free = TurnCompleted { cost: Usd::ZERO, ..body };
    assert!(serde_json::to_value(&free).unwrap().get("cost").is_none());
}

/// Nobody knows what the call cost that is lost with its turn.
#[test]
fn a_turn_that_is_cut_short_counts_what_was_reserved() {
    let mut bench = Bench::in_step();
    bench.record(place(1), started(600)).unwrap();
    let due = bench.due(vec![rewake_core::command::Command::Interrupt { turn: 1 }]);
    let last = due.entries.last().map(|draft| &draft.fact);
    assert!(matches!(last, Some(Fact::TurnInterrupted(body)) if body.cost == Usd::from_nanos(600)));
}

/// What is kept of requests is what the next one goes on from.
#[test]
fn a_completed_request_is_what_the_next_one_is_measured_by() {
    let of = |text: &str| Digest::of(text.as_bytes());
    let stored =
        |text: &str| Stored { system: None, tools: None, options: None, list: of(text), through: of(text) };
    let asks =
        |text: &str| ModelStarted { stored: Some(stored(text)), messages: text.len() as u32, ..started(0) };
    let mut bench = Bench::in_step();
    let start = bench.record(place(1), asks("ab")).unwrap();
    let through = |count: u32| "abc".get(..count as usize).map(of);
    assert_eq!(bench.session.asked.counted(&asks("abc"), through), None);
    let usage = Usage { input_tokens: 7, cache_read_tokens: 20, output_tokens: 3, ..Usage::default() };
    let (model, finish) = ("m".into(), ModelFinish::End);
    let outcome =
        ModelOutcome::Completion { model, content: vec![], finish, usage, context_tokens: Some(1_000) };
    bench.record(place(1), ModelCompleted { start, outcome, cost: Usd::ZERO, ms: 0 }).unwrap();
    assert_eq!(bench.session.asked.counted(&asks("abc"), through), Some((2, 30)));
    let of_turn = bench.session.turn.as_ref().map(|turn| turn.usage);
    assert_eq!((bench.session.usage, of_turn), (usage, Some(usage)));
    assert_eq!(bench.session.asked.longest(through).map(|list| list.blob), Some(of("ab")));
}

/// By then the operator may have given its name to another model, which counts in its own way.
#[test]
fn a_request_that_another_host_asked_again_measures_nothing() {
    let of = |text: &str| Digest::of(text.as_bytes());
    let stored = Stored { system: None, tools: None, options: None, list: of("ab"), through: of("ab") };
    let asks = ModelStarted { stored: Some(stored), messages: 2, ..started(0) };
    let usage = Usage { input_tokens: 7, ..Usage::default() };
    for (why, measures) in [(Some("busy"), Some((2, 7))), (None, None)] {
        let mut bench = Bench::in_step();
        let start = bench.record(place(1), asks.clone()).unwrap();
        bench.record(place(1), retried(start, 1, why, 0, 0)).unwrap();
        let (model, content, finish) = ("m".into(), vec![], ModelFinish::End);
        let outcome = ModelOutcome::Completion { model, content, finish, usage, context_tokens: None };
        bench.record(place(1), ModelCompleted { start, outcome, cost: Usd::ZERO, ms: 0 }).unwrap();
        assert_eq!(bench.session.asked.counted(&asks, |_| Some(of("ab"))), measures, "{why:?}");
    }
}
