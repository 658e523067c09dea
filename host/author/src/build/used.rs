//! The bundles that a bundle uses, found for its lock: along the paths of `use`, and among what is installed.
//! Which version is meant is the runtime's to say.

use std::path::Path;

use rewake_bundle::{Bundle, Gathering};
use rewake_runtime::{HostError, host};
use rewake_store::Store;

/// All bundles of the set whose root stands in this folder, but for the root. `root` was read without its
/// lock, so nothing is pinned: what there is now is what counts.
pub(super) async fn used(
    root: &Bundle,
    folder: &Path,
    installed: &dyn Store,
) -> Result<Vec<Bundle>, HostError> {
    let catalogue = host::catalogue(installed).await?;
    let set = host::complete(installed, Gathering::of(root.clone(), folder, &catalogue)).await?;
    Ok(set.bundles().iter().skip(1).cloned().collect())
}
