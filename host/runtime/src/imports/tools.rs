//! `tools.call` (journal.md R4): the request, then every verdict, then every start in one commit, then the
//! calls side by side. A re-run takes each of these from the journal as far as it is there.

use rewake_bindings::types::{ToolDef, ToolResult, ToolUse};
use rewake_core::binding;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    CallRetried, Fact, HookStarted, Lost, RequestedUse, ToolCompleted, ToolLost, ToolStarted, ToolsRequested,
};
use rewake_core::ids::Digest;
use rewake_core::replay::Recorded;
use rewake_wire::Outcome;
use wasmtime::Result;

use super::StepImports;
use crate::calls::{Planned, Verdict, dispatch, fold, plan, refusal};
use crate::convert::{effect_out, tool_result_out, unknown_result};
use crate::hooks::{self, Answer, Judged};

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
    result: Option<ToolResult>,
}

impl Use {
    /// Its result, if its end is not known. What hooks had to say is said all the same.
    fn unknown(&self) -> ToolResult {
        ToolResult { context: self.verdict.contexts.clone(), ..unknown_result(&self.planned.id) }
    }
}

/// Runs the uses side by side; the results are in the order of the uses.
pub(super) async fn call(imports: &mut StepImports, uses: Vec<ToolUse>) -> Result<Vec<ToolResult>> {
    let (place, recorded) = imports.recorder.begin(FUNCTION)?;
    let mut uses: Vec<Use> = (0u32..)
        .zip(uses)
        .map(|(index, one)| Use {
            planned: plan(&imports.cx, one),
            place: place.at_index(index),
            start: None,
            verdict: Verdict::default(),
            result: None,
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
    Ok(uses.iter_mut().map(|one| one.result.take().unwrap_or_else(|| one.unknown())).collect())
}

/// Records the request, and the refusals that need no hook, in one commit. Where no hook has a say, the
/// starts stand in it too.
async fn request(imports: &mut StepImports, place: Place, uses: &mut [Use]) -> Result<()> {
    let requested = uses.iter().map(|one| one.planned.requested()).collect();
    let mut drafts = vec![Draft::agent(place, ToolsRequested { uses: requested })];
    for one in uses.iter_mut() {
        if let Err((outcome, why)) = &one.planned.target {
            let completed = refusal(*outcome, why);
            one.result = Some(tool_result_out(&one.planned.id, &completed));
            drafts.push(Draft::system(one.place, completed));
        }
    }
    if uses.iter().any(|one| one.result.is_none() && !one.planned.hooks.is_empty()) {
        imports.recorder.record(place, drafts, true).await?;
        return Ok(());
    }
    let before = drafts.len();
    drafts.extend(uses.iter().filter(|one| one.result.is_none()).map(started));
    let entries = imports.recorder.record(place, drafts, true).await?;
    note_starts(uses, &entries[before..]);
    Ok(())
}

/// Takes from the journal what is there; what is asked for must be what was.
fn claim(imports: &mut StepImports, uses: &mut [Use], recorded: &Recorded) -> Result<()> {
    let Some((seq, Fact::ToolsRequested(before))) = recorded.first().map(|first| (first.seq, &first.fact))
    else {
        return Err(imports.recorder.differs(
            recorded.seq(),
            "function",
            "another call".into(),
            FUNCTION.into(),
        ));
    };
    let now: Vec<RequestedUse> = uses.iter().map(|one| one.planned.requested()).collect();
    if let Some((field, expected, got)) = difference(&before.uses, &now) {
        return Err(imports.recorder.differs(seq, &field, expected, got));
    }
    for ((one, requested), index) in uses.iter_mut().zip(&before.uses).zip(0u32..) {
        // Hook and tool get the very bytes that are recorded, and those hooks judge that are.
        one.planned.input.clone_from(&requested.input);
        one.planned.hooks.clone_from(&requested.hooks);
        one.start = recorded.started(index).map(|entry| (entry.seq, entry.hash.to_hex()));
        let hooks = one.planned.hooks.iter();
        one.verdict = fold(hooks.filter_map(|hook| recorded.verdict(index, *hook)));
        one.result = recorded.ended(index).map(|entry| match &entry.fact {
            Fact::ToolCompleted(completed) => tool_result_out(&one.planned.id, completed),
            _ => one.unknown(),
        });
    }
    Ok(())
}

/// The first field in which two requests differ.
fn difference(before: &[RequestedUse], now: &[RequestedUse]) -> Option<(String, String, String)> {
    if before.len() != now.len() {
        return Some(("uses".into(), format!("{} uses", before.len()), format!("{} uses", now.len())));
    }
    before.iter().zip(now).enumerate().find_map(|(index, (before, now))| {
        let differs = |field: &str, before: &str, now: &str| {
            let name = format!("uses[{index}].{field}");
            Some((name, format!("{FUNCTION} {before}"), format!("{FUNCTION} {now}")))
        };
        if before.name != now.name {
            differs("name", &before.name, &now.name)
        } else if before.arguments != now.arguments {
            differs("input", &before.input, &now.input)
        } else if before.id != now.id {
            differs("id", &before.id, &now.id)
        } else {
            None
        }
    })
}

/// Asks every hook that has not answered yet about every use that was not started, all side by side.
async fn judge(imports: &mut StepImports, place: Place, uses: &mut [Use], recorded: &Recorded) -> Result<()> {
    let mut answers: Vec<Answer> = Vec::new();
    let mut asked: Vec<(Judged, Option<(u64, String)>)> = Vec::new();
    let mut drafts = Vec::new();
    for (at, one) in uses.iter().enumerate().filter(|(_, one)| is_open(one)) {
        for hook in &one.planned.hooks {
            if let Some((seq, verdict)) = recorded.verdict(one.place.index, *hook) {
                answers.push((at, seq, verdict.clone()));
                continue;
            }
            let start = recorded.asked(one.place.index, *hook).map(|start| (start.seq, start.hash.to_hex()));
            let (draft, is_given_up) = asking(imports, one, *hook, start.as_ref());
            drafts.push(draft);
            if !is_given_up {
                asked.push((judged(imports, at, one, *hook), start));
            }
        }
    }
    if !drafts.is_empty() {
        let entries = imports.recorder.record(place, drafts, true).await?;
        answers.extend(given_up(&entries));
        let asked = asked.into_iter().filter_map(|(judged, start)| {
            let (seq, key) = start.or_else(|| start_of(&entries, &judged))?;
            Some((judged, seq, key))
        });
        let heard = hooks::judge(&imports.cx, imports.recorder.port(), asked.collect()).await;
        answers.extend(heard.map_err(|why| imports.recorder.unrecorded(why))?);
    }
    for (at, one) in uses.iter_mut().enumerate().filter(|(_, one)| is_open(one)) {
        let verdicts = answers.iter().filter(|(of, ..)| *of == at).map(|(_, seq, verdict)| (*seq, verdict));
        one.verdict = fold(verdicts);
    }
    Ok(())
}

/// What is recorded before a hook is asked about a use; or its failure, if it was tried too often.
fn asking(imports: &StepImports, one: &Use, hook: u32, start: Option<&(u64, String)>) -> (Draft, bool) {
    let binding = bound(imports, one);
    match start {
        None => {
            let event = imports.cx.created.hooks[hook as usize].event;
            (Draft::system(one.place, HookStarted { hook, event, source: None, binding }), false)
        }
        Some((seq, _)) => match imports.recorder.next_try(*seq) {
            Some(n) => (Draft::system(one.place, CallRetried { start: *seq, n }), false),
            None => {
                let verdict = hooks::failed(&imports.cx, hook, *seq, binding, "it was tried too often");
                (Draft::system(one.place, verdict), true)
            }
        },
    }
}

fn judged(imports: &StepImports, at: usize, one: &Use, hook: u32) -> Judged {
    Judged {
        at,
        hook,
        place: one.place,
        binding: bound(imports, one),
        use_id: one.planned.id.clone(),
        tool: one.planned.name.clone(),
        input: one.planned.input.clone(),
    }
}

fn given_up(entries: &[Entry]) -> impl Iterator<Item = Answer> {
    entries.iter().filter_map(|entry| match &entry.fact {
        Fact::HookVerdict(verdict) => Some((entry.place.index as usize, entry.seq, verdict.clone())),
        _ => None,
    })
}

fn start_of(entries: &[Entry], judged: &Judged) -> Option<(u64, String)> {
    let entry = entries.iter().find(|entry| {
        entry.place == judged.place
            && matches!(&entry.fact, Fact::HookStarted(started) if started.hook == judged.hook)
    })?;
    Some((entry.seq, entry.hash.to_hex()))
}

/// Records the refusals that hooks decided, and every start, in one commit.
async fn start(imports: &mut StepImports, place: Place, uses: &mut [Use]) -> Result<()> {
    let mut drafts = Vec::new();
    for one in uses.iter_mut().filter(|one| is_open(one)) {
        match &one.verdict.denied {
            Some(reason) => {
                let mut completed = refusal(Outcome::Denied, reason);
                completed.contexts = one.verdict.contexts.clone();
                one.result = Some(tool_result_out(&one.planned.id, &completed));
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
    for one in uses.iter_mut().filter(|one| one.result.is_none()) {
        let Some((seq, _)) = &one.start else { continue };
        if recorded.started(one.place.index).is_none() {
            continue;
        }
        match imports.recorder.next_try(*seq) {
            Some(n) => drafts.push(Draft::system(one.place, CallRetried { start: *seq, n })),
            None => {
                one.result = Some(one.unknown());
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
        .filter(|(_, one)| one.result.is_none())
        .filter_map(|(at, one)| {
            let (seq, key) = one.start.clone()?;
            one.planned.call(at, one.place, seq, key, one.verdict.contexts.clone())
        })
        .collect();
    let port = imports.recorder.port();
    let ended: Vec<(usize, ToolCompleted)> =
        dispatch(&imports.cx, port, calls).await.map_err(|why| imports.recorder.unrecorded(why))?;
    for (at, completed) in ended {
        uses[at].result = Some(tool_result_out(&uses[at].planned.id, &completed));
    }
    Ok(())
}

fn is_open(one: &Use) -> bool {
    one.result.is_none() && one.start.is_none()
}

fn bound(imports: &StepImports, one: &Use) -> Digest {
    binding(&imports.cx.id, one.place, one.planned.definition(), one.planned.arguments)
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

fn note_starts(uses: &mut [Use], entries: &[Entry]) {
    for entry in entries.iter().filter(|entry| matches!(entry.fact, Fact::ToolStarted(_))) {
        if let Some(one) = uses.get_mut(entry.place.index as usize) {
            one.start = Some((entry.seq, entry.hash.to_hex()));
        }
    }
}
