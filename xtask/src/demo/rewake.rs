//! The `rewake` program, as the demo uses it: started, watched from beside, and killed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use crate::{Result, process};

/// How often the journal is looked at while a process writes it.
const POLL: Duration = Duration::from_millis(50);

/// One entry, as `rewake events --json` shows it.
#[derive(Debug, Deserialize)]
pub(super) struct Event {
    pub(super) seq: u64,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) data: Value,
}

/// The program, and the data folder it is used with.
pub(super) struct Rewake {
    program: PathBuf,
    data: PathBuf,
}

/// A running `rewake run`; killed if it is dropped.
pub(super) struct Running(Child);

impl Running {
    /// Ends it with SIGKILL, and waits until it is gone.
    pub(super) fn kill(&mut self) -> Result {
        let killed = self.0.kill().and_then(|()| self.0.wait());
        killed.map(|_| ()).map_err(|error| format!("cannot kill the process: {error}"))
    }

    fn is_over(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that is over cannot be killed, and need not be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Rewake {
    pub(super) fn new(program: PathBuf, data: PathBuf) -> Self {
        Rewake { program, data }
    }

    /// The session's workspace in the data folder.
    pub(super) fn workspace(&self, id: &str) -> PathBuf {
        self.data.join("workspaces").join(id)
    }

    /// Starts a new session.
    pub(super) fn start(&self, bundle: &Path, workspace: &Path) -> Result<Running> {
        let mut command = self.command("run");
        command
            .arg("--grant-asked")
            .arg(bundle)
            .arg("Bring the changelog up to date and publish it.")
            .arg("--workspace")
            .arg(workspace);
        spawn(&mut command)
    }

    /// Wakes a session.
    pub(super) fn start_again(&self, id: &str) -> Result<Running> {
        spawn(self.command("run").args(["--session", id]))
    }

    /// Wakes a session and lets it come to its end.
    pub(super) fn resume(&self, id: &str) -> Result {
        process::run(self.command("run").args(["--session", id]))
    }

    /// Runs a command that reads.
    pub(super) fn inspect(&self, command: &str, id: &str) -> Result {
        process::run(self.command(command).arg(id))
    }

    /// All entries so far.
    pub(super) fn events(&self, id: &str) -> Result<Vec<Event>> {
        let text = process::output(self.command("events").args([id, "--json"]))?;
        let event = |line: &str| {
            serde_json::from_str(line).map_err(|error| format!("rewake events says {line:?}: {error}"))
        };
        text.lines().map(event).collect()
    }

    /// The id of the only session there is, as soon as it is there.
    pub(super) fn newest_session(&self, running: &mut Running, limit: Duration) -> Result<String> {
        until(running, limit, "for the session", || {
            if !self.data.join("journal.db").exists() {
                return Ok(None);
            }
            // Before its first commit the store may not be readable yet.
            let Ok(text) = process::output(self.command("sessions").arg("--json")) else { return Ok(None) };
            let first = text.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok());
            Ok(first.and_then(|session| session["id"].as_str().map(str::to_owned)))
        })
    }

    /// Waits until the journal says something.
    pub(super) fn wait_for(
        &self,
        running: &mut Running,
        id: &str,
        limit: Duration,
        says: impl Fn(&[Event]) -> bool,
    ) -> Result {
        until(running, limit, "for the moment to kill it", || Ok(says(&self.events(id)?).then_some(())))
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--data").arg(&self.data).arg(name);
        command
    }
}

fn spawn(command: &mut Command) -> Result<Running> {
    command.spawn().map(Running).map_err(|error| format!("cannot start rewake: {error}"))
}

fn until<T>(
    running: &mut Running,
    limit: Duration,
    what: &str,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if running.is_over() {
            return Err(format!("rewake came to its end while the demo waited {what}"));
        }
        if Instant::now() > end {
            return Err(format!("the demo waited {what} for {} s", limit.as_secs()));
        }
        std::thread::sleep(POLL);
    }
}
