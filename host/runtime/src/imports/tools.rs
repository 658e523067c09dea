//! `tools.call` (journal.md R4): the request, then every verdict, then every start in one commit, then the
//! calls side by side. A re-run takes each of these from the journal as far as it is there.

use std::sync::Arc;

use rewake_bindings::types::{ToolDef, ToolResult, ToolUse};
use rewake_core::difference::Difference;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::error::Refusal;
use rewake_core::fact::{
    CallRetried, Fact, Lost, RequestedUse, ToolCompleted, ToolLost, ToolStarted, ToolsRequested,
};
use rewake_core::ids::Digest;
use rewake_core::limits::USES_MAX;
use rewake_core::qualified;
use rewake_core::replay::Recorded;
use rewake_wire::Outcome;
use wasmtime::Result;

use super::StepImports;
use super::judge::{self, End, Subject};
use crate::calls::{Planned, dispatch, plan, refusal};
use crate::hooks::{Tried, Verdict};
use rewake_sandbox::convert::{effect_out, outcome_out, parts_out};

const FUNCTION: &str = "tools.call";

/// The pinned tools.
pub(super) fn list(imports: &mut StepImports) -> Vec<ToolDef> {
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
    planned: Planned,
    place: Place,
    /// Its start's seq and idempotency key, once it has one.
    start: Option<(u64, String)>,
    verdict: Verdict,
    end: Option<End>,
}

impl Use {
    /// What hooks judge; none where there is no tool.
    fn subject(&self, imports: &StepImports) -> Option<Subject> {
        let tool = self.planned.target.as_ref().ok()?;
        let Tried { effect, grants, .. } = Tried::tool(&imports.cx, tool);
        Some(Subject {
            place: self.place,
            hooks: self.planned.hooks.clone(),
            name: self.planned.name.clone(),
            id: self.planned.id.clone(),
            input: self.planned.input.clone(),
            arguments: self.planned.arguments,
            qualified: qualified(&imports.cx.created, tool),
            definition: tool.definition,
            effect,
            grants,
        })
    }

    /// Its end, if that is not known. What hooks had to say is said all the same.
    fn unknown(&self) -> End {
        let contexts = self.verdict.contexts.clone();
        End { outcome: Outcome::Unknown, parts: vec![], contexts, ms: None }
    }

    fn is_open(&self) -> bool {
        self.end.is_none() && self.start.is_none()
    }

    fn result(mut self) -> ToolResult {
        let end = self.end.take().unwrap_or_else(|| self.unknown());
        let End { outcome, parts, contexts, .. } = end;
        let (outcome, parts) = (outcome_out(outcome), parts_out(&parts));
        ToolResult { id: self.planned.id, outcome, parts, context: contexts }
    }
}

fn end_of(completed: &ToolCompleted) -> End {
    End {
        outcome: completed.outcome,
        parts: completed.parts.clone(),
        contexts: completed.contexts.clone(),
        ms: completed.start.map(|_| completed.ms),
    }
}

/// Runs the uses side by side; the results are in the order of the uses.
pub(super) async fn call(imports: &mut StepImports, mut uses: Vec<ToolUse>) -> Result<Vec<ToolResult>> {
    let (place, recorded) = imports.recorder.begin(FUNCTION)?;
    // Before anything is made of each: there may be as many as fit a guest's memory. What is recorded never
    // has so many, and is compared below.
    if uses.len() > USES_MAX && recorded.is_none() {
        let (got, max) = (uses.len() as u64, USES_MAX as u64);
        return Err(imports.recorder.stopped(Refusal::Limit { what: "tool uses of one call", got, max }));
    }
    uses.truncate(USES_MAX + 1);
    let mut uses: Vec<Use> = (0u32..)
        .zip(uses)
        .map(|(index, one)| {
            let known = recorded.as_ref().and_then(|recorded| known(recorded, index, &one));
            let planned = plan(&imports.cx, one, known);
            Use { planned, place: place.at_index(index), start: None, verdict: Verdict::default(), end: None }
        })
        .collect();
    match &recorded {
        Some(recorded) => claim(imports, &mut uses, recorded)?,
        None => request(imports, place, &mut uses).await?,
    }
    let recorded = recorded.unwrap_or_default();
    judge(imports, place, &mut uses, &recorded).await?;
    start(imports, place, &mut uses).await?;
    repeat(imports, place, &mut uses, &recorded).await?;
    run(imports, &mut uses).await?;
    hear(imports, place, &mut uses, &recorded).await?;
    Ok(uses.into_iter().map(Use::result).collect())
}

