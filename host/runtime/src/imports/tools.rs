//! `tools.call` (journal.md R4): the request, then every verdict, then the starts, then the calls: side by side, or one
//! after another where they see a directory that one of them may change.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rewake_bindings::ToolsImports;
use rewake_bindings::types::{ToolDef, ToolResult, ToolUse};
use rewake_core::difference::Difference;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::error::Refusal;
use rewake_core::fact::{Fact, Lost, RequestedUse, ToolCompleted, ToolLost, ToolStarted, ToolsRequested};
use rewake_core::ids::Digest;
use rewake_core::limits::USES_MAX;
use rewake_core::qualified;
use rewake_core::replay::{Progress, Recorded};
use rewake_wire::Outcome;
use wasmtime::Result;

use super::StepImports;
use super::judge::{self, End, Subject};
use crate::calls::{Planned, perform, plan, refusal};
use crate::context::SessionContext;
use crate::event::{DriverHandle, Unrecorded};
use crate::hooks::{MatchTarget, Verdict};
use crate::record::{Call, Facts, Recorder};
use rewake_sandbox::convert::{effect_out, outcome_out, parts_out};

const FUNCTION: &str = "tools.call";

impl ToolsImports for StepImports {
    fn list_tools(&mut self) -> BoxFuture<'_, Result<Vec<ToolDef>>> {
        Box::pin(async { Ok(list(self)) })
    }

    fn call(&mut self, uses: Vec<ToolUse>) -> BoxFuture<'_, Result<Vec<ToolResult>>> {
        Box::pin(call(self, uses))
    }
}

/// The pinned tools.
fn list(imports: &mut StepImports) -> Vec<ToolDef> {
    imports.recorder.count("tools.list-tools");
    let tools = imports.cx.created.tools.iter();
    tools
        .map(|tool| ToolDef {
            name: tool.name.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            effect: effect_out(tool.effect),
        })
        .collect()
}

/// One use on its way through a call.
struct Use {
    cx: Arc<SessionContext>,
    planned: Planned,
    place: Place,
    verdict: Verdict,
}

impl Use {
    /// What hooks judge; none where there is no tool.
    fn subject(&self) -> Option<Subject> {
        let tool = self.planned.target.as_ref().ok()?;
        let MatchTarget { effect, grants, .. } = MatchTarget::tool(&self.cx, tool);
        Some(Subject {
            place: self.place,
            hooks: self.planned.hooks.clone(),
            name: self.planned.name.clone(),
            id: self.planned.id.clone(),
            input: self.planned.input.clone(),
            arguments: self.planned.arguments,
            qualified: qualified(&self.cx.created, tool),
            definition: tool.definition,
            effect,
            grants,
        })
    }

    /// How it ended. Where that is not known, the guest is told what hooks had to say all the same.
    fn end(&self, end: &Fact) -> End {
        let Fact::ToolCompleted(completed) = end else {
            let contexts = self.verdict.contexts.clone();
            return End { outcome: Outcome::Unknown, parts: vec![], contexts, ms: None };
        };
        End {
            outcome: completed.outcome,
            parts: completed.parts.clone(),
            contexts: completed.contexts.clone(),
            ms: completed.start.map(|_| completed.ms),
        }
    }

    /// Its end, if it is refused before any hook is asked.
    fn refused(&self) -> Option<ToolCompleted> {
        self.planned.target.as_ref().err().map(|(outcome, why)| refusal(*outcome, why))
    }
}

