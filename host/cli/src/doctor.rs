//! `rewake doctor`: what is here, what is missing, and what to do about it. Looks only; makes nothing but
//! what any other command would make too.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rewake_policy::config::RULES_FILE;
use rewake_store::{OpenOptions, SqliteStore};
use rewake_text::one_line;
use rustix::fs::{Access, access, statvfs};

use crate::data::Places;
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::out::{Out, Style};

/// The target that Rust components are built for.
const TARGET: &str = "wasm32-wasip2";
/// Characters of a tool's answer that are shown.
const ANSWER_CHARS_MAX: usize = 60;

/// What to do about a store that is damaged.
const DAMAGED: &str = "keep a copy of the data folder before anything else is tried";
/// Characters of a fault of the file that are shown.
const FAULT_CHARS_MAX: usize = 160;
/// Bytes of a store that is read as a whole.
const CHECKED_BYTES_MAX: u64 = 256 << 20;
/// Bytes that must be left on the disk of the data folder.
const ROOM_BYTES_MIN: u64 = 32 << 20;

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is as it must be.
    Good,
    /// Something that can be done without is not here.
    Absent,
    /// It keeps sessions from running.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug)]
struct Seen {
    state: State,
    what: &'static str,
    detail: String,
    /// What to do, unless it is good.
    help: Option<String>,
}

impl Seen {
    fn good(what: &'static str, detail: impl Into<String>) -> Seen {
        Seen { state: State::Good, what, detail: detail.into(), help: None }
    }

    fn absent(what: &'static str, detail: impl Into<String>, help: impl Into<String>) -> Seen {
        Seen { state: State::Absent, what, detail: detail.into(), help: Some(help.into()) }
    }

    fn bad(what: &'static str, detail: impl Into<String>, help: impl Into<String>) -> Seen {
        Seen { state: State::Bad, what, detail: detail.into(), help: Some(help.into()) }
    }
}

/// `rewake doctor`.
pub(crate) async fn doctor(places: &Places) -> Result<Outcome, Failure> {
    let mut out = Out::new();
    let running =
        vec![data_folder(places), journal(places).await, trust(places), rules(places), sandbox(places).await];
    let written = vec![rust(), target(), javascript(), python()];
    show(&mut out, "to run sessions", &running)?;
    show(&mut out, "to write bundles", &written)?;
    out.flush()?;
    let is_bad = running.iter().any(|seen| seen.state == State::Bad);
    if is_bad {
        return Err(Failure::Machine(
            "fix the items marked `bad` first: sessions cannot run here until then".into(),
        ));
    }
    Ok(Outcome::Done)
}

fn show(out: &mut Out, title: &str, all: &[Seen]) -> Result<(), Failure> {
    out.line(Style::Strong, title)?;
    for seen in all {
        let (word, style) = match seen.state {
            State::Good => ("ok", Style::Plain),
            State::Absent => ("none", Style::Dim),
            State::Bad => ("bad", Style::Bad),
        };
        out.line(style, &format!("  {word:<5} {:<14} {}", seen.what, seen.detail))?;
        if let Some(help) = &seen.help {
            out.line(Style::Plain, &format!("        {help}"))?;
        }
    }
    Ok(())
}

fn data_folder(places: &Places) -> Seen {
    const WHAT: &str = "data folder";
    let shown = places.data.display();
    match std::fs::metadata(&places.data) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Seen::good(WHAT, format!("{shown} (made by the first session)"))
        }
        Err(error) => Seen::bad(WHAT, format!("{shown}: {error}"), "name another one with --data"),
        Ok(meta) if !meta.is_dir() => {
            Seen::bad(WHAT, format!("{shown} is not a folder"), "name another one with --data")
        }
        Ok(meta) if meta.permissions().mode() & 0o022 != 0 => Seen::bad(
            WHAT,
            format!("{shown} can be written by others"),
            format!("give it to its owner alone: chmod 700 {}", crate::shell::shell_word(&shown.to_string())),
        ),
        Ok(_) => match room(&places.data) {
            Err(error) => Seen::bad(
                WHAT,
                format!("{shown} cannot be written: {error}"),
                "what is kept in it can be read; to run sessions, let it be written or name another one",
            ),
            Ok(bytes) if bytes < ROOM_BYTES_MIN => Seen::bad(
                WHAT,
                format!("{shown}: {} are left on its disk", describe::bytes(bytes)),
                "make room: a session whose store cannot grow stops",
            ),
            Ok(_) => Seen::good(WHAT, shown.to_string()),
        },
    }
}

