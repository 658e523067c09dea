//! The operator's rules: `rewake.toml`. Which directories bundles can ask for, what is allowed to which
//! bundle, values of configuration, hooks of every session, and bounds.
//!
//! Knows the file and what it says. What a session makes of it is decided in `plan.rs` and `grants.rs`.
//! Values may be secrets: nothing here shows one, not even in an error about the file.

mod allow;
mod file;
mod models;
mod parse;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rewake_core::fact::{Created, PluginKind};
use rewake_core::grant::{Access, FsSource, Scheme};
use rewake_core::ids::Digest;
use rewake_core::limits::JournalLimits;
use rewake_egress::CertificateDer;

use crate::grants::{Vouched, of_session};
use crate::limits::CompileLimits;
use rewake_core::grant::HostPattern;
use rewake_egress::{HttpLimits, Secret, Secrets, authorities};
use rewake_toml::{Error, Invalid, SourceText};

pub use allow::{allowances, append_allow};
pub use file::RulesFile;
pub use file::Watch;
pub use models::{KeySource, Model, Provider, Thinking};
pub use value::{Unset, exposed, values};

/// The file in the data folder that is read if no other is named.
pub const RULES_FILE: &str = "rewake.toml";
/// Bytes of a file with authorities.
const CA_BYTES_MAX: u64 = 4 << 20;

/// What the operator's file says. Without a file it says nothing, and nothing is allowed.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Where the file is, or would be.
    pub file: PathBuf,
    source: SourceText,
    /// Directories of this machine that bundles can ask for, by the name they ask with.
    pub dirs: BTreeMap<String, HostDir>,
    /// What is allowed to which bundle.
    pub allow: Vec<Allow>,
    config: BTreeMap<String, BTreeMap<String, Setting>>,
    /// Hooks that every session gets, first.
    pub hooks: Vec<OperatorHook>,
    /// Bounds on what guests may consume.
    pub limits: Limits,
    /// Models, by the name that agents use.
    pub models: BTreeMap<String, Model>,
    /// Authorities that are trusted beside those that are built in. Read when the host is opened.
    pub ca_file: Option<CaFile>,
    /// The trust key, where several machines share one.
    pub trust_key: Option<PathBuf>,
    /// The file is there and is not used, because this machine does not know its data folder.
    pub is_ignored: bool,
    /// What is unsafe about the file, for anyone who can change that.
    pub warnings: Vec<String>,
}

/// A file with certificates of authorities, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaFile {
    /// Where it is.
    pub path: PathBuf,
    span: Range<usize>,
}

/// A directory of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDir {
    /// Where it is.
    pub path: PathBuf,
    /// What may be done there at most.
    pub access: Access,
}

/// What is allowed to one bundle, as its digest pins it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// Its name.
    pub bundle: String,
    /// Its digest.
    pub digest: Digest,
    /// What it may have of what it asks for.
    pub asks: Vec<AllowedAsk>,
}

/// One thing that is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedAsk {
    /// Directories with this behind them: `fs:workspace:ro`.
    Fs(FsSource, Access),
    /// Requests to these hosts: `http:api.example.com:GET`.
    Http(Scheme, HostPattern, String),
    /// Calls of this model: `model:fast`; with `*`, of any model of the rules.
    Model(String),
}

impl std::str::FromStr for AllowedAsk {
    type Err = Invalid;

    /// Reads an ask as rules write it: `fs:workspace:ro`.
    fn from_str(text: &str) -> Result<AllowedAsk, Invalid> {
        parse::allowed(text)
    }
}

/// A hook that every session gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorHook {
    /// The bundle that has it.
    pub bundle: HookBundle,
    /// The digest that the bundle must have. Without one, a bundle that is named is the one that is installed.
    pub digest: Option<Digest>,
    /// Its component.
    pub component: String,
    span: Range<usize>,
}

/// Where the bundle of a hook is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookBundle {
    /// In this folder.
    Path(PathBuf),
    /// Among the bundles of the session, under this name: the one with the rule's digest, else the installed one. A
    /// session without a bundle of the name runs without the hook.
    Named(String),
}

/// Bounds on what one call of a guest may consume, by kind. A component may set itself less, never more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Of tools.
    pub tool: Bounds,
    /// Of hooks.
    pub hook: Bounds,
    /// Of harnesses.
    pub harness: Bounds,
    /// Of each session's workspace.
    pub workspace: FolderBounds,
    /// Of the scratch folder of each call.
    pub scratch: FolderBounds,
    /// Of what guests write to a session's journal.
    pub journal: JournalLimits,
    /// Of compiling a component. Read when the host is opened.
    pub compile: CompileBounds,
    /// Of a guest's requests. Read when the host is opened.
    pub http: HttpBounds,
}

/// What compiling a component may cost; none: this version's own bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompileBounds {
    /// Bytes of the component.
    pub component_bytes_max: Option<u64>,
    /// Bytes of memory of the process that compiles.
    pub memory_bytes_max: Option<u64>,
    /// Processor time, all threads together.
    pub cpu_max: Option<Duration>,
}

/// What a request may carry and take; none: this version's own bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HttpBounds {
    /// Bytes of a request's body.
    pub request_bytes_max: Option<u64>,
    /// Bytes of a response's body.
    pub response_bytes_max: Option<u64>,
    /// Time for all of it.
    pub timeout_max: Option<Duration>,
}

