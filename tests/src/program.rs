//! The `rewake` program as a person or a script uses it: started on a data folder of its own, watched from
//! beside through its own subcommands, signalled, killed. Knows no session's inside, and opens no store.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rewake_policy::trust::TrustKey;
use rewake_wire::{Event, SessionSummary};
pub use rustix::process::Signal;
use tempfile::TempDir;

use crate::bundles::{Draft, root};
use crate::journal::Events;
use crate::preload::Preload;
use crate::terminal::Terminal;
use crate::tmux::Tmux;
use crate::world::HANGS;

/// How often something is looked at while a process works.
const POLL: Duration = Duration::from_millis(5);

/// The program's file, beside the folder that the running test stands in.
///
/// # Panics
/// If it is not built.
pub fn file() -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let folder = test.parent().and_then(Path::parent).expect("…/target/<profile>/deps/<test>");
    let path = folder.join(format!("rewake{}", std::env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "there is no {}; build it with `cargo build -p rewake`", path.display());
    path
}

/// The program with a data folder.
pub struct Program {
    file: PathBuf,
    cache: PathBuf,
    folder: TempDir,
    /// The state of its machine, with the trust key; copies on the same machine share it.
    state: Arc<TempDir>,
    env: Vec<(String, String)>,
}

impl Default for Program {
    fn default() -> Self {
        Program::new()
    }
}

