//! Every session is also killed after every transaction, loaded again, here and from a copy of its data
//! folder, and must come to the same.

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_tests::World;
use rewake_tests::bundles::Draft;
use rewake_tests::play::Scenario;
use serde_json::{Value, json};

fn append(name: &str, line: &str) -> Value {
    json!({ "name": name, "input": { "path": "/workspace/log", "line": line } })
}

/// How often a tool wrote each of these lines.
fn written<'a>(world: &World, id: &SessionId, lines: &'a [&str]) -> Vec<(&'a str, usize)> {
    let log = world.workspace_file(id, "log").unwrap_or_default();
    lines.iter().map(|line| (*line, log.lines().filter(|other| other == line).count())).collect()
}

/// A13: wherever the host dies, the next load runs the same code and gives the same session.
#[tokio::test(flavor = "multi_thread")]
async fn steps_without_effects() {
    let ops = json!([
        { "op": "say", "text": "one" },
        { "op": "more" },
        { "op": "emit", "kind": "custom.note", "data": { "x": 0.1 } },
        { "op": "list_tools" },
        { "op": "info" },
        { "op": "more" },
        { "op": "title", "text": "cut" },
        { "op": "log", "text": "a line" },
        { "op": "activity", "text": "talking" },
        { "op": "say", "text": "two" },
    ]);
    let scenario = Scenario::new(Draft::scripted()).say(&ops);
    scenario.everywhere(|_, _, events| assert_eq!(events.count("custom.note"), 1)).await;
}

/// R4, `N-A1`: of writers of one request, a crash loses the one that ran at most: those that waited had not begun, and
/// run in their order afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn writers_that_wait() {
    let lines = ["a", "b", "c"];
    let uses = lines.map(|line| append("append_once", line));
    let scenario = Scenario::new(Draft::scripted()).say(&json!([{ "op": "tools", "uses": uses }]));
    scenario
        .everywhere(|world, id, events| {
            let lost = events.count("tool.lost");
            assert!(lost <= 1, "{lost} calls are lost");
            assert_eq!(events.count("tool.completed") + lost, lines.len());
            let log = world.workspace_file(id, "log").unwrap_or_default();
            let written: Vec<&str> = log.lines().collect();
            assert!(written.is_sorted() && written.len() + lost >= lines.len(), "{written:?}");
        })
        .await;
}

/// R5: readers run side by side, and all that a crash cut off are performed again.
#[tokio::test(flavor = "multi_thread")]
async fn readers_side_by_side() {
    let uses = [3, 1, 2].map(|ms| json!({ "name": "sleep_pure", "input": { "ms": ms } }));
    let readers = Draft::new("test/ro").harness("harness_script").tools("tool_probe", "ro");
    let scenario = Scenario::new(readers).say(&json!([{ "op": "tools", "uses": uses }]));
    scenario
        .everywhere(|_, _, events| {
            assert_eq!((events.count("tool.started"), events.count("tool.completed")), (3, 3));
        })
        .await;
}

/// R5, X2, A44, B29: after a crash, a `once` call is not retried and its outcome is `unknown`; the others are
/// retried.
#[tokio::test(flavor = "multi_thread")]
async fn tools_of_every_class() {
    let ops = json!([
        { "op": "tools", "uses": [append("append_idempotent", "a"), append("append_once", "b")] },
        { "op": "more" },
        { "op": "tools", "uses": [
            { "name": "sleep_pure", "input": { "ms": 1 } },
            { "name": "fail", "input": { "message": "no" } },
            { "name": "nothing" },
        ] },
        { "op": "tools", "uses": [append("append_once", "c")] },
    ]);
    let scenario = Scenario::new(Draft::scripted()).say(&ops);
    scenario
        .everywhere(|world, id, events| {
            for (line, count) in written(world, id, &["a", "b", "c"]) {
                assert!(count <= 1 || line == "a", "a call of class `once` was repeated: {line}");
            }
            assert!(written(world, id, &["a"])[0].1 >= 1, "an idempotent call was lost");
            let learned = events.learned().pop().unwrap();
            let unknown = learned.iter().filter(|line| line.contains(": unknown")).count();
            assert_eq!(unknown, events.count("tool.lost"));
        })
        .await;
}

