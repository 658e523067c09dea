//! Rules: what each one is about, and what all of them say of one use of a tool.
//!
//! Knows a use as the host tells of it. How rules are written is in `parse`.

use regex_lite::Regex;
use rewake_sdk::prelude::*;
use serde_json::Value;

use crate::paths::{self, Glob};

/// Rules that a verdict names; of more, it says how many.
const NAMED_MAX: usize = 3;
/// Characters of a path or a name that a verdict shows.
const SHOWN_CHARS_MAX: usize = 200;

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Where it stands, from 1.
    pub(crate) line: usize,
    /// As it is written, without its reason.
    pub(crate) text: String,
    pub(crate) verb: Verb,
    /// Names of tools, in which `*` is any characters.
    pub(crate) tools: Vec<String>,
    /// All of them must hold.
    pub(crate) conditions: Vec<Condition>,
    /// What its author says beside it.
    pub(crate) why: Option<String>,
}

/// What a rule wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Ask,
    Deny,
}

/// A condition of a rule.
#[derive(Debug)]
pub(crate) struct Condition {
    /// `!=`: it must not be so.
    pub(crate) is_negated: bool,
    pub(crate) test: Test,
}

/// What a condition looks at.
#[derive(Debug)]
pub(crate) enum Test {
    /// A path that the use names.
    Path(Vec<Glob>),
    /// Any text of the input.
    Pattern(Regex),
    /// What the tool may use.
    Capability(Vec<String>),
    /// What repeating it does.
    Effect(Vec<Effect>),
}

/// A use of a tool.
pub(crate) struct Use {
    tool: String,
    effect: Effect,
    grants: Vec<String>,
    input: Value,
    /// The paths that it names; none: an argument for a path holds something else.
    paths: Option<Vec<String>>,
}

/// What a rule finds in a use.
enum Found {
    /// It is not about it. So is a rule on paths, where a tool that no rule names has none.
    Nothing,
    /// It is: what it found, in words.
    This(String),
    /// It may be: the rule is on paths, and the use does not tell its own.
    Unknown,
}

impl Use {
    /// A use, whose arguments of these names, however deep, are paths.
    ///
    /// # Errors
    /// Its input is not JSON.
    pub(crate) fn of(event: &PreToolUse, arguments: &[&str]) -> Result<Use> {
        let input: Value = event.input()?;
        let paths = paths_in(&input, arguments);
        let (tool, grants) = (event.tool_name.clone(), event.grants.clone());
        Ok(Use { tool, effect: event.effect, grants, input, paths })
    }

    /// The tool's name.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    /// Whether it may write files.
    pub(crate) fn may_write(&self) -> bool {
        self.grants.iter().any(|grant| grant == "fs-rw")
    }

    /// The paths that it names; none: they cannot be told.
    pub(crate) fn paths(&self) -> Option<&[String]> {
        self.paths.as_deref()
    }

    /// Every text of its input, names too: what may be a path.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let mut open = vec![&self.input];
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => found.push(text.as_str()),
                Value::Array(all) => open.extend(all),
                Value::Object(fields) => {
                    found.extend(fields.keys().map(String::as_str));
                    open.extend(fields.values());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        found
    }
}

/// What stands under these names, however deep; none: something there is neither a text nor a list of texts.
fn paths_in(input: &Value, arguments: &[&str]) -> Option<Vec<String>> {
    let mut paths = Vec::new();
    let mut open = vec![input];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(all) => open.extend(all),
            Value::Object(fields) => {
                for (name, value) in fields {
                    if arguments.contains(&name.as_str()) {
                        paths.extend(texts(value)?);
                    } else {
                        open.push(value);
                    }
                }
            }
            _ => {}
        }
    }
    Some(paths)
}

/// A text, or a list of texts; none: it is neither.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(all) => all.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// What the rules say of a use: what is denied is denied, whatever else would be asked, and the order of the
/// rules decides nothing but what is named first.
pub(crate) fn judge(rules: &[Rule], used: &Use) -> Verdict {
    let (mut denies, mut asks) = (Vec::new(), Vec::new());
    for rule in rules {
        let said = match rule.find(used) {
            Found::Nothing => continue,
            Found::This(what) => match &rule.why {
                Some(why) => format!("{} ({what}): {why}", rule.name()),
                None => format!("{} ({what})", rule.name()),
            },
            Found::Unknown => {
                denies.push(format!(
                    "{} goes by the path, and this input does not tell it: what cannot be judged is denied",
                    rule.name()
                ));
                continue;
            }
        };
        match rule.verb {
            Verb::Deny => denies.push(said),
            Verb::Ask => asks.push(said),
        }
    }
    if !denies.is_empty() {
        return Verdict::deny(format!(
            "`{}` is denied by {}. Do not try it in another way",
            used.tool,
            together(&denies)
        ));
    }
    if !asks.is_empty() {
        return Verdict::ask(format!("A person is asked by {}", together(&asks)));
    }
    Verdict::none()
}

