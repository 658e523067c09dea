//! A session that is killed at a moment and loaded again. Knows how to find the moment; not what must
//! hold for it.

use rewake_tests::bundles::Draft;
use rewake_tests::journal::Events;
use rewake_tests::program::{Ended, Program};
use serde_json::{Value, json};

/// Longer than any wait for a moment: a call that lasts so long is never seen to end.
pub(crate) const FOREVER_MS: u64 = 55_000;
/// Long enough to be killed in, and not too long to be done once more.
pub(crate) const LONG_MS: u64 = 700;

/// The scripted harness with the probe's tools, which may take as long as a test needs.
pub(crate) fn scripted() -> Draft {
    Draft::new("test/scripted").harness("harness_script").tools_within(
        "tool_probe",
        "rw",
        "timeout = \"60s\"",
    )
}

/// A session that was killed.
pub(crate) struct Cut {
    pub(crate) program: Program,
    pub(crate) id: String,
    /// Its events at the kill.
    pub(crate) before: Events,
}

/// Tells a new session what to do, and kills the process when `is_now`.
#[track_caller]
pub(crate) fn cut(draft: &Draft, ops: &Value, what: &str, is_now: impl Fn(&Program, &str) -> bool) -> Cut {
    let program = Program::new();
    let id = program.create(draft);
    cut_there(program, id, ops, what, is_now)
}

/// Tells a session what to do, and kills the process when `is_now`.
#[track_caller]
pub(crate) fn cut_there(
    program: Program,
    id: String,
    ops: &Value,
    what: &str,
    is_now: impl Fn(&Program, &str) -> bool,
) -> Cut {
    let mut process = program.start(&["run", "--session", &id, &ops.to_string()]);
    process.until(what, || is_now(&program, &id));
    process.kill();
    let before = program.events(&id);
    Cut { program, id, before }
}

impl Cut {
    /// Loads the session again, and lets its turn come to a good end: once, with one last message.
    #[track_caller]
    pub(crate) fn resumed(&self) -> Events {
        self.finished(self.program.resume(&self.id))
    }

    /// Checks that a process has brought the session's only turn to its end.
    #[track_caller]
    pub(crate) fn finished(&self, ended: Ended) -> Events {
        let ended = ended.expect(0);
        let events = self.program.check(&self.id);
        assert!(events.0.starts_with(&self.before.0), "what was there has changed");
        assert_eq!(events.learned().len(), 1, "{:?}", events.said());
        assert_eq!((events.count("turn.started"), events.count("turn.completed")), (1, 1));
        let report = events.said().pop().unwrap_or_default();
        assert_eq!(ended.stdout.matches(&report).count(), 1, "{}", ended.stdout);
        events
    }

    /// How often a line stands in the workspace's log.
    pub(crate) fn lines(&self, line: &str) -> usize {
        self.program.lines(&self.id, "log", line)
    }
}

/// A use of a tool that appends a line to the workspace's log, and then sleeps.
pub(crate) fn append(tool: &str, line: &str, sleep_ms: u64) -> Value {
    json!({ "name": tool, "input": { "path": "/workspace/log", "line": line, "sleep_ms": sleep_ms } })
}

/// One call of these uses.
pub(crate) fn call(uses: &[Value]) -> Value {
    json!({ "op": "tools", "uses": uses })
}

/// The report of the only turn.
pub(crate) fn learned(events: &Events) -> Vec<String> {
    events.learned().pop().unwrap_or_default()
}
