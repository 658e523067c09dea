//! What pins a bundle: one digest over the digests of its files. Knows bytes, not what they mean.

use rewake_core::ids::Digest;

/// Sets a bundle's digest apart from that of any other list; a new form of the list needs a new one.
const BUNDLE_DOMAIN: &[u8] = b"rewake bundle 1";

/// The digest of a bundle: of the domain and then, for each file by path, its path and its digest,
/// each with its length before it (8 bytes, little-endian).
pub(super) fn of_bundle<'a>(sorted: impl IntoIterator<Item = (&'a str, Digest)>) -> Digest {
    let files: Vec<(&str, Digest)> = sorted.into_iter().collect();
    assert!(files.is_sorted_by(|a, b| a.0 < b.0), "a bundle's files must be listed in order, each once");
    let parts = files.iter().flat_map(|(path, digest)| [path.as_bytes(), digest.0.as_slice()]);
    Digest::of_parts(std::iter::once(BUNDLE_DOMAIN).chain(parts))
}

/// A digest as people see it.
pub(super) fn shown(digest: Digest) -> String {
    format!("blake3:{digest}")
}
