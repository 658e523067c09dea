//! What a session's journal says, in short.

use std::collections::BTreeMap;

use rewake_core::ids::SessionId;
use rewake_runtime::host;
use rewake_store::Store;
use rewake_wire::Event;

/// Seqs differ where a load stands before them.
fn without_seq(line: &str) -> String {
    match line.split_once(": ") {
        Some((op @ ("said" | "emitted"), _)) => op.to_owned(),
        Some(("unfinished", _)) => line.rsplit_once(' ').map_or(line, |(what, _)| what).to_owned(),
        _ => line.to_owned(),
    }
}

/// What a report of the scripted harness says that was learned.
fn learned(said: &str) -> Option<Vec<String>> {
    let report: serde_json::Value = serde_json::from_str(said).ok()?;
    let learned = report["learned"].as_array()?;
    Some(learned.iter().map(|line| without_seq(line.as_str().unwrap_or_default())).collect())
}

fn parts_of(event: &Event) -> Vec<String> {
    let parts = event.data["parts"].as_array().cloned().unwrap_or_default();
    parts
        .iter()
        .map(|part| part["text"].as_str().or(part["json"].as_str()).unwrap_or_default().to_owned())
        .collect()
}

fn lines_of(said: &str) -> Vec<String> {
    learned(said).unwrap_or_else(|| vec![said.to_owned()])
}

/// A session's events, read back.
#[derive(Clone, Debug)]
pub struct Events(pub Vec<Event>);

impl Events {
    /// Reads all of them.
    ///
    /// # Panics
    /// If they cannot be read.
    pub async fn of(store: &dyn Store, id: &SessionId) -> Self {
        let mut events: Vec<Event> = Vec::new();
        loop {
            let after = events.last().map_or(0, |event| event.seq);
            let page = host::events(store, id, after, 500).await.expect("the journal reads back");
            if page.is_empty() {
                return Events(events);
            }
            events.extend(page);
        }
    }

    /// Their kinds, in order.
    pub fn kinds(&self) -> Vec<&str> {
        self.0.iter().map(|event| event.kind.as_str()).collect()
    }

    /// Those of one kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Event> {
        self.0.iter().filter(move |event| event.kind == kind)
    }

    /// How many there are of one kind.
    pub fn count(&self, kind: &str) -> usize {
        self.of_kind(kind).count()
    }

    /// The first of one kind.
    ///
    /// # Panics
    /// If there is none.
    pub fn first(&self, kind: &str) -> &Event {
        let mut found = self.0.iter().filter(|event| event.kind == kind);
        found.next().unwrap_or_else(|| panic!("no {kind} in {:?}", self.kinds()))
    }

    /// The last of one kind.
    ///
    /// # Panics
    /// If there is none.
    pub fn last(&self, kind: &str) -> &Event {
        let mut found = self.0.iter().filter(|event| event.kind == kind);
        found.next_back().unwrap_or_else(|| panic!("no {kind} in {:?}", self.kinds()))
    }

    /// What the agent said, in order.
    pub fn said(&self) -> Vec<String> {
        self.of_kind("agent.message").flat_map(parts_of).collect()
    }

    /// What the scripted harness said that it learned, turn by turn.
    pub fn learned(&self) -> Vec<Vec<String>> {
        self.said().iter().filter_map(|text| learned(text)).collect()
    }

    /// What a person sees of it all, in order; without seqs.
    pub fn transcript(&self) -> Vec<String> {
        let line = |event: &Event| {
            let text = |key: &str| event.data[key].as_str().unwrap_or_default().to_owned();
            let kind = event.kind.as_str();
            match kind {
                "agent.message" => parts_of(event).iter().flat_map(|part| lines_of(part)).collect(),
                "agent.title" => vec![format!("{kind} {}", text("title"))],
                "turn.failed" | "session.failed" => vec![format!("{kind} {}", text("code"))],
                "question.asked" | "question.withdrawn" => vec![format!("{kind} {}", text("id"))],
                "user.message" => vec![format!("{kind} {}", event.data["n"])],
                "turn.started" | "turn.steered" | "turn.waiting" | "turn.completed" | "turn.interrupted"
                | "user.answer" | "user.stop" | "command.rejected" | "session.stopped" | "command.edited"
                | "command.canceled" | "command.promoted" => {
                    vec![kind.to_owned()]
                }
                _ => Vec::new(),
            }
        };
        self.0.iter().flat_map(line).collect()
    }

    /// Checks what every journal must hold: each start has at most one end, and exactly one once its turn
    /// is over; every turn that started ended at most once.
    ///
    /// # Panics
    /// If it does not.
    pub fn check(&self) {
        let mut ends: BTreeMap<u64, usize> = BTreeMap::new();
        for event in &self.0 {
            let ending = [".completed", ".lost", ".verdict"].iter().any(|end| event.kind.ends_with(end));
            if ending && let Some(start) = event.data["start"].as_u64() {
                *ends.entry(start).or_default() += 1;
            }
        }
        let open_turn = self.0.iter().rev().find(|event| event.kind.starts_with("turn.")).and_then(|event| {
            matches!(event.kind.as_str(), "turn.started" | "turn.steered" | "turn.waiting")
                .then(|| event.turn_id.clone())
        });
        for event in &self.0 {
            let is_start = ["model.started", "tool.started", "hook.started", "http.started"]
                .contains(&event.kind.as_str());
            if !is_start {
                continue;
            }
            let count = ends.get(&event.seq).copied().unwrap_or(0);
            let is_open = open_turn.as_ref().is_some_and(|open| *open == event.turn_id);
            assert!(
                count == 1 || (count == 0 && is_open),
                "{} at {} ended {count} times",
                event.kind,
                event.seq
            );
        }
        let mut turns: BTreeMap<&str, usize> = BTreeMap::new();
        for event in &self.0 {
            if ["turn.completed", "turn.interrupted", "turn.failed"].contains(&event.kind.as_str()) {
                *turns.entry(event.turn_id.as_deref().unwrap_or_default()).or_default() += 1;
            }
        }
        assert!(turns.values().all(|count| *count == 1), "a turn ended more than once: {turns:?}");
    }
}