/// Records the request, and the refusals that need no hook, in one commit. Where no hook has a say, the
/// starts stand in it too.
async fn request(imports: &mut StepImports, place: Place, uses: &mut [Use]) -> Result<()> {
    let requested = uses.iter().map(|one| one.planned.requested()).collect();
    let mut drafts = vec![Draft::agent(place, ToolsRequested { uses: requested })];
    for one in uses.iter_mut() {
        if let Err((outcome, why)) = &one.planned.target {
            let completed = refusal(*outcome, why);
            one.end = Some(end_of(&completed));
            drafts.push(Draft::system(one.place, completed));
        }
    }
    if uses.iter().any(|one| one.end.is_none() && !one.planned.hooks.is_empty()) {
        imports.recorder.record(place, drafts, true).await?;
        return Ok(());
    }
    let before = drafts.len();
    drafts.extend(uses.iter().filter(|one| one.end.is_none()).map(started));
    let entries = imports.recorder.record(place, drafts, true).await?;
    note_starts(uses, &entries[before..]);
    Ok(())
}

/// Takes from the journal what is there; what is asked for must be what was.
fn claim(imports: &mut StepImports, uses: &mut [Use], recorded: &Recorded) -> Result<()> {
    let Some((seq, Fact::ToolsRequested(before))) = recorded.first().map(|first| (first.seq, &first.fact))
    else {
        return Err(imports.recorder.another_call(recorded.seq(), FUNCTION));
    };
    if let Some(difference) = difference(&before.uses, uses) {
        return Err(imports.recorder.differs(seq, FUNCTION, difference.within("uses")));
    }
    for ((one, requested), index) in uses.iter_mut().zip(&before.uses).zip(0u32..) {
        // Hook and tool get the very bytes that are recorded, and those hooks judge that are.
        one.planned.input.clone_from(&requested.input);
        one.planned.hooks.clone_from(&requested.hooks);
        one.planned.after.clone_from(&requested.after);
        one.start = recorded.started(index).map(|entry| (entry.seq, entry.hash.to_hex()));
        one.end = recorded.ended(index).map(|entry| match &entry.fact {
            Fact::ToolCompleted(completed) => end_of(completed),
            _ => one.unknown(),
        });
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
async fn judge(imports: &mut StepImports, place: Place, uses: &mut [Use], recorded: &Recorded) -> Result<()> {
    let (at, mut subjects): (Vec<usize>, Vec<Subject>) =
        (0..).zip(&*uses).filter_map(|(at, one)| Some((at, one.subject(imports)?))).unzip();
    let mut verdicts = judge::before(imports, place, &mut subjects, recorded).await?;
    let held = at.iter().zip(&subjects).zip(&mut verdicts);
    let held = held.filter(|((at, _), _)| uses[**at].is_open()).map(|((_, subject), one)| (subject, one));
    judge::people(imports, place, held.collect(), recorded).await?;
    for ((at, subject), verdict) in at.into_iter().zip(subjects).zip(verdicts) {
        let one = &mut uses[at];
        one.planned.input = subject.input;
        one.planned.arguments = subject.arguments;
        one.verdict = verdict;
        // Whose end is not known is told what hooks said all the same.
        if let Some(end) = one.end.as_mut().filter(|end| end.outcome == Outcome::Unknown) {
            end.contexts.clone_from(&one.verdict.contexts);
        }
    }
    Ok(())
}

/// Has hooks hear how uses ended, before the harness does.
async fn hear(imports: &mut StepImports, place: Place, uses: &mut [Use], recorded: &Recorded) -> Result<()> {
    let mut ended = Vec::new();
    for one in uses.iter_mut().filter(|one| !one.planned.after.is_empty()) {
        let Some(subject) = one.subject(imports) else { continue };
        if one.end.is_none() {
            one.end = Some(one.unknown());
        }
        if let Some(end) = one.end.as_mut() {
            ended.push((subject, one.planned.after.clone(), end));
        }
    }
    judge::after(imports, place, &mut ended, recorded).await
}

/// Records the refusals that hooks decided, and every start, in one commit.
async fn start(imports: &mut StepImports, place: Place, uses: &mut [Use]) -> Result<()> {
    let mut drafts = Vec::new();
    for one in uses.iter_mut().filter(|one| one.is_open()) {
        match &one.verdict.denied {
            Some(reason) => {
                let mut completed = refusal(Outcome::Denied, reason);
                completed.contexts = one.verdict.contexts.clone();
                one.end = Some(end_of(&completed));
                drafts.push(Draft::system(one.place, completed));
            }
            None => drafts.push(started(one)),
        }
    }
    if drafts.is_empty() {
        return Ok(());
    }
    let entries = imports.recorder.record(place, drafts, true).await?;
    note_starts(uses, &entries);
    Ok(())
}

/// What was started and has no end is performed again, if its class allows it (R5). What may not be
/// repeated was settled as lost when the session was loaded.
async fn repeat(
    imports: &mut StepImports,
    place: Place,
    uses: &mut [Use],
    recorded: &Recorded,
) -> Result<()> {
    let mut drafts = Vec::new();
    for one in uses.iter_mut().filter(|one| one.end.is_none()) {
        let Some((seq, _)) = &one.start else { continue };
        if recorded.started(one.place.index).is_none() {
            continue;
        }
        match imports.recorder.next_try(*seq) {
            Some(n) => drafts.push(Draft::system(one.place, CallRetried::again(*seq, n))),
            None => {
                one.end = Some(one.unknown());
                drafts.push(Draft::system(one.place, ToolLost { start: *seq, why: Lost::Limit }));
            }
        }
    }
    if !drafts.is_empty() {
        imports.recorder.record(place, drafts, true).await?;
    }
    Ok(())
}

/// Runs everything that is started and has no end.
async fn run(imports: &mut StepImports, uses: &mut [Use]) -> Result<()> {
    let calls: Vec<_> = uses
        .iter()
        .enumerate()
        .filter(|(_, one)| one.end.is_none())
        .filter_map(|(at, one)| {
            let (seq, key) = one.start.clone()?;
            one.planned.call(at, one.place, seq, key, one.verdict.contexts.clone())
        })
        .collect();
    let port = imports.recorder.port();
    let ended: Vec<(usize, ToolCompleted)> =
        dispatch(&imports.cx, port, calls).await.map_err(|why| imports.recorder.unrecorded(why))?;
    for (at, completed) in ended {
        uses[at].end = Some(end_of(&completed));
    }
    Ok(())
}

fn started(one: &Use) -> Draft {
    let started = ToolStarted {
        name: one.planned.name.clone(),
        class: one.planned.class(),
        definition: one.planned.definition(),
        arguments: one.planned.arguments,
        verdicts: one.verdict.seqs.clone(),
    };
    Draft::system(one.place, started)
}

fn note_starts(uses: &mut [Use], entries: &[Arc<Entry>]) {
    for entry in entries.iter().filter(|entry| matches!(entry.fact, Fact::ToolStarted(_))) {
        if let Some(one) = uses.get_mut(entry.place.index as usize) {
            one.start = Some((entry.seq, entry.hash.to_hex()));
        }
    }
}
