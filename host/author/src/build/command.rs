//! Running an author's command. It is the author who asked for it, on the author's own machine: nothing else
//! in this program does, and no manifest is ever run by a host.

use std::io::stderr;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::error::BuildError;
use super::rust;

/// Runs a component's `build` in the bundle's folder. All its output goes to standard error as it comes, so
/// that standard output is the report's. If this future is dropped, the shell is killed.
pub(super) async fn run(folder: &Path, component: &str, command: &str) -> Result<(), BuildError> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(folder).envs(rust::environment());
    shell.stdin(Stdio::null()).stdout(Stdio::from(stderr())).kill_on_drop(true);
    let status = shell.status().await.map_err(|source| BuildError::io(Path::new("sh"), source))?;
    if status.success() {
        return Ok(());
    }
    Err(BuildError::Command { component: component.to_owned(), command: command.to_owned(), status })
}
