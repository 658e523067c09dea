//! File operations one after another, each with a word on how it went: the same for tools, hooks and
//! harnesses, so that a host is tried in all three.
//!
//! Knows `std::fs`. Does not know what a host should allow.

use std::{
    fs::{self, File, OpenOptions},
    hash::RandomState,
    hint::black_box,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    thread,
    time::{Duration, Instant, SystemTime},
};

use serde::{Deserialize, Serialize};

/// Bytes written at once by `fill`.
const CHUNK_BYTES: usize = 16 << 10;

/// One operation; paths are absolute.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "each is what its name says")]
pub enum FileOp {
    Read {
        path: String,
    },
    ReadAt {
        path: String,
        offset: u64,
        length: u64,
    },
    Write {
        path: String,
        text: String,
    },
    Append {
        path: String,
        text: String,
    },
    /// Writes over what is there.
    WriteAt {
        path: String,
        offset: u64,
        text: String,
    },
    Fill {
        path: String,
        bytes: u64,
    },
    Resize {
        path: String,
        bytes: u64,
    },
    MakeDir {
        path: String,
    },
    MakeMany {
        path: String,
        count: u32,
    },
    RemoveDir {
        path: String,
    },
    Remove {
        path: String,
    },
    Rename {
        path: String,
        to: String,
    },
    HardLink {
        path: String,
        to: String,
    },
    Symlink {
        text: String,
        path: String,
    },
    ReadLink {
        path: String,
    },
    Look {
        path: String,
    },
    /// Whether the times of a file are told in whole milliseconds.
    Times {
        path: String,
    },
    List {
        path: String,
    },
    /// Begins to list a directory, again and again.
    ListMany {
        path: String,
        count: u32,
    },
    OpenMany {
        path: String,
        count: u32,
    },
    /// Writes to a file that has no name any more.
    WriteRemoved {
        path: String,
        bytes: u64,
    },
    Env,
    Connect {
        address: String,
    },
    /// Calls host functions that are not about files: the wall clock twice, the monotonic one three times, sleep,
    /// the log and randomness once each.
    Call,
}

/// Does all of them; a line each.
pub fn run(ops: &[FileOp]) -> Vec<String> {
    ops.iter().map(|op| perform(op).unwrap_or_else(|error| format!("{:?}", error.kind()))).collect()
}

fn perform(op: &FileOp) -> io::Result<String> {
    let done = |()| "ok".to_owned();
    match op {
        FileOp::Call => {
            black_box([SystemTime::now(), SystemTime::now()]);
            black_box([Instant::now(), Instant::now(), Instant::now()]);
            thread::sleep(Duration::from_millis(1));
            rewake_sdk::log::info("called");
            // The first one of an instance asks for a seed.
            black_box(RandomState::new());
            Ok("called".to_owned())
        }
        FileOp::Read { path } => fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        FileOp::ReadAt { path, offset, length } => read_at(path, *offset, *length),
        FileOp::Write { path, text } => fs::write(path, text).map(done),
        FileOp::Append { path, text } => {
            let mut file = OpenOptions::new().append(true).open(path)?;
            file.write_all(text.as_bytes()).map(done)
        }
        FileOp::WriteAt { path, offset, text } => {
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.seek(SeekFrom::Start(*offset))?;
            file.write_all(text.as_bytes()).map(done)
        }
        FileOp::Fill { path, bytes } => fill(&mut File::create(path)?, *bytes),
        FileOp::Resize { path, bytes } => {
            OpenOptions::new().write(true).open(path)?.set_len(*bytes).map(done)
        }
        FileOp::MakeDir { path } => fs::create_dir(path).map(done),
        FileOp::MakeMany { path, count } => {
            let made = (0..*count).map_while(|at| fs::write(format!("{path}{at}"), "").ok()).count();
            Ok(format!("made {made}"))
        }
        FileOp::RemoveDir { path } => fs::remove_dir(path).map(done),
        FileOp::Remove { path } => fs::remove_file(path).map(done),
        FileOp::Rename { path, to } => fs::rename(path, to).map(done),
        FileOp::HardLink { path, to } => fs::hard_link(path, to).map(done),
        #[allow(deprecated, reason = "the only stable way to make a link on WASI")]
        FileOp::Symlink { text, path } => fs::soft_link(text, path).map(done),
        FileOp::ReadLink { path } => Ok(fs::read_link(path)?.to_string_lossy().into_owned()),
        FileOp::Look { path } => look(path),
        FileOp::Times { path } => times(path),
        FileOp::ListMany { path, count } => Ok(hold("listed", *count, || {
            fs::read_dir(path).and_then(|mut names| names.next().transpose().map(|_| names))
        })),
        FileOp::List { path } => {
            let names: io::Result<Vec<String>> = fs::read_dir(path)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect();
            Ok(names?.join(" "))
        }
        FileOp::OpenMany { path, count } => Ok(hold("opened", *count, || File::open(path))),
        FileOp::WriteRemoved { path, bytes } => {
            let mut file = File::create(path)?;
            fs::remove_file(path)?;
            fill(&mut file, *bytes)
        }
        FileOp::Env => Ok(format!("{} {}", std::env::vars().count(), std::env::args().count())),
        FileOp::Connect { address } => std::net::TcpStream::connect(address).map(|_| "connected".to_owned()),
    }
}

fn look(path: &str) -> io::Result<String> {
    let metadata = fs::symlink_metadata(path)?;
    let kind = match metadata.file_type() {
        kind if kind.is_dir() => "directory",
        kind if kind.is_symlink() => "link",
        _ => "file",
    };
    Ok(format!("{kind} {}", if metadata.is_file() { metadata.len() } else { 0 }))
}

fn times(path: &str) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    let times = [metadata.modified()?, metadata.accessed()?];
    let whole = |time: &SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH).is_ok_and(|since| since.as_nanos() % 1_000_000 == 0)
    };
    Ok(format!("whole: {}", times.iter().all(whole)))
}

/// Opens so many of something, and keeps all of them open.
fn hold<T>(word: &str, count: u32, open: impl Fn() -> io::Result<T>) -> String {
    let mut held = Vec::new();
    for _ in 0..count {
        match open() {
            Ok(one) => held.push(one),
            Err(error) => return format!("{word} {}, then {:?}", held.len(), error.kind()),
        }
    }
    format!("{word} {}", held.len())
}

fn read_at(path: &str, offset: u64, length: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut text = String::new();
    file.take(length).read_to_string(&mut text)?;
    Ok(text)
}

/// Writes as much as goes.
fn fill(file: &mut File, bytes: u64) -> io::Result<String> {
    let chunk = vec![b'x'; CHUNK_BYTES];
    let mut written = 0;
    while written < bytes {
        let next = usize::try_from(bytes - written).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        match file.write(&chunk[..next]) {
            Ok(count) => written += count as u64,
            Err(error) => return Ok(format!("wrote {written}, then {:?}", error.kind())),
        }
    }
    Ok(format!("wrote {written}"))
}
