//! The plugin contract in Rust: generated types, linkers, and the data of a Store.
//!
//! It knows which interfaces each kind of plugin may import and how a call gets from a guest to
//! [`Imports`]. It does not know what any import does: no journal, no model, no network, and not
//! whether a step is being replayed. Building this crate is slow (generated code for a concrete
//! Store type), so what changes often belongs in the runtime, behind [`Imports`].

mod data;
mod generated;
mod imports;
mod limits;
mod linkers;
mod output;
mod plugins;

pub use data::{Data, Sandbox, store};
pub use imports::{HttpImports, Imports, LogImports, ModelImports, SessionImports, ToolsImports};
pub use limits::OverLimit;
pub use linkers::{Kind, Linkers};
pub use output::Output;
pub use plugins::{Harness, HarnessPre, Hook, HookPre, Tool, ToolPre};

/// Shapes that harnesses, tools and hooks share (`rewake:plugin/types`).
pub mod types {
    pub use crate::generated::harness_plugin::rewake::plugin::types::{
        Blob, BlobRef, Effect, Json, Outcome, Part, Sender, Timestamp, ToolDef, ToolResult, ToolUse,
    };
}

/// Completions (`rewake:plugin/model`).
pub mod model {
    pub use crate::generated::harness_plugin::rewake::plugin::model::{
        Completion, Content, Error, Finish, Message, Request, Role, Usage,
    };
}

/// The session as its harness sees it (`rewake:plugin/session`).
pub mod session {
    pub use crate::generated::harness_plugin::rewake::plugin::session::{Child, Event, SessionInfo, Slice};
}

/// HTTP within a grant (`rewake:plugin/http`).
pub mod http {
    pub use crate::generated::harness_plugin::rewake::plugin::http::{Error, Header, Request, Response};
}

/// Diagnostics (`rewake:plugin/log`).
pub mod log {
    pub use crate::generated::harness_plugin::rewake::plugin::log::Level;
}

/// What goes into a step and what comes out of it (`rewake:plugin/harness`).
pub mod harness {
    pub use crate::generated::harness_plugin::exports::rewake::plugin::harness::{
        Answer, Ending, Failure, Input, Message, Next, Pause, Question, Scope, Unfinished,
    };
}

/// What a harness keeps from step to step (`rewake:plugin/state`).
pub mod state {
    pub use crate::generated::harness_plugin::exports::rewake::plugin::state::Saved;
}

/// What goes into a tool's call and what comes out of it (`rewake:plugin/tool`).
pub mod tool {
    pub use crate::generated::tool_plugin::exports::rewake::plugin::tool::{Context, Error};
}

/// What a hook decides on, and its decision (`rewake:plugin/hook`).
pub mod hook {
    pub use crate::generated::hook_plugin::exports::rewake::plugin::hook::{Decision, Event, Verdict};
}
