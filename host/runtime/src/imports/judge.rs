//! What hooks have to say about a call of the running step (hooks.md, journal.md R4): those that may replace
//! the input first, one after another; then all others on what came of it; then people, where a hook wants
//! that; and after the call, on how it ended. What is recorded of an earlier run is not asked again.

use std::sync::Arc;

use rewake_core::difference::Difference;
use rewake_core::effect::Effect;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    Asker, Fact, HookEvent, HookStarted, HookVerdict, Question, QuestionAsked, TurnWaiting, UserAnswer,
    WaitOn,
};
use rewake_core::ids::Digest;
use rewake_core::limits::cut;
use rewake_core::replay::Recorded;
use rewake_core::{ALLOW, CHOICES, after_binding, binding, canonical, question_id};
use rewake_wire::{Outcome, Part, Sender};
use serde_json::value::RawValue;
use wasmtime::Result;

use crate::context::SessionContext;
use crate::event::{DriverHandle, Unrecorded};
use crate::hooks::left;
use crate::hooks::{self, Answer, Asked, HookPayload, Judged, MatchTarget, Used, Verdict, fold};
use crate::record::{Call, Facts, Recorder, Stop};
use rewake_bundle::GrantKind;

/// Bytes of an input that a question shows; the whole stands in the journal.
const ASKED_INPUT_BYTES_MAX: usize = 16 << 10;

/// What hooks judge: one use of a tool, or a request.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) place: Place,
    /// The pinned hooks that must judge it.
    pub(super) hooks: Vec<u32>,
    pub(super) name: String,
    pub(super) id: String,
    /// JSON text; what the last rewriter made of it.
    pub(super) input: String,
    pub(super) arguments: Digest,
    /// The name that verdicts are bound to.
    pub(super) qualified: String,
    pub(super) definition: Digest,
    /// What stands behind the name does, and may use.
    pub(super) effect: Effect,
    pub(super) grants: Vec<GrantKind>,
}

impl Subject {
    fn used(&self) -> Result<Used> {
        let tool_input = RawValue::from_string(self.input.clone())?;
        let (tool_name, tool_use_id) = (self.name.clone(), self.id.clone());
        Ok(Used { tool_name, tool_input, tool_use_id, effect: self.effect, grants: self.grants.clone() })
    }

    fn judged(&self, cx: &SessionContext, at: usize, hook: u32) -> Result<Judged> {
        let binding = binding(&cx.id, self.place, &self.qualified, self.definition, self.arguments);
        Ok(Judged { at, hook, place: self.place, binding, payload: HookPayload::Tool { used: self.used()? } })
    }
}

/// How a use ended.
pub(super) struct End {
    pub(super) outcome: Outcome,
    pub(super) parts: Vec<Part>,
    pub(super) contexts: Vec<String>,
    pub(super) ms: Option<u64>,
}

/// Has every subject judged; what hooks made of the inputs stands in the subjects.
pub(super) async fn before(
    recorder: &mut Recorder,
    cx: &Arc<SessionContext>,
    place: Place,
    subjects: &mut [Subject],
    recorded: &Recorded,
) -> Result<Vec<Verdict>> {
    let mut heard: Vec<Vec<(u64, HookVerdict)>> = subjects.iter().map(|_| Vec::new()).collect();
    let (rewriters, judges): (Vec<Vec<u32>>, Vec<Vec<u32>>) =
        subjects.iter().map(|subject| split(cx, &subject.hooks)).unzip();
    let rounds = rewriters.iter().map(Vec::len).max().unwrap_or(0);
    for round in 0..=rounds {
        let mut asked = Vec::new();
        for (at, subject) in subjects.iter().enumerate() {
            let hooks = if round == rounds { &judges[at][..] } else { slice(&rewriters[at], round) };
            for hook in hooks {
                asked.push(subject.judged(cx, at, *hook)?);
            }
        }
        for (at, seq, verdict) in ask(recorder, cx, place, asked, recorded).await? {
            if let Some(input) = &verdict.changes.input {
                subjects[at].arguments = canonical::digest(input).map_err(wasmtime::Error::msg)?;
                subjects[at].input.clone_from(input);
            }
            heard[at].push((seq, verdict));
        }
    }
    Ok(heard.iter().map(|heard| fold(heard.iter().map(|(seq, verdict)| (*seq, verdict)))).collect())
}

