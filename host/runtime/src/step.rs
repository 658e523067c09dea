//! One step: a fresh instance of the harness, its saved state loaded, its recorded part fed back, the rest
//! live (journal.md R9). What its end comes to is decided elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rewake_bindings::{Data, HarnessPre, harness, state};
use rewake_core::decide::StepOutcome;
use rewake_core::error::Mismatch;
use rewake_core::fact::{Ending, LogLines, Observed, PluginKind, Scope, StateRef, StepInput};
use rewake_core::ids::Digest;
use rewake_core::limits::{DETAIL_BYTES_MAX, STATE_BYTES_MAX, cut};
use tokio::sync::watch;
use wasmtime::Store;

use crate::context::SessionContext;
use crate::imports::StepImports;
use crate::record::{Recorder, Recording, Stop, Unwritten};
use rewake_sandbox::components::{Ready, kind_of};
use rewake_sandbox::convert::{input_out, next_in, scope_in};
use rewake_sandbox::guest::{Broken, HOST, TOO_MUCH_DATA, classify, imports_of, prepare, timed_out};

/// Bytes beyond the largest state that the one call of `save` may hand over, for what goes with it.
const STATE_SLACK_BYTES: usize = 1 << 10;

/// What a step is run with; all of it was fixed before.
pub(crate) struct StepRun {
    pub(crate) cx: Arc<SessionContext>,
    pub(crate) input: StepInput,
    /// The state it starts from: the author's version, and bytes.
    pub(crate) state: Option<(u32, Vec<u8>)>,
    pub(crate) recording: Recording,
}

/// How a step ended.
pub(crate) struct StepReport {
    pub(crate) end: StepResult,
    pub(crate) ordinal: u32,
    /// The function that it called last, of those that are recorded.
    pub(crate) function: &'static str,
    pub(crate) observed: Vec<Observed>,
    pub(crate) logs: Option<LogLines>,
}

/// How a step ended.
pub(crate) enum StepResult {
    /// As the journal is told; and the bytes of what it saved.
    Outcome(StepOutcome, Option<(StateRef, Vec<u8>)>),
    /// It did not do again what is recorded.
    Mismatch(Mismatch),
    /// The harness will not take its own state.
    StateRefused(String),
    /// This host cannot run it.
    Host(String),
    /// Its session was dropped.
    Dropped,
    /// A call of it waits for a person.
    Waiting,
}

/// What a harness returned, or how it broke.
enum Returned {
    Next(harness::Next, Option<state::Saved>),
    Failure(harness::Failure),
    StateRefused(String),
    Broken(Broken),
}

/// Runs a step to its end.
pub(crate) async fn run(run: StepRun) -> StepReport {
    let cx = run.cx.clone();
    let component = cx.harness();
    let Some(Ready::Harness(engine, pre)) = cx.components.get(component.digest, PluginKind::Harness) else {
        return host(format!("the harness {} is not ready on this host", component.full_name()));
    };
    let Some(_room) = cx.components.engines.admit(kind_of(component.kind)).await else {
        return host("the engines were shut down".into());
    };
    let sandbox = cx.sandbox(component, None);
    let input = input_out(run.recording.place.step, &run.input);
    let recorder = Recorder::new(run.recording);
    let live = recorder.live();
    let imports = StepImports { recorder, cx: cx.clone() };
    let mut store = match prepare(&engine, &sandbox, component.limits, Box::new(imports)) {
        Ok(store) => store,
        Err(error) => return host(format!("{error:#}")),
    };
    let timeout_ms = component.limits.timeout_ms;
    let returned = tokio::select! {
        biased;
        returned = drive(&pre, &mut store, run.state, &input) => returned,
        () = deadline(live, timeout_ms) => Returned::Broken(timed_out(timeout_ms)),
    };
    report(&component.full_name(), store, returned)
}

async fn drive(
    pre: &HarnessPre,
    store: &mut Store<Data>,
    state: Option<(u32, Vec<u8>)>,
    input: &harness::Input,
) -> Returned {
    match try_drive(pre, store, state, input).await {
        Ok(returned) => returned,
        Err(error) => Returned::Broken(classify(&error)),
    }
}

