//! How rules are written: one on a line.
//!
//! ```text
//! rule      = ("deny" | "ask") tools { condition } [ "--" why ]
//! tools     = name { "|" name }                  letters, digits, "_", "-"; "*" is any characters
//! condition = key ("=" | "!=") values
//! values    = "path":       pattern { "|" pattern }     bare, or "in quotes"
//!             "pattern":    "/" regular expression "/" [ "i" ]
//!             "capability": http | fs-ro | fs-rw, with "|" between them
//!             "effect":     pure | idempotent | once, with "|" between them
//! ```
//!
//! An empty line says nothing, nor does one that begins with `#`. What a rule means is in `rules`.

use std::fmt;

use regex_lite::{Regex, RegexBuilder};
use rewake_sdk::prelude::*;

use crate::paths::Glob;
use crate::rules::{Condition, Rule, Test, Verb, word_of};

/// Rules at most.
const RULES_MAX: usize = 200;
/// Characters of a line at most.
const LINE_CHARS_MAX: usize = 2_000;
/// Bytes that a compiled regular expression may take.
const REGEX_BYTES_MAX: usize = 256 << 10;

const KEYS: [&str; 4] = ["path", "pattern", "capability", "effect"];
const CAPABILITIES: [&str; 3] = ["http", "fs-ro", "fs-rw"];
const EFFECTS: [Effect; 3] = [Effect::Pure, Effect::Idempotent, Effect::Once];

/// What cannot be read, where, and what to write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

/// Reads rules.
///
/// # Errors
/// With the first problem.
pub(crate) fn parse(text: &str) -> Result<Vec<Rule>, Problem> {
    let mut rules = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let mut cursor = Cursor { line, chars: text.chars().collect(), at: 0 };
        cursor.spaces();
        if matches!(cursor.peek(), None | Some('#')) {
            continue;
        }
        if cursor.chars.len() > LINE_CHARS_MAX {
            return Err(cursor.problem(0, format!("a line may have {LINE_CHARS_MAX} characters; divide it")));
        }
        if rules.len() == RULES_MAX {
            let message = format!("there may be {RULES_MAX} rules; put several into one, with `|` or `*`");
            return Err(cursor.problem(0, message));
        }
        rules.push(cursor.rule()?);
    }
    Ok(rules)
}

/// A place in a line.
struct Cursor {
    line: usize,
    chars: Vec<char>,
    at: usize,
}

impl Cursor {
    fn rule(&mut self) -> Result<Rule, Problem> {
        let start = self.at;
        let word = self.word();
        let verb = match word.as_str() {
            "deny" => Verb::Deny,
            "ask" => Verb::Ask,
            _ => {
                return Err(self.problem(start, format!("a rule begins with `deny` or `ask`, not `{word}`")));
            }
        };
        self.spaces();
        let tools = self.tools(&word)?;
        let mut conditions = Vec::new();
        let mut end = self.at;
        let mut why = None;
        loop {
            self.spaces();
            if self.peek().is_none() {
                break;
            }
            if self.chars[self.at..].starts_with(&['-', '-']) {
                let rest: String = self.chars[self.at + 2..].iter().collect();
                why = Some(rest.trim().to_owned()).filter(|why| !why.is_empty());
                break;
            }
            conditions.push(self.condition()?);
            end = self.at;
        }
        let text = self.chars[start..end].iter().collect();
        Ok(Rule { line: self.line, text, verb, tools, conditions, why })
    }

    fn tools(&mut self, verb: &str) -> Result<Vec<String>, Problem> {
        let start = self.at;
        let word = self.word();
        if word.is_empty() || word.starts_with("--") {
            let message = format!("`{verb}` wants tools: their names with `|` between them, or `*` for all");
            return Err(self.problem(start, message));
        }
        let mut at = start;
        for name in word.split('|') {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
            if name.is_empty() || !name.chars().all(is_name) {
                let message = format!(
                    "`{name}` is not a name of a tool: letters, digits, `_` and `-`; `*` is any of them, `|` \
                     stands between names. A condition comes after the tools"
                );
                return Err(self.problem(at, message));
            }
            at += name.chars().count() + 1;
        }
        Ok(word.split('|').map(str::to_owned).collect())
    }

