//! What one case is run in: a data folder of its own that is gone afterwards, a store in memory, a host over it,
//! and the operator's rules that the case stands for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rewake_bundle::Bundle;
use rewake_core::limits::SNAPSHOT_ENTRIES;
use rewake_policy::config::RULES_FILE;
use rewake_policy::limits::CompileLimits;
use rewake_policy::trust::TrustKey;
use rewake_runtime::workbench::Workbench;
use rewake_runtime::{Config, Host, HttpMock};
use rewake_sandbox::baseline;
use rewake_sandbox::workspace;
use rewake_store::{MemoryStore, Store};
use tempfile::TempDir;

use super::Suite;
use super::cases::{Files, Given, Setting};
use super::report::Finding;

/// Bytes of a file that are compared with a text of a case.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// What the runs of all cases share.
#[derive(Clone)]
pub struct Ground {
    /// The folder of compiled components.
    pub cache: PathBuf,
    /// What has made components ready.
    pub bench: Workbench,
    /// Whether cases may reach the network, and the operator's models.
    pub network: bool,
}

/// What one case is run in.
pub(super) struct Bed {
    folder: TempDir,
    ground: Ground,
    /// The case's answers to HTTP requests; none: the network's.
    mocks: Option<Vec<HttpMock>>,
    /// Keeps what sessions are made of, while hosts come and go.
    pub(super) store: Arc<dyn Store>,
}

impl Bed {
    /// Makes one, with the case's directories and configuration as an operator would write them.
    pub(super) fn make(ground: &Ground, setting: &Setting, suite: &Suite) -> Result<Bed, Finding> {
        let given = match &setting.workspace {
            Given::Folder(from) => Some(from),
            Given::Nothing | Given::Files(_) => None,
        };
        given.into_iter().chain(setting.dirs.values()).try_for_each(|from| stays_in(suite.folder(), from))?;
        let folder = tempfile::Builder::new().prefix("rewake-test-").tempdir();
        let folder = folder.map_err(|error| Finding::machine("a folder for the test", &error))?;
        let mocks = (!ground.network).then(|| setting.http.clone());
        let bed = Bed { folder, ground: ground.clone(), mocks, store: Arc::new(MemoryStore::new()) };
        bed.lay(setting, suite.bundle())
            .map_err(|error| Finding::machine("the test's folders", &error))??;
        Ok(bed)
    }

    fn lay(&self, setting: &Setting, bundle: &Bundle) -> io::Result<Result<(), Finding>> {
        fs::create_dir(self.data())?;
        fs::create_dir(self.given())?;
        match &setting.workspace {
            Given::Nothing => {}
            Given::Files(files) => {
                for (path, text) in files {
                    let file = self.given().join(path);
                    fs::create_dir_all(file.parent().unwrap_or(&file))?;
                    fs::write(file, text)?;
                }
            }
            Given::Folder(from) => {
                if let Err(error) = workspace::copy_in(from, &self.given(), workspace::usual_quota()) {
                    return Ok(Err(Finding::of(format!("the workspace cannot be laid out: {error}"))));
                }
            }
        }
        let mut rules = toml::Table::new();
        let mut dirs = toml::Table::new();
        for (name, from) in &setting.dirs {
            let to = self.folder.path().join("dirs").join(name);
            fs::create_dir_all(&to)?;
            if let Err(error) = workspace::copy_in(from, &to, workspace::usual_quota()) {
                return Ok(Err(Finding::of(format!("the directory {name:?} cannot be laid out: {error}"))));
            }
            let path = to.to_string_lossy().into_owned();
            let dir = [("path", path), ("access", "rw".to_owned())];
            let dir = dir.into_iter().map(|(key, value)| (key.to_owned(), value.into()));
            dirs.insert(name.clone(), toml::Value::Table(dir.collect()));
        }
        if !dirs.is_empty() {
            rules.insert("dirs".to_owned(), dirs.into());
        }
        if !setting.config.is_empty() {
            let own = match toml::Table::try_from(&setting.config) {
                Ok(own) => own,
                Err(error) => return Ok(Err(Finding::of(format!("`config` cannot be written: {error}")))),
            };
            let config = [(bundle.name().to_string(), toml::Value::Table(own))];
            rules.insert("config".to_owned(), toml::Value::Table(config.into_iter().collect()));
        }
        fs::write(self.data().join(RULES_FILE), rules.to_string())?;
        Ok(Ok(()))
    }

    /// A host over the store.
    pub(super) fn host(&self) -> Result<Host, Finding> {
        self.host_over(self.store.clone())
    }

    /// A host over another store, in the same folder.
    pub(super) fn host_over(&self, store: Arc<dyn Store>) -> Result<Host, Finding> {
        let config = Config {
            data: self.data(),
            cache: self.ground.cache.clone(),
            snapshot_entries: SNAPSHOT_ENTRIES,
            // It wrote them itself, for this case alone.
            rules: Some(self.data().join(RULES_FILE)),
            trust: TrustKey::in_state(Some(&self.folder.path().join("state"))),
            compiler: None,
            compile: CompileLimits::default(),
            mocks: self.mocks.clone(),
        };
        Host::open_on(&self.ground.bench, &config, store).map_err(|error| Finding::of(error.to_string()))
    }

