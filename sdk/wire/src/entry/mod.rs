//! What entries of a journal say (docs/entries.md). `D` is a digest, `T` a time: text and milliseconds for
//! readers, the host's own types for the host.

mod call;
mod command;
mod file;
mod hook;
mod http;
mod model;
mod question;
mod step;
mod turn;
mod workspace;

pub use call::{
    AgentMessage, AgentTitle, CallRetried, LogLevel, LogLine, LogLines, Lost, RequestedUse, ToolCompleted,
    ToolLost, ToolStarted, ToolsRequested,
};
pub use command::{
    CommandCanceled, CommandEdited, CommandPromoted, CommandRejected, UserAnswer, UserInterrupt, UserMessage,
    UserStop,
};
pub use file::{FileAnswer, FileAudit, FileKind, FileObserved, FileOp, FileStat, FileUsed};
pub use hook::{Changes, Decision, HookVerdict, OnError};
pub use http::{HttpBody, HttpCompleted, HttpLost, HttpOutcome, HttpRequest, HttpStarted, HttpUse};
pub use model::{ModelCompleted, ModelContent, ModelLost, ModelOutcome, ModelStarted, PartialAnswer, Stored};
pub use question::{Asker, Question, QuestionAsked, QuestionWithdrawn};
pub use step::{Answer, Message, StepInput, Unfinished};
pub use turn::{Scope, TurnCompleted, TurnFailed, TurnInterrupted, TurnStarted, TurnSteered};
pub use workspace::WorkspaceImported;
