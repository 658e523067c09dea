//! Hooks that were asked and have not answered when something else comes: their host dies, a person answers what one
//! of them wanted to know, another one ends the turn. No host, no guest.

use rewake_core::command::Command;
use rewake_core::entry::Place;
use rewake_core::fact::{
    Asker, CallRetried, Changes, Decision as Verdict, HookEvent, HookVerdict, LogLines, Question,
    QuestionAsked, TurnWaiting, UserMessage, WaitOn,
};
use rewake_core::firing::FiringStart;
use rewake_core::{ALLOW, question_id};
use rewake_wire::Sender;

use crate::bench::{Bench, USE, arguments, bound, bound_as, hook_started, kinds, refused, verdict};
use crate::hooks::{done, fired, with};
use crate::judges::request;
use crate::pins::{ADVISER, GUARD};

/// R5: a hook may have acted on what it was asked, so the next host asks with the key of the first start; and what is
/// open about one message, round or hook is no start of another's.
#[test]
fn a_hook_whose_host_died_is_asked_again_with_its_key() {
    let twice = |bench, event| with(with(bench, event), event);
    let mut prompts = twice(Bench::in_turn(), HookEvent::UserPromptSubmit);
    prompts.add(Place::turn(1), UserMessage { n: 2, sender: Sender::System, parts: vec![] }).unwrap();
    let mut stops = twice(Bench::in_step(), HookEvent::Stop);
    done(&mut stops);
    let mut ends = twice(Bench::in_turn(), HookEvent::SessionEnd);
    let stopped = ends.due(vec![Command::Stop { reason: "enough".into() }]);
    ends.add_all(stopped.entries).unwrap();
    for (mut bench, count) in [(prompts, 4), (stops, 2), (ends, 2)] {
        let due = fired(bench.due(vec![]));
        assert_eq!((due.len(), due.iter().filter(|firing| firing.start.is_none()).count()), (count, count));
        for (at, firing) in due.iter().enumerate() {
            let mut bench = bench.clone();
            let seq = bench.record(firing.place, firing.started()).unwrap();
            let key = bench.session.head.hash;
            bench.load();
            // Hooks of the start come before these; they are not what this is about.
            bench.session.load.stepped = true;
            let mut expected = due.clone();
            expected[at].start = Some(FiringStart { seq, key, next_try: Some(1) });
            assert_eq!(fired(bench.due(vec![])), expected);
        }
    }
}

/// R2: joined by the question's id, not by which was asked last.
#[test]
fn an_answer_stands_at_the_use_that_it_is_about() {
    let mut bench = Bench::in_step();
    bench.record(USE, request(&[GUARD], &[])).unwrap();
    let uses = [USE, USE.at_index(1)];
    for place in uses {
        let bound = bound_as(place, "send", arguments());
        let start = bench.record(place, hook_started(GUARD, bound)).unwrap();
        bench.record(place, verdict(start, GUARD, Verdict::Ask, bound)).unwrap();
        let question =
            Question { id: question_id(place), text: "May it?".into(), choices: vec![], schema: None };
        bench.record(place, QuestionAsked { question, by: Asker::Hook(GUARD) }).unwrap();
    }
    let waits = TurnWaiting { on: WaitOn::Answers(uses.map(question_id).to_vec()) };
    bench.record(Place::turn(1), waits).unwrap();
    for place in uses {
        let answer = Command::Answer { question: question_id(place), value: ALLOW.into() };
        let due = bench.due(vec![answer]);
        assert_eq!((kinds(&due.entries), due.entries[0].place), (vec!["user.answer"], place));
        bench.add_all(due.entries).unwrap();
    }
}

/// hooks.md: `end_turn` lets nothing start any more; what has begun still says how it ended.
#[test]
fn what_has_begun_ends_though_a_hook_ends_the_turn() {
    let mut bench = Bench::requested("send", &[GUARD, ADVISER]);
    let bound = bound("send");
    let [guard, adviser] = [GUARD, ADVISER].map(|hook| bench.record(USE, hook_started(hook, bound)).unwrap());
    let changes = Changes { end_turn: Some("enough".into()), ..Changes::default() };
    bench.record(USE, HookVerdict { changes, ..verdict(guard, GUARD, Verdict::Allow, bound) }).unwrap();
    let ends = "a hook ends the turn; nothing of it starts any more";
    refused(&bench, USE, CallRetried::again(adviser, 1), ends);
    bench.record(USE, LogLines { component: "laws/agent:hooks".into(), lines: vec![], dropped: 0 }).unwrap();
    bench.record(USE, verdict(adviser, ADVISER, Verdict::None, bound)).unwrap();
}
