//! What a new session will run with: bundles and their components, compiled and asked for their tools, as
//! pins. Grants nothing that was not asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rewake_core::fact::{
    AgentPin, BundlePin, ComponentPin, Created, GuestLimits, HookPin, PluginKind, ToolPin,
};
use rewake_core::grant::{FsGrant, FsSource, Grants};
use rewake_core::ids::Digest;
use rewake_core::limits::cut;
use thiserror::Error;

use crate::bundle::{self, Bundle, BundleSet, Component, Kind, Offer};
use crate::components::Components;
use crate::convert::effect_in;
use crate::engine::MEMORY_BYTES_MAX;
use crate::guest;
use crate::providers::SCRIPTED;

/// Bytes of a tool's description.
const DESCRIPTION_BYTES_MAX: usize = 16 << 10;
/// Tools that the components of a session list, together.
const TOOLS_MAX: usize = 512;
/// Hooks of a session.
const HOOKS_MAX: usize = 64;
/// Bytes of a tool's output, whatever its manifest asks for: it must fit an entry, escaped.
const OUTPUT_BYTES_MAX: u64 = 4 << 20;
/// Bytes of a tool's input schema.
const SCHEMA_BYTES_MAX: usize = 256 << 10;

/// What a session is made from.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// The bundle whose agent it runs.
    pub bundle: PathBuf,
    /// Further bundles whose tools and hooks it gets.
    pub with: Vec<PathBuf>,
    /// The folder its workspace is copied from; none: it starts empty.
    pub workspace: Option<PathBuf>,
    /// Who makes it.
    pub origin: String,
    /// The operator's own words about it.
    pub labels: BTreeMap<String, String>,
}

/// Why a session cannot be made.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A bundle is not as it must be.
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    /// A component does not compile.
    #[error("{component}: does not compile: {why}")]
    Compile {
        /// Which.
        component: String,
        /// Why.
        why: String,
    },
    /// A component could not say which tools it has, or said something that cannot be.
    #[error("{component}: {why}")]
    Tools {
        /// Which.
        component: String,
        /// Why.
        why: String,
    },
    /// It asks for something that this version cannot give.
    #[error("{bundle}: {what}")]
    NotHere {
        /// Which bundle.
        bundle: String,
        /// What.
        what: String,
    },
}

/// A session's pins, and what the store must hold for them.
pub(crate) struct Plan {
    pub(crate) created: Created,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) script: Option<Vec<u8>>,
}

/// Plans a session. Compiles what is not compiled yet; that can take seconds.
pub(crate) async fn plan(components: &Arc<Components>, new: &NewSession) -> Result<Plan, PlanError> {
    let set = bundle::load_set(&new.bundle, &new.with)?;
    let (home, harness) = set.harness()?;
    let mut pins = Pins::default();
    let harness_index = pins.component(home, harness)?;
    let offers = offers(components, &set).await?;
    let wanted: Vec<Offer> = offers.iter().map(|offered| offered.offer.clone()).collect();
    let chosen = set.select_tools(&wanted)?;
    let mut tools = Vec::new();
    for one in chosen {
        let Some(offered) = offers.iter().find(|offered| offered.offer == one.offer) else { continue };
        let component = pins.component(offered.bundle, offered.component)?;
        tools.push(tool_pin(&one.name, component, &pins.components[component as usize], offered));
    }
    let mut hooks = Vec::new();
    for (bundle, component) in set.components(Kind::Hook) {
        let index = pins.component(bundle, component)?;
        hooks.extend(hook_pins(bundle, component, index)?);
        if hooks.len() > HOOKS_MAX {
            let what = format!("a session has at most {HOOKS_MAX} hooks, and with these there are more");
            return Err(PlanError::NotHere { bundle: bundle.name().as_str().to_owned(), what });
        }
    }
    for (bundle, component) in &pins.sources {
        ready(components, bundle, component).await?;
    }
    let root = set.root();
    let script = script(root);
    let agent = AgentPin {
        name: root.name().as_str().to_owned(),
        instructions: root.instructions().unwrap_or_default().to_owned(),
        model: model(root),
        script: script.as_deref().map(Digest::of),
        harness: harness_index,
    };
    let mut lineage = Digest::default();
    getrandom::fill(&mut lineage.0).map_err(|error| PlanError::NotHere {
        bundle: agent.name.clone(),
        what: format!("the machine gives no randomness: {error}"),
    })?;
    let created = Created {
        agent,
        bundles: set.bundles().iter().map(bundle_pin).collect(),
        components: pins.components,
        tools,
        hooks,
        origin: new.origin.clone(),
        lineage,
        labels: new.labels.clone(),
    };
    Ok(Plan { created, bundles: set.bundles().to_vec(), script })
}

