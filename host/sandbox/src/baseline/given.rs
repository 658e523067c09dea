//! What a session was given after it began: how an import changes what its work is compared with. Knows trees;
//! writes nothing.

use std::collections::BTreeSet;
use std::path::Path;

use rewake_core::ids::Digest;

use super::{Baseline, Thing, Tree};

impl Baseline {
    /// What a session was given that holds nothing but what came from a folder.
    pub(crate) fn of(from: &Path, tree: Tree) -> Baseline {
        Baseline { source: from.canonicalize().ok(), tree }
    }

    /// What a session was given, with what `came` from a folder and stands in `tree` now: that is no work of the
    /// session's. A session that began with no folder has this one from now on.
    pub(crate) fn with(self, from: &Path, came: &BTreeSet<String>, tree: &Tree) -> Baseline {
        let Baseline { source, tree: mut given } = self;
        let is_below_what_came = |path: &str| {
            let above = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
            let mut came = above.filter(|above| came.contains(*above)).filter_map(|above| tree.get(above));
            came.any(|thing| !matches!(thing, Thing::Folder))
        };
        given.retain(|path, _| !is_below_what_came(path));
        given.extend(came.iter().filter_map(|path| Some((path.clone(), tree.get(path)?.clone()))));
        Baseline { source: source.or_else(|| from.canonicalize().ok()), tree: given }
    }
}

/// The digest of a tree: of each path in its order, what stands there, and of that the text of a link, or a file's
/// digest and whether its owner may execute it.
pub(crate) fn digest(tree: &Tree) -> Digest {
    let mut parts: Vec<Vec<u8>> = Vec::with_capacity(tree.len() * 3);
    for (path, thing) in tree {
        parts.push(path.clone().into_bytes());
        let (kind, content) = match thing {
            Thing::Folder => ("folder", Vec::new()),
            Thing::Link(text) => ("link", text.clone().into_bytes()),
            Thing::File { digest, is_executable: false, .. } => ("file", digest.0.to_vec()),
            Thing::File { digest, is_executable: true, .. } => ("program", digest.0.to_vec()),
        };
        parts.extend([kind.as_bytes().to_vec(), content]);
    }
    Digest::of_parts(parts.iter().map(Vec::as_slice))
}
