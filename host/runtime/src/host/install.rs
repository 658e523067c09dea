//! Bundles by name: what is installed, which of it a session is made of, and putting bundles in and out.
//! Knows the store's port and asks components what they list; approves nothing: anyone who installs does.

use rewake_core::ids::Digest;
use rewake_store::{self as store, Install, Installed, Store};

use super::{Host, HostError};
use crate::plan::{NewSession, PlanError};
use crate::workbench::Workbench;
use crate::{PROJECT, plan};
use rewake_bundle::{Bundle, BundleSet, Catalogue, Gathering, Locator, Name, PluginKind, Use, require_lock};
use rewake_policy::grants::{self, Asked};
use rewake_toml::Error;

/// A bundle that could be installed, tried in the sandbox.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The bundle.
    pub bundle: Bundle,
    /// What its components ask for, and what the operator's rules leave of it.
    pub asked: Vec<Asked>,
    /// Whether the operator's rules name it; then they decide, and nobody is asked.
    pub is_ruled: bool,
    /// What is installed under its name.
    pub installed: Vec<Installed>,
    /// Bundles that it uses and that are not installed in a version that will do.
    pub missing: Vec<String>,
}

impl Host {
    /// One bundle, from wherever it is.
    ///
    /// # Errors
    /// If it is not as it must be, or not to be found.
    pub async fn find(&self, locator: &Locator) -> Result<Bundle, HostError> {
        find(self.0.store.as_ref(), locator).await
    }

    /// Tries a bundle: compiles its components, asks them for their tools, which must be those of its lock,
    /// and sees what it asks for. Installs nothing.
    ///
    /// # Errors
    /// If it has no lock, or a component of it is not as it must be.
    pub async fn candidate(&self, bundle: Bundle) -> Result<Candidate, HostError> {
        require_lock(&bundle).map_err(PlanError::Bundle)?;
        let rules = self.rules()?;
        let bench = Workbench { components: self.0.components.clone() };
        let mut asked = Vec::new();
        for component in bundle.components() {
            match component.kind() {
                PluginKind::Tool => drop(bench.tools(&bundle, component).await?),
                PluginKind::Hook | PluginKind::Harness => {
                    plan::ready(&self.0.components, &bundle, component).await?
                }
            }
            asked.extend(grants::would_get(&rules, &bundle, component));
        }
        let all = self.installed().await?;
        let missing = missing(&bundle, &catalogue_of(&all));
        Ok(Candidate {
            is_ruled: rules.allowed(bundle.name().as_str(), &bundle.digest()).is_some(),
            installed: all.into_iter().filter(|one| one.name == bundle.name().as_str()).collect(),
            asked,
            missing,
            bundle,
        })
    }

    /// What is installed, by name.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn installed(&self) -> Result<Vec<Installed>, HostError> {
        Ok(self.0.store.installed(PROJECT).await?)
    }

    /// Installs a bundle; `instead_of` an installed one, if that is given.
    ///
    /// # Errors
    /// If another bundle of its name and version is installed and not replaced.
    pub async fn install(
        &self,
        bundle: &Bundle,
        source: &str,
        by: &str,
        instead_of: Option<Digest>,
    ) -> Result<(), HostError> {
        self.0.store.put_bundle(kept(bundle)).await?;
        let install = Install {
            project: PROJECT.to_owned(),
            digest: bundle.digest(),
            source: source.to_owned(),
            by: by.to_owned(),
            instead_of,
        };
        Ok(self.0.store.install(install).await?)
    }

    /// Takes a bundle out of what is installed.
    ///
    /// # Errors
    /// If it is not installed, or a session that has not ended names it.
    pub async fn uninstall(&self, digest: &Digest) -> Result<(), HostError> {
        Ok(self.0.store.uninstall(PROJECT, digest).await?)
    }

    /// What the components of a session would ask for, and what of it would be granted. Creates nothing.
    ///
    /// # Errors
    /// As [`Host::create`].
    pub async fn asks(&self, new: &NewSession) -> Result<Vec<Asked>, HostError> {
        Ok(self.plan(&self.rules()?, new).await?.asked)
    }

    /// The bundles that a session is made of.
    pub(super) async fn gather(&self, new: &NewSession) -> Result<BundleSet, HostError> {
        let catalogue = catalogue(self.0.store.as_ref()).await?;
        let gathering = Gathering::new(&new.bundle, &new.with, &catalogue);
        let within = gathering.within(self.0.components.component_bytes_max());
        complete(self.0.store.as_ref(), within).await
    }
}

