//! Finds the bundles of a session: from folders and packed files, along their `use`, and from what is
//! installed.
//!
//! Knows how bundles name each other, and which version is meant. Reads folders and files itself; of installed
//! bundles it knows names, versions and digests, and asks anyone who has them for the bundle.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rewake_core::ids::Digest;

use super::limits::{BUNDLES_MAX, COMPONENT_BYTES_MAX};
use super::load::Bundle;
use super::locator::Locator;
use super::names::{Name, Use};
use super::pack;
use super::set::BundleSet;
use rewake_toml::{Error, Invalid, SourceText, nearest, quote, quote_all};

/// What is installed, as far as it is needed to choose.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    versions: BTreeMap<Name, Vec<(semver::Version, Digest)>>,
}

/// Bundles that are being found. Ask [`Gathering::wants`] and [`Gathering::give`] it what it wants, until it
/// wants nothing more.
pub struct Gathering<'a> {
    installed: &'a Catalogue,
    queue: VecDeque<Wanted>,
    /// The true paths of what was read.
    seen: Vec<PathBuf>,
    held: Vec<Held>,
    beside: Vec<Name>,
    /// Whether what was asked for last comes beside the root.
    awaits_beside: bool,
    /// Bytes of a component in a folder.
    component_bytes_max: u64,
}

/// A bundle still to be found, and who asked for it.
struct Wanted {
    locator: Locator,
    by: Option<(SourceText, Range<usize>)>,
}

struct Held {
    bundle: Bundle,
    /// Its folder; none if it was packed or is installed, so that no path leads on from it.
    folder: Option<PathBuf>,
}

/// A bundle that must be of the set, and is not yet.
struct Need {
    name: Name,
    wanted: Vec<semver::VersionReq>,
    /// The digest that would be best.
    pinned: Option<Digest>,
    by: (SourceText, Range<usize>),
}

impl Catalogue {
    /// Of these bundles. What has no name or version of a bundle is left out: nobody can mean it.
    pub fn new<'a>(installed: impl IntoIterator<Item = (&'a str, &'a str, Digest)>) -> Catalogue {
        let mut versions: BTreeMap<Name, Vec<(semver::Version, Digest)>> = BTreeMap::new();
        for (name, version, digest) in installed {
            if let (Ok(name), Ok(version)) = (name.parse(), semver::Version::parse(version)) {
                versions.entry(name).or_default().push((version, digest));
            }
        }
        versions.values_mut().for_each(|versions| versions.sort_by(|a, b| a.0.cmp(&b.0)));
        Catalogue { versions }
    }

    /// The installed bundle that is meant: the pinned one if it will do, else the highest version that does.
    ///
    /// # Errors
    /// With what is installed, and how to install.
    pub fn choose(
        &self,
        name: &Name,
        wanted: &[semver::VersionReq],
        pinned: Option<Digest>,
    ) -> Result<Digest, Invalid> {
        let Some(versions) = self.versions.get(name) else {
            let help = match nearest(name.as_str(), self.versions.keys().map(Name::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "install it with `rewake bundle install`, or give its folder with --with".to_owned(),
            };
            return Err(Invalid::new(format!("the bundle `{name}` is not installed")).help(help));
        };
        let will_do = |version: &semver::Version| wanted.iter().all(|wanted| wanted.matches(version));
        let all = versions.iter().filter(|(version, _)| will_do(version));
        let best = all.max_by_key(|(version, digest)| (Some(*digest) == pinned, version));
        best.map(|(_, digest)| *digest).ok_or_else(|| {
            let there: Vec<String> = versions.iter().map(|(version, _)| version.to_string()).collect();
            let asked: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            let message = format!(
                "the bundle `{name}` is installed in {}, and {} is asked for",
                quote_all(there.iter().map(String::as_str)),
                quote_all(asked.iter().map(String::as_str))
            );
            Invalid::new(message)
                .help("install a version that will do with `rewake bundle install`, or ask for another")
        })
    }
}

