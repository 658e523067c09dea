//! A session that has everything: hooks on five events, tools of each class and side by side, a model, requests,
//! files, observations, several steps, questions, a queued message, a wait, a snapshot. Knows how a client plays it,
//! and what must be the same whenever it is played; not what goes wrong meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use rewake_tests::bundles::{Draft, guest};
use rewake_tests::journal::Events;
use rewake_tests::preload::{Call, Preload, Then, WAL};
use rewake_tests::program::{Ended, Program, text};
use rewake_tests::server::{Server, response};
use rewake_wire::Event;
use serde_json::{Value, json};

/// How long the turn waits for a time: longer than a process takes to leave, if the machine is not too busy.
const WAIT_MS: u64 = 150;
/// How often it is looked whether a wait is over.
const LOOKS_MAX: u32 = 100;

/// Answers a model's request as OpenAI's protocol has it, and others with a word.
fn server() -> Server {
    Server::start(|request| {
        let line = request.lines().next().unwrap_or_default();
        if !line.starts_with("POST /v1/") {
            return response("200 OK", &[], line.split(' ').nth(1).unwrap_or_default());
        }
        let said = json!({ "model": "m-1", "choices": [
            { "index": 0, "delta": { "content": "Good morning." }, "finish_reason": "stop" },
        ] });
        let counts = json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 3 } });
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
             data: {said}\n\ndata: {counts}\n\ndata: [DONE]\n\n"
        )
        .into_bytes()
    })
}

/// The agent's bundle.
fn agent(server: &Server) -> Draft {
    let on = |event: &str| format!("[[component.probe.on]]\nevent = {event:?}\n");
    let events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"].map(on).concat();
    let config = [("deny", "big_output"), ("allow", "append_once"), ("ask", "sleep_pure")];
    let host = server.host();
    let mount = "mount = \"/workspace\", source = \"workspace\"";
    Draft::new("test/everything")
        .harness("harness_script")
        .toml(&format!(
            "[component.harness.asks]\nfs = [{{ {mount}, access = \"ro\" }}]\n\
             http = [{{ host = {host:?}, scheme = \"http\", methods = [\"GET\", \"PUT\", \"POST\"], honours_key = true }}]"
        ))
        .tools("tool_probe", "rw")
        .tools("tool_pure", "ro")
        .toml(&format!(
            "[component.tool_http]\nkind = \"tool\"\nsource = \"tool_http.wasm\"\n\n[component.tool_http.asks]\n\
             http = [{{ host = {host:?}, scheme = \"http\", methods = [\"POST\"] }}]"
        ))
        .file("tool_http.wasm", guest("tool_http"))
        .hook(&config, &events)
}

