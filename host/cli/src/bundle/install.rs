//! `rewake bundle install` and `update`: a bundle is tried, its asks are approved, the rules say so, and it is
//! installed; in this order, so that what is not approved is never there.

use clap::Args;
use rewake_bundle::{Bundle, Locator, Name};
use rewake_core::ids::Digest;
use rewake_policy::approval;
use rewake_policy::config::append_allow;
use rewake_runtime::HostError;
use rewake_runtime::host::Candidate;
use rewake_store::Installed;

use super::approve::{self, Approved, Approving};
use crate::data::{Opened, Places};
use crate::exit::{Failure, Outcome};
use crate::forms::LOCATOR;
use crate::out::{Out, Style, note};
use crate::sending::operator;

/// Install a built bundle, so that sessions and other bundles can name it.
#[derive(Debug, Args)]
pub(crate) struct Install {
    /// The bundle: a folder with a bundle.toml, or a packed file
    #[arg(value_name = "BUNDLE", value_parser = LOCATOR)]
    bundle: Locator,
    #[command(flatten)]
    approving: Approving,
}

/// Put another version in the place of the newest that is installed.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// The new version: a folder or a packed file; or the bundle's name, for where it was installed from
    #[arg(value_name = "BUNDLE", value_parser = LOCATOR)]
    bundle: Locator,
    #[command(flatten)]
    approving: Approving,
}

/// `rewake bundle install`.
pub(crate) async fn install(places: &Places, asked: &Install) -> Result<Outcome, Failure> {
    if let Locator::Installed(..) = &asked.bundle {
        return Err(Failure::Usage(format!(
            "{} is neither a folder with a bundle.toml nor a packed file; name one to install it",
            asked.bundle
        )));
    }
    let opened = places.host(places.write().await?)?;
    let result = install_with(&opened, asked).await;
    opened.close().await;
    result
}

async fn install_with(opened: &Opened, asked: &Install) -> Result<Outcome, Failure> {
    let source = source(&asked.bundle)?;
    let candidate = opened.host.candidate(opened.host.find(&asked.bundle).await?).await?;
    let bundle = &candidate.bundle;
    let version = bundle.manifest().version.to_string();
    let same = candidate.installed.iter().find(|one| one.version == version);
    if let Some(other) = same.filter(|one| one.digest != bundle.digest()) {
        return Err(Failure::Usage(format!(
            "another {} {version} is installed, blake3:{}, and this is blake3:{}: give this one a version of \
             its own, or put it in the other's place with `rewake bundle update`",
            bundle.name(),
            other.digest,
            bundle.digest()
        )));
    }
    approve::show(&candidate, &source);
    let approved = approve::approve(&candidate, &asked.approving)?;
    let was_there = same.is_some();
    put(opened, &candidate, &source, approved, None).await?;
    let what = if was_there { "was installed already" } else { "is installed" };
    done(&format!("{} {version} {what}", bundle.name()))
}

/// `rewake bundle update`.
pub(crate) async fn update(places: &Places, asked: &Update) -> Result<Outcome, Failure> {
    let opened = places.host(places.write().await?)?;
    let result = update_with(&opened, asked).await;
    opened.close().await;
    result
}

async fn update_with(opened: &Opened, asked: &Update) -> Result<Outcome, Failure> {
    let host = &opened.host;
    let (bundle, source, before) = match &asked.bundle {
        Locator::Installed(name, wanted) => {
            let before = newest(host.installed().await?, name, wanted)?;
            let locator = Locator::from(std::path::PathBuf::from(&before.source));
            let bundle = host.find(&locator).await?;
            if bundle.name() != name {
                let found = bundle.name();
                return Err(Failure::Usage(format!("{} is {found} now, and not {name}", before.source)));
            }
            (bundle, before.source.clone(), before)
        }
        locator => {
            let bundle = host.find(locator).await?;
            let before = newest(host.installed().await?, bundle.name(), &semver::VersionReq::STAR)?;
            (bundle, source(locator)?, before)
        }
    };
    let candidate = host.candidate(bundle).await?;
    let (name, version) = (candidate.bundle.name(), &candidate.bundle.manifest().version);
    if before.digest == candidate.bundle.digest() {
        return done(&format!("{name} {version} is installed as it is; nothing changed"));
    }
    approve::show(&candidate, &source);
    let old = installed(opened, &before).await?;
    let approved = match carried(opened, &candidate, &old, &asked.approving)? {
        Some(approved) => approved,
        None => approve::approve(&candidate, &asked.approving)?,
    };
    put(opened, &candidate, &source, approved, Some(before.digest)).await?;
    let in_place = format!("in the place of {}; sessions that run with that keep it", before.version);
    done(&format!("{name} {version} is installed, {in_place}"))
}