impl Call for Use {
    fn function(&self) -> &'static str {
        FUNCTION
    }

    fn index(&self) -> u32 {
        self.place.index
    }

    /// Uses that see a directory of which one may change it run in the order in which the model wrote them (R4).
    fn precedes(&self, later: &Self) -> bool {
        let grants = |one: &Self| {
            let component = one.planned.target.as_ref().ok().and_then(|tool| tool.component);
            component.map(|component| &self.cx.component(component).grants)
        };
        grants(self).zip(grants(later)).is_some_and(|(one, other)| one.conflicts_with(other))
    }

    /// All uses of the request were compared together.
    async fn compare(&self, _: Place, _: &Recorded) -> std::result::Result<(), (u64, Difference)> {
        Ok(())
    }

    async fn start(&mut self, _: &mut Recorder, _: Place, _: &Recorded) -> Result<Facts> {
        let draft = match &self.verdict.denied {
            Some(reason) => {
                let contexts = self.verdict.contexts.clone();
                let completed = ToolCompleted { contexts, ..refusal(Outcome::Denied, reason) };
                Draft::system(self.place, completed)
            }
            None => {
                let started = ToolStarted {
                    name: self.planned.name.clone(),
                    class: self.planned.class(),
                    definition: self.planned.definition(),
                    arguments: self.planned.arguments,
                    verdicts: self.verdict.seqs.clone(),
                };
                Draft::system(self.place, started)
            }
        };
        Ok(draft.into())
    }

    fn lost(&self, start: &Entry) -> Draft {
        Draft::system(self.place, ToolLost { start: start.seq, why: Lost::Limit })
    }

    async fn perform(
        &mut self,
        _: &DriverHandle,
        start: &Entry,
        _: u32,
    ) -> std::result::Result<Facts, Unrecorded> {
        let busy = self.cx.busy().await;
        let (key, contexts) = (start.hash.to_hex(), self.verdict.contexts.clone());
        let call = self.planned.call(self.place, start.seq, key, contexts);
        let Some(call) = call else { return Err(Unrecorded::Dropped) };
        let (completed, logs, _) = perform(&self.cx, &call, &busy).await;
        let logs = logs.map(|logs| Draft::system(self.place, logs));
        let end = Draft::system(self.place, completed);
        Ok(Facts { drafts: logs.into_iter().chain([end]).collect(), busy: Some(busy), ..Facts::default() })
    }
}

/// Runs the uses; the results are in the order of the uses.
async fn call(imports: &mut StepImports, mut uses: Vec<ToolUse>) -> Result<Vec<ToolResult>> {
    let StepImports { recorder, cx } = imports;
    let (place, recorded) = recorder.begin(FUNCTION)?;
    // Before anything is made of each: there may be as many as fit a guest's memory. What is recorded never
    // has so many, and is compared below.
    if uses.len() > USES_MAX && recorded.is_empty() {
        let (got, max) = (uses.len() as u64, USES_MAX as u64);
        return Err(recorder.stopped(Refusal::Limit { what: "tool uses of one call", got, max }));
    }
    uses.truncate(USES_MAX + 1);
    let mut uses: Vec<Use> = (0u32..)
        .zip(uses)
        .map(|(index, one)| {
            let known = known(&recorded, index, &one);
            let planned = plan(cx, one, known);
            Use { cx: cx.clone(), planned, place: place.at_index(index), verdict: Verdict::default() }
        })
        .collect();
    let mut request = Vec::new();
    if recorded.is_empty() {
        request = requested(place, &uses);
        // Hooks are asked about what is recorded. Where none has a say, the starts share the request's commit.
        if uses.iter().any(|one| one.planned.target.is_ok() && !one.planned.hooks.is_empty()) {
            recorder.record(place, std::mem::take(&mut request), true).await?;
        }
    } else if let Err(difference) = claim(&mut uses, &recorded) {
        return Err(recorder.differs(recorded.seq(), FUNCTION, difference));
    }
    judge(recorder, cx, place, &mut uses, &recorded).await?;
    let (granted, refused): (Vec<Use>, Vec<Use>) =
        uses.into_iter().partition(|one| one.planned.target.is_ok());
    let mut ended: Vec<(Use, End)> = refused
        .into_iter()
        .filter_map(|one| {
            let before = recorded.ended(one.place.index).map(|end| one.end(&end.fact));
            let end = before.or_else(|| Some(one.end(&one.refused()?.into())))?;
            Some((one, end))
        })
        .collect();
    let others = recorder.run_all(place, &recorded, request, granted).await?;
    ended.extend(others.into_iter().map(|(one, end)| {
        let end = one.end(&end.fact);
        (one, end)
    }));
    ended.sort_by_key(|(one, _)| one.place.index);
    hear(recorder, cx, place, &mut ended, &recorded).await?;
    Ok(ended.into_iter().map(result).collect())
}

/// The request, and the refusals that need no hook.
fn requested(place: Place, uses: &[Use]) -> Vec<Draft> {
    let requested = ToolsRequested { uses: uses.iter().map(|one| one.planned.requested()).collect() };
    let refused = uses.iter().filter_map(|one| Some(Draft::system(one.place, one.refused()?)));
    [Draft::agent(place, requested)].into_iter().chain(refused).collect()
}

