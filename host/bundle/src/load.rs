//! A bundle: its manifest, its files, and the components in them, checked as a whole.
//!
//! Knows one bundle. Does not know the bundles it uses (set.rs does), and compiles nothing.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use rewake_core::fact::PluginKind;
use rewake_core::ids::Digest;
use serde_spanned::Spanned;

use super::component::{Inspected, inspect};
use super::digest;
use super::files::{Files, Folder, Kept};
use super::limits::{
    BUNDLE_BYTES_MAX, COMPONENT_BYTES_MAX, DATA_BYTES_MAX, DATA_FILES_MAX, LOCK_BYTES_MAX,
    MANIFEST_BYTES_MAX, TEXT_BYTES_MAX,
};
use super::lock::{LOCK_FILE, Lock};
use super::manifest::{Declared, FileRole, Instructions, MANIFEST_FILE, Manifest};
use super::names::{DataFiles, Name, file_path};
use super::script::Script;
use rewake_toml::{Error, Invalid, Problem, quote, quote_all};

/// A bundle whose every file has been read and checked.
#[derive(Clone, Debug)]
pub struct Bundle {
    manifest: Manifest,
    digest: Digest,
    components: Vec<Component>,
    instructions: Option<String>,
    script: Option<Script>,
    files: BTreeMap<String, Bytes>,
    lock: Option<Lock>,
}

/// A component of a bundle.
#[derive(Clone, Debug)]
pub struct Component {
    /// What the manifest says of it.
    pub declared: Declared,
    /// The digest of its bytes.
    pub digest: Digest,
    /// What its bytes say.
    pub inspected: Inspected,
    bytes: Bytes,
}

impl Bundle {
    /// Reads the bundle in this folder, with components of at most [`COMPONENT_BYTES_MAX`].
    ///
    /// # Errors
    /// As [`Bundle::load_within`].
    pub fn load(dir: &Path) -> Result<Bundle, Error> {
        Bundle::load_within(dir, COMPONENT_BYTES_MAX)
    }

    /// Reads the bundle in this folder, with components of at most so many bytes. If it has a lock, it must be
    /// what that says.
    ///
    /// # Errors
    /// With everything that is wrong with its manifest; or, if that is well-formed, with every file.
    pub fn load_within(dir: &Path, component_bytes_max: u64) -> Result<Bundle, Error> {
        Bundle::read(&Folder::open(dir)?, component_bytes_max, true)
    }

    /// As [`Bundle::load`], whatever stands in its lock: for its author, who is about to write it again.
    ///
    /// # Errors
    /// As [`Bundle::load`].
    pub fn load_unlocked(dir: &Path) -> Result<Bundle, Error> {
        Bundle::read(&Folder::open(dir)?, COMPONENT_BYTES_MAX, false)
    }

    /// The bundle that `files` are, as [`Bundle::files`] gave them. Everything is checked again but the sizes
    /// of components: those that were within the bounds of their time are kept, and here already.
    ///
    /// # Errors
    /// As [`Bundle::load`]; and if there is a file that the manifest does not name, since the
    /// digest would not cover it.
    pub fn from_files(files: BTreeMap<String, Bytes>) -> Result<Bundle, Error> {
        Bundle::from_kept("", files)
    }

    /// The same; `label` is how a person knows the bundle, for errors.
    ///
    /// # Errors
    /// As [`Bundle::from_files`].
    pub fn from_kept(label: &str, files: BTreeMap<String, Bytes>) -> Result<Bundle, Error> {
        let kept = Kept { label, files: &files };
        let bundle = Bundle::read(&kept, u64::MAX, true)?;
        let extra: Vec<&str> =
            files.keys().filter(|path| !bundle.files.contains_key(*path)).map(String::as_str).collect();
        if extra.is_empty() {
            return Ok(bundle);
        }
        let message = format!("does not name these files that came with it: {}", quote_all(extra));
        let help = Some("keep only what the manifest names".to_owned());
        Err(Error::whole_file(kept.shown(MANIFEST_FILE), message, help))
    }

    /// What the author wrote.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its name.
    pub fn name(&self) -> &Name {
        &self.manifest.name
    }

