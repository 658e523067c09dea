//! The figures, and in which order they are measured. Each file measures some that are alike.

mod append;
mod durable;
mod hot;
mod load;
mod replay;
pub(crate) mod resident;
mod stored;
mod stream;

use std::pin::Pin;

use crate::Result;
use crate::bench::Bench;
use crate::report::Row;

/// A figure's measuring.
type Measured<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>>> + 'a>>;

/// A figure, or some that are measured together.
pub(crate) struct Figure {
    /// As it is asked for.
    pub(crate) name: &'static str,
    /// For people.
    pub(crate) what: &'static str,
    pub(crate) measure: for<'a> fn(&'a mut Bench) -> Measured<'a>,
}

impl std::fmt::Debug for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All of them.
pub(crate) const FIGURES: [Figure; 13] = [
    figure("append", "a durable append of one entry", |bench| Box::pin(append::one(bench))),
    figure("calls", "durable tool calls, one after another", |bench| Box::pin(durable::calls(bench))),
    figure("sessions", "durable tool calls of 64 sessions", |bench| Box::pin(durable::sessions(bench))),
    figure("steps", "durable steps with one tool call each", |bench| Box::pin(durable::steps(bench))),
    figure("hot-call", "a tool call without commits", |bench| Box::pin(hot::calls(bench))),
    figure("hot-step", "an empty step without commits", |bench| Box::pin(hot::step(bench))),
    figure("observation", "an observation", |bench| Box::pin(hot::observation(bench))),
    figure("hook", "a hook on a tool call", |bench| Box::pin(hot::hook(bench))),
    figure("replay", "replaying 10,000 tool calls", |bench| Box::pin(replay::calls(bench))),
    figure("load", "loading a session", |bench| Box::pin(load::both(bench))),
    figure("stored", "bytes of an entry", |bench| Box::pin(stored::entry(bench))),
    figure("stream", "the first token of a model", |bench| Box::pin(stream::first(bench))),
    figure("resident", "memory of loaded sessions", |bench| Box::pin(resident::sessions(bench))),
];

const fn figure(
    name: &'static str,
    what: &'static str,
    measure: for<'a> fn(&'a mut Bench) -> Measured<'a>,
) -> Figure {
    Figure { name, what, measure }
}
