//! The command line: what can be asked of the program. Checks forms only; nothing is opened here.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use rewake_bundle::Locator;
use rewake_core::fact;
use rewake_core::ids::SessionId;
use rewake_core::limits::TURN_STEPS_MAX;
use rewake_core::money::Usd;

use crate::bundle::BundleCommand;
use crate::exit::{self, Failure};
use crate::forms::{LOCATOR, locator, session};
use crate::workspace::WorkspaceCommand;

/// Runs AI agents as sandboxed WASI components, durably.
#[derive(Debug, Parser)]
#[command(name = "rewake", version, after_help = exit::HELP, propagate_version = true)]
pub(crate) struct Cli {
    /// Data folder: journal, workspaces, locks [default: rewake in the platform's data folder]
    #[arg(long, value_name = "DIR", global = true, env = "REWAKE_DATA", hide_env = true)]
    pub(crate) data: Option<PathBuf>,
    /// Folder of compiled components [default: rewake/components in the platform's cache folder]
    #[arg(long, value_name = "DIR", global = true, env = "REWAKE_CACHE", hide_env = true)]
    pub(crate) cache: Option<PathBuf>,
    /// The operator's rules [default: rewake.toml in the data folder, if it is there]
    #[arg(long, value_name = "FILE", global = true, env = "REWAKE_CONFIG", hide_env = true)]
    pub(crate) config: Option<PathBuf>,
    /// More diagnostics on standard error; repeat for more. A talk shows what goes into tools and comes out
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start a session, or go on with one, and show what happens
    Run(Run),
    /// Answer an open question, and go on with the session
    Answer(Answer),
    /// End a session for good
    Stop(Stop),
    /// Change what a message says that waits in a session's inbox
    Edit {
        #[command(flatten)]
        about: About,
        /// What it says from now on: `-` reads standard input
        text: String,
    },
    /// Cancel a message that waits in a session's inbox
    Cancel {
        #[command(flatten)]
        about: About,
    },
    /// Interrupt the open turn, and have a message that waits open the next one
    Promote {
        #[command(flatten)]
        about: About,
        /// Print every journal entry as a line of JSON, and nothing else
        #[arg(long)]
        json: bool,
    },
    /// List sessions, the newest first
    Sessions(Sessions),
    /// Show a session: what it waits for, what it runs with and what that may do
    Show {
        /// The session
        #[arg(value_parser = session)]
        id: SessionId,
        /// What was sent to a model instead: the number of its `model.started`, as `rewake events` lists it
        #[arg(long, value_name = "SEQ")]
        request: Option<u64>,
        /// Print the whole request as JSON
        #[arg(long, requires = "request")]
        json: bool,
    },
    /// Print a session's journal
    Events(Events),
    /// Run a session's steps again from the journal, and compare; performs no effect
    Replay {
        /// The session
        #[arg(value_parser = session)]
        id: SessionId,
    },
    /// Check hash chains: of a session, or of all
    Verify {
        /// The session
        #[arg(value_parser = session)]
        id: Option<SessionId>,
    },
    /// Approve again, on this machine, what was granted to a session elsewhere
    Grant(Grant),
    /// Let a session with a fault try again
    ClearFault {
        /// The session
        #[arg(value_parser = session)]
        id: SessionId,
    },
    /// See what a session did in its workspace, and take it out
    #[command(subcommand)]
    Workspace(WorkspaceCommand),
    /// What is here to run sessions and to write bundles, what is missing, and what to do
    Doctor,
    /// Print what a shell needs to complete arguments: `source <(rewake completions bash)`
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write, test, install and inspect bundles
    #[command(subcommand)]
    Bundle(BundleCommand),
}

/// Start a session, or go on with one.
#[derive(Debug, Args)]
#[command(
    override_usage = "rewake run [OPTIONS] BUNDLE [MESSAGE]\n       rewake run [OPTIONS] --session ID [MESSAGE]"
)]
pub(crate) struct Run {
    /// The bundle whose agent runs (not with --session): a folder with a bundle.toml, a packed file, or
    /// scope/name@version of an installed one; then what to tell it: `-` reads standard input. Without a
    /// message, at a terminal, the session is one to talk to: /help there says how. Elsewhere, or with --json,
    /// a new session is made and not run, and one that is there continues with what is open
    #[arg(value_name = "BUNDLE] [MESSAGE", num_args = 0..=2, required_unless_present = "session")]
    words: Vec<OsString>,
    /// A further bundle whose tools and hooks the session gets; can be repeated
    #[arg(long, value_name = "BUNDLE", conflicts_with = "session", value_parser = LOCATOR)]
    pub(crate) with: Vec<Locator>,
    /// Folder that is copied into the session's workspace; the folder itself stays as it is
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub(crate) workspace: Option<PathBuf>,
    /// The model, whatever the agent names: one of rewake.toml, or `anthropic/MODEL`, `openai/MODEL`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["session", "script"])]
    pub(crate) model: Option<String>,
    /// The most that the session's models may cost, in USD; the bundle of a new one may say less
    #[arg(long, value_name = "USD")]
    pub(crate) max_usd: Option<Usd>,
    /// Steps of one turn, after which it fails; by default what its bundle says, else 200
    #[arg(long, value_name = "N", conflicts_with = "session", value_parser = clap::value_parser!(u32).range(1..=i64::from(TURN_STEPS_MAX)))]
    pub(crate) max_steps: Option<u32>,
    /// Have the scripted model play this script, whatever model the agent names
    #[arg(long, value_name = "FILE", conflicts_with = "session")]
    pub(crate) script: Option<PathBuf>,
    /// Go on with this session
    #[arg(long, value_name = "ID", value_parser = session)]
    pub(crate) session: Option<SessionId>,
    /// Grant, for this session, what its bundles ask for and the operator's rules do not name; with --session,
    /// what was granted to it elsewhere
    #[arg(long)]
    pub(crate) grant_asked: bool,
    /// Send the message under a key: however often it is sent with it, the session takes it once
    #[arg(long, value_name = "KEY", requires = "session")]
    pub(crate) key: Option<String>,
    /// Print every journal entry as a line of JSON, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `run` is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A new session, from this bundle.
    New(Locator),
    /// One that is there.
    There(SessionId),
}

