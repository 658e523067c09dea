//! Allowances beside the rules: a file of nothing else, and adding one to `rewake.toml` without touching what
//! an operator wrote there.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use rewake_core::grant::Scheme;
use rewake_core::ids::Digest;
use rustix::fs::{FlockOperation, flock};
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use super::file::{BYTES_MAX, load};
use super::{Allow, AllowedAsk, Limits, Rules};
use rewake_toml::Error;

/// As rules write it.
impl fmt::Display for AllowedAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllowedAsk::Fs(source, access) => write!(f, "fs:{source}:{}", access.as_str()),
            AllowedAsk::Http(Scheme::Https, host, method) => write!(f, "http:{host}:{method}"),
            AllowedAsk::Http(Scheme::Http, host, method) => write!(f, "http:http://{host}:{method}"),
            AllowedAsk::Model(name) => write!(f, "model:{name}"),
        }
    }
}

/// Reads a file that holds `[[allow]]` tables as `rewake.toml` does, and nothing else.
///
/// # Errors
/// With everything that is wrong with it; and if it holds other rules, which would not be heeded.
pub fn allowances(file: &Path) -> Result<Vec<Allow>, Error> {
    let rules = load(file)?;
    let others = [
        (rules.dirs.is_empty(), "dirs"),
        (rules.config.is_empty(), "config"),
        (rules.hooks.is_empty(), "hook"),
        (rules.limits == Limits::default(), "limits"),
        (rules.models.is_empty(), "models"),
        (rules.trust_key.is_none(), "trust"),
    ];
    match others.iter().find(|(is_empty, _)| !is_empty) {
        None => Ok(rules.allow),
        Some((_, other)) => {
            let message = format!("holds `{other}`, and only what is allowed is taken from this file");
            let help = "leave only [[allow]] tables in it; other rules belong in rewake.toml".to_owned();
            Err(Error::whole_file(file.display().to_string(), message, Some(help)))
        }
    }
}

/// Adds an `[[allow]]` to the rules. Everything that stands there stays as it is written, comments too. The
/// file is replaced whole, so that a reader sees the old one or the new one, and is its owner's alone.
///
/// # Errors
/// If the file is no regular one, is not as it must be, or cannot be written. It is then as it was.
pub fn append_allow(
    file: &Path,
    bundle: &str,
    digest: &Digest,
    asks: &[String],
    note: &str,
) -> Result<(), Error> {
    let refuse = |message: String, help: Option<&str>| {
        Error::whole_file(file.display().to_string(), message, help.map(str::to_owned))
    };
    let unwritable = |error: std::io::Error| refuse(format!("the rules cannot be written: {error}"), None);
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // Held while the file is read and replaced, so that of two who add, none is lost.
    let lock = File::open(folder).map_err(unwritable)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| unwritable(error.into()))?;
    let text = match std::fs::symlink_metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unwritable(error)),
        Ok(found) if found.is_file() => load(file)?.source.text().to_owned(),
        Ok(_) => {
            let help =
                "name the file itself with --config, so that the file behind the link is changed knowingly";
            return Err(refuse(
                "is a link or no regular file, and is not written through".into(),
                Some(help),
            ));
        }
    };
    let changed = with_allow(&text, bundle, digest, asks, note).map_err(|why| refuse(why, None))?;
    let rules = Rules::parse(&changed, file)?;
    if rules.allowed(bundle, digest).is_none() || changed.len() as u64 > BYTES_MAX {
        return Err(refuse("the rules would be longer than may be read, or not say it".into(), None));
    }
    let mut new = tempfile::Builder::new().prefix(".rewake.toml.").tempfile_in(folder).map_err(unwritable)?;
    new.write_all(changed.as_bytes()).and_then(|()| new.as_file().sync_all()).map_err(unwritable)?;
    new.persist(file).map_err(|error| unwritable(error.error))?;
    lock.sync_all().map_err(unwritable)
}

/// The text with one more `[[allow]]`.
fn with_allow(
    text: &str,
    bundle: &str,
    digest: &Digest,
    asks: &[String],
    note: &str,
) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("not valid TOML: {error}"))?;
    let digest = format!("blake3:{digest}");
    let asks: Array = asks.iter().map(String::as_str).collect();
    if let Some(Item::Value(Value::Array(array))) = document.get_mut("allow") {
        let mut entry = InlineTable::new();
        entry.insert("bundle", bundle.into());
        entry.insert("digest", digest.into());
        entry.insert("asks", asks.into());
        array.push(entry);
        return Ok(document.to_string());
    }
    let mut table = Table::new();
    table.insert("bundle", bundle.into());
    table.insert("digest", digest.into());
    table.insert("asks", asks.into());
    let comment = rewake_text::row(note);
    let before = if text.trim().is_empty() { "" } else { "\n" };
    table.decor_mut().set_prefix(format!("{before}# {comment}\n"));
    match document.entry("allow").or_insert(Item::ArrayOfTables(ArrayOfTables::new())) {
        Item::ArrayOfTables(tables) => tables.push(table),
        _ => return Err("`allow` is not an array of tables".into()),
    }
    Ok(document.to_string())
}
