//! The table: a host function, what the harness did with it at first and what the second time, and what must be
//! said of the difference.

use rewake_core::entry::Draft as Fresh;
use rewake_core::fact::{Fact, Observed, StepObserved};
use serde_json::{Value, json};

use super::POLLED;

/// One way to differ.
pub(super) struct Row {
    /// Methods of the host's `Imports` that it is about.
    pub(super) covers: &'static [&'static str],
    pub(super) name: &'static str,
    pub(super) first: Value,
    pub(super) second: Value,
    /// The second run does nothing after these operations: else it does something that would be seen.
    pub(super) is_all: bool,
    /// What is changed of the journal, beside what the harness is told.
    pub(super) change: fn(&mut [Fresh]),
    /// The kind whose first entry is named.
    pub(super) at: &'static str,
    pub(super) field: &'static str,
    pub(super) expected: String,
    pub(super) got: String,
}

impl Row {
    fn new(covers: &'static [&'static str], name: &'static str, first: Value, second: Value) -> Row {
        Row {
            covers,
            name,
            first,
            second,
            is_all: false,
            change: |_| {},
            at: "",
            field: "",
            expected: String::new(),
            got: String::new(),
        }
    }

    fn ending(self) -> Row {
        Row { is_all: true, ..self }
    }

    fn changed(self, change: fn(&mut [Fresh])) -> Row {
        Row { change, ..self }
    }

    fn at(self, at: &'static str, field: &'static str, expected: &str, got: &str) -> Row {
        Row { at, field, expected: expected.into(), got: got.into(), ..self }
    }
}

pub(super) fn op_say(text: &str) -> Value {
    json!({ "op": "say", "text": text })
}

pub(super) fn op_tools(uses: &[(&str, Value)]) -> Value {
    let uses: Vec<Value> = uses.iter().map(|(name, input)| json!({ "name": name, "input": input })).collect();
    json!({ "op": "tools", "uses": uses })
}

/// All rows; `url` is that of a server that a harness may ask.
pub(super) fn all(url: &str) -> Vec<Row> {
    [session(), order(), tools(), model(), http(url), ambient(), files()].into_iter().flatten().collect()
}

fn session() -> Vec<Row> {
    let title = |text: &str| json!([{ "op": "title", "text": text }]);
    let emit =
        |kind: &str, deep: &str| json!([{ "op": "emit", "kind": kind, "data": { "a": [1, { "b": deep }] } }]);
    let events = |kind: &str, limit: u32| json!([{ "op": "events", "kinds": [kind], "limit": limit }]);
    let blob = |length: u32| json!([{ "op": "blob", "digest": "ab", "length": length }]);
    let long = |end: &str| json!([op_say(&format!("{}{end}", "x".repeat(20_000)))]);
    vec![
        Row::new(&["session_say"], "another text", json!([op_say("a")]), json!([op_say("b")])).at(
            "agent.message",
            "parts[0].text",
            "session.say \"a\"",
            "session.say \"b\"",
        ),
        Row::new(&["session_say"], "a long text with another end", long("a"), long("b")).at(
            "agent.message",
            "parts[0].text",
            "session.say … from byte 19940 on \"xxx",
            "xxxb\"",
        ),
        Row::new(&["session_set_title"], "another title", title("a"), title("b")).at(
            "agent.title",
            "title",
            "session.set-title \"a\"",
            "session.set-title \"b\"",
        ),
        Row::new(&["session_emit"], "deep in a marker", emit("custom.x", "c"), emit("custom.x", "d")).at(
            "custom.x",
            "data.a[1].b",
            "session.emit \"c\"",
            "session.emit \"d\"",
        ),
        Row::new(&["session_emit"], "another marker", emit("custom.x", "c"), emit("custom.y", "c")).at(
            "custom.x",
            "kind",
            "session.emit \"custom.x\"",
            "session.emit \"custom.y\"",
        ),
        Row::new(&["session_events"], "another slice", events("custom.x", 5), events("custom.x", 6)).at(
            "step.observed",
            "limit",
            "session.events 5",
            "session.events 6",
        ),
        Row::new(&["session_events"], "another kind", events("custom.x", 5), events("custom.y", 5)).at(
            "step.observed",
            "kinds[0]",
            "session.events \"custom.x\"",
            "session.events \"custom.y\"",
        ),
        Row::new(&["session_blob"], "another piece of a blob", blob(1), blob(2)).at(
            "step.observed",
            "length",
            "session.blob 1",
            "session.blob 2",
        ),
    ]
}

