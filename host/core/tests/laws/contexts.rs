//! What steps are told: everything that was accepted for them, in order, once; and what hooks had to say
//! again, where the step that heard it did not complete.

use rewake_core::command::Command;
use rewake_core::decide::{Input, StepEnd, StepOutcome};
use rewake_core::fact::{Fact, Next, Question, StepInput};
use rewake_wire::Part;

use crate::bench::Bench;
use crate::driver::run;
use crate::pins::{GREETER, SETUP};
use crate::plan::{EndPlan, Op, Plan, StepPlan};
use crate::world::World;

/// A second, plainer fold of what is pending, compared with every step's fixed input.
pub(crate) fn steps_are_given_what_was_taken(world: &World) {
    let (mut messages, mut answers, mut contexts) = (Vec::new(), Vec::new(), Vec::new());
    let mut unfinished = None;
    let mut told: Option<StepInput> = None;
    for entry in &world.journal {
        match &entry.fact {
            Fact::UserMessage(body) => messages.push(body.n),
            Fact::UserAnswer(body) => answers.push(body.question.clone()),
            Fact::HookVerdict(body) if entry.place.step == 0 => contexts.extend(body.context.clone()),
            Fact::StepStarted(body) => {
                let input = &body.input;
                assert_eq!(input.messages.iter().map(|one| one.n).collect::<Vec<_>>(), messages);
                assert_eq!(input.answers.iter().map(|one| one.question.clone()).collect::<Vec<_>>(), answers);
                assert_eq!(input.contexts, contexts);
                assert_eq!(input.unfinished.as_ref().map(|one| one.turn), unfinished);
                (messages, answers, contexts, unfinished) = (vec![], vec![], vec![], None);
                told = Some(input.clone());
            }
            Fact::StepCompleted(_) => told = None,
            Fact::StepAborted(_) => {
                let again = told.take().expect("an open step is aborted").contexts;
                contexts.splice(0..0, again);
            }
            fact if fact.is_turn_end() => {
                answers.clear();
                if !matches!(fact, Fact::TurnCompleted(_)) {
                    messages.clear();
                    unfinished = Some(entry.place.turn);
                }
            }
            _ => {}
        }
    }
    let mut left = world.view.pending.contexts.clone();
    left.extend(world.view.heard.iter().map(|heard| heard.text.clone()));
    assert_eq!(left, contexts);
}

#[test]
fn what_hooks_said_to_a_step_that_trapped_is_said_to_the_next() {
    let step = |ending| StepPlan { ops: vec![Op::Say], ending };
    let world = run(Plan {
        steps: vec![step(EndPlan::Trap), step(EndPlan::Trap)],
        turn_steps: 1,
        messages: 2,
        crashes: vec![],
        mischief: vec![],
        sneaks: vec![],
        snapshot_every: 0,
        unload_every: 0,
        cap_nanos: None,
        calm: true,
    });
    steps_are_given_what_was_taken(&world);
    let heard: Vec<_> = world
        .facts()
        .filter_map(|fact| match fact {
            Fact::StepStarted(body) => Some(body.input.contexts.clone()),
            _ => None,
        })
        .collect();
    let said = vec![format!("startup by {GREETER}"), format!("startup by {SETUP}")];
    assert_eq!(heard, [said.clone(), said.clone()]);
    assert_eq!(world.view.pending.contexts, said, "and to the one after");
}

#[test]
fn answers_to_an_interrupted_turn_are_no_answers_to_the_next() {
    let mut bench = Bench::in_step();
    let question = |id: &str| Question { id: id.into(), text: "?".into(), choices: vec![], schema: None };
    let next = Next::Ask(vec![question("q1"), question("q2")]);
    let outcome = StepOutcome::Completed { next, state: None, calls: Default::default() };
    let end = StepEnd { outcome, ordinal: 0, observed: vec![], logs: None, rows: vec![] };
    let decision = rewake_core::decide(&bench.session, Input::StepEnd(end)).unwrap();
    bench.add_all(decision.entries).unwrap();
    for command in [
        Command::Answer { question: "q1".into(), value: "1".into() },
        Command::Interrupt { turn: 1 },
        Command::Message { parts: vec![Part::text("again")] },
    ] {
        let decision = bench.due(vec![command]);
        bench.add_all(decision.entries).unwrap();
    }
    let started = bench.due(vec![]);
    let [draft] = &started.entries[..] else { panic!("one entry, not {started:?}") };
    let Fact::StepStarted(body) = &draft.fact else { panic!("a step, not {draft:?}") };
    assert_eq!(body.input.answers, vec![]);
    assert_eq!(body.input.messages.len(), 1);
    assert_eq!(body.input.unfinished.as_ref().map(|one| one.turn), Some(1));
}