impl Program {
    /// With a data folder in which nothing was ever kept.
    ///
    /// # Panics
    /// If there is no program, or no place for the folder.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let state = Arc::new(tempfile::tempdir().expect("a folder"));
        let cache = root().join("target/test-components");
        Program { file: file(), cache, folder, state, env: Vec::new() }
    }

    /// With a copy of this data folder, at another place, and with its own folder of compiled components.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn moved(&self) -> Self {
        self.copied().with_own_cache()
    }

    /// With a copy of this data folder, at another place.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn copied(&self) -> Self {
        let copy = Program { env: self.env.clone(), state: self.state.clone(), ..Program::new() };
        let copied = Command::new("cp").arg("-a").arg(self.data()).arg(copy.data()).status();
        assert!(copied.expect("cp runs").success(), "the data folder cannot be copied");
        copy
    }

    /// With the journal and workspaces of another data folder in the place of its own, as somebody brings them.
    ///
    /// # Panics
    /// If they cannot be copied.
    pub fn holding(self, other: &Program) -> Self {
        for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
            let _ = std::fs::remove_file(self.data().join(name));
        }
        for name in ["journal.db", "workspaces"] {
            let copied = Command::new("cp").arg("-a").arg(other.data().join(name)).arg(self.data()).status();
            assert!(copied.expect("cp runs").success(), "{name} cannot be copied");
        }
        self
    }

    /// On another machine: with another trust key.
    ///
    /// # Panics
    /// If there is no place for it.
    pub fn elsewhere(self) -> Self {
        Program { state: Arc::new(tempfile::tempdir().expect("a folder")), ..self }
    }

    /// The folder with the state of its machine: the trust key is in it.
    pub fn trust_key(&self) -> PathBuf {
        self.state.path().join("rewake/trust.key")
    }

    /// Makes the data folder, with these rules in it, known to its machine: as if it had been used before.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn rule(&self, rules: &str) {
        std::fs::create_dir_all(self.data()).expect("the data folder");
        let trust = TrustKey::in_state(self.trust_key().parent());
        if !trust.knows(&self.data()).expect("a trust key") {
            trust.know(&self.data()).expect("a folder that this machine knows");
        }
        std::fs::write(self.data().join("rewake.toml"), rules).expect("the rules");
    }

    /// With this in its environment.
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With a folder of compiled components of its own, beside the data folder: `components`.
    pub fn with_own_cache(self) -> Self {
        Program { cache: self.folder.path().join("components"), ..self }
    }

    /// The data folder; the program makes it.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A folder beside the data folder, for what a test brings.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a bundle beside the data folder.
    pub fn bundle(&self, draft: &Draft) -> String {
        let folders = self.beside("bundles");
        let count = std::fs::read_dir(&folders).map_or(0, Iterator::count);
        text(&draft.write(&folders.join(count.to_string())))
    }

    /// Creates a session of a bundle, and does not run it.
    ///
    /// # Panics
    /// If it is refused.
    pub fn create(&self, draft: &Draft) -> String {
        let ended = self.run(&["run", "--grant-asked", &self.bundle(draft)]).expect(0);
        ended.stdout.trim().to_owned()
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Ended {
        self.start(args).end()
    }

    /// Runs a command to its end, with the preloaded library.
    pub fn run_with(&self, args: &[&str], preload: &Preload) -> Ended {
        self.start_with(args, preload).end()
    }

    /// Continues with a session, without a message.
    pub fn resume(&self, id: &str) -> Ended {
        self.run(&["run", "--session", id])
    }

    /// Tells a session something, and continues with it.
    pub fn tell(&self, id: &str, message: &str) -> Ended {
        self.run(&["run", "--session", id, message])
    }

    /// Starts a command; what it writes is kept until it has ended.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(&self, args: &[&str]) -> Process {
        Program::spawn(self.command(args))
    }

    /// Starts a command with the preloaded library.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start_with(&self, args: &[&str], preload: &Preload) -> Process {
        let mut command = self.command(args);
        command.envs(preload.env());
        Program::spawn(command)
    }

    fn spawn(mut command: Command) -> Process {
        let kept = || tempfile::tempfile().expect("a file for what it writes");
        let (stdout, stderr) = (kept(), kept());
        command.stdout(stdout.try_clone().expect("a handle")).stderr(stderr.try_clone().expect("a handle"));
        Process { child: command.spawn().expect("the program starts"), stdout, stderr }
    }

    /// Starts a command whose standard output is a pipe that nobody reads: once that is full, the command
    /// gets no further, and what it has in the background goes on.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start_unread(&self, args: &[&str]) -> Process {
        let kept = || tempfile::tempfile().expect("a file for what it writes");
        let stderr = kept();
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(stderr.try_clone().expect("a handle"));
        Process { child: command.spawn().expect("the program starts"), stdout: kept(), stderr }
    }

    /// Starts a command with a person at its terminal.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn at_terminal(&self, args: &[&str]) -> Terminal {
        Terminal::start(self.command(args))
    }

    /// Starts a command in a terminal multiplexer, in a window of so many columns and lines.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn in_tmux(&self, args: &[&str], columns: u16, lines: u16) -> Tmux {
        Tmux::start(&self.command(args), columns, lines)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.file);
        command.arg("--data").arg(self.data()).arg("--cache").arg(&self.cache).args(args);
        for name in [
            "REWAKE_DATA",
            "REWAKE_CACHE",
            "REWAKE_CONFIG",
            "REWAKE_TRUST",
            "REWAKE_LOG",
            "RUST_BACKTRACE",
            "NO_COLOR",
        ] {
            command.env_remove(name);
        }
        command.env("XDG_STATE_HOME", self.state.path());
        command.env("USER", "ann").env("TERM", "xterm").envs(self.env.clone()).stdin(Stdio::null());
        command
    }

    /// The words that each of its commands begins with, for a shell that runs them somewhere else.
    pub fn words(&self) -> Vec<String> {
        let state = format!("XDG_STATE_HOME={}", text(self.state.path()));
        let folders = ["--data".into(), text(&self.data()), "--cache".into(), text(&self.cache)];
        [vec!["env".into(), state, text(&self.file)], folders.into()].concat()
    }

    /// A session's events, as `rewake events` gives them.
    ///
    /// # Panics
    /// If it does not give them.
    pub fn events(&self, id: &str) -> Events {
        Events::of_json(&self.run(&["events", id, "--json"]).expect(0).stdout)
    }

    /// The sessions, as `rewake sessions` gives them.
    ///
    /// # Panics
    /// If it does not give them.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        let listed = self.run(&["sessions", "--json"]).expect(0).stdout;
        listed.lines().map(|line| serde_json::from_str(line).expect("a session")).collect()
    }

    /// Checks a session: its chain, that its steps replay as they ran, and what every journal must hold.
    ///
    /// # Panics
    /// If something does not hold.
    pub fn check(&self, id: &str) -> Events {
        self.run(&["verify", id]).expect(0);
        self.run(&["replay", id]).expect(0);
        let events = self.events(id);
        events.check();
        events
    }

    /// How often a line stands in a file of a session's workspace.
    pub fn lines(&self, id: &str, name: &str, line: &str) -> usize {
        self.file(id, name).lines().filter(|found| *found == line).count()
    }

    /// A file of a session's workspace; nothing, if there is none.
    pub fn file(&self, id: &str, name: &str) -> String {
        let path = self.data().join("workspaces").join(id).join(name);
        std::fs::read_to_string(path).unwrap_or_default()
    }
}

