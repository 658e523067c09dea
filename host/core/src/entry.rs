//! Entries: one durable fact of a session each, and where in the session it belongs.

use rewake_wire::{Actor, ActorType};
use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::ids::{Digest, Timestamp};

/// Where an entry belongs: its turn, step, and place among the step's calls. Zeros: to none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Number of the turn in the session, from 1.
    pub turn: u32,
    /// Number of the step in the turn, from 1.
    pub step: u32,
    /// Number of the call in the step, from 1.
    pub ordinal: u32,
    /// Which of the uses of one `tools.call`, from 0.
    pub index: u32,
}

impl Place {
    /// Of a turn, not of one of its steps.
    pub fn turn(turn: u32) -> Self {
        Place { turn, ..Place::default() }
    }

    /// Of a step, not of one of its calls.
    pub fn step(turn: u32, step: u32) -> Self {
        Place { turn, step, ..Place::default() }
    }

    /// The same call's use number `index`.
    pub fn at_index(self, index: u32) -> Self {
        Place { index, ..self }
    }

    /// Whether it is a place in this step.
    pub fn is_in_step(&self, turn: u32, step: u32) -> bool {
        self.turn == turn && self.step == step && step > 0
    }
}

/// An entry as it stands in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Number in the session, from 1 without gaps.
    pub seq: u64,
    /// The lease under which it was appended.
    pub epoch: u64,
    /// When, by the store's clock. Order is `seq`, never this.
    pub at: Timestamp,
    /// Whose doing it is.
    pub actor: Actor,
    /// Where it belongs.
    pub place: Place,
    /// What it says.
    pub fact: Fact,
    /// Chain hash of the entry before.
    pub prev_hash: Digest,
    /// Chain hash of this entry.
    pub hash: Digest,
    /// Bytes of its payload.
    #[serde(default)]
    pub bytes: u64,
}

/// An entry that is decided but not yet sealed: it has no seq, no time and no hash.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Whose doing it is.
    pub actor: Actor,
    /// Where it belongs.
    pub place: Place,
    /// What it says.
    pub fact: Fact,
}

impl Draft {
    /// The host's own doing.
    pub fn system(place: Place, fact: impl Into<Fact>) -> Self {
        Draft { actor: Actor::new(ActorType::System, "host"), place, fact: fact.into() }
    }

    /// The harness's doing.
    pub fn agent(place: Place, fact: impl Into<Fact>) -> Self {
        Draft { actor: Actor::new(ActorType::Agent, "harness"), place, fact: fact.into() }
    }

    /// Somebody else's doing.
    pub fn by(actor: Actor, place: Place, fact: impl Into<Fact>) -> Self {
        Draft { actor, place, fact: fact.into() }
    }
}