/// A bundle with a hook that replaces what `echo` is given.
fn rewriter() -> Draft {
    let on = "[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = \"echo\"\nrewrites = true";
    Draft::new("test/rewriter").hook(&[("input", r#"{"by":"the rewriter"}"#)], on)
}

fn append(tool: &str, line: &str) -> Value {
    json!({ "name": tool, "input": { "path": "/workspace/log", "line": line } })
}

/// The first turn: four steps and a fifth after a wait.
fn first(server: &Server) -> Value {
    let fetch = |method: &str, path: &str| json!({ "method": method, "url": server.url(path) });
    let look = json!({ "name": "look", "input": { "path": "/workspace/note" } });
    let many = |count: usize| json!(vec![json!({ "name": "echo", "input": {} }); count]);
    json!([
        { "op": "clock" }, { "op": "random" }, { "op": "read", "path": "/workspace/note" },
        { "op": "list", "path": "/workspace" }, { "op": "info" },
        { "op": "say", "text": "I begin." },
        { "op": "tools", "uses": [append("append_idempotent", "i1"), append("append_once", "o1")] },
        { "op": "fetch", "fetches": [fetch("GET", "/news"), fetch("PUT", "/note"), fetch("POST", "/order")] },
        { "op": "clock" },
        { "op": "more" },
        { "op": "model", "text": "Hello." },
        { "op": "tools", "uses": [look, { "name": "big_output", "input": { "bytes": 1 } }] },
        { "op": "tools", "uses": many(8) },
        { "op": "tools", "uses": [{ "name": "fetch_once", "input": { "fetches": [fetch("POST", "/ship")] } }] },
        { "op": "emit", "kind": "custom.note", "data": { "x": 0.1 } },
        { "op": "title", "text": "All of it" },
        { "op": "more" },
        { "op": "random" },
        { "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 1 } }] },
        { "op": "tools", "uses": [append("append_once", "o2")] },
        { "op": "ask", "id": "q", "text": "Go on?" },
        { "op": "say", "text": "I go on." },
        { "op": "sleep", "ms": 2 },
        { "op": "wait", "ms": WAIT_MS },
        { "op": "clock" },
        { "op": "tools", "uses": [append("append_idempotent", "i2")] },
    ])
}

/// The second turn, which is sent while the first waits.
fn second(server: &Server) -> Value {
    json!([
        { "op": "say", "text": "And once more." },
        { "op": "tools", "uses": [append("append_once", "o3")] },
        { "op": "fetch", "fetches": [{ "url": server.url("/news") }] },
    ])
}

/// Lines that tools of class `once` write.
pub(crate) const ONCE: [&str; 3] = ["o1", "o2", "o3"];
/// Lines that tools of class `idempotent` write.
pub(crate) const IDEMPOTENT: [&str; 2] = ["i1", "i2"];

/// What the servers are asked.
pub(crate) const REQUESTS: [&str; 5] =
    ["GET /news", "PUT /note", "POST /order", "POST /ship", "POST /v1/chat/completions"];

/// A session, played whole by a client, with what there was before each of its commands.
pub(crate) struct Reference {
    pub(crate) server: Server,
    pub(crate) id: String,
    pub(crate) commands: Vec<Vec<String>>,
    /// The data folder before each command.
    pub(crate) before: Vec<Program>,
    /// Entries that there were after each command.
    pub(crate) heads: Vec<usize>,
    /// Requests that the server had seen before each command.
    pub(crate) asked: Vec<usize>,
    /// Syncs of the log in each command's process.
    pub(crate) syncs: Vec<u64>,
    pub(crate) end: Program,
    pub(crate) events: Events,
}

impl Reference {
    /// Plays it, as a machine that is not too busy does.
    pub(crate) fn play() -> Self {
        (0..5)
            .find_map(|_| Reference::try_play())
            .expect("a process that leaves a session sooner than it is due")
    }

    /// None, if the wait was over before its process had left.
    fn try_play() -> Option<Self> {
        let server = server();
        let (program, id) = create(&server);
        let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let commands = vec![
            command(&["run", "--session", &id, "--key", "m1", &first(&server).to_string()]),
            command(&["answer", &id, "ask-1-3-1-0", "allow", "--key", "a1"]),
            command(&["run", "--session", &id, "--key", "m2", &second(&server).to_string()]),
            command(&["answer", &id, "q", "yes", "--key", "a2"]),
            command(&["run", "--session", &id]),
        ];
        let (mut before, mut heads, mut asked, mut syncs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (n, command) in commands.iter().enumerate() {
            before.push(program.copied());
            asked.push(server.asked().len());
            if n == 4 {
                std::thread::sleep(Duration::from_millis(2 * WAIT_MS));
            }
            let log = program.beside(&format!("syncs-{n}"));
            let counts = Preload::new().rule(Call::Sync, WAL, 1..=u64::MAX, Then::Note).log(&log);
            let ended = program.run_with(&words(command), &counts);
            // Its wait was over before it had left, so that nothing is left to wait for.
            if n == 3 && ended.code == Some(0) {
                return None;
            }
            ended.expect(if n == 4 { 0 } else { 5 });
            syncs.push(Preload::noted(&log, Call::Sync, WAL) as u64);
            let events = program.events(&id);
            heads.push(events.0.len());
        }
        let events = program.check(&id);
        Some(Reference { server, id, commands, before, heads, asked, syncs, end: program, events })
    }

    /// Plays on from a command, which is the first of these, until nothing is due.
    pub(crate) fn play_on(&self, program: &Program, command: usize) -> Ended {
        for one in &self.commands[command..self.commands.len() - 1] {
            let ended = program.run(&words(one));
            assert!(matches!(ended.code, Some(0 | 5)), "{one:?}: {ended:?}");
        }
        for _ in 0..LOOKS_MAX {
            let ended = program.resume(&self.id);
            match ended.code {
                Some(5) => std::thread::sleep(Duration::from_millis(WAIT_MS)),
                _ => return ended.expect(0),
            }
        }
        panic!("it never settles");
    }
}

/// Makes the session, which has not begun.
fn create(server: &Server) -> (Program, String) {
    let program = Program::new().with_env("REWAKE_TEST_MODEL_KEY", "sk-test");
    let rules = format!(
        "[models.real]\nprovider = \"openai\"\nmodel = \"m-1\"\nbase_url = {:?}\nkey_env = \"REWAKE_TEST_MODEL_KEY\"\n\
         max_tokens = 500\nprice = {{ input = 3, output = 15 }}\n",
        server.url("/v1")
    );
    program.rule(&rules);
    let folder = program.beside("documents");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("note"), "as it was").expect("a file");
    let (agent, rewriter, folder) =
        (program.bundle(&agent(server)), program.bundle(&rewriter()), text(&folder));
    let words = [
        "run",
        "--grant-asked",
        &agent,
        "--with",
        &rewriter,
        "--workspace",
        &folder,
        "--model",
        "real",
        "--max-usd",
        "5",
        "--max-steps",
        "50",
    ];
    let made = program.run(&words).expect(0);
    (program, made.stdout.trim().to_owned())
}

/// A command's words.
pub(crate) fn words(command: &[String]) -> Vec<&str> {
    command.iter().map(String::as_str).collect()
}

/// What a journal says, but for what no two runs have in common: seqs, times, hashes, what is observed, and what is
/// only said of a process. An entry's line stands as often as the entry does.
pub(crate) fn gist(events: &Events) -> BTreeMap<String, isize> {
    let mut lines = BTreeMap::new();
    for line in events.0.iter().filter_map(|event| line(events, event)) {
        *lines.entry(line).or_default() += 1;
    }
    lines
}

/// What a call is, by its start: told the same in each run.
pub(crate) fn label(events: &Events, start: u64) -> String {
    let started = &events.0[start as usize - 1];
    let data = &started.data;
    match started.kind.as_str() {
        "tool.started" => format!("{} {}", data["name"], data["arguments"]),
        "http.started" => format!("{} {}", data["request"]["method"], data["request"]["url"]),
        "hook.started" => format!("{} {}", data["hook"], data["event"]),
        other => other.to_owned(),
    }
}

fn line(events: &Events, event: &Event) -> Option<String> {
    let data = &event.data;
    let of = || data["start"].as_u64().map_or_else(|| "not started".to_owned(), |start| label(events, start));
    let place = format!("{} {:?}", event.turn_id.as_deref().unwrap_or_default(), event.step);
    let said = match event.kind.as_str() {
        "session.loaded" | "session.unloaded" | "snapshot.taken" | "step.rerun" | "call.retried"
        | "step.observed" => {
            return None;
        }
        // What was learned is compared by itself.
        "agent.message" if data["parts"].to_string().contains("learned") => return None,
        "hook.started" | "hook.verdict" if of_start(events, event) => return None,
        "session.created" => String::new(),
        "tool.started" | "http.started" => format!("{} {}", label(events, event.seq), data["class"]),
        "hook.started" => label(events, event.seq),
        "tool.completed" if of().starts_with("\"echo\"") => format!("{} {}", of(), data["outcome"]),
        "tool.completed" => format!("{} {} {}", of(), data["outcome"], data["parts"]),
        "http.completed" => format!("{} {}", of(), data["outcome"]["response"]["status"]),
        "model.completed" => format!("{} {}", of(), data["cost"]),
        "tool.lost" | "http.lost" | "model.lost" => format!("{} {}", of(), data["why"]),
        "hook.verdict" => format!("{} {} {} {}", of(), data["decision"], data["reason"], data["error"]),
        "tools.requested" => data["uses"].to_string(),
        "question.asked" => data["id"].to_string(),
        "user.message" => data["n"].to_string(),
        "step.started" => data["input"]["messages"].as_array().map_or(0, Vec::len).to_string(),
        "step.completed" if data["next"]["wait"].is_object() => "waits".to_owned(),
        "step.completed" => data["next"].to_string(),
        "turn.completed" => format!("{} steps {} {}", data["steps"], data["usage"], spent(events, event)),
        "turn.started" | "agent.message" | "agent.title" => data.to_string(),
        kind if kind.starts_with("custom.") => data.to_string(),
        _ => String::new(),
    };
    Some(format!("{place} {} {said}", event.kind))
}

/// What a turn has cost, without what attempts may have cost that were cut off: that stays counted (R5).
fn spent(events: &Events, end: &Event) -> i64 {
    let retried = events.of_kind("call.retried").filter(|retried| retried.turn_id == end.turn_id);
    let lost: i64 = retried.filter_map(|retried| retried.data["cost"].as_i64()).sum();
    end.data["cost"].as_i64().unwrap_or(0) - lost
}

/// Whether it is about the hook on a session's start, which fires once a load.
fn of_start(events: &Events, event: &Event) -> bool {
    let start = event.data["start"].as_u64().map_or(event, |start| &events.0[start as usize - 1]);
    start.data["event"] == "SessionStart"
}

/// What the harness learned, turn by turn, but for what it observed and what it was told of a load.
pub(crate) fn learned(events: &Events) -> Vec<Vec<String>> {
    let one = |line: &String| match line.split_once(": ") {
        Some((op @ ("clock" | "random" | "slept"), _)) => Some(op.to_owned()),
        Some(("context", what)) if what.starts_with("source=") => None,
        // It tells the key of its call, which is a hash.
        Some((name, what)) if what.starts_with("ok: {") => Some(format!("{name}: ok: an echo")),
        _ => Some(line.clone()),
    };
    events.learned().iter().map(|turn| turn.iter().filter_map(one).collect()).collect()
}

/// What happened, in order, as a person would tell it.
pub(crate) fn story(events: &Events) -> Vec<String> {
    let told = ["user.", "turn.", "question.", "agent.", "custom.", "session.titled", "session.stopped"];
    let is_told = |event: &&Event| told.iter().any(|beginning| event.kind.starts_with(beginning));
    events.0.iter().filter(is_told).filter_map(|event| line(events, event)).collect()
}
