//! Components outside of a session, for anyone who writes or looks at a bundle: made ready and asked what they
//! have, in the sandbox that sessions use. Grants nothing and journals nothing.

use std::path::Path;
use std::sync::Arc;

use rewake_core::fact::ComponentPin;
use rewake_core::grant::Grants;

use crate::plan::{self, PlanError};
use rewake_bundle::{Bundle, Component, ListedTool, PluginKind};
use rewake_sandbox::compiler::{CompileLimits, Compiler};
use rewake_sandbox::components::Components;
use rewake_sandbox::convert::listed;

/// The smallest component: its header alone.
const EMPTY_COMPONENT: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// Where components are made ready. Cheap to clone.
#[derive(Clone)]
pub struct Workbench {
    pub(crate) components: Arc<Components>,
}

impl Workbench {
    /// Over a folder of compiled components. `compiler` is the program that compiles, as in
    /// [`Config`](crate::Config).
    ///
    /// # Errors
    /// Why this machine cannot run components.
    pub fn open(
        cache: &Path,
        compiler: Option<std::path::PathBuf>,
        compile: CompileLimits,
    ) -> Result<Workbench, String> {
        let components = Components::open(cache, Compiler::new(compiler, compile));
        let components =
            components.map_err(|error| format!("this machine cannot run components: {error:?}"))?;
        Ok(Workbench { components })
    }

    /// The tools of a component, asked for once and without any grant; none of a component of another kind.
    ///
    /// # Errors
    /// If it does not compile, does not answer, or lists what no session would take.
    pub async fn tools(&self, bundle: &Bundle, component: &Component) -> Result<Vec<ListedTool>, PlanError> {
        self.prepare(bundle, component).await?;
        if component.kind() != PluginKind::Tool {
            return Ok(Vec::new());
        }
        let pin = bare(bundle, component);
        let tools = plan::list_tools(&self.components, &pin, bundle, component).await?;
        Ok(tools.into_iter().map(|(_, def)| listed(def)).collect())
    }

    /// Compiles a component that does nothing, to see whether this machine can.
    ///
    /// # Errors
    /// Why it cannot.
    pub async fn try_out(&self) -> Result<(), String> {
        let all = self.components.clone();
        let tried = tokio::task::spawn_blocking(move || all.try_out(&EMPTY_COMPONENT));
        tried.await.map_err(|error| error.to_string())?
    }

    /// Compiles a component, if it is not.
    ///
    /// # Errors
    /// Why it does not compile.
    pub async fn prepare(&self, bundle: &Bundle, component: &Component) -> Result<(), PlanError> {
        plan::ready(&self.components, bundle, component).await
    }
}

/// A component without grants and without configuration.
fn bare(bundle: &Bundle, component: &Component) -> ComponentPin {
    ComponentPin {
        name: component.name().to_owned(),
        bundle: bundle.name().as_str().to_owned(),
        kind: component.kind(),
        digest: component.digest,
        state_version: component.declared.state_version.unwrap_or(0),
        asks: Grants::default(),
        grants: Grants::default(),
        limits: plan::usual_limits(component),
        config: "{}".to_owned(),
    }
}
