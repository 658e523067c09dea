//! Compiling a component in a process of its own, with so much processor time and memory and no more. Knows
//! how to ask for that and how to do it; what becomes of the machine code is others' to decide.
//!
//! The process is this very program, started with one hidden word: it reads a component from its standard
//! input and writes an artifact to its standard output. What that protects from, and what not, stands in
//! `host/adr/0006-compilation-in-a-process-of-its-own.md`.

mod child;

use std::io::{Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rewake_core::limits::{DETAIL_BYTES_MAX, cut};
pub use rewake_policy::limits::CompileLimits;
use thiserror::Error;

pub use self::child::compile_for_parent;
use crate::engine::{Mode, compile};

/// The hidden word that makes the program a compiler.
pub const COMPILE_WORD: &str = "__compile";

/// What begins an artifact on its way from the child.
const MAGIC: [u8; 8] = *b"rewakea1";
/// Bytes before the machine code: magic, mode, length.
const HEAD_BYTES: usize = 8 + 1 + 8;
/// How many times as large as the largest component an artifact may be that a child hands back.
const ARTIFACT_RATIO_MAX: u64 = 8;
/// Bytes of a child's last words that are kept.
const WORDS_BYTES_MAX: u64 = 64 << 10;
/// How often a child is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// Threads that a child compiles with: each costs address space.
const THREADS_MAX: usize = 4;
/// The child's exit code for a component that is none.
const REFUSED: u8 = 3;
/// The signal of a process whose processor time is up.
const SIGXCPU: i32 = 24;

/// Why there is no machine code.
#[derive(Debug, Error)]
pub(crate) enum CompileError {
    #[error("it has {bytes} bytes; at most {max} are compiled (`component` in [limits.compile])")]
    TooLarge { bytes: u64, max: u64 },
    #[error("{0}")]
    Refused(String),
    #[error("compiling it took more than {0} s of processor time (`cpu` in [limits.compile])")]
    OutOfCpu(u64),
    #[error("compiling it took longer than {0} ms")]
    OutOfTime(u64),
    #[error("compiling it took more than {0} bytes of memory (`memory` in [limits.compile])")]
    OutOfMemory(u64),
    #[error("the compiler did not survive it: {0}")]
    Died(String),
    #[error("this host cannot compile: {0}")]
    Host(String),
}

/// Makes machine code of components.
#[derive(Clone, Debug)]
pub struct Compiler {
    program: Option<PathBuf>,
    limits: CompileLimits,
}

impl Compiler {
    /// With the program to be started; none: it compiles in this process, where only the component's size
    /// is limited.
    pub fn new(program: Option<PathBuf>, limits: CompileLimits) -> Self {
        Compiler { program, limits }
    }

    /// What compiling one component may cost.
    pub(crate) fn limits(&self) -> CompileLimits {
        self.limits
    }

    /// Compiles; returns the engine that the machine code is for, and the code. Blocks, on a thread that
    /// must live as long: the child dies with it.
    pub(crate) fn compile(&self, component: &[u8]) -> Result<(Mode, Vec<u8>), CompileError> {
        let (bytes, max) = (component.len() as u64, self.limits.component_bytes_max);
        if bytes > max {
            return Err(CompileError::TooLarge { bytes, max });
        }
        match &self.program {
            None => compile(component).map_err(|error| CompileError::Refused(format!("{error:#}"))),
            Some(program) => {
                let child = self.start(program);
                let child = child.map_err(|error| CompileError::Host(format!("starting it: {error}")))?;
                self.converse(child, component)
            }
        }
    }

    fn start(&self, program: &PathBuf) -> std::io::Result<Child> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        Command::new(program)
            .arg0("rewake")
            .arg(COMPILE_WORD)
            .args(
                [u64::from(std::process::id()), self.limits.cpu_s_max, self.limits.memory_bytes_max]
                    .map(|n| n.to_string()),
            )
            .arg(self.limits.component_bytes_max.to_string())
            .env_clear()
            .env("RAYON_NUM_THREADS", threads.to_string())
            .current_dir("/")
            // A terminal's interrupt is for its host, which may go on.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    }

    fn converse(&self, mut child: Child, component: &[u8]) -> Result<(Mode, Vec<u8>), CompileError> {
        let (Some(mut to), Some(from), Some(words)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(CompileError::Host("it has no streams".into()));
        };
        let artifact_bytes_max = self.limits.component_bytes_max.saturating_mul(ARTIFACT_RATIO_MAX);
        thread::scope(|scope| {
            // A child that does not read to the end says why in another way.
            scope.spawn(move || {
                let _ = to.write_all(component);
            });
            let artifact = scope.spawn(move || {
                let mut bytes = Vec::new();
                from.take(artifact_bytes_max).read_to_end(&mut bytes).map(|_| bytes)
            });
            let words = scope.spawn(move || {
                let mut bytes = Vec::new();
                let _ = words.take(WORDS_BYTES_MAX).read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            });
            let ended = self.wait(&mut child);
            let words = words.join().unwrap_or_default();
            let artifact = artifact.join().unwrap_or_else(|_| Ok(Vec::new()));
            self.judge(ended?, words.trim())?;
            unframe(artifact.map_err(|error| CompileError::Host(format!("reading from it: {error}")))?)
        })
    }

    fn wait(&self, child: &mut Child) -> Result<ExitStatus, CompileError> {
        let until = Instant::now() + Duration::from_millis(self.limits.time_ms_max);
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < until => thread::sleep(POLL_INTERVAL),
                Ok(None) => break CompileError::OutOfTime(self.limits.time_ms_max),
                Err(error) => break CompileError::Host(format!("waiting for it: {error}")),
            }
        };
        let _ = child.kill();
        let _ = child.wait();
        Err(ended)
    }

    /// What a child's end means.
    fn judge(&self, status: ExitStatus, words: &str) -> Result<(), CompileError> {
        if status.success() {
            return Ok(());
        }
        if status.code() == Some(i32::from(REFUSED)) {
            return Err(CompileError::Refused(cut(words, DETAIL_BYTES_MAX)));
        }
        if status.signal() == Some(SIGXCPU) {
            return Err(CompileError::OutOfCpu(self.limits.cpu_s_max));
        }
        // What Rust's allocator, and the system's calls, say when an address space is used up.
        if words.contains("memory allocation of") || words.contains("Cannot allocate memory") {
            return Err(CompileError::OutOfMemory(self.limits.memory_bytes_max));
        }
        Err(CompileError::Died(cut(&format!("{status}; {words}"), DETAIL_BYTES_MAX)))
    }
}

