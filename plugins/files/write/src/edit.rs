//! `edit_file`: one text in the place of another.
//!
//! Knows where a text is in a file, whatever its line ends are, and that a guess is worse than an
//! error. What to say of a text that is not there, `nearest` knows.

use std::{borrow::Cow, fs, path::Path};

use rewake_sdk::{
    prelude::*,
    workspace::{Place, explain},
};

use crate::{Edit, FILE_BYTES_MAX, file, nearest, replace, too_large};

/// Line numbers in one answer.
const LINES_SHOWN: usize = 10;
/// Places that are counted where one is wanted, and that are replaced where all are.
const COUNTED_MAX: usize = 1000;
const PLACES_MAX: usize = 1_000_000;

pub(crate) fn edit(root: &Path, args: &Edit) -> Result<String, ToolError> {
    let place = file(root, &args.path)?;
    if args.old.is_empty() {
        return Err(ToolError::invalid_input(
            "`old` is empty; to make a file or to replace all of it, use write_file",
        ));
    }
    if args.old == args.new {
        return Err(ToolError::invalid_input("`old` and `new` are the same: nothing would change"));
    }
    let text = text_of(&place)?;
    let source = Source::of(&text);
    let old = lf(&args.old);
    let places = places(&source, &place, &old, args)?;
    // At most: what is replaced may be longer than `old` by carriage returns.
    let grown = args.new.len().saturating_sub(old.len()).saturating_mul(places.len());
    if text.len().saturating_add(grown) > FILE_BYTES_MAX {
        return Err(too_large(&place, (text.len() + grown) as u64));
    }
    let edited = put(&source, &places, old.len(), &args.new);
    if edited == text {
        return Err(ToolError::invalid_input(
            "nothing would change: line ends stay as the file has them; to change them, write it whole \
             with write_file",
        ));
    }
    replace(&place, Some(&text), &edited)?;
    let lines = source.lines_of(&places);
    Ok(match &lines[..] {
        [line] => format!("changed `{}` at line {line}", place.name),
        _ => format!("changed `{}` at {} places ({})", place.name, lines.len(), shown(&lines)),
    })
}

/// A file's text with plain line feeds, and where it had more.
pub(crate) struct Source<'a> {
    text: &'a str,
    lf: Cow<'a, str>,
    /// Places in `lf` of line feeds that have a carriage return before them in `text`.
    crlf: Vec<usize>,
}

impl<'a> Source<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let crlf = text.match_indices("\r\n").enumerate().map(|(nth, (at, _))| at - nth).collect();
        Self { text, lf: lf(text), crlf }
    }

    /// Where in `text` a place in `lf` is; a CRLF begins at its carriage return.
    fn original(&self, at: usize) -> usize {
        at + self.crlf.partition_point(|crlf| *crlf < at)
    }

    /// How the line ends that this place in `text` is in, or, of the last one, the line before it; and up
    /// to which place that holds.
    fn line_end(&self, at: usize) -> (&'static str, usize) {
        let next = self.text[at..].find('\n').map(|found| at + found);
        match next.or_else(|| self.text[..at].rfind('\n')) {
            Some(end) if self.text[..end].ends_with('\r') => ("\r\n", next.unwrap_or(usize::MAX)),
            _ => ("\n", next.unwrap_or(usize::MAX)),
        }
    }

    /// The lines that places in `lf`, in order, are in.
    fn lines_of(&self, places: &[usize]) -> Vec<usize> {
        let (mut line, mut from) = (1, 0);
        let count = |at: &usize| {
            line += self.lf[from..*at].matches('\n').count();
            from = *at;
            line
        };
        places.iter().map(count).collect()
    }
}

fn lf(text: &str) -> Cow<'_, str> {
    if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) }
}

/// Where `old` is to be replaced.
fn places(source: &Source<'_>, place: &Place, old: &str, args: &Edit) -> Result<Vec<usize>, ToolError> {
    let apart = source.lf.match_indices(old).map(|(at, _)| at);
    let mut found: Vec<usize> = apart.take(if args.all { PLACES_MAX + 1 } else { 1 }).collect();
    let Some(&first) = found.first() else {
        let (hint, done) = (nearest::hint(&source.lf, old), done_before(source, &args.new));
        return Err(ToolError::invalid_input(format!("`old` is not in `{}`: {hint}{done}", place.name)));
    };
    if args.all {
        return if found.len() > PLACES_MAX { Err(too_many(place)) } else { Ok(found) };
    }
    // Overlapping places count: replacing either one would be a guess.
    let mut last = first;
    while found.len() <= COUNTED_MAX {
        let after = last + source.lf[last..].chars().next().map_or(1, char::len_utf8);
        let Some(next) = source.lf[after..].find(old) else { break };
        last = after + next;
        found.push(last);
    }
    if found.len() == 1 {
        return Ok(found);
    }
    let times = match found.len() {
        count if count > COUNTED_MAX => format!("more than {COUNTED_MAX} times"),
        count => format!("{count} times"),
    };
    let lines = source.lines_of(&found);
    Err(ToolError::invalid_input(format!(
        "`old` is in `{}` {times} ({}): nothing was changed. Add lines around it until it is there once, \
         or set `all` to replace every one",
        place.name,
        shown(&lines)
    )))
}

/// What to say of a file that has the new text already, as after a call whose end nobody saw.
fn done_before(source: &Source<'_>, new: &str) -> String {
    let new = lf(new);
    // What is so short is there by chance.
    let at = if new.trim().len() < 4 { None } else { source.lf.find(&*new) };
    at.map_or_else(String::new, |at| {
        let line = source.lines_of(&[at])[0];
        format!(". But `new` is there, at line {line}: this edit may have been made already")
    })
}

fn too_many(place: &Place) -> ToolError {
    ToolError::invalid_input(format!(
        "`old` is in `{}` more than {PLACES_MAX} times: too many to be replaced in one call",
        place.name
    ))
}

fn shown(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().take(LINES_SHOWN).map(ToString::to_string).collect();
    let more = if lines.len() > LINES_SHOWN { ", …" } else { "" };
    format!("line {}{more}", numbers.join(", "))
}

/// The text with `new` in each of the places.
pub(crate) fn put(source: &Source<'_>, places: &[usize], old_bytes: usize, new: &str) -> String {
    let new = lf(new);
    let crlf = new.replace('\n', "\r\n");
    let mut edited = String::with_capacity(source.text.len() + new.len());
    let mut from = 0;
    let mut line = source.line_end(0);
    for at in places {
        let (start, end) = (source.original(*at), source.original(at + old_bytes));
        if start > line.1 {
            line = source.line_end(start);
        }
        edited.push_str(&source.text[from..start]);
        edited.push_str(if line.0 == "\r\n" { &crlf } else { &new });
        from = end;
    }
    edited.push_str(&source.text[from..]);
    edited
}

fn text_of(place: &Place) -> Result<String, ToolError> {
    let about = fs::metadata(&place.path).map_err(|error| explain(place, &error))?;
    if about.len() > FILE_BYTES_MAX as u64 {
        return Err(too_large(place, about.len()));
    }
    let bytes = fs::read(&place.path).map_err(|error| explain(place, &error))?;
    String::from_utf8(bytes)
        .map_err(|_| ToolError::failed(format!("`{}` is not text in UTF-8: it cannot be edited", place.name)))
}
