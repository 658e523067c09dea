//! The plan of one bundle's tools and hooks for calls outside of any session. The same pins as a session's,
//! without an agent: no harness runs with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use rewake_core::fact::{AgentPin, Created};
use rewake_core::ids::Digest;

use super::{NewSession, Offered, Pins, PlanError, bundle_pin, hook_pins, list_tools, ready, tool_pin};
use rewake_bundle::{Bundle, PluginKind};
use rewake_policy::config::Rules;
use rewake_policy::grants::Asked;
use rewake_sandbox::components::Components;

/// Pins of a bundle's tools and hooks, and what they ask for.
pub(crate) struct StandalonePlan {
    pub(crate) created: Created,
    pub(crate) asked: Vec<Asked>,
}

/// Plans for one bundle. Compiles what is not compiled yet. A tool's name is its own; where two components
/// list the same one, `component:tool`.
pub(crate) async fn plan(
    components: &Arc<Components>,
    rules: &Rules,
    bundle: &Bundle,
    new: &NewSession,
) -> Result<StandalonePlan, PlanError> {
    let mut pins = Pins { components: Vec::new(), sources: Vec::new(), rules, new };
    let mut listed = Vec::new();
    let mut hooks = Vec::new();
    for component in bundle.components() {
        if component.kind() == PluginKind::Harness {
            continue;
        }
        let index = pins.component(bundle, component)?;
        if component.kind() == PluginKind::Hook {
            ready(components, bundle, component).await?;
            hooks.extend(hook_pins(bundle, component, index, false)?);
            continue;
        }
        let pin = &pins.components[index as usize];
        let tools = list_tools(components, pin, bundle, component).await?;
        listed
            .extend(tools.into_iter().map(|(offer, def)| (index, Offered { offer, bundle, component, def })));
    }
    let name = |one: &Offered<'_>| {
        let twins = listed.iter().filter(|(_, other)| other.def.name == one.def.name).count();
        match twins {
            1 => one.def.name.clone(),
            _ => format!("{}:{}", one.component.name(), one.def.name),
        }
    };
    let tools = listed
        .iter()
        .map(|(index, offered)| tool_pin(&name(offered), *index, &pins.components[*index as usize], offered));
    let tools = tools.collect();
    let asked = pins.asked();
    let created = Created {
        agent: AgentPin {
            name: bundle.name().as_str().to_owned(),
            instructions: String::new(),
            model: String::new(),
            script: None,
            harness: 0,
            max_usd: None,
            max_steps: None,
        },
        bundles: vec![bundle_pin(rules, new, bundle)],
        components: pins.components,
        tools,
        hooks,
        origin: new.origin.clone(),
        lineage: Digest::default(),
        labels: BTreeMap::new(),
    };
    Ok(StandalonePlan { created, asked })
}
