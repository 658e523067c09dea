//! The bundles' port: what sessions run, by digest. Does not know how a bundle's digest is made.

use rewake_core::ids::{Digest, Timestamp};

use super::Answer;

/// A bundle, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// As the runtime made it, over all that the bundle is.
    pub digest: Digest,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its files by path, sorted.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A bundle in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleName {
    /// Its digest.
    pub digest: Digest,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// When it was first put here.
    pub added_at: Timestamp,
}

/// Bundles by digest; content is kept once, whatever the number of bundles that carry it.
pub trait Bundles {
    /// Keeps a bundle, in one transaction. Putting the same digest again changes nothing.
    ///
    /// # Errors
    /// `Corrupt` if two of its files have the same path.
    fn put_bundle(&self, bundle: Bundle) -> Answer<'_, ()>;

    /// A bundle by digest; none if it is not here.
    ///
    /// # Errors
    /// `Corrupt` if a file's bytes are not those that were put.
    fn bundle<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Bundle>>;

    /// All bundles, the one that was put last first.
    fn list_bundles(&self) -> Answer<'_, Vec<BundleName>>;
}
