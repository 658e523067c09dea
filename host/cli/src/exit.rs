//! How the program ends: outcomes and failures, and the exit code of each. Says what went wrong; where it
//! is shown is `main`'s.

use rewake_core::Refusal;
use rewake_core::error::Corrupt;
use rewake_runtime::{HostError, PlanError};
use rewake_sandbox::workspace::WorkspaceError;
use rewake_store::StoreError;
use thiserror::Error;

/// The exit codes, as `--help` shows them.
pub(crate) const HELP: &str = "\
Exit codes:
    0  done
    1  the host could not: store, machine, or another process runs the session
    2  usage: arguments, a bundle or a command that is not as it must be
    3  the turn failed; `bundle call`: the tool did
    4  the turn was interrupted
    5  the turn waits: for an answer (`rewake answer`), a message or a time
    6  the session takes no step here (a fault), or has ended
    7  verify, replay or `bundle test` found a difference
  130  left by Ctrl-C; resume it with `rewake run --session`
  143  left in good order because of SIGTERM or SIGHUP; the same holds

Environment:
  REWAKE_DATA    data folder, as --data
  REWAKE_CACHE   folder of compiled components, as --cache
  REWAKE_CONFIG  the operator's rules, as --config
  REWAKE_LOG     diagnostics on standard error, such as `info` or `rewake_runtime=debug`
  NO_COLOR       no colours";

/// How a command ended that did what it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done.
    Done,
    /// The turn failed.
    TurnFailed,
    /// The tool that was called failed.
    ToolFailed,
    /// The turn was interrupted.
    Interrupted,
    /// The turn waits.
    Waits,
    /// The session has ended.
    Ended,
    /// A check found a difference.
    Differs,
    /// Somebody pressed Ctrl-C, and nothing was there to interrupt.
    Left,
    /// The system asked the process to end.
    Terminated,
}

impl Outcome {
    /// The exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Outcome::Done => 0,
            Outcome::TurnFailed | Outcome::ToolFailed => 3,
            Outcome::Interrupted => 4,
            Outcome::Waits => 5,
            Outcome::Ended => 6,
            Outcome::Differs => 7,
            Outcome::Left => LEFT,
            Outcome::Terminated => 143,
        }
    }
}

/// Left by Ctrl-C: as shells count a process that it ended.
pub(crate) const LEFT: u8 = 130;

/// Why a command does not do what it was asked.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The host says no.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The person can do something about it.
    #[error("{0}")]
    Usage(String),
    /// The machine cannot.
    #[error("{0}")]
    Machine(String),
    /// A journal cannot be replayed.
    #[error("{session}: the journal cannot be replayed: {corrupt}. See `rewake verify {session}`")]
    Corrupt {
        /// The session.
        session: String,
        /// Where, and what is wrong.
        corrupt: Corrupt,
    },
}

impl Failure {
    /// Something outside failed.
    pub(crate) fn io(doing: &str, source: impl std::fmt::Display) -> Failure {
        Failure::Machine(format!("{doing}: {source}"))
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Host(error) => host(error),
            Failure::Store(error) => store(error),
            Failure::Usage(_) => 2,
            Failure::Machine(_) => 1,
            Failure::Corrupt { .. } => 6,
        }
    }
}

fn host(error: &HostError) -> u8 {
    match error {
        HostError::Plan(
            PlanError::Bundle(_)
            | PlanError::Compile { .. }
            | PlanError::Tools { .. }
            | PlanError::Unset { .. }
            | PlanError::NotHere { .. },
        ) => 2,
        HostError::Rules(_) => 2,
        HostError::Workspace(WorkspaceError::Io { .. }) => 1,
        HostError::Workspace(_) => 2,
        HostError::Store(error) => store(error),
        HostError::Refused(refusal) => refused(refusal),
        HostError::Faulted { .. } => 6,
        HostError::Machine(_) => 1,
    }
}

fn store(error: &StoreError) -> u8 {
    match error {
        StoreError::Refused(refusal) => refused(refusal),
        StoreError::NotFound(_) => 2,
        _ => 1,
    }
}

fn refused(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::Ended { .. } => 6,
        Refusal::Limit { .. } | Refusal::Conflict(_) | Refusal::Delivered { .. } | Refusal::Forbidden(_) => 2,
        Refusal::Rule(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_has_its_documented_code() {
        let all = [
            (Outcome::Done, 0),
            (Outcome::TurnFailed, 3),
            (Outcome::ToolFailed, 3),
            (Outcome::Interrupted, 4),
            (Outcome::Waits, 5),
            (Outcome::Ended, 6),
            (Outcome::Differs, 7),
            (Outcome::Left, 130),
            (Outcome::Terminated, 143),
        ];
        for (outcome, code) in all {
            assert_eq!(outcome.code(), code, "{outcome:?}");
            assert!(HELP.lines().any(|line| line.trim_start().starts_with(&format!("{code}  "))), "{code}");
        }
    }

    #[test]
    fn failures_tell_usage_from_the_machine_and_from_ended_sessions() {
        let ended = || Refusal::Ended { status: "stopped" };
        for (failure, code) in [
            (Failure::Usage("x".into()), 2),
            (Failure::io("x", "y"), 1),
            (Failure::Corrupt { session: "ses_1".into(), corrupt: Corrupt::at(1, "x") }, 6),
            (StoreError::NotFound("session ses_1".into()).into(), 2),
            (StoreError::Closed.into(), 1),
            (StoreError::Refused(ended()).into(), 6),
            (HostError::Refused(ended()).into(), 6),
            (HostError::Refused(Refusal::Conflict("x".into())).into(), 2),
            (HostError::Store(StoreError::Unknown("x".into())).into(), 1),
            (StoreError::Refused(Refusal::Delivered { n: 1 }).into(), 2),
            (StoreError::Refused(Refusal::Forbidden("x".into())).into(), 2),
            (HostError::Plan(PlanError::NotHere { bundle: "a/b".into(), what: "x".into() }).into(), 2),
            (HostError::Workspace(WorkspaceError::NoFolder("x".into())).into(), 2),
            (HostError::Machine("x".into()).into(), 1),
        ] {
            assert_eq!(failure.code(), code, "{failure}");
        }
    }
}
