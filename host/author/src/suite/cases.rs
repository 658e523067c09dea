//! The cases of a bundle's tests, as its `tests/*.toml` say them. Data only: `parse.rs` reads them, the other
//! files run them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rewake_bundle::GrantKind;
use rewake_runtime::HttpMock;
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
    pub(crate) line: usize,
    /// What it is run in.
    pub(crate) setting: Setting,
    /// What is done, and what must come of it.
    pub(crate) kind: Kind,
}

/// What a case is run in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    /// What is in its workspace at first.
    pub(crate) workspace: Given,
    /// Folders that are copied for the directories of the machine that the manifest asks for, by name.
    pub(crate) dirs: BTreeMap<String, PathBuf>,
    /// Values of the bundle's configuration.
    pub(crate) config: Map<String, Value>,
    /// Answers to HTTP requests.
    pub(crate) http: Vec<HttpMock>,
}

/// What is in a workspace at first.
#[derive(Clone, Debug, Default)]
pub(crate) enum Given {
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
pub(crate) enum Kind {
    /// A tool is called.
    Call(CallCase),
    /// A hook is asked.
    Hook(Box<HookCase>),
    /// A session is run.
    Session(SessionCase),
}

impl Kind {
    /// The word for it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Kind::Call(_) => "call",
            Kind::Hook(_) => "hook",
            Kind::Session(_) => "session",
        }
    }
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct CallCase {
    /// The tool.
    pub(crate) tool: String,
    /// Its input.
    pub(crate) args: Value,
    /// What it must return, or how it must fail.
    pub(crate) expect: Returned,
    /// Files of the workspace afterwards.
    pub(crate) files: Files,
}

/// What a tool must return.
#[derive(Clone, Debug, Default)]
pub(crate) struct Returned {
    /// The whole text.
    pub(crate) text: Option<String>,
    /// Pieces of the text.
    pub(crate) contains: Vec<String>,
    /// The value.
    pub(crate) json: Option<Value>,
    /// It must fail, and say all this. Empty: it must not.
    pub(crate) error: Vec<String>,
}

/// An event that a hook is asked about.
#[derive(Clone, Debug)]
pub(crate) struct HookCase {
    /// The hook's component.
    pub(crate) component: String,
    /// The event.
    pub(crate) fired: Fired,
    /// What it must answer.
    pub(crate) expect: Verdict,
    /// Files of the workspace afterwards.
    pub(crate) files: Files,
}

/// What a hook must answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// What it must decide.
    pub(crate) decision: Option<Decided>,
    /// Pieces of its reason.
    pub(crate) reason: Vec<String>,
    /// Pieces of the context that it adds.
    pub(crate) context: Vec<String>,
    /// What it must make of the tool's input.
    pub(crate) input: Option<Value>,
    /// The title that it must give.
    pub(crate) title: Option<String>,
    /// Pieces of the reason for which it must end the turn.
    pub(crate) end_turn: Vec<String>,
    /// It must fail, and say all this. Empty: it must not.
    pub(crate) error: Vec<String>,
}

/// What a hook decides, or that it is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decided {
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
    pub(crate) const ALL: [(&'static str, Decided); 6] = [
        ("none", Decided::None),
        ("allow", Decided::Allow),
        ("deny", Decided::Deny),
        ("ask", Decided::Ask),
        ("block", Decided::Block),
        ("unasked", Decided::Unasked),
    ];

    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        Decided::ALL.iter().find(|(_, one)| *one == self).map_or("none", |(word, _)| word)
    }
}

/// A whole session with the scripted model.
#[derive(Clone, Debug)]
pub(crate) struct SessionCase {
    /// The bundle whose agent runs; none: this one's.
    pub(crate) agent: Option<String>,
    /// Further bundles that the session gets.
    pub(crate) with: Vec<String>,
    /// What the model answers, instead of the agent's own script.
    pub(crate) script: Option<PathBuf>,
    /// What is said to it, each once what came before is dealt with.
    pub(crate) messages: Vec<String>,
    /// Answers to questions, by the question's id; `*` for every other: JSON.
    pub(crate) answers: BTreeMap<String, Value>,
    /// The transcript that must come of it.
    pub(crate) transcript: Option<PathBuf>,
    /// How the session must stand at the end.
    pub(crate) status: Option<Stands>,
    /// How its last turn must have ended.
    pub(crate) turn: Option<TurnEnd>,
    /// Pieces of what the agent says.
    pub(crate) says: Vec<String>,
    /// Files of the workspace afterwards.
    pub(crate) files: Files,
}

/// How a session stands when nothing is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
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
    pub(crate) const ALL: [(&'static str, Stands); 4] = [
        ("idle", Stands::Idle),
        ("waiting", Stands::Waiting),
        ("stopped", Stands::Stopped),
        ("failed", Stands::Failed),
    ];

    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        Stands::ALL.iter().find(|(_, one)| *one == self).map_or("idle", |(word, _)| word)
    }
}

/// How a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnEnd {
    Completed,
    Failed,
    Interrupted,
}

impl TurnEnd {
    /// Every one, by its word.
    pub(crate) const ALL: [(&'static str, TurnEnd); 3] = [
        ("completed", TurnEnd::Completed),
        ("failed", TurnEnd::Failed),
        ("interrupted", TurnEnd::Interrupted),
    ];

    /// Its word.
    pub(crate) fn word(self) -> &'static str {
        TurnEnd::ALL.iter().find(|(_, one)| *one == self).map_or("completed", |(word, _)| word)
    }
}

/// Files by path: their text; none: such a file must not be there.
pub(super) type Files = BTreeMap<String, Option<String>>;

/// The words of what a tool may use, as matchers write them.
pub(super) const GRANTS: [(&str, GrantKind); 3] =
    [("http", GrantKind::Http), ("fs-ro", GrantKind::FsRo), ("fs-rw", GrantKind::FsRw)];
