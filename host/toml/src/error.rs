//! Errors in files that people write: what is wrong, where, and what to do about it.
//!
//! Knows text and places in it. Does not know TOML, manifests or components; anyone who finds a
//! problem says it here. Everything quoted from a file is made safe for a terminal first.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use rewake_core::limits::cut;
use rewake_text::row;

/// The widest piece of a line that is shown, in characters; the rest of a longer line is cut.
const SHOWN_CHARS_MAX: usize = 100;
/// The longest name that a message repeats, in characters.
const QUOTED_CHARS_MAX: usize = 80;
/// Problems shown of one file; more would bury the first.
const PROBLEMS_SHOWN_MAX: usize = 20;
/// Problems of one file that are kept: each takes a look through the file for its place.
pub(super) const PROBLEMS_MAX: usize = 200;
/// Bytes of a line that are kept before and after the place that is meant.
const LINE_BYTES_MAX: usize = 4 << 10;
/// Bytes of a message that are shown: libraries repeat what they do not know, however long it is.
const MESSAGE_BYTES_MAX: usize = 1_000;
/// Characters of a name that may be meant as another: nobody mistypes a longer one by so little.
const NEAR_CHARS_MAX: usize = 80;

/// Everything that was found wrong with a file or a bundle; at least one problem.
///
/// `Display` shows each as `file:line:column: message`, the line, a caret and a help line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the person named it.
    pub file: String,
    /// Where in the file; none if the file as a whole is meant.
    pub place: Option<Place>,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// A place in a text file, with the line it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// How many characters are meant; at least 1.
    pub width: usize,
    /// The line, as it stands in the file; of a long one, what is around the place.
    pub text: String,
    /// Characters of the line before that.
    skipped: usize,
}

/// A value that was refused, before it is known where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong with it.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

/// A text file and the name a person knows it by; cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceText {
    name: Arc<str>,
    text: Arc<str>,
    /// Bytes that are never shown: they may be a secret.
    hidden: Arc<[Range<usize>]>,
}

impl Error {
    /// One problem of a file as a whole.
    pub fn whole_file(file: impl Into<String>, message: impl Into<String>, help: Option<String>) -> Error {
        Error { problems: vec![Problem { file: file.into(), place: None, message: message.into(), help }] }
    }

    /// `value`, or the problems if there are any, in the order of their places.
    pub fn unless_none<T>(mut problems: Vec<Problem>, value: Option<T>) -> Result<T, Error> {
        problems.sort_by_key(|problem| {
            problem.place.as_ref().map_or((usize::MAX, 0), |place| (place.line, place.column))
        });
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            _ => {
                assert!(!problems.is_empty(), "a value is missing and nobody said why");
                Err(Error { problems })
            }
        }
    }

    /// The problems, by place.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The problems, by place.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error { problems: vec![problem] }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().take(PROBLEMS_SHOWN_MAX).enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.problems.len().saturating_sub(PROBLEMS_SHOWN_MAX) {
            0 => Ok(()),
            _ if self.problems.len() >= PROBLEMS_MAX => f.write_str("\n\n… and many more"),
            more => write!(f, "\n\n… and {more} more"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounded = |text: &str| cut(&row(&cut(text, MESSAGE_BYTES_MAX)), MESSAGE_BYTES_MAX);
        let (file, message) = (bounded(&self.file), bounded(&self.message));
        let help = self.help.as_deref().map(bounded);
        let Some(place) = &self.place else {
            write!(f, "{file}: {message}")?;
            return match &help {
                Some(help) => write!(f, "\n  = help: {help}"),
                None => Ok(()),
            };
        };
        let number = place.line.to_string();
        let gutter = " ".repeat(number.len());
        let (text, offset, width) = place.window();
        write!(f, "{file}:{}:{}: {message}", place.line, place.column)?;
        write!(f, "\n {gutter} |\n {number} | {text}")?;
        write!(f, "\n {gutter} | {}{}", " ".repeat(offset), "^".repeat(width))?;
        match &help {
            Some(help) => write!(f, "\n {gutter} = help: {help}"),
            None => Ok(()),
        }
    }
}

