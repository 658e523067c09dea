//! What a new session will run with: bundles and their components, compiled and asked for their tools, as
//! pins. What is granted is decided in `grants.rs`, what is set in `config/`.

mod limits;
mod locked;
mod operators;
mod standalone;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use rewake_bindings::types::ToolDef;
use rewake_core::effect::capped;
use rewake_core::fact::{
    AgentPin, BundlePin, ComponentPin, Created, GuestLimits, HookPin, PluginKind, ToolPin,
};
use rewake_core::grant::{Access, Grants};
use rewake_core::ids::Digest;
use rewake_core::limits::{TURN_STEPS_DEFAULT, cut};
use rewake_core::money::Usd;
use thiserror::Error;

use rewake_bundle::{Bundle, BundleSet, Component, Locator, Offer};
use rewake_models::SCRIPTED;
use rewake_policy::config::{Bounds, Rules, Unset};
use rewake_policy::grants::{self, Asked};
use rewake_sandbox::components::Components;
use rewake_sandbox::convert::effect_in;
use rewake_sandbox::guest;
use rewake_store::Installed;
pub(crate) use standalone::plan as standalone;

/// Bytes of a tool's description.
const DESCRIPTION_BYTES_MAX: usize = 16 << 10;
/// Tools that the components of a session list, together.
const TOOLS_MAX: usize = 512;
/// Hooks of a session.
const HOOKS_MAX: usize = 64;
/// Bytes of a tool's input schema.
const SCHEMA_BYTES_MAX: usize = 256 << 10;

/// What a session is made from.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    /// The bundle whose agent it runs.
    pub bundle: Locator,
    /// Further bundles whose tools and hooks it gets.
    pub with: Vec<Locator>,
    /// The folder its workspace is copied from; none: it starts empty.
    pub workspace: Option<PathBuf>,
    /// Who grants, for this session, what bundles ask for that the operator's rules do not name.
    pub approval: Option<Approval>,
    /// Who makes it.
    pub origin: String,
    /// The operator's own words about it.
    pub labels: BTreeMap<String, String>,
    /// The model, whatever its bundle names.
    pub model: Option<String>,
    /// The most that its models may cost; its bundle may say less.
    pub max_usd: Option<Usd>,
    /// Steps of one turn, whatever its bundle says.
    pub max_steps: Option<u32>,
    /// The agent is played by the scripted model with this script, whatever its bundle names.
    pub script: Option<Vec<u8>>,
}

/// A person's approval of what bundles ask for, for one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Who.
    pub by: String,
    /// The digests of the bundles that were looked at; none: whatever bundles the session is made of.
    pub bundles: Option<Vec<Digest>>,
}

impl Approval {
    /// Of whatever is asked for.
    pub fn of_all(by: impl Into<String>) -> Approval {
        Approval { by: by.into(), bundles: None }
    }

    fn covers(&self, digest: &Digest) -> bool {
        self.bundles.as_ref().is_none_or(|bundles| bundles.contains(digest))
    }
}

