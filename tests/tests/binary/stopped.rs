//! SIGSTOP for longer than a lease lasts: the session is another process's by then, and the one that stood still
//! appends nothing, begins nothing, and says so. All of it side by side: a lease takes its time, and no test's program
//! has a shorter one.

use std::time::{Duration, Instant};

use rewake_tests::bundles::{Draft, guest};
use rewake_tests::journal::Events;
use rewake_tests::preload::{Call, Preload, Then, WAL};
use rewake_tests::program::{Process, Program, Signal};
use rewake_tests::server::{Server, response};
use serde_json::{Value, json};

use crate::cut::{append, call, scripted};

/// How long a process has a lease after it stopped, at least: it renews it long before its end.
const HELD: Duration = Duration::from_secs(7);
/// Longer than any lease lasts.
const LONG: Duration = Duration::from_secs(16);
/// How long a call of the first process takes: it ends while the process stands still.
const CALL_MS: u64 = 2_500;
/// How long the model takes, which the second process asks when it has finished the first one's turn: so that it
/// still has the session when the first goes on.
const REPLY_MS: u64 = 6_000;

/// A session that one process began, and that stands still.
struct Stopped {
    program: Program,
    id: String,
    first: Process,
    since: Instant,
}

/// Begins a session with these operations, and stops its process when `is_now`.
fn stopped(draft: Draft, ops: &Value, what: &str, is_now: impl Fn(&Program, &str) -> bool) -> Stopped {
    let reply = |text: &str| format!("[[reply]]\ntext = {text:?}\ndelay_ms = {REPLY_MS}\n");
    let program = Program::new();
    let id = program.create(&draft.model(&(reply("one") + &reply("two"))));
    let mut first = program.start(&["run", "--session", &id, &ops.to_string()]);
    first.until(what, || is_now(&program, &id));
    first.signal(Signal::STOP);
    Stopped { program, id, first, since: Instant::now() }
}

/// What a second process asks for, so that it has something left to do.
fn ask() -> String {
    json!([{ "op": "model", "text": "And now?" }]).to_string()
}

impl Stopped {
    /// Has a second process take the session over once the lease is over, and not before.
    fn taken_over(&mut self) -> Process {
        let Stopped { program, id, first, since } = self;
        let process = format!("(process {})", first.id());
        // It stands still and holds its lock: it is not dead.
        program.run(&["run", "--session", id]).expect(1).says(&["is run by", &process]);
        let mut second = program.start(&["run", "--session", id, &ask()]);
        second.until("the second one's load", || program.events(id).count("session.loaded") == 2);
        assert!(since.elapsed() > HELD, "taken over after {:?}", since.elapsed());
        let said = second.stderr();
        assert!(said.contains(&process) && said.contains("accepts what you sent as command 2"), "{said}");
        second
    }

    /// Continues with the first process while the second has the session, and lets both come to their ends.
    fn both_end(mut self, check: impl Fn(&Program, &str, &Events)) {
        let mut second = self.taken_over();
        let Stopped { program, id, mut first, .. } = self;
        second.until("the second one's own turn", || {
            let events = program.events(&id);
            events.count("turn.completed") == 1 && events.is_open("model.started")
        });
        let before = program.events(&id);
        first.signal(Signal::CONT);
        let ended = first.end().expect(1);
        let over = format!("another process has taken {id} over; nothing is lost");
        assert!(ended.stderr.contains(&over), "{}", ended.stderr);
        let after = program.events(&id);
        assert!(after.is_open("model.started"), "the second was done too soon for this to show anything");
        assert_eq!(after.0, before.0, "the one that stood still has written");
        second.end().expect(0);
        let events = program.check(&id);
        assert!(events.0.starts_with(&before.0));
        assert_eq!(events.count("session.loaded"), 2);
        assert_eq!(events.count("turn.completed"), 2);
        check(&program, &id, &events);
    }
}

/// The tool has ended meanwhile: nothing of that is written, and the next is not begun.
fn while_a_tool_of_class_once_runs() {
    let ops =
        json!([call(&[append("append_once", "one", CALL_MS)]), call(&[append("append_once", "two", 0)])]);
    let stopped =
        stopped(scripted(), &ops, "the tool's line", |program, id| program.lines(id, "log", "one") > 0);
    stopped.both_end(|program, id, events| {
        assert_eq!(["one", "two"].map(|line| program.lines(id, "log", line)), [1, 1]);
        assert_eq!(events.learned()[0], ["use-1: unknown: ", "use-2: ok: appended two"]);
    });
}