/// What is installed in a store, to choose from.
///
/// # Errors
/// If the store cannot be read.
pub async fn catalogue(store: &dyn Store) -> Result<Catalogue, HostError> {
    Ok(catalogue_of(&store.installed(PROJECT).await?))
}

fn catalogue_of(installed: &[Installed]) -> Catalogue {
    Catalogue::new(installed.iter().map(|one| (one.name.as_str(), one.version.as_str(), one.digest)))
}

/// The bundle in `root`, those in `with` beside it, and all that they use: from folders, packed files and what
/// is installed in a store.
///
/// # Errors
/// If one is not as it must be, or not to be found.
pub async fn gather(store: &dyn Store, root: &Locator, with: &[Locator]) -> Result<BundleSet, HostError> {
    let catalogue = catalogue(store).await?;
    complete(store, Gathering::new(root, with, &catalogue)).await
}

/// Gives a gathering what it wants of the installed bundles of a store.
///
/// # Errors
/// As [`gather`].
pub async fn complete(store: &dyn Store, mut gathering: Gathering<'_>) -> Result<BundleSet, HostError> {
    while let Some(digest) = gathering.wants().map_err(PlanError::Bundle)? {
        gathering.give(from_store(store, &digest).await?);
    }
    Ok(gathering.finish().map_err(PlanError::Bundle)?)
}

/// One bundle, from wherever it is, without those that it uses.
///
/// # Errors
/// As [`gather`].
pub async fn find(store: &dyn Store, locator: &Locator) -> Result<Bundle, HostError> {
    match locator {
        Locator::Folder(_) | Locator::Packed(_) => Ok(locator.read().map_err(PlanError::Bundle)?),
        Locator::Installed(..) => {
            let catalogue = catalogue(store).await?;
            let mut gathering = Gathering::new(locator, &[], &catalogue);
            match gathering.wants().map_err(PlanError::Bundle)? {
                Some(digest) => from_store(store, &digest).await,
                None => Err(HostError::Machine(format!("{locator} is not to be found"))),
            }
        }
    }
}

/// A bundle as a store keeps it.
async fn from_store(store: &dyn Store, digest: &Digest) -> Result<Bundle, HostError> {
    let Some(kept) = store.bundle(digest).await? else {
        return Err(HostError::Machine(format!(
            "the bundle blake3:{digest} is installed and not in the store"
        )));
    };
    let label = format!("{}@{}", kept.name, kept.version);
    let files = kept.files.into_iter().map(|(path, bytes)| (path, bytes.into())).collect();
    let bundle = Bundle::from_kept(&label, files).map_err(PlanError::Bundle)?;
    if bundle.digest() != *digest {
        let why = format!("its digest is blake3:{}, and it was kept as blake3:{digest}", bundle.digest());
        return Err(PlanError::Bundle(Error::whole_file(label, why, None)).into());
    }
    Ok(bundle)
}

/// What a bundle uses and would not find among what is installed.
fn missing(bundle: &Bundle, catalogue: &Catalogue) -> Vec<String> {
    let is_there = |name: &Name, wanted: &semver::VersionReq| {
        catalogue.choose(name, std::slice::from_ref(wanted), None).is_ok()
    };
    let named = bundle.manifest().uses.iter().filter_map(|used| match used.get_ref() {
        Use::Named(name, wanted) => Some((name.clone(), wanted.clone())),
        Use::Path(_) => None,
    });
    let locked = bundle.lock().into_iter().flat_map(|lock| &lock.uses).filter_map(|(name, used)| {
        Some((name.clone(), semver::VersionReq::parse(&used.version.to_string()).ok()?))
    });
    let mut missing: Vec<String> = Vec::new();
    for (name, wanted) in named.chain(locked).filter(|(name, wanted)| !is_there(name, wanted)) {
        if !missing.iter().any(|known| known.split('@').next() == Some(name.as_str())) {
            missing.push(format!("{name}@{wanted}"));
        }
    }
    missing
}

/// A bundle, as stores keep it.
pub(super) fn kept(bundle: &Bundle) -> store::Bundle {
    store::Bundle {
        digest: bundle.digest(),
        name: bundle.name().as_str().to_owned(),
        version: bundle.manifest().version.to_string(),
        files: bundle.files().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect(),
    }
}
