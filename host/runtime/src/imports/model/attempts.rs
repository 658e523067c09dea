//! The attempts of one call: a provider that does not answer for now is asked again, later and later, within a
//! deadline. Every attempt is in the journal before it is made. A turn that is interrupted meanwhile drops the step,
//! and with it whatever is being waited for here.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rewake_bindings::model::Request;
use rewake_core::entry::{Draft, Place};
use rewake_core::fact::{CallRetried, ModelCompleted, ModelOutcome, ModelStarted};
use rewake_core::ids::Digest;
use rewake_core::limits::{MODEL_RETRIES_MAX, cut};
use rewake_core::money::Usd;
use wasmtime::Result;

use super::super::StepImports;
use super::price::Terms;
use crate::context::SessionContext;
use crate::live::Live;
use crate::{PROJECT, journal_query};
use rewake_models::{
    Attempt, Deltas, IMAGES_BYTES_MAX, Images, Question, Resolved, Way, backoff, named_images,
    too_many_images,
};

/// How long a provider is asked again for, from the first attempt of this run of the step on.
const RETRYING_MAX: Duration = Duration::from_secs(600);
/// Attempts of this run of the step.
const ATTEMPTS_MAX: u32 = 10;
/// Bytes of what a provider says against an attempt.
const WHY_BYTES_MAX: usize = 1 << 10;

/// A call that is announced in the journal, with its first attempt reserved.
pub(super) struct Announced<'a> {
    pub(super) place: Place,
    pub(super) start: u64,
    /// Attempts of earlier runs of the step, and what announced this run's first.
    pub(super) attempt: u32,
    pub(super) request: &'a Request,
    pub(super) started: &'a ModelStarted,
    pub(super) model: &'a Resolved,
    pub(super) terms: &'a Terms,
}

impl Announced<'_> {
    /// Asks, and asks again, until something comes of it.
    pub(super) async fn ask(mut self, imports: &mut StepImports) -> Result<ModelOutcome> {
        let since = Instant::now();
        let cx = imports.cx.clone();
        let is_first_run = self.attempt == 0;
        let images = match self.model.way {
            Way::Script => Ok(Images::new()),
            Way::Provider(_) => images(&cx, self.request, self.start).await,
        };
        let mut tried = 0;
        loop {
            let attempt = match &images {
                Ok(images) => self.attempt(imports, &cx, images).await,
                Err(why) => Attempt::rejected(why.clone()),
            };
            tried += 1;
            let (outcome, cost) = match attempt {
                Attempt::Ended { outcome, bill } => (outcome, self.terms.cost(bill)),
                Attempt::Again { why, after, bill } => {
                    let cost = self.terms.cost(bill);
                    match self.again(imports, &why, after, cost, tried, since).await? {
                        None => continue,
                        Some(outcome) => (outcome, cost),
                    }
                }
            };
            self.end(imports, &outcome, cost, since).await?;
            // As in the fold: what the start names may be another model by now.
            if let (ModelOutcome::Completion { usage, .. }, true) = (&outcome, is_first_run) {
                imports.recorder.budget.asked.completed(self.started, usage.total());
            }
            return Ok(outcome);
        }
    }

    async fn attempt(&self, imports: &StepImports, cx: &SessionContext, images: &Images) -> Attempt {
        let port = imports.recorder.port();
        let script = cx.created.agent.script;
        let question = Question { project: PROJECT, script, request: self.request, images };
        let deltas = Deltas { sink: &port, start: self.start, attempt: self.attempt };
        cx.models.attempt(self.model, &question, deltas).await
    }

    /// Waits, and announces another attempt; or says what comes of the call without one.
    async fn again(
        &mut self,
        imports: &mut StepImports,
        why: &str,
        after: Option<Duration>,
        cost: Usd,
        tried: u32,
        since: Instant,
    ) -> Result<Option<ModelOutcome>> {
        let why = cut(why, WHY_BYTES_MAX);
        let left = RETRYING_MAX.saturating_sub(since.elapsed());
        let may = tried < ATTEMPTS_MAX && self.attempt < MODEL_RETRIES_MAX;
        let wait = may.then(|| backoff::delay(tried - 1, after, left, jitter())).flatten();
        let Some(wait) = wait else {
            return Ok(Some(ModelOutcome::Unavailable(given_up(&why, tried, since.elapsed(), after))));
        };
        let others = imports.recorder.budget.committed.minus(self.terms.reserved);
        if let Some(over) = self.terms.over(others.plus(cost)) {
            return Ok(Some(over));
        }
        let port = imports.recorder.port();
        let line =
            format!("the model does not answer for now, and is asked again in {} s: {why}", wait.as_secs());
        port.show(Live::Activity(line)).await;
        tokio::time::sleep(wait).await;
        let reserved = self.terms.reserved;
        let retried = CallRetried { start: self.start, n: self.attempt + 1, why: Some(why), cost, reserved };
        imports.recorder.record(self.place, vec![Draft::system(self.place, retried)], true).await?;
        imports.recorder.budget.next(reserved, cost, reserved);
        self.attempt += 1;
        port.show(Live::DeltaReset { start: self.start, attempt: self.attempt }).await;
        Ok(None)
    }

    async fn end(
        &self,
        imports: &mut StepImports,
        outcome: &ModelOutcome,
        cost: Usd,
        since: Instant,
    ) -> Result<()> {
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let completed = ModelCompleted { start: self.start, outcome: outcome.clone(), cost, ms };
        imports.recorder.record(self.place, vec![Draft::agent(self.place, completed)], false).await?;
        imports.recorder.budget.next(self.terms.reserved, cost, Usd::ZERO);
        Ok(())
    }
}

/// The images that a request names by digest, if an event of the session up to `head` names them too.
async fn images(cx: &SessionContext, request: &Request, head: u64) -> std::result::Result<Images, String> {
    let (mut images, mut bytes) = (Images::new(), 0);
    let named: BTreeSet<&str> = named_images(request).collect();
    for name in named {
        let Some(digest) = Digest::from_hex(name) else { continue };
        let Some(image) = journal_query::blob(cx.store.as_ref(), &cx.id, &digest, head).await? else {
            continue;
        };
        bytes += image.len();
        if bytes > IMAGES_BYTES_MAX {
            return Err(too_many_images());
        }
        images.insert(name.to_owned(), image);
    }
    Ok(images)
}

fn given_up(why: &str, tried: u32, took: Duration, after: Option<Duration>) -> String {
    let times = match tried {
        1 => "once".to_owned(),
        tried => format!("{tried} times over {} s", took.as_secs()),
    };
    let later = match after {
        Some(after) => format!("; the provider wants to be left alone for {} s", after.as_secs()),
        None => String::new(),
    };
    format!("{why} (it was asked {times}{later})")
}

/// Attempts of many sessions that failed together must not come back together.
fn jitter() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness they do: no reason to fail.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}
