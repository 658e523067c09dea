//! What a harness can ask of its host.
//!
//! Knows the calls and their shapes. Does not know who answers: the host in a component, a
//! [`crate::testing::Fake`] in a unit test.

use std::fmt;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Result,
    error::Error,
    harness::Failure,
    json::JsonText,
    log::Level,
    model::{ModelResult, Request, ToolResult, ToolUse},
    part::Part,
    tool::ToolDef,
};

/// The session's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The session's id.
    pub id: String,
    /// The agent's name.
    pub agent: String,
    /// The turn's id.
    pub turn: String,
    /// What the agent was told to be.
    pub instructions: String,
    /// The bundle's configuration values, without the sensitive ones.
    pub config: JsonText,
}

/// Which entries of the journal to read: those with `after < seq < before`, of the kinds named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Only later ones; 0 for all.
    pub after: u32,
    /// Only earlier ones.
    pub before: Option<u32>,
    /// Only of these kinds, such as `tool.completed`; none for all.
    pub kinds: Vec<String>,
    /// At most so many.
    pub limit: u32,
    /// The newest first.
    pub newest_first: bool,
}

impl Default for Slice {
    /// The first 100 entries of all kinds.
    fn default() -> Self {
        Self { after: 0, before: None, kinds: Vec::new(), limit: 100, newest_first: false }
    }
}

/// An entry of the journal, as guests see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEvent {
    /// Its number.
    pub seq: u32,
    /// Its kind, such as `user.message`.
    pub kind: String,
    /// The turn it belongs to.
    pub turn: Option<String>,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// What it says.
    pub data: JsonText,
}

/// A session to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Child {
    /// Its agent.
    pub agent: String,
    /// Its first message.
    pub message: Vec<Part>,
    /// One of the people whose messages this turn took in.
    pub on_behalf_of: Option<String>,
}

/// The imports of a harness, one function each. The host or a fake answers them.
pub(crate) trait Calls {
    fn model(&self, request: Request) -> ModelResult;
    fn tools(&self) -> Vec<ToolDef>;
    fn call_tools(&self, uses: &[ToolUse]) -> Vec<ToolResult>;
    fn info(&self) -> Info;
    fn events(&self, slice: &Slice) -> Vec<JournalEvent>;
    fn blob(&self, digest: &str, offset: u32, length: u32) -> Result<Vec<u8>, String>;
    fn say(&self, parts: &[Part]) -> u32;
    fn emit(&self, kind: &str, data: &JsonText) -> Result<u32, String>;
    fn set_title(&self, title: &str);
    fn set_activity(&self, line: &str);
    fn spawn(&self, child: &Child) -> Result<String, String>;
    fn archive(&self, handoff: Option<&str>) -> Result<(), String>;
    fn log(&self, level: Level, message: &str);
}

/// The session that a step runs in. Every call is recorded; a step that is run again is given
/// what was recorded.
pub struct Session {
    calls: Box<dyn Calls>,
}

impl Session {
    pub(crate) fn new(calls: Box<dyn Calls>) -> Self {
        Self { calls }
    }

    /// Asks the model.
    ///
    /// # Errors
    /// The spend cap is reached, or the model refuses or cannot answer; `?` makes that a failure
    /// of the turn.
    pub fn model(&self, request: Request) -> ModelResult {
        self.calls.model(request)
    }

    /// The tools that the session was created with.
    #[must_use]
    pub fn tools(&self) -> Vec<ToolDef> {
        self.calls.tools()
    }

    /// Calls tools: in parallel, except that tools that see a directory which one of them may change run one after
    /// another, in the order of the list. The results are in the order of the uses; what was refused or failed is a
    /// result too.
    #[must_use]
    pub fn call_tools(&self, uses: &[ToolUse]) -> Vec<ToolResult> {
        self.calls.call_tools(uses)
    }

    /// The session's settings.
    #[must_use]
    pub fn info(&self) -> Info {
        self.calls.info()
    }

    /// The bundle's configuration as a type of yours.
    ///
    /// # Errors
    /// It is not a `T`: the turn fails.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.info()
            .config
            .parse()
            .map_err(|error| Failure::turn("config_invalid", format!("the bundle's configuration: {error}")))
    }

    /// Reads the session's own journal.
    #[must_use]
    pub fn events(&self, slice: &Slice) -> Vec<JournalEvent> {
        self.calls.events(slice)
    }

    /// Reads bytes of a blob that an event of this session names: the body of a response that was too
    /// large for its entry. At most 4 MiB at once; fewer where it ends.
    ///
    /// # Errors
    /// No event names it.
    pub fn blob(&self, digest: &str, offset: u32, length: u32) -> Result<Vec<u8>> {
        self.calls.blob(digest, offset, length).map_err(Error::new)
    }

    /// Shows a message of the agent; returns its seq.
    pub fn say(&self, text: impl Into<String>) -> u32 {
        self.say_parts(&[Part::text(text)])
    }

    /// Shows a message of any content; returns its seq.
    pub fn say_parts(&self, parts: &[Part]) -> u32 {
        self.calls.say(parts)
    }

    /// Appends an entry of your own kind, `custom.…`, to the journal; returns its seq.
    ///
    /// # Errors
    /// The kind is not `custom.…`, or the value has no JSON form.
    pub fn emit<T: Serialize>(&self, kind: &str, data: &T) -> Result<u32> {
        self.calls.emit(kind, &JsonText::of(data)?).map_err(Error::new)
    }

    /// Names the session, in at most 64 characters.
    pub fn set_title(&self, title: &str) {
        self.calls.set_title(title);
    }

    /// Shows what is being done now, in one line.
    pub fn set_activity(&self, line: &str) {
        self.calls.set_activity(line);
    }

    /// Starts a session of another agent; returns its id.
    ///
    /// # Errors
    /// The host refuses, or has no such agent.
    pub fn spawn(&self, child: &Child) -> Result<String> {
        self.calls.spawn(child).map_err(Error::new)
    }

    /// Hides this session from lists, with a note for a successor.
    ///
    /// # Errors
    /// The host refuses.
    pub fn archive(&self, handoff: Option<&str>) -> Result<()> {
        self.calls.archive(handoff).map_err(Error::new)
    }

    /// Writes a line of diagnostics. It is journaled, and never content.
    pub fn log(&self, level: Level, message: impl AsRef<str>) {
        self.calls.log(level, message.as_ref());
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}
