//! `rewake bundle list` and `remove`: what is installed, and taking it out.

use clap::Args;
use rewake_bundle::Locator;
use rewake_core::ids::Timestamp;
use rewake_policy::config::Rules;
use rewake_runtime::HostError;
use rewake_runtime::PROJECT;
use rewake_store::{Installed, Installs as _};
use rewake_text::one_line;
use serde_json::json;

use super::install::is_meant;
use crate::data::Places;
use crate::exit::{Failure, Outcome};
use crate::forms::LOCATOR;
use crate::out::{Out, Style, note, table};

/// Characters of a cell.
const CELL_CHARS_MAX: usize = 120;

/// List what is installed.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Print every bundle as a line of JSON
    #[arg(long)]
    json: bool,
}

/// Take a bundle out of what is installed.
#[derive(Debug, Args)]
pub(crate) struct Remove {
    /// Its name, with a version where several are installed: scope/name@=VERSION
    #[arg(value_name = "NAME", value_parser = LOCATOR)]
    bundle: Locator,
}

/// `rewake bundle list`.
pub(crate) async fn list(places: &Places, asked: &List) -> Result<Outcome, Failure> {
    let rules = places.rules_file().read().map_err(HostError::Rules)?;
    let installed = match places.read_if_there().await? {
        Some(store) => store.installed(PROJECT).await?,
        None => Vec::new(),
    };
    let mut out = Out::new();
    if asked.json {
        for one in &installed {
            out.json(&as_json(&rules, one))?;
        }
    } else if installed.is_empty() {
        note("no bundle is installed; `rewake bundle install` installs one");
    } else {
        let mut rows = vec![["NAME", "VERSION", "ALLOWED", "FROM", "BY", "AT"].map(str::to_owned).to_vec()];
        rows.extend(installed.iter().map(|one| row(&rules, one)));
        for line in table(&rows) {
            out.line(Style::Plain, &line)?;
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn row(rules: &Rules, one: &Installed) -> Vec<String> {
    let allowed = match allowed(rules, one) {
        None => "-".to_owned(),
        Some(asks) if asks.is_empty() => "nothing".to_owned(),
        Some(asks) => asks.join(", "),
    };
    let at = Timestamp(one.installed_at.0).to_string();
    let cells = [&one.name, &one.version, &allowed, &one.source, &one.by, &at];
    cells.map(|cell| one_line(cell, CELL_CHARS_MAX)).to_vec()
}

/// What the rules allow to it; none: they do not name it.
fn allowed(rules: &Rules, one: &Installed) -> Option<Vec<String>> {
    let allowed = rules.allowed(&one.name, &one.digest)?;
    Some(allowed.iter().map(ToString::to_string).collect())
}

fn as_json(rules: &Rules, one: &Installed) -> serde_json::Value {
    json!({
        "name": one.name,
        "version": one.version,
        "digest": format!("blake3:{}", one.digest),
        "allowed": allowed(rules, one),
        "source": one.source,
        "by": one.by,
        "installed_at": one.installed_at.to_string(),
    })
}

/// `rewake bundle remove`.
pub(crate) async fn remove(places: &Places, asked: &Remove) -> Result<Outcome, Failure> {
    let Locator::Installed(name, wanted) = &asked.bundle else {
        return Err(Failure::Usage(format!("{} is not a bundle's name; write scope/name", asked.bundle)));
    };
    let store = places.write().await?;
    let result = async {
        let all = store.installed(PROJECT).await?;
        let is_it = |one: &&Installed| {
            let version = semver::Version::parse(&one.version);
            one.name == name.as_str() && version.is_ok_and(|version| is_meant(wanted, &version))
        };
        let found: Vec<&Installed> = all.iter().filter(is_it).collect();
        let one = match found.as_slice() {
            [one] => *one,
            [] => {
                return Err(Failure::Usage(format!(
                    "{} is not installed; `rewake bundle list` shows what is",
                    asked.bundle
                )));
            }
            several => {
                let names: Vec<String> =
                    several.iter().map(|one| format!("{name}@={}", one.version)).collect();
                return Err(Failure::Usage(format!(
                    "several are installed: say which, {}",
                    names.join(" or ")
                )));
            }
        };
        store.uninstall(PROJECT, &one.digest).await?;
        Ok(one.clone())
    }
    .await;
    store.close().await;
    let one = result?;
    let mut out = Out::new();
    out.line(Style::Plain, &format!("{} {} is not installed any more", one.name, one.version))?;
    out.flush()?;
    let rules = places.rules_file().read().map_err(HostError::Rules)?;
    if allowed(&rules, &one).is_some() {
        note(&format!(
            "{} still has an [[allow]] for it, for sessions that ran with it; take it out by hand if you like",
            rules.file.display()
        ));
    }
    Ok(Outcome::Done)
}
