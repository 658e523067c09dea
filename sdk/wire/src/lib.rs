//! What crosses between Rewake and those who read it: events, parts, senders, outcomes.
//! Serde types only; they hold no rules and know neither journal nor HTTP.

mod content;
#[cfg(feature = "entries")]
pub mod entry;
mod event;
#[cfg(feature = "entries")]
mod money;
mod session;

pub use content::{Base64, Effect, Ending, Finish, Outcome, Part, Sender, Usage};
pub use event::{Actor, ActorType, Event};
#[cfg(feature = "entries")]
pub use money::{NoAmount, Usd};
pub use session::{Fault, SessionSummary, Status};
