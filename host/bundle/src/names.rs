//! Names, paths, sizes and durations as a manifest writes them. Knows one value at a time, not
//! where it stands.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::limits::{MOUNT_BYTES_MAX, TIMEOUT_MS_MAX, TOOL_NAME_CHARS_MAX};
use rewake_toml::{Invalid, quote};

/// A bundle's name: `scope/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Name, Invalid> {
        let well_formed = |part: &str| is_word(part, b"-_");
        match text.split_once('/') {
            Some((scope, name)) if well_formed(scope) && well_formed(name) => Ok(Name(text.to_owned())),
            _ => Err(Invalid::new(format!("{} is not a bundle's name", quote(text))).help(
                "write `scope/name`, each of lower-case letters, digits, `-` and `_`, such as \"acme/word-tools\"",
            )),
        }
    }
}

/// What a bundle names in `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
    /// A folder relative to the bundle's own, while developing.
    Path(String),
    /// A bundle by name, and the versions that will do (`0.1` means any 0.1.x).
    Named(Name, semver::VersionReq),
}

impl FromStr for Use {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Use, Invalid> {
        if text.starts_with('/') {
            return Err(Invalid::new("a used bundle's path is relative to this bundle's folder")
                .help("write it from here, such as \"../guard\""));
        }
        if text == "." || text == ".." || text.starts_with("./") || text.starts_with("../") {
            return Ok(Use::Path(text.to_owned()));
        }
        let help = "write \"scope/name\", \"scope/name@0.1\", or a path that starts with `./` or `../`";
        let (name, wanted) = text.split_once('@').unwrap_or((text, "*"));
        let name = name.parse::<Name>().map_err(|invalid| invalid.help(help))?;
        Ok(Use::Named(name, versions(wanted).map_err(|invalid| invalid.help(help))?))
    }
}

/// Versions that will do: `0.1` means any 0.1.x, `=0.1.2` that one, `*` all.
pub(super) fn versions(text: &str) -> Result<semver::VersionReq, Invalid> {
    semver::VersionReq::parse(text).map_err(|error| {
        Invalid::new(format!("{} does not name versions: {error}", quote(text)))
            .help("write \"0.1\" for any 0.1.x, or \"=0.1.2\" for that one")
    })
}

/// A component's name: a word of lower-case letters, digits, `-` and `_`.
pub fn component_name(text: &str) -> Result<String, Invalid> {
    if is_word(text, b"-_") {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(format!("{} is not a component's name", quote(text)))
        .help("use up to 64 lower-case letters, digits, `-` and `_`, with a letter or digit first"))
}

/// A tool's name, as the contract limits it: `[a-zA-Z0-9_-]{1,64}`.
pub(super) fn tool_name(text: &str) -> Result<String, Invalid> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if !text.is_empty() && text.len() <= TOOL_NAME_CHARS_MAX && text.bytes().all(allowed) {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(format!("{} is not a tool's name", quote(text)))
        .help("a tool's name has 1 to 64 letters, digits, `-` and `_`"))
}

/// The path of a file of the bundle, made plain (`./a.wasm` is `a.wasm`). It cannot leave the folder.
pub(super) fn file_path(text: &str) -> Result<String, Invalid> {
    let refuse = |why: &str| {
        Err(Invalid::new(format!("{} {why}", quote(text)))
            .help("name a file inside the bundle's folder by its relative path, such as \"words.wasm\""))
    };
    if text.is_empty() {
        return refuse("is not a path");
    }
    if text.starts_with('/') || text.as_bytes().get(1) == Some(&b':') {
        return refuse("is an absolute path");
    }
    if text.contains('\\') {
        return refuse("has a `\\` in it; a bundle's paths are written with `/`");
    }
    if text.chars().any(char::is_control) {
        return refuse("has a control character in it");
    }
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return refuse("leaves the bundle's folder");
    }
    if parts.is_empty() || text.ends_with('/') {
        return refuse("names a folder, not a file");
    }
    Ok(parts.join("/"))
}

