//! `model.complete`: an idempotent effect, recorded by its start and its end (journal.md R5). Before anything is
//! sent, what it can cost is reserved, and what could pass the session's cap is not sent at all.

mod attempts;
mod bound;
mod price;

use rewake_bindings::model::{self, Request};
use rewake_core::difference::Difference;
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{CallRetried, Fact, Lost, ModelCompleted, ModelLost, ModelOutcome, ModelStarted};
use rewake_core::ids::Digest;
use rewake_core::limits::cut;
use rewake_core::money::Usd;
use rewake_core::replay::Recorded;
use wasmtime::Result;

use self::attempts::Announced;
use self::price::Terms;
use super::{StepImports, apart};
use crate::PROJECT;
use crate::live::Live;
use rewake_models::Resolved;
use rewake_models::request_store::{self, Pieces};
use rewake_sandbox::convert::{model_out, request_digest};

const FUNCTION: &str = "model.complete";
/// Bytes of a model's name.
const MODEL_NAME_BYTES_MAX: usize = 256;

/// What the guest is told.
type Answer = std::result::Result<model::Completion, model::Error>;

pub(super) async fn complete(imports: &mut StepImports, request: Request) -> Result<Answer> {
    if let Some(name) = request.model.as_ref().filter(|name| name.len() > MODEL_NAME_BYTES_MAX) {
        imports.recorder.count(FUNCTION);
        return Ok(Err(model::Error::Rejected(format!("there is no model {:?}", cut(name, 100)))));
    }
    let digest = request_digest(&request);
    let (place, recorded) = imports.recorder.begin(FUNCTION)?;
    match &recorded {
        None => {
            let call = Call::new(imports, &request, digest, place);
            call.first(imports).await
        }
        Some(recorded) => {
            let start = claim(imports, recorded, &request, digest).await?;
            if let Some(end) = recorded.ended(0) {
                return Ok(ended(&end.fact));
            }
            let call = Call::new(imports, &request, digest, place);
            call.again(imports, start, recorded).await
        }
    }
}

/// One call, before anything of it is sent.
struct Call<'a> {
    place: Place,
    request: &'a Request,
    pieces: Pieces,
    started: ModelStarted,
    /// The model and what asking it can cost; or what comes of a call that cannot be made.
    model: std::result::Result<(Resolved, Terms), ModelOutcome>,
}

