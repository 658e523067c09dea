//! What a new session's bundles ask for, put to the person at the terminal before the session is made; and
//! where there is no person, what to add to the rules. The same for what was granted to a session elsewhere. Decides
//! nothing itself.

use rewake_core::fact::Created;
use rewake_core::ids::{Digest, SessionId};
use rewake_policy::config::RULES_FILE;
use rewake_policy::grants::{Asked, lines_to_allow};
use rewake_runtime::host::{Granted, Unvouched};
use rewake_runtime::{Approval, HostError, NewSession};
use rewake_store::Sessions as _;
use rewake_text::one_line;

use crate::args::Grant;
use crate::data::{Opened, Places};
use crate::exit::{Failure, Outcome};
use crate::journal::not_there;
use crate::out::{self, is_attended, note};
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

/// `rewake grant`.
pub(crate) async fn grant(places: &Places, args: &Grant) -> Result<Outcome, Failure> {
    let Some(id) = &args.id else { return know_rules(places) };
    // A wrong id leaves no trace.
    if places.read().await?.session(id).await?.is_none() {
        return Err(not_there(id));
    }
    let opened = places.host(places.write().await?)?;
    let result = grant_again(&opened, id, args.all).await;
    opened.close().await;
    result
}

async fn grant_again(opened: &Opened, id: &SessionId, all: bool) -> Result<Outcome, Failure> {
    let open = opened.host.granted(id).await?.unvouched;
    if open.is_empty() {
        note(&format!("nothing to approve: {id} has here what it was granted, or rules decide"));
        return Ok(Outcome::Done);
    }
    show_unvouched(&open);
    if !all && !is_attended() {
        return Err(Failure::Usage(
            "nothing was approved: nobody can be asked here; use --all to approve".into(),
        ));
    }
    if !all && !out::confirm("approve this on this machine?")? {
        return Err(Failure::Usage("nothing was approved".into()));
    }
    opened.host.approve(id, Some(&digests(&open)), &operator()).await?;
    note(&format!("approved for {id}; it holds from its next load on"));
    Ok(Outcome::Done)
}

fn digests(open: &[Unvouched]) -> Vec<Digest> {
    open.iter().map(|one| one.digest).collect()
}

/// `rewake grant --rules`.
fn know_rules(places: &Places) -> Result<Outcome, Failure> {
    let file = places.data.join(RULES_FILE);
    if !places.data.is_dir() {
        let data = places.data.display();
        return Err(Failure::Usage(format!("there is no data folder {data}; name one with --data")));
    }
    places.rules_file().know().map_err(HostError::Rules)?;
    note(&format!("the rules in {} are used on this machine from now on", file.display()));
    Ok(Outcome::Done)
}

/// Has what was granted to a session elsewhere approved again, or known to be missing, before it is loaded; and says in
/// a line what it may do, because another process created it.
///
/// # Errors
/// If the session or the trust key cannot be read.
pub(crate) async fn settle_again(
    places: &Places,
    opened: &Opened,
    id: &SessionId,
    grant_asked: bool,
    confirm: impl AsyncFnOnce(&str) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let Granted { in_force, unvouched: open } = opened.host.granted(id).await?;
    if !in_force.is_empty() {
        let of = |(bundle, by): &(String, Option<String>)| match by {
            Some(by) => format!("{bundle} as {by} approved"),
            None => format!("{bundle} by the rules"),
        };
        let all: Vec<String> = in_force.iter().map(of).collect();
        note(&format!("grants: {}; `{}` lists them", all.join(", "), places.hint(&format!("show {id}"))));
    }
    if open.is_empty() {
        return Ok(());
    }
    if !grant_asked {
        show_unvouched(&open);
    }
    let is_approved = grant_asked || is_attended() && confirm("approve this on this machine?").await?;
    if is_approved {
        opened.host.approve(id, Some(&digests(&open)), &operator()).await?;
    } else {
        let again = places.hint(&format!("grant {id}"));
        note(&format!("the session runs without these grants; `{again}` approves them"));
    }
    Ok(())
}

/// Shows what was granted elsewhere.
fn show_unvouched(open: &[Unvouched]) {
    note("this machine has not approved what was granted to this session:");
    for one in open {
        let by = one.approved_by.as_deref().map(|by| format!(", approved by {by} as its journal says"));
        note(&format!("  {} (blake3:{}){}", one.bundle, one.digest, by.unwrap_or_default()));
        for (component, grants) in &one.grants {
            note(&format!("    {component}: {}", grants.join(", ")));
        }
    }
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
