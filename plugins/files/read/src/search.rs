//! `grep`: lines by what is in them.
//!
//! Knows how a search becomes an answer of bounded size. ripgrep's own crates do the searching.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io,
    path::Path,
};

use grep_matcher::{LineTerminator, Matcher};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkFinish, SinkMatch,
};
use regex_syntax::ParserBuilder;
use rewake_sdk::{
    prelude::*,
    workspace::{Place, explain, place},
};

use crate::{
    ANSWER_BYTES_MAX, Grep, Mode,
    find::{Pattern, Taken, of_walk},
    walk::{Kind, Next, Walked, walk},
};

/// The longest expression.
const PATTERN_BYTES_MAX: usize = 1000;
/// What a compiled expression, and what it learns while searching, may take.
const REGEX_BYTES_MAX: usize = 4 << 20;
/// How deep groups may be nested: compiling goes as deep, on a small stack.
const NEST_MAX: u32 = 100;
/// The longest line that is searched; a file with a longer one is passed over.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Shown of one line.
const SHOWN_BYTES_MAX: usize = 400;
const CONTEXT_MAX: u32 = 20;
const LIMIT_MAX: u32 = 1000;

pub(crate) fn search(root: &Path, args: &Grep) -> Result<String, ToolError> {
    if !(1..=LIMIT_MAX).contains(&args.limit) {
        return Err(ToolError::invalid_input(format!("`limit` must be 1 to {LIMIT_MAX}")));
    }
    if args.context > CONTEXT_MAX {
        return Err(ToolError::invalid_input(format!("`context` must be 0 to {CONTEXT_MAX}")));
    }
    let matcher = compile(&args.pattern, args.case_insensitive)?;
    let only = args.glob.as_deref().map(|glob| Pattern::new("glob", glob)).transpose()?;
    let place = place(root, &args.path)?;
    let about = fs::metadata(&place.path).map_err(|error| explain(&place, &error))?;
    let mut search = Search::new(args, matcher);
    let mut taken = Taken::new(args.include_ignored, only.as_ref().is_some_and(|only| only.wants_hidden));
    let mut walked = Walked::default();
    if about.is_dir() {
        walked = walk(root, &place, &mut |found| {
            let next = taken.next(found);
            if next != Next::On || found.kind != Kind::File {
                return Ok(next);
            }
            if only.as_ref().is_none_or(|only| only.matches(found.below)) {
                // One file of many that cannot be read is no reason to give up on the others.
                if search.file(&found.place).is_err() {
                    search.unreadable += 1;
                }
            }
            Ok(if search.more { Next::Stop } else { Next::On })
        })?;
    } else {
        search.file(&place).map_err(|error| explain(&place, &error))?;
    }
    Ok(search.answer(&place, taken.note(), walked))
}

fn compile(pattern: &str, case_insensitive: bool) -> Result<RegexMatcher, ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::invalid_input("`pattern` is empty: it would match every line"));
    }
    if pattern.len() > PATTERN_BYTES_MAX {
        let message = format!("`pattern` is longer than {PATTERN_BYTES_MAX} bytes");
        return Err(ToolError::invalid_input(message));
    }
    let refused = |why: String| ToolError::invalid_input(format!("`pattern` cannot be used: {why}"));
    if let Err(error) = ParserBuilder::new().nest_limit(NEST_MAX).build().parse(pattern) {
        let literal = regex_syntax::escape(pattern);
        let why = no_expression(&error);
        return Err(refused(format!("{why}; to find the text as it is written, search for `{literal}`")));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(case_insensitive).crlf(true).multi_line(true);
    builder.size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX);
    builder.build(pattern).map_err(|error| match error.kind() {
        ErrorKind::NotAllowed(_) | ErrorKind::InvalidLineTerminator(_) | ErrorKind::Banned(_) => {
            refused("it would match more than one line; search for one of the lines".to_owned())
        }
        _ => refused(format!("{error}; make it simpler")),
    })
}

/// What is wrong with an expression, in one line.
fn no_expression(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => {
            format!("{} at column {}", error.kind(), error.span().start.column)
        }
        regex_syntax::Error::Translate(error) => {
            format!("{} at column {}", error.kind(), error.span().start.column)
        }
        other => other.to_string(),
    }
}

/// A search through several files, and what it found.
struct Search<'a> {
    args: &'a Grep,
    matcher: RegexMatcher,
    searcher: Searcher,
    found: String,
    /// Lines or files found, as the mode has it.
    count: usize,
    /// There is more than was asked for.
    more: bool,
    searched: usize,
    no_text: usize,
    unreadable: usize,
}

