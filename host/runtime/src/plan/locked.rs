//! What a component lists against what its bundle's lock says. Knows both; asks nobody.

use rewake_bindings::types::ToolDef;

use crate::bundle::{Bundle, Component, LockedTool};
use crate::convert::effect_in;

/// Checks that a component lists the tools that its author's build found. A bundle without a lock has none
/// that it could differ from.
pub(super) fn agree(bundle: &Bundle, component: &Component, defs: &[ToolDef]) -> Result<(), String> {
    let Some(lock) = bundle.lock() else { return Ok(()) };
    let listed: Vec<LockedTool> = defs.iter().map(of).collect();
    match lock.tools_that_differ(component.name(), &listed) {
        None => Ok(()),
        Some(how) => Err(format!(
            "{how}. A component must list the same wherever it is asked; if the bundle is yours, see that it \
             does, and run `rewake bundle build`"
        )),
    }
}

fn of(def: &ToolDef) -> LockedTool {
    LockedTool {
        name: def.name.clone(),
        description: def.description.clone(),
        effect: effect_in(def.effect),
        input_schema: def.input_schema.clone(),
    }
}
