//! Matchers: for which firings of an event a hook runs (hooks.md, "Matcher").
//!
//! Knows what a matcher is tried on. Does not know hooks' components, sessions, or how a verdict is
//! reached.

use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};
use rewake_core::effect::Effect;
use rewake_core::fact::{HookEvent, TriedOn};
use rewake_core::grant::Access;
use serde::Serialize;

use rewake_toml::{Invalid, nearest, quote, quote_all};

/// Bytes of a matcher.
const MATCHER_BYTES_MAX: usize = 1 << 10;
/// Bytes that a compiled pattern may take. Matching is linear in the name, whatever the pattern.
const PATTERN_BYTES_MAX: usize = 256 << 10;

/// A kind of grant, as matchers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantKind {
    /// Any host over HTTP.
    Http,
    /// A mount that can be read.
    FsRo,
    /// A mount that can be written.
    FsRw,
}

/// Which firings of an event a hook runs for.
#[derive(Clone, Debug)]
pub struct Matcher {
    text: String,
    terms: Terms,
}

#[derive(Clone, Debug)]
enum Terms {
    Everything,
    /// Any of these.
    List(Vec<Term>),
    /// A name in which this is found anywhere.
    Pattern(Regex),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Name(String),
    Effect(Effect),
    Grant(GrantKind),
}

const EFFECTS: [(&str, Effect); 3] =
    [("pure", Effect::Pure), ("idempotent", Effect::Idempotent), ("once", Effect::Once)];
const GRANTS: [(&str, GrantKind); 3] =
    [("http", GrantKind::Http), ("fs-ro", GrantKind::FsRo), ("fs-rw", GrantKind::FsRw)];
/// What the terms begin with that go by what a tool can do.
const CAPABILITIES: [&str; 2] = ["effect:", "grant:"];

impl GrantKind {
    /// A mount with this access.
    pub const fn of_mount(access: Access) -> GrantKind {
        match access {
            Access::ReadOnly => GrantKind::FsRo,
            Access::ReadWrite => GrantKind::FsRw,
        }
    }
}

/// The text says all.
impl PartialEq for Matcher {
    fn eq(&self, other: &Matcher) -> bool {
        self.text == other.text
    }
}

impl Eq for Matcher {}

impl Matcher {
    /// The matcher that is meant when there is none.
    pub const EVERYTHING: Matcher = Matcher { text: String::new(), terms: Terms::Everything };

    /// Reads a matcher of `event`: `""` or `"*"` for every firing; exact names with `|` or `,` between
    /// them; `effect:once` or `grant:http` in place of a tool's name; anything else is a regular
    /// expression, which is looked for anywhere in the name.
    ///
    /// # Errors
    /// If the event has no matcher, a pattern does not compile, or nothing could ever match.
    pub fn parse(event: HookEvent, text: &str) -> Result<Matcher, Invalid> {
        if event.tried_on() == TriedOn::Nothing {
            return Err(Invalid::new(format!("{} has no matcher", event.as_str()))
                .help("leave `matcher` out: the hook then runs every time"));
        }
        if text.len() > MATCHER_BYTES_MAX {
            return Err(Invalid::new(format!("the matcher has {} bytes", text.len()))
                .help(format!("at most {MATCHER_BYTES_MAX} are taken")));
        }
        let terms = match text {
            "" | "*" => Terms::Everything,
            _ if terms(text).all(is_listed) => {
                let terms = terms(text).map(|term| Term::parse(event, text, term));
                Terms::List(terms.collect::<Result<_, _>>()?)
            }
            _ => Terms::Pattern(pattern(event, text)?),
        };
        Ok(Matcher { text: text.to_owned(), terms })
    }

    /// The matcher as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names it was written with, for checks that know which names there are. A matcher that also goes by
    /// what a tool can do has none: it may match any tool.
    pub fn names(&self) -> Vec<&str> {
        let Terms::List(terms) = &self.terms else { return Vec::new() };
        let names = terms.iter().map(|term| match term {
            Term::Name(name) => Some(name.as_str()),
            Term::Effect(_) | Term::Grant(_) => None,
        });
        names.collect::<Option<_>>().unwrap_or_default()
    }

    /// Whether it is a regular expression.
    pub fn is_pattern(&self) -> bool {
        matches!(self.terms, Terms::Pattern(_))
    }

    /// The matcher as a session keeps it. Where the event has only so many words, a pattern is written out as
    /// those that it matches: what folds journals reads lists of words.
    pub fn pinned(&self, event: HookEvent) -> String {
        match (&self.terms, event.tried_on()) {
            (Terms::Pattern(pattern), TriedOn::Words(words)) => {
                let words = words.iter().copied().filter(|word| pattern.is_match(word));
                words.collect::<Vec<_>>().join("|")
            }
            _ => self.text.clone(),
        }
    }

    /// Whether the hook runs. `name` is what the event's matcher is tried on: a tool's name, a
    /// source, a reason. `effect` and `grants` tell what the tool can do; events without a tool
    /// have neither.
    pub fn matches(&self, name: &str, effect: Option<Effect>, grants: &[GrantKind]) -> bool {
        match &self.terms {
            Terms::Everything => true,
            Terms::List(terms) => terms.iter().any(|term| match term {
                Term::Name(wanted) => wanted == name,
                Term::Effect(wanted) => effect == Some(*wanted),
                Term::Grant(wanted) => grants.contains(wanted),
            }),
            Terms::Pattern(pattern) => pattern.is_match(name),
        }
    }
}

