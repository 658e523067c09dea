//! Where a bundle's files come from: a folder, or bytes that were kept.
//!
//! Knows how to read a file without leaving the folder or reading more than is allowed. Does not
//! know what the files hold.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::manifest::MANIFEST_FILE;
use rewake_toml::{Error, Invalid, quote};

/// The files of one bundle.
pub(super) trait Files {
    /// How a person knows this file, for errors.
    fn shown(&self, path: &str) -> String;
    /// Whether there is something of this name, whatever it is.
    fn has(&self, path: &str) -> bool;
    /// Whether they were kept apart from where their author works, so that nobody can build them again here.
    fn is_kept(&self) -> bool;
    /// The bytes of a file; `path` has been checked to be a plain relative one.
    fn read(&self, path: &str, bytes_max: u64) -> Result<Bytes, Invalid>;
    /// The paths of all files below a folder, which has been checked likewise; at most so many.
    fn below(&self, folder: &str, files_max: usize) -> Result<Vec<String>, Invalid>;
}

/// A folder on this machine. Nothing outside it is ever opened, whatever links are in it.
pub(super) struct Folder {
    path: PathBuf,
    dir: Dir,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Folder, Error> {
        let shown = || path.display().to_string();
        if path.is_file() {
            let help = "name the folder that holds it, not the file";
            return Err(Error::whole_file(shown(), "is not a bundle's folder", Some(help.to_owned())));
        }
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(dir) => Ok(Folder { path: path.to_owned(), dir }),
            Err(error) => Err(Error::whole_file(
                shown(),
                format!("the bundle's folder cannot be opened: {error}"),
                Some(format!("name a folder with a {MANIFEST_FILE} in it")),
            )),
        }
    }
}

impl Files for Folder {
    fn shown(&self, path: &str) -> String {
        self.path.join(path).display().to_string()
    }

    fn has(&self, path: &str) -> bool {
        self.dir.symlink_metadata(path).is_ok()
    }

    fn is_kept(&self) -> bool {
        false
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Bytes, Invalid> {
        let mut options = OpenOptions::new();
        // A named pipe in a bundle must not make its reader wait for ever.
        options.read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
        let file = self.dir.open_with(path, &options).map_err(|error| unreadable(path, &error))?;
        let is_file = file.metadata().map_err(|error| unreadable(path, &error))?.is_file();
        if !is_file {
            return Err(Invalid::new(format!("{} is not a regular file", quote(path))));
        }
        let mut bytes = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
        within(path, Bytes::from(bytes), bytes_max)
    }

    fn below(&self, folder: &str, files_max: usize) -> Result<Vec<String>, Invalid> {
        let dir = self.dir.open_dir(folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Invalid::new(format!("there is no folder {}", quote(folder))),
            _ => unreadable(folder, &error),
        })?;
        let mut paths = Vec::new();
        let mut folders = vec![(folder.to_owned(), dir)];
        while let Some((folder, dir)) = folders.pop() {
            for entry in dir.entries().map_err(|error| unreadable(&folder, &error))? {
                let entry = entry.map_err(|error| unreadable(&folder, &error))?;
                let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
                let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
                if kind.is_dir() {
                    let dir = entry.open_dir().map_err(|error| unreadable(&path, &error))?;
                    folders.push((path, dir));
                } else if kind.is_file() {
                    paths.push(path);
                } else {
                    return Err(Invalid::new(format!("{} is not a regular file", quote(&path)))
                        .help("put the file itself there: links and the like are not taken"));
                }
                if paths.len() + folders.len() > files_max {
                    return Err(too_many(files_max));
                }
            }
        }
        Ok(paths)
    }
}

fn too_many(files_max: usize) -> Invalid {
    Invalid::new(format!("there are more than {files_max} files and folders"))
        .help("put fewer there: that is the most this version reads")
}

fn unreadable(path: &str, error: &std::io::Error) -> Invalid {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            Invalid::new(format!("there is no file {}", quote(path))).help("build it, or correct the name")
        }
        std::io::ErrorKind::PermissionDenied => Invalid::new(format!(
            "{} cannot be read: {error}",
            quote(path)
        ))
        .help(
            "it must be readable, and inside the bundle's folder: links that lead out of it are not followed",
        ),
        _ => Invalid::new(format!("{} cannot be read: {error}", quote(path))),
    }
}

/// Bytes that were kept, by path.
pub(super) struct Kept<'a> {
    /// How a person knows the bundle: its file, or its name; empty if that is not known.
    pub(super) label: &'a str,
    pub(super) files: &'a BTreeMap<String, Bytes>,
}

impl Files for Kept<'_> {
    fn shown(&self, path: &str) -> String {
        if self.label.is_empty() { path.to_owned() } else { format!("{}/{path}", self.label) }
    }

    fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    fn is_kept(&self) -> bool {
        true
    }

    fn read(&self, path: &str, bytes_max: u64) -> Result<Bytes, Invalid> {
        match self.files.get(path) {
            Some(bytes) => within(path, bytes.clone(), bytes_max),
            None => Err(Invalid::new(format!("there is no file {}", quote(path)))
                .help("the bundle was not kept whole: install it again")),
        }
    }

    fn below(&self, folder: &str, files_max: usize) -> Result<Vec<String>, Invalid> {
        let folder = format!("{folder}/");
        let paths: Vec<String> =
            self.files.keys().filter(|path| path.starts_with(&folder)).cloned().collect();
        if paths.len() > files_max { Err(too_many(files_max)) } else { Ok(paths) }
    }
}

fn within(path: &str, bytes: Bytes, bytes_max: u64) -> Result<Bytes, Invalid> {
    if bytes.len() as u64 > bytes_max {
        return Err(Invalid::new(format!("{} is larger than {bytes_max} bytes", quote(path))).help(
            "make it smaller; `[limits.compile] component` in rewake.toml says how large a component may be",
        ));
    }
    Ok(bytes)
}