impl Run {
    /// What it is about, and what is to be told.
    ///
    /// # Errors
    /// If there are more words than it has places for, or the message is no UTF-8.
    pub(crate) fn target(&self) -> Result<(Target, Option<String>), Failure> {
        let mut words = self.words.iter();
        let target = match &self.session {
            Some(id) => Target::There(id.clone()),
            None => match words.next() {
                Some(bundle) => Target::New(locator(bundle).map_err(Failure::Usage)?),
                None => return Err(Failure::Usage("name a bundle, or a session with --session".into())),
            },
        };
        let message = match words.next() {
            None => None,
            Some(message) => match message.to_str() {
                Some(message) => Some(message.to_owned()),
                None => return Err(Failure::Usage("the message is no UTF-8 text".into())),
            },
        };
        if self.key.is_some() && message.is_none() {
            return Err(Failure::Usage("--key requires a message".into()));
        }
        if words.next().is_some() {
            return Err(Failure::Usage(
                "--session takes no bundle: a session runs what it was created with. Write \
                 `rewake run --session ID [MESSAGE]`"
                    .into(),
            ));
        }
        Ok((target, message))
    }
}

/// Answer an open question.
#[derive(Debug, Args)]
pub(crate) struct Answer {
    /// The session
    #[arg(value_parser = session)]
    pub(crate) id: SessionId,
    /// The question's id, as `rewake show` prints it
    pub(crate) question: String,
    /// JSON; anything that is none is taken as a text
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: String,
    /// Send the answer under a key: however often it is sent with it, the session takes it once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Print every journal entry as a line of JSON, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

impl Answer {
    /// The answer as JSON text.
    pub(crate) fn json_value(&self) -> String {
        match serde_json::from_str::<serde::de::IgnoredAny>(&self.value) {
            Ok(_) => self.value.clone(),
            Err(_) => serde_json::Value::String(self.value.clone()).to_string(),
        }
    }
}

/// Approve again.
#[derive(Debug, Args)]
pub(crate) struct Grant {
    /// The session
    #[arg(value_parser = session, required_unless_present = "rules")]
    pub(crate) id: Option<SessionId>,
    /// Approve for all its bundles, without asking
    #[arg(long, conflicts_with = "rules")]
    pub(crate) all: bool,
    /// Use the rules in the data folder on this machine from now on, not a session's grants
    #[arg(long, conflicts_with = "id")]
    pub(crate) rules: bool,
}

/// End a session for good.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// The session
    #[arg(value_parser = session)]
    pub(crate) id: SessionId,
    /// Why
    #[arg(default_value = "stopped by its operator", hide_default_value = true)]
    pub(crate) reason: String,
    /// Print every journal entry as a line of JSON, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
}

/// A message that waits.
#[derive(Debug, Args)]
pub(crate) struct About {
    /// The session
    #[arg(value_parser = session)]
    pub(crate) id: SessionId,
    /// The message's number, as `rewake show` lists what waits
    pub(crate) n: u64,
}

/// List sessions.
#[derive(Debug, Args)]
pub(crate) struct Sessions {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Print every session as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a session's journal.
#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The session
    #[arg(value_parser = session)]
    pub(crate) id: SessionId,
    /// Only entries after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) after: u64,
    /// Only these types, with commas between them; `tool.` means all that begin so
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = kinds)]
    pub(crate) types: Vec<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Print every entry as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Events {
    /// Whether entries of this type are wanted.
    pub(crate) fn wants(&self, kind: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|wanted| covers(wanted, kind))
    }
}

fn covers(wanted: &str, kind: &str) -> bool {
    kind == wanted || (wanted.ends_with('.') && kind.starts_with(wanted))
}

