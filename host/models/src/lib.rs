//! Models that a session can be configured with. A provider only answers, one attempt at a time: recording,
//! repeating and counting what it costs are the import's.

mod after;
mod ask;
pub mod backoff;
mod fault;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod incoming;
mod request;
pub mod request_store;
mod scripted;
mod shown;
mod spec;
mod sse;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rewake_bindings::model::Request;
use rewake_core::fact::ModelOutcome;
use rewake_core::ids::Digest;
use rewake_core::money::Price;
use rewake_store::Store;
use rewake_wire::Usage;

use ask::Ask;
use incoming::Patience;
pub use request::{IMAGES_BYTES_MAX, Images, named_images, too_many_images};
use rewake_bundle::Script;
use rewake_egress::Egress;
use rewake_policy::config::Rules;
pub use spec::Spec;

/// The name of the model that plays its bundle's script.
pub const SCRIPTED: &str = "scripted";

/// The models of this host.
pub struct Models {
    egress: Arc<Egress>,
    store: Arc<dyn Store>,
    scripts: Mutex<BTreeMap<Digest, Arc<Script>>>,
}

/// A model, as the operator's rules describe it now.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The provider and its name for the model, such as `anthropic/…`; none: it is scripted.
    pub provider: Option<String>,
    /// What it costs; none: nobody said.
    pub price: Option<Price>,
    /// Tokens of an answer, where the request does not bound them.
    pub output_tokens_max: u32,
    /// Tokens of request and answer together, where that is known.
    pub(crate) context_tokens: Option<u64>,
    /// How it is asked.
    pub way: Way,
}

/// How a model is asked.
#[derive(Clone, Debug)]
pub enum Way {
    /// It plays the script of its bundle.
    Script,
    /// A provider has it.
    Provider(Arc<Spec>),
}

/// What came of one attempt to ask a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Attempt {
    /// It ends the call.
    Ended {
        /// What the harness is given.
        outcome: ModelOutcome,
        /// What the attempt cost.
        bill: Bill,
    },
    /// The provider cannot answer now, and another attempt can help: `why`, and not before `after`.
    Again {
        /// The reason, for the journal.
        why: String,
        /// What the provider asks to wait, if it says.
        after: Option<Duration>,
        /// What the attempt cost.
        bill: Bill,
    },
}

impl Attempt {
    /// A request that is not sent.
    pub fn rejected(why: String) -> Attempt {
        Attempt::Ended { outcome: ModelOutcome::Rejected(why), bill: Bill::Nothing }
    }
}

/// What is known of the cost of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bill {
    /// It was refused before anything was counted.
    Nothing,
    /// The provider counted this.
    Tokens(Usage),
    /// Something was sent, and nobody said what it counted: it may be all that was reserved.
    Unknown,
}

/// A piece of what a model is saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Text of its reasoning.
    Thinking(String),
    /// It begins to ask for this tool.
    ToolUse(String),
}

/// Receives the pieces of an answer as they arrive.
pub trait DeltaSink: Send + Sync {
    /// Shows a piece of an attempt: `start` is the seq of the call's start, `attempt` the attempts before this one.
    fn show(&self, start: u64, attempt: u32, delta: Delta) -> BoxFuture<'_, ()>;
}

/// Where the pieces of one attempt go.
#[derive(Clone, Copy)]
pub struct Deltas<'a> {
    /// Who receives them.
    pub sink: &'a dyn DeltaSink,
    /// Seq of the call's start.
    pub start: u64,
    /// Attempts before this one.
    pub attempt: u32,
}

impl Deltas<'_> {
    /// Shows a piece.
    pub(crate) async fn show(&self, delta: Delta) {
        self.sink.show(self.start, self.attempt, delta).await;
    }
}

/// What a model is asked.
pub struct Question<'a> {
    /// The project whose blobs hold the script.
    pub project: &'a str,
    /// The script that a scripted model plays.
    pub script: Option<Digest>,
    /// The request, as the harness made it.
    pub request: &'a Request,
    /// The bytes of the images that the request names by digest.
    pub images: &'a Images,
}

impl Models {
    /// Models that are asked through this egress; scripts are read from this store.
    pub fn new(egress: Arc<Egress>, store: Arc<dyn Store>) -> Models {
        Models { egress, store, scripts: Mutex::default() }
    }

    /// Finds a model by the name that agents use.
    ///
    /// # Errors
    /// If there is none: why, and what to do.
    pub fn resolve(&self, rules: &Rules, model: &str) -> Result<Resolved, String> {
        spec::resolve(rules, model, &|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    }

    /// Asks a model, once.
    pub async fn attempt(&self, model: &Resolved, question: &Question<'_>, deltas: Deltas<'_>) -> Attempt {
        match &model.way {
            Way::Script => match self.script(question).await {
                Ok(script) => scripted::attempt(&script, question.request, deltas).await,
                Err(why) => Attempt::rejected(why),
            },
            Way::Provider(spec) => {
                let ask = Ask {
                    egress: &self.egress,
                    spec,
                    request: question.request,
                    images: question.images,
                    output_tokens_max: model.output_tokens_max,
                    context_tokens: model.context_tokens,
                    deltas,
                    patience: Patience::of(spec.idle_timeout),
                };
                ask.attempt().await
            }
        }
    }

    async fn script(&self, question: &Question<'_>) -> Result<Arc<Script>, String> {
        let Some(digest) = question.script else {
            return Err(
                "the scripted model has no script: name one in bundle.toml ([agent] script = \"…\")".into()
            );
        };
        if let Some(script) = self.scripts.lock().unwrap_or_else(PoisonError::into_inner).get(&digest) {
            return Ok(script.clone());
        }
        let bytes = self.store.blob(question.project, &digest).await.map_err(|error| error.to_string())?;
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| format!("the script {digest} is not in this store"))?;
        let script = Arc::new(Script::parse(&text, "script").map_err(|error| error.to_string())?);
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, script.clone());
        Ok(script)
    }
}
