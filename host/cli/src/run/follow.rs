//! Following a session that this process runs. What the host tells says only that there is something new;
//! what is shown is read from the journal, so that a reader that lags misses nothing.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rewake_core::command::Command;
use rewake_core::entry::Entry;
use rewake_core::fact::WaitOn;
use rewake_core::ids::SessionId;
use rewake_core::view;
use rewake_runtime::live::{Live, UnloadReason};
use rewake_runtime::{HostError, Loaded};
use rewake_store::{Store, StoreError};
use rewake_transcript::Transcript;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use crate::data::{Opened, Places};
use crate::describe;
use crate::exit::{Failure, Outcome};
use crate::journal::{Journal, Standing, faulted};
use crate::out::{Out, clear_status, is_attended, note};
use crate::outcome::Watch;
use crate::prompt;
use crate::sending::{SEND_PAUSE, SENDS_MAX, deliver, sender};
use crate::shell::shell_word;
use crate::signals::{self, Asked};
use crate::stream::{activity, lines};

/// How long until the journal of a session that another process has is looked at again.
const AGAIN: Duration = Duration::from_millis(50);
/// How often that is done until the session itself is asked for again.
const LOOKS: u32 = 5;

/// When there is nothing left to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// When nothing is due any more.
    Idle,
    /// When the session has ended, which is what was asked for.
    Stopped,
}

/// A session to be loaded and followed.
pub(super) struct Follow<'a> {
    pub(super) places: &'a Places,
    pub(super) opened: &'a Opened,
    pub(super) id: SessionId,
    /// What comes after it is shown.
    pub(super) journal: Journal,
    pub(super) transcript: Transcript,
    pub(super) watch: Watch,
    pub(super) out: Out,
    pub(super) json: bool,
    pub(super) until: Until,
    /// Said once the session is loaded.
    pub(super) welcome: Option<String>,
}

/// What taking a session up came to.
enum Taken {
    /// This process has it.
    Up(Loaded, Receiver<Live>),
    /// Another one has it, and this is what came of the command there.
    Over(Outcome),
}

/// Why following ended.
enum Stood {
    /// Nothing is due any more.
    Idle,
    /// The session is not run here any more.
    Gone(UnloadReason),
    /// A signal asked for it.
    Left(Outcome),
}

