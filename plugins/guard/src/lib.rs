//! Hooks that keep an agent from what it must not do: protected paths, and rules of the operator's that deny,
//! or have a person asked. At a session's start they tell it how it came to be, and what the operator wants told.
//!
//! Knows a use of a tool as the host tells of it. Whatever it cannot judge is denied: a rule that cannot be
//! read denies everything. Sees no files, so a link to a protected place is not known as one.

mod parse;
mod paths;
mod rules;

#[cfg(test)]
mod tests;

use rewake_sdk::{log, prelude::*};

use crate::paths::Glob;
use crate::rules::Use;

/// Tools that are denied what is protected, whatever they are granted, and must name a path.
const WRITERS: [&str; 2] = ["write_file", "edit_file"];

/// The bundle's configuration.
#[derive(Deserialize)]
struct Config {
    /// Patterns of paths that nothing may change, with commas between them.
    #[serde(default = "protected_by_default")]
    protected: String,
    /// One rule a line.
    #[serde(default)]
    rules: String,
    /// The names of arguments that are paths, with commas between them.
    #[serde(default = "path_by_default")]
    path_arguments: String,
    /// What a session is told when it is new.
    #[serde(default)]
    context: String,
}

fn protected_by_default() -> String {
    ".env, .git".to_owned()
}

fn path_by_default() -> String {
    "path".to_owned()
}

#[hook]
fn guard(event: PreToolUse) -> Result<Verdict> {
    let config: Config = event.config()?;
    let rules = match parse::parse(&config.rules) {
        Ok(rules) => rules,
        Err(problem) => return Ok(Verdict::deny(unreadable(&problem))),
    };
    let arguments: Vec<&str> = entries(&config.path_arguments).collect();
    let used = Use::of(&event, &arguments)?;
    if let Some(why) = protects(&config.protected, &used) {
        return Ok(Verdict::deny(why));
    }
    Ok(rules::judge(&rules, &used))
}

#[hook]
fn greet(event: SessionStart) -> Result<Verdict> {
    let config: Config = event.config()?;
    let mut text = match event.source {
        Source::Startup => "This session is new (startup).",
        Source::Resume => "This session was loaded again (resume): what it did before still holds.",
        Source::Fork => "This session is a copy of another one (fork).",
    }
    .to_owned();
    if event.source == Source::Startup && !config.context.trim().is_empty() {
        text.push('\n');
        text.push_str(config.context.trim());
    }
    if let Err(problem) = parse::parse(&config.rules) {
        let problem = unreadable(&problem);
        log::error(&problem);
        text.push('\n');
        text.push_str(&problem);
    }
    Ok(Verdict::context(text))
}

rewake_sdk::hooks![guard, greet];

/// What people and models are told where the rules cannot be read.
fn unreadable(problem: &parse::Problem) -> String {
    format!(
        "The guard cannot read its rules, so it denies every tool: {problem}. Whoever runs this must correct \
         `rules` of the guard's configuration and begin a new session"
    )
}

/// Why the use may not be: its path is protected, or cannot be told. Tools are meant that write files: those
/// whose paths are known by name, and whatever else is granted it, of which any text may be a path.
fn protects(protected: &str, used: &Use) -> Option<String> {
    let is_writer = WRITERS.contains(&used.tool());
    if !is_writer && !used.may_write() {
        return None;
    }
    let paths: Vec<&str> = match used.paths() {
        Some(paths) if is_writer && !paths.is_empty() => paths.iter().map(String::as_str).collect(),
        Some(_) if !is_writer => used.texts(),
        _ => {
            return Some(format!(
                "the guard cannot tell which path `{}` would change: its input has no `path` of text",
                used.tool()
            ));
        }
    };
    entries(protected).find_map(|entry| {
        let glob = Glob::new(entry);
        let path = rules::shown(paths.iter().find(|path| glob.covers(path))?);
        Some(format!("`{path}` is protected (`{entry}`): nothing may change it here; leave it as it is"))
    })
}

/// The entries of a list with commas.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}
