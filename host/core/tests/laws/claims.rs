//! What a call's record hands out of itself: each use its own start, end, hooks, question and answer, and a model
//! its newest reservation.

use std::sync::Arc;

use rewake_core::codec::{Seal, seal};
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    Asker, CallRetried, Custom, Decision as Verdict, Fact, HttpCompleted, HttpLost, HttpOutcome, Lost,
    ModelLost, ModelStarted, Question, QuestionAsked, ToolLost, ToolsRequested, UserAnswer,
};
use rewake_core::ids::{Digest, Head, Timestamp};
use rewake_core::money::Usd;
use rewake_core::replay::{Progress, Recorded, Replay};
use rewake_wire::Sender;

use crate::bench::{USE, bound, hook_started, model_started, tool_started, verdict};
use crate::pins::{self, ADVISER, GUARD};
use rewake_core::fact::{AgentMessage, AgentTitle, TurnSteered};

fn entries(facts: Vec<(u32, Fact)>) -> Vec<Arc<Entry>> {
    let mut head = Head { seq: 10, hash: Digest::default() };
    let sealed = facts.into_iter().map(|(index, fact)| {
        let terms = Seal { epoch: 1, at: Timestamp(1), salt: [0; 16] };
        let place: Place = USE.at_index(index);
        let (entry, _) = seal(&pins::session(), head, terms, Draft::system(place, fact)).unwrap();
        head = Head { seq: entry.seq, hash: entry.hash };
        Arc::new(entry)
    });
    sealed.collect()
}

fn recorded(function: &str, facts: Vec<(u32, Fact)>) -> Recorded {
    Replay::new(&entries(facts)).call(1, function).unwrap().expect("it is recorded")
}

fn seq(entry: Option<&Arc<Entry>>) -> Option<u64> {
    entry.map(|entry| entry.seq)
}

#[test]
fn each_use_has_its_own_of_everything() {
    let asked = |id: &str| {
        let question = Question { id: id.into(), text: "?".into(), choices: vec![], schema: None };
        QuestionAsked { question, by: Asker::Hook(GUARD) }
    };
    let answer = |question: &str| {
        let (sender, value) = (Sender::System, "1".to_owned());
        UserAnswer { n: 1, sender, question: question.into(), value }
    };
    let call = recorded(
        "tools.call",
        vec![
            (0, ToolsRequested { uses: vec![] }.into()),
            (1, hook_started(GUARD, bound("send")).into()),
            (1, hook_started(ADVISER, bound("send")).into()),
            (0, hook_started(ADVISER, bound("send")).into()),
            (1, verdict(12, GUARD, Verdict::Ask, bound("send")).into()),
            (1, verdict(13, ADVISER, Verdict::None, bound("send")).into()),
            (1, asked("mine").into()),
            (0, asked("other").into()),
            (1, answer("before").into()),
            (1, answer("mine").into()),
            (1, tool_started("send", vec![]).into()),
            (0, tool_started("send", vec![]).into()),
            (1, ToolLost { start: 21, why: Lost::Host }.into()),
        ],
    );
    assert_eq!((call.seq(), seq(call.first())), (11, Some(11)));
    assert_eq!([seq(call.asked(1, GUARD)), seq(call.asked(1, ADVISER))], [Some(12), Some(13)]);
    assert_eq!([seq(call.asked(0, ADVISER)), seq(call.asked(0, GUARD))], [Some(14), None]);
    assert_eq!(call.judges(1).collect::<Vec<_>>(), [GUARD, ADVISER]);
    assert_eq!(call.judges(0).collect::<Vec<_>>(), [ADVISER]);
    let judged = |index, hook| match call.judged(index, hook).map(|entry| (entry.seq, &entry.fact)) {
        Some((seq, Fact::HookVerdict(body))) => Some((seq, body.decision)),
        _ => None,
    };
    assert_eq!([judged(1, GUARD), judged(1, ADVISER)], [Some((15, Verdict::Ask)), Some((16, Verdict::None))]);
    assert_eq!(judged(0, ADVISER), None);
    let question = |index| call.question(index).map(|body| body.question.id.as_str());
    assert_eq!([question(1), question(0), question(2)], [Some("mine"), Some("other"), None]);
    let answered = |index, id| call.answer(index, id).map(|body| body.question.as_str());
    assert_eq!([answered(1, "mine"), answered(1, "none"), answered(0, "mine")], [Some("mine"), None, None]);
    assert_eq!(
        [seq(call.started(1)), seq(call.started(0)), seq(call.started(2))],
        [Some(21), Some(22), None]
    );
    assert_eq!([seq(call.ended(1)), seq(call.ended(0))], [Some(23), None]);
    let got = |index, hook| match call.progress(index, hook) {
        Progress::Fresh => (0, false),
        Progress::Open(start) => (start.seq, false),
        Progress::Ended(end) => (end.seq, true),
    };
    assert_eq!([got(0, None), got(1, None), got(2, None)], [(22, false), (23, true), (0, false)]);
    assert_eq!(
        [got(1, Some(GUARD)), got(0, Some(ADVISER)), got(0, Some(GUARD))],
        [(15, true), (14, false), (0, false)]
    );
}

#[test]
fn an_attempt_s_reservation_is_the_newest() {
    let reserved = Usd::from_nanos;
    let started: Fact = ModelStarted { reserved: reserved(5), ..model_started() }.into();
    let retried = |n, nanos| CallRetried { reserved: reserved(nanos), ..CallRetried::again(11, n) };
    let lost: Fact = ModelLost::new(11, Lost::Limit).into();
    let of = |facts: Vec<Fact>| {
        recorded("model.complete", facts.into_iter().map(|fact| (0, fact)).collect()).reserved()
    };
    assert_eq!(of(vec![started.clone()]), reserved(5));
    assert_eq!(of(vec![started.clone(), retried(1, 9).into(), retried(2, 7).into(), lost]), reserved(7));
    assert_eq!(Recorded::default().reserved(), Usd::ZERO);
    assert_eq!((Recorded::default().seq(), Recorded::default().function()), (0, "an unknown call"));
}

#[test]
fn a_call_is_known_by_its_first_entry() {
    let outcome = HttpOutcome::Denied("no".into());
    let refused = HttpCompleted { start: None, request: None, outcome, ms: 0 };
    let custom = Custom { kind: "custom.note".into(), data: serde_json::Value::Null };
    let facts: [(Fact, &str); 7] = [
        (model_started().into(), "model.complete"),
        (ToolsRequested { uses: vec![] }.into(), "tools.call"),
        (hook_started(GUARD, bound("send")).into(), "http.fetch"),
        (refused.into(), "http.fetch"),
        (AgentMessage::new(vec![]).into(), "session.say"),
        (AgentTitle { title: "t".into() }.into(), "session.set-title"),
        (custom.into(), "session.emit"),
    ];
    for (fact, function) in facts {
        assert_eq!(recorded(function, vec![(0, fact)]).function(), function);
    }
    let other = entries(vec![(0, TurnSteered { commands: vec![] }.into())]);
    let error = Replay::new(&other).call(1, "session.say").unwrap_err();
    assert_eq!((error.seq, error.expected.as_str()), (11, "an unknown call as call 1"));
    let lost = recorded(
        "http.fetch",
        vec![
            (0, hook_started(GUARD, bound("send")).into()),
            (0, HttpLost { start: 11, why: Lost::Host, refused: None }.into()),
        ],
    );
    assert_eq!((seq(lost.started(0)), seq(lost.ended(0))), (None, Some(12)));
}