fn while_a_tool_of_class_idempotent_runs() {
    let ops = json!([
        call(&[append("append_idempotent", "one", CALL_MS)]),
        call(&[append("append_idempotent", "two", 0)]),
    ]);
    let stopped =
        stopped(scripted(), &ops, "the tool's line", |program, id| program.lines(id, "log", "one") > 0);
    stopped.both_end(|program, id, events| {
        assert_eq!(["one", "two"].map(|line| program.lines(id, "log", line)), [2, 1]);
        assert_eq!((events.count("tool.started"), events.count("call.retried")), (2, 1));
    });
}

/// The verdict is there when the process goes on; what it lets pass was begun by the other, and not again.
fn while_a_hook_judges() {
    let sleep = CALL_MS.to_string();
    let draft = scripted().hook(&[("sleep_ms", &sleep)], "[[component.probe.on]]\nevent = \"PreToolUse\"");
    let ops = json!([call(&[append("append_once", "one", 0)])]);
    let stopped =
        stopped(draft, &ops, "the hook's start", |program, id| program.events(id).is_open("hook.started"));
    stopped.both_end(|program, id, events| {
        assert_eq!(program.lines(id, "log", "one"), 1);
        assert_eq!((events.count("hook.verdict"), events.count("tool.started")), (1, 1));
    });
}

fn while_a_model_answers() {
    let ops = json!([{ "op": "model", "text": "Well?" }, call(&[append("append_once", "one", 0)])]);
    let is_now = |program: &Program, id: &str| program.events(id).is_open("model.started");
    stopped(scripted(), &ops, "the model is asked", is_now).both_end(|program, id, events| {
        assert_eq!(program.lines(id, "log", "one"), 1);
        assert_eq!((events.count("model.started"), events.count("call.retried")), (2, 1));
    });
}

/// Nothing is in flight: the next thing that the first process has to do is to append.
fn before_an_append() {
    let ops = json!([
        { "op": "say", "text": "first" },
        { "op": "sleep", "ms": CALL_MS },
        { "op": "say", "text": "then" },
        call(&[append("append_once", "one", 0)]),
    ]);
    let is_now = |program: &Program, id: &str| {
        let said = program.events(id).count("agent.message") == 1;
        // What it observes right after that is written too; a process that stands still in a commit holds the store's lock.
        std::thread::sleep(Duration::from_millis(if said { 300 } else { 0 }));
        said
    };
    stopped(scripted(), &ops, "what it says first", is_now).both_end(|program, id, events| {
        assert_eq!(program.lines(id, "log", "one"), 1);
        assert_eq!(events.said().iter().filter(|said| *said == "then").count(), 1);
    });
}

/// A guest in the middle of many requests is dropped: it makes none when the process goes on.
fn in_the_middle_of_a_tool_s_requests() {
    let server = Server::start(|_| {
        std::thread::sleep(Duration::from_millis(20));
        response("200 OK", &[], "ok")
    });
    let toml = format!(
        "[component.tool_http]\nkind = \"tool\"\nsource = \"tool_http.wasm\"\n\n[component.tool_http.asks]\n\
         http = [{{ host = {:?}, scheme = \"http\", methods = [\"POST\"] }}]\n\n\
         [component.tool_http.limits]\ntimeout = \"60s\"",
        server.host()
    );
    let draft = scripted().toml(&toml).file("tool_http.wasm", guest("tool_http"));
    let fetches = json!([{ "method": "POST", "url": server.url("/"), "times": 1_000 }]);
    let ops = json!([call(&[json!({ "name": "fetch_once", "input": { "fetches": fetches } })])]);
    let mut stopped = stopped(draft, &ops, "some requests", |_, _| server.asked().len() > 20);
    // One may be under way.
    std::thread::sleep(Duration::from_millis(500));
    let asked = server.asked().len();
    let second = stopped.taken_over();
    stopped.first.signal(Signal::CONT);
    let Stopped { program, id, first, .. } = stopped;
    first.end().expect(1).says(&["has taken", "over"]);
    assert_eq!(server.asked().len(), asked, "requests of a guest whose session is another's");
    second.end().expect(0);
    let events = program.check(&id);
    assert_eq!(events.learned()[0], ["use-1: unknown: "]);
}