/// A type that no entry can have would silently find nothing.
fn kinds(text: &str) -> Result<String, String> {
    let wanted = text.trim();
    if wanted.starts_with("custom.") || fact::KINDS.iter().any(|(kind, _)| covers(wanted, kind)) {
        return Ok(wanted.to_owned());
    }
    let names: Vec<&str> = fact::KINDS.iter().map(|(kind, _)| *kind).collect();
    Err(format!("no entry has this type; there are {} and custom.…", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(words: &[&str]) -> Result<Command, clap::error::ErrorKind> {
        let words = std::iter::once("rewake").chain(words.iter().copied());
        Cli::try_parse_from(words).map(|cli| cli.command).map_err(|error| error.kind())
    }

    fn run(words: &[&str]) -> Run {
        match parse(words) {
            Ok(Command::Run(run)) => run,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run_takes_a_bundle_or_a_session() {
        let new = |path: &str| Target::New(Locator::Folder(path.into()));
        let there = || Target::There(SessionId::parse("ses_1").unwrap());
        let target = |words: &[&str]| run(words).target().unwrap();
        assert_eq!(target(&["run", "b"]), (new("b"), None));
        assert_eq!(target(&["run", "b", "hello", "--workspace", "w"]), (new("b"), Some("hello".into())));
        assert_eq!(target(&["run", "b", "-"]), (new("b"), Some("-".into())));
        assert_eq!(target(&["run", "--session", "ses_1"]), (there(), None));
        assert_eq!(target(&["run", "--session", "ses_1", "hello"]), (there(), Some("hello".into())));
        let both = run(&["run", "--session", "ses_1", "b", "hello"]);
        assert_eq!(both.target().unwrap_err().code(), 2);
        let keyed = run(&["run", "--session", "ses_1", "--key", "k", "hello"]);
        assert_eq!(
            (keyed.key.as_deref(), keyed.target().unwrap()),
            (Some("k"), (there(), Some("hello".into())))
        );
        assert_eq!(run(&["run", "--session", "ses_1", "--key", "k"]).target().unwrap_err().code(), 2);
    }

    #[test]
    fn bundles_are_folders_packed_files_or_installed() {
        let run = run(&["run", "acme/words@0.1", "--with", "guard-0.1.0.rewake", "--with", "./acme/words"]);
        let (Target::New(bundle), _) = run.target().unwrap() else { panic!("no new session") };
        assert_eq!(bundle.to_string(), "acme/words@^0.1");
        assert_eq!(run.with[0], Locator::Packed("guard-0.1.0.rewake".into()));
        assert_eq!(run.with[1], Locator::Folder("./acme/words".into()));
        let wrong = parse(&["run", "acme/words", "--with", "acme/words@new"]).unwrap_err();
        assert_eq!(wrong, clap::error::ErrorKind::ValueValidation);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        use clap::error::ErrorKind::{ArgumentConflict, MissingRequiredArgument, ValueValidation};
        for (words, kind) in [
            (&["run"][..], MissingRequiredArgument),
            (&["run", "--session", "ses_1", "--with", "b"], ArgumentConflict),
            (&["run", "--session", "ses_1", "--workspace", "w"], ArgumentConflict),
            (&["grant"], MissingRequiredArgument),
            (&["grant", "ses_1", "--rules"], ArgumentConflict),
            (&["run", "--session", "ses_1", "--script", "s.toml"], ArgumentConflict),
            (&["run", "b", "hello", "--key", "k"], MissingRequiredArgument),
            (&["show", "1"], ValueValidation),
            (&["sessions", "--limit", "0"], ValueValidation),
            (&["events", "ses_1", "--types", "tool"], ValueValidation),
            (&["edit", "ses_1", "first", "hello"], ValueValidation),
            (&["edit", "ses_1", "3"], MissingRequiredArgument),
            (&["cancel", "ses_1"], MissingRequiredArgument),
        ] {
            assert_eq!(parse(words).unwrap_err(), kind, "{words:?}");
        }
    }

    #[test]
    fn types_are_names_or_prefixes() {
        let Ok(Command::Events(events)) = parse(&["events", "ses_1", "--types", "tool.,turn.started"]) else {
            panic!("not parsed")
        };
        for (kind, wanted) in [
            ("tool.started", true),
            ("tools.requested", false),
            ("turn.started", true),
            ("turn.failed", false),
        ] {
            assert_eq!(events.wants(kind), wanted, "{kind}");
        }
    }

    #[test]
    fn answers_are_json_or_texts() {
        for (given, expected) in [
            ("yes", "\"yes\""),
            ("true", "true"),
            ("\"yes\"", "\"yes\""),
            ("{\"a\":1}", "{\"a\":1}"),
            ("-3", "-3"),
            ("-3.5", "-3.5"),
        ] {
            let Ok(Command::Answer(answer)) = parse(&["answer", "ses_1", "q", given]) else {
                panic!("{given} is not parsed")
            };
            assert_eq!(answer.json_value(), expected);
        }
    }
}
