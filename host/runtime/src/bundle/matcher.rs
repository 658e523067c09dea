//! Hook events, and matchers that say for which of their firings a hook runs.
//!
//! Knows the names of events and what a matcher is tried on. Does not know hooks' components,
//! sessions, or how a verdict is reached.

use rewake_core::effect::Effect;
use rewake_core::fact::{self, OnError};
use rewake_core::grant::Access;

use super::error::{Invalid, nearest, quote, quote_all};

/// An event that a hook can run on. The names are those of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "wit/README.md says what each event is")]
pub enum HookEvent {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    Stop,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    Notification,
    SessionEnd,
}

/// What an event's matcher is tried on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriedOn {
    /// The event has no matcher.
    Nothing,
    /// A tool's name, or what the tool can do.
    Tool,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A name that the manifest cannot know: an agent's, or a kind of notification.
    Name,
}

/// A kind of grant, as matchers name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GrantKind {
    /// Any host over HTTP.
    Http,
    /// A mount that can be read.
    FsRo,
    /// A mount that can be written.
    FsRw,
}

/// Which firings of an event a hook runs for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    text: String,
    /// Any of these; none means every firing.
    terms: Vec<Term>,
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

impl HookEvent {
    /// Every event.
    pub const ALL: [HookEvent; 12] = [
        HookEvent::SessionStart,
        HookEvent::UserPromptSubmit,
        HookEvent::PreToolUse,
        HookEvent::PostToolUse,
        HookEvent::PostToolUseFailure,
        HookEvent::Stop,
        HookEvent::SubagentStart,
        HookEvent::SubagentStop,
        HookEvent::PreCompact,
        HookEvent::PostCompact,
        HookEvent::Notification,
        HookEvent::SessionEnd,
    ];

    /// The name in manifests, journals and `event.name`.
    pub const fn name(self) -> &'static str {
        match self {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::UserPromptSubmit => "UserPromptSubmit",
            HookEvent::PreToolUse => "PreToolUse",
            HookEvent::PostToolUse => "PostToolUse",
            HookEvent::PostToolUseFailure => "PostToolUseFailure",
            HookEvent::Stop => "Stop",
            HookEvent::SubagentStart => "SubagentStart",
            HookEvent::SubagentStop => "SubagentStop",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::PostCompact => "PostCompact",
            HookEvent::Notification => "Notification",
            HookEvent::SessionEnd => "SessionEnd",
        }
    }

    /// What a matcher of this event is tried on.
    pub const fn tried_on(self) -> TriedOn {
        match self {
            HookEvent::UserPromptSubmit | HookEvent::Stop => TriedOn::Nothing,
            HookEvent::PreToolUse | HookEvent::PostToolUse | HookEvent::PostToolUseFailure => TriedOn::Tool,
            HookEvent::SubagentStart | HookEvent::SubagentStop | HookEvent::Notification => TriedOn::Name,
            HookEvent::SessionStart => TriedOn::Words(&["startup", "resume", "fork"]),
            HookEvent::PreCompact | HookEvent::PostCompact => TriedOn::Words(&["manual", "auto"]),
            HookEvent::SessionEnd => TriedOn::Words(&["stopped", "failed", "archived"]),
        }
    }

    /// Whether a hook may replace the event's input or output, and so be declared `rewrites`.
    pub const fn can_be_rewritten(self) -> bool {
        matches!(self, HookEvent::PreToolUse | HookEvent::PostToolUse)
    }

    /// What a hook's trap, timeout or invalid answer means unless its declaration says otherwise.
    pub const fn on_error_default(self) -> OnError {
        match self {
            HookEvent::PreToolUse | HookEvent::UserPromptSubmit => OnError::Deny,
            _ => OnError::Allow,
        }
    }

    /// The event as sessions know it; none if this version never fires it.
    pub const fn fired(self) -> Option<fact::HookEvent> {
        match self {
            HookEvent::SessionStart => Some(fact::HookEvent::SessionStart),
            HookEvent::UserPromptSubmit => Some(fact::HookEvent::UserPromptSubmit),
            HookEvent::PreToolUse => Some(fact::HookEvent::PreToolUse),
            HookEvent::PostToolUse => Some(fact::HookEvent::PostToolUse),
            HookEvent::PostToolUseFailure => Some(fact::HookEvent::PostToolUseFailure),
            HookEvent::Stop => Some(fact::HookEvent::Stop),
            HookEvent::SessionEnd => Some(fact::HookEvent::SessionEnd),
            HookEvent::SubagentStart
            | HookEvent::SubagentStop
            | HookEvent::PreCompact
            | HookEvent::PostCompact
            | HookEvent::Notification => None,
        }
    }
}

impl GrantKind {
    /// A mount with this access.
    pub const fn of_mount(access: Access) -> GrantKind {
        match access {
            Access::ReadOnly => GrantKind::FsRo,
            Access::ReadWrite => GrantKind::FsRw,
        }
    }
}

impl Matcher {
    /// The matcher that is meant when there is none.
    pub const EVERYTHING: Matcher = Matcher { text: String::new(), terms: Vec::new() };

    /// Reads a matcher of `event`: `""` or `"*"` for every firing; exact names with `|` or `,`
    /// between them; `effect:once` or `grant:http` in place of a tool's name.
    ///
    /// # Errors
    /// If the event has no matcher, the form is not known, or nothing could ever match.
    pub fn parse(event: HookEvent, text: &str) -> Result<Matcher, Invalid> {
        if event.tried_on() == TriedOn::Nothing {
            return Err(Invalid::new(format!("{} has no matcher", event.name()))
                .help("leave `matcher` out: the hook then runs every time"));
        }
        if text.is_empty() || text == "*" {
            return Ok(Matcher { text: text.to_owned(), terms: Vec::new() });
        }
        let terms = text.split(['|', ',']).map(|term| Term::parse(event, text, term.trim()));
        Ok(Matcher { text: text.to_owned(), terms: terms.collect::<Result<_, _>>()? })
    }

    /// The matcher as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the hook runs. `name` is what the event's matcher is tried on: a tool's name, a
    /// source, a reason. `effect` and `grants` tell what the tool can do; events without a tool
    /// have neither.
    pub fn matches(&self, name: &str, effect: Option<Effect>, grants: &[GrantKind]) -> bool {
        self.terms.is_empty()
            || self.terms.iter().any(|term| match term {
                Term::Name(wanted) => wanted == name,
                Term::Effect(wanted) => effect == Some(*wanted),
                Term::Grant(wanted) => grants.contains(wanted),
            })
    }

    /// The names it was written with, for checks that know which names there are. A matcher that
    /// also goes by what a tool can do has none: it may match any tool.
    pub fn names(&self) -> Vec<&str> {
        let names = self.terms.iter().map(|term| match term {
            Term::Name(name) => Some(name.as_str()),
            Term::Effect(_) | Term::Grant(_) => None,
        });
        names.collect::<Option<_>>().unwrap_or_default()
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
        if !term.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
            return Err(Invalid::new(format!("{} would be a regular expression", quote(matcher)))
                .help("this version matches exact names only, such as \"write|edit\", and what a tool can do, such as \"effect:once\" or \"grant:fs-rw\""));
        }
        match event.tried_on() {
            TriedOn::Words(words) if !words.contains(&term) => {
                let help = match nearest(term, words.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("it is tried on {}", quote_all(words.iter().copied())),
                };
                Err(Invalid::new(format!("{} can never match {}", event.name(), quote(term))).help(help))
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
            event.name(),
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
