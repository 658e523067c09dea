//! What to say of a text that is not in a file: what is there instead.
//!
//! Knows the mistakes that are made when text is copied: other white space, line numbers, a line
//! that has changed since. Works on text with plain line feeds.

use std::cmp::Ordering;

/// Lines of a file, and of the text looked for, that are compared.
const FILE_LINES_MAX: usize = 200_000;
const OLD_LINES_MAX: usize = 100;
/// The longest line that is compared by its likeness.
const LIKE_BYTES_MAX: usize = 500;
/// How alike lines must be to be named, in hundredths.
const LIKE_MIN: usize = 60;
/// Shown of a line.
const SHOWN_CHARS: usize = 160;

/// The rest of a sentence about `old`, which is not in `text`.
pub(crate) fn hint(text: &str, old: &str) -> String {
    if text.is_empty() {
        return "the file is empty; write_file fills it".to_owned();
    }
    if without_numbers(old).is_some_and(|plain| text.contains(&plain)) {
        return "it begins its lines with the numbers of read_file; leave each number and the tab after it out"
            .to_owned();
    }
    let file: Vec<&str> = text.split('\n').take(FILE_LINES_MAX).collect();
    let open = old.strip_suffix('\n');
    if open.is_some_and(|open| text.ends_with(open)) {
        return "it ends with a line feed, and the file does not; leave that one out".to_owned();
    }
    let lines: Vec<&str> = open.unwrap_or(old).split('\n').take(OLD_LINES_MAX).collect();
    let old = Old { lines, ends_line: open.is_some() };
    if let Some(run) = longest_run(&file, &old) {
        return run.hint(&file, &old);
    }
    let anchor = old.lines.iter().copied().max_by_key(|line| line.trim().len()).unwrap_or_default();
    match most_alike(&file, anchor) {
        Some(nearest) => format!(
            "it must match exactly, and no line of it is there. The nearest to {} is line {}: {}",
            quoted(anchor),
            nearest + 1,
            quoted(file[nearest])
        ),
        None => "it must match exactly, and nothing like it is there; read the file again and copy the text"
            .to_owned(),
    }
}

/// `old` without the numbers and tabs that `read_file` puts before lines, if all of them have one.
fn without_numbers(old: &str) -> Option<String> {
    let plain = old.split('\n').map(|line| {
        let (number, rest) = line.split_once('\t')?;
        let number = number.trim_start();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(rest)
    });
    let plain: Option<Vec<&str>> = plain.collect();
    plain.map(|lines| lines.join("\n"))
}

/// The text that is looked for.
struct Old<'a> {
    lines: Vec<&'a str>,
    /// Whether its last line is one to its end.
    ends_line: bool,
}

impl Old<'_> {
    /// Whether a line is what its `nth` must be: the first may begin and the last end within one.
    fn is_exact(&self, nth: usize, there: &str) -> bool {
        let line = self.lines[nth];
        match (nth == 0, nth + 1 == self.lines.len() && !self.ends_line) {
            (true, true) => there.contains(line),
            (true, false) => there.ends_with(line),
            (false, true) => there.starts_with(line),
            (false, false) => there == line,
        }
    }
}

/// Lines of the file from `start` on that are the first lines of `old`, but for white space.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    lines: usize,
    exact: usize,
    /// Lines that say something.
    filled: usize,
    start: usize,
}

fn longest_run(file: &[&str], old: &Old<'_>) -> Option<Run> {
    let mut best = Run::default();
    for start in 0..file.len() {
        let mut run = Run { start, ..Run::default() };
        for (nth, line) in old.lines.iter().enumerate().take(file.len() - start) {
            let there = file[start + nth];
            if old.is_exact(nth, there) {
                run.exact += 1;
            } else if !same_but_white_space(there, line) {
                break;
            }
            run.lines += 1;
            run.filled += usize::from(!line.trim().is_empty());
        }
        if run.filled > 0 && (run.lines, run.exact) > (best.lines, best.exact) {
            best = run;
        }
    }
    (best.filled > 0).then_some(best)
}

