//! `cargo xtask demo`: an agent works in a sandbox, is killed twice in the middle of a step, comes back from
//! its journal, and finishes. What it shows is checked; the last line is `demo: ok` only if all of it holds.

mod report;
mod rewake;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::workspace::Workspace;
use crate::{Result, console, setup};
use rewake::{Event, Rewake};

/// How long anything may take before it is sure that it hangs.
const HANGS: Duration = Duration::from_secs(120);
/// The model's last answer takes seconds: it is asked for the sixth time then.
const LAST_ANSWER: usize = 6;

/// Builds everything, plays the demo, and checks what it left behind.
pub(crate) fn run(workspace: &Workspace) -> Result {
    let program = setup::rewake(workspace)?;
    let folder =
        tempfile::tempdir().map_err(|error| format!("cannot make a folder for the demo: {error}"))?;
    let documents = documents(workspace, folder.path())?;
    let before = contents(&documents)?;
    let bundle = workspace.root.join("examples/publisher");
    let rewake = Rewake::new(program, folder.path().join("data"));

    console::heading("1. An agent works on a copy of this project's documents");
    let id = first(&rewake, &bundle, &documents)?;
    console::heading("2. A new process loads the session; it resumes after its last entry");
    second(&rewake, &id)?;
    console::heading("3. Once more");
    rewake.resume(&id)?;

    console::heading("4. What the journal says");
    let events = rewake.events(&id)?;
    let published = fs::read_to_string(rewake.workspace(&id).join("published.log")).unwrap_or_default();
    let untouched = contents(&documents)? == before;
    let findings = report::findings(&events, &published, untouched);
    for finding in &findings {
        console::note(&finding.to_string());
    }
    console::heading("5. The same, asked of rewake");
    rewake.inspect("verify", &id)?;
    rewake.inspect("replay", &id)?;
    let wrong = findings.iter().filter(|finding| !finding.holds).count();
    if wrong > 0 {
        let kept = folder.keep();
        return Err(format!("{wrong} of the above do not hold. The session is kept in {}", kept.display()));
    }
    console::line("demo: ok");
    Ok(())
}

/// Runs until the tool that must not run twice is running, and kills the process there.
fn first(rewake: &Rewake, bundle: &Path, documents: &Path) -> Result<String> {
    let mut process = rewake.start(bundle, documents)?;
    let id = rewake.newest_session(&mut process, HANGS)?;
    let log = rewake.workspace(&id).join("published.log");
    rewake.wait_for(&mut process, &id, HANGS, |events| running(events, "publish") && log.exists())?;
    process.kill()?;
    console::note("SIGKILL: the process is gone, while a tool of class `once` was running");
    Ok(id)
}

/// Goes on until the model is asked for its last answer, and kills the process there.
fn second(rewake: &Rewake, id: &str) -> Result {
    let mut process = rewake.start_again(id)?;
    rewake.wait_for(&mut process, id, HANGS, |events| {
        count(events, "model.started") == LAST_ANSWER && count(events, "model.completed") < LAST_ANSWER
    })?;
    process.kill()?;
    console::note("SIGKILL: the process is gone, while the model was answering");
    Ok(())
}

fn running(events: &[Event], tool: &str) -> bool {
    events.iter().any(|event| {
        event.kind == "tool.started"
            && event.data["name"] == tool
            && !events.iter().any(|other| other.data["start"] == event.seq)
    })
}

fn count(events: &[Event], kind: &str) -> usize {
    events.iter().filter(|event| event.kind == kind).count()
}

/// A copy of the documents in the root and of the decisions.
fn documents(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let documents = folder.join("documents");
    let failed = |error: std::io::Error| format!("cannot copy the documents: {error}");
    for (from, to) in [
        (workspace.root.clone(), documents.clone()),
        (workspace.root.join("host/adr"), documents.join("adr")),
    ] {
        fs::create_dir_all(&to).map_err(failed)?;
        for found in fs::read_dir(&from).map_err(failed)?.flatten() {
            if found.path().extension().is_some_and(|extension| extension == "md") {
                fs::copy(found.path(), to.join(found.file_name())).map_err(failed)?;
            }
        }
    }
    Ok(documents)
}

/// Every file of a folder of one level, and of its folders, with its bytes.
fn contents(folder: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let failed = |error: std::io::Error| format!("cannot read the documents: {error}");
    let mut files = Vec::new();
    for found in fs::read_dir(folder).map_err(failed)?.flatten() {
        let path = found.path();
        if path.is_dir() {
            files.extend(contents(&path)?);
        } else {
            files.push((path.clone(), fs::read(&path).map_err(failed)?));
        }
    }
    files.sort();
    Ok(files)
}
