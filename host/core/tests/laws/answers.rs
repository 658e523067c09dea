//! Which answer of a model a message of the agent says (`agent.message.of`): the host finds out, whatever the guest
//! claims.

use rewake_core::entry::Place;
use rewake_core::fact::{AgentMessage, Fact, ModelCompleted, ModelContent, ModelFinish, ModelOutcome, Next};
use rewake_core::money::Usd;
use rewake_wire::{Part, Usage};

use crate::bench::{Bench, STEP, USE, model_started};

fn at(ordinal: u32) -> Place {
    Place { ordinal, ..USE }
}

/// Asks a model, which answers this; returns the start's seq.
fn answered(bench: &mut Bench, place: Place, texts: &[&str]) -> u64 {
    let start = bench.record(place, model_started()).unwrap();
    let mut content = vec![ModelContent::Thinking("{}".into())];
    content.extend(texts.iter().map(|text| ModelContent::Part(Part::text(*text))));
    let outcome = ModelOutcome::Completion {
        model: "m".into(),
        content,
        finish: ModelFinish::End,
        usage: Usage::default(),
        context_tokens: None,
    };
    bench.record(place, ModelCompleted { start, outcome, cost: Usd::ZERO, ms: 0 }).unwrap();
    start
}

/// What stands in the journal of a message that the guest says is of `claimed`.
fn said(bench: &mut Bench, place: Place, texts: &[&str], claimed: Option<u64>) -> Option<u64> {
    let parts = texts.iter().map(|text| Part::text(*text)).collect();
    bench.record(place, AgentMessage { parts, of: claimed }).unwrap();
    let (_, step) = bench.session.open_step().unwrap();
    match &step.entries.last().unwrap().fact {
        Fact::AgentMessage(body) => body.of,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_that_says_the_newest_answer_names_it_once() {
    let mut bench = Bench::in_step();
    let first = answered(&mut bench, at(1), &["Hel", "lo"]);
    let mut other = bench.clone();
    assert_eq!(said(&mut other, at(2), &["hello"], Some(first)), None, "a guest claims what it likes");
    assert_eq!(said(&mut other, at(3), &["Hello", "!"], None), None);
    assert_eq!(said(&mut other, at(4), &["H", "ello"], Some(1)), Some(first), "however it is cut");
    assert_eq!(said(&mut other, at(5), &["Hello"], None), None, "one message says it");
    // Only the newest answer counts, and one without text is said by nothing.
    answered(&mut bench, at(2), &["Bye"]);
    assert_eq!(said(&mut bench, at(3), &["Hello"], None), None);
    answered(&mut bench, at(4), &[""]);
    assert_eq!(said(&mut bench, at(5), &[], None), None);
}

#[test]
fn an_answer_of_another_step_is_not_named() {
    let mut bench = Bench::in_step();
    answered(&mut bench, at(1), &["Hello"]);
    bench.ends(Next::More);
    let started = bench.step_started();
    bench.add(Place { step: 2, ..STEP }, started).unwrap();
    assert_eq!(said(&mut bench, Place { step: 2, ..at(1) }, &["Hello"], None), None);
}

#[test]
fn a_journal_that_names_an_answer_its_step_does_not_have_is_corrupt() {
    let mut bench = Bench::in_step();
    let start = answered(&mut bench, at(1), &["Hello"]);
    let message = |of| AgentMessage { parts: vec![Part::text("Hello")], of: Some(of) };
    let corrupt = bench.clone().add(at(2), message(start + 1)).unwrap_err();
    assert!(corrupt.what.ends_with("it is of an answer that its step does not have"), "{}", corrupt.what);
    bench.add(at(2), message(start)).unwrap();
}

/// Else a replay would take the same message for another one.
#[test]
fn what_the_host_adds_is_no_difference_to_what_a_guest_says_again() {
    let again = Fact::from(AgentMessage::new(vec![Part::text("Hello")]));
    let recorded = Fact::from(AgentMessage { parts: vec![Part::text("Hello")], of: Some(9) });
    let other = Fact::from(AgentMessage { parts: vec![Part::text("Bye")], of: Some(9) });
    assert_eq!(again.clone().as_recorded(&recorded), recorded);
    assert_ne!(again.as_recorded(&other), other);
}