/// A tool that a component says it has.
struct Offered<'a> {
    offer: Offer,
    bundle: &'a Bundle,
    component: &'a Component,
    def: rewake_bindings::types::ToolDef,
}

/// Components as they are pinned, each once.
#[derive(Default)]
struct Pins<'a> {
    components: Vec<ComponentPin>,
    sources: Vec<(&'a Bundle, &'a Component)>,
}

impl<'a> Pins<'a> {
    fn component(&mut self, bundle: &'a Bundle, component: &'a Component) -> Result<u32, PlanError> {
        let name = |pin: &ComponentPin| pin.bundle == bundle.name().as_str() && pin.name == component.name();
        let index = match self.components.iter().position(name) {
            Some(index) => index,
            None => {
                self.components.push(component_pin(bundle, component)?);
                self.sources.push((bundle, component));
                self.components.len() - 1
            }
        };
        Ok(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

async fn offers<'a>(components: &Arc<Components>, set: &'a BundleSet) -> Result<Vec<Offered<'a>>, PlanError> {
    let mut offers = Vec::new();
    for (bundle, component) in set.components(Kind::Tool) {
        ready(components, bundle, component).await?;
        let pin = component_pin(bundle, component)?;
        let wrong = |why: String| PlanError::Tools { component: crate::context::full_name(&pin), why };
        let defs = guest::list_tools(components, &pin).await.result;
        let defs = defs
            .map_err(|broken| wrong(format!("list-tools was ended ({}): {}", broken.code, broken.detail)))?;
        if defs.is_empty() {
            return Err(wrong("lists no tools; a tool component must have at least one".into()));
        }
        for def in defs {
            check_schema(&def).map_err(&wrong)?;
            let offer = Offer::new(bundle.name(), component.name(), &def.name)
                .map_err(|invalid| wrong(invalid.to_string()))?;
            if offers.len() == TOOLS_MAX {
                return Err(wrong(format!("its bundles list more than {TOOLS_MAX} tools together")));
            }
            offers.push(Offered { offer, bundle, component, def });
        }
    }
    Ok(offers)
}

fn check_schema(def: &rewake_bindings::types::ToolDef) -> Result<(), String> {
    let name = &def.name;
    if def.input_schema.len() > SCHEMA_BYTES_MAX {
        return Err(format!("the input schema of {name:?} has more than {SCHEMA_BYTES_MAX} bytes"));
    }
    match serde_json::from_str::<serde_json::Value>(&def.input_schema) {
        Ok(serde_json::Value::Object(_)) => Ok(()),
        Ok(_) => Err(format!("the input schema of {name:?} is no JSON object")),
        Err(error) => Err(format!("the input schema of {name:?} is no JSON: {error}")),
    }
}

/// Compiles a component, if it is not; on a thread that may block.
pub(crate) async fn ready(
    components: &Arc<Components>,
    bundle: &Bundle,
    component: &Component,
) -> Result<(), PlanError> {
    let kind = plugin_kind(component.kind());
    if components.get(component.digest, kind).is_some() {
        return Ok(());
    }
    let (shared, digest, bytes) = (components.clone(), component.digest, component.bytes().clone());
    let compiled = tokio::task::spawn_blocking(move || shared.prepare(digest, kind, &bytes)).await;
    let why = match compiled {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => format!("{error:?}"),
        Err(error) => error.to_string(),
    };
    Err(PlanError::Compile { component: format!("{}:{}", bundle.name(), component.name()), why })
}

pub(crate) fn plugin_kind(kind: Kind) -> PluginKind {
    match kind {
        Kind::Tool => PluginKind::Tool,
        Kind::Hook => PluginKind::Hook,
        Kind::Harness => PluginKind::Harness,
    }
}

fn component_pin(bundle: &Bundle, component: &Component) -> Result<ComponentPin, PlanError> {
    Ok(ComponentPin {
        name: component.name().to_owned(),
        bundle: bundle.name().as_str().to_owned(),
        kind: plugin_kind(component.kind()),
        digest: component.digest,
        state_version: component.declared.state_version.unwrap_or(0),
        grants: grants(bundle, component)?,
        limits: limits(component),
        config: config(bundle)?,
    })
}

/// Whoever runs a bundle by its path grants what it asks for; what this version cannot confine is refused.
fn grants(bundle: &Bundle, component: &Component) -> Result<Grants, PlanError> {
    let not_here = |what: String| {
        let what = format!("component {:?} {what}; this comes with a later version", component.name());
        Err(PlanError::NotHere { bundle: bundle.name().as_str().to_owned(), what })
    };
    let asks = &component.declared.asks;
    if let Some(http) = asks.http.first() {
        return not_here(format!("asks for HTTP to {}", http.host));
    }
    if component.kind() == Kind::Harness && !asks.fs.is_empty() {
        return not_here("is a harness and asks for a mount".into());
    }
    let mut fs = Vec::new();
    for ask in &asks.fs {
        match ask.source {
            bundle::FsSource::Workspace => {
                fs.push(FsGrant { mount: ask.mount.clone(), source: FsSource::Workspace, access: ask.access })
            }
            _ => {
                return not_here(format!(
                    "asks for a mount of something else than the workspace ({})",
                    ask.mount
                ));
            }
        }
    }
    Ok(Grants { fs })
}

/// Limits where the author sets none, by kind. A step may wait for models and tools; the others may not.
fn limits(component: &Component) -> GuestLimits {
    let (timeout_ms, fuel_max) = match component.kind() {
        Kind::Harness => (3_600_000, 100_000_000_000),
        Kind::Tool => (60_000, 20_000_000_000),
        Kind::Hook => (30_000, 5_000_000_000),
    };
    let own = &component.declared.limits;
    GuestLimits {
        memory_bytes_max: own.memory_bytes.unwrap_or(64 << 20).min(MEMORY_BYTES_MAX as u64),
        timeout_ms: own.timeout.map_or(timeout_ms, |own| u64::try_from(own.as_millis()).unwrap_or(u64::MAX)),
        fuel_max: own.fuel.unwrap_or(fuel_max),
        output_bytes_max: own.output_bytes.unwrap_or(256 << 10).min(OUTPUT_BYTES_MAX),
    }
}

/// The values of a bundle's configuration: its defaults, for now.
fn config(bundle: &Bundle) -> Result<String, PlanError> {
    let mut values = serde_json::Map::new();
    for (key, declared) in &bundle.manifest().config {
        match &declared.default {
            Some(_) if declared.sensitive => {}
            Some(value) => {
                values.insert(key.clone(), value.clone());
            }
            None if declared.required => {
                let what = format!(
                    "needs a value for its configuration key {key:?} and has no default; operators' configuration comes with a later version"
                );
                return Err(PlanError::NotHere { bundle: bundle.name().as_str().to_owned(), what });
            }
            None => {}
        }
    }
    Ok(serde_json::Value::Object(values).to_string())
}

fn tool_pin(name: &str, index: u32, component: &ComponentPin, offered: &Offered<'_>) -> ToolPin {
    let def = &offered.def;
    let effect = effect_in(def.effect).capped_by(&component.grants);
    let definition = Digest::of_parts([
        name.as_bytes(),
        component.bundle.as_bytes(),
        component.name.as_bytes(),
        &component.digest.0,
        def.name.as_bytes(),
        def.input_schema.as_bytes(),
        effect.as_str().as_bytes(),
    ]);
    ToolPin {
        name: name.to_owned(),
        component: index,
        tool: def.name.clone(),
        description: cut(&def.description, DESCRIPTION_BYTES_MAX),
        input_schema: def.input_schema.clone(),
        effect,
        definition,
    }
}

fn hook_pins(bundle: &Bundle, component: &Component, index: u32) -> Result<Vec<HookPin>, PlanError> {
    let mut pins = Vec::new();
    for on in &component.declared.on {
        let event = match on.event {
            bundle::HookEvent::SessionStart => rewake_core::fact::HookEvent::SessionStart,
            bundle::HookEvent::PreToolUse => rewake_core::fact::HookEvent::PreToolUse,
            other => {
                let what = format!(
                    "component {:?} listens for {other:?}; this event comes with a later version",
                    component.name()
                );
                return Err(PlanError::NotHere { bundle: bundle.name().as_str().to_owned(), what });
            }
        };
        if on.rewrites {
            let what =
                format!("component {:?} rewrites inputs; this comes with a later version", component.name());
            return Err(PlanError::NotHere { bundle: bundle.name().as_str().to_owned(), what });
        }
        pins.push(HookPin {
            component: index,
            event,
            matcher: on.matcher.as_str().to_owned(),
            on_error: on.on_error,
            timeout_ms: u64::try_from(on.timeout.as_millis()).unwrap_or(u64::MAX),
        });
    }
    Ok(pins)
}

fn bundle_pin(bundle: &Bundle) -> BundlePin {
    BundlePin {
        name: bundle.name().as_str().to_owned(),
        version: bundle.manifest().version.to_string(),
        digest: bundle.digest(),
    }
}

fn model(root: &Bundle) -> String {
    let named = root.manifest().agent.as_ref().and_then(|agent| agent.model.as_ref());
    named.map_or_else(|| SCRIPTED.to_owned(), |model| model.get_ref().clone())
}

fn script(root: &Bundle) -> Option<Vec<u8>> {
    let path = root.manifest().agent.as_ref()?.script.as_ref()?.get_ref();
    root.files().find(|(name, _)| name == path).map(|(_, bytes)| bytes.to_vec())
}