/// Calls in another order, too few, too many, and steps that end before what is recorded does.
fn order() -> Vec<Row> {
    let title = json!({ "op": "title", "text": "t" });
    let (a, b) = (op_say("a"), op_say("b"));
    let both = json!([title, a]);
    let ended = |how: Value| json!([title, how]);
    let end = ["session.say as call 2", "the end of the step"];
    vec![
        Row::new(&["session_say"], "another function", json!([a]), json!([title])).at(
            "agent.message",
            "function",
            "session.say as call 1",
            "session.set-title as call 1",
        ),
        Row::new(&["session_set_title"], "another order", json!([a, title]), json!([title, a])).at(
            "agent.message",
            "function",
            "session.say as call 1",
            "session.set-title as call 1",
        ),
        Row::new(&[], "one call more", json!([a, title]), json!([a, b, title])).at(
            "agent.title",
            "function",
            "session.set-title as call 2",
            "session.say as call 2",
        ),
        Row::new(&[], "one call fewer", json!([title, a]), json!([a])).at(
            "agent.title",
            "function",
            "session.set-title as call 1",
            "session.say as call 1",
        ),
        Row::new(&[], "it ends too early", both.clone(), ended(json!({ "op": "more" }))).ending().at(
            "agent.message",
            "function",
            end[0],
            end[1],
        ),
        Row::new(&[], "it fails too early", both.clone(), ended(json!({ "op": "fail", "code": "c" })))
            .ending()
            .at("agent.message", "function", end[0], end[1]),
        Row::new(&[], "it traps too early", both, ended(json!({ "op": "trap" }))).ending().at(
            "agent.message",
            "function",
            end[0],
            end[1],
        ),
    ]
}

fn tools() -> Vec<Row> {
    let echo = |n: u32| ("echo", json!({ "deep": [{ "n": n }] }));
    let raw = |raw: &str| json!([{ "op": "tools", "uses": [{ "name": "echo", "raw": raw }] }]);
    let uses = |uses: &[(&str, Value)]| json!([op_tools(uses)]);
    let row = |name, first, second| Row::new(&["tools_call"], name, first, second);
    let at = "tools.requested";
    vec![
        row("deep in an input", uses(&[echo(1)]), uses(&[echo(2)])).at(
            at,
            "uses[0].input.deep[0].n",
            "tools.call 1",
            "tools.call 2",
        ),
        row("another tool", uses(&[echo(1)]), uses(&[("fail", echo(1).1)])).at(
            at,
            "uses[0].name",
            "tools.call \"echo\"",
            "tools.call \"fail\"",
        ),
        row("one use more", uses(&[echo(1)]), uses(&[echo(1), echo(2)])).at(
            at,
            "uses[1]",
            "tools.call nothing",
            "tools.call echo {\"deep\":[{\"n\":2}]}",
        ),
        row("one use fewer", uses(&[echo(1), echo(2)]), uses(&[echo(1)])).at(
            at,
            "uses[1]",
            "tools.call echo {\"deep\":[{\"n\":2}]}",
            "tools.call nothing",
        ),
        row("no use at all", uses(&[echo(1)]), uses(&[])).at(
            at,
            "uses[0]",
            "tools.call echo",
            "tools.call nothing",
        ),
        row("uses in another order", uses(&[echo(1), echo(2)]), uses(&[echo(2), echo(1)])).at(
            at,
            "uses[0].input.deep[0].n",
            "tools.call 1",
            "tools.call 2",
        ),
        row("an input that is not JSON", raw("{"), raw("{}")).at(at, "uses[0].input", "\"{\"", "\"{}\""),
        row("another id", uses(&[echo(1)]), uses(&[echo(1)]))
            .changed(|drafts| {
                for draft in drafts {
                    if let Fact::ToolsRequested(requested) = &mut draft.fact {
                        requested.uses[0].id = "use-9".into();
                    }
                }
            })
            .at(at, "uses[0].id", "tools.call \"use-9\"", "tools.call \"use-1\""),
        row("no tool but a message", uses(&[echo(1)]), json!([op_say("a")])).at(
            at,
            "function",
            "tools.call as call 1",
            "session.say as call 1",
        ),
    ]
}

fn model() -> Vec<Row> {
    let ask = |text: &str| json!({ "op": "model", "text": text });
    let row = |name, first, second| Row::new(&["model_complete"], name, first, second);
    vec![
        row("another message", json!([ask("a")]), json!([ask("b")])).at(
            "model.started",
            "messages[0].content[0].part.text",
            "model.complete \"a\"",
            "model.complete \"b\"",
        ),
        row(
            "another second message",
            json!([op_say("x"), ask("a"), op_say("y")]),
            json!([op_say("x"), ask("c")]),
        )
        .at(
            "model.started",
            "messages[0].content[0].part.text",
            "model.complete \"a\"",
            "model.complete \"c\"",
        ),
        row("not asked", json!([ask("a")]), json!([])).at(
            "model.started",
            "function",
            "model.complete as call 1",
            "tools.call as call 1",
        ),
    ]
}