fn slice(hooks: &[u32], at: usize) -> &[u32] {
    hooks.get(at..=at).unwrap_or_default()
}

/// Those that may replace, and the others.
fn split(cx: &SessionContext, hooks: &[u32]) -> (Vec<u32>, Vec<u32>) {
    hooks.iter().partition(|hook| cx.created.hooks[**hook as usize].rewrites)
}

/// Has people say what hooks want them to say. Where they have not yet, the step ends here: it is run again
/// when the answers are there (R10).
pub(super) async fn people(
    recorder: &mut Recorder,
    place: Place,
    held: Vec<(&Subject, &mut Verdict)>,
    recorded: &Recorded,
) -> Result<()> {
    let (mut drafts, mut open) = (Vec::new(), Vec::new());
    for (subject, verdict) in held {
        let Some((hook, reason)) = verdict.asks.take() else { continue };
        let index = subject.place.index;
        match recorded.question(index) {
            Some(QuestionAsked { question, .. }) => match recorded.answer(index, &question.id) {
                Some(answer) => verdict.denied = refused(answer),
                None => open.push(question.id.clone()),
            },
            None => {
                let asked = question(subject, hook, &reason);
                open.push(asked.question.id.clone());
                drafts.push(Draft::system(subject.place, asked));
            }
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    if !drafts.is_empty() {
        open.sort();
        let on = WaitOn::Answers(open);
        drafts.push(Draft::system(Place::turn(place.turn), TurnWaiting { on }));
        recorder.record(place, drafts, true).await?;
    }
    Err(recorder.stopped(Stop::Waiting))
}

/// Why a person's answer does not let it pass; none: it does.
fn refused(answer: &UserAnswer) -> Option<String> {
    if answer.value.trim() == ALLOW {
        return None;
    }
    let who = match &answer.sender {
        Sender::Operator(id) | Sender::Agent(id) | Sender::Trigger(id) => id.as_str(),
        Sender::System => "the host",
    };
    let words = serde_json::from_str::<String>(&answer.value).unwrap_or_else(|_| answer.value.clone());
    Some(if words == CHOICES[1] { format!("{who} denied it") } else { format!("{who} denied it: {words}") })
}

fn question(subject: &Subject, hook: u32, reason: &str) -> QuestionAsked {
    // What the model wrote comes last, on one line, and cannot push the rest out of sight.
    let input = match serde_json::from_str::<serde_json::Value>(&subject.input) {
        Ok(value) => value.to_string(),
        Err(_) => subject.input.clone(),
    };
    let input = cut(&rewake_text::json(&input), ASKED_INPUT_BYTES_MAX);
    let reason = reason.trim().trim_end_matches('.');
    let text = format!("May {} run? {reason}. Its input: {input}", subject.name);
    let choices = CHOICES.map(str::to_owned).to_vec();
    let question = Question { id: question_id(subject.place), text, choices, schema: None };
    QuestionAsked { question, by: Asker::Hook(hook) }
}

/// Tells hooks how uses ended: those that may replace the output first. A use is told to the harness only
/// once all have answered.
pub(super) async fn after(
    recorder: &mut Recorder,
    cx: &Arc<SessionContext>,
    place: Place,
    ended: &mut [(Subject, Vec<u32>, &mut End)],
    recorded: &Recorded,
) -> Result<()> {
    let lists: Vec<(Vec<u32>, Vec<u32>)> = ended
        .iter()
        .map(|(_, hooks, end)| {
            let event = left::event(end.outcome);
            let hooks: Vec<u32> = hooks
                .iter()
                .copied()
                .filter(|hook| cx.created.hooks[*hook as usize].event == event)
                .collect();
            split(cx, &hooks)
        })
        .collect();
    let rounds = lists.iter().map(|(rewriters, _)| rewriters.len()).max().unwrap_or(0);
    let mut said: Vec<Vec<(u32, String)>> = ended.iter().map(|_| Vec::new()).collect();
    for round in 0..=rounds {
        let mut asked = Vec::new();
        for (at, (subject, _, end)) in ended.iter().enumerate() {
            let (rewriters, judges) = &lists[at];
            let hooks = if round == rounds { &judges[..] } else { slice(rewriters, round) };
            for hook in hooks {
                asked.push(heard_of(cx, at, *hook, subject, end)?);
            }
        }
        for (at, _, verdict) in ask(recorder, cx, place, asked, recorded).await? {
            if let Some(parts) = left::by(&cx.created, &verdict) {
                ended[at].2.parts = parts;
            }
            let HookVerdict { hook, decision, reason, context, .. } = verdict;
            if decision == rewake_core::fact::Decision::Block {
                said[at].extend(reason.map(|reason| (hook, reason)));
            }
            said[at].extend(context.map(|context| (hook, context)));
        }
    }
    for ((_, _, end), mut said) in ended.iter_mut().zip(said) {
        said.sort_by_key(|(hook, _)| *hook);
        end.contexts.extend(said.into_iter().map(|(_, text)| text));
    }
    Ok(())
}

fn heard_of(cx: &SessionContext, at: usize, hook: u32, subject: &Subject, end: &End) -> Result<Judged> {
    let event = left::event(end.outcome);
    let came_of_it = Digest::of(&serde_json::to_vec(&(end.outcome, &end.parts))?);
    let binding = after_binding(&cx.id, subject.place, event, subject.arguments, came_of_it);
    let payload = HookPayload::after(event, subject.used()?, end.outcome, &end.parts, end.ms);
    Ok(Judged { at, hook, place: subject.place, binding, payload })
}

/// Asks hooks, all side by side.
async fn ask(
    recorder: &mut Recorder,
    cx: &Arc<SessionContext>,
    place: Place,
    asked: Vec<Judged>,
    recorded: &Recorded,
) -> Result<Vec<Answer>> {
    let asked = asked.into_iter().map(|judged| Asking { cx: cx.clone(), judged }).collect();
    let ended = recorder.run_all(place, recorded, Vec::new(), asked).await?;
    let answers = ended.into_iter().filter_map(|(Asking { judged, .. }, end)| match &end.fact {
        Fact::HookVerdict(verdict) => Some((judged.at, end.seq, verdict.clone())),
        _ => None,
    });
    Ok(answers.collect())
}

/// A hook that judges or hears. Its verdict counts once it is on the disk; the caller's next commit sees to that.
struct Asking {
    cx: Arc<SessionContext>,
    judged: Judged,
}

impl Call for Asking {
    fn function(&self) -> &'static str {
        "asking hook"
    }

    fn index(&self) -> u32 {
        self.judged.place.index
    }

    fn hook(&self) -> Option<u32> {
        Some(self.judged.hook)
    }

    async fn compare(&self, _: Place, recorded: &Recorded) -> std::result::Result<(), (u64, Difference)> {
        let Judged { hook, binding, place, .. } = &self.judged;
        match recorded.asked(place.index, *hook).map(|start| (start.seq, &start.fact)) {
            Some((seq, Fact::HookStarted(before))) if before.binding != *binding => {
                let shown = |binding: Digest| format!("{hook} of what has the binding {binding}");
                let (expected, got) = (shown(before.binding), shown(*binding));
                Err((seq, Difference { path: "binding".to_owned(), expected, got }))
            }
            _ => Ok(()),
        }
    }

    async fn start(&mut self, _: &mut Recorder, _: Place, _: &Recorded) -> Result<Facts> {
        let Judged { hook, binding, place, .. } = self.judged;
        let event = self.cx.created.hooks[hook as usize].event;
        let started = HookStarted { hook, event, source: None, message: None, binding };
        Ok(Draft::system(place, started).into())
    }

    fn lost(&self, start: &Entry) -> Draft {
        let Judged { hook, binding, .. } = self.judged;
        Draft::system(
            start.place,
            hooks::failed(&self.cx, hook, start.seq, binding, "it was tried too often"),
        )
    }

    async fn perform(
        &mut self,
        _: &DriverHandle,
        start: &Entry,
        _: u32,
    ) -> std::result::Result<Facts, Unrecorded> {
        let Judged { hook, binding, place, payload, .. } = &self.judged;
        let (start, key) = (start.seq, start.hash.to_hex());
        let asked = Asked { hook: *hook, start, key, binding: *binding, place: *place };
        let busy = self.cx.busy().await;
        let drafts = hooks::ask(&self.cx, &busy, asked, Some(place.turn), payload).await;
        Ok(Facts { drafts, durable: false, busy: Some(busy), ..Facts::default() })
    }
}

/// An effectful import of the harness that is no tool, as hooks see it.
pub(crate) struct Gated {
    /// The name that matchers are tested on.
    pub(crate) name: &'static str,
    pub(crate) effect: Effect,
    pub(crate) grants: Vec<GrantKind>,
    /// What hooks are shown: JSON text, an object.
    pub(crate) input: String,
    /// Digest of the whole of what will be done.
    pub(crate) whole: Digest,
}

/// What the gate says.
pub(crate) enum Gate {
    /// It may be started, by these hooks' verdicts.
    Open {
        /// The hooks that judged it.
        hooks: Vec<u32>,
        /// Their verdicts' seqs.
        verdicts: Vec<u64>,
        /// What they were shown last, where one of them replaced it.
        replaced: Option<String>,
    },
    /// It may not: why.
    Closed(String),
}

/// Every effectful import passes the same gate: PreToolUse hooks judge it, and people, where one of them wants
/// that. `place` is the call's; `recorded` what is recorded of it. Where this ends the step, a person is asked,
/// and the call comes here again when the answer is there.
pub(crate) async fn gate(
    recorder: &mut Recorder,
    cx: &Arc<SessionContext>,
    place: Place,
    recorded: &Recorded,
    gated: Gated,
) -> Result<Gate> {
    let Gated { name, effect, grants, input, whole } = gated;
    let target = MatchTarget { name, effect, grants };
    let mut hooks = hooks::matching(cx, HookEvent::PreToolUse, &target);
    // Anyone who was asked keeps its say, even if what may be done is another now.
    hooks.extend(recorded.judges(place.index));
    hooks.sort_unstable();
    hooks.dedup();
    let arguments = canonical::digest(&input).map_err(wasmtime::Error::msg)?;
    let subject = Subject {
        place,
        hooks,
        name: name.to_owned(),
        id: format!("{name}-{}-{}-{}", place.turn, place.step, place.ordinal),
        input,
        arguments,
        qualified: name.to_owned(),
        definition: whole,
        effect,
        grants: target.grants,
    };
    let mut subjects = [subject];
    let mut verdicts = before(recorder, cx, place, &mut subjects, recorded).await?;
    let mut verdict = verdicts.pop().unwrap_or_default();
    people(recorder, place, vec![(&subjects[0], &mut verdict)], recorded).await?;
    let [subject] = subjects;
    let replaced = (subject.arguments != arguments).then_some(subject.input);
    match verdict.denied {
        Some(why) => Ok(Gate::Closed(why)),
        None => Ok(Gate::Open { hooks: subject.hooks, verdicts: verdict.seqs, replaced }),
    }
}
