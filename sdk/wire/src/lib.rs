//! What crosses between Rewake and those who read it: events, parts, senders, outcomes.
//! Serde types only; they hold no rules and know neither journal nor HTTP.

mod content;
#[cfg(feature = "entries")]
pub mod entry;
mod event;
mod session;

pub use content::{Base64, Outcome, Part, Sender, Usage};
pub use event::{Actor, ActorType, Event};
pub use session::{Fault, SessionSummary, Status};
