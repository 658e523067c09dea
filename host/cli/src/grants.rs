//! What a new session's bundles ask for, put to the person at the terminal before the session is made; and
//! where there is no person, what to add to the rules. Decides nothing itself.

use rewake_core::fact::Created;
use rewake_policy::config::RULES_FILE;
use rewake_policy::grants::{Asked, lines_to_allow};
use rewake_runtime::{Approval, NewSession};
use rewake_text::one_line;

use crate::data::{Opened, Places};
use crate::exit::Failure;
use crate::out::{is_attended, note};
use crate::sending::operator;

/// Characters of an author's reason.
const WHY_CHARS_MAX: usize = 200;

/// Sees to it that what is asked for is granted, refused, or known to be missing, before the session is made.
///
/// # Errors
/// If the person says no, or the session cannot be planned.
pub(crate) async fn settle(
    places: &Places,
    opened: &Opened,
    new: &mut NewSession,
    confirm: impl AsyncFnOnce(&str) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let asked = opened.host.asks(new).await?;
    let open: Vec<&Asked> = asked.iter().filter(|one| !one.is_granted && !one.is_ruled).collect();
    if !open.is_empty() && is_attended() {
        show(&open);
        if !confirm("grant this to the session?").await? {
            return Err(Failure::Usage("nothing was granted, and no session was made".into()));
        }
        let mut bundles: Vec<_> = open.iter().map(|one| one.digest).collect();
        bundles.dedup();
        new.approval = Some(Approval { by: operator(), bundles: Some(bundles) });
        return Ok(());
    }
    say_withheld(places, &asked);
    Ok(())
}

/// Shows what is asked for.
fn show(open: &[&Asked]) {
    note("this session's bundles ask for what no rule allows yet:");
    let mut bundle = "";
    for one in open {
        if one.bundle != bundle {
            bundle = &one.bundle;
            note(&format!("  {bundle} (blake3:{})", one.digest));
        }
        let why = one.why.as_deref().map(|why| format!(" - {}", one_line(why, WHY_CHARS_MAX)));
        note(&format!("    {} may {}{}", one.component, one.words, why.unwrap_or_default()));
    }
}

/// Says what is not granted, and the lines that would allow it.
fn say_withheld(places: &Places, asked: &[Asked]) {
    let withheld: Vec<&Asked> = asked.iter().filter(|one| !one.is_granted).collect();
    if withheld.is_empty() {
        return;
    }
    for one in &withheld {
        note(&format!("not granted: {}:{} asks to {} ({})", one.bundle, one.component, one.words, one.ask));
    }
    let file = places.rules.clone().unwrap_or_else(|| places.data.join(RULES_FILE));
    note(&format!("to allow it, add to {}, or use --grant-asked for this session alone:", file.display()));
    let mut bundles: Vec<(&str, _)> = withheld.iter().map(|one| (one.bundle.as_str(), one.digest)).collect();
    bundles.dedup();
    for (bundle, digest) in bundles {
        let asks = asked.iter().filter(|one| one.bundle == bundle).map(|one| one.ask.clone());
        let mut asks: Vec<String> = asks.collect();
        asks.sort_unstable();
        asks.dedup();
        for line in lines_to_allow(bundle, &digest, &asks).lines() {
            note(&format!("    {line}"));
        }
    }
}

/// What components ask for and were not granted when the session was made, a line each.
pub(crate) fn withheld(created: &Created) -> Vec<String> {
    let mut lines = Vec::new();
    for component in &created.components {
        let granted = component.grants.describe();
        let missing = component.asks.describe().into_iter().filter(|ask| !granted.contains(ask));
        lines.extend(missing.map(|ask| format!("{} asks for {ask}", component.full_name())));
    }
    lines
}
