//! The line of figures below what is typed: the model, how full its context is, what was spent, what is being
//! done. Reads entries; knows no terminal.

use std::time::Instant;

use rewake_core::entry::Entry;
use rewake_core::fact::{Fact, ModelOutcome};
use rewake_core::money::Usd;
use rewake_core::session::Session;
use rewake_runtime::live::Delta;
use rewake_text::one_line;

use super::row::{Look, Row};
use crate::stream::activity;

/// Characters of a model's name and of an activity.
const WORDS_CHARS_MAX: usize = 40;

/// The figures.
#[derive(Debug, Default)]
pub(super) struct Status {
    model: String,
    /// Tokens of the newest request and its answer, and what the model can read at once.
    context: Option<(u64, Option<u64>)>,
    doing: Option<(String, Instant)>,
}

impl Status {
    pub(super) fn new(session: &Session) -> Status {
        let model = session.created.as_deref().map(|created| one_line(&created.agent.model, WORDS_CHARS_MAX));
        Status { model: model.unwrap_or_default(), ..Status::default() }
    }

    /// Takes an entry in.
    pub(super) fn entry(&mut self, entry: &Entry, now: Instant) {
        match &entry.fact {
            Fact::ModelCompleted(body) => {
                if let ModelOutcome::Completion { usage, context_tokens, .. } = &body.outcome {
                    self.context = Some((usage.total(), *context_tokens));
                }
                self.doing = None;
            }
            Fact::TurnWaiting(_) | Fact::ToolCompleted(_) => self.doing = None,
            fact if fact.is_turn_end() => self.doing = None,
            _ => {
                if let Some(line) = activity(entry) {
                    self.does(line.trim_end_matches([' ', '…']), now);
                }
            }
        }
    }

    /// Takes a piece of what the model is saying in.
    pub(super) fn delta(&mut self, delta: &Delta, now: Instant) {
        match delta {
            Delta::Text(_) => self.does("writes", now),
            Delta::Thinking(_) => self.does("thinks", now),
            Delta::ToolUse(name) => self.does(&format!("asks for {name}"), now),
        }
    }

    /// Something is being done.
    pub(super) fn does(&mut self, what: &str, now: Instant) {
        let what = one_line(what, WORDS_CHARS_MAX);
        if self.doing.as_ref().is_none_or(|(doing, _)| *doing != what) {
            self.doing = Some((what, now));
        }
    }

    /// Nothing is being done.
    pub(super) fn rests(&mut self) {
        self.doing = None;
    }

    /// Whether the line changes as time goes by.
    pub(super) fn is_moving(&self) -> bool {
        self.doing.is_some()
    }

    /// The line. `hint` says what can be done.
    pub(super) fn row(&self, session: &Session, now: Instant, hint: &str) -> Row {
        let mut figures = vec![self.model.clone()];
        if let Some((doing, since)) = &self.doing {
            let seconds = now.saturating_duration_since(*since).as_secs();
            figures.push(if seconds > 0 { format!("{doing} ({seconds} s)") } else { doing.clone() });
        }
        figures.push(hint.to_owned());
        figures.extend(self.context.map(|(used, of)| context(used, of)));
        let cap = session.max_usd();
        figures.extend(spent(session.committed(), cap));
        figures.retain(|figure| !figure.is_empty());
        Row::new(Look::DIM, &figures.join(" · "))
    }
}

fn context(used: u64, of: Option<u64>) -> String {
    match of {
        Some(of) if of > 0 => {
            let percent = (u128::from(used) * 100).div_ceil(u128::from(of));
            format!("{} of {} tokens ({percent}%)", thousands(used), thousands(of))
        }
        _ => format!("{} tokens", thousands(used)),
    }
}

fn thousands(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..10_000 => format!("{}.{}k", n / 1_000, n % 1_000 / 100),
        10_000..10_000_000 => format!("{}k", n / 1_000),
        _ => format!("{}M", n / 1_000_000),
    }
}

/// What was spent; nothing, where nobody said what the model costs and nothing caps it.
fn spent(spent: Usd, cap: Option<Usd>) -> Option<String> {
    match cap {
        Some(cap) => Some(format!("{} of {cap}", short(spent))),
        None if spent.is_zero() => None,
        None => Some(short(spent)),
    }
}

/// With four decimals at most, rounded up.
fn short(amount: Usd) -> String {
    const STEP: u64 = 100_000;
    Usd::from_nanos(amount.nanos().div_ceil(STEP).saturating_mul(STEP)).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rewake_core::ids::SessionId;

    use super::*;

    #[test]
    fn the_figures_are_short() {
        assert_eq!(
            [999, 1_000, 9_999, 12_345, 1_234_567, 12_345_678].map(thousands),
            ["999", "1.0k", "9.9k", "12k", "1234k", "12M"]
        );
        assert_eq!(context(12_345, Some(200_000)), "12k of 200k tokens (7%)");
        assert_eq!(context(5, None), "5 tokens");
        let usd = |text: &str| text.parse::<Usd>().unwrap();
        assert_eq!(spent(usd("0.0123456"), Some(usd("2"))).as_deref(), Some("$0.0124 of $2.00"));
        assert_eq!(spent(usd("1"), None).as_deref(), Some("$1.00"));
        assert_eq!(spent(Usd::ZERO, None), None);
    }

    #[test]
    fn what_is_being_done_has_its_time() {
        let session = Session::new(SessionId::parse("ses_1").unwrap());
        let now = Instant::now();
        let mut status = Status { model: "m".into(), ..Status::default() };
        assert_eq!(status.row(&session, now, "hint").text(), "m · hint");
        status.delta(&Delta::Text("a".into()), now);
        status.delta(&Delta::Text("b".into()), now + Duration::from_secs(1));
        assert_eq!(status.row(&session, now + Duration::from_secs(2), "").text(), "m · writes (2 s)");
        status.rests();
        assert!(!status.is_moving());
    }
}