/// The path of what a build makes: relative to the bundle's folder, and free to leave it.
pub(super) fn artifact_path(text: &str) -> Result<String, Invalid> {
    let is_plain = !text.is_empty() && !text.ends_with('/') && !text.chars().any(char::is_control);
    if is_plain && !text.starts_with('/') && !text.contains('\\') {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(format!("{} is not a path of a build's result", quote(text))).help(
        "write the file that `build` makes, relative to the bundle's folder, such as \
         \"target/wasm32-wasip2/release/words.wasm\"",
    ))
}

/// Files of a bundle that are there for its guests to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataFiles {
    /// This one.
    One(String),
    /// Every file below this folder: `data/**`.
    Below(String),
}

impl FromStr for DataFiles {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<DataFiles, Invalid> {
        let help = "name a file, such as \"words.txt\", or all below a folder, such as \"data/**\"";
        let (path, is_folder) = match text.strip_suffix("/**") {
            Some(folder) => (folder, true),
            None => (text, false),
        };
        if path.contains('*') {
            return Err(Invalid::new(format!("{} is neither a file nor a folder's", quote(text))).help(help));
        }
        let path = file_path(path).map_err(|invalid| invalid.help(help))?;
        Ok(if is_folder { DataFiles::Below(path) } else { DataFiles::One(path) })
    }
}

/// Where a guest sees a directory: an absolute path without `.` and `..`.
pub(super) fn mount_path(text: &str) -> Result<String, Invalid> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let rest = text.strip_prefix('/');
    // It is shown to anyone who is asked to grant it, and must not push anything else out of their sight.
    if text.len() <= MOUNT_BYTES_MAX
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
        && rest.is_some_and(|rest| rest.is_empty() || rest.split('/').all(plain))
    {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(format!("{} is not a mount", quote(text)))
        .help("write the absolute path that the guest sees, without blanks, such as \"/workspace\""))
}

/// A size with its unit, in bytes.
pub fn size_bytes(text: &str) -> Result<u64, Invalid> {
    let help = "write a whole number and a unit: \"512KiB\", \"64MiB\" or \"1GiB\"";
    let (number, unit) = number_and_unit(text);
    let scale = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "" if !number.is_empty() => {
            return Err(Invalid::new(format!("{} has no unit", quote(text))).help(help));
        }
        "KB" | "kB" | "MB" | "GB" | "K" | "M" | "G" | "k" | "m" | "g" => {
            let binary = format!("{}iB", unit[..1].to_uppercase());
            return Err(Invalid::new(format!("{} has a unit that is not used here", quote(text)))
                .help(format!("write \"{number}{binary}\"")));
        }
        _ => return Err(Invalid::new(format!("{} is not a size", quote(text))).help(help)),
    };
    positive(text, number, scale, "a size", help)
}

/// A duration with its unit.
pub fn duration(text: &str) -> Result<Duration, Invalid> {
    let help = "write a whole number and a unit: \"500ms\", \"5s\" or \"2m\"";
    let (number, unit) = number_and_unit(text);
    let scale_ms = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "" if !number.is_empty() => {
            return Err(Invalid::new(format!("{} has no unit", quote(text))).help(help));
        }
        _ => return Err(Invalid::new(format!("{} is not a duration", quote(text))).help(help)),
    };
    match positive(text, number, scale_ms, "a duration", help)? {
        ms if ms > TIMEOUT_MS_MAX => {
            Err(Invalid::new(format!("{} is too long", quote(text))).help("the longest is a day, \"24h\""))
        }
        ms => Ok(Duration::from_millis(ms)),
    }
}

fn number_and_unit(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn positive(text: &str, number: &str, scale: u64, what: &str, help: &str) -> Result<u64, Invalid> {
    let scaled = number.parse::<u64>().ok().and_then(|n| n.checked_mul(scale));
    match scaled {
        Some(0) => {
            Err(Invalid::new(format!("{} is zero, and nothing runs with that", quote(text))).help(help))
        }
        Some(value) => Ok(value),
        None if number.is_empty() => Err(Invalid::new(format!("{} is not {what}", quote(text))).help(help)),
        None => Err(Invalid::new(format!("{} is too large", quote(text))).help(help)),
    }
}

fn is_word(text: &str, also: &[u8]) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 64
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|b| plain(b) || also.contains(&b))
}