impl Events {
    /// Those of lines of JSON.
    ///
    /// # Panics
    /// If a line is no event.
    pub fn of_json(lines: &str) -> Self {
        let event = |line: &str| -> Event {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("no event ({error}): {line}"))
        };
        Events(lines.lines().map(event).collect())
    }

    /// Whether there is a start of this kind without an end.
    pub fn is_open(&self, start: &str) -> bool {
        self.open(start).next().is_some()
    }

    /// The starts of this kind without an end.
    pub fn open<'a>(&'a self, start: &'a str) -> impl Iterator<Item = &'a Event> {
        let ended =
            |seq: u64| self.0.iter().any(|end| end.kind != "call.retried" && end.data["start"] == seq);
        self.of_kind(start).filter(move |event| !ended(event.seq))
    }
}

/// A path that is text.
///
/// # Panics
/// If it is none.
pub fn text(path: &Path) -> String {
    path.to_str().expect("a path that is text").to_owned()
}

/// A process that runs; killed if it is dropped.
pub struct Process {
    child: Child,
    stdout: File,
    stderr: File,
}

/// A process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to its standard output.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
}

impl Process {
    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until something is so.
    ///
    /// # Panics
    /// If the process ends before, or it takes too long.
    #[track_caller]
    pub fn until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + HANGS;
        loop {
            let has_ended = self.has_ended();
            if is_so() {
                return;
            }
            assert!(!has_ended, "it ended before: {what}\n{}", self.stderr());
            assert!(Instant::now() < deadline, "waited too long for: {what}\n{}", self.stderr());
            std::thread::sleep(POLL);
        }
    }

    /// Kills it with SIGKILL, and waits until it is gone.
    ///
    /// # Panics
    /// If it had ended before.
    #[track_caller]
    pub fn kill(mut self) {
        assert!(!self.has_ended(), "it ended before it was killed\n{}", self.stderr());
        self.end_by_kill();
    }

    /// Kills it with SIGKILL, if it runs still.
    pub fn kill_if_there(mut self) {
        self.end_by_kill();
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If it had ended before.
    #[track_caller]
    pub fn signal(&mut self, signal: Signal) {
        // Not waited for yet, so the number is still its own.
        assert!(!self.has_ended(), "it ended before the signal\n{}", self.stderr());
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).expect("sent");
    }

    /// Closes the pipe of [`Program::start_unread`]: from now on there is no reader.
    pub fn close_reader(&mut self) {
        drop(self.child.stdout.take());
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let deadline = Instant::now() + HANGS;
        while !self.has_ended() {
            assert!(Instant::now() < deadline, "the program hangs\n{}", self.stderr());
            std::thread::sleep(POLL);
        }
        let code = self.child.wait().expect("its status").code();
        Ended { code, stdout: read(&self.stdout), stderr: self.stderr() }
    }

    /// What it has written to its standard error so far.
    pub fn stderr(&self) -> String {
        read(&self.stderr)
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("its status").is_some()
    }

    fn end_by_kill(&mut self) {
        // One that is over cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end_by_kill();
    }
}

impl Ended {
    /// The same, if it ended with this code.
    ///
    /// # Panics
    /// If it did not, or if it panicked.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        let Ended { stdout, stderr, .. } = &self;
        assert_eq!(self.code, Some(code), "standard output:\n{stdout}\nstandard error:\n{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        self
    }

    /// The same, if its standard error has all these words.
    ///
    /// # Panics
    /// If one is missing.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in:\n{}", self.stderr);
        }
        self
    }
}

/// Reads at places of its own: the file's position is shared with the process, which writes there.
fn read(file: &File) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8 << 10];
    loop {
        match file.read_at(&mut buffer, bytes.len() as u64).expect("what it wrote") {
            0 => return String::from_utf8_lossy(&bytes).into_owned(),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
