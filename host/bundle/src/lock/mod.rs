//! `bundle.lock`: what a bundle was when its author built it. The digest of each file, what each component
//! imports and which tools it lists, and which other bundles its `use` came to.
//!
//! Knows the file, and whether a bundle is what it says. Asks no component which tools it has: anyone who did
//! hands the answer in.

mod parse;
mod write;

use std::collections::BTreeMap;

use rewake_core::effect::Effect;
use rewake_core::ids::Digest;

use super::digest::shown;
use super::load::Bundle;
use super::names::{Name, Use};
use rewake_core::fact::PluginKind;
use rewake_toml::{Error, Problem, SourceText, quote, quote_all};

/// The name of the lock's file in a bundle.
pub const LOCK_FILE: &str = "bundle.lock";
/// The only form of the lock that this version reads and writes.
const SCHEMA: u64 = 1;

/// What an author's build found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The bundle's name.
    pub name: Name,
    /// Its version.
    pub version: semver::Version,
    /// The digest of every file that the bundle's own digest covers, but for the lock's.
    pub files: BTreeMap<String, Digest>,
    /// Its components, by name.
    pub components: BTreeMap<String, LockedComponent>,
    /// The bundles that it uses, and those that they use, by name.
    pub uses: BTreeMap<Name, LockedUse>,
}

/// What a component was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedComponent {
    /// The digest of its bytes.
    pub digest: Digest,
    /// The version of the plugin contract that it exports.
    pub contract: semver::Version,
    /// What it imports, sorted.
    pub imports: Vec<String>,
    /// The tools that it lists, in its order; none of a hook or a harness.
    pub tools: Vec<ListedTool>,
}

/// A tool as its component lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedTool {
    /// Its name.
    pub name: String,
    /// What a model is told of it.
    pub description: String,
    /// What its author declares.
    pub effect: Effect,
    /// JSON Schema of its input, as the component writes it.
    pub input_schema: String,
}

/// A bundle that a `use` came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedUse {
    /// Its version.
    pub version: semver::Version,
    /// Its digest.
    pub digest: Digest,
}

