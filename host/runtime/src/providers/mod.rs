//! Models that a session can be configured with. A provider only answers, one attempt at a time: recording,
//! repeating and counting what it costs are the import's.

mod after;
mod ask;
pub(crate) mod backoff;
mod fault;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzing;
mod request;
mod scripted;
mod shown;
mod spec;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rewake_bindings::model::Request;
use rewake_core::fact::ModelOutcome;
use rewake_core::ids::Digest;
use rewake_core::money::Price;
use rewake_wire::Usage;

use crate::bundle::Script;
use crate::context::SessionContext;
use crate::event::Port;
use crate::live::{Delta, Live};
use crate::slice;
use ask::{Ask, Patience};
use request::{IMAGES_BYTES_MAX, Images};
pub use spec::DEFAULT;
pub(crate) use spec::Spec;

/// The name of the model that plays its bundle's script.
pub const SCRIPTED: &str = "scripted";

/// The models of this host.
#[derive(Default)]
pub(crate) struct Models {
    scripts: Mutex<BTreeMap<Digest, Arc<Script>>>,
}

/// A model, as the operator's rules describe it now.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// The provider and its name for the model, such as `anthropic/…`; none: it is scripted.
    pub(crate) provider: Option<String>,
    /// What it costs; none: nobody said.
    pub(crate) price: Option<Price>,
    /// Tokens of an answer, where the request does not bound them.
    pub(crate) output_tokens_max: u32,
    /// Tokens of request and answer together, where that is known.
    pub(crate) context_tokens: Option<u64>,
    pub(crate) way: Way,
}

/// How a model is asked.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    /// It plays the script of its bundle.
    Script,
    /// A provider has it.
    Provider(Arc<Spec>),
}

/// What came of one attempt to ask a model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attempt {
    /// It ends the call.
    Ended { outcome: ModelOutcome, bill: Bill },
    /// The provider cannot answer now, and another attempt can help: `why`, and not before `after`.
    Again { why: String, after: Option<Duration>, bill: Bill },
}

/// What is known of the cost of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bill {
    /// It was refused before anything was counted.
    Nothing,
    /// The provider counted this.
    Tokens(Usage),
    /// Something was sent, and nobody said what it counted: it may be all that was reserved.
    Unknown,
}

/// Where the pieces of an answer go as they come.
#[derive(Clone, Debug)]
pub(crate) struct Deltas {
    pub(crate) port: Port,
    /// Seq of the call's start.
    pub(crate) start: u64,
    /// Attempts before this one.
    pub(crate) attempt: u32,
}

impl Deltas {
    /// Shows a piece.
    pub(crate) async fn show(&self, delta: Delta) {
        self.port.show(Live::Delta { start: self.start, attempt: self.attempt, delta }).await;
    }
}

impl Models {
    /// Finds a model by the name that agents use.
    ///
    /// # Errors
    /// There is none: why, and what to do.
    pub(crate) fn resolve(&self, cx: &SessionContext, model: &str) -> Result<Resolved, String> {
        spec::resolve(&cx.rules, model, &|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
    }

    /// Asks a model, once.
    pub(crate) async fn attempt(
        &self,
        cx: &SessionContext,
        model: &Resolved,
        request: &Request,
        deltas: Deltas,
    ) -> Attempt {
        let rejected = |why| Attempt::Ended { outcome: ModelOutcome::Rejected(why), bill: Bill::Nothing };
        match &model.way {
            Way::Script => match self.script(cx).await {
                Ok(script) => scripted::attempt(&script, request, &deltas).await,
                Err(why) => rejected(why),
            },
            Way::Provider(spec) => match images(cx, request, deltas.start).await {
                Ok(images) => {
                    let ask = Ask {
                        egress: &cx.egress,
                        spec,
                        request,
                        images: &images,
                        output_tokens_max: model.output_tokens_max,
                        context_tokens: model.context_tokens,
                        deltas: &deltas,
                        patience: Patience::default(),
                    };
                    ask.attempt().await
                }
                Err(why) => rejected(why),
            },
        }
    }

    async fn script(&self, cx: &SessionContext) -> Result<Arc<Script>, String> {
        let Some(digest) = cx.created.agent.script else {
            return Err(
                "the scripted model has no script: name one in bundle.toml ([agent] script = \"…\")".into()
            );
        };
        if let Some(script) = self.scripts.lock().unwrap_or_else(PoisonError::into_inner).get(&digest) {
            return Ok(script.clone());
        }
        let bytes = cx.store.blob(crate::PROJECT, &digest).await.map_err(|error| error.to_string())?;
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        let text = text.ok_or_else(|| format!("the script {digest} is not in this store"))?;
        let script = Arc::new(Script::parse(&text, "script").map_err(|error| error.to_string())?);
        self.scripts.lock().unwrap_or_else(PoisonError::into_inner).insert(digest, script.clone());
        Ok(script)
    }
}

/// The images that a request names by digest, of those that an event of the session names.
async fn images(cx: &SessionContext, request: &Request, head: u64) -> Result<Images, String> {
    let (mut images, mut bytes) = (Images::new(), 0);
    let named: BTreeSet<&str> = request::named_images(request).collect();
    for name in named {
        let Some(digest) = Digest::from_hex(name) else { continue };
        let Some(image) = slice::blob(cx.store.as_ref(), &cx.id, &digest, head).await? else { continue };
        bytes += image.len();
        if bytes > IMAGES_BYTES_MAX {
            return Err(request::too_many_images());
        }
        images.insert(name.to_owned(), image);
    }
    Ok(images)
}