/// Why a session cannot be made.
#[derive(Debug, Error)]
pub enum PlanError {
    /// A bundle is not as it must be.
    #[error(transparent)]
    Bundle(#[from] rewake_toml::Error),
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
    /// Its bundle needs values that the operator has not set.
    #[error("{bundle} needs a value for {}. Add to {}:\n\n{lines}", keys.join(", "), file.display())]
    Unset {
        /// Which bundle.
        bundle: String,
        /// The keys without a value.
        keys: Vec<String>,
        /// The operator's rules, or where they would be.
        file: PathBuf,
        /// The lines that set them.
        lines: String,
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
    /// What its components ask for, with what is granted of it.
    pub(crate) asked: Vec<Asked>,
    /// What is unsafe about where its secrets are kept.
    pub(crate) warnings: Vec<String>,
}

/// Plans a session of these bundles. Compiles what is not compiled yet; that can take seconds.
pub(crate) async fn plan(
    components: &Arc<Components>,
    rules: &Rules,
    new: &NewSession,
    set: &BundleSet,
    installed: &[Installed],
) -> Result<Plan, PlanError> {
    let bytes_max = components.component_bytes_max();
    let operators = operators::load(rules, set, bytes_max)?;
    let (home, harness) = set.harness()?;
    let mut pins = Pins { components: Vec::new(), sources: Vec::new(), rules, new };
    let harness_index = pins.component(home, harness)?;
    let offers = offers(components, set, rules, new).await?;
    let wanted: Vec<Offer> = offers.iter().map(|offered| offered.offer.clone()).collect();
    let chosen = set.select_tools(&wanted)?;
    let mut tools = Vec::new();
    for one in chosen {
        let Some(offered) = offers.iter().find(|offered| offered.offer == one.offer) else { continue };
        let component = pins.component(offered.bundle, offered.component)?;
        tools.push(tool_pin(&one.name, component, &pins.components[component as usize], offered));
    }
    let mut hooks = Vec::new();
    let firsts = operators::hooks(rules, set, &operators, installed)?;
    let is_first = |one: &(&Bundle, &Component)| {
        firsts
            .iter()
            .any(|(bundle, component)| bundle.name() == one.0.name() && component.name() == one.1.name())
    };
    let others = set.components(PluginKind::Hook).filter(|one| !is_first(one));
    for (bundle, component) in firsts.iter().copied().chain(others) {
        let index = pins.component(bundle, component)?;
        hooks.extend(hook_pins(bundle, component, index, is_first(&(bundle, component)))?);
        if hooks.len() > HOOKS_MAX {
            let what = format!("a session has at most {HOOKS_MAX} hooks, and with these there are more");
            return Err(PlanError::NotHere { bundle: bundle.name().as_str().to_owned(), what });
        }
    }
    for (bundle, component) in &pins.sources {
        ready(components, bundle, component).await?;
    }
    let (root, script) = (set.root(), new.script.clone().or_else(|| script(set.root())));
    let agent = AgentPin {
        name: root.name().as_str().to_owned(),
        instructions: root.instructions().unwrap_or_default().to_owned(),
        model: model(root, new),
        script: script.as_deref().map(Digest::of),
        harness: harness_index,
        max_usd: max_usd(root).into_iter().chain(new.max_usd).min(),
        max_steps: Some(new.max_steps.or(max_steps(root)).unwrap_or(TURN_STEPS_DEFAULT)),
    };
    let mut lineage = Digest::default();
    getrandom::fill(&mut lineage.0).map_err(|error| PlanError::NotHere {
        bundle: agent.name.clone(),
        what: format!("the machine gives no randomness: {error}"),
    })?;
    let bundles: Vec<Bundle> = set.bundles().iter().chain(&operators.bundles).cloned().collect();
    let asked = pins.asked();
    let created = Created {
        agent,
        bundles: bundles.iter().map(|bundle| bundle_pin(rules, new, bundle)).collect(),
        components: pins.components,
        tools,
        hooks,
        origin: new.origin.clone(),
        lineage,
        labels: new.labels.clone(),
    };
    let warnings = bundles.iter().flat_map(|bundle| rewake_policy::config::exposed(rules, bundle)).collect();
    Ok(Plan { created, bundles, script, asked, warnings })
}

/// A tool that a component says it has.
struct Offered<'a> {
    offer: Offer,
    bundle: &'a Bundle,
    component: &'a Component,
    def: ToolDef,
}

/// Components as they are pinned, each once.
struct Pins<'a> {
    components: Vec<ComponentPin>,
    sources: Vec<(&'a Bundle, &'a Component)>,
    rules: &'a Rules,
    new: &'a NewSession,
}

impl<'a> Pins<'a> {
    fn component(&mut self, bundle: &'a Bundle, component: &'a Component) -> Result<u32, PlanError> {
        let name = |pin: &ComponentPin| pin.bundle == bundle.name().as_str() && pin.name == component.name();
        let index = match self.components.iter().position(name) {
            Some(index) => index,
            None => {
                self.components.push(component_pin(self.rules, self.new, bundle, component)?);
                self.sources.push((bundle, component));
                self.components.len() - 1
            }
        };
        Ok(u32::try_from(index).unwrap_or(u32::MAX))
    }

