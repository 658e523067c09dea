//! The manifest of a bundle, `bundle.toml`, as typed values.
//!
//! Knows what an author can write and what it means on its own. Does not know the bundle's files,
//! other bundles, or what an operator grants.

mod component;
mod parse;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use rewake_core::fact::{HookEvent, OnError, PluginKind};
use rewake_core::money::Usd;
use serde_spanned::Spanned;

use super::asks::Asks;
use super::matcher::Matcher;
use super::names::{DataFiles, Name, Use};
use super::tools::ToolPick;
use rewake_toml::{Error, Invalid, Problem, SourceText};

/// The name of the manifest's file in a bundle.
pub const MANIFEST_FILE: &str = "bundle.toml";
/// The only form of the manifest that this version reads.
pub(crate) const SCHEMA: u64 = 1;
/// The contract that this version speaks, as `api` names it.
pub const API: &str = "0.1";

/// A hook's timeout, if its declaration has none.
pub(crate) const HOOK_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// A bundle's manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    source: SourceText,
    /// `bundle.name`.
    pub name: Name,
    /// `bundle.version`.
    pub version: semver::Version,
    /// `bundle.license`, an SPDX expression by convention.
    pub license: Option<String>,
    /// `bundle.use`: other bundles that it needs.
    pub uses: Vec<Spanned<Use>>,
    /// `bundle.files`: what is there for its guests to read, beside what it names elsewhere.
    pub data: Vec<Spanned<DataFiles>>,
    /// `[agent]`; a bundle of tools has none.
    pub agent: Option<Agent>,
    /// `[component.NAME]`, in the order of the file. Hooks run, and verdicts are folded, in it.
    pub components: Vec<Declared>,
    /// `[config.NAME]`.
    pub config: BTreeMap<String, ConfigKey>,
}

/// Defaults of a session that is run from the bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agent {
    /// The system prompt, or the file that holds it.
    pub instructions: Option<Instructions>,
    /// A model by the name that the operator gives it.
    pub model: Option<Spanned<String>>,
    /// The most that the models of a session may cost.
    pub max_usd: Option<Usd>,
    /// Steps of one turn.
    pub max_steps: Option<u32>,
    /// The file that the scripted model plays.
    pub script: Option<Spanned<String>>,
    /// A harness: a component of this bundle, or `scope/name:component`.
    pub harness: Option<Spanned<String>>,
    /// Which tools; none means all of this bundle's own.
    pub tools: Option<Vec<Spanned<ToolPick>>>,
}

/// Where an agent's instructions are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// In the manifest.
    Text(String),
    /// In this file of the bundle.
    File(Spanned<String>),
}

/// A component as the manifest declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name in the bundle.
    pub name: Spanned<String>,
    /// What it says it is; its bytes must agree.
    pub kind: PluginKind,
    /// Its file in the bundle.
    pub source: Spanned<String>,
    /// The command that builds it; run only when the author asks for it.
    pub build: Option<String>,
    /// Where that stands in the manifest.
    pub build_at: Option<Range<usize>>,
    /// What `build` makes, relative to the bundle's folder and perhaps outside of it; copied to `source` when
    /// the author builds. No host ever reads it.
    pub artifact: Option<String>,
    /// The version of a harness's saved state.
    pub state_version: Option<u32>,
    /// What it asks for.
    pub asks: Asks,
    /// What it wants to be limited to; the operator's limits hold besides.
    pub limits: Limits,
    /// When a hook runs; empty for the other kinds, never for a hook.
    pub on: Vec<On>,
}

/// Limits that a component sets itself; none means the operator's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of linear memory.
    pub memory_bytes: Option<u64>,
    /// How long a call may take.
    pub timeout: Option<Duration>,
    /// wasmtime's fuel for one call.
    pub fuel: Option<u64>,
    /// Bytes of one call's result.
    pub output_bytes: Option<u64>,
}

/// When a hook runs, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct On {
    /// The event.
    pub event: HookEvent,
    /// For which of its firings.
    pub matcher: Matcher,
    /// What a trap, a timeout or an invalid answer means.
    pub on_error: OnError,
    /// Whether it runs in the first phase, one after another, and may replace what it sees.
    pub rewrites: bool,
    /// How long it may take.
    pub timeout: Duration,
    /// Where the declaration stands in the manifest.
    pub at: Range<usize>,
}

/// A configuration value that the bundle takes.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigKey {
    /// What a value must be.
    pub value_type: ConfigType,
    /// The value if the operator sets none.
    pub default: Option<serde_json::Value>,
    /// Whether guests never see it, and it is never shown.
    pub sensitive: bool,
    /// Whether a session cannot start without it.
    pub required: bool,
    /// What it is for.
    pub description: Option<String>,
}

/// What a configuration value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigType {
    /// Text.
    String,
    /// A whole number of 64 bits.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
}

impl Manifest {
    /// Reads a manifest. `file` is the name that errors show.
    ///
    /// # Errors
    /// With everything that is wrong with it: broken TOML first, and only if there is none of that,
    /// keys and values.
    pub fn parse(text: &str, file: &str) -> Result<Manifest, Error> {
        parse::manifest(SourceText::new(file, text))
    }

    /// The text it was read from.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// A problem at a place in it.
    pub fn problem(&self, span: Range<usize>, invalid: Invalid) -> Problem {
        self.source.problem(span, invalid)
    }

    /// The files that it names, each with where it does, in the order of the file.
    pub(super) fn files(&self) -> Vec<(FileRole, &Spanned<String>)> {
        let mut files: Vec<_> =
            self.components.iter().map(|component| (FileRole::Component, &component.source)).collect();
        if let Some(agent) = &self.agent {
            files.extend(agent.script.iter().map(|script| (FileRole::Text, script)));
            if let Some(Instructions::File(file)) = &agent.instructions {
                files.push((FileRole::Text, file));
            }
        }
        files.sort_by_key(|(_, file)| file.span().start);
        files
    }
}

/// What a file of a bundle is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileRole {
    Component,
    Text,
}

impl ConfigType {
    /// The word in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            ConfigType::String => "string",
            ConfigType::Integer => "integer",
            ConfigType::Number => "number",
            ConfigType::Boolean => "boolean",
        }
    }

    /// Whether `value` is of this type.
    pub fn accepts(self, value: &serde_json::Value) -> bool {
        match self {
            ConfigType::String => value.is_string(),
            ConfigType::Integer => value.is_i64() || value.is_u64(),
            ConfigType::Number => value.is_number(),
            ConfigType::Boolean => value.is_boolean(),
        }
    }
}
