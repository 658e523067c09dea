//! The attempts of one call: a provider that does not answer for now is asked again, later and later, within a
//! deadline. Every attempt is in the journal before it is made. A turn that is interrupted meanwhile drops the step,
//! and with it whatever is being waited for here.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rewake_bindings::model::Request;
use rewake_core::entry::{Draft, Entry};
use rewake_core::fact::{CallRetried, ModelCompleted, ModelOutcome};
use rewake_core::ids::Digest;
use rewake_core::limits::{MODEL_RETRIES_MAX, cut};
use rewake_core::money::Usd;

use super::price::Terms;
use crate::context::SessionContext;
use crate::event::{DriverHandle, Unrecorded};
use crate::live::Live;
use crate::record::Facts;
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

/// The attempts of a call whose start, or repeat, is in the journal.
pub(super) struct Attempts<'a> {
    pub(super) cx: &'a SessionContext,
    pub(super) driver: &'a DriverHandle,
    pub(super) start: &'a Entry,
    pub(super) request: &'a Request,
    pub(super) model: &'a Resolved,
    pub(super) terms: &'a Terms,
}

impl Attempts<'_> {
    /// Asks, and asks again, until something comes of it. `attempt`: the number of the first attempt of this run of
    /// the step. `committed`: what the session has spent or reserved.
    pub(super) async fn ask(self, mut attempt: u32, committed: &mut Usd) -> Result<Facts, Unrecorded> {
        let since = Instant::now();
        let reserved = self.terms.reserved;
        if attempt > 0 {
            self.reset(attempt).await;
        }
        let images = match self.model.way {
            Way::Script => Ok(Images::new()),
            Way::Provider(_) => images(self.cx, self.request, self.start.seq).await,
        };
        let mut tried = 0;
        let (outcome, cost) = loop {
            let came = match &images {
                Ok(images) => self.attempt(images, attempt).await,
                Err(why) => Attempt::rejected(why.clone()),
            };
            tried += 1;
            let (why, after, cost) = match came {
                Attempt::Ended { outcome, bill } => break (outcome, self.terms.cost(bill)),
                Attempt::Again { why, after, bill } => {
                    (cut(&why, WHY_BYTES_MAX), after, self.terms.cost(bill))
                }
            };
            let left = RETRYING_MAX.saturating_sub(since.elapsed());
            let may = tried < ATTEMPTS_MAX && attempt < MODEL_RETRIES_MAX;
            let Some(wait) = may.then(|| backoff::delay(tried - 1, after, left, jitter())).flatten() else {
                break (ModelOutcome::Unavailable(given_up(&why, tried, since.elapsed(), after)), cost);
            };
            let spent = committed.minus(reserved).plus(cost);
            if let Some(over) = self.terms.over(spent) {
                break (over, cost);
            }
            attempt += 1;
            self.again(attempt, why, cost, wait).await?;
            *committed = spent.plus(reserved);
        };
        *committed = committed.minus(reserved).plus(cost);
        let ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let completed = ModelCompleted { start: self.start.seq, outcome, cost, ms };
        Ok(Facts { durable: false, ..Draft::agent(self.start.place, completed).into() })
    }

    async fn attempt(&self, images: &Images, attempt: u32) -> Attempt {
        let script = self.cx.created.agent.script;
        let question = Question { project: PROJECT, script, request: self.request, images };
        let deltas = Deltas { sink: self.driver, start: self.start.seq, attempt };
        self.cx.models.attempt(self.model, &question, deltas).await
    }

    /// Waits, and announces another attempt.
    async fn again(&self, n: u32, why: String, cost: Usd, wait: Duration) -> Result<(), Unrecorded> {
        let line =
            format!("the model does not answer for now, and is asked again in {} s: {why}", wait.as_secs());
        self.driver.show(Live::Activity(line)).await;
        tokio::time::sleep(wait).await;
        let reserved = self.terms.reserved;
        let retried = CallRetried { start: self.start.seq, n, why: Some(why), cost, reserved };
        self.driver.record(vec![Draft::system(self.start.place, retried)], true).await?;
        self.reset(n).await;
        Ok(())
    }

    /// Has followers discard what they were shown of earlier attempts.
    async fn reset(&self, attempt: u32) {
        self.driver.show(Live::DeltaReset { start: self.start.seq, attempt }).await;
    }
}

/// The images that a request names by digest, if an event of the session up to `head` names them too.
async fn images(cx: &SessionContext, request: &Request, head: u64) -> Result<Images, String> {
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
