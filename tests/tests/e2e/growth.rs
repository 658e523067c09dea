//! Growth is linear (journal.md R14): a session whose every request holds all that was said before takes what is
//! new in each, and a constant an entry.

use std::fmt::Write as _;

use rewake_models::request_store;
use rewake_runtime::PROJECT;
use rewake_tests::bundles::Draft;
use rewake_tests::{Outcome, World};
use serde_json::json;

/// Steps, each with one call of the model.
const STEPS: usize = 1_000;
/// Bytes of a reply.
const REPLY_BYTES: usize = 200;
/// Bytes in the store that an entry may take beside its texts: its columns, its payload's own words, the blobs that
/// it names, and their places in the indexes.
const ENTRY_BYTES_MAX: u64 = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_steps_take_what_is_new_in_each() {
    let mut script = String::new();
    for n in 0..STEPS {
        writeln!(script, "[[reply]]\ntext = \"{n} {}\"", "x".repeat(REPLY_BYTES)).unwrap();
    }
    let world = World::new().await;
    let agent = format!("[agent]\nscript = \"script.toml\"\nmax_steps = {}", STEPS + 1);
    let id = world.create(&Draft::scripted().toml(&agent).file("script.toml", script.as_str())).await;
    // What is there before anything is said: the bundle, its components, the script.
    let before = world.copy().await.close().await;
    let op = |n: usize| [json!({ "op": "model", "text": n.to_string() }), json!({ "op": "more" })];
    let message = json!((0..STEPS).flat_map(op).collect::<Vec<_>>()).to_string();
    assert_eq!(world.run(&id, &message).await, Outcome::Idle);

    let events = world.events(&id).await;
    let starts: Vec<u64> = events.of_kind("model.started").map(|event| event.seq).collect();
    assert_eq!(starts.len(), STEPS);
    let last =
        request_store::read(world.store.as_ref(), PROJECT, &id, starts[STEPS - 1]).await.expect("it is kept");
    assert_eq!(last.messages.len(), 2 * STEPS - 1);
    let replies = STEPS * REPLY_BYTES;
    // The harness says in the end what it has learned, and its state holds what it has still to do.
    let report: usize = events.said().iter().map(String::len).sum();
    let texts = (message.len() + replies + report) as u64;
    let entries = events.0.len() as u64;
    let after = world.close().await;
    // The last two states are kept; each holds the conversation, and what was learned of it.
    let states = 2 * (2 * replies + message.len()) as u64;
    let (took, may) = (after - before, 3 * texts + ENTRY_BYTES_MAX * entries + states);
    assert!(took <= may, "{took} bytes for {entries} entries and {texts} bytes of texts; {may} at most");
}

/// Turns, each with one long answer.
const TURNS: usize = 12;
/// Bytes of such an answer, about. All of them are in one script, which is a mebibyte at most.
const ANSWER_BYTES: usize = 80_000;

/// N-D6: a long answer is in two entries, in the next request, in the saved states and in the snapshots. The store has
/// it once, where R14 allows it three times.
#[tokio::test(flavor = "multi_thread")]
async fn long_answers_are_stored_once() {
    // With quotes and line breaks, which JSON escapes.
    let line = |n: usize| format!("answer {n} says \"no\" and then goes on about {}\n", "it ".repeat(20));
    let answer = |n: usize| line(n).repeat(ANSWER_BYTES / line(n).len()).trim_end().to_owned();
    let replies: Vec<_> = (0..TURNS).map(|n| json!({ "text": answer(n) })).collect();
    let texts: usize = (0..TURNS).map(|n| answer(n).len()).sum();
    let world = World::with_snapshots(20).await;
    let id = world.create(&crate::assistant::assistant(&json!({ "reply": replies }).to_string())).await;
    let before = world.copy().await.close().await;
    for n in 0..TURNS {
        assert_eq!(world.run(&id, &format!("question {n}")).await, Outcome::Idle);
    }
    let events = world.check(&id).await;
    assert_eq!(events.said().len(), TURNS);
    let entries = events.0.len() as u64;
    let after = world.close().await;
    let (took, may) = (after - before, texts as u64 + ENTRY_BYTES_MAX * entries);
    assert!(took <= may, "{took} bytes for {entries} entries and {texts} bytes of texts; {may} at most");
}
