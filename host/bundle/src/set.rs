//! The bundles of a session together: the one it is run from and all that it uses.
//!
//! Knows what must hold between them. Does not find them: gather.rs does.

use rewake_core::fact::PluginKind;
use serde_spanned::Spanned;

use super::digest::shown;
use super::load::{Bundle, Component};
use super::names::{Name, Use};
use super::tools::{self, Chosen, Offer, ToolPick};
use rewake_toml::{Error, Invalid, Problem, nearest, quote, quote_all};

/// Bundles with distinct names; the first is the root, whose agent a session runs.
#[derive(Clone, Debug)]
pub struct BundleSet {
    /// Never empty.
    bundles: Vec<Bundle>,
    /// Those that were given beside the root: all of their tools are picked.
    beside: Vec<Name>,
}

impl BundleSet {
    /// The set of these bundles. The same bundle twice counts once. Uses by path are not followed:
    /// anyone who kept the bundles kept those too.
    ///
    /// # Errors
    /// If one name stands for two different bundles, or a bundle used by name is missing or of
    /// another version, or not the one that the root's lock pins.
    pub fn new(root: Bundle, others: Vec<Bundle>) -> Result<BundleSet, Error> {
        BundleSet::with_beside(root, others, Vec::new())
    }

    /// The same; all tools of those `beside` the root are picked.
    pub(super) fn with_beside(
        root: Bundle,
        others: Vec<Bundle>,
        beside: Vec<Name>,
    ) -> Result<BundleSet, Error> {
        let mut problems = Vec::new();
        let mut bundles = vec![root];
        for bundle in others {
            match bundles.iter().find(|known| known.name() == bundle.name()) {
                Some(known) if known.digest() == bundle.digest() => {}
                Some(known) => problems.push(two_of(known, &bundle)),
                None => bundles.push(bundle),
            }
        }
        let set = BundleSet { bundles, beside };
        problems.extend(set.bundles.iter().flat_map(|bundle| set.unmet_uses(bundle)));
        if let Some(lock) = set.root().lock() {
            problems
                .extend(lock.unlike_pinned(set.root().manifest().source(), |name| set.get(name.as_str())));
        }
        Error::unless_none(problems, Some(set))
    }

    /// The bundle that the session is run from.
    pub fn root(&self) -> &Bundle {
        &self.bundles[0]
    }

    /// All of them, the root first.
    pub fn bundles(&self) -> &[Bundle] {
        &self.bundles
    }