/// A guest in the middle of many changes of files changes nothing more when the process goes on: but for what it was just
/// doing, as a disk cannot be interrupted.
fn in_the_middle_of_tools_files() {
    let many = json!({ "path": "/workspace/log", "lines": 500, "pause_ms": 97 });
    let one = json!({ "name": "append_lines", "input": many });
    let is_now = |program: &Program, id: &str| program.lines(id, "log", "5") == 1;
    let mut stopped = stopped(scripted(), &json!([call(&[one])]), "some lines", is_now);
    let written = stopped.program.file(&stopped.id, "log").lines().count();
    let second = stopped.taken_over();
    stopped.first.signal(Signal::CONT);
    let Stopped { program, id, first, .. } = stopped;
    first.end().expect(1).says(&["has taken", "over"]);
    let more = program.file(&id, "log").lines().count() - written;
    assert!(more <= 1, "{more} lines of a guest whose session is another's");
    second.end().expect(0);
    let events = program.check(&id);
    let learned = &events.learned()[0];
    assert!(learned.len() == 1 && learned[0].contains(": unknown: "), "{learned:?}");
}

/// The second process is done when the first goes on: it loads the session again, and shows what came of it.
fn when_the_other_has_finished() {
    let ops = json!([call(&[append("append_once", "one", CALL_MS)]), { "op": "say", "text": "on" }]);
    let mut stopped =
        stopped(scripted(), &ops, "the tool's line", |program, id| program.lines(id, "log", "one") > 0);
    let second = stopped.taken_over();
    second.end().expect(0);
    let Stopped { program, id, mut first, .. } = stopped;
    let before = program.events(&id);
    first.signal(Signal::CONT);
    let ended = first.end().expect(0);
    assert!(
        ended.stderr.contains("the session is loaded again") && ended.stderr.contains("lease"),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("unknown whether it did it"), "{}", ended.stdout);
    let events = program.check(&id);
    assert!(events.0.starts_with(&before.0));
    let more: Vec<&str> = events.0[before.0.len()..].iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(more, ["session.loaded", "session.unloaded"]);
    assert_eq!(program.lines(&id, "log", "one"), 1);
}

/// In the middle of a transaction it holds SQLite's lock: nobody can write to the store, who tries is told, and
/// reading goes on. The session is still its own when it goes on, however long that was.
fn in_the_middle_of_a_commit() {
    let program = Program::new();
    let (id, other) = (program.create(&scripted()), program.create(&scripted()));
    let ops = json!([call(&[append("append_once", "one", 0)]), { "op": "say", "text": "on" }]).to_string();
    let log = program.beside("calls");
    let stops = Preload::new().rule(Call::Sync, WAL, 6..=6, Then::StopBefore).log(&log);
    let mut first = program.start_with(&["run", "--session", &id, &ops], &stops);
    first.until("it stands still", || Preload::noted(&log, Call::Sync, WAL) == 1);
    let since = Instant::now();
    let before = program.events(&id);
    program.tell(&other, "[]").expect(1).says(&["another process kept it locked", "nothing was written"]);
    program.run(&["run", "--session", &id]).expect(1);
    assert_eq!(program.events(&id).0, before.0);
    program.run(&["verify"]).expect(0);
    std::thread::sleep(LONG.saturating_sub(since.elapsed()));
    first.signal(Signal::CONT);
    first.end().expect(0);
    let events = program.check(&id);
    assert!(events.0.starts_with(&before.0));
    assert_eq!((events.count("session.loaded"), program.lines(&id, "log", "one")), (1, 1));
    program.tell(&other, "[]").expect(0);
    program.check(&other);
}

#[test]
fn a_process_that_stood_still_for_longer_than_its_lease_does_nothing_more() {
    let places: [(&str, fn()); 9] = [
        ("while a tool of class once runs", while_a_tool_of_class_once_runs),
        ("while a tool of class idempotent runs", while_a_tool_of_class_idempotent_runs),
        ("while a hook judges", while_a_hook_judges),
        ("while a model answers", while_a_model_answers),
        ("before an append", before_an_append),
        ("in the middle of a tool's requests", in_the_middle_of_a_tool_s_requests),
        ("in the middle of tools' files", in_the_middle_of_tools_files),
        ("when the other has finished", when_the_other_has_finished),
        ("in the middle of a commit", in_the_middle_of_a_commit),
    ];
    std::thread::scope(|scope| {
        let running = places.map(|(place, run)| (place, scope.spawn(run)));
        let failed = running.map(|(place, thread)| thread.join().err().map(|_| place));
        let failed: Vec<&str> = failed.into_iter().flatten().collect();
        assert!(failed.is_empty(), "it does not hold: {failed:?}");
    });
}
