//! Hooks that keep an agent away from protected paths, and tell it how its session came to be.
//!
//! Knows how paths are written. Does not know which tools take one: bundle.toml's matcher does,
//! and a call that this hook is asked about but cannot judge is denied. Sees no files, so a link to a
//! protected place is not known as one.

use rewake_sdk::prelude::*;

#[cfg(test)]
mod tests;

/// The bundle's configuration.
#[derive(Deserialize)]
struct Config {
    /// File names and paths, with commas between them.
    #[serde(default = "protected_by_default")]
    protected: String,
}

fn protected_by_default() -> String {
    ".env, .git".to_owned()
}

/// What the guarded tools have in common.
#[derive(Deserialize)]
struct Target {
    path: String,
}

#[hook]
fn guard(event: PreToolUse) -> Result<Verdict> {
    let config: Config = event.config()?;
    let Ok(target) = event.input::<Target>() else {
        return Ok(Verdict::deny(format!(
            "the guard cannot tell which path `{}` would change: its input has no `path` of text",
            event.tool_name
        )));
    };
    let entries = config.protected.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    for entry in entries {
        if covers(entry, &target.path) {
            return Ok(Verdict::deny(format!(
                "`{}` is protected (`{entry}`): nothing may change it here; leave it as it is",
                target.path
            )));
        }
    }
    Ok(Verdict::none())
}

#[hook]
fn greet(event: SessionStart) -> Result<Verdict> {
    Ok(Verdict::context(match event.source {
        Source::Startup => "This session is new (startup).",
        Source::Resume => "This session was loaded again (resume): what it did before still holds.",
        Source::Fork => "This session is a copy of another one (fork).",
    }))
}

rewake_sdk::hooks![guard, greet];

/// Whether a protected entry covers a path: an entry of one name protects everything of that name
/// anywhere, an entry with a `/` protects the path from the workspace down.
///
/// Case is ignored, because on some hosts' disks `.GIT` is `.git`.
fn covers(entry: &str, path: &str) -> bool {
    let (entry, path) = (names(entry), names(path));
    match entry.as_slice() {
        [] => false,
        [name] => path.contains(name),
        names => path.starts_with(names),
    }
}

/// A path's names, as the tools understand it.
fn names(path: &str) -> Vec<String> {
    let path = path.strip_prefix("/workspace/").unwrap_or(path);
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name.to_lowercase()),
        }
    }
    names
}
