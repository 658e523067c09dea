//! What a run leaves behind, and what it says of effects: which use of a tool may have written which line, and how
//! often. Judges only what must hold at every kill; the rest is `check.rs`.

use std::collections::BTreeMap;

use rewake_core::effect::Effect;
use rewake_core::entry::{Entry, Place};
use rewake_core::fact::{Fact, HookVerdict};
use rewake_core::ids::HostId;
use serde_json::Value;

use crate::people::Sent;
use crate::scene::{Accepted, Begun, Takeover};

/// What a run leaves behind.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) entries: Vec<Entry>,
    /// The greatest row of the inbox.
    pub(crate) through: u64,
    pub(crate) sent: Vec<Sent>,
    pub(crate) broken_promises: Vec<String>,
    /// What tools did outside of the store.
    pub(crate) begun: Vec<Begun>,
    pub(crate) accepted: Vec<Accepted>,
    pub(crate) takeovers: Vec<Takeover>,
    /// What went wrong that may have it loaded again.
    pub(crate) disturbances: u64,
    pub(crate) hosts: BTreeMap<u32, HostId>,
}

impl Evidence {
    /// What tools wrote, line by line.
    pub(crate) fn log(&self) -> Vec<String> {
        self.begun.iter().map(|begun| begun.line.clone()).collect()
    }

    /// Which host wrote an entry.
    pub(crate) fn writer(&self, seq: u64) -> u32 {
        let accepted = self.accepted.iter().find(|accepted| accepted.last_seq >= seq);
        accepted.map_or(0, |accepted| accepted.host)
    }
}

/// A use of a tool that was started.
#[derive(Clone, Debug)]
pub(crate) struct Started {
    pub(crate) class: Effect,
    /// The line it writes, if it writes any.
    pub(crate) line: Option<String>,
    pub(crate) retries: usize,
}

/// Every use of a tool that was started, by its start.
pub(crate) fn started(entries: &[Entry]) -> BTreeMap<u64, Started> {
    let mut inputs: BTreeMap<Place, String> = BTreeMap::new();
    let mut started = BTreeMap::new();
    for entry in entries {
        match &entry.fact {
            Fact::ToolsRequested(body) => {
                let places = (0u32..).map(|index| entry.place.at_index(index));
                inputs.extend(places.zip(body.uses.iter().map(|one| one.input.clone())));
            }
            Fact::HookVerdict(HookVerdict { changes, .. }) => {
                if let Some(input) = &changes.input {
                    inputs.insert(entry.place, input.clone());
                }
            }
            Fact::ToolStarted(body) => {
                let line = inputs.get(&entry.place).and_then(|input| line(&body.name, input));
                started.insert(entry.seq, Started { class: body.class, line, retries: 0 });
            }
            Fact::CallRetried(body) => {
                if let Some(one) = started.get_mut(&body.start) {
                    one.retries += 1;
                }
            }
            _ => {}
        }
    }
    started
}

fn line(tool: &str, input: &str) -> Option<String> {
    let input: Value = serde_json::from_str(input).ok()?;
    tool.starts_with("append").then(|| input["line"].as_str().map(str::to_owned))?
}

/// Every line outside is of a use whose start is in the journal, and no use wrote it oftener than its entries
/// say that it was tried.
pub(crate) fn announced(entries: &[Entry], log: &[String]) -> Result<(), String> {
    let mut allowed: BTreeMap<&str, usize> = BTreeMap::new();
    let started = started(entries);
    for one in started.values() {
        if let Some(line) = &one.line {
            *allowed.entry(line).or_default() += 1 + one.retries;
        }
    }
    let mut written: BTreeMap<&str, usize> = BTreeMap::new();
    for line in log {
        *written.entry(line).or_default() += 1;
    }
    for (line, times) in written {
        let allowed = allowed.get(line).copied().unwrap_or(0);
        if times > allowed {
            return Err(format!(
                "an effect that no entry announces: {line:?} {times} times, {allowed} tries"
            ));
        }
    }
    Ok(())
}