impl CompileBounds {
    /// The bounds in force: the operator's, else the others.
    pub fn over(&self, own: CompileLimits) -> CompileLimits {
        let cpu_s_max = self.cpu_max.map_or(own.cpu_s_max, |time| time.as_secs().max(1));
        CompileLimits {
            component_bytes_max: self.component_bytes_max.unwrap_or(own.component_bytes_max),
            cpu_s_max,
            memory_bytes_max: self.memory_bytes_max.unwrap_or(own.memory_bytes_max),
            // A process that gives way has a fifth of a processor, or more.
            time_ms_max: match self.cpu_max {
                Some(_) => own.time_ms_max.max(cpu_s_max.saturating_mul(5_000)),
                None => own.time_ms_max,
            },
        }
    }
}

impl HttpBounds {
    /// The bounds in force: the operator's, else the others.
    pub fn over(&self, own: HttpLimits) -> HttpLimits {
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        HttpLimits {
            request_bytes_max: self.request_bytes_max.map_or(own.request_bytes_max, bytes),
            response_bytes_max: self.response_bytes_max.map_or(own.response_bytes_max, bytes),
            total: self.timeout_max.unwrap_or(own.total),
            ..own
        }
    }
}

/// What a folder of guests' files may hold; none: this version's own bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FolderBounds {
    /// Bytes of its files.
    pub bytes_max: Option<u64>,
    /// Files, folders and links.
    pub files_max: Option<u64>,
}

/// Bounds of one kind of guest; none: this version's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of linear memory.
    pub memory_bytes_max: Option<u64>,
    /// Wall time of a call.
    pub timeout_max: Option<Duration>,
    /// Fuel of a call.
    pub fuel_max: Option<u64>,
    /// Bytes of a call's result.
    pub output_bytes_max: Option<u64>,
}

/// A value of a bundle's configuration, and where it is written. Its value is never shown.
#[derive(Clone, PartialEq)]
struct Setting {
    from: From,
    span: Range<usize>,
}

#[derive(Clone, PartialEq)]
enum From {
    /// The file itself.
    Here(serde_json::Value),
    /// An environment variable.
    Env(String),
    /// A file's content, without the line feed at its end.
    File(PathBuf),
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Setting(…)")
    }
}

impl Rules {
    /// No rules: nothing is allowed.
    pub fn none(file: PathBuf) -> Rules {
        Rules {
            source: SourceText::new(file.display().to_string(), ""),
            file,
            dirs: BTreeMap::new(),
            allow: Vec::new(),
            config: BTreeMap::new(),
            hooks: Vec::new(),
            limits: Limits::default(),
            models: BTreeMap::new(),
            ca_file: None,
            trust_key: None,
            is_ignored: false,
            warnings: Vec::new(),
        }
    }

    /// Reads a text as that of a file; paths in it are relative to the file's folder.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn parse(text: &str, file: &Path) -> Result<Rules, Error> {
        parse::rules(text, file)
    }

    /// What is allowed to a bundle; none: the rules do not name it.
    pub fn allowed(&self, bundle: &str, digest: &Digest) -> Option<Vec<&AllowedAsk>> {
        let mut named =
            self.allow.iter().filter(|allow| allow.bundle == bundle && allow.digest == *digest).peekable();
        named.peek()?;
        Some(named.flat_map(|allow| &allow.asks).collect())
    }

    /// A problem with what is written about a hook.
    pub fn hook_problem(&self, hook: &OperatorHook, message: String, help: &str) -> Error {
        let invalid = rewake_toml::Invalid::new(message).help(help);
        self.source.problem(hook.span.clone(), invalid).into()
    }

    /// The authorities that are trusted beside those that are built in.
    ///
    /// # Errors
    /// The file that holds them cannot be read, or holds something else.
    pub fn authorities(&self) -> Result<Vec<CertificateDer<'static>>, Error> {
        let Some(file) = &self.ca_file else { return Ok(Vec::new()) };
        let read = value::read_file(&file.path, CA_BYTES_MAX).and_then(|bytes| authorities(&bytes));
        read.map_err(|why| {
            let message = format!("the certificates in {} cannot be used: {why}", file.path.display());
            let help = "name a PEM file of the authorities that certify the servers";
            self.source.problem(file.span.clone(), Invalid::new(message).help(help)).into()
        })
    }

    /// Whether a session with these pins runs by them as by others: with the same grants, the same directories
    /// behind them, the same models, and the same values of configuration.
    pub fn is_same_for(&self, created: &Created, vouched: &Vouched, other: &Rules) -> bool {
        let values = |rules: &Rules, bundle: &str| -> Vec<(String, From)> {
            let settings = rules.config.get(bundle).into_iter().flatten();
            settings.map(|(key, setting)| (key.clone(), setting.from.clone())).collect()
        };
        of_session(self, created, vouched) == of_session(other, created, vouched)
            && self.dirs == other.dirs
            && self.models == other.models
            && created.bundles.iter().all(|pin| values(self, &pin.name) == values(other, &pin.name))
    }

    fn setting(&self, bundle: &str, key: &str) -> Option<&Setting> {
        self.config.get(bundle)?.get(key)
    }
}

impl Limits {
    /// Those of a kind.
    pub fn of(&self, kind: PluginKind) -> Bounds {
        match kind {
            PluginKind::Tool => self.tool,
            PluginKind::Hook => self.hook,
            PluginKind::Harness => self.harness,
        }
    }
}

/// Secrets are read when they are used, from where the rules say that they are.
impl Secrets for Rules {
    fn secret(&self, bundle: &str, key: &str) -> Option<Secret> {
        let text = value::text(self.setting(bundle, key)?).ok()?;
        (!text.is_empty()).then(|| Secret::new(text))
    }
}