    fn asked(&self) -> Vec<Asked> {
        let all = self.sources.iter().zip(&self.components);
        all.flat_map(|((bundle, component), pin)| {
            grants::asked_of(self.rules, bundle, component, &pin.grants)
        })
        .collect()
    }
}

async fn offers<'a>(
    components: &Arc<Components>,
    set: &'a BundleSet,
    rules: &Rules,
    new: &NewSession,
) -> Result<Vec<Offered<'a>>, PlanError> {
    let mut offers = Vec::new();
    for (bundle, component) in set.components(PluginKind::Tool) {
        let pin = component_pin(rules, new, bundle, component)?;
        for (offer, def) in list_tools(components, &pin, bundle, component).await? {
            if offers.len() == TOOLS_MAX {
                let why = format!("its bundles list more than {TOOLS_MAX} tools together");
                return Err(PlanError::Tools { component: pin.full_name(), why });
            }
            offers.push(Offered { offer, bundle, component, def });
        }
    }
    Ok(offers)
}

/// Asks a component for its tools, without any grant, and checks what it says.
pub(crate) async fn list_tools(
    components: &Arc<Components>,
    pin: &ComponentPin,
    bundle: &Bundle,
    component: &Component,
) -> Result<Vec<(Offer, ToolDef)>, PlanError> {
    ready(components, bundle, component).await?;
    let wrong = |why: String| PlanError::Tools { component: pin.full_name(), why };
    let defs = guest::list_tools(components, pin).await.result;
    let defs =
        defs.map_err(|broken| wrong(format!("list-tools was ended ({}): {}", broken.code, broken.detail)))?;
    if defs.is_empty() {
        return Err(wrong("lists no tools; a tool component must have at least one".into()));
    }
    locked::agree(bundle, component, &defs).map_err(&wrong)?;
    let mut tools = Vec::new();
    if defs.len() > TOOLS_MAX {
        return Err(wrong(format!("lists more than {TOOLS_MAX} tools")));
    }
    for def in defs {
        check_schema(&def).map_err(&wrong)?;
        let offer = Offer::new(bundle.name(), component.name(), &def.name)
            .map_err(|invalid| wrong(invalid.to_string()))?;
        tools.push((offer, def));
    }
    Ok(tools)
}

fn check_schema(def: &ToolDef) -> Result<(), String> {
    let name = &def.name;
    if def.input_schema.len() > SCHEMA_BYTES_MAX {
        return Err(format!("the input schema of {name:?} has more than {SCHEMA_BYTES_MAX} bytes"));
    }
    match serde_json::from_str::<serde_json::Value>(&def.input_schema) {
        Ok(serde_json::Value::Object(_)) => Ok(()),
        Ok(_) => Err(format!("the input schema of {name:?} is not a JSON object")),
        Err(error) => Err(format!("the input schema of {name:?} is not JSON: {error}")),
    }
}

/// Compiles a component, if it is not.
pub(crate) async fn ready(
    components: &Arc<Components>,
    bundle: &Bundle,
    component: &Component,
) -> Result<(), PlanError> {
    let prepared = components.prepare(component.digest, component.kind(), component.bytes()).await;
    prepared.map_err(|why| PlanError::Compile {
        component: format!("{}:{}", bundle.name(), component.name()),
        why,
    })
}

/// What a component may consume where no operator has said anything.
pub(crate) fn usual_limits(component: &Component) -> GuestLimits {
    limits::in_force(component.kind(), &component.declared.limits, Bounds::default())
}

fn component_pin(
    rules: &Rules,
    new: &NewSession,
    bundle: &Bundle,
    component: &Component,
) -> Result<ComponentPin, PlanError> {
    let asks = asks(bundle, component)?;
    let approved = approved_by(rules, new, bundle).is_some();
    Ok(ComponentPin {
        name: component.name().to_owned(),
        bundle: bundle.name().as_str().to_owned(),
        kind: component.kind(),
        digest: component.digest,
        state_version: component.declared.state_version.unwrap_or(0),
        grants: grants::in_force(rules, bundle.name().as_str(), &bundle.digest(), approved, &asks),
        asks,
        limits: limits::in_force(
            component.kind(),
            &component.declared.limits,
            rules.limits.of(component.kind()),
        ),
        config: config(rules, bundle)?,
    })
}

