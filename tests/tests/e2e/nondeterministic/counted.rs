//! What is not recorded call by call, because its answer is pinned, seeded or nobody's to know: how often it was
//! called stands at the step's end, and a replay of the step compares that. And what else the end of a step says.

use rewake_core::entry::Draft as Fresh;
use rewake_core::error::Mismatch;
use rewake_core::fact::{Fact, StepCompleted};
use rewake_core::ids::SessionId;
use rewake_tests::Outcome;
use serde_json::{Value, json};

use super::rows::op_say;
use super::{END, Pair, bundle, list, seq_of, server, tell};

/// Such functions, by the host's name and by that of its count.
pub(super) const COUNTED: [(&str, &str); 8] = [
    ("tools_list", "tools.list-tools"),
    ("session_info", "session.info"),
    ("session_set_activity", "session.set-activity"),
    ("session_spawn", "session.spawn"),
    ("session_archive", "session.archive"),
    ("log", "log.log"),
    ("random_bytes", "random"),
    ("random_u64", "random"),
];

/// What calls each of them that a harness can call here.
fn all_of_them() -> Value {
    json!([
        { "op": "list_tools" }, { "op": "info" }, { "op": "activity", "text": "a" }, { "op": "random" },
        { "op": "spawn", "agent": "a/b", "text": "x" }, { "op": "log", "text": "l", "times": 3 }, { "op": "hash_map" },
    ])
}

fn completed(drafts: &mut [Fresh]) -> &mut StepCompleted {
    let found = drafts.iter_mut().find_map(|draft| match &mut draft.fact {
        Fact::StepCompleted(completed) => Some(completed),
        _ => None,
    });
    found.expect("a completed step")
}

impl Pair {
    /// Replays a journal in the second world; the first difference.
    async fn replayed(&self, id: &SessionId, drafts: Vec<Fresh>) -> Option<Mismatch> {
        let entries = drafts.len();
        self.put(id, drafts).await;
        let mismatch = self.second.own().replay(id).await.expect("replayable").mismatch;
        assert_eq!(self.second.events(id).await.0.len(), entries, "a replay changes nothing");
        assert_eq!(self.second.store.fault(id).await.unwrap(), None);
        mismatch
    }
}

/// B38, R7: every call is recorded or counted, whatever its kind.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_more_or_fewer_of_what_is_only_counted_is_found() {
    let server = server();
    let pair = Pair::new(bundle(&server)).await;
    for (_, function) in COUNTED {
        let (id, mut drafts) = pair.record(&list(&all_of_them())).await;
        let calls = &mut completed(&mut drafts).calls;
        let now = calls.get(function).copied();
        assert_eq!(now.is_some(), function != "session.archive", "{calls:?}");
        calls.insert(function.to_owned(), now.unwrap_or(0) + 1);
        let seq = seq_of(&drafts, "step.completed").unwrap();
        let mismatch = pair.replayed(&id, drafts).await.expect("a difference");
        let key =
            if function.contains('.') { format!("calls[{function:?}]") } else { format!("calls.{function}") };
        assert_eq!((mismatch.seq, mismatch.field), (seq, key));
        assert_eq!(mismatch.expected, (now.unwrap_or(0) + 1).to_string());
        assert_eq!(mismatch.got, now.map_or("nothing".to_owned(), |now| now.to_string()));
    }
}

/// What a step wants next, what it saved, and what it does after all that is recorded.
#[tokio::test(flavor = "multi_thread")]
async fn another_end_of_a_step_is_told_field_by_field() {
    let server = server();
    let pair = Pair::new(bundle(&server)).await;
    let ask = |text: &str| json!({ "op": "ask", "id": "q", "text": text, "choices": ["yes"] });
    let say = || op_say("a");
    let wait = || json!({ "op": "wait", "on_message": true });
    let clock = || json!({ "op": "clock" });
    for (first, second, field, expected, got) in [
        (json!([ask("May I?")]), json!([ask("May we?")]), "next.ask[0].text", "\"May I?\"", "\"May we?\""),
        (json!([ask("May I?")]), json!([wait()]), "next.ask", "[{", "nothing"),
        (
            json!([say(), wait(), say()]),
            json!([say(), wait()]),
            // The bytes of the recorded state are not in this world's store.
            "state.digest",
            "\"",
            "\"",
        ),
        (
            json!([say(), wait()]),
            json!([say(), say(), wait()]),
            "function",
            "the end of the step",
            "session.say as call 2, which is not recorded",
        ),
        (
            json!([say(), wait()]),
            json!([say(), clock(), wait()]),
            "function",
            "the end of the step",
            "wall-clock.now after call 1, which is not recorded",
        ),
    ] {
        let (id, mut drafts) = pair.record(&list(&first)).await;
        tell(&mut drafts, &list(&second));
        let seq = seq_of(&drafts, "step.completed").unwrap();
        let mismatch = pair.replayed(&id, drafts).await.expect("a difference");
        assert_eq!((mismatch.seq, mismatch.field.as_str()), (seq, field), "{mismatch}");
        assert!(mismatch.expected.starts_with(expected) && mismatch.got.starts_with(got), "{mismatch}");
    }
}

/// Words for people are not compared: diagnostics and activities may say anything.
#[tokio::test(flavor = "multi_thread")]
async fn other_diagnostics_are_no_difference() {
    let server = server();
    let pair = Pair::new(bundle(&server)).await;
    let said =
        |text: &str| json!([{ "op": "log", "text": text }, { "op": "activity", "text": text }, op_say("a")]);
    let (id, mut drafts) = pair.cut(&said("one")).await;
    let mut ops = list(&said("another"));
    ops.push(op_say(END));
    tell(&mut drafts, &ops);
    pair.put(&id, drafts).await;
    assert_eq!(pair.second.resume(&id).await, Outcome::Idle);
    assert_eq!(pair.second.check(&id).await.count("turn.completed"), 1);
}
