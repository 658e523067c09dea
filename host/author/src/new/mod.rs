//! `bundle new`: a folder that builds and passes its own tests at once. Knows the templates and what their
//! names must be; builds nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rewake_bundle::{MANIFEST_FILE, Name, PluginKind};
use rewake_toml::{Invalid, quote};
use thiserror::Error;

use crate::lay::lay;
use crate::sdk;

/// The scope of a bundle whose author names none.
pub(crate) const SCOPE_DEFAULT: &str = "local";
/// The languages that there are templates for.
pub(crate) const LANGUAGES: [&str; 1] = ["rust"];
/// Scopes whose packages could be named as one that a template depends on.
const SCOPES_TAKEN: [&str; 5] = ["proc", "rewake", "schemars", "serde", "wit"];

/// What is to be made.
#[derive(Clone, Debug)]
pub struct Order {
    /// The bundle's name.
    pub name: Name,
    /// What its component is.
    pub kind: PluginKind,
    /// The folder; it must be empty, if it is there.
    pub folder: PathBuf,
}

/// Why nothing is made.
#[derive(Debug, Error)]
pub enum NewError {
    /// The folder is not empty.
    #[error("{} is there already and not empty; name another folder with --dir", .0.display())]
    NotEmpty(PathBuf),
    /// The folder's name belongs to something else.
    #[error("{} is not a folder; name another with --dir", .0.display())]
    NoFolder(PathBuf),
    /// Something cannot be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A bundle's name from what an author writes: `scope/name`, or `name` and perhaps a scope.
///
/// # Errors
/// If it is no bundle's name, or two scopes are given.
pub fn full_name(text: &str, scope: Option<&str>) -> Result<Name, Invalid> {
    match (text.contains('/'), scope) {
        (true, None) => text.parse(),
        (true, Some(scope)) => Err(Invalid::new(format!(
            "{} has a scope already, and --scope gives {}",
            quote(text),
            quote(scope)
        ))
        .help("give one of them")),
        (false, scope) => format!("{}/{text}", scope.unwrap_or(SCOPE_DEFAULT)).parse(),
    }
}

/// Whether there are templates in a language.
///
/// # Errors
/// If there are none, with those that there are and what else can be done.
pub fn language(text: &str) -> Result<(), Invalid> {
    if LANGUAGES.contains(&text) {
        return Ok(());
    }
    let message =
        format!("there is no template in {}; the languages are: {}", quote(text), LANGUAGES.join(", "));
    Err(Invalid::new(message).help(
        "a component in any language will do: write bundle.toml by hand, with the `build` that makes it, \
         against the contract of `wit/` (a Rust bundle has a copy in .rewake/wit)",
    ))
}

/// Makes the folder; returns its files, sorted, without those of the SDK.
///
/// # Errors
/// If the folder is not empty, or something cannot be written.
pub fn make(order: &Order) -> Result<Vec<String>, NewError> {
    let folder = &order.folder;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| NewError::Io { path, source }
    };
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(NewError::NotEmpty(folder.clone()));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(NewError::NoFolder(folder.clone()));
        }
        Err(error) => return Err(failed(folder)(error)),
    }
    let files = files(order);
    for (name, text) in &files {
        let path = folder.join(name);
        lay(&path, text.as_bytes()).map_err(failed(&path))?;
    }
    let path = folder.join(sdk::FOLDER);
    sdk::restore(folder).map_err(failed(&path))?;
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

/// The templates of one kind.
struct Template {
    code: &'static str,
    manifest: &'static str,
    test: &'static str,
    usage: &'static str,
    script: Option<&'static str>,
}

macro_rules! template {
    ($folder:literal, $script:expr) => {
        Template {
            code: include_str!(concat!("../../templates/", $folder, "/lib.rs")),
            manifest: include_str!(concat!("../../templates/", $folder, "/bundle.toml.in")),
            test: include_str!(concat!("../../templates/", $folder, "/test.toml.in")),
            usage: include_str!(concat!("../../templates/", $folder, "/usage.md.in")),
            script: $script,
        }
    };
}

fn template(kind: PluginKind) -> Template {
    match kind {
        PluginKind::Tool => template!("tool", None),
        PluginKind::Hook => template!("hook", None),
        PluginKind::Harness => {
            template!("harness", Some(include_str!("../../templates/harness/script.toml")))
        }
    }
}

/// The files of a new bundle, by their paths in it.
fn files(order: &Order) -> Vec<(String, String)> {
    let template = template(order.kind);
    let bundle = order.name.as_str();
    let component = bundle.rsplit('/').next().unwrap_or(bundle);
    let package = package(bundle);
    let code = package.replace('-', "_");
    let filled = |text: &str| {
        text.replace("{{usage}}", template.usage)
            .replace("{{bundle}}", bundle)
            .replace("{{component}}", component)
            .replace("{{package}}", &package)
            .replace("{{crate}}", &code)
            .replace("{{kind}}", order.kind.as_str())
    };
    let mut files = vec![
        (
            ".cargo/config.toml".to_owned(),
            include_str!("../../templates/common/cargo-config.toml").to_owned(),
        ),
        (".gitignore".to_owned(), include_str!("../../templates/common/gitignore").to_owned()),
        ("Cargo.lock".to_owned(), sdk::lock().to_owned()),
        ("Cargo.toml".to_owned(), filled(include_str!("../../templates/common/Cargo.toml.in"))),
        ("README.md".to_owned(), filled(include_str!("../../templates/common/README.md.in"))),
        (MANIFEST_FILE.to_owned(), filled(template.manifest)),
    ];
    files.extend(template.script.map(|script| ("script.toml".to_owned(), script.to_owned())));
    files.push(("src/lib.rs".to_owned(), template.code.to_owned()));
    files.push((format!("tests/{component}.toml"), filled(template.test)));
    files
}

/// The name of the package: a word that cargo takes, and that no dependency has.
fn package(bundle: &str) -> String {
    let name = bundle.replace('/', "-");
    let is_taken = SCOPES_TAKEN.iter().any(|scope| bundle.starts_with(&format!("{scope}/")));
    match is_taken || name.starts_with(|first: char| first.is_ascii_digit()) {
        true => format!("bundle-{name}"),
        false => name,
    }
}

#[cfg(test)]
mod tests;