impl<'a> Search<'a> {
    fn new(args: &'a Grep, matcher: RegexMatcher) -> Self {
        let context = if args.mode == Mode::Lines { args.context as usize } else { 0 };
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(args.mode == Mode::Lines)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LINE_BYTES_MAX))
            .binary_detection(BinaryDetection::quit(0))
            .max_matches((args.mode == Mode::Files).then_some(1))
            .build();
        Self {
            args,
            matcher,
            searcher,
            found: String::new(),
            count: 0,
            more: false,
            searched: 0,
            no_text: 0,
            unreadable: 0,
        }
    }

    fn file(&mut self, place: &Place) -> io::Result<()> {
        let file = File::open(&place.path)?;
        let limit = self.args.limit as usize;
        let room = ANSWER_BYTES_MAX.saturating_sub(self.found.len() + place.name.len());
        let left = if self.args.mode == Mode::Lines { limit - self.count } else { usize::MAX };
        let mut lines = Lines {
            matcher: &self.matcher,
            show: self.args.mode == Mode::Lines,
            text: String::new(),
            left,
            room,
            count: 0,
            more: false,
            no_text: false,
        };
        self.searcher.search_reader(&self.matcher, file, &mut lines)?;
        self.searched += 1;
        self.no_text += usize::from(lines.no_text);
        if lines.no_text || (lines.count == 0 && !lines.more) {
            return Ok(());
        }
        if self.args.mode == Mode::Lines {
            self.more |= lines.more;
            self.count += lines.count;
            if lines.count > 0 {
                let gap = if self.found.is_empty() { "" } else { "\n" };
                let _ = write!(self.found, "{gap}{}\n{}", place.name, lines.text);
            }
            return Ok(());
        }
        if self.count == limit || room == 0 {
            self.more = true;
            return Ok(());
        }
        self.count += 1;
        match self.args.mode {
            Mode::Count => drop(writeln!(self.found, "{}: {}", place.name, lines.count)),
            _ => drop(writeln!(self.found, "{}", place.name)),
        }
        Ok(())
    }

    fn answer(mut self, place: &Place, left_out: &str, walked: Walked) -> String {
        if self.count == 0 && !self.more {
            let files = match self.searched {
                1 => "1 file".to_owned(),
                count => format!("{count} files"),
            };
            self.found = format!("no line of {files} in `{}` matches{left_out}", place.name);
        }
        let mut notes = Vec::new();
        if self.more {
            let what = if self.args.mode == Mode::Lines { "lines" } else { "files" };
            notes.push(format!(
                "[only the first {} {what}: there are more; make `pattern`, `path` or `glob` narrower, or use \
                 another `mode`]",
                self.count
            ));
        }
        if self.no_text > 0 && self.count == 0 {
            notes.push(format!("[skipped, since they are no text: {} of these files]", self.no_text));
        }
        if self.unreadable > 0 {
            notes.push(format!("[files that cannot be searched: {}]", self.unreadable));
        }
        let mut answer = self.found.trim_end_matches('\n').to_owned();
        for note in notes {
            answer.push('\n');
            answer.push_str(&note);
        }
        answer.push_str(&of_walk(walked));
        answer
    }
}

/// What is found in one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    show: bool,
    text: String,
    /// How many lines are still wanted.
    left: usize,
    /// How many bytes are still to be had.
    room: usize,
    count: usize,
    more: bool,
    no_text: bool,
}

impl Lines<'_> {
    fn is_full(&self) -> bool {
        self.count == self.left || self.text.len() > self.room
    }

    fn add(&mut self, number: Option<u64>, sign: char, bytes: &[u8]) {
        let at = self.matcher.find(bytes).ok().flatten().map_or(0, |found| found.start());
        let _ = writeln!(self.text, "{}{sign}{}", number.unwrap_or_default(), shown(bytes, at));
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.is_full() {
            self.more = true;
            return Ok(false);
        }
        self.count += 1;
        if self.show {
            self.add(found.line_number(), ':', found.bytes());
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        if *found.kind() == SinkContextKind::Before && self.is_full() {
            self.more = true;
            return Ok(false);
        }
        self.add(found.line_number(), '-', found.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.is_full() {
            self.more = true;
            return Ok(false);
        }
        self.text.push_str("--\n");
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.no_text = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line, or, of a long one, what is around `at`.
fn shown(line: &[u8], at: usize) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.len() <= SHOWN_BYTES_MAX {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = if at < SHOWN_BYTES_MAX / 2 { 0 } else { boundary(line, at - SHOWN_BYTES_MAX / 4) };
    let end = boundary(line, start + SHOWN_BYTES_MAX);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    let text = String::from_utf8_lossy(&line[start..end]);
    format!("{before}{text}{after} [line of {} bytes]", line.len())
}

/// The nearest place at or before this one where a character begins, if the bytes are UTF-8.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    let continues = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    (at.saturating_sub(3)..=at).rev().find(|at| !continues(at)).unwrap_or(at)
}
