//! What the demo claims, read from the journal and from what is left in the world.

use std::collections::BTreeMap;
use std::fmt;

use super::rewake::Event;

/// A claim, and whether it holds.
pub(super) struct Finding {
    pub(super) holds: bool,
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.holds { "holds:" } else { "DOES NOT HOLD:" }, self.text)
    }
}

/// The demo's claims.
pub(super) fn findings(events: &[Event], published: &str, untouched: bool) -> Vec<Finding> {
    let count = |kind: &str| events.iter().filter(|event| event.kind == kind).count();
    let finding = |holds: bool, text: String| Finding { holds, text };
    let gaps = events.iter().zip(1u64..).filter(|(event, seq)| event.seq != *seq).count();
    let fed = fed_back(events);
    let lines = published.lines().count();
    let (startup, resume) = session_starts(events);
    let denied = events.iter().filter(|event| event.data["outcome"] == "denied").count();
    vec![
        finding(gaps == 0, format!("recorded: {} entries, numbered without a gap", events.len())),
        finding(
            count("session.loaded") == 3,
            format!("three processes took the session up ({} loads)", count("session.loaded")),
        ),
        finding(
            startup == 1 && resume == 2,
            format!("SessionStart fired once a load: {startup} startup, {resume} resume"),
        ),
        finding(
            fed > 0,
            format!("replayed instead of repeated, in the steps that were cut: {fed} recorded outcomes"),
        ),
        finding(
            lines == 1 && count("tool.lost") == 1,
            format!(
                "the tool that must not run twice ran once: {lines} line in published.log, {} outcome given as unknown",
                count("tool.lost")
            ),
        ),
        finding(
            count("call.retried") == 1 && count("model.started") == count("model.completed"),
            format!(
                "the model that was cut off was asked again: {} of {} calls, each with one answer",
                count("call.retried"),
                count("model.started")
            ),
        ),
        finding(denied == 1, format!("a hook denied {denied} call, and nothing of it was done")),
        finding(ends(events), "every call and every turn that started ended exactly once".into()),
        finding(untouched, "the original documents are as they were; the agent had a copy".into()),
    ]
}

/// SessionStart firings: for `startup`, for `resume`.
fn session_starts(events: &[Event]) -> (usize, usize) {
    let of = |source: &str| {
        let starts = events.iter().filter(|event| event.kind == "hook.started");
        starts.filter(|event| event.data["source"] == source).count()
    };
    (of("startup"), of("resume"))
}

/// Outcomes that stood in the journal when a step was run again.
fn fed_back(events: &[Event]) -> usize {
    let mut since_start = 0;
    let mut fed = 0;
    for event in events {
        match event.kind.as_str() {
            "step.started" => since_start = 0,
            "step.rerun" => fed += since_start,
            "agent.message" | "model.completed" | "tool.completed" | "tool.lost" => since_start += 1,
            _ => {}
        }
    }
    fed
}

fn ends(events: &[Event]) -> bool {
    let mut ends: BTreeMap<u64, usize> = BTreeMap::new();
    for event in events {
        if let Some(start) = event.data["start"].as_u64()
            && event.kind != "call.retried"
        {
            *ends.entry(start).or_default() += 1;
        }
    }
    let started =
        |event: &&Event| ["model.started", "tool.started", "hook.started"].contains(&event.kind.as_str());
    let turns = |kind: &str| events.iter().filter(|event| event.kind == kind).count();
    events.iter().filter(started).all(|event| ends.get(&event.seq) == Some(&1))
        && turns("turn.started") == turns("turn.completed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(seq: u64, kind: &str, data: serde_json::Value) -> Event {
        Event { seq, kind: kind.into(), data }
    }

    /// Whatever the numbers are.
    #[test]
    fn the_readme_shows_every_claim() {
        let words = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let page = include_str!("../../../README.md");
        let (_, shown) = page.split_once("<!-- the demo says -->").expect("what the demo says");
        let (shown, _) = shown.split_once("<!-- end of what the demo says -->").expect("its end");
        let shown = words(shown);
        for finding in findings(&[], "", true) {
            let claim = words(&format!("holds: {}", finding.text));
            assert!(shown.contains(&claim), "{claim:?} is not in:\n{shown}");
        }
    }

    #[test]
    fn a_call_without_an_end_and_one_with_two_are_found() {
        let start = || event(1, "tool.started", json!({}));
        let end = |seq| event(seq, "tool.completed", json!({ "start": 1 }));
        assert!(!ends(&[start()]));
        assert!(ends(&[start(), end(2)]));
        assert!(!ends(&[start(), end(2), end(3)]));
        assert!(ends(&[start(), event(2, "call.retried", json!({ "start": 1 })), end(3)]));
    }

    #[test]
    fn what_a_rerun_was_fed_is_counted() {
        let kinds = ["step.started", "model.completed", "agent.message", "step.rerun", "step.completed"];
        let events: Vec<Event> =
            kinds.iter().zip(1..).map(|(kind, seq)| event(seq, kind, json!({}))).collect();
        assert_eq!(fed_back(&events), 2);
    }
}