impl Place {
    /// The part of the line to show, where the caret starts in it, and how long the caret is.
    fn window(&self) -> (String, usize, usize) {
        let cells: Vec<String> = self.text.chars().map(cell).collect();
        let columns = |cells: &[String]| cells.iter().map(|cell| cell.chars().count()).sum::<usize>();
        let column = (self.column - 1).saturating_sub(self.skipped).min(cells.len());
        let start = match fitting(cells.iter(), SHOWN_CHARS_MAX) == cells.len() {
            true => 0,
            false => column - fitting(cells[..column].iter().rev(), SHOWN_CHARS_MAX / 2),
        };
        let end = start + fitting(cells[start..].iter(), SHOWN_CHARS_MAX);
        let meant = &cells[column..end.min(column.saturating_add(self.width))];
        let text = cells[start..end].concat().trim_end().to_owned();
        (text, columns(&cells[start..column]), columns(meant).max(1))
    }
}

impl Invalid {
    /// With nothing to advise.
    pub fn new(message: impl Into<String>) -> Invalid {
        Invalid { message: message.into(), help: None }
    }

    /// The same, with what to write instead.
    pub fn help(mut self, help: impl Into<String>) -> Invalid {
        self.help = Some(help.into());
        self
    }
}

impl std::error::Error for Invalid {}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// Without the text: it may hold secrets.
impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SourceText({})", self.name)
    }
}

impl SourceText {
    /// `name` is shown in errors.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> SourceText {
        SourceText { name: name.into(), text: text.into(), hidden: Arc::default() }
    }

    /// The same text, of which these bytes are never shown.
    pub fn hiding(self, hidden: Vec<Range<usize>>) -> SourceText {
        SourceText { hidden: hidden.into(), ..self }
    }

    /// The name shown in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A problem at these bytes of the text.
    pub fn problem(&self, span: Range<usize>, invalid: Invalid) -> Problem {
        Problem {
            file: self.name.to_string(),
            place: Some(self.place(span)),
            message: invalid.message,
            help: invalid.help,
        }
    }

    fn place(&self, span: Range<usize>) -> Place {
        let start = self.floor(span.start);
        let end = self.floor(span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |length| start + length);
        let kept_start = line_start.max(self.floor(start.saturating_sub(LINE_BYTES_MAX)));
        let kept_end = line_end.min(self.floor(start.saturating_add(LINE_BYTES_MAX)));
        Place {
            line: self.text[..line_start].matches('\n').count() + 1,
            column: self.text[line_start..start].chars().count() + 1,
            width: self.text[start..end.min(line_end)].chars().count().max(1),
            text: self.shown(kept_start..kept_end).trim_end_matches('\r').to_owned(),
            skipped: self.text[line_start..kept_start].chars().count(),
        }
    }

    /// A piece of the text, with a star for every character that is never shown.
    fn shown(&self, range: Range<usize>) -> String {
        let start = range.start;
        let is_hidden = |at: usize| self.hidden.iter().any(|hidden| hidden.contains(&at));
        let chars = self.text[range].char_indices();
        chars.map(|(at, c)| if is_hidden(start + at) { '*' } else { c }).collect()
    }

    fn floor(&self, at: usize) -> usize {
        self.text.floor_char_boundary(at.min(self.text.len()))
    }
}

/// A name from a file, for use in a message.
pub fn quote(name: &str) -> String {
    let mut shown: String = name.chars().take(QUOTED_CHARS_MAX).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    format!("`{}`", row(&shown))
}

/// A list of names for a message: `a`, `b` and `c`.
pub fn quote_all<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(quote).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The known name a person most likely meant.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let chars = wrong.chars().count();
    let allowed = (chars / 3).clamp(1, 3);
    known
        .into_iter()
        .filter(|name| chars <= NEAR_CHARS_MAX && name.chars().count().abs_diff(chars) <= allowed)
        .map(|name| (strsim::damerau_levenshtein(&wrong.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// A character of a line as it is shown.
fn cell(c: char) -> String {
    if c == '\t' { " ".to_owned() } else { row(c.encode_utf8(&mut [0; 4])).into_owned() }
}

/// How many cells fit into so many columns.
fn fitting<'a>(cells: impl Iterator<Item = &'a String>, columns: usize) -> usize {
    let ends = cells.scan(0, |end, cell| {
        *end += cell.chars().count();
        Some(*end)
    });
    ends.take_while(|end| *end <= columns).count()
}
