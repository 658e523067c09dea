//! `rewake bundle build`: builds, once or at every change, and shows what came of it. Knows the arguments and
//! the words; commands write to standard error, so standard output is the report alone.

use std::path::{Path, PathBuf};

use clap::Args;
use rewake_author::build::watch::Watch;
use rewake_author::build::{self, BuildError, Built, Running};
use rewake_runtime::workbench::Workbench;
use serde_json::json;

use crate::data::Places;
use crate::exit::{Failure, Outcome};
use crate::out::{Out, Style, note};

/// Names of changed files that are shown.
const CHANGED_MAX: usize = 3;

/// Run each component's `build`, collect what it makes, and write bundle.lock.
#[derive(Debug, Args)]
pub(crate) struct Build {
    /// The bundle's folder
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Build again whenever a file below the folder changes, until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print what was built as JSON
    #[arg(long)]
    json: bool,
}

/// `rewake bundle build`.
pub(crate) async fn build(places: &Places, asked: &Build) -> Result<Outcome, Failure> {
    let bench = places.workbench()?;
    if asked.watch {
        return watch(places, &asked.folder, &bench).await;
    }
    let built = once(places, &asked.folder, &bench).await?;
    let mut out = Out::new();
    match asked.json {
        true => out.json(&as_json(&built))?,
        false => show(&mut out, &built)?,
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// Builds once.
pub(super) async fn once(places: &Places, folder: &Path, bench: &Workbench) -> Result<Built, Failure> {
    let installed = places.catalogue().await?;
    build::build(folder, bench, installed.as_ref(), &mut say).await.map_err(failure)
}

/// Says which command of the author's runs next.
pub(super) fn say(running: Running<'_>) {
    note(&format!("{}: {}", running.component, running.command));
}

pub(super) fn failure(error: BuildError) -> Failure {
    match error {
        BuildError::Used(error) => error.into(),
        BuildError::Io { .. } => Failure::Machine(error.to_string()),
        _ => Failure::Usage(error.to_string()),
    }
}

async fn watch(places: &Places, folder: &Path, bench: &Workbench) -> Result<Outcome, Failure> {
    // A folder that is none, or without a manifest, is a mistake and not a state to wait in.
    let mut watch = Watch::new(folder);
    let mut is_first = true;
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        let built = tokio::select! {
            built = once(places, folder, bench) => built,
            _ = &mut interrupted => return Ok(Outcome::Done),
        };
        match built {
            Ok(built) => {
                let mut out = Out::new();
                show(&mut out, &built)?;
                out.flush()?;
            }
            Err(failure) if is_first && !folder.join("bundle.toml").is_file() => return Err(failure),
            Err(failure) => note(&format!("error: {failure}")),
        }
        is_first = false;
        note("waits for changes; Ctrl-C ends it");
        let changed = tokio::select! {
            changed = watch.changed() => changed,
            _ = &mut interrupted => return Ok(Outcome::Done),
        };
        note(&format!("changed: {}", few(&changed)));
    }
}

fn few(changed: &[PathBuf]) -> String {
    let names: Vec<String> =
        changed.iter().take(CHANGED_MAX).map(|path| path.display().to_string()).collect();
    match changed.len().saturating_sub(CHANGED_MAX) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

fn show(out: &mut Out, built: &Built) -> Result<(), Failure> {
    for component in &built.components {
        let tools = match component.tools.as_slice() {
            [] => String::new(),
            tools => format!(": {}", tools.join(", ")),
        };
        let kib = component.bytes.div_ceil(1024);
        let line = format!("{}  {}  {kib} KiB{tools}", component.source, component.kind);
        out.line(Style::Plain, &line)?;
    }
    let lock = if built.lock_changed { "bundle.lock is written" } else { "nothing changed" };
    out.line(Style::Plain, &format!("{} {} is built; {lock}", built.name, built.version))
}

fn as_json(built: &Built) -> serde_json::Value {
    let components = built.components.iter().map(|component| {
        json!({
            "name": component.name,
            "kind": component.kind,
            "source": component.source,
            "bytes": component.bytes,
            "tools": component.tools,
        })
    });
    json!({
        "bundle": built.name,
        "version": built.version,
        "digest": built.digest,
        "components": components.collect::<Vec<_>>(),
        "lock_changed": built.lock_changed,
    })
}
