//! What the author of a Rewake plugin imports.
//!
//! A plugin is a component of one kind: a set of [tools](crate::tools!), a set of
//! [hooks](crate::hooks!), or a [harness](crate::harness!). Write ordinary functions and types,
//! export them with the kind's macro, and build with `--target wasm32-wasip2`. On every other
//! target the crate stays an ordinary library, so unit tests run natively; [`testing`] has what
//! they need.
//!
//! # Tools
//!
//! ```
//! use rewake_sdk::prelude::*;
//!
//! #[args]
//! struct Count {
//!     /// Path of a text file, below the workspace.
//!     path: String,
//! }
//!
//! /// Count the words of a text file.
//! #[tool(effect = pure)]
//! fn word_count(args: Count) -> Result<String, ToolError> {
//!     let text = std::fs::read_to_string(format!("/workspace/{}", args.path))?;
//!     Ok(text.split_whitespace().count().to_string())
//! }
//!
//! rewake_sdk::tools![word_count];
//! # fn main() {}
//! ```
//!
//! # Hooks
//!
//! ```
//! use rewake_sdk::prelude::*;
//!
//! #[hook]
//! fn no_deletes(event: PreToolUse) -> Verdict {
//!     if event.tool_name.contains("delete") {
//!         return Verdict::deny("this agent deletes nothing");
//!     }
//!     Verdict::none()
//! }
//!
//! rewake_sdk::hooks![no_deletes];
//! # fn main() {}
//! ```
//!
//! # Harnesses
//!
//! ```
//! use rewake_sdk::prelude::*;
//!
//! #[derive(Default, Serialize, Deserialize)]
//! struct Loop {
//!     conversation: Vec<Message>,
//! }
//!
//! impl Harness for Loop {
//!     const STATE_VERSION: u32 = 1;
//!
//!     fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
//!         self.conversation.push(Message::user(input.text()));
//!         let completion = cx.model(Request {
//!             messages: self.conversation.clone(),
//!             ..Request::default()
//!         })?;
//!         cx.say(completion.text());
//!         self.conversation.push(Message::assistant(completion.content));
//!         Ok(Next::Done)
//!     }
//! }
//!
//! rewake_sdk::harness!(Loop);
//! # fn main() {}
//! ```

// Public for the export macros, which write paths into both.
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod bindings;
#[cfg(feature = "entries")]
pub mod entry;
pub mod error;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod glue;
pub mod harness;
pub mod hook;
pub mod http;
pub mod json;
pub mod log;
mod macros;
pub mod model;
mod names;
pub mod part;
pub mod session;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
#[cfg(test)]
mod tests;
pub mod tool;
pub mod workspace;

/// The authors' guide, whose examples are compiled and run.
#[cfg(all(doctest, feature = "entries"))]
#[doc = include_str!("../../../docs/authors.md")]
mod guide {}

// The attributes write `::rewake_sdk::…`; this crate's own tests use them too.
#[cfg(test)]
extern crate self as rewake_sdk;

pub use error::{Error, Result};
pub use harness::Harness;
pub use rewake_sdk_macros::{args, hook, tool};
pub use session::Session;

/// What most plugins need: `use rewake_sdk::prelude::*;`.
pub mod prelude {
    pub use rewake_sdk_macros::{args, hook, tool};
    pub use serde::{Deserialize, Serialize};

    pub use crate::{
        error::{Error, Result},
        harness::{Failure, Harness, Input, Next, Question},
        hook::{
            Decision, Verdict,
            events::{
                Notification, PostCompact, PostToolUse, PostToolUseFailure, PreCompact, PreToolUse,
                SessionEnd, SessionStart, Source, Stop, SubagentStart, SubagentStop, UserPromptSubmit,
            },
        },
        json::{Json, JsonText},
        log::Level,
        model::{Completion, Message, Outcome, Request, ToolResult, ToolUse},
        part::Part,
        session::{Session, Slice},
        tool::{Effect, ToolContext, ToolDef, ToolError},
    };
}

/// What the macros write. No part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use schemars;
    pub use serde;

    #[cfg(target_arch = "wasm32")]
    pub use crate::{bindings, glue};
}
