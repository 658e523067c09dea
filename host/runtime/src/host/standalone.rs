//! One bundle's tools and hooks, called outside of any session: for authors, who want to see what a call does.
//! The same engine, mounts, limits, grants and way out as in a session; nothing is journaled.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rewake_bindings::types::ToolUse;
use rewake_core::decide::InForce;
use rewake_core::entry::Place;
use rewake_core::fact::{ComponentPin, GrantsWhy, HookPin, LogLines, Source, ToolCompleted, ToolPin};
use rewake_core::ids::SessionId;
use rewake_store::Store;

use super::{Config, Host, HostError, Machine, read_rules, ulid};
use crate::context::SessionContext;
use crate::hooks;
pub use crate::hooks::{Answered, Fired};
use crate::plan::{Approval, NewSession};
use crate::workbench::Workbench;
use crate::{calls, plan};
use rewake_bundle::Bundle;
use rewake_policy::config::{Allow, AllowedAsk};
use rewake_policy::grants::{Asked, Vouched};
use rewake_sandbox::clock::{Clock, MachineClock};
pub use rewake_sandbox::guest::Used;
use rewake_sandbox::mounts::{self, Volumes};
use rewake_toml::Invalid;

/// What a bundle is granted, where the operator's rules do not name it.
#[derive(Clone, Debug)]
pub enum StandaloneGrants {
    /// All that it asks for.
    Asked,
    /// These, as far as it asks for them; written as in `[[allow]]`.
    These(Vec<AllowedAsk>),
}

/// One bundle's tools and hooks, ready to be called.
pub struct Standalone {
    cx: Arc<SessionContext>,
    asked: Vec<Asked>,
    scratch: PathBuf,
}

/// What came of a call of a tool.
#[derive(Clone, Debug)]
pub struct Called {
    /// How it ended, with its audit.
    pub completed: ToolCompleted,
    /// What it said beside it.
    pub logs: Option<LogLines>,
    /// What it took.
    pub used: Used,
}

impl Host {
    /// Opens a host that shares what a workbench has made ready: hosts that come and go are cheap then. How
    /// components are compiled is the workbench's.
    ///
    /// # Errors
    /// As [`Host::open`].
    pub fn open_on(bench: &Workbench, config: &Config, store: Arc<dyn Store>) -> Result<Host, HostError> {
        Host::open_over(bench, config, store, Arc::new(MachineClock), false)
    }

    /// The same for a simulation: by other clocks than the machine's, and guests' files are used where they are asked
    /// for, not on threads beside the runtime's own.
    ///
    /// # Errors
    /// As [`Host::open`].
    pub fn open_simulated(
        bench: &Workbench,
        config: &Config,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> Result<Host, HostError> {
        Host::open_over(bench, config, store, clock, true)
    }

    fn open_over(
        bench: &Workbench,
        config: &Config,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        files_in_place: bool,
    ) -> Result<Host, HostError> {
        let (rules, read) = read_rules(config)?;
        let machine = Machine { components: bench.components.clone(), clock, files_in_place };
        Host::over(config, store, machine, rules, &read)
    }

    /// Makes a bundle's tools and hooks ready for calls outside of any session, in this workspace folder: it
    /// is used as it is, not copied.
    ///
    /// # Errors
    /// If a component cannot be had, a value of its configuration is missing, or its tools cannot be listed.
    pub async fn standalone(
        &self,
        bundle: &Bundle,
        grants: &StandaloneGrants,
        workspace: &Path,
    ) -> Result<Standalone, HostError> {
        let inner = &self.0;
        let mut rules = self.rules()?;
        let is_ruled = rules.allowed(bundle.name().as_str(), &bundle.digest()).is_some();
        let mut new = NewSession { origin: "solo".to_owned(), ..NewSession::default() };
        match grants {
            StandaloneGrants::Asked => new.approval = Some(Approval::of_all("author")),
            StandaloneGrants::These(asks) if !is_ruled => {
                let (name, digest) = (bundle.name().as_str().to_owned(), bundle.digest());
                rules.allow.push(Allow { bundle: name, digest, asks: asks.clone() });
            }
            StandaloneGrants::These(_) => {}
        }
        let mut plan = plan::standalone(&inner.components, &rules, bundle, &new).await?;
        for one in &mut plan.asked {
            one.is_ruled = is_ruled;
        }
        let id = SessionId::parse(&format!("ses_{}", ulid()?))
            .map_err(|bad| HostError::Machine(bad.to_string()))?;
        let mut bundles = BTreeMap::new();
        for (name, digest) in mounts::bundles_seen(&plan.created) {
            let files: BTreeMap<String, Vec<u8>> =
                bundle.files().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect();
            let volume = mounts::lay_out(&inner.cache, digest, &files)
                .map_err(|error| HostError::Machine(format!("cannot lay out the bundle {name}: {error}")))?;
            bundles.insert(name.to_owned(), Arc::new(volume));
        }
        let volumes = Volumes::over(workspace.to_owned(), &inner.data, &id, &rules, bundles);
        let in_force = |component: &ComponentPin| InForce {
            grants: component.grants.clone(),
            why: GrantsWhy::Rules,
            by: None,
        };
        let grants = plan.created.components.iter().map(in_force).collect();
        let scratch = inner.data.join("scratch").join(id.as_str());
        let cx = Arc::new(SessionContext {
            id,
            source: Source::Startup,
            matchers: hooks::matchers(&plan.created),
            created: plan.created,
            components: inner.components.clone(),
            models: inner.models.clone(),
            egress: inner.egress.clone(),
            store: inner.store.clone(),
            clock: inner.clock.clone(),
            volumes,
            grants,
            vouched: Vouched::default(),
            rules: Arc::new(rules),
            running: Arc::default(),
            deadline: Arc::default(),
            files_in_place: inner.files_in_place,
        });
        Ok(Standalone { cx, asked: plan.asked, scratch })
    }
}

impl Standalone {
    /// Its tools, by the names that [`Standalone::call`] takes.
    pub fn tools(&self) -> &[ToolPin] {
        &self.cx.created.tools
    }

