//! The rules of a session, and nothing else: what an entry can say, what folding entries gives, and what
//! may follow from it. No async, no I/O, no clock, no randomness: times, seeds and ids come in as
//! arguments. The rules are those of the journal (spec `journal.md`, R0 to R14).
//!
//! Start with [`entry`] and [`fact`], then [`session`], then [`mod@decide`].

pub mod asked;
pub mod canonical;
pub mod codec;
pub mod command;
pub mod decide;
pub mod difference;
pub mod effect;
pub mod entry;
pub mod error;
pub mod fact;
pub mod grant;
pub mod ids;
pub mod limits;
pub mod money;
mod open_call;
mod recovery;
pub mod replay;
pub mod session;
mod shared;
mod taken;
pub(crate) mod transitions;
pub mod view;

pub use decide::decide;
pub use error::{Corrupt, Mismatch, Refusal};
pub use session::{Session, fold};
pub use transitions::firing;
pub use transitions::gate_hooks::{ALLOW, CHOICES, question_id};
pub use transitions::hook::{after_binding, binding, qualified};
pub use transitions::room;
