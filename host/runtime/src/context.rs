//! What every guest of a session is run with. Holds no session state: that is the driver's fold.

use std::sync::Arc;
use std::time::Duration;

use rewake_bindings::Sandbox;
use rewake_core::decide::InForce;
use rewake_core::fact::{ComponentPin, Created, GrantsWhy, PluginKind, Source, ToolPin};
use rewake_core::grant::Grants;
use rewake_core::ids::SessionId;
use rewake_store::Store;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};
use tracing::warn;

use rewake_bundle::Matcher;
use rewake_egress::Egress;
use rewake_models::Models;
use rewake_policy::config::Rules;
use rewake_policy::grants::Vouched;
use rewake_sandbox::clock::Clock;
use rewake_sandbox::components::Components;
use rewake_sandbox::http_client::WayOut;
use rewake_sandbox::lease_deadline::LeaseDeadline;
use rewake_sandbox::mounts::Volumes;

/// Bytes of a guest's standard streams that are kept.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
/// Bytes that a guest may hand to the host in one call.
const CALL_BYTES_MAX: usize = 16 << 20;

/// How long a dropped tool or hook is waited for.
const QUIESCE_MAX: Duration = Duration::from_secs(2);

/// Held by whatever a session's tools and hooks still do.
pub(crate) type Busy = Arc<OwnedRwLockReadGuard<()>>;

/// What every guest of a session is run with.
pub(crate) struct SessionContext {
    pub(crate) id: SessionId,
    /// The pins; tools and hooks with what they may use now.
    pub(crate) created: Created,
    pub(crate) components: Arc<Components>,
    pub(crate) models: Arc<Models>,
    pub(crate) egress: Arc<Egress>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    /// How it was loaded.
    pub(crate) source: Source,
    /// The matchers of its hooks, in the order of the pins.
    pub(crate) matchers: Vec<Matcher>,
    /// The folders behind its mounts.
    pub(crate) volumes: Volumes,
    /// What each component may use now, in the order of the pins: the pin is the ceiling, and the operator's
    /// rules of now or an approval of this machine decide.
    pub(crate) grants: Vec<InForce>,
    /// The bundles whose pins this machine vouches for.
    pub(crate) vouched: Vouched,
    /// The operator's rules of now, which know the secrets.
    pub(crate) rules: Arc<Rules>,
    /// Held, for reading, by every task that runs a tool or a hook.
    pub(crate) running: Arc<RwLock<()>>,
    /// Until when the session is this host's.
    pub(crate) deadline: Arc<LeaseDeadline>,
    /// See [`Sandbox::files_in_place`].
    pub(crate) files_in_place: bool,
}

impl SessionContext {
    /// Waits until nothing is done any more for a tool or hook that was dropped, for so long at most, and
    /// says whether that is so. What a disk was asked for cannot be canceled.
    pub(crate) async fn quiesce(&self) -> bool {
        let is_quiet = tokio::time::timeout(QUIESCE_MAX, self.running.write()).await.is_ok();
        if !is_quiet {
            warn!(session = %self.id, "a dropped tool or hook is still running");
        }
        is_quiet
    }

    /// To be held while a tool or a hook runs.
    pub(crate) async fn busy(&self) -> Busy {
        Arc::new(self.running.clone().read_owned().await)
    }

    /// The harness's component.
    pub(crate) fn harness(&self) -> &ComponentPin {
        self.component(self.created.agent.harness)
    }

    /// A component that a pin names. Creation checked that it is there.
    pub(crate) fn component(&self, index: u32) -> &ComponentPin {
        &self.created.components[index as usize]
    }

    /// A tool by the name the model uses.
    pub(crate) fn tool(&self, name: &str) -> Option<&ToolPin> {
        self.created.tool(name)
    }

    /// What a component may use now.
    fn granted<'a>(&'a self, component: &'a ComponentPin) -> &'a Grants {
        match component.kind {
            // A harness keeps what was pinned; what it may use now is beside it.
            PluginKind::Harness => &self.grants[self.created.agent.harness as usize].grants,
            PluginKind::Tool | PluginKind::Hook => &component.grants,
        }
    }

    /// How an operator approves again what a component was granted, where only that is missing.
    pub(crate) fn approve_again(&self, component: &ComponentPin) -> Option<String> {
        let of_bundle = self.created.components.iter().zip(&self.grants);
        let mut unvouched = of_bundle.filter(|(_, now)| now.why == GrantsWhy::Unvouched);
        unvouched.any(|(pin, _)| pin.bundle == component.bundle).then(|| {
            format!("This machine has not approved it: an operator can, with `rewake grant {}`", self.id)
        })
    }

    /// A component's way out: exactly its grants.
    pub(crate) fn way_out(&self, component: &ComponentPin) -> WayOut {
        WayOut {
            egress: self.egress.clone(),
            clock: self.clock.clone(),
            deadline: self.deadline.clone(),
            rules: self.rules.clone(),
            bundle: component.bundle.clone(),
            grants: self.granted(component).http.clone(),
        }
    }

    /// What an instance of a component is confined to: exactly its grants.
    pub(crate) fn sandbox(&self, component: &ComponentPin, busy: Option<Busy>) -> Sandbox {
        let now = self.granted(component);
        Sandbox {
            mounts: self.volumes.mounts(component, now),
            memory_bytes_max: usize::try_from(component.limits.memory_bytes_max).unwrap_or(usize::MAX),
            output_bytes_max: OUTPUT_BYTES_MAX,
            call_bytes_max: CALL_BYTES_MAX,
            while_busy: busy.map(|busy| busy as _),
            files_in_place: self.files_in_place,
        }
    }
}
