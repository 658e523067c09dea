//! What a seed chooses before anything runs: the sessions, each with its bundle and its messages with their
//! operations. Does not know what will go wrong meanwhile.

use std::slice::from_ref;

use rewake_tests::bundles::Draft;
use rewake_tests::chooser::Chooser;
use serde_json::{Value, json};

/// The file that tools write to: the world outside of the store, which no kill cancels.
pub(crate) const LOG: &str = "/workspace/log";

/// How the people behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum People {
    /// They send the next thing when nothing is being done: whatever went wrong, the session must say the same.
    Calm,
    /// They send at any moment, twice, too late, and interrupt and stop.
    Wild,
}

/// How the wall clocks of hosts go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walls {
    /// All alike, and with time.
    Steady,
    /// Each by its own, and set forth and back.
    Unruly,
}

/// What a seed runs.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Entries between two snapshots.
    pub(crate) snapshot_entries: u64,
    pub(crate) walls: Walls,
    /// One, two or three in one store, and on one host while nothing goes wrong.
    pub(crate) sessions: Vec<Talk>,
}

/// One session of a seed.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    /// Which of a seed's sessions it is; its choices are its own.
    pub(crate) nth: usize,
    /// Which of [`bundles`].
    pub(crate) bundle: usize,
    pub(crate) people: People,
    /// The messages, each a list of operations for the scripted harness.
    pub(crate) messages: Vec<String>,
}

/// What is drawn for what: one stream of choices each, for each session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Talk = 1,
    People = 2,
    Faults = 3,
    World = 4,
}

/// The choices of a seed for one purpose.
pub(crate) fn choices(seed: u64, session: usize, purpose: Purpose) -> Chooser {
    Chooser::new(seed, 16 * session as u64 + purpose as u64)
}

/// The most sessions that a seed has.
pub(crate) const SESSIONS_MAX: usize = 3;

impl Plan {
    pub(crate) fn of(seed: u64) -> Plan {
        let mut chooser = choices(seed, 0, Purpose::World);
        let snapshot_entries = *chooser.pick(&[2, 5, 12, 1_000]);
        let walls = if chooser.one_in(4) { Walls::Unruly } else { Walls::Steady };
        let sessions = match chooser.below(16) {
            0 => SESSIONS_MAX,
            1 | 2 => 2,
            _ => 1,
        };
        Plan { snapshot_entries, walls, sessions: (0..sessions).map(|nth| Talk::of(seed, nth)).collect() }
    }

    /// One session of it, with nothing beside it.
    pub(crate) fn alone(&self, session: usize) -> Plan {
        Plan { walls: Walls::Steady, sessions: vec![self.sessions[session].clone()], ..*self }
    }
}

impl Talk {
    fn of(seed: u64, nth: usize) -> Talk {
        let mut chooser = choices(seed, nth, Purpose::Talk);
        let people = if chooser.one_in(3) { People::Calm } else { People::Wild };
        let bundle = usize::try_from(chooser.below(BUNDLES)).unwrap_or(0);
        // What stands beside the first is there to be left alone, or not to be.
        let turns = if nth == 0 { 1 + chooser.below(3) } else { 1 };
        let messages = (1..=turns).map(|turn| message(&mut chooser, turn, turn == turns)).collect();
        Talk { nth, bundle, people, messages }
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
    match chooser.below(19) {
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
        17 => json!({ "op": "sleep", "ms": *chooser.pick(&[0, 30, 5_000, 14_000]) }),
        _ => json!({ "op": "say", "text": format!("said {turn}.{at}") }),
    }
}

/// A use of a tool. What tools write is different for every use, so that what was written can be counted.
fn one_use(chooser: &mut Chooser, turn: u64, at: u64, nth: u64) -> Value {
    let sleep_ms = *chooser.pick(&[0, 0, 1, 20, 700]);
    // Long after it was begun, so that its lease has to be renewed by then.
    let before_ms = *chooser.pick(&[0, 0, 0, 0, 0, 1, 600, 5_000]);
    let append = |name: &str| {
        let line = format!("{name} {turn}.{at}.{nth}");
        let input = json!({ "path": LOG, "line": line, "before_ms": before_ms, "sleep_ms": sleep_ms });
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
    // Longer than a process stands still while its tool waits for its lease: a tool does not stand still with it.
    let limits = "timeout = \"5m\"";
    let draft = Draft::new(&format!("test/{name}")).harness("harness_script");
    draft.tools_within("tool_probe", "rw", limits).model(&replies)
}
