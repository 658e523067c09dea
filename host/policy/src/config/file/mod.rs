//! Where the operator's rules are, what guards them, and that no directory of theirs leads to what rules,
//! keys and journals are made of. Knows paths and modes, not what rules mean.

#[cfg(test)]
mod tests;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rewake_core::grant::Access;
use tracing::warn;

use crate::trust::{KEY_VARIABLE, TrustKey};

use super::{From, HookBundle, KeySource, RULES_FILE, Rules, value};
use rewake_toml::Error;

/// Bytes of the file.
pub(super) const BYTES_MAX: u64 = 1 << 20;
/// Who else may change a file: the group, and everybody.
const OTHERS_WRITE: u32 = 0o022;
/// Everybody may change what is in a folder, unless it is sticky.
const EVERYBODY_WRITES: u32 = 0o002;
const STICKY: u32 = 0o1000;
/// Who else may read it.
const OTHERS_READ: u32 = 0o044;

/// The file of the operator's rules, and the folders that its directories must be apart from.
#[derive(Clone, Debug)]
pub struct RulesFile {
    /// The file that was named; none: the one in the data folder, if it is there.
    named: Option<PathBuf>,
    data: PathBuf,
    cache: PathBuf,
    trust: TrustKey,
    /// The data folder is the usual one of this user and no session was ever kept in it, so that its rules are
    /// theirs.
    is_fresh: bool,
}

/// Looks whether the file has changed since it was read.
#[derive(Clone, Debug)]
pub struct Watch {
    file: RulesFile,
    stamp: Stamp,
}

/// What a file is like: one that was changed is like something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(Option<[i128; 5]>);

impl Watch {
    /// From now on. What is read of the file afterwards is not older.
    pub fn of(file: &RulesFile) -> Watch {
        Watch { file: file.clone(), stamp: file.stamp() }
    }

    /// The rules, if the file has changed since it was last looked at. Rules that cannot be read, such as
    /// those of a file that is being written, change nothing until they can be; loading refuses them.
    pub fn changed(&mut self) -> Option<Rules> {
        let stamp = self.file.stamp();
        if stamp == self.stamp {
            return None;
        }
        self.stamp = stamp;
        self.file.read().inspect_err(|error| warn!("the previous rules are kept: {error}")).ok()
    }
}

impl RulesFile {
    /// The named file, else the one in the data folder. `cache` is the folder of compiled components, with
    /// the key that vouches for them.
    pub fn new(named: Option<&Path>, data: &Path, cache: &Path, trust: &TrustKey) -> RulesFile {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (data, cache) = (absolute(data), absolute(cache));
        RulesFile { named: named.map(absolute), data, cache, trust: trust.clone(), is_fresh: false }
    }

    /// Whether the data folder is the usual one of this user and no session was ever kept in it.
    #[must_use]
    pub fn fresh(self, is_fresh: bool) -> RulesFile {
        RulesFile { is_fresh, ..self }
    }

    /// Reads the rules: of the named file, which must be there; else of the one in the data folder, if it
    /// is there and this machine knows the folder.
    ///
    /// # Errors
    /// With everything that is wrong with the file; and if the trust key is not as it must be.
    pub fn read(&self) -> Result<Rules, Error> {
        let rules = self.read_file()?;
        self.keep_key_apart(&rules)?;
        Ok(rules)
    }

    fn read_file(&self) -> Result<Rules, Error> {
        let file = self.path();
        if self.named.is_none() {
            let none = |warning: Option<String>| Rules {
                warnings: warning.into_iter().collect(),
                ..Rules::none(file.clone())
            };
            if std::fs::symlink_metadata(&file).is_err() {
                return Ok(none(folder_warning(&file)));
            }
            if !self.is_fresh && !self.trust.knows(&self.data)? {
                return Ok(Rules { is_ignored: true, ..none(Some(self.unknown(&file))) });
            }
        }
        let rules = load(&file)?;
        if self.named.is_none() && rules.trust_key.is_some() {
            let message = "rules in a data folder cannot name the trust key that they are checked with";
            let help = format!("name this file with --config, or the key with {KEY_VARIABLE}");
            return Err(Error::whole_file(file.display().to_string(), message, Some(help)));
        }
        self.keep_apart(&rules)?;
        Ok(rules)
    }

    fn unknown(&self, file: &Path) -> String {
        let file = file.display();
        format!(
            "the rules in {file} are not used, because this machine does not know their data folder: name them with \
             --config {file}, or use them from now on with `rewake grant --rules`"
        )
    }

