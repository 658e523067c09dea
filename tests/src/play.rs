//! Scenarios that are played whole, and then once more for every place at which the host can be killed.
//! Anyone who sends sends with a key and again after a kill, as a client does; all must come to the same.

use std::sync::Arc;

use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_runtime::Host;
use rewake_runtime::live::UnloadReason;
use rewake_store::CutStore;
use rewake_wire::Part;
use serde_json::Value;

use crate::bundles::Draft;
use crate::journal::Events;
use crate::running::Running;
use crate::world::{Outcome, World};

/// A scenario with more places than this to be cut at never comes to an end.
const CUTS_MAX: i64 = 200;
/// Names the distance in appends between two cuts, if it is not 1: a sample takes less time.
const CUT_STEP: &str = "REWAKE_CUT_STEP";

/// A session, and what is sent to it: each command once the one before has been dealt with.
pub struct Scenario {
    bundle: Draft,
    commands: Vec<Command>,
    varies: bool,
    rules: Option<String>,
}

impl Scenario {
    /// Of a bundle, with nothing sent.
    pub fn new(bundle: Draft) -> Self {
        Scenario { bundle, commands: Vec::new(), varies: false, rules: None }
    }

    /// Sends a message with these operations.
    pub fn say(self, ops: &Value) -> Self {
        self.send(Command::Message { parts: vec![Part::text(ops.to_string())] })
    }

    /// Answers a question.
    pub fn answer(self, question: &str, value: &Value) -> Self {
        self.send(Command::Answer { question: question.into(), value: value.to_string() })
    }

    /// Sends a command.
    pub fn send(mut self, command: Command) -> Self {
        self.commands.push(command);
        self
    }

    /// Has its hosts go by these rules of the operator.
    pub fn ruled(self, rules: &str) -> Self {
        Scenario { rules: Some(rules.to_owned()), ..self }
    }

    /// What it learns differs from run to run; only its journal is checked.
    pub fn varies(self) -> Self {
        Scenario { varies: true, ..self }
    }

    /// Plays it whole, and then killed after each append, or each of a sample, and loaded again: in the same place,
    /// and from a copy of the data folder; with snapshots and without. Checks each, and compares what came of it.
    ///
    /// # Panics
    /// If anything does not hold.
    pub async fn everywhere(&self, check: impl Fn(&World, &SessionId, &Events)) {
        let created = World::new().await;
        if let Some(rules) = &self.rules {
            created.rule(rules);
        }
        let id = created.create(&self.bundle).await;
        let whole = created.copy().await;
        assert_eq!(self.play(whole.own(), &id).await, None);
        let expected = whole.check(&id).await;
        check(&whole, &id, &expected);
        let expected = expected.transcript();
        let step = cut_step();
        for (snapshot_entries, first) in [(3, 0), (1_000, step / 2)] {
            let mut appends = first;
            loop {
                let world = created.copy().await.snapshots_every(snapshot_entries);
                if !self.cut(&world, &id, appends).await {
                    break;
                }
                // A copy is the same files: one of the two ways is enough for it.
                let copy = if snapshot_entries == 3 { Some(world.copy().await) } else { None };
                for world in std::iter::once(&world).chain(&copy) {
                    assert_eq!(self.play(world.own(), &id).await, None, "cut after {appends}");
                    let events = world.check(&id).await;
                    check(world, &id, &events);
                    self.compare(&events.transcript(), &expected, appends);
                }
                appends += step;
                assert!(appends < CUTS_MAX, "it never comes to an end");
            }
            assert!(appends > 3, "it was cut {appends} times only");
        }
    }

    /// Plays it with a kill after `appends` appends. Returns whether the kill came before its end.
    async fn cut(&self, world: &World, id: &SessionId, appends: i64) -> bool {
        let store = Arc::new(CutStore::new(world.store.clone(), appends));
        let host = world.host_over(store.clone());
        let played = self.play(&host, id).await;
        played.is_some() || store.is_cut()
    }

    fn compare(&self, transcript: &[String], expected: &[String], appends: i64) {
        let is_unknown = transcript.iter().any(|line| line.contains(": unknown"));
        if !self.varies && !is_unknown {
            assert_eq!(transcript, expected, "cut after {appends}");
        }
    }

    /// Sends every command, and waits until the session rests; why it did not.
    async fn play(&self, host: &Host, id: &SessionId) -> Option<UnloadReason> {
        // A failed load is a cut as well.
        let mut session = match Running::try_load(host, id).await {
            Ok(session) => session,
            Err(error) => return Some(UnloadReason::Failed(error.to_string())),
        };
        match session.rest().await {
            Outcome::Gone(UnloadReason::Ended) => return None,
            Outcome::Gone(gone) => return Some(gone),
            Outcome::Idle => {}
        }
        for (n, command) in self.commands.iter().enumerate() {
            let key = format!("command-{n}");
            session.command_with_key(command.clone(), Some(key)).await.expect("taken");
            match session.rest().await {
                Outcome::Idle => {}
                Outcome::Gone(UnloadReason::Ended) => return None,
                Outcome::Gone(gone) => return Some(gone),
            }
        }
        // What was sent last may not have been looked at yet.
        while !session.unload_if_idle().await {
            session.rest().await;
        }
        None
    }
}

fn cut_step() -> i64 {
    let step = std::env::var(CUT_STEP).map_or(1, |step| step.parse().expect("a number of appends"));
    assert!(step > 0, "{CUT_STEP} is a distance");
    step
}
