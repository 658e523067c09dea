//! What a guest that never gives way costs the session beside it: little.

use std::time::{Duration, Instant};

use rewake_tests::bundles::Draft;
use rewake_tests::{Outcome, Running, World};
use serde_json::json;
use tokio::sync::Mutex;

/// Turns that a median is taken of.
const TURNS: usize = 15;
/// How long is tried; the machine does other things as well, and one good try shows what a guest can be kept
/// to.
const TRIED: Duration = Duration::from_secs(150);
/// One of these tests at a time: they would measure one another.
static ALONE: Mutex<()> = Mutex::const_new(());
/// What the clock and the disk are allowed beside the ratio.
const SLACK: Duration = Duration::from_millis(1);

/// The median time of a neighbour's turn with a tool call.
async fn median(session: &mut Running) -> Duration {
    let ops = json!([{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 0 } }] }]);
    let mut times = Vec::new();
    for _ in 0..TURNS {
        let since = Instant::now();
        session.send(&ops.to_string()).await;
        session.event("turn.completed").await;
        times.push(since.elapsed());
    }
    times.sort_unstable();
    times[TURNS / 2]
}

/// Runs a neighbour alone and beside a guest that is busy for ever, until once the second takes at most
/// twice what the first does.
async fn beside(busy: &str) {
    let _alone = ALONE.lock().await;
    let world = World::new().await;
    let limits = "timeout = \"300s\"\nfuel = 1_000_000_000_000";
    let hostile = Draft::new("test/busy").harness("harness_script").harness_limits(limits).tools_within(
        "tool_hostile",
        "ro",
        limits,
    );
    let (id, other) = (world.create(&Draft::scripted()).await, world.create(&hostile).await);
    let host = world.host();
    let mut neighbour = Running::rested(&host, &id).await;
    let mut seen = Vec::new();
    let since = Instant::now();
    while since.elapsed() < TRIED {
        let quiet = median(&mut neighbour).await;
        let mut spinning = Running::start(&host, &other, busy).await;
        // A step that is loaded again has no second start.
        spinning.event(if busy.contains("\"tools\"") { "tool.started" } else { "session.loaded" }).await;
        let loud = median(&mut neighbour).await;
        spinning.unload().await;
        seen.push((quiet, loud));
        if loud <= 2 * quiet + SLACK {
            assert_eq!(neighbour.rest().await, Outcome::Idle);
            neighbour.unload().await;
            world.check(&id).await;
            return;
        }
    }
    panic!("alone and beside {busy}: {seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_computes_for_ever() {
    beside(r#"[{ "op": "tools", "uses": [{ "name": "spin", "input": {} }] }]"#).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harness_that_computes_for_ever() {
    beside(r#"[{ "op": "spin" }]"#).await;
}

/// The host answers each of its calls at once, and still comes to others.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_calls_the_host_for_ever() {
    beside(r#"[{ "op": "tools", "uses": [{ "name": "flood", "input": {} }] }]"#).await;
    beside(&json!([{ "op": "log", "text": "x".repeat(100_000), "times": u32::MAX }]).to_string()).await;
}