/// What was approved for the version before, if that is all that the new one asks for.
fn carried(
    opened: &Opened,
    candidate: &Candidate,
    old: &Bundle,
    how: &Approving,
) -> Result<Option<Approved>, Failure> {
    let rules = opened.host.rules()?;
    let asks = approval::lines(&candidate.bundle);
    let (name, version) = (old.name().as_str(), &old.manifest().version);
    let was_ruled = rules.allowed(name, &old.digest()).is_some();
    if asks.is_empty() || candidate.is_ruled || how.no_grant || how.grant.is_some() || !was_ruled {
        return Ok(None);
    }
    let wider = approval::wider(&rules, old, &candidate.bundle);
    if wider.is_empty() {
        note(&format!(
            "it asks for nothing that was not approved for {version}, so that approval holds for it"
        ));
        return Ok(Some(Approved::These(asks)));
    }
    note(&format!("what was not approved for {version}: {}", wider.join(", ")));
    Ok(None)
}

/// Has the rules say what was approved, then installs.
async fn put(
    opened: &Opened,
    candidate: &Candidate,
    source: &str,
    approved: Approved,
    instead_of: Option<Digest>,
) -> Result<(), Failure> {
    let bundle = &candidate.bundle;
    match approved {
        Approved::These(asks) => {
            let rules = opened.host.rules()?;
            if rules.is_ignored {
                return Err(Failure::Usage(format!(
                    "nothing was installed: the rules in {} are not used on this machine; look at them, then use them \
                     with `rewake grant --rules`, or name others with --config",
                    rules.file.display()
                )));
            }
            let by = operator();
            let comment = format!("{} {}, approved by {by}", bundle.name(), bundle.manifest().version);
            let (name, digest) = (bundle.name().as_str(), bundle.digest());
            append_allow(&rules.file, name, &digest, &asks, &comment).map_err(HostError::Rules)?;
            note(&format!("allowed in {}: {}", rules.file.display(), asks.join(", ")));
            say_left_out(opened, candidate)?;
        }
        Approved::Nothing => note("nothing is granted to it; a session asks, or gets nothing"),
        Approved::Settled => {}
    }
    Ok(opened.host.install(bundle, source, &operator(), instead_of).await?)
}

/// Says what the rules, as they are now, leave out of what is asked for.
fn say_left_out(opened: &Opened, candidate: &Candidate) -> Result<(), Failure> {
    let rules = opened.host.rules()?;
    for ask in approval::withheld(&rules, &candidate.bundle) {
        let why = match ask.strip_prefix("fs:host:").and_then(|rest| rest.split(':').next()) {
            Some(dir) if !rules.dirs.contains_key(dir) => {
                format!("; there is no directory {dir:?} in [dirs] of {}", rules.file.display())
            }
            _ => String::new(),
        };
        note(&format!("not granted: {ask}{why}"));
    }
    Ok(())
}

/// The newest installed version of a bundle.
fn newest(all: Vec<Installed>, name: &Name, wanted: &semver::VersionReq) -> Result<Installed, Failure> {
    let of_name = all.into_iter().filter(|one| one.name == name.as_str());
    let versions = of_name.filter_map(|one| Some((semver::Version::parse(&one.version).ok()?, one)));
    let mut versions: Vec<_> = versions.filter(|(version, _)| is_meant(wanted, version)).collect();
    versions.sort_by(|a, b| a.0.cmp(&b.0));
    versions.pop().map(|(_, one)| one).ok_or_else(|| {
        Failure::Usage(format!(
            "{name} is not installed in such a version; `rewake bundle install` installs it"
        ))
    })
}

/// Whether a version is one of those that are asked for.
pub(super) fn is_meant(wanted: &semver::VersionReq, version: &semver::Version) -> bool {
    wanted.matches(version)
}

/// An installed bundle, whole.
async fn installed(opened: &Opened, one: &Installed) -> Result<Bundle, Failure> {
    let locator = exactly(one).ok_or_else(|| {
        Failure::Machine(format!("{} {} is installed, and no name and version", one.name, one.version))
    })?;
    Ok(opened.host.find(&locator).await?)
}

fn exactly(one: &Installed) -> Option<Locator> {
    let version = semver::VersionReq::parse(&format!("={}", one.version)).ok()?;
    Some(Locator::Installed(one.name.parse().ok()?, version))
}

/// Where a bundle comes from, so that `update` finds it from anywhere, and nothing else: a name that was changed to be
/// text could be that of another folder.
fn source(locator: &Locator) -> Result<String, Failure> {
    let Some(path) = locator.path() else { return Ok(locator.to_string()) };
    let path = std::path::absolute(path).map_err(|error| Failure::io("finding the bundle", error))?;
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Failure::Usage(format!(
            "the path {path:?} is not UTF-8, so that `rewake bundle update` could not find the bundle again; \
             nothing was installed. Rename the folder or the file, or move it"
        ))
    })
}

fn done(line: &str) -> Result<Outcome, Failure> {
    let mut out = Out::new();
    out.line(Style::Plain, line)?;
    out.flush()?;
    Ok(Outcome::Done)
}