impl<'a> Call<'a> {
    fn new(imports: &StepImports, request: &'a Request, digest: Digest, place: Place) -> Call<'a> {
        let (cx, budget) = (&imports.cx, &imports.recorder.budget);
        let asked = &budget.asked;
        let agent = &cx.created.agent;
        let name = request.model.clone().unwrap_or_else(|| agent.model.clone());
        let resolved = cx.models.resolve(&cx.rules, &name).map_err(ModelOutcome::Rejected);
        let pieces = Pieces::of(request, asked);
        let mut started = ModelStarted {
            model: name,
            provider: resolved.as_ref().ok().and_then(|model| model.provider.clone()),
            request: digest,
            messages: u32::try_from(request.messages.len()).unwrap_or(u32::MAX),
            stored: Some(pieces.stored),
            reserved: Usd::ZERO,
        };
        let counted = asked.counted(&started, |messages| pieces.through(messages));
        let input = bound::input_tokens_max(request, counted);
        let model = resolved.and_then(|model| {
            let tokens = (input, u64::from(request.max_tokens.unwrap_or(model.output_tokens_max)));
            let is_scripted = model.provider.is_none();
            let terms = Terms::new(&started.model, model.price, is_scripted, budget.max_usd, tokens)?;
            Ok((model, terms))
        });
        if let Ok((_, terms)) = &model {
            started.reserved = terms.reserved;
        }
        Call { place, request, pieces, started, model }
    }

    /// Nothing of it is recorded.
    async fn first(mut self, imports: &mut StepImports) -> Result<Answer> {
        let committed = imports.recorder.budget.committed;
        let blobs = std::mem::take(&mut self.pieces.blobs);
        let model = may_ask(&self.model, committed);
        if model.is_err() {
            self.started.reserved = Usd::ZERO;
        }
        // What is not sent need not be on the disk before its end: they share a commit.
        let started = vec![Draft::agent(self.place, self.started.clone())];
        let entries = imports.recorder.record_with(self.place, started, blobs, model.is_ok()).await?;
        imports.recorder.budget.asked.started(&self.started);
        let start = entries[0].seq;
        match model {
            Err(outcome) => self.not_sent(imports, start, outcome, Usd::ZERO).await,
            Ok(model) => {
                imports.recorder.budget.next(Usd::ZERO, Usd::ZERO, self.started.reserved);
                self.ask(imports, start, 0, model).await
            }
        }
    }

    /// Its host died in it: it is made again, and what that attempt cost nobody knows.
    async fn again(self, imports: &mut StepImports, start: u64, recorded: &Recorded) -> Result<Answer> {
        let place = self.place;
        let Some(n) = imports.recorder.next_try(start) else {
            let lost = Draft::system(place, ModelLost::new(start, Lost::Limit));
            imports.recorder.record(place, vec![lost], true).await?;
            return Ok(Err(unknown()));
        };
        let cost = recorded.reserved();
        // What died counts whole, so it stays committed.
        let model = match may_ask(&self.model, imports.recorder.budget.committed) {
            Ok(model) => model,
            Err(outcome) => return self.not_sent(imports, start, outcome, cost).await,
        };
        let reserved = model.1.reserved;
        let retried = CallRetried { start, n, why: None, cost, reserved };
        imports.recorder.record(place, vec![Draft::system(place, retried)], true).await?;
        imports.recorder.budget.next(cost, cost, reserved);
        imports.recorder.port().show(Live::DeltaReset { start, attempt: n }).await;
        self.ask(imports, start, n, model).await
    }

    async fn ask(
        &self,
        imports: &mut StepImports,
        start: u64,
        attempt: u32,
        (model, terms): &(Resolved, Terms),
    ) -> Result<Answer> {
        let Call { place, request, started, .. } = self;
        let call = Announced { place: *place, start, attempt, request, started, model, terms };
        let outcome = call.ask(imports).await?;
        Ok(model_out(&outcome))
    }

    /// Records what comes of a call that is not made, or not again.
    async fn not_sent(
        &self,
        imports: &mut StepImports,
        start: u64,
        outcome: ModelOutcome,
        cost: Usd,
    ) -> Result<Answer> {
        let answer = model_out(&outcome);
        let completed = ModelCompleted { start, outcome, cost, ms: 0 };
        imports.recorder.record(self.place, vec![Draft::agent(self.place, completed)], false).await?;
        Ok(answer)
    }
}

/// The model, if it may be asked where so much is spent or reserved; else what comes of the call.
fn may_ask(
    model: &std::result::Result<(Resolved, Terms), ModelOutcome>,
    committed: Usd,
) -> std::result::Result<&(Resolved, Terms), ModelOutcome> {
    let model = model.as_ref().map_err(ModelOutcome::clone)?;
    model.1.over(committed).map_or(Ok(model), Err)
}

/// Compares what is asked with what is recorded; returns the start's seq.
async fn claim(
    imports: &mut StepImports,
    recorded: &Recorded,
    request: &Request,
    digest: Digest,
) -> Result<u64> {
    match recorded.first().map(|entry| (entry.seq, &entry.fact)) {
        Some((seq, Fact::ModelStarted(started))) if started.request == digest => Ok(seq),
        Some((seq, Fact::ModelStarted(started))) => {
            let (store, of, asked) = (imports.cx.store.clone(), started.clone(), request.clone());
            let read =
                async move { request_store::difference(store.as_ref(), PROJECT, seq, &of, &asked).await };
            let kept = apart(read).await?;
            let shown = |digest: Digest| format!("of digest {digest}");
            let difference = kept.unwrap_or_else(|| Difference {
                path: "request".to_owned(),
                expected: shown(started.request),
                got: shown(digest),
            });
            Err(imports.recorder.differs(seq, FUNCTION, difference))
        }
        _ => Err(imports.recorder.another_call(recorded.seq(), FUNCTION)),
    }
}

fn ended(fact: &Fact) -> Answer {
    match fact {
        Fact::ModelCompleted(completed) => model_out(&completed.outcome),
        _ => Err(unknown()),
    }
}

fn unknown() -> model::Error {
    model::Error::Unavailable("the host died each time the model was asked; it is not asked again".into())
}