    /// What pins it: covers the manifest and every file that the manifest names.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its components, in the order of the manifest.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// A component by name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.name() == name)
    }

    /// The agent's instructions, wherever they are written.
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// The agent's script for the scripted model.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_ref()
    }

    /// What its author's build found; a bundle that was not built yet has none.
    pub fn lock(&self) -> Option<&Lock> {
        self.lock.as_ref()
    }

    /// Every file that the digest covers, sorted by path; enough for [`Bundle::from_files`].
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_ref()))
    }

    fn read(source: &dyn Files, component_bytes_max: u64, is_locked: bool) -> Result<Bundle, Error> {
        let shown = source.shown(MANIFEST_FILE);
        let bytes = source.read(MANIFEST_FILE, MANIFEST_BYTES_MAX).map_err(|invalid| {
            Error::whole_file(
                shown.as_str(),
                invalid.message,
                Some(format!("a bundle is a folder with a {MANIFEST_FILE} in it")),
            )
        })?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let message = format!("is not UTF-8 text (at byte {})", error.valid_up_to());
            Error::whole_file(shown.as_str(), message, Some("save it as UTF-8".to_owned()))
        })?;
        let manifest = Manifest::parse(text, &shown)?;
        let mut files = BTreeMap::from([(MANIFEST_FILE.to_owned(), bytes.clone())]);
        let mut problems = Vec::new();
        read_named(source, &manifest, component_bytes_max, &mut files, &mut problems);
        let lock = if is_locked { read_lock(source, &mut files)? } else { None };
        let assembled =
            if problems.is_empty() { assemble(source, manifest, files, &mut problems) } else { None };
        let locked = assembled.map(|bundle| Bundle { lock, ..bundle });
        problems.extend(locked.iter().flat_map(|bundle| unlike_lock(source, bundle)));
        Error::unless_none(problems, locked)
    }
}

impl Component {
    /// Its name in the bundle.
    pub fn name(&self) -> &str {
        self.declared.name.get_ref()
    }

    /// What it is; manifest and bytes agree on it.
    pub fn kind(&self) -> PluginKind {
        self.declared.kind
    }