fn http(url: &str) -> Vec<Row> {
    let fetch = |more: Value| {
        let mut fetch = json!({ "url": format!("{url}/a"), "method": "POST" });
        fetch.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!([{ "op": "fetch", "fetches": [fetch] }])
    };
    let row = |name, first, second| Row::new(&["http_fetch"], name, fetch(first), fetch(second));
    let none = || json!({});
    let (header, another) = (json!({ "headers": [["x-a", "1"]] }), json!({ "headers": [["x-a", "2"]] }));
    let at = "http.started";
    vec![
        row("another method", none(), json!({ "method": "GET" })).at(
            at,
            "method",
            "http.fetch \"POST\"",
            "http.fetch \"GET\"",
        ),
        row("another URL", none(), json!({ "url": format!("{url}/b") })).at(at, "url", "/a\"", "/b\""),
        row("another header", header.clone(), json!({ "headers": [["x-b", "1"]] })).at(
            at,
            "headers[0]",
            "http.fetch \"x-a\"",
            "http.fetch \"x-b\"",
        ),
        row("another value of a header", header, another).at(
            at,
            "values of headers, or timeout-ms",
            "its digest is",
            "its digest is",
        ),
        row("another body", json!({ "body": "a" }), json!({ "body": "bc" })).at(
            at,
            "body",
            "1 bytes, blake3:",
            "2 bytes, blake3:",
        ),
        row("another time limit", none(), json!({ "timeout_ms": 5 })).at(
            at,
            "values of headers, or timeout-ms",
            "http.fetch POST",
            "http.fetch POST",
        ),
        row(
            "another that is not granted",
            json!({ "url": "http://x.example/" }),
            json!({ "url": "http://y.example/" }),
        )
        .at(
            "http.completed",
            "url",
            "http.fetch \"http://x.example/\"",
            "http.fetch \"http://y.example/\"",
        ),
    ]
}

fn ambient() -> Vec<Row> {
    let (clock, sleep) = (json!([{ "op": "clock" }]), |ms: u32| json!([{ "op": "sleep", "ms": ms }]));
    let none = || json!([]);
    let at = "step.observed";
    vec![
        Row::new(&["observe_wall"], "the time is not asked for", clock.clone(), none()).at(
            at,
            "function",
            "wall-clock.now after call 0",
            "tools.call as call 1",
        ),
        Row::new(&["observe_monotonic"], "another clock", sleep(1), clock).at(
            at,
            "function",
            "monotonic-clock.now after call 0",
            "wall-clock.now after call 0",
        ),
        Row::new(&["observe_sleep"], "another time to sleep", sleep(1), sleep(2)).at(
            at,
            "duration",
            "monotonic-clock.subscribe 1000000 ns",
            "monotonic-clock.subscribe 2000000 ns",
        ),
        Row::new(&["observe_ready"], "a poll of fewer", sleep(1), sleep(1))
            .changed(|drafts| ready(drafts, &[7]))
            .at(POLLED, "pollables", "poll in which [7] were ready", "poll of 1"),
        Row::new(&["observe_ready"], "a wait in which nothing came", sleep(1), sleep(1))
            .changed(|drafts| ready(drafts, &[]))
            .at(POLLED, "pollables", "poll in which [] were ready", "at least 1"),
    ]
}

/// Has other pollables have been ready.
fn ready(drafts: &mut [Fresh], now: &[u32]) {
    for draft in drafts {
        let Fact::StepObserved(StepObserved { items }) = &mut draft.fact else { continue };
        for item in items {
            if let Observed::Ready(ready) = item {
                *ready = now.to_vec();
            }
        }
    }
}

fn files() -> Vec<Row> {
    let file = |what: &str, name: &str, more: Value| {
        let mut op = json!({ "do": what, "path": format!("/bundle/{name}") });
        op.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!([{ "op": "files", "ops": [op] }])
    };
    let piece = |length: u32| json!({ "offset": 0, "length": length });
    let functions = &["use_file"];
    let row = |name, first, second| Row::new(functions, name, first, second);
    let none = || json!({});
    let at = "step.observed";
    vec![
        row("another file", file("read", "bundle.toml", none()), file("read", "script.toml", none())).at(
            at,
            "path",
            "filesystem.open-at /bundle/bundle.toml",
            "filesystem.open-at /bundle/script.toml",
        ),
        row(
            "another piece",
            file("read_at", "bundle.toml", piece(3)),
            file("read_at", "bundle.toml", piece(4)),
        )
        .at(at, "detail", "filesystem.read 0+3", "filesystem.read 0+4"),
        row("no file", file("read", "bundle.toml", none()), json!([op_say("a")])).at(
            at,
            "function",
            "filesystem.",
            "session.say as call 1",
        ),
    ]
}