/// hooks.md, R4: no verdict is asked for twice, and a denied call has no effect, wherever the host dies.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_on_tools() {
    let bundle = Draft::scripted().hook(
        &[("deny", "append_once"), ("allow", "append_idempotent"), ("context", "watched")],
        "[[component.probe.on]]\nevent = \"PreToolUse\"\n\n[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = \"effect:idempotent\"",
    );
    let ops = json!([
        { "op": "tools", "uses": [append("append_once", "b"), append("append_idempotent", "a"), { "name": "sleep_pure", "input": { "ms": 1 } }] },
        { "op": "say", "text": "between" },
        { "op": "tools", "uses": [append("append_once", "b")] },
    ]);
    let scenario = Scenario::new(bundle).say(&ops);
    scenario
        .everywhere(|world, id, events| {
            assert_eq!(written(world, id, &["b"])[0].1, 0, "a denied call had an effect");
            assert!(written(world, id, &["a"])[0].1 >= 1);
            assert_eq!((events.count("hook.started"), events.count("hook.verdict")), (6, 6));
        })
        .await;
}

/// Every firing is a call: no verdict is lost or asked for twice, and what hooks replaced stays replaced.
#[tokio::test(flavor = "multi_thread")]
async fn hooks_on_everything() {
    let on = |event: &str, rest: &str| format!("[[component.probe.on]]\nevent = \"{event}\"{rest}\n");
    let bundle = Draft::scripted().hook(
        &[("context", "heard"), ("block", "Stop,append_once"), ("output", "replaced"), ("title", "cut")],
        &[
            on("UserPromptSubmit", ""),
            on("PostToolUse", "\nrewrites = true"),
            on("PostToolUseFailure", ""),
            on("Stop", ""),
            on("SessionEnd", ""),
        ]
        .concat(),
    );
    let ops = json!([
        { "op": "tools", "uses": [append("append_idempotent", "a"), { "name": "fail", "input": { "message": "no" } }] },
        { "op": "say", "text": "between" },
    ]);
    let scenario = Scenario::new(bundle).say(&ops).send(Command::Stop { reason: "enough".into() });
    scenario
        .everywhere(|_, _, events| {
            let hook =
                |n: u64| events.of_kind("hook.verdict").filter(move |event| event.data["hook"] == n).count();
            assert_eq!([0, 1, 2, 3, 4].map(hook), [1, 1, 1, 2, 1]);
            assert_eq!(events.count("hook.started"), 6);
            assert_eq!(events.learned()[0][1], "use-1: ok: replaced");
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_uses_tools() {
    let replies = r#"
[[reply]]
text = "Let me look."
[[reply.use]]
tool = "append_idempotent"
input = { path = "/workspace/log", line = "a" }
[[reply.use]]
tool = "echo"

[[reply]]
text = "Done."
"#;
    let ops =
        json!([{ "op": "model", "text": "do it" }, { "op": "more" }, { "op": "model", "text": "and?" }]);
    let scenario = Scenario::new(Draft::scripted().model(replies)).say(&ops);
    scenario
        .varies()
        .everywhere(|world, id, events| {
            let learned = events.learned().pop().unwrap();
            assert_eq!(learned[0], "model: Let me look.");
            assert_eq!(learned[1], "use_1_1: ok: appended a");
            assert_eq!(learned.last().unwrap(), "model: Done.");
            assert!(written(world, id, &["a"])[0].1 >= 1);
            assert_eq!((events.count("model.started"), events.count("model.completed")), (2, 2));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_and_its_answer() {
    let ops = json!([
        { "op": "say", "text": "before" },
        { "op": "ask", "id": "q", "text": "Go on?" },
        { "op": "tools", "uses": [append("append_idempotent", "a")] },
    ]);
    let scenario = Scenario::new(Draft::scripted())
        .say(&ops)
        .answer("q", &json!({ "go": true }))
        .answer("q", &json!("too late"))
        .say(&json!([]));
    scenario.everywhere(|_, _, events| assert_eq!(events.count("user.answer"), 1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_for_a_message_and_for_a_time() {
    let ops = json!([
        { "op": "wait", "on_message": true },
        { "op": "say", "text": "heard" },
        { "op": "wait", "ms": 1, "on_message": true },
        { "op": "say", "text": "awake" },
    ]);
    let scenario = Scenario::new(Draft::scripted()).say(&ops).say(&json!("wake up")).varies();
    scenario
        .everywhere(|_, _, events| {
            let learned = events.learned();
            if let Some(last) = learned.last() {
                assert!(last.contains(&"heard: \"wake up\"".to_owned()), "{learned:?}");
            }
            assert_eq!(events.count("turn.started"), 1);
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_turns_and_a_stop() {
    let ops = |line: &str| json!([{ "op": "tools", "uses": [append("append_idempotent", line)] }, { "op": "more" }, { "op": "say", "text": line }]);
    let scenario = Scenario::new(Draft::scripted())
        .say(&ops("a"))
        .say(&ops("b"))
        .send(Command::Interrupt { turn: 1 })
        .send(Command::Stop { reason: "enough".into() });
    scenario
        .everywhere(|world, id, events| {
            assert!(written(world, id, &["a", "b"]).iter().all(|(_, count)| *count >= 1));
            assert_eq!(events.count("session.stopped"), 1);
        })
        .await;
}

/// R9: a turn that fails fails once, closes what was open, and the next is told.
#[tokio::test(flavor = "multi_thread")]
async fn turns_that_fail() {
    let failing = |op: &str| json!([{ "op": "say", "text": op }, { "op": "more" }, { "op": "tools", "uses": [append("append_idempotent", "a")] }, { "op": op, "code": "no_luck" }]);
    let trap = json!([{ "op": "say", "text": "to the wall" }, { "op": "trap" }]);
    let scenario = Scenario::new(Draft::scripted())
        .say(&failing("fail"))
        .say(&trap)
        .say(&json!([{ "op": "say", "text": "alive" }]));
    scenario.everywhere(|_, _, events| assert_eq!(events.count("turn.failed"), 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_fails() {
    let ops = json!([{ "op": "say", "text": "oh" }, { "op": "fail", "session": true, "code": "broken" }]);
    let scenario = Scenario::new(Draft::scripted()).say(&json!([])).say(&ops);
    scenario.everywhere(|_, _, events| assert_eq!(events.count("session.failed"), 1)).await;
}

/// R7: what a step observed is what it observes again; its journal replays.
#[tokio::test(flavor = "multi_thread")]
async fn observations() {
    let ops = json!([
        { "op": "clock" },
        { "op": "random" },
        { "op": "say", "text": "one" },
        { "op": "sleep", "ms": 3 },
        { "op": "clock" },
        { "op": "hash_map" },
        { "op": "events", "kinds": ["agent.message", "session.loaded"] },
        { "op": "tools", "uses": [append("append_idempotent", "a")] },
        { "op": "sleep", "ms": 1 },
        { "op": "events", "newest_first": true, "limit": 2 },
        { "op": "say", "text": "two" },
        { "op": "clock" },
        { "op": "more" },
        { "op": "random" },
        { "op": "sleep", "ms": 1 },
    ]);
    let scenario = Scenario::new(Draft::scripted()).say(&ops).varies();
    scenario.everywhere(|_, _, events| assert_eq!(events.learned().len(), 1)).await;
}
