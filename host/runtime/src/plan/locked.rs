//! What a component lists against what its bundle's lock says. Knows both; asks nobody.

use rewake_bindings::types::ToolDef;

use rewake_bundle::{Bundle, Component, ListedTool};
use rewake_sandbox::convert::listed;

/// Checks that a component lists the tools that its author's build found. A bundle without a lock has none
/// that it could differ from.
pub(super) fn agree(bundle: &Bundle, component: &Component, defs: &[ToolDef]) -> Result<(), String> {
    let Some(lock) = bundle.lock() else { return Ok(()) };
    let all: Vec<ListedTool> = defs.iter().cloned().map(listed).collect();
    match lock.tools_that_differ(component.name(), &all) {
        None => Ok(()),
        Some(how) => Err(format!(
            "{how}. A component must list the same wherever it is asked; if the bundle is yours, see that it \
             does, and run `rewake bundle build`"
        )),
    }
}
