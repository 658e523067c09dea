//! `model.complete`: an idempotent effect, recorded by its start and its end.

use std::time::Instant;

use rewake_bindings::model;
use rewake_core::entry::Draft;
use rewake_core::fact::{CallRetried, Fact, Lost, ModelCompleted, ModelLost, ModelOutcome, ModelStarted};
use rewake_core::ids::Digest;
use rewake_core::limits::cut;
use rewake_core::money::Usd;
use rewake_core::replay::Recorded;
use wasmtime::Result;

use super::StepImports;
use crate::convert::{model_out, request_digest};
use crate::providers::{Attempt, Bill, Deltas};

const FUNCTION: &str = "model.complete";
/// Bytes of a model's name.
const MODEL_NAME_BYTES_MAX: usize = 256;

pub(super) async fn complete(
    imports: &mut StepImports,
    request: model::Request,
) -> Result<std::result::Result<model::Completion, model::Error>> {
    if let Some(name) = request.model.as_ref().filter(|name| name.len() > MODEL_NAME_BYTES_MAX) {
        imports.recorder.count(FUNCTION);
        return Ok(Err(model::Error::Rejected(format!("there is no model {:?}", cut(name, 100)))));
    }
    let digest = request_digest(&request);
    let (place, recorded) = imports.recorder.begin(FUNCTION)?;
    let model = request.model.clone().unwrap_or_else(|| imports.cx.created.agent.model.clone());
    let resolved = imports.cx.models.resolve(&imports.cx, &model);
    let start = match &recorded {
        None => {
            let messages = u32::try_from(request.messages.len()).unwrap_or(u32::MAX);
            let provider = resolved.as_ref().ok().and_then(|model| model.provider.clone());
            let started = ModelStarted { model, provider, request: digest, messages, reserved: Usd::ZERO };
            let entries = imports.recorder.record(place, vec![Draft::agent(place, started)], true).await?;
            entries[0].seq
        }
        Some(recorded) => {
            let start = claim(imports, recorded, digest)?;
            if let Some(end) = recorded.ended(0) {
                return Ok(ended(&end.fact));
            }
            let Some(n) = imports.recorder.next_try(start) else {
                let lost = Draft::system(place, ModelLost { start, why: Lost::Limit });
                imports.recorder.record(place, vec![lost], true).await?;
                return Ok(Err(unknown()));
            };
            let again = Draft::system(place, CallRetried::again(start, n));
            imports.recorder.record(place, vec![again], true).await?;
            start
        }
    };
    let since = Instant::now();
    let cx = imports.cx.clone();
    let deltas = Deltas { port: imports.recorder.port(), start, attempt: 0 };
    let attempt = match resolved {
        Ok(resolved) => cx.models.attempt(&cx, &resolved, &request, deltas).await,
        Err(why) => Attempt::Ended { outcome: ModelOutcome::Rejected(why), bill: Bill::Nothing },
    };
    let outcome = match attempt {
        Attempt::Ended { outcome, .. } => outcome,
        Attempt::Again { why, .. } => ModelOutcome::Unavailable(why),
    };
    let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    let completed =
        Draft::agent(place, ModelCompleted { start, outcome: outcome.clone(), cost: Usd::ZERO, ms });
    imports.recorder.record(place, vec![completed], false).await?;
    Ok(model_out(&outcome))
}

/// Compares what is asked with what is recorded; returns the start's seq.
fn claim(imports: &mut StepImports, recorded: &Recorded, digest: Digest) -> Result<u64> {
    match recorded.first().map(|entry| (entry.seq, &entry.fact)) {
        Some((seq, Fact::ModelStarted(started))) if started.request == digest => Ok(seq),
        Some((seq, Fact::ModelStarted(started))) => {
            let (expected, got) = (started.request.to_hex(), digest.to_hex());
            Err(imports.recorder.differs(
                seq,
                "request",
                format!("{FUNCTION} of {expected}"),
                format!("{FUNCTION} of {got}"),
            ))
        }
        _ => {
            Err(imports.recorder.differs(recorded.seq(), "function", "another call".into(), FUNCTION.into()))
        }
    }
}

fn ended(fact: &Fact) -> std::result::Result<model::Completion, model::Error> {
    match fact {
        Fact::ModelCompleted(completed) => model_out(&completed.outcome),
        _ => Err(unknown()),
    }
}

fn unknown() -> model::Error {
    model::Error::Unavailable("the host died each time the model was asked; it is not asked again".into())
}
