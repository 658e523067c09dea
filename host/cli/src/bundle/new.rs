//! `rewake bundle new`: a folder to begin with. Knows the arguments and what to say next.

use std::path::PathBuf;

use clap::Args;
use rewake_author::new::{self, NewError, Order};
use rewake_bundle::PluginKind;
use rewake_toml::Invalid;

use crate::exit::{Failure, Outcome};
use crate::out::{Out, Style};
use crate::shell::shell_word;

/// Make a folder with a bundle that builds and passes its own tests.
#[derive(Debug, Args)]
pub(crate) struct New {
    /// The bundle's name: `scope/name`, or `name` alone
    name: String,
    /// What it brings
    #[arg(long, value_parser = kind)]
    kind: PluginKind,
    /// The language it is written in; so far there is rust
    #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
    lang: String,
    /// The folder to make [default: the name]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The scope of a name without one [default: local]
    #[arg(long)]
    scope: Option<String>,
}

fn kind(text: &str) -> Result<PluginKind, String> {
    PluginKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
        let names: Vec<&str> = PluginKind::ALL.iter().map(|kind| kind.as_str()).collect();
        format!("a bundle is made with one of {}", names.join(", "))
    })
}

/// `rewake bundle new`.
pub(crate) fn new(asked: &New) -> Result<Outcome, Failure> {
    let refused = |invalid: Invalid| Failure::Usage(invalid.to_string());
    new::language(&asked.lang).map_err(refused)?;
    let name = new::full_name(&asked.name, asked.scope.as_deref()).map_err(refused)?;
    let last = name.as_str().rsplit('/').next().unwrap_or(name.as_str());
    let folder = asked.dir.clone().unwrap_or_else(|| PathBuf::from(last));
    let order = Order { name, kind: asked.kind, folder };
    let files = new::make(&order).map_err(|error| match error {
        NewError::Io { .. } => Failure::Machine(error.to_string()),
        _ => Failure::Usage(error.to_string()),
    })?;
    let shown = order.folder.display();
    let mut out = Out::new();
    out.line(Style::Plain, &format!("{shown} is {}, with a {} in Rust:", order.name, order.kind))?;
    for file in files {
        out.line(Style::Dim, &format!("  {file}"))?;
    }
    let word = shell_word(&order.folder.to_string_lossy());
    out.line(Style::Plain, &format!("Next: cd {word} && rewake bundle build && rewake bundle test"))?;
    out.flush()?;
    Ok(Outcome::Done)
}
