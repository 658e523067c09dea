//! What an entry shows people.

use rewake_core::entry::Place;
use rewake_core::fact::{
    AgentMessage, CallRetried, Class, Custom, HookEvent, HookStarted, HookVerdict, HttpCompleted, HttpLost,
    HttpRequest, LogLines, Lost, ModelCompleted, ModelLost, ModelStarted, Question, RequestedUse,
    ToolCompleted, UserAnswer, UserMessage,
};

/// A piece of a transcript. A place is that of a use of a tool, of a request of the harness, or of what is about one.
#[derive(Clone, Debug)]
pub enum Item<'a> {
    /// A message to the agent was accepted.
    UserMessage(&'a UserMessage),
    /// The agent says something.
    AgentMessage(&'a AgentMessage),
    /// Something is asked; the use that it is about.
    Question(&'a Question, Option<Place>),
    /// Something is answered; the use that its question is about.
    Answer(&'a UserAnswer, Option<Place>),
    /// A marker of the harness's own kind; [`crate::marker`] makes a sentence of it.
    Marker(&'a Custom),
    /// Diagnostics of a component.
    Logs(&'a LogLines),
    /// A model is asked.
    ModelStarted(&'a ModelStarted),
    /// A model has answered. Where it did not, a sentence follows.
    ModelCompleted(&'a ModelCompleted),
    /// What a model answered is not known. A sentence follows.
    ModelLost(&'a ModelLost),
    /// A call is performed again. A sentence follows.
    Retried(&'a CallRetried),
    /// A tool or an address is requested.
    Requested(Place, Request<'a>),
    /// It begins; what a repetition would mean.
    Started(Place, Class),
    /// It has ended.
    Ended {
        /// Where.
        place: Place,
        /// The tool's name; of no use to a request of the harness.
        name: String,
        /// How.
        end: End<'a>,
        /// A verdict was shown that says why it is denied.
        is_denial_shown: bool,
    },
    /// It is not known how a tool of this name ended.
    ToolLost(Place, String, Lost),
    /// It is not known how a request of the harness ended.
    HttpLost(Place, &'a HttpLost),
    /// A hook is asked, by the entry of this number. Without an ordinal in its place, it is about the session.
    HookStarted(u64, Place, &'a HookStarted),
    /// A hook has decided.
    Verdict {
        /// What it is about; without an ordinal, the session.
        place: Place,
        /// The hook's component, where that is known.
        hook: Option<String>,
        /// Its event, where that is known.
        event: Option<HookEvent>,
        /// The tool that it is about.
        about: Option<String>,
        /// What it decided.
        verdict: &'a HookVerdict,
    },
    /// Everything else: the same words wherever it is shown.
    Sentence(Tone, String),
}

/// What is requested.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// A tool.
    Tool(&'a RequestedUse),
    /// An address, by the harness.
    Http(&'a HttpRequest),
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// A tool.
    Tool(&'a ToolCompleted),
    /// A request of the harness.
    Http(&'a HttpCompleted),
}

/// How much a sentence matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Good to know.
    Dim,
    /// Something went wrong, or ended early.
    Bad,
}
