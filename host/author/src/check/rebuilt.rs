//! Findings in what builds make: components that come out different when nothing has changed. Runs the author's
//! commands, which nothing else of a check does.

use std::path::Path;

use rewake_toml::{Invalid, quote};

use super::Finding;
use crate::build::{BuildError, Running, again};

/// Builds every component of the bundle in `folder` twice; `say` hears what is done.
///
/// # Errors
/// If the manifest is not as it must be, or something is not built.
pub async fn rebuilt(
    folder: &Path,
    say: &mut (dyn FnMut(Running<'_>) + Send),
) -> Result<Vec<Finding>, BuildError> {
    let (manifest, differing) = again::differing(folder, say).await?;
    let finding = |component: &rewake_bundle::Declared| {
        let invalid = Invalid::new(format!(
            "component {}: built twice, it came out different: something draws randomness or time while it is being \
             built",
            quote(component.name.get_ref())
        ))
        .help(
            "whatever was drawn is baked in, the same in every instance and every session: move it into the handler, \
             and build from nothing but what is written",
        );
        let place = component.build_at.clone().unwrap_or_else(|| component.name.span());
        Finding::warning(manifest.problem(place, invalid))
    };
    Ok(differing.into_iter().filter_map(|n| manifest.components.get(n)).map(finding).collect())
}