    /// Its hooks, in the order of their declarations.
    pub fn hooks(&self) -> &[HookPin] {
        &self.cx.created.hooks
    }

    /// What its components ask for, and what of it is granted.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// A tool by its name.
    ///
    /// # Errors
    /// With the tools that there are.
    pub fn tool(&self, name: &str) -> Result<&ToolPin, Invalid> {
        self.cx.tool(name).ok_or_else(|| {
            let known = || self.tools().iter().map(|tool| tool.name.as_str());
            let help = match rewake_toml::nearest(name, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.tools().is_empty() => "it has no tools".to_owned(),
                None => format!("it has {}", rewake_toml::quote_all(known())),
            };
            let message = format!("the bundle has no tool {}", rewake_toml::quote(name));
            Invalid::new(message).help(help)
        })
    }

    /// Calls a tool once, in a fresh instance. `input` is JSON text; what a tool cannot be given is refused
    /// as in a session, in the completion.
    pub async fn call(&self, name: &str, input: &str) -> Called {
        let asked = ToolUse { id: "use_1".into(), name: name.to_owned(), input: input.to_owned() };
        let planned = calls::plan(&self.cx, asked, None);
        let call = planned.call(Place::step(1, 1), 0, hooks::random_key(), Vec::new());
        let (completed, logs, used) = match (&planned.target, call) {
            (Ok(_), Some(call)) => calls::perform(&self.cx, &call, &self.cx.busy().await).await,
            (Err((outcome, why)), _) => (calls::refusal(*outcome, why), None, Used::default()),
            (Ok(_), None) => unreachable!("a use with a target has a call"),
        };
        Called { completed, logs, used }
    }

    /// Asks the hooks of one component that are for an event. Empty: none of them is.
    ///
    /// # Errors
    /// If the bundle has no such hook, or it does not listen for the event.
    pub async fn ask(&self, component: &str, fired: &Fired) -> Result<Vec<Answered>, Invalid> {
        let components = &self.cx.created.components;
        let found = components.iter().position(|pin| pin.name == component);
        let index = found.and_then(|index| u32::try_from(index).ok());
        let of_it = || self.hooks().iter().filter(|hook| Some(hook.component) == index);
        if of_it().next().is_none() {
            let hooks = components
                .iter()
                .enumerate()
                .filter(|(at, _)| self.hooks().iter().any(|hook| hook.component as usize == *at));
            let names = rewake_toml::quote_all(hooks.map(|(_, pin)| pin.name.as_str()));
            let message = format!("the bundle has no hook {}", rewake_toml::quote(component));
            return Err(Invalid::new(message).help(format!("its hooks: {names}")));
        }
        if !of_it().any(|hook| hook.event == fired.event) {
            let events = rewake_toml::quote_all(of_it().map(|hook| hook.event.as_str()));
            let message = format!("`{component}` does not listen for {}", fired.event.as_str());
            return Err(Invalid::new(message).help(format!("it listens for {events}")));
        }
        Ok(hooks::ask_alone(&self.cx, index.unwrap_or_default(), fired).await)
    }
}

impl Drop for Standalone {
    fn drop(&mut self) {
        // Each call's folder went with the call; this is what they stood in.
        let _ = std::fs::remove_dir(&self.scratch);
    }
}