fn same_but_white_space(a: &str, b: &str) -> bool {
    let ink = |text| str::chars(text).filter(|char| !char.is_whitespace());
    ink(a).eq(ink(b))
}

impl Run {
    fn hint(self, file: &[&str], old: &Old<'_>) -> String {
        let first = self.start + 1;
        if self.lines == old.lines.len() {
            let nth =
                (0..self.lines).find(|nth| !old.is_exact(*nth, file[self.start + nth])).unwrap_or_default();
            let (there, line) = (file[self.start + nth], old.lines[nth]);
            return format!(
                "white space differs. Line {} of the file is {}, and `old` has {}{}",
                first + nth,
                quoted(there),
                quoted(line),
                indents(there, line)
            );
        }
        let what = if self.lines == 1 {
            "its first line is".to_owned()
        } else {
            format!("its first {} lines are", self.lines)
        };
        let there = match file.get(self.start + self.lines) {
            Some(line) => format!("line {} of the file is {}", first + self.lines, quoted(line)),
            None => "the file ends".to_owned(),
        };
        format!("{what} at line {first}, but then {there}, and `old` has {}", quoted(old.lines[self.lines]))
    }
}

/// The difference, if it is in how the lines are indented.
fn indents(there: &str, line: &str) -> String {
    let (there, line) = (indent(there), indent(line));
    if there == line { String::new() } else { format!(" ({} there, {} in `old`)", named(there), named(line)) }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

fn named(white: &str) -> String {
    let count = |sign: char, one: &str| match white.matches(sign).count() {
        0 => None,
        1 => Some(format!("1 {one}")),
        count => Some(format!("{count} {one}s")),
    };
    let other = white.chars().filter(|sign| !matches!(sign, ' ' | '\t')).count();
    let other = (other > 0).then(|| format!("{other} other signs of white space"));
    let parts: Vec<String> = [count('\t', "tab"), count(' ', "space"), other].into_iter().flatten().collect();
    if parts.is_empty() { "no indent".to_owned() } else { parts.join(" and ") }
}

/// The line that is most like `line`, if one is like it at all.
fn most_alike(file: &[&str], line: &str) -> Option<usize> {
    let line = line.trim();
    if line.len() > LIKE_BYTES_MAX {
        return None;
    }
    let wanted = pairs(line);
    let mut best = (LIKE_MIN - 1, None);
    for (at, there) in file.iter().enumerate() {
        let there = there.trim();
        // Lines of such different lengths cannot be alike enough, whatever is in them.
        let (short, long) = (there.len().min(line.len()), there.len().max(line.len()));
        if there.len() > LIKE_BYTES_MAX || 200 * short < LIKE_MIN * (short + long) / 4 {
            continue;
        }
        let like = likeness(&wanted, &pairs(there));
        if like > best.0 {
            best = (like, Some(at));
        }
    }
    best.1
}

/// Each two characters that follow each other, in order: shared ones are a cheap measure of likeness.
fn pairs(line: &str) -> Vec<(char, char)> {
    let mut pairs: Vec<_> = line.chars().zip(line.chars().skip(1)).collect();
    pairs.sort_unstable();
    pairs
}

/// How much of two sorted lists is shared, in hundredths.
fn likeness(a: &[(char, char)], b: &[(char, char)]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0_usize);
    while let (Some(left), Some(right)) = (a.get(i), b.get(j)) {
        match left.cmp(right) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => (i, j, shared) = (i + 1, j + 1, shared + 1),
        }
    }
    (200 * shared).checked_div(a.len() + b.len()).unwrap_or(0)
}

/// A line with its white space visible.
fn quoted(line: &str) -> String {
    let shown: String = line.chars().take(SHOWN_CHARS).collect();
    let cut = if shown.len() < line.len() { "…" } else { "" };
    // Only what cannot be seen is escaped: quotes and backslashes are copied from here.
    format!("`{}{cut}`", shown.replace('\t', "\\t"))
}