    /// A bundle by name.
    pub fn get(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.name().as_str() == name)
    }

    /// Every component of a kind, in the order of the bundles and of their manifests.
    pub fn components(&self, kind: PluginKind) -> impl Iterator<Item = (&Bundle, &Component)> {
        self.bundles.iter().flat_map(move |bundle| {
            bundle
                .components()
                .iter()
                .filter(move |component| component.kind() == kind)
                .map(move |found| (bundle, found))
        })
    }

    /// The harness that the root's agent names: a component of the root, else of a bundle beside
    /// it. If it names none, the only harness there is.
    ///
    /// # Errors
    /// If there is no such harness, or it is not clear which is meant.
    pub fn harness(&self) -> Result<(&Bundle, &Component), Error> {
        let harnesses: Vec<(&Bundle, &Component)> = self.components(PluginKind::Harness).collect();
        let all = || {
            let names: Vec<String> =
                harnesses.iter().map(|(bundle, found)| full_name(bundle, found)).collect();
            quote_all(names.iter().map(String::as_str))
        };
        let manifest = self.root().manifest();
        let Some(wanted) = manifest.agent.as_ref().and_then(|agent| agent.harness.as_ref()) else {
            return match harnesses.as_slice() {
                [only] => Ok(*only),
                [] => Err(Error::whole_file(
                    manifest.source().name(),
                    "no harness is here to run",
                    Some("run it beside an agent: `rewake run AGENT --with THIS`; or add a component of kind \"harness\"".to_owned()),
                )),
                _ => Err(Error::whole_file(
                    manifest.source().name(),
                    format!("several harnesses are here: {}", all()),
                    Some("say which in [agent]: harness = \"scope/name:component\"".to_owned()),
                )),
            };
        };
        let refuse = |message: String, help: String| {
            Err(manifest.problem(wanted.span(), Invalid::new(message).help(help)).into())
        };
        let name = wanted.get_ref().as_str();
        let matched: Vec<(&Bundle, &Component)> = match name.contains(':') {
            true => {
                harnesses.iter().copied().filter(|(bundle, found)| full_name(bundle, found) == name).collect()
            }
            false => harnesses.iter().copied().filter(|(_, found)| found.name() == name).collect(),
        };
        match matched.as_slice() {
            [first, ..] if first.0.name() == self.root().name() => Ok(*first),
            [only] => Ok(*only),
            [] => {
                let known = harnesses.iter().map(|(_, found)| found.name());
                let help = match nearest(name, known) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("harnesses here: {}", all()),
                };
                refuse(format!("no harness {} is here", quote(name)), help)
            }
            _ => refuse(
                format!("several harnesses are named {}: {}", quote(name), all()),
                "write \"scope/name:component\"".to_owned(),
            ),
        }
    }

    /// The tools of a session out of what the components listed: those that the root's agent picks, and
    /// all of the bundles that were given beside the root.
    ///
    /// # Errors
    /// As [`tools::select`].
    pub fn select_tools(&self, offers: &[Offer]) -> Result<Vec<Chosen>, Error> {
        let manifest = self.root().manifest();
        let own = self.root().name();
        let picks = manifest.agent.as_ref().and_then(|agent| agent.tools.clone());
        let brings = |name: &&Name| offers.iter().any(|offer| offer.bundle == **name);
        let mut picks = picks.unwrap_or_else(|| all_of([own].into_iter().filter(brings)));
        picks.extend(all_of(self.beside.iter().filter(brings)));
        tools::select(Some(&picks), manifest.source(), own, offers)
    }

    fn unmet_uses(&self, bundle: &Bundle) -> Vec<Problem> {
        let unmet = bundle.manifest().uses.iter().filter_map(|used| {
            let Use::Named(name, wanted) = used.get_ref() else { return None };
            let invalid = self.unmet(name, wanted)?;
            Some(bundle.manifest().problem(used.span(), invalid))
        });
        unmet.collect()
    }

    fn unmet(&self, name: &Name, wanted: &semver::VersionReq) -> Option<Invalid> {
        let Some(found) = self.get(name.as_str()) else {
            let known = self.bundles.iter().map(|bundle| bundle.name().as_str());
            let help = match nearest(name.as_str(), known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "give it too: by its path in `use`, or beside this bundle when the session is made"
                    .to_owned(),
            };
            return Some(Invalid::new(format!("the used bundle `{name}` is not here")).help(help));
        };
        let version = &found.manifest().version;
        if wanted.matches(version) {
            return None;
        }
        let message = format!("`{name}` is here in version {version}, and {wanted} is asked for");
        Some(Invalid::new(message).help("give the bundle in that version, or change the one asked for"))
    }
}

/// Picks that nobody wrote, and so stand nowhere.
fn all_of<'a>(names: impl Iterator<Item = &'a Name>) -> Vec<Spanned<ToolPick>> {
    names.map(|name| Spanned::new(0..0, ToolPick::AllOf(name.clone()))).collect()
}

fn full_name(bundle: &Bundle, component: &Component) -> String {
    format!("{}:{}", bundle.name(), component.name())
}

fn two_of(first: &Bundle, second: &Bundle) -> Problem {
    Problem {
        file: second.manifest().source().name().to_owned(),
        place: None,
        message: format!("is a second, different bundle named `{}`", second.name()),
        help: Some(format!(
            "the first is {} ({}), and this is {}: keep one of them",
            first.manifest().source().name(),
            shown(first.digest()),
            shown(second.digest())
        )),
    }
}
