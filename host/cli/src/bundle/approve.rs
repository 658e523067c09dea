//! What a bundle that is to be installed asks for, put to a person in plain words; and what they say. Writes
//! nothing: the one who asked does with the answer.

use std::path::PathBuf;

use clap::Args;
use rewake_bundle::{Bundle, PluginKind};
use rewake_policy::approval;
use rewake_policy::config::allowances;
use rewake_policy::grants::{Asked, lines_to_allow};
use rewake_runtime::HostError;
use rewake_runtime::host::Candidate;
use rewake_text::one_line;

use crate::exit::Failure;
use crate::out::{confirm, is_attended, note};

/// Characters of an author's reason.
const WHY_CHARS_MAX: usize = 200;
/// Names of tools that are shown.
const TOOLS_MAX: usize = 12;

/// How what is asked for is approved where nobody can be asked.
#[derive(Debug, Args)]
pub(crate) struct Approving {
    /// Approve what the allow table of this file for the bundle, by name and digest, allows
    #[arg(long, value_name = "FILE", conflicts_with_all = ["grant_asked", "no_grant"])]
    pub(crate) grant: Option<PathBuf>,
    /// Approve all that it asks for
    #[arg(long, conflicts_with = "no_grant")]
    pub(crate) grant_asked: bool,
    /// Install it without any grant
    #[arg(long)]
    pub(crate) no_grant: bool,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Approved {
    /// There is nothing to approve: it asks for nothing, or the rules decide already.
    Settled,
    /// These asks.
    These(Vec<String>),
    /// None of them.
    Nothing,
}

/// Says what a bundle is and what it asks for.
pub(crate) fn show(candidate: &Candidate, source: &str) {
    let bundle = &candidate.bundle;
    let (name, version) = (bundle.name(), &bundle.manifest().version);
    note(&format!("{name} {version} (blake3:{}) from {source}", bundle.digest()));
    let tools = tools(bundle);
    if !tools.is_empty() {
        note(&format!("  has the tools {tools}"));
    }
    let hooks = bundle.components().iter().filter(|component| component.kind() == PluginKind::Hook);
    for hook in hooks {
        let mut events: Vec<&str> = hook.declared.on.iter().map(|on| on.event.as_str()).collect();
        events.dedup();
        let rewrites = if hook.declared.on.iter().any(|on| on.rewrites) { "; it may rewrite" } else { "" };
        note(&format!("  has the hook {} on {}{rewrites}", hook.name(), events.join(", ")));
    }
    for missing in &candidate.missing {
        note(&format!("  uses {missing}, which is not installed: install it too"));
    }
    if candidate.asked.is_empty() {
        note("  asks for nothing");
    }
    for one in &candidate.asked {
        note(&format!("  {}", words(candidate, one)));
    }
}

fn tools(bundle: &Bundle) -> String {
    let locked = bundle.lock().into_iter().flat_map(|lock| lock.components.values());
    let names: Vec<&str> = locked.flat_map(|one| &one.tools).map(|tool| tool.name.as_str()).collect();
    match names.len().saturating_sub(TOOLS_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..TOOLS_MAX].join(", ")),
    }
}

fn words(candidate: &Candidate, one: &Asked) -> String {
    let why = one.why.as_deref().map(|why| format!(" - {}", one_line(why, WHY_CHARS_MAX)));
    let standing = match (one.is_granted, candidate.is_ruled) {
        (true, _) => " [your rules allow it]",
        (false, true) => " [your rules leave it out]",
        (false, false) => "",
    };
    // What the author wrote stands last, where it can look like nothing of ours.
    format!("{} asks to {} ({}){standing}{}", one.component, one.words, one.ask, why.unwrap_or_default())
}

/// Has what is asked for approved: by the file, by the option, or by the person at the terminal.
///
/// # Errors
/// If nobody approves it.
pub(crate) fn approve(candidate: &Candidate, how: &Approving) -> Result<Approved, Failure> {
    let bundle = &candidate.bundle;
    if let Some(file) = &how.grant {
        return by_file(candidate, file);
    }
    let asks = approval::lines(bundle);
    if asks.is_empty() || candidate.is_ruled {
        return Ok(Approved::Settled);
    }
    if how.no_grant {
        return Ok(Approved::Nothing);
    }
    if how.grant_asked {
        return Ok(Approved::These(asks));
    }
    if !is_attended() {
        let lines = lines_to_allow(bundle.name().as_str(), &bundle.digest(), &asks);
        return Err(Failure::Usage(format!(
            "nothing was installed: what it asks for needs approval, and nobody can be asked here. Use \
             --grant-asked to approve all of it, --grant FILE with these lines in the file, or --no-grant to \
             install it without any grant:\n\n{lines}"
        )));
    }
    match confirm("allow this, and install it?")? {
        true => Ok(Approved::These(asks)),
        false => Err(Failure::Usage("nothing was approved, and nothing was installed".into())),
    }
}

fn by_file(candidate: &Candidate, file: &std::path::Path) -> Result<Approved, Failure> {
    let allowances = allowances(file).map_err(HostError::Rules)?;
    let (name, digest) = (candidate.bundle.name().as_str(), candidate.bundle.digest());
    let of_bundle: Vec<_> =
        allowances.iter().filter(|one| one.bundle == name && one.digest == digest).collect();
    if of_bundle.is_empty() {
        return Err(Failure::Usage(format!(
            "nothing was installed: {} has no [[allow]] for {name} with the digest blake3:{digest}",
            file.display()
        )));
    }
    if candidate.is_ruled {
        note("your rules name this bundle already, and stay as they are");
        return Ok(Approved::Settled);
    }
    let mut asks: Vec<String> = of_bundle.iter().flat_map(|one| &one.asks).map(ToString::to_string).collect();
    asks.sort_unstable();
    asks.dedup();
    Ok(Approved::These(asks))
}