/// Bytes that can still be written into a folder.
fn room(folder: &Path) -> rustix::io::Result<u64> {
    access(folder, Access::WRITE_OK)?;
    let disk = statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

async fn journal(places: &Places) -> Seen {
    const WHAT: &str = "journal";
    let file = places.data.join("journal.db");
    if !file.exists() {
        return Seen::good(WHAT, "none yet");
    }
    match SqliteStore::open(&file, OpenOptions { read_only: true }).await {
        Ok(store) => {
            let shown = file.display();
            let is_small = std::fs::metadata(&file).is_ok_and(|file| file.len() <= CHECKED_BYTES_MAX);
            let faults = if is_small { store.check_file().await } else { Ok(Vec::new()) };
            store.close().await;
            match faults.as_deref() {
                Ok([]) if is_small => Seen::good(WHAT, format!("{shown} opens, and is as SQLite wrote it")),
                Ok([]) => Seen::good(WHAT, format!("{shown} opens; `rewake verify` reads all of it")),
                Ok([first, ..]) => Seen::bad(
                    WHAT,
                    format!("{shown} is damaged: {}", one_line(first, FAULT_CHARS_MAX)),
                    DAMAGED,
                ),
                Err(error) => Seen::bad(WHAT, format!("{shown}: {error}"), DAMAGED),
            }
        }
        Err(error) => Seen::bad(WHAT, format!("{}: {error}", file.display()), DAMAGED),
    }
}

fn rules(places: &Places) -> Seen {
    const WHAT: &str = "rules";
    let file: PathBuf = places.rules.clone().unwrap_or_else(|| places.data.join(RULES_FILE));
    match places.rules_file().read() {
        Ok(rules) if rules.is_ignored => Seen::absent(
            WHAT,
            format!("{} is not used: this machine does not know its data folder", file.display()),
            "look at them, then use them with `rewake grant --rules`, or name them with --config",
        ),
        Ok(_) if file.exists() => Seen::good(WHAT, file.display().to_string()),
        Ok(_) => Seen::absent(
            WHAT,
            format!("{} is not there", file.display()),
            "nothing is allowed for good; each session is asked about at the terminal",
        ),
        Err(error) => Seen::bad(WHAT, error.to_string(), "correct the file"),
    }
}

fn trust(places: &Places) -> Seen {
    const WHAT: &str = "trust key";
    let shown = places.trust.file().map(|file| file.display().to_string()).unwrap_or_default();
    match places.trust.read() {
        Ok(Some(_)) => Seen::good(WHAT, shown),
        Ok(None) => Seen::good(WHAT, format!("{shown} (made at its first use)")),
        Err(error) => Seen::bad(WHAT, error.to_string(), "correct it"),
    }
}

/// Compiles a component that does nothing, as any other would be.
async fn sandbox(places: &Places) -> Seen {
    const WHAT: &str = "sandbox";
    let tried = match places.workbench() {
        Ok(bench) => bench.try_out().await,
        Err(failure) => Err(failure.to_string()),
    };
    match tried {
        Ok(()) => Seen::good(WHAT, format!("components compile; kept in {}", places.cache.display())),
        Err(why) => {
            Seen::bad(WHAT, why, "64-bit Linux on x86-64 or ARM64, with 2 GiB to compile in, is needed")
        }
    }
}

fn rust() -> Seen {
    const WHAT: &str = "Rust";
    match answer("cargo", &["--version"]) {
        Some(version) => Seen::good(WHAT, version),
        None => Seen::absent(WHAT, "no cargo", "install Rust with rustup to write components in it"),
    }
}

fn target() -> Seen {
    const WHAT: &str = TARGET;
    let Some(sysroot) = answer("rustc", &["--print", "sysroot"]) else {
        return Seen::absent(WHAT, "no rustc", "it comes with Rust");
    };
    let libraries = Path::new(&sysroot).join("lib/rustlib").join(TARGET).join("lib");
    if libraries.is_dir() {
        return Seen::good(WHAT, "is in the toolchain");
    }
    Seen::absent(
        WHAT,
        "is not in the toolchain",
        format!("rustup target add {TARGET}; or, in Rewake's own repository, cargo xtask wasi-target"),
    )
}

fn javascript() -> Seen {
    const WHAT: &str = "JavaScript";
    match (answer("node", &["--version"]), answer("jco", &["--version"])) {
        (Some(node), Some(jco)) => Seen::good(WHAT, format!("node {node}, jco {jco}")),
        (Some(node), None) => {
            Seen::absent(WHAT, format!("node {node}, no jco"), "npm install --global @bytecodealliance/jco")
        }
        (None, _) => Seen::absent(WHAT, "no node", "only needed to write components in JavaScript"),
    }
}

fn python() -> Seen {
    const WHAT: &str = "Python";
    match (answer("python3", &["--version"]), answer("componentize-py", &["--version"])) {
        (Some(_), Some(tool)) => Seen::good(WHAT, tool),
        (Some(python), None) => {
            Seen::absent(WHAT, format!("{python}, no componentize-py"), "pip install componentize-py")
        }
        (None, _) => Seen::absent(WHAT, "no python3", "only needed to write components in Python"),
    }
}

/// The first line that a program answers; none if it is not there or fails.
fn answer(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default();
    let line = one_line(line, if args == ["--print", "sysroot"] { 4096 } else { ANSWER_CHARS_MAX });
    (output.status.success() && !line.is_empty()).then_some(line)
}
