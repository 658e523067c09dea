//! Tools that look into the workspace: `read_file`, `list_files`, `glob` and `grep`.
//!
//! This component holds no write grant. Here is what models read about the tools; each tool's own
//! module knows how much a model can use at once, and says how to go on where it stops.

mod find;
mod list;
mod read;
mod search;
#[cfg(test)]
mod tests;
mod walk;

use std::path::Path;

use rewake_sdk::{prelude::*, workspace::WORKSPACE};

/// Text of one answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;

#[args]
struct Read {
    /// A text file, relative to the workspace.
    path: String,
    /// The first line to read, counted from 1. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    offset: u32,
    /// How many lines to read. Default: as many as fit, 2000 at most.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

fn one() -> u32 {
    1
}

/// Read a text file of the workspace. Each line comes as its number, a tab, and the line itself:
/// number and tab are no part of the file, so leave them out of what you give to edit_file. Notes
/// in square brackets are no part of it either; they say where to go on in a long file, and which
/// lines are cut. Only UTF-8 text can be read, no images.
#[tool(effect = pure)]
fn read_file(args: Read) -> Result<String, ToolError> {
    read::read(Path::new(WORKSPACE), &args)
}

#[args]
struct List {
    /// A directory, relative to the workspace. Default: the workspace itself.
    #[serde(default)]
    path: String,
    /// How many levels to list, 1 to 8. Default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 8))]
    depth: u32,
}

/// List the files and directories in a directory of the workspace, one a line: directories end
/// with `/`, files have their size in bytes. Hidden files are listed too; what .gitignore leaves
/// out is marked `ignored`, and such directories and .git are only gone into when `path` names
/// them. To find files by name use glob, by what is in them grep.
#[tool(effect = pure)]
fn list_files(args: List) -> Result<String, ToolError> {
    list::list(Path::new(WORKSPACE), &args)
}

#[args]
struct Glob {
    /// Such as `*.rs` (a name, at any depth), `src/**/*.rs` (a path from `path` on) or
    /// `*.{md,txt}`. `*` and `?` do not match `/`; `**` does.
    pattern: String,
    /// The directory to look in, relative to the workspace. Default: the workspace itself.
    #[serde(default)]
    path: String,
    /// Also hidden files, and those that .gitignore leaves out. Default: false.
    #[serde(default)]
    include_ignored: bool,
}

/// Find files of the workspace by name. Answers with their paths, relative to the workspace, one a
/// line, in order of the names. Hidden files, .git and what .gitignore leaves out are not looked
/// at, unless `include_ignored` says so or `path` leads there.
#[tool(effect = pure)]
fn glob(args: Glob) -> Result<String, ToolError> {
    find::find(Path::new(WORKSPACE), &args)
}

#[args]
struct Grep {
    /// A regular expression in Rust's syntax, matched within single lines. Write `\(` for a
    /// parenthesis that is meant as such.
    pattern: String,
    /// A file or directory to search, relative to the workspace. Default: the workspace itself.
    #[serde(default)]
    path: String,
    /// Only files that match this pattern, such as `*.rs`, as in glob.
    glob: Option<String>,
    /// `lines` answers with the matching lines, `files` with the paths of the files that have one,
    /// `count` with those paths and how many lines match. Default: lines.
    #[serde(default)]
    mode: Mode,
    /// How many lines around each match to show, 0 to 20. Default: 0. For mode `lines`.
    #[serde(default)]
    #[schemars(range(max = 20))]
    context: u32,
    /// Whether `a` also finds `A`. Default: false.
    #[serde(default)]
    case_insensitive: bool,
    /// Also hidden files, and those that .gitignore leaves out. Default: false.
    #[serde(default)]
    include_ignored: bool,
    /// How many matching lines (mode `lines`) or files (the others) to answer with, 1 to 1000.
    /// Default: 200.
    #[serde(default = "two_hundred")]
    #[schemars(range(min = 1, max = 1000))]
    limit: u32,
}

// Variants without comments make the plain list of names that models know best.
#[args]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Lines,
    Files,
    Count,
}

fn two_hundred() -> u32 {
    200
}

/// Search the text files of the workspace for lines that match a regular expression. Answers with
/// each file's path, and below it the lines as `NUMBER:LINE`; lines around a match are
/// `NUMBER-LINE`, and `--` stands where lines are left out. Files are looked at as in glob; those
/// that are no text are skipped, and long lines are cut. If there is too much, make `pattern`,
/// `path` or `glob` narrower.
#[tool(effect = pure)]
fn grep(args: Grep) -> Result<String, ToolError> {
    search::search(Path::new(WORKSPACE), &args)
}

rewake_sdk::tools![read_file, list_files, glob, grep];

/// The part of a text that fits into this many bytes, whole characters only.
fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