fn together(said: &[String]) -> String {
    let mut text = said[..said.len().min(NAMED_MAX)].join("; and by ");
    if said.len() > NAMED_MAX {
        text.push_str(&format!("; and by {} more", said.len() - NAMED_MAX));
    }
    text
}

impl Rule {
    fn name(&self) -> String {
        format!("line {} of the guard's rules, `{}`", self.line, self.text)
    }

    /// Whether it is about one tool by name: then it must be able to judge it.
    fn names(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| !name.contains('*') && name == tool)
    }

    fn find(&self, used: &Use) -> Found {
        if !self.tools.iter().any(|name| paths::matches(name, &used.tool)) {
            return Found::Nothing;
        }
        let mut found = Vec::new();
        let mut is_unknown = false;
        for condition in &self.conditions {
            match condition.find(used, self.names(&used.tool)) {
                Found::Nothing => return Found::Nothing,
                Found::This(what) => found.push(what),
                Found::Unknown => is_unknown = true,
            }
        }
        match (is_unknown, found.is_empty()) {
            (true, _) => Found::Unknown,
            (false, true) => Found::This(format!("on every use of `{}`", used.tool)),
            (false, false) => Found::This(found.join(", ")),
        }
    }
}

impl Condition {
    /// `must_judge`: the rule names the tool, so that a use without a path is no use that it is not about.
    fn find(&self, used: &Use, must_judge: bool) -> Found {
        let found = match &self.test {
            Test::Path(globs) => return self.path(globs, used, must_judge),
            Test::Pattern(regex) => {
                argument(&used.input, regex).map(|name| format!("its pattern is found in {name}"))
            }
            Test::Capability(words) => words
                .iter()
                .find(|word| used.grants.contains(word))
                .map(|word| format!("`{}` may use {word}", used.tool)),
            Test::Effect(effects) => effects
                .contains(&used.effect)
                .then(|| format!("`{}` is of the class {}", used.tool, word_of(used.effect))),
        };
        match (found, self.is_negated) {
            (Some(what), false) => Found::This(what),
            (None, true) => Found::This(format!("`{}` has nothing of what is named there", used.tool)),
            _ => Found::Nothing,
        }
    }

    /// Of several paths one is enough: one that is covered, or with `!=` one that is not.
    fn path(&self, globs: &[Glob], used: &Use, must_judge: bool) -> Found {
        let Some(paths) = used.paths() else { return Found::Unknown };
        if paths.is_empty() {
            return if must_judge { Found::Unknown } else { Found::Nothing };
        }
        for path in paths {
            let covered = globs.iter().find(|glob| glob.covers(path));
            match (covered, self.is_negated) {
                (Some(glob), false) => {
                    return Found::This(format!("`{}` is covered by `{}`", shown(path), glob.text()));
                }
                (None, true) => return Found::This(format!("`{}` is not covered", shown(path))),
                _ => {}
            }
        }
        Found::Nothing
    }
}

/// The argument, or the input itself, in a text of which something is found; names count as texts.
fn argument(input: &Value, regex: &Regex) -> Option<String> {
    match input {
        Value::Object(fields) => fields
            .iter()
            .find(|(name, value)| regex.is_match(name) || is_in(value, regex))
            .map(|(name, _)| format!("`{}`", shown(name))),
        other => is_in(other, regex).then(|| "the input".to_owned()),
    }
}

fn is_in(value: &Value, regex: &Regex) -> bool {
    match value {
        Value::String(text) => regex.is_match(text),
        Value::Array(all) => all.iter().any(|one| is_in(one, regex)),
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| regex.is_match(name) || is_in(value, regex))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What a model wrote, as a person may be shown it: short, on one line, nothing hidden.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    let quoted = format!("{short:?}");
    quoted.trim_matches('"').to_owned()
}

/// The word of an effect class.
pub(crate) fn word_of(effect: Effect) -> &'static str {
    match effect {
        Effect::Pure => "pure",
        Effect::Idempotent => "idempotent",
        Effect::Once => "once",
    }
}
