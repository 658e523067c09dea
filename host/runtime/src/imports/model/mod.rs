//! `model.complete`: an idempotent effect, recorded by its start and its end (journal.md R5). Before anything is
//! sent, what it can cost is reserved, and what could pass the session's cap is not sent at all.

mod attempts;
mod bound;
mod price;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rewake_bindings::ModelImports;
use rewake_bindings::model::{self, Request};
use rewake_core::difference::Difference;
use rewake_core::entry::{Draft, Entry, Place};
use rewake_core::fact::{
    CallRetried, ComponentPin, Fact, Lost, ModelCompleted, ModelLost, ModelOutcome, ModelStarted,
};
use rewake_core::ids::Digest;
use rewake_core::limits::{MODEL_NAME_BYTES_MAX, cut};
use rewake_core::money::Usd;
use rewake_core::replay::Recorded;
use rewake_store::Blob;
use wasmtime::Result;

use self::attempts::Attempts;
use self::price::Terms;
use super::{StepImports, apart};
use crate::PROJECT;
use crate::budget::Budget;
use crate::context::SessionContext;
use crate::event::{DriverHandle, Unrecorded};
use crate::record::{Call, Facts, Recorder};
use rewake_models::request_store::{self, Pieces};
use rewake_models::{Resolved, SCRIPTED};
use rewake_sandbox::convert::{model_out, request_digest};

const FUNCTION: &str = "model.complete";

/// What the guest is told.
type Answer = std::result::Result<model::Completion, model::Error>;

impl ModelImports for StepImports {
    fn complete(&mut self, request: Request) -> BoxFuture<'_, Result<Answer>> {
        Box::pin(complete(self, request))
    }
}

async fn complete(imports: &mut StepImports, request: Request) -> Result<Answer> {
    if let Some(name) = request.model.as_ref().filter(|name| name.len() > MODEL_NAME_BYTES_MAX) {
        imports.recorder.count(FUNCTION);
        return Ok(Err(model::Error::Rejected(format!("there is no model {:?}", cut(name, 100)))));
    }
    let digest = request_digest(&request);
    let call = Complete { cx: imports.cx.clone(), request, digest, is_new: false, asking: None };
    let (call, end) = imports.recorder.run(call).await?;
    call.count(&mut imports.recorder, &end.fact);
    Ok(match &end.fact {
        Fact::ModelCompleted(completed) => model_out(&completed.outcome),
        _ => Err(model::Error::Unavailable(
            "the host died each time the model was asked; it is not asked again".into(),
        )),
    })
}

struct Complete {
    cx: Arc<SessionContext>,
    request: Request,
    digest: Digest,
    /// Nothing of it was recorded before this run of the step.
    is_new: bool,
    /// How the model is asked, unless the call's end is recorded.
    asking: Option<Asking>,
}

/// What asking a model takes, once it is known that it has to be asked.
struct Asking {
    started: ModelStarted,
    /// The model and what asking it can cost; or what comes of a call that is not made.
    model: std::result::Result<(Resolved, Terms), ModelOutcome>,
    /// What the session has spent or reserved, this call included.
    committed: Usd,
}

impl Asking {
    /// The request is cut into pieces, which are the blobs that its start names. What could pass the cap is not made.
    fn new(call: &Complete, budget: &Budget) -> (Asking, Vec<Blob>) {
        let Complete { cx, request, digest, .. } = call;
        let Budget { committed, max_usd, asked } = budget;
        let agent = &cx.created.agent;
        let name = request.model.clone().unwrap_or_else(|| agent.model.clone());
        let resolved = resolved(cx, &name);
        let pieces = Pieces::of(request, asked);
        let mut started = ModelStarted {
            model: name,
            provider: resolved.as_ref().ok().and_then(|model| model.provider.clone()),
            request: *digest,
            messages: u32::try_from(request.messages.len()).unwrap_or(u32::MAX),
            stored: Some(pieces.stored),
            reserved: Usd::ZERO,
        };
        let counted = asked.counted(&started, |messages| pieces.through(messages));
        let input = bound::input_tokens_max(request, counted);
        let model = resolved.and_then(|model| {
            let tokens = (input, u64::from(request.max_tokens.unwrap_or(model.output_tokens_max)));
            let is_scripted = model.provider.is_none();
            let terms = Terms::new(&started.model, model.price, is_scripted, *max_usd, tokens)?;
            terms.over(*committed).map_or(Ok((model, terms)), Err)
        });
        if let Ok((_, terms)) = &model {
            started.reserved = terms.reserved;
        }
        let committed = committed.plus(started.reserved);
        (Asking { started, model, committed }, pieces.blobs)
    }
}

