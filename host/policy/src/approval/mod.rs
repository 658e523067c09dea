//! What of an approval still holds for another version of a bundle. Decides nothing else: who approves, and
//! where that is written, is the caller's.

#[cfg(test)]
mod tests;

use rewake_core::grant::{Access, FsSource, Grants, HttpGrant};

use crate::config::{HostDir, Rules};
use crate::grants;
use rewake_bundle::{Bundle, Component};

/// What a bundle asks for, as rules would allow it; each once.
pub fn lines(bundle: &Bundle) -> Vec<String> {
    let asks = bundle.components().iter().map(|component| grants::asked(&component.declared.asks));
    let mut lines: Vec<String> = asks.flat_map(|asks| asks.describe()).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// What `new` asks for and `old` did not have, as rules would allow it: what the rules allow to `old`, which
/// asked for it, is the most that carries over. A request with a secret that `old` did not send is new, even
/// where the same host was reached.
pub fn wider(rules: &Rules, old: &Bundle, new: &Bundle) -> Vec<String> {
    let mut wider = Vec::new();
    for component in new.components() {
        // By component: what one may read and another send was not approved for one that can do both.
        let was = old.component(component.name()).filter(|was| was.kind() == component.kind());
        let approved = was.map(|was| approved(rules, old, was)).unwrap_or_default();
        let asks = grants::asked(&component.declared.asks);
        for ask in &asks.fs {
            // Where a guest sees a directory is no matter of what it may do there.
            let had = approved.fs.iter().any(|had| had.source == ask.source && had.access >= ask.access);
            if !had {
                wider.push(ask.describe());
            }
        }
        for ask in &asks.http {
            let one = |method: &String| HttpGrant { methods: vec![method.clone()], ..ask.clone() };
            let each = ask.methods.iter().map(one);
            let new = each.filter(|one| !approved.http.iter().any(|had| one.is_within(had)));
            wider.extend(new.flat_map(|one| one.describe()));
        }
        let new = asks.models.iter().filter(|name| !approved.allows_model(name));
        wider.extend(new.map(|name| format!("model:{name}")));
    }
    wider.sort_unstable();
    wider.dedup();
    wider
}

/// What a bundle asks for and the rules, as they are, do not grant; as rules would allow it.
pub fn withheld(rules: &Rules, bundle: &Bundle) -> Vec<String> {
    let mut withheld = Vec::new();
    for component in bundle.components() {
        let asks = grants::asked(&component.declared.asks);
        let granted =
            grants::in_force(rules, bundle.name().as_str(), &bundle.digest(), false, &asks).describe();
        withheld.extend(asks.describe().into_iter().filter(|ask| !granted.contains(ask)));
    }
    withheld.sort_unstable();
    withheld.dedup();
    withheld
}

/// What the rules allow to a component of what it asks for.
fn approved(rules: &Rules, bundle: &Bundle, component: &Component) -> Grants {
    // A directory that the operator has not named yet, or has taken away, says nothing of what was approved.
    let mut rules = rules.clone();
    let asks = grants::asked(&component.declared.asks);
    for grant in &asks.fs {
        if let FsSource::Host(name) = &grant.source {
            let dir = HostDir { path: std::path::PathBuf::new(), access: Access::ReadWrite };
            rules.dirs.insert(name.clone(), dir);
        }
    }
    let (name, digest) = (bundle.name().as_str(), bundle.digest());
    grants::in_force(&rules, name, &digest, false, &asks)
}