    /// The component itself, in the binary format.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

fn read_named(
    source: &dyn Files,
    manifest: &Manifest,
    component_bytes_max: u64,
    files: &mut BTreeMap<String, Bytes>,
    problems: &mut Vec<Problem>,
) {
    let bundle_bytes_max = component_bytes_max.saturating_mul(2).max(BUNDLE_BYTES_MAX);
    let named = manifest.files().into_iter().map(|(role, path)| {
        let bytes_max = match role {
            FileRole::Component => component_bytes_max,
            FileRole::Text => TEXT_BYTES_MAX,
        };
        (path.clone(), bytes_max)
    });
    let mut wanted: Vec<(Spanned<String>, u64)> = named.collect();
    for data in &manifest.data {
        match data_paths(source, data.get_ref()) {
            Ok(paths) => {
                let spanned = |path| (Spanned::new(data.span(), path), DATA_BYTES_MAX);
                wanted.extend(paths.into_iter().map(spanned));
            }
            Err(invalid) => problems.push(manifest.problem(data.span(), invalid)),
        }
    }
    let mut total_bytes = 0_u64;
    for (path, bytes_max) in &wanted {
        if files.contains_key(path.get_ref()) {
            continue;
        }
        let read = source.read(path.get_ref(), *bytes_max).and_then(|bytes| {
            total_bytes += bytes.len() as u64;
            if total_bytes > bundle_bytes_max {
                return Err(Invalid::new(format!(
                    "the bundle's files are larger than {bundle_bytes_max} bytes"
                ))
                .help("split it into several bundles"));
            }
            Ok(bytes)
        });
        match read {
            Ok(bytes) => {
                files.insert(path.get_ref().clone(), bytes);
            }
            Err(invalid) => problems.push(manifest.problem(path.span(), with_build(manifest, path, invalid))),
        }
        if total_bytes > bundle_bytes_max {
            return;
        }
    }
}

/// Reads the lock, if there is one, and adds it to the files.
fn read_lock(source: &dyn Files, files: &mut BTreeMap<String, Bytes>) -> Result<Option<Lock>, Error> {
    if !source.has(LOCK_FILE) {
        return Ok(None);
    }
    let shown = source.shown(LOCK_FILE);
    let refuse = |message: String| Error::whole_file(shown.as_str(), message, again(source));
    let bytes = source.read(LOCK_FILE, LOCK_BYTES_MAX).map_err(|invalid| refuse(invalid.message))?;
    let Ok(text) = std::str::from_utf8(&bytes) else { return Err(refuse("is not UTF-8 text".to_owned())) };
    let lock = Lock::parse(text, &shown)?;
    files.insert(LOCK_FILE.to_owned(), bytes);
    Ok(Some(lock))
}

/// In what a bundle is not what its lock says.
fn unlike_lock(source: &dyn Files, bundle: &Bundle) -> Vec<Problem> {
    let found = bundle.lock.iter().flat_map(|lock| lock.differences(bundle));
    let file = source.shown(LOCK_FILE);
    found.map(|message| Problem { file: file.clone(), place: None, message, help: again(source) }).collect()
}

/// What to do about a lock that is of no use.
fn again(source: &dyn Files) -> Option<String> {
    let help = if source.is_kept() {
        "it was changed after it was built: get it again from where it comes from"
    } else {
        "run `rewake bundle build`, which writes it again"
    };
    Some(help.to_owned())
}

/// The files that are meant, each by a plain path: it is where the file is laid out.
fn data_paths(source: &dyn Files, data: &DataFiles) -> Result<Vec<String>, Invalid> {
    let folder = match data {
        DataFiles::One(path) => return Ok(vec![path.clone()]),
        DataFiles::Below(folder) => folder,
    };
    let mut paths = source.below(folder, DATA_FILES_MAX)?;
    paths.sort_unstable();
    if paths.is_empty() {
        return Err(Invalid::new(format!("there is no file below {}", quote(folder)))
            .help("put one there, or take the entry out"));
    }
    match paths.iter().find(|path| file_path(path).as_ref() != Ok(path)) {
        Some(odd) => {
            Err(Invalid::new(format!("{} cannot be the name of a bundle's file", quote(odd)))
                .help("rename it"))
        }
        None => Ok(paths),
    }
}

/// For a missing component, how it is made, if the author gave a command. The command itself is not told: a person
/// would run it by hand, outside of what a build checks, and in a bundle of somebody else.
fn with_build(manifest: &Manifest, path: &Spanned<String>, invalid: Invalid) -> Invalid {
    let component = manifest.components.iter().find(|component| component.source.get_ref() == path.get_ref());
    match component.and_then(|component| component.build.as_deref()) {
        Some(_) => invalid.help("if the bundle is yours, run `rewake bundle build`"),
        None => invalid,
    }
}

/// Checks every file for what it is said to be.
fn assemble(
    source: &dyn Files,
    manifest: Manifest,
    files: BTreeMap<String, Bytes>,
    problems: &mut Vec<Problem>,
) -> Option<Bundle> {
    let digests: BTreeMap<&str, Digest> =
        files.iter().map(|(path, bytes)| (path.as_str(), Digest::of(bytes))).collect();
    let digest = digest::of_bundle(digests.iter().map(|(path, digest)| (*path, *digest)));
    let mut components = Vec::new();
    for declared in &manifest.components {
        let path = declared.source.get_ref();
        let bytes = files[path].clone();
        match inspect(&bytes, declared.kind) {
            Ok(inspected) => {
                let digest = digests[path.as_str()];
                components.push(Component { declared: declared.clone(), digest, inspected, bytes });
            }
            Err(invalid) => {
                let message = format!("{} {}", quote(path), invalid.message);
                problems.push(manifest.problem(declared.source.span(), Invalid { message, ..invalid }));
            }
        }
    }
    let agent = manifest.agent.as_ref();
    let instructions = match agent.and_then(|agent| agent.instructions.as_ref()) {
        Some(Instructions::Text(text)) => Some(text.clone()),
        Some(Instructions::File(path)) => text_of(&manifest, &files, path, problems),
        None => None,
    };
    let script = agent.and_then(|agent| agent.script.as_ref()).and_then(|path| {
        let text = text_of(&manifest, &files, path, problems)?;
        match Script::parse(&text, &source.shown(path.get_ref())) {
            Ok(script) => Some(script),
            Err(error) => {
                problems.extend(error.into_problems());
                None
            }
        }
    });
    Some(Bundle { digest, components, instructions, script, files, manifest, lock: None })
}

fn text_of(
    manifest: &Manifest,
    files: &BTreeMap<String, Bytes>,
    path: &Spanned<String>,
    problems: &mut Vec<Problem>,
) -> Option<String> {
    match std::str::from_utf8(&files[path.get_ref()]) {
        Ok(text) => Some(text.to_owned()),
        Err(error) => {
            let message =
                format!("{} is not UTF-8 text (at byte {})", quote(path.get_ref()), error.valid_up_to());
            problems.push(manifest.problem(path.span(), Invalid::new(message).help("save it as UTF-8")));
            None
        }
    }
}
