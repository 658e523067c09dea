//! Operators' hooks: the bundles that bring them, and their order. Every session gets them, before its own;
//! no bundle can leave one out, or take the place of one by its name. Grants them nothing: what they ask for is
//! allowed as anything else is.

use rewake_core::fact::PluginKind;

use super::PlanError;
use rewake_bundle::{Bundle, BundleSet, Component};
use rewake_policy::config::{HookBundle, OperatorHook, Rules};
use rewake_store::Installed;

/// The operator's hooks, each with the name of the bundle that has it.
pub(super) struct Operators<'a> {
    /// The bundles that are named by a path and not of the session anyway.
    pub(super) bundles: Vec<Bundle>,
    hooks: Vec<(&'a OperatorHook, String)>,
}

/// Reads the bundles that operators' hooks name by a path.
pub(super) fn load<'a>(
    rules: &'a Rules,
    set: &BundleSet,
    component_bytes_max: u64,
) -> Result<Operators<'a>, PlanError> {
    let mut bundles: Vec<Bundle> = Vec::new();
    let mut hooks = Vec::new();
    for hook in &rules.hooks {
        let path = match &hook.bundle {
            HookBundle::Named(name) => {
                hooks.push((hook, name.clone()));
                continue;
            }
            HookBundle::Path(path) => path,
        };
        let bundle = Bundle::load_within(path, component_bytes_max)?;
        if hook.digest.is_some_and(|digest| digest != bundle.digest()) {
            let message =
                format!("the bundle here is blake3:{}, and not the one of the rule", bundle.digest());
            let help = "look at it, then name its digest, or name the bundle that is meant";
            return Err(rules.hook_problem(hook, message, help).into());
        }
        let name = bundle.name().as_str();
        hooks.push((hook, name.to_owned()));
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
    Ok(Operators { bundles, hooks })
}

/// The operator's hooks, in the order of the rules. One that names a bundle by its name is for sessions
/// that have it; they must have it as it is installed, or as the rule's digest says, because anyone can give a bundle
/// that name.
pub(super) fn hooks<'a>(
    rules: &Rules,
    set: &'a BundleSet,
    operators: &'a Operators<'_>,
    installed: &[Installed],
) -> Result<Vec<(&'a Bundle, &'a Component)>, PlanError> {
    let mut hooks = Vec::new();
    for (hook, name) in &operators.hooks {
        let known =
            set.get(name).or_else(|| operators.bundles.iter().find(|bundle| bundle.name().as_str() == name));
        let Some(bundle) = known else { continue };
        let is_meant = match (&hook.bundle, hook.digest) {
            (HookBundle::Path(_), _) => true,
            (HookBundle::Named(_), Some(digest)) => bundle.digest() == digest,
            (HookBundle::Named(_), None) => {
                installed.iter().any(|one| one.digest == bundle.digest() && one.name == *name)
            }
        };
        if !is_meant {
            let digest = bundle.digest();
            let message = match hook.digest {
                Some(_) => {
                    format!("the session's bundle {name} is blake3:{digest}, and not the one of the rule")
                }
                None => format!("the session's bundle {name} (blake3:{digest}) is not installed"),
            };
            let help = "use the bundle that is meant; or install this one, or name its digest here";
            return Err(rules.hook_problem(hook, message, help).into());
        }
        match bundle.component(&hook.component).filter(|found| found.kind() == PluginKind::Hook) {
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
