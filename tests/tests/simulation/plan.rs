//! What a seed chooses before anything runs: the bundle, and the messages with their operations. Does not know
//! what will go wrong meanwhile.

use std::slice::from_ref;

use rewake_tests::bundles::Draft;
use rewake_tests::chooser::Chooser;
use serde_json::{Value, json};

/// The file that tools write to: the world outside of the store, which no kill takes back.
pub(crate) const LOG: &str = "/workspace/log";

/// How the people behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum People {
    /// They send the next thing when nothing is being done: whatever went wrong, the session must say the same.
    Calm,
    /// They send at any moment, twice, too late, and interrupt and stop.
    Wild,
}

/// A seed's session.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Which of [`bundles`].
    pub(crate) bundle: usize,
    /// Entries between two snapshots.
    pub(crate) snapshot_entries: u64,
    pub(crate) people: People,
    /// The messages, each a list of operations for the scripted harness.
    pub(crate) messages: Vec<String>,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Plan {
        let mut chooser = Chooser::new(seed, 1);
        let people = if chooser.one_in(3) { People::Calm } else { People::Wild };
        let bundle = usize::try_from(chooser.below(BUNDLES)).unwrap_or(0);
        let snapshot_entries = *chooser.pick(&[2, 5, 12, 1_000]);
        let turns = 1 + chooser.below(3);
        let messages = (1..=turns).map(|turn| message(&mut chooser, turn, turn == turns)).collect();
        Plan { bundle, snapshot_entries, people, messages }
    }
}

fn message(chooser: &mut Chooser, turn: u64, is_last: bool) -> String {
    let mut ops = Vec::new();
    for at in 0..chooser.below(6) {
        ops.push(operation(chooser, turn, at));
        if chooser.one_in(4) {
            ops.push(json!({ "op": "more" }));
        }
    }
    match chooser.below(12) {
        0 => ops.push(json!({ "op": "fail", "code": "no_luck" })),
        1 => ops.push(json!({ "op": "trap" })),
        2 if is_last => ops.push(json!({ "op": "fail", "session": true, "code": "broken" })),
        _ => {}
    }
    Value::Array(ops).to_string()
}

fn operation(chooser: &mut Chooser, turn: u64, at: u64) -> Value {
    match chooser.below(18) {
        0..=6 => {
            let uses = 1 + chooser.below(3);
            let uses: Vec<Value> = (0..uses).map(|nth| one_use(chooser, turn, at, nth)).collect();
            json!({ "op": "tools", "uses": uses })
        }
        7 | 8 => json!({ "op": "model", "text": format!("question {turn}.{at}") }),
        9 => json!({ "op": "ask", "id": format!("q{turn}-{at}"), "text": "Go on?" }),
        10 => json!({ "op": "wait", "ms": 900, "on_message": chooser.one_in(2) }),
        11 => json!({ "op": "wait", "on_message": true }),
        12 => json!({ "op": "emit", "kind": "custom.note", "data": { "at": at } }),
        13 => json!({ "op": "events", "kinds": ["agent.message", "user.message"] }),
        14 => json!({ "op": "title", "text": format!("title {turn}.{at}") }),
        15 => json!({ "op": *chooser.pick(&["clock", "random", "info", "list_tools"]) }),
        16 => json!({ "op": "log", "text": "a line" }),
        _ => json!({ "op": "say", "text": format!("said {turn}.{at}") }),
    }
}

/// A use of a tool. What tools write is different for every use, so that what was written can be counted.
fn one_use(chooser: &mut Chooser, turn: u64, at: u64, nth: u64) -> Value {
    let sleep_ms = *chooser.pick(&[0, 0, 1, 20, 700]);
    let append = |name: &str| {
        let input = json!({ "path": LOG, "line": format!("{name} {turn}.{at}.{nth}"), "sleep_ms": sleep_ms });
        json!({ "name": name, "input": input })
    };
    match chooser.below(12) {
        0..=3 => append("append_once"),
        4..=6 => append("append_idempotent"),
        7 | 8 => json!({ "name": "sleep_pure", "input": { "ms": sleep_ms } }),
        9 => json!({ "name": "fail", "input": { "message": "as scripted" } }),
        10 => json!({ "name": "echo", "input": { "use": format!("{turn}.{at}.{nth}") } }),
        _ => json!({ "name": *chooser.pick(&["trap", "nothing"]) }),
    }
}

/// How many bundles there are.
const BUNDLES: u64 = 7;

/// What sessions run: the scripted harness, the probe's tools, a model, and hooks of one kind or another.
pub(crate) fn bundles() -> Vec<Draft> {
    let on = |event: &str, rest: &str| format!("[[component.probe.on]]\nevent = \"{event}\"\n{rest}\n");
    let before = on("PreToolUse", "");
    let hooked = |name: &str, config: &[(&str, &str)], on: &[String]| bundle(name).hook(config, &on.concat());
    let rewritten = format!("{{\"path\":\"{LOG}\",\"line\":\"rewritten\"}}");
    let bundles = vec![
        bundle("plain"),
        hooked(
            "judges",
            &[("deny", "fail"), ("allow", "append_idempotent"), ("context", "watched")],
            from_ref(&before),
        ),
        hooked("asks", &[("ask", "append_once,echo"), ("context", "asked")], from_ref(&before)),
        hooked(
            "all",
            &[
                ("block", "Stop,append_once"),
                ("output", "replaced"),
                ("context", "heard"),
                ("title", "named"),
            ],
            &[
                on("UserPromptSubmit", ""),
                on("PostToolUse", "rewrites = true"),
                on("PostToolUseFailure", ""),
                on("Stop", ""),
                on("SessionStart", ""),
                on("SessionEnd", ""),
            ],
        ),
        hooked(
            "crashes",
            &[("trap_on", "append_once,Stop"), ("end_turn", "fail")],
            &[before.clone(), on("Stop", "")],
        ),
        hooked(
            "rewrites",
            &[("input", &rewritten)],
            &[
                on("PreToolUse", "matcher = \"append_idempotent\"\nrewrites = true"),
                on("SessionStart", "matcher = \"resume\""),
            ],
        ),
        hooked(
            "slow",
            &[("ask", "append_idempotent"), ("sleep_ms", "30")],
            &[before, on("UserPromptSubmit", "")],
        ),
    ];
    assert_eq!(bundles.len() as u64, BUNDLES);
    bundles
}

fn bundle(name: &str) -> Draft {
    let replies = format!(
        r#"
[[reply]]
text = "Let me look."

[[reply.use]]
tool = "append_idempotent"
input = {{ path = "{LOG}", line = "append_idempotent model" }}

[[reply.use]]
tool = "fail"

[[reply]]
text = "It takes a while."
delay_ms = 40

[[reply]]
text = "Once."

[[reply.use]]
tool = "append_once"
input = {{ path = "{LOG}", line = "append_once model" }}
"#
    );
    Draft::new(&format!("test/{name}")).harness("harness_script").tools("tool_probe", "rw").model(&replies)
}
