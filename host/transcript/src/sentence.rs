//! Entries that are shown as a sentence, the same one by every renderer.

use rewake_core::entry::Entry;
use rewake_core::fact::{CallRetried, Fact, GrantsWhy, ModelOutcome, SessionLoaded, Source};

use crate::words::{count, lost, parts, sender, usage_and_cost, wait};
use crate::{Item, Tone, Transcript};

impl Transcript {
    pub(crate) fn sentence<'a>(&self, entry: &'a Entry) -> Option<Item<'a>> {
        let (tone, text) =
            self.of_command(entry).or_else(|| self.of_session(entry)).or_else(|| self.of_turn(entry))?;
        Some(Item::Sentence(tone, text))
    }

    /// What people do, other than to send messages and answers.
    fn of_command(&self, entry: &Entry) -> Option<(Tone, String)> {
        let shown = self.shown;
        let who = |by| shown(&sender(by));
        Some((
            Tone::Dim,
            match &entry.fact {
                Fact::UserInterrupt(body) => format!("> {} interrupts", who(&body.sender)),
                Fact::UserStop(body) => {
                    format!("> {} stops the session: {}", who(&body.sender), shown(&body.reason))
                }
                Fact::CommandEdited(body) => {
                    let text = shown(&parts(&body.after));
                    format!("> {} changes message {}: {text}", who(&body.sender), body.target)
                }
                Fact::CommandCanceled(body) => {
                    format!("> {} takes message {} back", who(&body.sender), body.target)
                }
                Fact::CommandPromoted(body) => {
                    format!("> {} promotes message {}", who(&body.sender), body.target)
                }
                Fact::CommandRejected(body) => {
                    let text = format!("! command {} had no effect: {}", body.n, shown(&body.why));
                    return Some((Tone::Bad, text));
                }
                _ => return None,
            },
        ))
    }

    fn of_session(&self, entry: &Entry) -> Option<(Tone, String)> {
        let shown = self.shown;
        Some(match &entry.fact {
            Fact::AgentTitle(body) => (Tone::Dim, format!("title: {}", shown(&body.title))),
            Fact::SessionTitled(body) => (Tone::Dim, format!("title: {}", shown(&body.title))),
            Fact::GrantsChanged(body) => {
                let left = body.to.describe();
                let left = if left.is_empty() { "nothing".to_owned() } else { left.join(", ") };
                let why = match (body.why, &body.by) {
                    (GrantsWhy::Rules, _) => "by the operator's rules".to_owned(),
                    (GrantsWhy::Approved, by) => {
                        format!("as {} approved", by.as_deref().unwrap_or("an operator"))
                    }
                    (GrantsWhy::Unvouched, _) => "as this machine does not vouch for its approval".to_owned(),
                };
                (Tone::Bad, shown(&format!("grants: a component now has {left}, {why}")))
            }
            Fact::SessionLoaded(body) if body.source != Source::Startup => (Tone::Dim, loaded(body)),
            Fact::SessionStopped(body) => {
                (Tone::Bad, format!("the session is stopped: {}", shown(&body.reason)))
            }
            Fact::SessionFailed(body) => {
                let (code, detail) = (shown(&body.code), shown(&body.detail));
                (Tone::Bad, format!("the session has failed ({code}): {detail}"))
            }
            Fact::SnapshotRejected(body) => {
                let why = shown(&body.why);
                (Tone::Dim, format!("the snapshot at entry {} could not be used: {why}", body.at))
            }
            _ => return None,
        })
    }

    fn of_turn(&self, entry: &Entry) -> Option<(Tone, String)> {
        let (shown, place) = (self.shown, entry.place);
        let (turn, step) = (place.turn, place.step);
        let dim = |text: String| (Tone::Dim, text);
        let bad = |text: String| (Tone::Bad, text);
        Some(match &entry.fact {
            Fact::ModelCompleted(body) => bad(self.unanswered(&body.outcome)?),
            Fact::ModelLost(body) => dim(format!("model: no answer is known: {}", lost(body.why))),
            Fact::CallRetried(CallRetried { why: Some(why), n, .. }) => {
                dim(format!("↻ the model is asked again (repeat {n}): {}", shown(why)))
            }
            Fact::CallRetried(body) => dim(format!(
                "↻ call {} is performed again, with the same key (repeat {})",
                body.start, body.n
            )),
            Fact::StepRerun(_) => dim(format!("↻ turn {turn}, step {step}: resumes after its last entry")),
            Fact::StepAborted(body) if !body.detail.is_empty() => {
                dim(format!("step {step} was cut off: {}", shown(&body.detail)))
            }
            Fact::TurnSteered(body) => dim(format!("turn {turn} accepts {} more", body.commands.len())),
            Fact::TurnWaiting(body) if !body.on.is_over(entry.at) => {
                dim(format!("turn {turn} waits for {}", wait(&body.on)))
            }
            Fact::TurnCompleted(body) => {
                let steps = count(u64::from(body.steps), "step", "steps");
                dim(format!("turn {turn} done: {steps}, {}", usage_and_cost(&body.usage, body.cost)))
            }
            Fact::TurnInterrupted(body) => bad(match &body.reason {
                Some(why) => format!("turn {turn} was ended by a hook: {}", shown(why)),
                None => format!("turn {turn} was interrupted"),
            }),
            // The detail may have lines, such as the frames of a trap.
            Fact::TurnFailed(body) => {
                bad(format!("turn {turn} failed ({}): {}", shown(&body.code), body.detail))
            }
            _ => return None,
        })
    }

    fn unanswered(&self, outcome: &ModelOutcome) -> Option<String> {
        let (what, why) = match outcome {
            ModelOutcome::Completion { .. } => return None,
            ModelOutcome::Budget(why) => ("budget", why),
            ModelOutcome::TooLarge(why) => ("too large", why),
            ModelOutcome::Rejected(why) => ("rejected", why),
            ModelOutcome::Unavailable(why) => ("unavailable", why),
            ModelOutcome::Denied(why) => ("denied", why),
        };
        Some(format!("model: {what}: {}", (self.shown)(why)))
    }
}

fn loaded(body: &SessionLoaded) -> String {
    let from = match body.snapshot_seq {
        Some(seq) => format!("the snapshot at entry {seq} and "),
        None => String::new(),
    };
    format!("↻ restored from {from}{}", count(body.folded, "entry", "entries"))
}