    fn condition(&mut self) -> Result<Condition, Problem> {
        let start = self.at;
        let key: String = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let Some(known) = KEYS.iter().find(|known| **known == key) else {
            let shown = if key.is_empty() { self.word() } else { key };
            let message = format!(
                "`{shown}` is no condition; there are `path=`, `pattern=`, `capability=` and `effect=`, \
                 and ` -- ` before a reason"
            );
            return Err(self.problem(start, message));
        };
        let is_negated = self.eat('!');
        if !self.eat('=') {
            return Err(self.problem(self.at, format!("`{known}` wants `=` or `!=` right after it")));
        }
        let test = match *known {
            "path" => Test::Path(self.globs()?),
            "pattern" => Test::Pattern(self.regex()?),
            "capability" => {
                Test::Capability(self.words(&CAPABILITIES)?.into_iter().map(str::to_owned).collect())
            }
            _ => {
                let words = self.words(&EFFECTS.map(word_of))?;
                Test::Effect(EFFECTS.into_iter().filter(|one| words.contains(&word_of(*one))).collect())
            }
        };
        if self.peek().is_some_and(|next| !next.is_whitespace()) {
            return Err(self.problem(self.at, "a space is wanted here, between conditions".to_owned()));
        }
        Ok(Condition { is_negated, test })
    }

    fn globs(&mut self) -> Result<Vec<Glob>, Problem> {
        let mut globs = Vec::new();
        loop {
            let start = self.at;
            let text = match self.peek() {
                Some('"') => self.quoted()?,
                _ => self.take(|c| !c.is_whitespace() && !matches!(c, '|' | '"')),
            };
            let glob = Glob::new(&text);
            if glob.is_empty() || text.split('/').any(|name| name == "..") {
                let message = format!(
                    "`{text}` names no path of the workspace; write one such as `.env*`, `docs/**` or \
                     `\"with spaces\"`"
                );
                return Err(self.problem(start, message));
            }
            globs.push(glob);
            if !self.eat('|') {
                return Ok(globs);
            }
        }
    }

    fn quoted(&mut self) -> Result<String, Problem> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') if matches!(self.peek(), Some('"' | '\\')) => text.extend(self.next()),
                Some(other) => text.push(other),
                None => return Err(self.problem(start, "this `\"` is not closed on its line".to_owned())),
            }
        }
    }

    fn regex(&mut self) -> Result<Regex, Problem> {
        let start = self.at;
        if !self.eat('/') {
            let message = "a regular expression stands between two `/`, as in `pattern=/BEGIN .*KEY/`";
            return Err(self.problem(start, message.to_owned()));
        }
        let mut text = String::new();
        loop {
            match self.next() {
                Some('/') => break,
                Some('\\') => match self.next() {
                    Some('/') => text.push('/'),
                    Some(other) => text.extend(['\\', other]),
                    None => {}
                },
                Some(other) => text.push(other),
                None => {
                    let message =
                        "this `/` is not closed on its line; write `\\/` for one that is looked for";
                    return Err(self.problem(start, message.to_owned()));
                }
            }
        }
        if text.is_empty() {
            return Err(self.problem(start, "an empty regular expression is found everywhere".to_owned()));
        }
        let is_any_case = self.eat('i');
        let built =
            RegexBuilder::new(&text).case_insensitive(is_any_case).size_limit(REGEX_BYTES_MAX).build();
        built.map_err(|error| self.problem(start, format!("this is not a regular expression: {error}")))
    }

    /// Words of a closed list.
    fn words(&mut self, known: &[&'static str]) -> Result<Vec<&'static str>, Problem> {
        let mut words = Vec::new();
        loop {
            let start = self.at;
            let word = self.take(|c| !c.is_whitespace() && c != '|');
            let Some(found) = known.iter().find(|known| **known == word) else {
                let message = format!("`{word}` is not one of `{}`", known.join("`, `"));
                return Err(self.problem(start, message));
            };
            words.push(*found);
            if !self.eat('|') {
                return Ok(words);
            }
        }
    }

    fn word(&mut self) -> String {
        self.take(|c| !c.is_whitespace())
    }

    fn spaces(&mut self) {
        self.take(char::is_whitespace);
    }

    fn take(&mut self, is_wanted: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&is_wanted) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn problem(&self, at: usize, message: String) -> Problem {
        Problem { line: self.line, column: at + 1, message }
    }
}