/// Compares the uses with those that are recorded. Hook and tool get the very bytes that are recorded, and those
/// hooks judge that are.
fn claim(uses: &mut [Use], recorded: &Recorded) -> std::result::Result<(), Difference> {
    let Some(Fact::ToolsRequested(before)) = recorded.first().map(|first| &first.fact) else { return Ok(()) };
    if let Some(difference) = difference(&before.uses, uses) {
        return Err(difference.within("uses"));
    }
    for (one, requested) in uses.iter_mut().zip(&before.uses) {
        one.planned.input.clone_from(&requested.input);
        one.planned.hooks.clone_from(&requested.hooks);
        one.planned.after.clone_from(&requested.after);
    }
    Ok(())
}

/// The digest of a use's arguments, if the same bytes were asked for before and were found to be good: what was
/// started was read as JSON then, and reading it again would be most of a replay's work.
fn known(recorded: &Recorded, index: u32, one: &ToolUse) -> Option<Digest> {
    let Some(Fact::ToolsRequested(before)) = recorded.first().map(|first| &first.fact) else { return None };
    let before = before.uses.get(index as usize)?;
    let is_same = before.name == one.name && before.input == one.input && recorded.started(index).is_some();
    is_same.then_some(before.arguments)
}

/// The first field in which what is asked for differs from what was.
fn difference(before: &[RequestedUse], now: &[Use]) -> Option<Difference> {
    let of_one = |(index, (before, now)): (usize, (&RequestedUse, &Use))| {
        let now = &now.planned;
        let input = || {
            // Only the input's meaning is compared; where its parts show no difference, all of it is told.
            let whole = || Difference::of_texts(&before.input, &now.input);
            (before.arguments != now.arguments)
                .then(|| Difference::of_json(&before.input, &now.input).or_else(whole))
                .flatten()
        };
        let found = (Difference::of_texts(&before.name, &now.name).map(|found| found.within("name")))
            .or_else(|| input().map(|found| found.within("input")))
            .or_else(|| Difference::of_texts(&before.id, &now.id).map(|found| found.within("id")))?;
        Some(found.within(&format!("[{index}]")))
    };
    before.iter().zip(now).enumerate().find_map(of_one).or_else(|| {
        let before: Vec<_> = before.iter().map(|one| (&one.name, &one.input)).collect();
        let now: Vec<_> = now.iter().map(|one| (&one.planned.name, &one.planned.input)).collect();
        Difference::of_lengths(&before, &now, |(name, input)| format!("{name} {input}"))
    })
}

/// Has every use judged, by hooks and where they want it by people. Uses that are further are only told
/// what was recorded: what hooks made of their inputs, and had to say.
async fn judge(
    recorder: &mut Recorder,
    cx: &Arc<SessionContext>,
    place: Place,
    uses: &mut [Use],
    recorded: &Recorded,
) -> Result<()> {
    let (at, mut subjects): (Vec<usize>, Vec<Subject>) =
        (0..).zip(&*uses).filter_map(|(at, one)| Some((at, one.subject()?))).unzip();
    let mut verdicts = judge::before(recorder, cx, place, &mut subjects, recorded).await?;
    let is_fresh =
        |subject: &Subject| matches!(recorded.progress(subject.place.index, None), Progress::Fresh);
    let held = subjects.iter().zip(&mut verdicts).filter(|(subject, _)| is_fresh(subject));
    judge::people(recorder, place, held.collect(), recorded).await?;
    for ((at, subject), verdict) in at.into_iter().zip(subjects).zip(verdicts) {
        let one = &mut uses[at];
        one.planned.input = subject.input;
        one.planned.arguments = subject.arguments;
        one.verdict = verdict;
    }
    Ok(())
}

/// Has hooks hear how uses ended, before the harness does.
async fn hear(
    recorder: &mut Recorder,
    cx: &Arc<SessionContext>,
    place: Place,
    ended: &mut [(Use, End)],
    recorded: &Recorded,
) -> Result<()> {
    let mut heard: Vec<_> = ended
        .iter_mut()
        .filter(|(one, _)| !one.planned.after.is_empty())
        .filter_map(|(one, end)| Some((one.subject()?, one.planned.after.clone(), end)))
        .collect();
    judge::after(recorder, cx, place, &mut heard, recorded).await
}

fn result((one, end): (Use, End)) -> ToolResult {
    let End { outcome, parts, contexts, .. } = end;
    let (outcome, parts) = (outcome_out(outcome), parts_out(&parts));
    ToolResult { id: one.planned.id, outcome, parts, context: contexts }
}