    /// The trust key that vouches for the sessions of these rules.
    pub fn trust(&self, rules: &Rules) -> TrustKey {
        self.trust.clone().or(rules.trust_key.as_deref())
    }

    /// Has this machine know the data folder, if it holds no rules that may come from elsewhere.
    ///
    /// # Errors
    /// If the trust key cannot be read or made.
    pub fn know_new(&self) -> Result<(), Error> {
        let has_rules = std::fs::symlink_metadata(self.data.join(RULES_FILE)).is_ok();
        if has_rules && !self.is_fresh || self.trust.knows(&self.data)? {
            return Ok(());
        }
        self.trust.read_or_make()?;
        // Rules that are written later are then not used, and that is said.
        let known = self.trust.know(&self.data);
        let _ = known.inspect_err(|error| warn!("{error}"));
        Ok(())
    }

    /// Has this machine know the data folder, whatever its rules say.
    ///
    /// # Errors
    /// If the trust key cannot be read or made, or the folder cannot be written.
    pub fn know(&self) -> Result<(), Error> {
        self.trust.know(&self.data)
    }

    fn stamp(&self) -> Stamp {
        let found = std::fs::metadata(self.path()).ok();
        Stamp(found.map(|found| {
            let nanoseconds = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
            [
                found.dev().into(),
                found.ino().into(),
                found.len().into(),
                nanoseconds(found.mtime(), found.mtime_nsec()),
                nanoseconds(found.ctime(), found.ctime_nsec()),
            ]
        }))
    }

    fn path(&self) -> PathBuf {
        self.named.clone().unwrap_or_else(|| self.data.join(RULES_FILE))
    }

    /// The key that vouches for data must not come with it.
    fn keep_key_apart(&self, rules: &Rules) -> Result<(), Error> {
        let key = self.trust(rules);
        let ours = [true_path(&self.data), true_path(&self.cache)];
        let mut keys = key.file().into_iter().flat_map(true_paths);
        let Some(path) = keys.find(|key| ours.iter().any(|ours| key.starts_with(ours))) else {
            return Ok(());
        };
        let message = "the trust key is in the data folder or the cache, which may come from elsewhere";
        let help = format!("name a file outside of them with {KEY_VARIABLE}");
        Err(Error::whole_file(path.display().to_string(), message, Some(help)))
    }

    /// No directory that bundles can ask for may lead to what they must not have or change: rules, secrets,
    /// operators' hooks, sessions' data, compiled components and their key, this process; and none that can be
    /// changed may hold another one, which could then be made to lead anywhere.
    fn keep_apart(&self, rules: &Rules) -> Result<(), Error> {
        let files = true_paths(&rules.file);
        let ours = [true_path(&self.data), true_path(&self.cache)];
        let keys: Vec<PathBuf> = self.trust(rules).file().into_iter().flat_map(true_paths).collect();
        let dirs: Vec<(&str, PathBuf, Access)> =
            rules.dirs.iter().map(|(name, dir)| (name.as_str(), true_path(&dir.path), dir.access)).collect();
        for (name, dir, access) in &dirs {
            let meets = |other: &Path| other.starts_with(dir) || dir.starts_with(other);
            let can_change = |other: &Path| *access == Access::ReadWrite && meets(other);
            let inner = dirs.iter().find(|(_, other, _)| other != dir && other.starts_with(dir));
            let what = if files.iter().any(|file| file.starts_with(dir)) {
                "to these rules".to_owned()
            } else if ours.iter().any(|ours| meets(ours)) {
                "to Rewake's own data".to_owned()
            } else if keys.iter().any(|key| key.starts_with(dir)) {
                "to the key that vouches for approvals".to_owned()
            } else if dir.starts_with("/proc") {
                "to Rewake's own memory and environment".to_owned()
            } else if let Some(secret) = secret_files(rules).find(|secret| secret.starts_with(dir)) {
                format!("to a value of [config] or a model's key, in {}", secret.display())
            } else if let Some(path) = trusted(rules).find(|path| can_change(path)) {
                format!("to change {}, which these rules rely on", path.display())
            } else if let (Access::ReadWrite, Some((inner, ..))) = (access, inner) {
                format!("to put something else in the place of the directory {inner:?}, which is in it")
            } else {
                continue;
            };
            let message = format!("the directory {name:?} of [dirs] would give bundles a way {what}");
            let help = "name a directory that holds nothing of the kind".to_owned();
            return Err(Error::whole_file(rules.file.display().to_string(), message, Some(help)));
        }
        Ok(())
    }
}