/// What a component asks for; what this version cannot confine is refused.
fn asks(bundle: &Bundle, component: &Component) -> Result<Grants, PlanError> {
    let asks = grants::asked(&component.declared.asks);
    if component.kind() == PluginKind::Harness
        && asks.fs.iter().any(|grant| grant.access == Access::ReadWrite)
    {
        let what = format!("component {:?} is a harness and asks to write files", component.name());
        return Err(PlanError::NotHere { bundle: bundle.name().as_str().to_owned(), what });
    }
    Ok(asks)
}

/// Who granted what a bundle asks for, where the rules say nothing of it.
fn approved_by(rules: &Rules, new: &NewSession, bundle: &Bundle) -> Option<String> {
    let approval = new.approval.as_ref().filter(|approval| approval.covers(&bundle.digest()))?;
    let is_ruled = rules.allowed(bundle.name().as_str(), &bundle.digest()).is_some();
    (!is_ruled).then(|| approval.by.clone())
}

/// The values of a bundle's configuration that its guests may see.
fn config(rules: &Rules, bundle: &Bundle) -> Result<String, PlanError> {
    match rewake_policy::config::values(rules, bundle)? {
        Ok(values) => Ok(values),
        Err(Unset { keys, lines }) => {
            let bundle = bundle.name().as_str().to_owned();
            Err(PlanError::Unset { bundle, keys, file: rules.file.clone(), lines })
        }
    }
}

fn tool_pin(name: &str, index: u32, component: &ComponentPin, offered: &Offered<'_>) -> ToolPin {
    let def = &offered.def;
    let effect = capped(effect_in(def.effect), &component.grants);
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
        component: Some(index),
        by: None,
        tool: def.name.clone(),
        description: cut(&def.description, DESCRIPTION_BYTES_MAX),
        input_schema: def.input_schema.clone(),
        effect,
        definition,
        ask: false,
    }
}

fn hook_pins(
    bundle: &Bundle,
    component: &Component,
    index: u32,
    operator: bool,
) -> Result<Vec<HookPin>, PlanError> {
    let mut pins = Vec::new();
    for on in &component.declared.on {
        // The manifest's reader says so with the line; a bundle of an older store may still hold one.
        if !on.event.is_fired() {
            let what = format!(
                "component {:?} listens for {}, which nothing sets off in this version",
                component.name(),
                on.event.as_str()
            );
            return Err(PlanError::NotHere { bundle: bundle.name().as_str().to_owned(), what });
        }
        pins.push(HookPin {
            component: index,
            event: on.event,
            matcher: on.matcher.pinned(on.event),
            on_error: on.on_error,
            timeout_ms: u64::try_from(on.timeout.as_millis()).unwrap_or(u64::MAX),
            rewrites: on.rewrites,
            operator,
        });
    }
    Ok(pins)
}

fn bundle_pin(rules: &Rules, new: &NewSession, bundle: &Bundle) -> BundlePin {
    BundlePin {
        name: bundle.name().as_str().to_owned(),
        version: bundle.manifest().version.to_string(),
        digest: bundle.digest(),
        approved_by: approved_by(rules, new, bundle),
    }
}

fn model(root: &Bundle, new: &NewSession) -> String {
    if new.script.is_some() {
        return SCRIPTED.to_owned();
    }
    let named = || {
        let agent = root.manifest().agent.as_ref()?;
        Some(agent.model.as_ref()?.get_ref().clone())
    };
    new.model.clone().or_else(named).unwrap_or_else(|| SCRIPTED.to_owned())
}

/// The most that its bundle lets it cost.
fn max_usd(root: &Bundle) -> Option<Usd> {
    root.manifest().agent.as_ref()?.max_usd
}

/// Steps of one turn, by its bundle.
fn max_steps(root: &Bundle) -> Option<u32> {
    root.manifest().agent.as_ref()?.max_steps
}

fn script(root: &Bundle) -> Option<Vec<u8>> {
    let path = root.manifest().agent.as_ref()?.script.as_ref()?.get_ref();
    root.files().find(|(name, _)| name == path).map(|(_, bytes)| bytes.to_vec())
}
