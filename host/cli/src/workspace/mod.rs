//! `rewake workspace`: a session's work, seen and taken out, and files brought in for it.

mod import;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use rewake_core::ids::{Digest, SessionId};
use rewake_sandbox::baseline::{self, ApplyError, Baseline, Change, Thing};
use rewake_sandbox::workspace::{self, Copied};
use rewake_text::row;
use similar::TextDiff;

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::forms::session;
use crate::out::{Out, Style, note};

/// Bytes of a file whose lines are compared.
const TEXT_BYTES_MAX: u64 = 1 << 20;
/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// What can be done with a session's workspace.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkspaceCommand {
    /// Show what a session changed in its workspace: what was there at first, or was imported, is not its doing
    Diff {
        /// The session
        #[arg(value_parser = session)]
        id: SessionId,
        /// Compare lines with this folder [default: the one the workspace was copied from]
        #[arg(long, value_name = "DIR")]
        against: Option<PathBuf>,
        /// Only which files, not what is in them
        #[arg(long)]
        names: bool,
    },
    /// Copy a session's workspace into a new folder; or, with --apply, bring what it changed into the folder
    /// it was copied from
    Export {
        /// The session
        #[arg(value_parser = session)]
        id: SessionId,
        /// The folder: empty or not there yet; with --apply one that is there
        #[arg(value_name = "DIR", required_unless_present = "apply")]
        to: Option<PathBuf>,
        /// Bring the changes into DIR [default: the folder that the workspace was copied from]. Nothing is
        /// done if that has changed in the same places
        #[arg(long)]
        apply: bool,
    },
    /// Copy a folder's files into the workspace of a session with no open turn: they replace what has the same
    /// path, and the rest stays
    Import {
        /// The session
        #[arg(value_parser = session)]
        id: SessionId,
        /// The folder; it stays as it is
        #[arg(value_name = "DIR")]
        from: PathBuf,
        /// Nothing stays: the workspace becomes a copy of DIR
        #[arg(long)]
        replace: bool,
    },
}

/// `rewake workspace`.
pub(crate) async fn workspace(places: &Places, command: WorkspaceCommand) -> Result<Outcome, Failure> {
    match command {
        WorkspaceCommand::Diff { id, against, names } => {
            let here = Here::find(places, &id).await?;
            diff(&here, against, names)
        }
        WorkspaceCommand::Export { id, to, apply } => {
            let here = Here::find(places, &id).await?;
            match (to, apply) {
                (to, true) => bring_back(&here, to),
                (Some(to), false) => export(&here, &to),
                (None, false) => Err(Failure::Usage("name the folder to export to".into())),
            }
        }
        WorkspaceCommand::Import { id, from, replace } => import::import(places, &id, from, replace).await,
    }
}

/// A session's workspace, and what it held at first.
struct Here {
    id: SessionId,
    folder: PathBuf,
    baseline: Option<Baseline>,
    /// A step of it is open: somebody runs it, or was killed at it.
    is_at_work: bool,
}

impl Here {
    async fn find(places: &Places, id: &SessionId) -> Result<Here, Failure> {
        // Says so if there is no such session.
        let standing = crate::journal::Standing::whole(places.read().await?, id).await?;
        let is_at_work = standing.session.turn.as_ref().is_some_and(|turn| turn.step.is_some());
        let folder = workspace::path(&places.data, id);
        if !workspace::is_there(&folder) {
            return Err(Failure::Usage(format!("the workspace of {id} is not in this data folder")));
        }
        let baseline = Baseline::read(&places.data, id);
        let baseline = baseline.map_err(|error| Failure::io("reading what the workspace held", error))?;
        Ok(Here { id: id.clone(), folder, baseline, is_at_work })
    }

    fn noted(&self) -> Result<&Baseline, Failure> {
        self.baseline.as_ref().ok_or_else(|| {
            Failure::Usage(format!(
                "what the workspace of {} held at first is not known: it was made by an older version or brought \
                 here by hand. `rewake workspace export {} DIR` copies all of it",
                self.id, self.id
            ))
        })
    }
}

fn diff(here: &Here, against: Option<PathBuf>, names: bool) -> Result<Outcome, Failure> {
    let noted = here.noted()?;
    let after = baseline::scan(&here.folder).map_err(|error| Failure::io("reading the workspace", error))?;
    let changes = baseline::changes(&noted.tree, &after);
    let against = Against {
        is_noted: against.is_none(),
        folder: against.or_else(|| noted.source.clone()).filter(|folder| folder.is_dir()),
    };
    let mut out = Out::new();
    for (path, change) in &changes {
        let word = match change {
            Change::Added => "A",
            Change::Changed => "M",
            Change::Removed => "D",
        };
        let kind = match after.get(path).or_else(|| noted.tree.get(path)) {
            Some(Thing::Folder) => "/",
            Some(Thing::Link(_)) => "@",
            _ => "",
        };
        let style = if names { Style::Plain } else { Style::Strong };
        out.line(style, &format!("{word} {}{kind}", row(path)))?;
        if !names {
            lines(&mut out, here, noted, &against, path, *change)?;
        }
    }
    out.flush()?;
    if changes.is_empty() {
        note("the workspace is as it was");
    } else if std::io::stderr().is_terminal() {
        note(&describe::count(changes.len() as u64, "change", "changes"));
    }
    Ok(Outcome::Done)
}

/// What lines are compared with.
struct Against {
    folder: Option<PathBuf>,
    /// It is the folder that the workspace came from, and counts only for what is there as it was given.
    is_noted: bool,
}