/// An artifact as it crosses: whole, or not at all.
fn frame(mode: Mode, code: &[u8]) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&MAGIC);
    head[8] = mode as u8;
    head[9..].copy_from_slice(&(code.len() as u64).to_le_bytes());
    head
}

fn unframe(mut bytes: Vec<u8>) -> Result<(Mode, Vec<u8>), CompileError> {
    let wrong = || CompileError::Died("what it handed back is not whole".into());
    let head: [u8; HEAD_BYTES] = *bytes.first_chunk().ok_or_else(wrong)?;
    let mode = match head[8] {
        mode if mode == Mode::Plain as u8 => Mode::Plain,
        mode if mode == Mode::Concurrent as u8 => Mode::Concurrent,
        _ => return Err(wrong()),
    };
    bytes.drain(..HEAD_BYTES);
    if head == frame(mode, &bytes) { Ok((mode, bytes)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rewake_policy::config::CompileBounds;

    #[test]
    fn an_artifact_crosses_whole_or_not_at_all() {
        let whole = [frame(Mode::Concurrent, b"code").as_slice(), b"code"].concat();
        assert_eq!(unframe(whole.clone()).unwrap(), (Mode::Concurrent, b"code".to_vec()));
        for cut in 0..whole.len() {
            assert!(unframe(whole[..cut].to_vec()).is_err(), "cut after {cut}");
        }
        assert!(unframe([&whole[..], b"x"].concat()).is_err());
        let mut other = whole;
        other[8] = 9;
        assert!(unframe(other).is_err());
    }

    /// Who allows more processor time gets it, on a busy machine too.
    #[test]
    fn the_wall_time_follows_the_processor_time() {
        let cpu =
            |seconds| CompileBounds { cpu_max: Some(Duration::from_secs(seconds)), ..Default::default() };
        let own = CompileLimits::default();
        assert_eq!(cpu(1).over(own), CompileLimits { cpu_s_max: 1, ..own });
        let short = CompileLimits { time_ms_max: 300, ..own };
        assert_eq!(CompileBounds::default().over(short), short);
        assert_eq!(cpu(600).over(own), CompileLimits { cpu_s_max: 600, time_ms_max: 3_000_000, ..own });
    }

    #[test]
    fn without_a_program_it_compiles_here_within_its_size() {
        let component = wat::parse_str("(component)").unwrap();
        let compiler =
            |max| Compiler::new(None, CompileLimits { component_bytes_max: max, ..CompileLimits::default() });
        assert_eq!(compiler(1 << 20).compile(&component).unwrap().0, Mode::Plain);
        let refused = compiler(3).compile(&component).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!(
                "it has {} bytes; at most 3 are compiled (`component` in [limits.compile])",
                component.len()
            )
        );
        let refused = compiler(1 << 20).compile(b"no component").unwrap_err();
        assert!(matches!(refused, CompileError::Refused(_)), "{refused}");
    }
}
