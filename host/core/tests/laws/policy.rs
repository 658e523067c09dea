//! Tools that a person must allow by their pin, and tools of the host and of clients, which are of no component.

use rewake_core::Refusal;
use rewake_core::command::{Command, Row};
use rewake_core::fact::{Asker, Provider, Question, QuestionAsked, ToolPin, UserAnswer};
use rewake_core::{ALLOW, qualified, question_id};
use rewake_wire::{Outcome, Sender};

use crate::bench::{Bench, USE, completed, refused, tool_started};
use crate::pins;

/// A use of `put` is requested, whose pin is changed.
fn requested(change: fn(&mut ToolPin)) -> Bench {
    let mut bench = Bench::requested("put", &[]);
    let created = bench.session.created.as_mut().unwrap();
    change(created.tools.iter_mut().find(|tool| tool.name == "put").unwrap());
    bench
}

fn asks(by: Asker) -> QuestionAsked {
    let question = Question { id: question_id(USE), text: "May it?".into(), choices: vec![], schema: None };
    QuestionAsked { question, by }
}

fn answer(value: &str) -> UserAnswer {
    let (question, value) = (question_id(USE), value.to_owned());
    UserAnswer { n: 2, sender: Sender::Operator("ada".into()), question, value }
}

#[test]
fn a_tool_whose_pin_asks_runs_only_once_a_person_allowed_it() {
    let not_allowed = "a person must allow each use of the tool, and has not allowed this one";
    let mut bench = requested(|tool| tool.ask = true);
    refused(&bench, USE, tool_started("put", vec![]), not_allowed);
    bench.record(USE, asks(Asker::Policy)).unwrap();
    refused(&bench, USE, tool_started("put", vec![]), not_allowed);
    for (value, may) in [(ALLOW, true), ("\"deny\"", false)] {
        let mut bench = bench.clone();
        bench.add(USE, answer(value)).unwrap();
        let started = bench.record(USE, tool_started("put", vec![]));
        assert_eq!(started.is_ok(), may, "{started:?}");
    }
}

#[test]
fn only_what_the_pin_says_is_asked() {
    let nothing = "nothing wants a person to be asked about that";
    let plain = requested(|_| {});
    for by in [Asker::Policy, Asker::Client, Asker::Harness] {
        refused(&plain, USE, asks(by), nothing);
    }
    refused(&requested(|tool| tool.ask = true), USE, asks(Asker::Client), nothing);
    let mut question = asks(Asker::Policy);
    question.question.id = "mine".into();
    let bench = requested(|tool| tool.ask = true);
    refused(&bench, USE, question, "a question about a use is named after its place");
}

/// An agent cannot approve itself, nor can a trigger for it.
#[test]
fn only_an_operator_answers_for_a_policy() {
    let mut bench = requested(|tool| tool.ask = true);
    bench.record(USE, asks(Asker::Policy)).unwrap();
    for (sender, kind) in [
        (Sender::Agent("ses_2".into()), "command.rejected"),
        (Sender::Trigger("hourly".into()), "command.rejected"),
        (Sender::Operator("ada".into()), "user.answer"),
    ] {
        let command = Command::Answer { question: question_id(USE), value: ALLOW.into() };
        let due = bench.due_with(&[Row { n: 2, sender, command }]);
        assert_eq!(due.entries[0].fact.kind(), kind);
    }
}

#[test]
fn a_client_s_answer_is_the_outcome_of_its_tool() {
    let to_client: fn(&mut ToolPin) = |tool| (tool.component, tool.by) = (None, Some(Provider::Client));
    let without_start = || completed(None, Outcome::Ok);
    let not_begun = "a tool that was not started can only have been refused";
    let mut bench = requested(to_client);
    refused(&bench, USE, without_start(), not_begun);
    bench.record(USE, asks(Asker::Client)).unwrap();
    refused(&bench, USE, without_start(), not_begun);
    bench.add(USE, answer("\"42\"")).unwrap();
    bench.record(USE, without_start()).unwrap();
    // What a person allowed is no outcome.
    let mut bench = requested(|tool| tool.ask = true);
    bench.record(USE, asks(Asker::Policy)).unwrap();
    bench.add(USE, answer(ALLOW)).unwrap();
    assert_eq!(bench.record(USE, without_start()), Err(Refusal::Rule(not_begun)));
}

#[test]
fn verdicts_are_bound_to_who_runs_a_tool() {
    let mut created = pins::created();
    assert_eq!(qualified(&created, &created.tools[0]), "laws/agent:read");
    for (by, name) in [(Provider::Host, "host:read"), (Provider::Client, "client:read")] {
        (created.tools[0].component, created.tools[0].by) = (None, Some(by));
        assert_eq!(qualified(&created, &created.tools[0]), name);
    }
}
