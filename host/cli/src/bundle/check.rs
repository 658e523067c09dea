//! `rewake bundle check`: what is wrong with a bundle, and what is most likely not meant. Knows the arguments
//! and how a finding is shown; what is found is the author crate's.

use clap::Args;
use rewake_author::check::{self, Finding, Severity};
use rewake_bundle::Locator;
use rewake_runtime::host::gather;
use rewake_runtime::{HostError, PlanError};
use serde_json::json;

use super::build::{failure, say};
use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::forms::LOCATOR;
use crate::out::{Out, Style};

/// Say what is wrong with a bundle, and what is most likely not meant.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The bundle: a folder, a packed file or an installed one's name
    #[arg(value_name = "BUNDLE", default_value = ".", value_parser = LOCATOR)]
    bundle: Locator,
    /// A further bundle that it is used beside; can be repeated
    #[arg(long, value_name = "BUNDLE", value_parser = LOCATOR)]
    with: Vec<Locator>,
    /// Build every component twice too, and say which come out different; for a bundle's folder
    #[arg(long)]
    rebuild: bool,
    /// Warnings count as errors
    #[arg(long)]
    strict: bool,
    /// Print every finding as a line of JSON
    #[arg(long)]
    json: bool,
}

/// `rewake bundle check`.
pub(crate) async fn check(places: &Places, asked: &Check) -> Result<Outcome, Failure> {
    let findings = find(places, asked).await?;
    let mut out = Out::new();
    for finding in &findings {
        match asked.json {
            true => out.json(&as_json(finding))?,
            false => show(&mut out, finding)?,
        }
    }
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count() as u64;
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let summary = format!(
        "{} and {}",
        describe::count(errors, "error", "errors"),
        describe::count(warnings, "warning", "warnings")
    );
    if errors > 0 || (asked.strict && warnings > 0) {
        out.flush()?;
        return Err(Failure::Usage(format!("{} has {summary}", asked.bundle)));
    }
    if !asked.json {
        out.line(Style::Plain, &format!("{}: {summary}", asked.bundle))?;
    }
    out.flush()?;
    Ok(Outcome::Done)
}

async fn find(places: &Places, asked: &Check) -> Result<Vec<Finding>, Failure> {
    let store = places.catalogue().await?;
    let set = match gather(store.as_ref(), &asked.bundle, &asked.with).await {
        Ok(set) => set,
        Err(HostError::Plan(PlanError::Bundle(error))) => return Ok(check::refused(&error)),
        Err(error) => return Err(error.into()),
    };
    let mut findings = check::check(&places.workbench()?, &set).await;
    if asked.rebuild {
        findings.extend(rebuilt(&asked.bundle).await?);
        check::sort(&mut findings);
    }
    Ok(findings)
}

async fn rebuilt(root: &Locator) -> Result<Vec<Finding>, Failure> {
    let Locator::Folder(folder) = root else {
        return Err(Failure::Usage(format!(
            "--rebuild runs the bundle's own commands, and {root} is not a folder to run them in: name its folder"
        )));
    };
    check::rebuilt(folder, &mut say).await.map_err(failure)
}

fn show(out: &mut Out, finding: &Finding) -> Result<(), Failure> {
    let style = match finding.severity {
        Severity::Error => Style::Bad,
        Severity::Warning => Style::Strong,
        Severity::Note => Style::Plain,
    };
    let text = format!("{}: {}", finding.severity.name(), finding.problem);
    for (at, line) in text.lines().enumerate() {
        out.line(if at == 0 { style } else { Style::Plain }, line)?;
    }
    out.line(Style::Plain, "")
}

fn as_json(finding: &Finding) -> serde_json::Value {
    let problem = &finding.problem;
    let place = problem.place.as_ref();
    json!({
        "severity": finding.severity.name(),
        "file": problem.file,
        "line": place.map(|place| place.line),
        "column": place.map(|place| place.column),
        "message": problem.message,
        "help": problem.help,
    })
}
