//! A bundle's own tests: cases in `tests/*.toml` beside its manifest, run in the sandbox that sessions use, each
//! in a data folder of its own. docs/testing-bundles.md says what can be written.
//!
//! Start with [`Suite`]. It runs one case at a time; anyone who asks shows what came of it.

mod alone;
mod bed;
mod cases;
mod journal;
mod parse;
mod report;
mod session;
mod transcript;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rewake_bundle::{Bundle, Locator};
use rewake_runtime::PROJECT;
use rewake_store::{self as store, Install, Store, StoreError};
use rewake_toml::{Error, Invalid};
use thiserror::Error;

use self::bed::Bed;
pub use self::bed::Ground;
pub use self::cases::Case;
use self::cases::Kind;
pub use self::report::{Finding, Report, junit};

/// The folder of a bundle's tests.
pub const TESTS: &str = "tests";
/// Bytes of a file of cases.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Files of cases.
const FILES_MAX: usize = 1_000;

/// How cases are run.
#[derive(Clone)]
pub struct Options {
    /// What all runs share.
    pub ground: Ground,
    /// A transcript that differs is written, not reported.
    pub bless: bool,
    /// Sessions are run again with their host cut off after every append.
    pub cut: bool,
    /// Sessions are replayed, and compared.
    pub replay: bool,
}

/// Why there are no cases to be run.
#[derive(Debug, Error)]
pub enum SuiteError {
    /// The bundle, or a file of cases, is not as it must be.
    #[error(transparent)]
    Written(#[from] Error),
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What is installed cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A bundle and its cases.
pub struct Suite {
    folder: PathBuf,
    bundle: Bundle,
    cases: Vec<Case>,
    /// The bundles that are installed, for those that the bundle uses by name.
    installed: Vec<store::Bundle>,
}

impl Suite {
    /// Reads the bundle in a folder, and its cases: by file, then by place. `known` is the store that knows what
    /// is installed.
    ///
    /// # Errors
    /// If the bundle or a file of cases is not as it must be.
    pub async fn open(folder: &Path, known: Option<&dyn Store>) -> Result<Suite, SuiteError> {
        let bundle = Bundle::load(folder)?;
        let mut cases = Vec::new();
        for file in files(&folder.join(TESTS))? {
            let text = read(&file)?;
            let beside = file.parent().unwrap_or(folder);
            cases.extend(parse::cases(&file.display().to_string(), &text, beside)?);
        }
        let mut installed = Vec::new();
        if let Some(known) = known {
            for one in known.installed(PROJECT).await? {
                installed.extend(known.bundle(&one.digest).await?);
            }
        }
        Ok(Suite { folder: folder.to_owned(), bundle, cases, installed })
    }

    /// The bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Its cases.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Runs a case.
    pub async fn run(&self, options: &Options, case: &Case) -> Report {
        let since = Instant::now();
        let mut notes = Vec::new();
        let findings = match &case.kind {
            Kind::Call(call) => alone::call(self, options, case, call).await,
            Kind::Hook(hook) => alone::hook(self, options, case, hook).await,
            Kind::Session(session) => session::run(self, options, case, session, &mut notes).await,
        };
        let place = format!("{}:{}", case.file, case.line);
        let (kind, name) = (case.kind.word(), case.name.clone());
        Report { kind, name, place, findings, notes, took: since.elapsed() }
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    /// A bundle as a case names it: by a path from this bundle's folder on, or by the name of an installed one.
    fn locate(&self, name: &str) -> Result<Locator, Finding> {
        let wrong = |invalid: Invalid| Finding::of(invalid.to_string());
        Ok(match Locator::parse(OsStr::new(name)).map_err(wrong)? {
            Locator::Folder(path) => Locator::Folder(self.folder.join(path)),
            Locator::Packed(path) => Locator::Packed(self.folder.join(path)),
            installed @ Locator::Installed(..) => installed,
        })
    }

    /// Installs what is installed into a store of a case's own.
    async fn stock(&self, bed: &Bed) -> Result<(), Finding> {
        for bundle in &self.installed {
            let install = Install {
                project: PROJECT.to_owned(),
                digest: bundle.digest,
                source: "bundle test".to_owned(),
                by: "author".to_owned(),
                instead_of: None,
            };
            let stocked = async {
                bed.store.put_bundle(bundle.clone()).await?;
                bed.store.install(install).await
            };
            stocked.await.map_err(|error: StoreError| Finding::of(error.to_string()))?;
        }
        Ok(())
    }
}

/// The files of cases, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, SuiteError> {
    let io = |source| SuiteError::Io { path: folder.to_owned(), source };
    let found = match fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let mut files = Vec::new();
    for entry in found {
        let path = entry.map_err(io)?.path();
        if path.extension() == Some(OsStr::new("toml")) {
            files.push(path);
        }
    }
    if files.len() > FILES_MAX {
        let message = format!("holds more than {FILES_MAX} files of cases");
        return Err(Error::whole_file(folder.display().to_string(), message, None).into());
    }
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<String, SuiteError> {
    let io = |source| SuiteError::Io { path: file.to_owned(), source };
    if fs::metadata(file).map_err(io)?.len() > FILE_BYTES_MAX {
        let message = format!("is larger than {FILE_BYTES_MAX} bytes");
        return Err(Error::whole_file(file.display().to_string(), message, None).into());
    }
    let text = fs::read(file).map_err(io)?;
    String::from_utf8(text).map_err(|_| {
        let help = Some("save it as UTF-8".to_owned());
        Error::whole_file(file.display().to_string(), "is not UTF-8 text", help).into()
    })
}