impl Against {
    fn read(&self, path: &str, given: Option<&Thing>) -> Option<Vec<u8>> {
        let bytes = baseline::read(self.folder.as_deref()?, path, TEXT_BYTES_MAX).ok().flatten()?;
        match given {
            Some(Thing::File { digest, .. }) if self.is_noted && Digest::of(&bytes) != *digest => None,
            _ => Some(bytes),
        }
    }
}

/// The lines of a text file that changed.
fn lines(
    out: &mut Out,
    here: &Here,
    noted: &Baseline,
    against: &Against,
    path: &str,
    change: Change,
) -> Result<(), Failure> {
    let read = |folder: &Path| baseline::read(folder, path, TEXT_BYTES_MAX).ok().flatten();
    let is_file = |thing: Option<&Thing>| matches!(thing, Some(Thing::File { .. }));
    let before = match change {
        Change::Added => Some(Vec::new()),
        Change::Changed | Change::Removed if !is_file(noted.tree.get(path)) => return Ok(()),
        Change::Changed | Change::Removed => against.read(path, noted.tree.get(path)),
    };
    let after = match change {
        Change::Removed => Some(Vec::new()),
        Change::Added | Change::Changed => read(&here.folder),
    };
    let text = |bytes: Option<Vec<u8>>| bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let (Some(before), Some(after)) = (text(before), text(after)) else {
        return out
            .line(Style::Dim, "  (not shown: no text, too large, or what it was is not here any more)");
    };
    let compared = TextDiff::from_lines(&before, &after);
    for hunk in compared.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        for line in hunk.to_string().lines() {
            let style = if line.starts_with('-') { Style::Dim } else { Style::Plain };
            out.line(style, line)?;
        }
    }
    Ok(())
}

fn export(here: &Here, to: &Path) -> Result<Outcome, Failure> {
    let shown = to.display();
    let taken =
        |why: &str| Failure::Usage(format!("{shown} {why}; name a folder that is empty or not there yet"));
    let is_there = match std::fs::read_dir(to).map(|mut found| found.next().is_none()) {
        Ok(true) => true,
        Ok(false) => return Err(taken("is not empty")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            return Err(taken("is not a folder"));
        }
        Err(error) => return Err(Failure::io(&shown.to_string(), error)),
    };
    let copied = if is_there { copy_into(here, to) } else { copy_beside(here, to) }?;
    let files = describe::count(copied.files, "file or folder", "files and folders");
    note(&format!("{files} ({}) copied to {shown}", describe::bytes(copied.bytes)));
    Ok(Outcome::Done)
}

/// Copies the workspace into a folder that is there and empty, which it is again if that fails.
fn copy_into(here: &Here, to: &Path) -> Result<Copied, Failure> {
    workspace::copy_out(&here.folder, to).map_err(|error| {
        for made in std::fs::read_dir(to).into_iter().flatten().flatten() {
            let is_folder = made.file_type().is_ok_and(|kind| kind.is_dir());
            let path = made.path();
            // The first error is the one to report.
            let _ = if is_folder { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
        Failure::Host(rewake_runtime::HostError::Workspace(error))
    })
}

/// Copies the workspace to a name where nothing is. The copy gets that name once it is whole: one that was cut off is
/// not mistaken for it.
fn copy_beside(here: &Here, to: &Path) -> Result<Copied, Failure> {
    let io = |error| Failure::io(&format!("making the folder {}", to.display()), error);
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part-{}", std::process::id()));
    let part = to.with_file_name(name);
    let missing: Vec<&Path> =
        to.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    let made = std::fs::create_dir_all(to.parent().unwrap_or(to)).and_then(|()| std::fs::create_dir(&part));
    let copied = made.map_err(io).and_then(|()| copy_into(here, &part)).and_then(|copied| {
        std::fs::rename(&part, to).map_err(io)?;
        Ok(copied)
    });
    if copied.is_err() {
        let _ = std::fs::remove_dir_all(&part);
        // Those that are empty, the innermost first.
        missing.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
    }
    copied
}

fn bring_back(here: &Here, to: Option<PathBuf>) -> Result<Outcome, Failure> {
    if here.is_at_work {
        return Err(Failure::Usage(format!(
            "{} is in the middle of a step: what it is writing may be half done. Let it rest first: \
             `rewake run --session {}`",
            here.id, here.id
        )));
    }
    let noted = here.noted()?;
    let Some(to) = to.or_else(|| noted.source.clone()) else {
        return Err(Failure::Usage("the workspace was not copied from a folder; name one".into()));
    };
    if !to.is_dir() {
        return Err(Failure::Usage(format!("{} is not a folder", to.display())));
    }
    let changes = baseline::apply(noted, &here.folder, &to).map_err(|error| match error {
        ApplyError::Conflicts(_) => Failure::Usage(format!(
            "{error}. Nothing was done; `rewake workspace export {} NEW_DIR` copies the workspace beside it, to \
             be merged by hand",
            here.id
        )),
        ApplyError::LeadOut(_) => Failure::Usage(format!("{error}. Nothing was done")),
        ApplyError::Io { .. } => Failure::io("bringing the changes back", error),
    })?;
    let mut out = Out::new();
    for (path, change) in &changes {
        let word = match change {
            Change::Added => "added",
            Change::Changed => "changed",
            Change::Removed => "removed",
        };
        out.line(Style::Plain, &format!("{word} {}", row(path)))?;
    }
    out.flush()?;
    let count = describe::count(changes.len() as u64, "change", "changes");
    note(&format!("{count} brought into {}", to.display()));
    Ok(Outcome::Done)
}