impl Lock {
    /// Reads a lock. `file` is the name that errors show.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub fn parse(text: &str, file: &str) -> Result<Lock, Error> {
        parse::lock(SourceText::new(file, text))
    }

    /// The lock of a bundle as it is now. `tools` are those of each component that lists any; `used` are the
    /// bundles of its set.
    pub fn of<'a>(
        bundle: &Bundle,
        mut tools: BTreeMap<String, Vec<ListedTool>>,
        used: impl IntoIterator<Item = &'a Bundle>,
    ) -> Lock {
        let files = bundle.files().filter(|(path, _)| *path != LOCK_FILE);
        let components = bundle.components().iter().map(|component| {
            let locked = LockedComponent {
                digest: component.digest,
                contract: component.inspected.contract.clone(),
                imports: component.inspected.imports.clone(),
                tools: tools.remove(component.name()).unwrap_or_default(),
            };
            (component.name().to_owned(), locked)
        });
        let used = used.into_iter().filter(|used| used.name() != bundle.name()).map(|used| {
            let locked = LockedUse { version: used.manifest().version.clone(), digest: used.digest() };
            (used.name().clone(), locked)
        });
        Lock {
            name: bundle.name().clone(),
            version: bundle.manifest().version.clone(),
            files: files.map(|(path, bytes)| (path.to_owned(), Digest::of(bytes))).collect(),
            components: components.collect(),
            uses: used.collect(),
        }
    }

    /// The lock's file. The same lock gives the same text.
    pub fn text(&self) -> String {
        write::text(self)
    }

    /// In what the bundle is not what the lock says, each as a sentence.
    pub(super) fn differences(&self, bundle: &Bundle) -> Vec<String> {
        let mut found = self.files_that_differ(bundle);
        if found.is_empty() {
            found = self.parts_that_differ(bundle);
        }
        found
    }

    fn files_that_differ(&self, bundle: &Bundle) -> Vec<String> {
        let now: BTreeMap<&str, &[u8]> = bundle.files().filter(|(path, _)| *path != LOCK_FILE).collect();
        let since = |path: &str, what: &str| format!("{} {what} since {LOCK_FILE} was written", quote(path));
        let mut found = Vec::new();
        for (path, bytes) in &now {
            match self.files.get(*path) {
                Some(digest) if *digest == Digest::of(bytes) => {}
                Some(_) => found.push(since(path, "changed")),
                None => found.push(since(path, "was added")),
            }
        }
        let gone = self.files.keys().filter(|path| !now.contains_key(path.as_str()));
        found.extend(gone.map(|path| since(path, "was left out")));
        found
    }

    /// What only somebody who edited the lock by hand can have made differ: the files are those it names.
    fn parts_that_differ(&self, bundle: &Bundle) -> Vec<String> {
        let mut found = Vec::new();
        if self.name != *bundle.name() || self.version != bundle.manifest().version {
            let (name, version) = (bundle.name(), &bundle.manifest().version);
            found.push(format!("is of {} {}, and the bundle is {name} {version}", self.name, self.version));
        }
        for component in bundle.components() {
            let Some(locked) = self.components.get(component.name()) else {
                found.push(format!("says nothing of the component {}", quote(component.name())));
                continue;
            };
            let inspected = &component.inspected;
            let what = if locked.digest != component.digest {
                "the digest"
            } else if locked.contract != inspected.contract {
                "the contract"
            } else if locked.imports != inspected.imports {
                "the imports"
            } else if locked.tools.is_empty() == (component.kind() == PluginKind::Tool) {
                "the tools"
            } else {
                continue;
            };
            found.push(format!("says something else of {what} of the component {}", quote(component.name())));
        }
        let extra = self.components.keys().filter(|name| bundle.component(name).is_none());
        found.extend(extra.map(|name| format!("names a component {}, which is not there", quote(name))));
        for used in &bundle.manifest().uses {
            let Use::Named(name, wanted) = used.get_ref() else { continue };
            match self.uses.get(name) {
                Some(locked) if wanted.matches(&locked.version) => {}
                Some(locked) => {
                    found.push(format!("pins {name} {}, and {wanted} is asked for", locked.version));
                }
                None => found.push(format!("pins no version of {name}, which the bundle uses")),
            }
        }
        found
    }

    /// In what the tools that a component lists are not those of the lock, as a sentence.
    pub fn tools_that_differ(&self, component: &str, listed: &[ListedTool]) -> Option<String> {
        let locked = self.components.get(component).map_or(&[][..], |locked| &locked.tools);
        if locked == listed {
            return None;
        }
        let names = |tools: &[ListedTool]| -> Vec<String> { tools.iter().map(|t| t.name.clone()).collect() };
        let (before, now) = (names(locked), names(listed));
        if before != now {
            let all = |names: &[String]| quote_all(names.iter().map(String::as_str));
            return Some(format!("lists {}, and {LOCK_FILE} says {}", all(&now), all(&before)));
        }
        let differ = |(was, is): &(&ListedTool, &ListedTool)| was != is;
        let (was, is) = locked.iter().zip(listed).find(differ)?;
        let what = if was.input_schema != is.input_schema {
            "input schema"
        } else if was.effect != is.effect {
            "effect class"
        } else {
            "description"
        };
        Some(format!("lists {} with another {what} than {LOCK_FILE} says", quote(&is.name)))
    }

    /// What is wrong with the bundles that are used, as far as the lock pins them: `found` are those at hand.
    pub(super) fn unlike_pinned<'a>(
        &self,
        source: &SourceText,
        found: impl Fn(&Name) -> Option<&'a Bundle>,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (name, pinned) in &self.uses {
            let Some(bundle) = found(name).filter(|bundle| bundle.digest() != pinned.digest) else {
                continue;
            };
            let message = format!(
                "uses {name} as it was built with, {} ({}), and here it is {} ({})",
                pinned.version,
                shown(pinned.digest),
                bundle.manifest().version,
                shown(bundle.digest())
            );
            let help = format!(
                "give the one that was built with: `rewake bundle install` it; or, if this bundle is yours, \
                 take the other in with `rewake bundle build`, which writes {LOCK_FILE} again"
            );
            problems.push(Problem { file: source.name().to_owned(), place: None, message, help: Some(help) });
        }
        problems
    }
}
