//! A denied tool has no effect, however it is reached, and wherever its host is killed.

use rewake_tests::bundles::Draft;
use rewake_tests::play::Scenario;
use serde_json::{Value, json};

fn append(name: &str, line: &str) -> Value {
    json!({ "name": name, "input": { "path": "/workspace/log", "line": line } })
}

/// The scripted bundle with a hook that denies a tool, chosen by this matcher.
fn denying(draft: Draft, tool: &str, matcher: &str) -> Draft {
    let on = format!("[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = {matcher:?}");
    draft.hook(&[("deny", tool)], &on)
}

/// Every line that was learned of a use of the denied tool is a denial, nothing of it was started, and
/// there is no trace of it in the workspace.
async fn no_effect(bundle: Draft, ops: &Value, denials: usize) {
    let scenario = Scenario::new(bundle).say(ops);
    scenario
        .varies()
        .everywhere(|world, id, events| {
            assert_eq!(world.workspace_file(id, "log"), None, "it ran");
            let learned: Vec<String> = events.learned().concat();
            let denied = learned.iter().filter(|line| line.contains(": denied: ")).count();
            assert_eq!(denied, denials, "{learned:?}");
            let ran: Vec<_> =
                events.of_kind("tool.completed").filter(|end| end.data["outcome"] == "denied").collect();
            assert!(ran.len() >= denials && ran.iter().all(|end| end.data.get("start").is_none()), "{ran:?}");
        })
        .await;
}

/// Alone, beside others, twice at once, again in the next step, and with an input that is spelled in
/// another way.
#[tokio::test(flavor = "multi_thread")]
async fn when_the_harness_calls_it() {
    let harmless = json!({ "name": "sleep_pure", "input": { "ms": 0 } });
    let spelled =
        json!({ "name": "append_once", "raw": " {\"line\":\"d\",\"path\":\"/workspace/\\u006cog\"} " });
    let once = |line| append("append_once", line);
    let ops = json!([
        { "op": "tools", "uses": [once("a")] },
        { "op": "tools", "uses": [harmless, once("b"), once("b"), harmless] },
        { "op": "more" },
        { "op": "tools", "uses": [spelled] },
    ]);
    no_effect(denying(Draft::scripted(), "append_once", "append_once"), &ops, 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_model_asks_for_it() {
    let replies = r#"
[[reply]]
text = "I will."

[[reply.use]]
tool = "append_once"
input = { path = "/workspace/log", line = "a" }

[[reply]]
text = "Done."
"#;
    let ops = json!([{ "op": "model", "text": "do it" }, { "op": "model", "text": "and?" }]);
    no_effect(denying(Draft::scripted().model(replies), "append_once", "append_once"), &ops, 1).await;
}

/// A name can be changed; what a tool can do cannot.
#[tokio::test(flavor = "multi_thread")]
async fn when_it_has_another_name() {
    let agent = "[agent]\ntools = [{ from = \"test/scripted:append_once\", as = \"note\" }]";
    for matcher in ["effect:once", "grant:fs-rw"] {
        let bundle = denying(Draft::scripted().toml(agent), "note", matcher);
        no_effect(bundle, &json!([{ "op": "tools", "uses": [append("note", "a")] }]), 1).await;
    }
}