async fn try_drive(
    pre: &HarnessPre,
    store: &mut Store<Data>,
    state: Option<(u32, Vec<u8>)>,
    input: &harness::Input,
) -> wasmtime::Result<Returned> {
    let harness = pre.instantiate(store).await?;
    if let Some((version, data)) = state
        && let Err(why) = harness.load(store, &state::Saved { version, data }).await?
    {
        return Ok(Returned::StateRefused(why));
    }
    match harness.step(store, input).await? {
        Ok(next) => {
            store.set_hostcall_fuel(STATE_BYTES_MAX + STATE_SLACK_BYTES);
            match harness.save(store).await.map_err(|error| classify(&error)) {
                Ok(saved) => Ok(Returned::Next(next, saved)),
                Err(Broken { code: TOO_MUCH_DATA, how, .. }) => {
                    let detail = format!("it saved more than the {STATE_BYTES_MAX} bytes of a state");
                    Ok(Returned::Broken(Broken { how, code: "state_too_large", detail }))
                }
                Err(broken) => Ok(Returned::Broken(broken)),
            }
        }
        Err(failure) => Ok(Returned::Failure(failure)),
    }
}

/// A step's time runs only while it is live: a replay may take as long as it takes (R7).
async fn deadline(mut live: watch::Receiver<bool>, timeout_ms: u64) {
    if live.wait_for(|live| *live).await.is_err() {
        return std::future::pending().await;
    }
    tokio::time::sleep(Duration::from_millis(timeout_ms)).await;
}

fn report(component: &str, mut store: Store<Data>, returned: Returned) -> StepReport {
    let output = store.data_mut().take_output();
    let Some(mut imports) = imports_of::<StepImports>(store) else {
        return host("a step's imports are not what they were made as".into());
    };
    let Unwritten { ordinal, function, observed, calls, stop, mut logs, unclaimed } =
        imports.recorder.finish();
    logs.push_output(&output);
    let end = match (stop, returned, unclaimed) {
        (Some(Stop::Mismatch(mismatch)), ..) => StepResult::Mismatch(mismatch),
        (Some(Stop::Dropped), ..) => StepResult::Dropped,
        (Some(Stop::Waiting), ..) => StepResult::Waiting,
        (Some(Stop::Host(why)), ..) => StepResult::Host(why),
        (Some(Stop::Refused(refusal)), ..) => {
            not_completed(Ending::Failed, Scope::Turn, "refused".into(), refusal.to_string())
        }
        (None, Returned::Broken(broken), _) if broken.code == HOST => StepResult::Host(broken.detail),
        (None, Returned::StateRefused(why), _) => StepResult::StateRefused(why),
        // A trap or a limit that comes before everything recorded was asked for again is not what
        // happened the first time.
        (None, _, Err(mismatch)) => StepResult::Mismatch(mismatch),
        (None, Returned::Broken(broken), Ok(())) => {
            not_completed(broken.how, Scope::Turn, broken.code.into(), broken.detail)
        }
        (None, Returned::Failure(failure), Ok(())) => {
            let detail = cut(&failure.detail, DETAIL_BYTES_MAX);
            not_completed(Ending::Failed, scope_in(failure.scope), failure.code, detail)
        }
        (None, Returned::Next(next, saved), Ok(())) => completed(next, saved, calls),
    };
    StepReport { end, ordinal, function, observed, logs: logs.into_fact(component) }
}

fn completed(next: harness::Next, saved: Option<state::Saved>, calls: BTreeMap<String, u64>) -> StepResult {
    let next = match next_in(next) {
        Ok(next) => next,
        Err(why) => return not_completed(Ending::Failed, Scope::Turn, "invalid_answer".into(), why),
    };
    let saved =
        saved.map(|saved| (StateRef { version: saved.version, digest: Digest::of(&saved.data) }, saved.data));
    if let Some((_, data)) = &saved
        && data.len() > STATE_BYTES_MAX
    {
        let detail = format!("the saved state has {} bytes; at most {STATE_BYTES_MAX} are kept", data.len());
        return not_completed(Ending::Failed, Scope::Turn, "state_too_large".into(), detail);
    }
    let state = saved.as_ref().map(|(state, _)| *state);
    StepResult::Outcome(StepOutcome::Completed { next, state, calls }, saved)
}

fn not_completed(how: Ending, scope: Scope, code: String, detail: String) -> StepResult {
    StepResult::Outcome(StepOutcome::Broken { how, scope, code, detail }, None)
}

fn host(why: String) -> StepReport {
    StepReport { end: StepResult::Host(why), ordinal: 0, function: "", observed: vec![], logs: None }
}