fn terms(matcher: &str) -> impl Iterator<Item = &str> {
    matcher.split(['|', ',']).map(str::trim)
}

/// Whether a term is one of a list, and no part of a pattern. What is wrong with it is said elsewhere.
fn is_listed(term: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' ');
    let name = CAPABILITIES.into_iter().find_map(|kind| term.strip_prefix(kind)).unwrap_or(term);
    name.bytes().all(is_plain)
}

fn pattern(event: HookEvent, text: &str) -> Result<Regex, Invalid> {
    if let Some(term) = terms(text).find(|term| CAPABILITIES.iter().any(|kind| term.starts_with(kind))) {
        let message =
            format!("{} has {} beside a regular expression, which would hide it", quote(text), quote(term));
        return Err(Invalid::new(message).help("give the regular expression a declaration of its own"));
    }
    let broken = |why: String| {
        Invalid::new(format!("the pattern {} does not compile: {why}", quote(text)))
            .help("what is no list of names is a regular expression; write names as \"write|edit\"")
    };
    let parsed = regex_syntax::Parser::new().parse(text).map_err(|error| broken(reason(&error)))?;
    let compiled = RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).build();
    let compiled = compiled.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => broken("it is too large".into()),
        error => broken(error.to_string()),
    })?;
    let (can_match, known) = match event.tried_on() {
        TriedOn::Words(words) => {
            (words.iter().any(|word| compiled.is_match(word)), quote_all(words.iter().copied()))
        }
        TriedOn::Tool => (can_be_in_a_name(&parsed), "names of letters, digits, `_` and `-`".to_owned()),
        TriedOn::Name | TriedOn::Nothing => (true, String::new()),
    };
    if can_match {
        Ok(compiled)
    } else {
        Err(Invalid::new(format!("{} can never match {}", event.as_str(), quote(text)))
            .help(format!("it is tried on {known}")))
    }
}

fn reason(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => format!("{} (at {})", error.kind(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => {
            format!("{} (at {})", error.kind(), error.span().start.offset)
        }
        other => other.to_string(),
    }
}

/// Whether a pattern can be found in the name of a tool, as far as its characters go. Says yes where only
/// trying would tell.
fn can_be_in_a_name(hir: &Hir) -> bool {
    const CHARS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-";
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Literal(literal) => literal.0.iter().all(|b| CHARS.contains(b)),
        HirKind::Class(regex_syntax::hir::Class::Unicode(class)) => class
            .iter()
            .any(|range| CHARS.iter().any(|b| (range.start()..=range.end()).contains(&char::from(*b)))),
        HirKind::Class(regex_syntax::hir::Class::Bytes(class)) => {
            class.iter().any(|range| CHARS.iter().any(|b| (range.start()..=range.end()).contains(b)))
        }
        HirKind::Repetition(repeated) => repeated.min == 0 || can_be_in_a_name(&repeated.sub),
        HirKind::Capture(capture) => can_be_in_a_name(&capture.sub),
        HirKind::Concat(all) => all.iter().all(can_be_in_a_name),
        HirKind::Alternation(any) => any.iter().any(can_be_in_a_name),
    }
}

impl Term {
    fn parse(event: HookEvent, matcher: &str, term: &str) -> Result<Term, Invalid> {
        if let Some(effect) = term.strip_prefix("effect:") {
            return capability(event, term, effect, &EFFECTS).map(Term::Effect);
        }
        if let Some(grant) = term.strip_prefix("grant:") {
            return capability(event, term, grant, &GRANTS).map(Term::Grant);
        }
        if term.is_empty() {
            return Err(Invalid::new(format!("the matcher {} has an empty name in it", quote(matcher)))
                .help("write names with one `|` or `,` between two, such as \"write|edit\""));
        }
        if term.chars().any(char::is_whitespace) {
            return Err(Invalid::new(format!("{} has a space in it, and no name has", quote(term)))
                .help("write `|` or `,` between two names"));
        }
        match event.tried_on() {
            TriedOn::Words(words) if !words.contains(&term) => {
                let help = match nearest(term, words.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("it is tried on {}", quote_all(words.iter().copied())),
                };
                Err(Invalid::new(format!("{} can never match {}", event.as_str(), quote(term))).help(help))
            }
            _ => Ok(Term::Name(term.to_owned())),
        }
    }
}

fn capability<T: Copy>(
    event: HookEvent,
    term: &str,
    value: &str,
    known: &[(&'static str, T)],
) -> Result<T, Invalid> {
    if event.tried_on() != TriedOn::Tool {
        return Err(Invalid::new(format!(
            "{} is not about a tool, so {} never matches",
            event.as_str(),
            quote(term)
        ))
        .help("`effect:` and `grant:` go with PreToolUse, PostToolUse and PostToolUseFailure"));
    }
    known.iter().find(|(name, _)| *name == value).map(|(_, found)| *found).ok_or_else(|| {
        let kind = &term[..term.len() - value.len()];
        let forms: Vec<String> = known.iter().map(|(name, _)| format!("{kind}{name}")).collect();
        Invalid::new(format!("{} is not known", quote(term)))
            .help(format!("it is one of {}", quote_all(forms.iter().map(String::as_str))))
    })
}
