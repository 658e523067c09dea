//! The installed bundles' port: which of the bundles that are kept can be named by people and by other
//! bundles. Does not know what a name or a version may look like, nor which version somebody means.

use rewake_core::ids::{Digest, Timestamp};

use super::Answer;

/// A bundle that is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its digest.
    pub digest: Digest,
    /// Where it came from, as people are told.
    pub source: String,
    /// Who installed it.
    pub by: String,
    /// When.
    pub installed_at: Timestamp,
}

/// A bundle to be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// The project it is installed for.
    pub project: String,
    /// Its digest; the bundle is kept here already.
    pub digest: Digest,
    /// Where it comes from, as people are told.
    pub source: String,
    /// Who installs it.
    pub by: String,
    /// The installed one, by its digest, in whose place it comes; none: it comes beside all others.
    pub instead_of: Option<Digest>,
}

/// What is installed, by project: a name may have several versions side by side.
pub trait Installs {
    /// Installs a bundle, in one transaction. Installing what is installed changes nothing.
    ///
    /// # Errors
    /// `NotFound` if the bundle, or the one in whose place it comes, is not here. `Refused` if another bundle
    /// of its name and version is installed and not replaced.
    fn install(&self, install: Install) -> Answer<'_, ()>;

    /// What is installed, by name, then the one that was installed last first.
    fn installed<'a>(&'a self, project: &'a str) -> Answer<'a, Vec<Installed>>;

    /// Takes a bundle out of what is installed, in one transaction. Its content goes with it, unless a
    /// session names it, whatever has become of that, or it is installed for another project.
    ///
    /// # Errors
    /// `NotFound` if it is not installed. `Refused` while a session that has not ended names it.
    fn uninstall<'a>(&'a self, project: &'a str, digest: &'a Digest) -> Answer<'a, ()>;
}
