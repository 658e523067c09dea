//! What a build made, laid where the manifest names it. Knows files; whether they are components is found
//! when the bundle is loaded.

use std::env;
use std::fs;
use std::path::Path;

use rewake_bundle::{COMPONENT_BYTES_MAX, Declared};

use super::error::BuildError;
use crate::lay::lay;

/// Copies a component's `artifact` to its `source`, if that is not the same already. Without an artifact,
/// `build` makes the source itself.
pub(super) fn collect(folder: &Path, component: &Declared) -> Result<bool, BuildError> {
    let name = component.name.get_ref();
    let source = component.source.get_ref();
    let to = folder.join(source);
    let Some(artifact) = component.artifact.as_deref() else {
        if component.build.is_some() && !to.is_file() {
            return Err(BuildError::Artifact {
                component: name.clone(),
                what: format!("its build made no `{source}`"),
                help: "let `build` write that file, or say with `artifact` which file it makes".to_owned(),
            });
        }
        return Ok(false);
    };
    let from = folder.join(artifact);
    let bytes = match fs::metadata(&from) {
        Ok(found) if found.is_file() && found.len() <= COMPONENT_BYTES_MAX => {
            fs::read(&from).map_err(|source| BuildError::io(&from, source))?
        }
        Ok(found) if found.is_file() => {
            return Err(BuildError::Artifact {
                component: name.clone(),
                what: format!("`{artifact}` is larger than {COMPONENT_BYTES_MAX} bytes"),
                help: "build it optimised for size and without debug information".to_owned(),
            });
        }
        _ => return Err(not_made(name, artifact)),
    };
    lay(&to, &bytes).map_err(|source| BuildError::io(&to, source))
}

pub(super) fn not_made(component: &str, artifact: &str) -> BuildError {
    let elsewhere = env::var("CARGO_TARGET_DIR").ok().filter(|_| artifact.contains("target/"));
    let help = match elsewhere {
        Some(target) => format!(
            "CARGO_TARGET_DIR is set ({target}), so cargo builds there: add `--target-dir` to `build`, or \
             correct `artifact`"
        ),
        None => "correct `artifact`: it is relative to the bundle's folder".to_owned(),
    };
    BuildError::Artifact {
        component: component.to_owned(),
        what: format!("its build made no `{artifact}`"),
        help,
    }
}
