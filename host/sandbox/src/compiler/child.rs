//! The compiler's own process: confines itself, reads a component, writes an artifact, ends. Knows no
//! session, no file and no configuration.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, Signal, getppid, nice, set_parent_process_death_signal, setrlimit};

use super::{REFUSED, frame};
use crate::engine::compile;

/// The exit code of a compiler that could not be confined or not be understood.
const UNUSABLE: u8 = 4;

/// How much it gives way: sessions that run are more urgent than one that is made.
const NICENESS: i32 = 5;

/// Does the compiling that a parent asks for. `args` are the words after the hidden one: the parent's
/// process id, seconds of processor time, bytes of address space, bytes of the component.
///
/// For the program's first lines: the limits bind whatever the process has and does from here on.
#[must_use]
pub fn compile_for_parent(args: impl Iterator<Item = String>) -> ExitCode {
    let numbers: Vec<u64> = args.map_while(|arg| arg.parse().ok()).collect();
    let [parent, cpu_s_max, memory_bytes_max, component_bytes_max] = numbers[..] else {
        return ended(UNUSABLE, "this is the compiler of a running host, and nothing to be called by hand");
    };
    if let Err(error) = confine(parent, cpu_s_max, memory_bytes_max) {
        return ended(UNUSABLE, format_args!("it cannot be confined: {error}"));
    }
    let mut component = Vec::new();
    if let Err(error) = std::io::stdin().lock().take(component_bytes_max).read_to_end(&mut component) {
        return ended(UNUSABLE, format_args!("reading the component: {error}"));
    }
    match compile(&component) {
        Ok((mode, code)) => {
            let mut out = std::io::stdout().lock();
            let written = out
                .write_all(&frame(mode, &code))
                .and_then(|()| out.write_all(&code))
                .and_then(|()| out.flush());
            match written {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => ended(UNUSABLE, format_args!("handing back the artifact: {error}")),
            }
        }
        Err(error) => ended(REFUSED, format_args!("{error:#}")),
    }
}

/// Dies with its parent, holds nothing that it was not handed, writes no file, gives way to whatever else the
/// machine does, and uses so much and no more.
fn confine(parent: u64, cpu_s_max: u64, memory_bytes_max: u64) -> std::io::Result<()> {
    close_inherited()?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // One that died before that was said tells nobody any more.
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != i32::try_from(parent).ok() {
        return Err(std::io::Error::other("its parent is gone"));
    }
    nice(NICENESS)?;
    let limit = |resource, current: u64, maximum: u64| {
        setrlimit(resource, Rlimit { current: Some(current), maximum: Some(maximum) })
            .map_err(std::io::Error::from)
    };
    limit(Resource::Core, 0, 0)?;
    limit(Resource::Fsize, 0, 0)?;
    limit(Resource::Cpu, cpu_s_max, cpu_s_max.saturating_add(1))?;
    limit(Resource::As, memory_bytes_max, memory_bytes_max)
}

/// What a host opens is closed by `exec`; what anyone who started the host left open is not.
fn close_inherited() -> std::io::Result<()> {
    let mut numbers: Vec<i32> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        numbers.extend(entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The folder that was listed is closed by now.
        if std::fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok() {
            // SAFETY: this process has one thread and has opened nothing yet, so that nobody owns a
            // descriptor that it was started with; this one is there, and is closed once.
            #[allow(unsafe_code)]
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
    Ok(())
}

fn ended(code: u8, words: impl fmt::Display) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "{words}");
    ExitCode::from(code)
}
