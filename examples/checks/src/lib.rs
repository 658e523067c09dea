//! A tool that runs a project's tests. A component can start no process, so it brings an interpreter along: the
//! project is written in Koto (<https://koto.dev>), and its tests are functions marked `@test` in files whose
//! names end with `_test.koto`.
//!
//! Knows which tests passed. What they may do is what the sandbox lets this component do, which is to read.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use koto::prelude::*;
use koto::runtime::MetaKey;
use rewake_sdk::{
    prelude::*,
    workspace::{WORKSPACE, explain, place},
};

#[cfg(test)]
mod tests;

/// What a file of tests is called.
const ENDS_WITH: &str = "_test.koto";
const FILES_MAX: usize = 200;
const FOLDERS_DEEP_MAX: usize = 16;
/// How long a file, and then each of its tests, may run.
const RUNS: Duration = Duration::from_secs(2);
/// Characters of one failure that are shown.
const FAILURE_CHARS_MAX: usize = 2_000;

#[args]
struct RunTests {
    /// A file of tests, or a folder in which all are run; everything if not given.
    #[serde(default = "everything")]
    path: String,
}

fn everything() -> String {
    ".".to_owned()
}

/// Run the tests of a project written in Koto: all functions marked `@test` in files named *_test.koto. Says of
/// each test whether it passed, and of one that failed why, in which file and line. Nothing is changed.
#[tool(effect = pure)]
fn run_tests(args: RunTests) -> Result<String, ToolError> {
    run_below(Path::new(WORKSPACE), &args.path)
}

rewake_sdk::tools![run_tests];

fn run_below(root: &Path, path: &str) -> Result<String, ToolError> {
    let from = place(root, path)?;
    let found = fs::metadata(&from.path).map_err(|error| explain(&from, &error))?;
    let mut files = Vec::new();
    if found.is_dir() {
        find(&from.path, 0, &mut files)?;
    } else {
        files.push(from.path.clone());
    }
    files.sort();
    if files.is_empty() {
        return Err(ToolError::invalid_input(format!("there is no file *{ENDS_WITH} in `{}`", from.name)));
    }
    let results: Vec<Tested> = files.iter().flat_map(|file| test(root, file)).collect();
    Ok(report(&results, files.len()))
}

/// Finds files of tests; what is hidden is left out.
fn find(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), ToolError> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_folder = entry.file_type()?.is_dir();
        if is_folder && !name.starts_with('.') && depth < FOLDERS_DEEP_MAX {
            find(&entry.path(), depth + 1, files)?;
        } else if !is_folder && name.ends_with(ENDS_WITH) {
            files.push(entry.path());
        }
        if files.len() > FILES_MAX {
            let message =
                format!("there are more than {FILES_MAX} files of tests; give `path`, a folder with fewer");
            return Err(ToolError::invalid_input(message));
        }
    }
    Ok(())
}

/// A test, or a file whose tests could not even be found.
struct Tested {
    name: String,
    failure: Option<String>,
}

/// Runs the tests of one file, in an interpreter of its own.
fn test(root: &Path, file: &Path) -> Vec<Tested> {
    let shown = file.strip_prefix(root).unwrap_or(file).display().to_string();
    let settings = KotoSettings { run_tests: false, ..KotoSettings::default() }.with_execution_limit(RUNS);
    let mut koto = Koto::with_settings(settings);
    // Modules are found beside the file that imports them; scripts have no other files.
    for module in ["io", "os"] {
        koto.prelude().remove(module);
    }
    let failed = |failure: &str| vec![Tested { name: shown.clone(), failure: Some(brief(root, failure)) }];
    let script = match fs::read_to_string(file) {
        Ok(script) => script,
        Err(error) => return failed(&error.to_string()),
    };
    let compiled = koto.compile(CompileArgs::new(&script).script_path(file.display().to_string()));
    if let Err(error) = compiled.and_then(|chunk| koto.run(chunk)) {
        return failed(&error.to_string());
    }
    let tests = each_alone(koto.exports());
    if tests.is_empty() {
        return failed("the file has no function marked `@test`");
    }
    let runner = match koto.prelude().get("test") {
        Some(KValue::Map(module)) => module.get("run_tests"),
        _ => None,
    };
    let Some(runner) = runner else { return failed("the interpreter cannot run tests") };
    let mut run = |(name, only)| {
        let failure = koto.call_function(runner.clone(), &[KValue::Map(only)]).err();
        let failure = failure.map(|error| brief(root, &error.to_string()));
        Tested { name: format!("{shown}: {name}"), failure }
    };
    tests.into_iter().map(&mut run).collect()
}

/// A module once for each of its tests, with that one alone: the interpreter stops at the first that fails.
fn each_alone(module: &KMap) -> Vec<(KString, KMap)> {
    let Some(marked) = module.meta_map().map(|marked| marked.borrow().clone()) else { return Vec::new() };
    let names = marked.keys().filter_map(|key| match key {
        MetaKey::Test(name) => Some(name.clone()),
        _ => None,
    });
    let alone = |name: KString| {
        let mut only = marked.clone();
        only.retain(|key, _| !matches!(key, MetaKey::Test(other) if *other != name));
        (name, KMap::with_contents(module.data().clone(), Some(only)))
    };
    names.map(alone).collect()
}

/// A failure with paths as the model knows them, and not too much of it.
fn brief(root: &Path, failure: &str) -> String {
    // The interpreter shows where a file is from the current directory on, which is the root in a sandbox.
    let here = std::env::current_dir().unwrap_or_default();
    let below = root.strip_prefix(here).unwrap_or(root).display();
    let folders = [format!("{}/", root.display()), format!("/{below}/"), format!("{below}/")];
    let lines = failure.trim_end().lines().map(|line| {
        let (mark, rest) = line.strip_prefix("--- ").map_or(("", line), |rest| ("--- ", rest));
        let inside = folders.iter().find_map(|folder| rest.strip_prefix(folder.as_str()));
        format!("{mark}{}", inside.unwrap_or(rest))
    });
    let failure = lines.collect::<Vec<_>>().join("\n");
    match failure.char_indices().nth(FAILURE_CHARS_MAX) {
        Some((at, _)) => format!("{}… [cut]", &failure[..at]),
        None => failure,
    }
}

fn report(results: &[Tested], files: usize) -> String {
    let failed = results.iter().filter(|test| test.failure.is_some()).count();
    let mut text = match failed {
        0 => format!("all {} tests passed ({files} files)\n", results.len()),
        _ => format!("{failed} of {} tests failed ({files} files)\n", results.len()),
    };
    for Tested { name, failure } in results {
        let word = if failure.is_some() { "FAILED" } else { "ok    " };
        let _ = write!(text, "\n{word} {name}");
        for line in failure.iter().flat_map(|failure| failure.lines()) {
            let _ = write!(text, "\n       {line}");
        }
    }
    text
}