/// The model of that name, if the harness may ask it: the session's own, or one that it is granted now. Of `*`, those
/// are granted that the rules describe, since a provider has models of any price.
fn resolved(cx: &SessionContext, name: &str) -> std::result::Result<Resolved, ModelOutcome> {
    let agent = &cx.created.agent;
    let is_own = agent.model == name;
    let granted = &cx.grants[agent.harness as usize];
    let is_described = || granted.grants.allows_model(name) && cx.rules.models.contains_key(name);
    if !is_own && !granted.grants.models.iter().any(|one| one == name) && !is_described() {
        return Err(ModelOutcome::Denied(not_granted(cx.harness(), name, &agent.model)));
    }
    let model = cx.models.resolve(&cx.rules, name).map_err(ModelOutcome::Rejected)?;
    if !is_own && agent.model == SCRIPTED && model.provider.is_some() {
        let why = format!(
            "the session's model is {SCRIPTED:?}, so no provider is asked, and {:?} is one of a provider",
            cut(name, 100)
        );
        return Err(ModelOutcome::Denied(why));
    }
    Ok(model)
}

fn not_granted(harness: &ComponentPin, name: &str, own: &str) -> String {
    let shown = cut(name, 100);
    let why = if harness.asks.models.iter().any(|one| one == name) {
        format!(
            "was not granted it; an operator can allow it with \"model:{shown}\" in the `asks` of an [[allow]]"
        )
    } else if harness.asks.allows_model(name) {
        "may call only models that rewake.toml describes and an operator allows".to_owned()
    } else {
        "does not ask for it in its bundle.toml".to_owned()
    };
    format!(
        "{} may not call the model {shown:?}: it {why}. It may call the session's model, {own:?}",
        harness.full_name()
    )
}

impl Complete {
    /// Counts the call in what the step knows of the session's money and requests. As in the fold: a call of an
    /// earlier run is counted there, and what its start names may be another model by now.
    fn count(self, recorder: &mut Recorder, end: &Fact) {
        let Some(Asking { started, committed, .. }) = self.asking else { return };
        recorder.budget.committed = committed;
        if !self.is_new {
            return;
        }
        recorder.budget.asked.started(&started);
        if let Fact::ModelCompleted(ModelCompleted {
            outcome: ModelOutcome::Completion { usage, .. }, ..
        }) = end
        {
            recorder.budget.asked.completed(&started, usage.total());
        }
    }
}

impl Call for Complete {
    fn function(&self) -> &'static str {
        FUNCTION
    }

    async fn compare(&self, _: Place, recorded: &Recorded) -> std::result::Result<(), (u64, Difference)> {
        let Some((seq, Fact::ModelStarted(started))) = recorded.first().map(|entry| (entry.seq, &entry.fact))
        else {
            return Ok(());
        };
        if started.request == self.digest {
            return Ok(());
        }
        let (store, of, asked) = (self.cx.store.clone(), started.clone(), self.request.clone());
        let kept =
            apart(async move { request_store::difference(store.as_ref(), PROJECT, seq, &of, &asked).await })
                .await;
        let shown = |digest: Digest| format!("of digest {digest}");
        let whole = || Difference {
            path: "request".to_owned(),
            expected: shown(started.request),
            got: shown(self.digest),
        };
        Err((seq, kept.ok().flatten().unwrap_or_else(whole)))
    }

    async fn start(&mut self, recorder: &mut Recorder, place: Place, _: &Recorded) -> Result<Facts> {
        let (asking, blobs) = Asking::new(self, &recorder.budget);
        // What is not sent need not be on the disk before its end: they share a commit.
        let durable = asking.model.is_ok();
        let drafts = vec![Draft::agent(place, asking.started.clone())];
        (self.is_new, self.asking) = (true, Some(asking));
        Ok(Facts { drafts, blobs, durable, busy: None })
    }

    /// Its host died in it: it is made again, and nobody knows what that attempt cost. So it counts whole, and stays
    /// committed.
    fn again(
        &mut self,
        recorder: &Recorder,
        recorded: &Recorded,
        start: &Entry,
        attempt: Option<u32>,
    ) -> Facts {
        let Some(n) = attempt else { return self.lost(start).into() };
        let (asking, _) = Asking::new(self, &recorder.budget);
        let (cost, reserved) = (recorded.reserved(), asking.started.reserved);
        let facts = match &asking.model {
            Ok(_) => {
                let retried = CallRetried { start: start.seq, n, why: None, cost, reserved };
                Draft::system(start.place, retried).into()
            }
            Err(outcome) => not_sent(start, outcome.clone(), cost),
        };
        self.asking = Some(asking);
        facts
    }

    fn lost(&self, start: &Entry) -> Draft {
        Draft::system(start.place, ModelLost::new(start.seq, Lost::Limit))
    }

    async fn perform(
        &mut self,
        driver: &DriverHandle,
        start: &Entry,
        attempt: u32,
    ) -> std::result::Result<Facts, Unrecorded> {
        let Some(asking) = &mut self.asking else { return Err(Unrecorded::Dropped) };
        match &asking.model {
            Err(outcome) => Ok(not_sent(start, outcome.clone(), Usd::ZERO)),
            Ok((model, terms)) => {
                let attempts = Attempts { cx: &self.cx, driver, start, request: &self.request, model, terms };
                attempts.ask(attempt, &mut asking.committed).await
            }
        }
    }
}

/// What comes of a call that is not made, or not again.
fn not_sent(start: &Entry, outcome: ModelOutcome, cost: Usd) -> Facts {
    let completed = ModelCompleted { start: start.seq, outcome, cost, ms: 0 };
    Facts { durable: false, ..Draft::agent(start.place, completed).into() }
}
