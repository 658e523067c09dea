//! The cases of a bundle's tests, as its `tests/*.toml` say them. Data only: `parse.rs` reads them, the other
//! files run them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rewake_bundle::GrantKind;
use rewake_runtime::host::standalone::Fired;
use serde_json::{Map, Value};

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is about, in the author's words.
    pub name: String,
    /// The file it stands in, as a person knows it.
    pub file: String,
    /// The line it begins at.
    pub line: usize,
    /// What it is run in.
    pub setting: Setting,
    /// What is done, and what must come of it.
    pub kind: Kind,
}

/// What a case is run in.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// What is in its workspace at first.
    pub workspace: Given,
    /// Folders that are copied for the directories of the machine that the manifest asks for, by name.
    pub dirs: BTreeMap<String, PathBuf>,
    /// Values of the bundle's configuration.
    pub config: Map<String, Value>,
}

/// What is in a workspace at first.
#[derive(Clone, Debug, Default)]
pub enum Given {
    /// Nothing.
    #[default]
    Nothing,
    /// These files.
    Files(BTreeMap<String, String>),
    /// What is in this folder.
    Folder(PathBuf),
}

/// What is done.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A tool is called.
    Call(CallCase),
    /// A hook is asked.
    Hook(Box<HookCase>),
    /// A session is run.
    Session(SessionCase),
}

impl Kind {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Call(_) => "call",
            Kind::Hook(_) => "hook",
            Kind::Session(_) => "session",
        }
    }
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct CallCase {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub args: Value,
    /// What it must return, or how it must fail.
    pub expect: Returned,
    /// Files of the workspace afterwards.
    pub files: Files,
}

/// What a tool must return.
#[derive(Clone, Debug, Default)]
pub struct Returned {
    /// The whole text.
    pub text: Option<String>,
    /// Pieces of the text.
    pub contains: Vec<String>,
    /// The value.
    pub json: Option<Value>,
    /// It must fail, and say all this. Empty: it must not.
    pub error: Vec<String>,
}

/// An event that a hook is asked about.
#[derive(Clone, Debug)]
pub struct HookCase {
    /// The hook's component.
    pub component: String,
    /// The event.
    pub fired: Fired,
    /// What it must answer.
    pub expect: Verdict,
    /// Files of the workspace afterwards.
    pub files: Files,
}

/// What a hook must answer.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What it must decide.
    pub decision: Option<Decided>,
    /// Pieces of its reason.
    pub reason: Vec<String>,
    /// Pieces of the context that it adds.
    pub context: Vec<String>,
    /// What it must make of the tool's input.
    pub input: Option<Value>,
    /// The title that it must give.
    pub title: Option<String>,
    /// Pieces of the reason for which it must end the turn.
    pub end_turn: Vec<String>,
    /// It must fail, and say all this. Empty: it must not.
    pub error: Vec<String>,
}

/// What a hook decides, or that it is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    None,
    Allow,
    Deny,
    Ask,
    Block,
    /// No declaration of the component is for the event.
    Unasked,
}

impl Decided {
    /// Every one, by its word.
    pub const ALL: [(&'static str, Decided); 6] = [
        ("none", Decided::None),
        ("allow", Decided::Allow),
        ("deny", Decided::Deny),
        ("ask", Decided::Ask),
        ("block", Decided::Block),
        ("unasked", Decided::Unasked),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Decided::ALL.iter().find(|(_, one)| *one == self).map_or("none", |(word, _)| word)
    }
}

/// A whole session with the scripted model.
#[derive(Clone, Debug)]
pub struct SessionCase {
    /// The bundle whose agent runs; none: this one's.
    pub agent: Option<String>,
    /// Further bundles that the session gets.
    pub with: Vec<String>,
    /// What the model answers, instead of the agent's own script.
    pub script: Option<PathBuf>,
    /// What is said to it, each once what came before is dealt with.
    pub messages: Vec<String>,
    /// Answers to questions, by the question's id; `*` for every other: JSON.
    pub answers: BTreeMap<String, Value>,
    /// The transcript that must come of it.
    pub transcript: Option<PathBuf>,
    /// How the session must stand at the end.
    pub status: Option<Stands>,
    /// How its last turn must have ended.
    pub turn: Option<TurnEnd>,
    /// Pieces of what the agent says.
    pub says: Vec<String>,
    /// Files of the workspace afterwards.
    pub files: Files,
}

/// How a session stands when nothing is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// No turn is open.
    Idle,
    /// A turn waits: for answers, a message or a time.
    Waiting,
    /// It was stopped for good.
    Stopped,
    /// It failed for good.
    Failed,
}

impl Stands {
    /// Every one, by its word.
    pub const ALL: [(&'static str, Stands); 4] = [
        ("idle", Stands::Idle),
        ("waiting", Stands::Waiting),
        ("stopped", Stands::Stopped),
        ("failed", Stands::Failed),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        Stands::ALL.iter().find(|(_, one)| *one == self).map_or("idle", |(word, _)| word)
    }
}

/// How a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    Completed,
    Failed,
    Interrupted,
}

impl TurnEnd {
    /// Every one, by its word.
    pub const ALL: [(&'static str, TurnEnd); 3] = [
        ("completed", TurnEnd::Completed),
        ("failed", TurnEnd::Failed),
        ("interrupted", TurnEnd::Interrupted),
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        TurnEnd::ALL.iter().find(|(_, one)| *one == self).map_or("completed", |(word, _)| word)
    }
}

/// Files by path: their text; none: such a file must not be there.
pub(super) type Files = BTreeMap<String, Option<String>>;

/// The words of what a tool may use, as matchers write them.
pub(super) const GRANTS: [(&str, GrantKind); 3] =
    [("http", GrantKind::Http), ("fs-ro", GrantKind::FsRo), ("fs-rw", GrantKind::FsRw)];
