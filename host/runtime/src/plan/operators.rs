//! Operators' hooks: the bundles that bring them, and their order. Every session gets them, before its own;
//! no bundle can leave one out. Grants them nothing: what they ask for is allowed as anything else is.

use super::PlanError;
use crate::bundle::{Bundle, BundleSet, Component, Kind};
use crate::config::{HookBundle, Rules};

/// The bundles of operators' hooks that are named by a path and not of the session anyway.
pub(super) fn bundles(rules: &Rules, set: &BundleSet) -> Result<Vec<Bundle>, PlanError> {
    let mut bundles: Vec<Bundle> = Vec::new();
    for hook in &rules.hooks {
        let HookBundle::Path(path) = &hook.bundle else { continue };
        let bundle = Bundle::load(path)?;
        let name = bundle.name().as_str();
        let known = set.get(name).or_else(|| bundles.iter().find(|known| known.name() == bundle.name()));
        match known {
            Some(known) if known.digest() == bundle.digest() => {}
            Some(_) => {
                let message = format!("the session has another bundle of the name {name}");
                let help = "give them different names, or let both be the same version";
                return Err(rules.hook_problem(hook, message, help).into());
            }
            None => bundles.push(bundle),
        }
    }
    Ok(bundles)
}

/// The operator's hooks, in the order of the rules. One that names a bundle by its name is for sessions
/// that have it.
pub(super) fn hooks<'a>(
    rules: &Rules,
    set: &'a BundleSet,
    operators: &'a [Bundle],
) -> Result<Vec<(&'a Bundle, &'a Component)>, PlanError> {
    let mut hooks = Vec::new();
    for hook in &rules.hooks {
        let name = match &hook.bundle {
            HookBundle::Named(name) => name.clone(),
            HookBundle::Path(path) => Bundle::load(path)?.name().as_str().to_owned(),
        };
        let known = set.get(&name).or_else(|| operators.iter().find(|bundle| bundle.name().as_str() == name));
        let Some(bundle) = known else { continue };
        match bundle.component(&hook.component).filter(|found| found.kind() == Kind::Hook) {
            Some(found) if hooks.iter().any(|(_, other): &(_, &Component)| std::ptr::eq(*other, found)) => {}
            Some(found) => hooks.push((bundle, found)),
            None => {
                let message = format!("{name} has no hook {:?}", hook.component);
                let help = "name a component of kind \"hook\" of this bundle";
                return Err(rules.hook_problem(hook, message, help).into());
            }
        }
    }
    Ok(hooks)
}
