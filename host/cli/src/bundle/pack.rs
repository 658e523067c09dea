//! `rewake bundle pack`: one file for one bundle. Knows the arguments and the words.

use std::path::PathBuf;

use clap::Args;
use rewake_author::pack::{self, PackError};
use serde_json::json;

use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::out::{Out, Style};

/// Pack a built bundle into one file.
#[derive(Debug, Args)]
pub(crate) struct Pack {
    /// The bundle's folder
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// The file to write [default: NAME-VERSION.rewake in the current folder]
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print what was packed as JSON
    #[arg(long)]
    json: bool,
}

/// `rewake bundle pack`.
pub(crate) fn pack(asked: &Pack) -> Result<Outcome, Failure> {
    let packed = pack::pack(&asked.folder, asked.out.as_deref()).map_err(|error| match error {
        PackError::Io { .. } => Failure::Machine(error.to_string()),
        PackError::Bundle(_) | PackError::Name { .. } => Failure::Usage(error.to_string()),
    })?;
    let digest = format!("blake3:{}", packed.digest);
    let mut out = Out::new();
    if asked.json {
        let report = json!({
            "file": packed.file,
            "bytes": packed.bytes,
            "files": packed.files,
            "bundle": packed.name,
            "version": packed.version,
            "digest": digest,
        });
        out.json(&report)?;
    } else {
        let (files, size) = (packed.files as u64, describe::bytes(packed.bytes));
        let holds = describe::count(files, "file", "files");
        let line =
            format!("{} is {} {} ({holds}, {size})", packed.file.display(), packed.name, packed.version);
        out.line(Style::Plain, &line)?;
        out.line(Style::Dim, &digest)?;
    }
    out.flush()?;
    Ok(Outcome::Done)
}