/// Reads a file.
///
/// # Errors
/// With everything that is wrong with it.
pub(super) fn load(file: &Path) -> Result<Rules, Error> {
    let shown = file.display().to_string();
    let refuse = |message: String, help: Option<&str>| {
        Error::whole_file(shown.as_str(), message, help.map(str::to_owned))
    };
    let read = value::read_file(file, BYTES_MAX);
    let bytes = read.map_err(|why| refuse(format!("the rules cannot be read: {why}"), None))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| refuse("is not UTF-8 text".to_owned(), Some("save it as UTF-8")))?;
    let rules = Rules::parse(&text, file)?;
    let warnings = warnings(file).into_iter().chain(exposed_keys(&rules)).collect();
    Ok(Rules { warnings, ..rules })
}

/// What is unsafe about a file of rules, though it can be read.
fn warnings(file: &Path) -> Vec<String> {
    let shown = file.display();
    let Ok(found) = std::fs::metadata(file) else { return Vec::new() };
    let mut warnings: Vec<String> = folder_warning(file).into_iter().collect();
    if found.mode() & OTHERS_WRITE != 0 {
        warnings.push(format!(
            "{shown} can be changed by others than its owner, and decides what bundles may do: `chmod go-w {shown}`"
        ));
    }
    let own = rustix::process::geteuid().as_raw();
    if found.uid() != own && found.uid() != 0 {
        warnings.push(format!("{shown} belongs to another user, who decides what bundles may do"));
    }
    warnings
}

/// Anyone who can write into its folder can put another file in its place.
fn folder_warning(file: &Path) -> Option<String> {
    let folder = file.parent()?;
    let mode = std::fs::metadata(folder).ok()?.mode();
    (mode & EVERYBODY_WRITES != 0 && mode & STICKY == 0).then(|| {
        let (file, folder) = (file.display(), folder.display());
        format!(
            "everybody can put another file in the place of {file}, which decides what bundles may do: `chmod o-w {folder}`"
        )
    })
}

/// Why a sensitive value is not as secret as it should be; none, if it is.
pub(super) fn exposed(rules: &Rules, bundle: &str, key: &str) -> Option<String> {
    let place = match &rules.setting(bundle, key)?.from {
        From::Here(_) => &rules.file,
        From::File(path) => path,
        From::Env(_) => return None,
    };
    let mode = std::fs::metadata(place).ok()?.mode();
    let place = place.display();
    (mode & OTHERS_READ != 0).then(|| {
        format!(
            "{place} holds the secret {key:?} of {bundle} and can be read by others: `chmod go-r {place}`"
        )
    })
}

fn secret_files(rules: &Rules) -> impl Iterator<Item = PathBuf> + '_ {
    let settings = rules.config.values().flat_map(|settings| settings.values());
    let files = settings.filter_map(|setting| match &setting.from {
        From::File(path) => Some(path),
        From::Here(_) | From::Env(_) => None,
    });
    files.chain(key_files(rules)).flat_map(|path| true_paths(path))
}

/// The files that hold models' keys.
fn key_files(rules: &Rules) -> impl Iterator<Item = &PathBuf> {
    rules.models.values().filter_map(|model| match &model.key {
        Some(KeySource::File(path)) => Some(path),
        Some(KeySource::Env(_)) | None => None,
    })
}

/// Files of keys that others can read too.
fn exposed_keys(rules: &Rules) -> impl Iterator<Item = String> + '_ {
    let files = key_files(rules)
        .filter(|path| std::fs::metadata(path).is_ok_and(|found| found.mode() & OTHERS_READ != 0));
    files.map(|path| {
        let path = path.display();
        format!("{path} holds a model's key and can be read by others: `chmod go-r {path}`")
    })
}

/// What the rules rely on: the bundles of operators' hooks, and whom requests trust.
fn trusted(rules: &Rules) -> impl Iterator<Item = PathBuf> + '_ {
    let folders = rules.hooks.iter().filter_map(|hook| match &hook.bundle {
        HookBundle::Path(path) => Some(path),
        HookBundle::Named(_) => None,
    });
    folders.chain(rules.ca_file.as_ref().map(|file| &file.path)).flat_map(|path| true_paths(path))
}

/// Where a path leads, and where it stands itself, if it is a link: both must be out of reach.
fn true_paths(path: &Path) -> [PathBuf; 2] {
    let stands = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => true_path(parent).join(name),
        _ => path.to_owned(),
    };
    [true_path(path), stands]
}

/// The path without links; of one that is not there yet, as far as there is something.
fn true_path(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(path), ..) => path,
        (Err(_), Some(parent), Some(name)) => true_path(parent).join(name),
        (Err(_), ..) => path.to_owned(),
    }
}
