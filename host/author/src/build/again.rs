//! Building everything twice from what is written, to see whether the same comes out. Knows what a build makes and
//! what keeps it from being made again; what that means is for anyone who asks.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rewake_bundle::{Declared, Manifest};
use rewake_core::ids::Digest;

use super::error::BuildError;
use super::{Running, collect, command, prepare};
use crate::lay::lay;

/// Between the two builds of a component: a clock that counts seconds tells another one.
const PAUSE: Duration = Duration::from_millis(1_100);
/// Digits after the name of a package in what cargo keeps of it.
const HASH_DIGITS: usize = 16;

/// Builds each component twice, and returns the manifest and the numbers of those that came out different. Sources
/// of the bundle are as before afterwards; artifacts are those of the last build.
///
/// # Errors
/// If the manifest is not as it must be, or something is not built.
pub(crate) async fn differing(
    folder: &Path,
    say: &mut (dyn FnMut(Running<'_>) + Send),
) -> Result<(Manifest, Vec<usize>), BuildError> {
    let manifest = prepare(folder).await?;
    let mut differing = Vec::new();
    let commands = manifest.components.iter().map(|component| component.build.as_deref());
    for (first, command) in commands.enumerate() {
        let Some(command) = command else { continue };
        let made: Vec<(usize, &Declared)> = made_by(&manifest, command).collect();
        // Components that come out of one command are built by it together.
        if made.first().is_none_or(|(n, _)| *n != first) {
            continue;
        }
        let _kept = Kept::of(folder, &made)?;
        let before = once(folder, command, &made, say).await?;
        tokio::time::sleep(PAUSE).await;
        let after = once(folder, command, &made, say).await?;
        let pairs = made.iter().zip(before.into_iter().zip(after));
        differing.extend(pairs.filter(|(_, (before, after))| before != after).map(|((n, _), _)| *n));
    }
    differing.sort_unstable();
    Ok((manifest, differing))
}

fn made_by<'a>(manifest: &'a Manifest, command: &'a str) -> impl Iterator<Item = (usize, &'a Declared)> {
    let components = manifest.components.iter().enumerate();
    components.filter(move |(_, component)| component.build.as_deref() == Some(command))
}

/// What a component's build makes.
fn output(component: &Declared) -> &str {
    component.artifact.as_deref().unwrap_or(component.source.get_ref())
}

async fn once(
    folder: &Path,
    command: &str,
    made: &[(usize, &Declared)],
    say: &mut (dyn FnMut(Running<'_>) + Send),
) -> Result<Vec<Digest>, BuildError> {
    for (_, component) in made {
        let path = folder.join(output(component));
        forget(&path).map_err(|source| BuildError::io(&path, source))?;
    }
    let name = made.first().map_or("", |(_, component)| component.name.get_ref());
    say(Running { component: name, command });
    command::run(folder, name, command).await?;
    let digest = |(_, component): &(usize, &Declared)| {
        let path = folder.join(output(component));
        match fs::read(&path) {
            Ok(bytes) => Ok(Digest::of(&bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(collect::not_made(component.name.get_ref(), output(component)))
            }
            Err(error) => Err(BuildError::io(&path, error)),
        }
    };
    made.iter().map(digest).collect()
}

/// Removes what a build made, and what cargo would make it from without building: what it keeps of the package. What
/// the package depends on is not built again.
fn forget(path: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    gone(fs::remove_file(path))?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_stem().and_then(|name| name.to_str())) else {
        return Ok(());
    };
    let Ok(found) = fs::read_dir(folder.join(".fingerprint")) else { return Ok(()) };
    for found in found {
        let found = found?;
        let is_its = found.file_name().to_str().is_some_and(|found| is_package(found, name));
        if is_its {
            gone(fs::remove_dir_all(found.path()))?;
        }
    }
    Ok(())
}

/// Whether a folder of cargo's is of the package that makes a file of this name.
fn is_package(folder: &str, name: &str) -> bool {
    let Some((package, hash)) = folder.rsplit_once('-') else { return false };
    let is_hash = hash.len() == HASH_DIGITS && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hash && package.replace('-', "_") == name.replace('-', "_")
}

/// Files of the bundle that builds write in their place; they are put back at the end, however that comes.
struct Kept(Vec<(PathBuf, Vec<u8>)>);

impl Kept {
    fn of(folder: &Path, made: &[(usize, &Declared)]) -> Result<Kept, BuildError> {
        let mut kept = Vec::new();
        for (_, component) in made.iter().filter(|(_, component)| component.artifact.is_none()) {
            let path = folder.join(component.source.get_ref());
            match fs::read(&path) {
                Ok(bytes) => kept.push((path, bytes)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(BuildError::io(&path, error)),
            }
        }
        Ok(Kept(kept))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for (path, bytes) in &self.0 {
            // What cannot be put back is what was built now; the lock tells.
            let _ = lay(path, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "schema = 1\n[bundle]\nname = \"acme/a\"\nversion = \"0.1.0\"\napi = \"0.1\"\n";

    async fn built(components: &str) -> (tempfile::TempDir, Result<Vec<usize>, BuildError>) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("bundle.toml"), format!("{HEAD}{components}")).unwrap();
        fs::write(folder.path().join("in-place.wasm"), "as it was").unwrap();
        let result = differing(folder.path(), &mut |_| {}).await;
        (folder, result.map(|(_, differing)| differing))
    }

    #[tokio::test]
    async fn what_comes_out_different_is_told() {
        let (folder, differing) = built(
            "[component.a]\nkind = \"tool\"\nsource = \"a.wasm\"\nbuild = \"echo 1 > same; date +%s > time; echo >> count\"\n\
             artifact = \"same\"\n[component.b]\nkind = \"tool\"\nsource = \"b.wasm\"\n\
             build = \"echo 1 > same; date +%s > time; echo >> count\"\nartifact = \"time\"\n\
             [component.c]\nkind = \"tool\"\nsource = \"in-place.wasm\"\nbuild = \"date +%s > in-place.wasm\"\n\
             [component.d]\nkind = \"tool\"\nsource = \"d.wasm\"",
        )
        .await;
        assert_eq!(differing.unwrap(), [1, 2]);
        assert_eq!(fs::read_to_string(folder.path().join("count")).unwrap(), "\n\n", "a command runs twice");
        assert_eq!(fs::read_to_string(folder.path().join("in-place.wasm")).unwrap(), "as it was");
        assert!(!folder.path().join("a.wasm").exists(), "nothing is collected");
    }

    #[tokio::test]
    async fn a_build_that_makes_nothing_is_told_and_what_was_there_comes_back() {
        let (folder, result) =
            built("[component.c]\nkind = \"tool\"\nsource = \"in-place.wasm\"\nbuild = \"true\"\n").await;
        let error = result.unwrap_err().to_string();
        assert!(error.contains("its build made no `in-place.wasm`"), "{error}");
        assert_eq!(fs::read_to_string(folder.path().join("in-place.wasm")).unwrap(), "as it was");
    }

    #[test]
    fn what_cargo_keeps_of_a_package_goes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let kept = folder.path().join(".fingerprint");
        for name in ["my-tool-0123456789abcdef", "my-tool-more-0123456789abcdef", "serde-0123456789abcdef"] {
            fs::create_dir_all(kept.join(name)).unwrap();
        }
        fs::write(folder.path().join("my_tool.wasm"), "").unwrap();
        forget(&folder.path().join("my_tool.wasm")).unwrap();
        assert!(!folder.path().join("my_tool.wasm").exists());
        let mut left: Vec<_> = fs::read_dir(&kept).unwrap().map(|found| found.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["my-tool-more-0123456789abcdef", "serde-0123456789abcdef"]);
        forget(&folder.path().join("my_tool.wasm")).unwrap();
    }
}