    /// The data folder.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The folder with what is in the workspace at first; for calls it is the workspace.
    pub(super) fn given(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }
}

/// Sees to it that a file or folder that a case names is below the bundle's folder, wherever links lead: whoever
/// tests a bundle of somebody else lends it nothing.
pub(super) fn stays_in(folder: &Path, path: &Path) -> Result<(), Finding> {
    let root =
        folder.canonicalize().map_err(|error| Finding::machine(&folder.display().to_string(), &error))?;
    // What is not there yet stands where the folder that will hold it does.
    let there = path.ancestors().find(|at| fs::symlink_metadata(at).is_ok()).unwrap_or(folder);
    match there.canonicalize() {
        Ok(true_path) if true_path.starts_with(&root) => Ok(()),
        Ok(_) => Err(Finding::of(format!("{} leads out of the bundle's folder", path.display()))),
        Err(error) => Err(Finding::machine(&path.display().to_string(), &error)),
    }
}

/// What is not as it must be with the files of a workspace.
pub(super) fn check_files(workspace: &Path, files: &Files) -> Vec<Finding> {
    let check = |(path, expected): (&String, &Option<String>)| match expected {
        Some(expected) => check_text(workspace, path, expected),
        None => check_absent(workspace, path),
    };
    files.iter().filter_map(check).collect()
}

/// A guest may have put a link where the file is to be: none is followed out of the workspace.
fn check_text(workspace: &Path, path: &str, expected: &str) -> Option<Finding> {
    match baseline::read(workspace, path, FILE_BYTES_MAX) {
        Ok(Some(bytes)) => {
            let found = String::from_utf8_lossy(&bytes);
            (found != expected)
                .then(|| Finding::differs(format!("the file {path} is another"), expected, &found))
        }
        Ok(None) if fs::metadata(workspace.join(path)).is_ok() => {
            Some(Finding::of(format!("the file {path} has more than {FILE_BYTES_MAX} bytes")))
        }
        Ok(None) => Some(Finding::of(format!("there is no file {path}"))),
        Err(error) => Some(Finding::of(format!("the file {path}: {error}"))),
    }
}

/// What cannot be looked at may be there: only what is known not to be is absent.
fn check_absent(workspace: &Path, path: &str) -> Option<Finding> {
    match fs::symlink_metadata(workspace.join(path)) {
        Ok(_) => Some(Finding::of(format!("there is a file {path}"))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
        Err(error) => Some(Finding::of(format!("the file {path}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_of_the_bundle_is_refused() {
        let all = tempfile::tempdir().expect("a folder");
        let bundle = all.path().join("bundle");
        fs::create_dir_all(bundle.join("tests/in")).expect("a folder");
        std::os::unix::fs::symlink(all.path(), bundle.join("tests/out")).expect("a link");
        std::os::unix::fs::symlink(all.path().join("nothing"), bundle.join("tests/nowhere")).expect("a link");
        for (path, stays) in [
            ("tests/in", true),
            ("tests/expected/new.txt", true),
            ("tests/out", false),
            ("tests/out/bundle", true),
            ("tests/out/new.txt", false),
            ("tests/nowhere", false),
        ] {
            assert_eq!(stays_in(&bundle, &bundle.join(path)).is_ok(), stays, "{path}");
        }
    }

    #[test]
    fn files_are_compared_or_must_not_be_there() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a"), "one\n").expect("a file");
        let files =
            |name: &str, text: Option<&str>| Files::from([(name.to_owned(), text.map(str::to_owned))]);
        for (name, text, what) in [
            ("a", Some("one\n"), None),
            ("a", Some("two\n"), Some("the file a is another")),
            ("a", None, Some("there is a file a")),
            ("b", None, None),
            ("b", Some(""), Some("there is no file b")),
        ] {
            let found = check_files(folder.path(), &files(name, text));
            assert_eq!(found.first().map(|found| found.what.as_str()), what, "{name} {text:?}");
        }
    }

    #[test]
    fn no_link_of_a_guest_is_followed_out() {
        let all = tempfile::tempdir().expect("a folder");
        let workspace = all.path().join("workspace");
        fs::create_dir(&workspace).expect("a folder");
        fs::write(all.path().join("secret"), "secret").expect("a file");
        std::os::unix::fs::symlink(all.path().join("secret"), workspace.join("out")).expect("a link");
        std::os::unix::fs::symlink("nowhere", workspace.join("dangling")).expect("a link");
        for (name, text) in [("out", Some("secret")), ("out", None), ("dangling", None)] {
            let files = Files::from([(name.to_owned(), text.map(str::to_owned))]);
            assert_eq!(check_files(&workspace, &files).len(), 1, "{name} {text:?}");
        }
    }
}