impl Follow<'_> {
    /// Loads the session and follows it. Everything that is to be done must be in its inbox before.
    pub(super) async fn run(mut self) -> Result<Outcome, Failure> {
        let mut leaves = signals::watch(Asked {
            host: self.opened.host.clone(),
            id: self.id.clone(),
            sender: sender(),
            open: self.watch.open(),
            resume: self.places.resume(&self.id),
        })?;
        loop {
            let outcome = self.follow(&mut leaves).await?;
            if outcome != Outcome::Waits || self.json || !is_attended() {
                return Ok(outcome);
            }
            if let Some(outcome) = self.ask(&mut leaves).await? {
                return Ok(outcome);
            }
        }
    }

    /// Asks the user at the terminal what the turn waits for. None: something was answered, and the
    /// session is to be loaded again; it was unloaded meanwhile, so waiting for a person costs nothing.
    async fn ask(&mut self, leaves: &mut mpsc::Receiver<Outcome>) -> Result<Option<Outcome>, Failure> {
        let store: Arc<dyn Store> = self.opened.host.store().clone();
        let standing = Standing::whole(store, &self.id).await?;
        let mut answered = false;
        // With no turn to interrupt here, Ctrl-C leaves.
        let turn = self.watch.open().swap(0, Ordering::Relaxed);
        for question in &standing.questions {
            let answer = tokio::select! {
                answer = prompt::answer(question) => answer?,
                Some(outcome) = leaves.recv() => {
                    note(&format!("left; resume with `{}`", self.places.resume(&self.id)));
                    return Ok(Some(outcome));
                }
            };
            let Some(value) = answer else { continue };
            let command = Command::Answer { question: question.id.clone(), value };
            deliver(&self.opened.host, &self.id, command, None).await?;
            answered = true;
            self.watch.answered();
        }
        self.watch.open().store(turn, Ordering::Relaxed);
        Ok((!answered).then_some(Outcome::Waits))
    }

    /// Loads the session and follows it until nothing is due.
    async fn follow(&mut self, leaves: &mut mpsc::Receiver<Outcome>) -> Result<Outcome, Failure> {
        let (loaded, mut live) = match self.take_up(leaves).await? {
            Taken::Up(loaded, live) => (loaded, live),
            Taken::Over(outcome) => return Ok(outcome),
        };
        if let Some(welcome) = self.welcome.take() {
            note(&welcome);
        }
        let stood = loop {
            tokio::select! {
                told = live.recv() => match told {
                    Ok(Live::Entry(event)) if event.seq() <= self.journal.seq() => {}
                    Ok(Live::Entry(_)) | Err(RecvError::Lagged(_)) => {
                        self.journal.pace().await;
                        self.show().await?;
                    }
                    Ok(Live::Activity(line)) => self.status(&line),
                    Ok(Live::Delta { .. } | Live::DeltaReset { .. }) => {}
                    Ok(Live::Idle) => match loaded.unload_if_idle("idle").await {
                        Some(UnloadReason::Unloaded) => break Stood::Idle,
                        Some(gone) => break Stood::Gone(gone),
                        // It goes on: a time has come, or another process has sent something.
                        None => {}
                    },
                    Ok(Live::Unloaded(gone)) => break Stood::Gone(gone),
                    Err(RecvError::Closed) => break Stood::Gone(loaded.unloaded().await),
                },
                Some(outcome) = leaves.recv() => break Stood::Left(outcome),
            }
        };
        let gone = match &stood {
            Stood::Idle => UnloadReason::Unloaded,
            Stood::Left(_) => loaded.unload("shutdown").await,
            Stood::Gone(gone) => gone.clone(),
        };
        clear_status();
        self.show().await?;
        match (stood, gone) {
            (Stood::Left(outcome), _) => {
                note(&format!("left; resume with `{}`", self.places.resume(&self.id)));
                Ok(outcome)
            }
            (Stood::Idle, _) => self.idle().await,
            (Stood::Gone(_), gone) => self.gone(gone),
        }
    }

    /// Loads the session. What was sent to a session that another process has is accepted there: what comes
    /// of it is shown from the journal, until that is known or the session can be had.
    async fn take_up(&mut self, leaves: &mut mpsc::Receiver<Outcome>) -> Result<Taken, Failure> {
        let mut is_said = false;
        let mut failed = 0;
        loop {
            match (self.opened.host.load(&self.id).await, self.watch.row()) {
                // A disk that failed under it may be well again.
                (Err(HostError::Store(StoreError::Unknown(_))), _) if failed < SENDS_MAX => {
                    failed += 1;
                    tokio::time::sleep(SEND_PAUSE * 4_u32.pow(failed)).await;
                    continue;
                }
                (Err(HostError::Store(StoreError::Busy { holder, process, .. })), Some(row)) => {
                    if !is_said {
                        let process = process.map_or_else(String::new, |id| format!(" (process {id})"));
                        note(&format!(
                            "{} is run by {holder}{process}, which accepts what you sent as command {row}",
                            self.id
                        ));
                        is_said = true;
                    }
                }
                (loaded, _) => {
                    let (loaded, live) = loaded?;
                    return Ok(Taken::Up(loaded, live));
                }
            }
            for _ in 0..LOOKS {
                self.show().await?;
                if let Some(outcome) = self.elsewhere().await? {
                    return Ok(Taken::Over(outcome));
                }
                tokio::select! {
                    () = tokio::time::sleep(AGAIN) => {}
                    Some(outcome) = leaves.recv() => {
                        note(&format!("left; `{}` shows what becomes of it", self.hint("events")));
                        return Ok(Taken::Over(outcome));
                    }
                }
            }
        }
    }

    /// What came of the command in the process that has the session; none, if that is not known yet.
    async fn elsewhere(&self) -> Result<Option<Outcome>, Failure> {
        if self.watch.rejected().is_some() {
            return self.idle().await.map(Some);
        }
        Ok(match (self.until, self.watch.session_ended()) {
            (Until::Stopped, true) => Some(Outcome::Done),
            (Until::Stopped, false) => None,
            (Until::Idle, _) if self.watch.waits() => Some(self.idle().await?),
            (Until::Idle, true) => Some(self.watch.end().unwrap_or(Outcome::Ended)),
            (Until::Idle, false) => self.watch.end(),
        })
    }

    fn hint(&self, command: &str) -> String {
        self.places.hint(&format!("{command} {}", self.id))
    }

    /// Shows what is new in the journal.
    async fn show(&mut self) -> Result<(), Failure> {
        loop {
            let entries = self.journal.page().await?;
            if entries.is_empty() {
                return Ok(());
            }
            for entry in &entries {
                self.watch.see(entry);
                self.show_one(entry)?;
            }
            self.out.flush()?;
            if let Some(line) = entries.last().and_then(activity) {
                self.status(&line);
            }
        }
    }

    fn show_one(&mut self, entry: &Entry) -> Result<(), Failure> {
        if self.json {
            let event = view::event(&self.id, entry);
            return self.out.json(&event);
        }
        for (style, text) in lines(&mut self.transcript, entry) {
            self.out.line(style, &text)?;
        }
        Ok(())
    }

    fn status(&mut self, line: &str) {
        if !self.json {
            self.out.status(line);
        }
    }

    /// Nothing is due: the turn has ended, or it waits, or there was nothing to do.
    async fn idle(&self) -> Result<Outcome, Failure> {
        if let Some(why) = self.watch.rejected() {
            return Err(Failure::Usage(format!("what was sent to {} had no effect: {why}", self.id)));
        }
        if let Some(end) = self.watch.end() {
            return Ok(end);
        }
        let store: Arc<dyn Store> = self.opened.host.store().clone();
        let standing = Standing::whole(store, &self.id).await?;
        let Some((turn, on)) =
            standing.session.turn.as_ref().and_then(|turn| Some((turn.number, turn.waiting.as_ref()?)))
        else {
            note(&format!("nothing is open; tell it something: {} MESSAGE", self.places.resume(&self.id)));
            return Ok(Outcome::Done);
        };
        note(&format!("turn {turn} waits for {}", describe::wait(on)));
        for question in &standing.questions {
            if self.json || !self.watch.was_asked(&question.id) {
                note(&describe::question(question));
            }
            let answer = format!("answer {} {} VALUE", self.id, shell_word(&question.id));
            note(&format!("  {}", self.places.hint(&answer)));
        }
        if let Some(row) = self.watch.untaken() {
            note(&format!("what you sent is kept as command {row}; it is accepted when this turn has ended"));
            for command in [format!("edit {} {row} TEXT", self.id), format!("cancel {} {row}", self.id)] {
                note(&format!("  {}", self.places.hint(&command)));
            }
        }
        match on {
            WaitOn::Time { on_message: true, .. } => {
                note(&format!("  {} MESSAGE", self.places.resume(&self.id)));
            }
            WaitOn::Time { until: Some(until), .. } => {
                note(&format!("  {} (from {until} on)", self.places.resume(&self.id)));
            }
            _ => {}
        }
        Ok(Outcome::Waits)
    }

    /// The session is not run here any more, and this process did not ask for that.
    fn gone(&self, gone: UnloadReason) -> Result<Outcome, Failure> {
        let resume = self.places.resume(&self.id);
        match gone {
            UnloadReason::Ended if self.until == Until::Stopped => Ok(Outcome::Done),
            UnloadReason::Ended => Ok(self.watch.end().unwrap_or(Outcome::Ended)),
            UnloadReason::Faulted(fault) => Err(faulted(self.places, &self.id, fault)),
            UnloadReason::Fenced => {
                Err(Failure::Machine(format!("another process has taken {} over; nothing is lost", self.id)))
            }
            // All of it is in the journal: only letting go went wrong.
            UnloadReason::Failed(why) if self.watch.end().is_some() => {
                note(&format!("{}: {why}", self.id));
                Ok(self.watch.end().unwrap_or(Outcome::Done))
            }
            UnloadReason::Failed(why) => Err(Failure::Machine(format!(
                "{}: {why}. The journal is intact; once this is fixed, resume with `{resume}`",
                self.id
            ))),
            UnloadReason::Unloaded => {
                Err(Failure::Machine(format!("session {} unloaded; resume it with `{resume}`", self.id)))
            }
        }
    }
}
