//! Models that a session can be configured with. A provider only answers; recording is the import's.

pub mod script;
mod scripted;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rewake_bindings::model::Request;
use rewake_core::fact::ModelOutcome;
use rewake_core::ids::Digest;

use crate::context::SessionContext;
use script::Script;

/// The name of the model that plays its bundle's script.
pub const SCRIPTED: &str = "scripted";

/// The models of this host.
#[derive(Default)]
pub(crate) struct Models {
    scripts: Mutex<BTreeMap<Digest, Arc<Script>>>,
}

impl Models {
    /// Asks a model.
    pub(crate) async fn complete(&self, cx: &SessionContext, model: &str, request: &Request) -> ModelOutcome {
        if model != SCRIPTED {
            return ModelOutcome::Rejected(format!("there is no model {model:?} here; there is: {SCRIPTED}"));
        }
        match self.script(cx).await {
            Ok(script) => scripted::complete(&script, request).await,
            Err(why) => ModelOutcome::Rejected(why),
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