impl<'a> Gathering<'a> {
    /// Of the bundle in `root`, those in `with` beside it, and all that they use.
    pub fn new(root: &Locator, with: &[Locator], installed: &'a Catalogue) -> Gathering<'a> {
        let named = std::iter::once(root).chain(with);
        Gathering {
            installed,
            queue: named.map(|locator| Wanted { locator: locator.clone(), by: None }).collect(),
            seen: Vec::new(),
            held: Vec::new(),
            beside: Vec::new(),
            awaits_beside: false,
            component_bytes_max: COMPONENT_BYTES_MAX,
        }
    }

    /// The same, with components of at most so many bytes in folders.
    pub fn within(self, component_bytes_max: u64) -> Gathering<'a> {
        Gathering { component_bytes_max, ..self }
    }

    /// Of a bundle that was read already, from this folder, and all that it uses.
    pub fn of(root: Bundle, folder: &Path, installed: &'a Catalogue) -> Gathering<'a> {
        let mut gathering = Gathering::new(&Locator::default(), &[], installed);
        gathering.queue.clear();
        gathering.seen.extend(folder.canonicalize());
        gathering.hold(root, Some(folder.to_owned()), false);
        gathering
    }

    /// Goes on as far as it can. Returns the installed bundle that is needed next; none if all are there.
    ///
    /// # Errors
    /// If a bundle is malformed, or one that is needed is to be found nowhere.
    pub fn wants(&mut self) -> Result<Option<Digest>, Error> {
        while let Some(wanted) = self.queue.pop_front() {
            if self.held.len() >= BUNDLES_MAX {
                return Err(self.too_many());
            }
            if let Some(digest) = self.find(wanted)? {
                return Ok(Some(digest));
            }
        }
        let Some(need) = self.need() else { return Ok(None) };
        if self.held.len() >= BUNDLES_MAX {
            return Err(self.too_many());
        }
        let chosen = self.installed.choose(&need.name, &need.wanted, need.pinned);
        let (source, span) = need.by;
        self.awaits_beside = false;
        chosen.map(Some).map_err(|invalid| source.problem(span, invalid).into())
    }

    /// Takes the installed bundle that was asked for.
    pub fn give(&mut self, bundle: Bundle) {
        self.hold(bundle, None, self.awaits_beside);
    }

    /// The set of them.
    ///
    /// # Errors
    /// As [`BundleSet::new`]; and if nothing was found.
    pub fn finish(self) -> Result<BundleSet, Error> {
        let mut bundles = self.held.into_iter().map(|held| held.bundle);
        match bundles.next() {
            Some(root) => BundleSet::with_beside(root, bundles.collect(), self.beside),
            None => Err(Error::whole_file("", "no bundle was loaded", None)),
        }
    }

    /// Reads a bundle, or says which installed one it is.
    fn find(&mut self, wanted: Wanted) -> Result<Option<Digest>, Error> {
        let Wanted { locator, by } = wanted;
        let is_beside = by.is_none() && !self.held.is_empty();
        let path = match &locator {
            Locator::Folder(path) | Locator::Packed(path) => path,
            Locator::Installed(name, wanted) => {
                let pinned = self.held.first().and_then(|root| pin(&root.bundle, name));
                let chosen = self.installed.choose(name, std::slice::from_ref(wanted), pinned);
                let digest = chosen.map_err(|invalid| not_installed(&locator, invalid))?;
                self.awaits_beside = is_beside;
                return Ok(Some(digest));
            }
        };
        // Told apart by their true paths, but shown as they were named.
        match path.canonicalize() {
            Ok(path) if self.seen.contains(&path) => return Ok(None),
            Ok(path) => self.seen.push(path),
            Err(error) => return Err(not_found(&locator, by, &error)),
        }
        match &locator {
            Locator::Packed(file) => self.hold(pack::load(file)?, None, is_beside),
            _ => {
                let bundle = Bundle::load_within(path, self.component_bytes_max)?;
                self.hold(bundle, Some(path.clone()), is_beside);
            }
        }
        Ok(None)
    }

    fn hold(&mut self, bundle: Bundle, folder: Option<PathBuf>, is_beside: bool) {
        if is_beside {
            self.beside.push(bundle.name().clone());
        }
        if let Some(folder) = &folder {
            for used in &bundle.manifest().uses {
                if let Use::Path(path) = used.get_ref() {
                    let by = Some((bundle.manifest().source().clone(), used.span()));
                    self.queue.push_back(Wanted { locator: Locator::Folder(folder.join(path)), by });
                }
            }
        }
        self.held.push(Held { bundle, folder });
    }

    /// The first bundle that one of those here uses and that is not here; with all that is asked of it.
    fn need(&self) -> Option<Need> {
        let mut needs = self.held.iter().flat_map(|held| self.needs_of(held));
        let mut first = needs.next()?;
        for other in needs.filter(|other| other.name == first.name) {
            first.wanted.extend(other.wanted);
        }
        Some(first)
    }

    /// What a bundle uses and is not here. A path leads nowhere from a bundle that is in no folder: what
    /// its author's build came to by it stands in its lock.
    fn needs_of(&self, held: &Held) -> Vec<Need> {
        let Held { bundle, folder } = held;
        let manifest = bundle.manifest();
        let is_here = |name: &Name| self.held.iter().any(|held| held.bundle.name() == name);
        let of_root = |name: &Name| self.held.first().and_then(|root| pin(&root.bundle, name));
        let mut needs = Vec::new();
        let mut path = None;
        for used in &manifest.uses {
            match used.get_ref() {
                Use::Path(_) if folder.is_none() => path = path.or(Some(used.span())),
                Use::Named(name, wanted) if !is_here(name) => needs.push(Need {
                    name: name.clone(),
                    wanted: vec![wanted.clone()],
                    pinned: of_root(name).or_else(|| pin(bundle, name)),
                    by: (manifest.source().clone(), used.span()),
                }),
                Use::Path(_) | Use::Named(..) => {}
            }
        }
        let Some((span, lock)) = path.zip(bundle.lock()) else { return needs };
        for (name, locked) in lock.uses.iter().filter(|(name, _)| !is_here(name)) {
            if needs.iter().all(|need| need.name != *name) {
                let compatible = semver::VersionReq::parse(&locked.version.to_string());
                needs.push(Need {
                    name: name.clone(),
                    wanted: compatible.into_iter().collect(),
                    pinned: of_root(name).or(Some(locked.digest)),
                    by: (manifest.source().clone(), span.clone()),
                });
            }
        }
        needs
    }

    fn too_many(&self) -> Error {
        let root = self.held.first().map(|root| root.bundle.manifest().source().name().to_owned());
        let message = format!("more than {BUNDLES_MAX} bundles are used together");
        Error::whole_file(root.unwrap_or_default(), message, None)
    }
}

/// Which bundle of this name another was built with.
fn pin(bundle: &Bundle, name: &Name) -> Option<Digest> {
    bundle.lock()?.uses.get(name).map(|used| used.digest)
}

fn not_installed(locator: &Locator, invalid: Invalid) -> Error {
    let help = match &invalid.help {
        Some(help) => format!("{help}; there is no folder of this name with a bundle.toml either"),
        None => "name a folder, a packed file or an installed bundle".to_owned(),
    };
    Error::whole_file(locator.to_string(), invalid.message, Some(help))
}

fn not_found(locator: &Locator, by: Option<(SourceText, Range<usize>)>, error: &std::io::Error) -> Error {
    let shown = locator.to_string();
    match (by, locator) {
        (Some((source, span)), _) => {
            let message = format!("the used bundle {} cannot be opened: {error}", quote(&shown));
            let help = "correct the path; it is relative to this bundle's folder";
            source.problem(span, Invalid::new(message).help(help)).into()
        }
        (None, Locator::Packed(_)) => {
            let help = "name a file that `rewake bundle pack` made";
            Error::whole_file(
                shown,
                format!("the packed bundle cannot be opened: {error}"),
                Some(help.to_owned()),
            )
        }
        (None, _) => Error::whole_file(
            shown,
            format!("the bundle's folder cannot be opened: {error}"),
            Some(
                "name a folder with a bundle.toml in it, a file that `rewake bundle pack` made, or an \
                 installed bundle as scope/name"
                    .to_owned(),
            ),
        ),
    }
}
