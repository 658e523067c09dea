//! `rewake run` without a message at a terminal: a session to talk to. One task that waits for whatever comes first,
//! a key, an entry, a piece of text, a signal, and draws what follows from it. What is shown of the session is read
//! from its journal; pieces of a model's text are shown before, and count for nothing until the journal has them.

mod acting;
mod commands;
mod early;
mod editor;
mod history;
mod hold;
mod keys;
mod markdown;
mod past;
mod row;
mod saying;
mod screen;
mod status;
mod tools;
mod transcript;
mod tty;
#[cfg(test)]
mod untrusted;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rewake_core::fact::{Fact, Question, WaitOn};
use rewake_core::ids::SessionId;
use rewake_core::session::{Ended, Session};
use rewake_core::view;
use rewake_runtime::HostError;
use rewake_runtime::live::{Live, UnloadReason};
use rewake_store::Store;
use tokio::sync::mpsc;

pub(crate) use self::early::Early;
use self::early::{DROPPED, Keyboard};
use self::editor::Editor;
use self::history::History;
use self::hold::{Heard, Hold};
use self::keys::Decoder;
use self::row::{Look, Row};
use self::screen::Screen;
use self::status::Status;
use self::transcript::{Transcript, sent};
use self::tty::{Signals, Told};
use crate::data::{Opened, Places};
use crate::describe;
use crate::exit::{Failure, LEFT, Outcome};
use crate::journal::{Journal, Standing, faulted};
use crate::out::{self, Style, note};
use crate::sending::{operator, sender};

/// How long a session that does nothing is kept here: the next message need not wait for it then.
const REST: Duration = Duration::from_secs(60);
/// How long an Escape is waited for to become something else.
const ESCAPE: Duration = Duration::from_millis(50);
/// How often what shows the time is drawn again.
const TICK: Duration = Duration::from_millis(500);
/// How often the journal of a session that is not here is looked at: others may do something with it.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The part of the terminal's rows that what is typed takes at most.
const EDITED_PART: usize = 3;
/// Silence after which Ctrl-C and Ctrl-D alone end a paste: its end mark may never come.
const PASTE_SILENCE: Duration = Duration::from_secs(1);
const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
/// What a Ctrl-C that comes too early to leave says.
const LEAVES: &str = "Ctrl-C again leaves";

/// Whether there is somebody to talk to: all that is typed, shown and said belongs to a terminal that can draw.
pub(crate) fn is_possible() -> bool {
    out::is_attended() && out::is_drawable()
}

/// A conversation.
struct Talk<'a> {
    places: &'a Places,
    opened: &'a Opened,
    id: SessionId,
    journal: Journal,
    /// The fold up to the journal's newest entry that was read.
    session: Session,
    hold: Hold,
    /// Who else has it, if that was told.
    elsewhere: Option<String>,
    /// Since when nothing is due, if the session is here.
    idle_since: Option<Instant>,
    /// Questions that were asked.
    questions: BTreeMap<String, Question>,
    /// Those that an answer was sent to, by its row.
    answered: BTreeMap<u64, String>,
    /// The one that is being answered.
    asked: Option<String>,
    /// Messages of anyone who talks that wait, by their rows.
    sent: BTreeMap<u64, String>,
    /// Turns that were interrupted already.
    interrupted: BTreeSet<u32>,
    transcript: Transcript,
    editor: Editor,
    history: History,
    decoder: Decoder,
    /// When something was typed last.
    typed_at: Instant,
    screen: Screen,
    status: Status,
    /// When Ctrl-C was pressed last.
    pressed: Option<Instant>,
    /// `/stop` was typed once.
    may_stop: bool,
    /// What others say on standard error meanwhile.
    said: mpsc::UnboundedReceiver<String>,
}

/// Talks to a session that is there, until the user at the terminal leaves. `is_new`: nothing was shown of it.
pub(crate) async fn talk(
    places: &Places,
    opened: &Opened,
    id: &SessionId,
    is_new: bool,
    is_unfolded: bool,
    early: Early,
) -> Result<Outcome, Failure> {
    let store: Arc<dyn Store> = opened.host.store().clone();
    let standing = Standing::whole(store.clone(), id).await?;
    let history = History::of(&places.data);
    let waiting = view::waiting(&standing.session, &store.pending(id).await?);
    let own = waiting.into_iter().filter(|one| one.sender == sender());
    let sent = own.map(|one| (one.n, describe::parts(&one.parts))).collect();
    let screen = Screen::new(tty::size(), out::has_looks());
    let transcript = Transcript::new(operator(), screen.columns(), screen.has_looks(), is_unfolded);
    let (diversion, said) = mpsc::unbounded_channel();
    let mut talk = Talk {
        places,
        opened,
        id: id.clone(),
        journal: Journal::at(store, id.clone(), standing.session.head),
        hold: Hold::Away,
        elsewhere: None,
        idle_since: None,
        questions: standing.questions.into_iter().map(|asked| (asked.id.clone(), asked)).collect(),
        answered: BTreeMap::new(),
        asked: None,
        sent,
        interrupted: BTreeSet::new(),
        transcript,
        editor: Editor::new(history.read()),
        history,
        decoder: Decoder::default(),
        typed_at: Instant::now(),
        screen,
        status: Status::new(&standing.session),
        pressed: None,
        may_stop: false,
        said,
        session: standing.session,
    };
    talk.remember(is_new).await?;
    let mut signals = Signals::listen()?;
    let Early { tty, mut keyboard } = early;
    keyboard.ready().await;
    tty.take_all_keys()?;
    out::divert(Some(diversion));
    let result = talk.run(&mut signals, &mut keyboard).await;
    // Of a terminal that is gone nothing can be taken away.
    let _ = talk.screen.draw(&talk.transcript.take(), &[], (0, 0));
    out::divert(None);
    drop(tty);
    while let Ok(line) = talk.said.try_recv() {
        note(line.trim_start_matches("rewake: "));
    }
    let left = result?;
    if talk.session.ended.is_none() {
        note(&format!("left; resume with `{}`", places.resume(id)));
    }
    match left {
        Left::InOrder(outcome) => Ok(outcome),
        // What is being done here is not waited for; the next host that loads the session finds it as after a crash.
        Left::AtOnce => std::process::exit(i32::from(LEFT)),
    }
}

/// How a talk ended.
enum Left {
    /// The session was unloaded.
    InOrder(Outcome),
    /// Ctrl-C was pressed while it was unloaded.
    AtOnce,
}

impl Talk<'_> {
    async fn run(&mut self, signals: &mut Signals, keyboard: &mut Keyboard) -> Result<Left, Failure> {
        if self.is_due() {
            self.want();
        }
        self.ask();
        let outcome = loop {
            if self.draw().is_err() {
                break Outcome::Terminated;
            }
            let pause = self.pause();
            let outcome = tokio::select! {
                heard = self.hold.next(&self.opened.host, &self.id) => self.heard(heard).await?,
                typed = keyboard.next() => match typed {
                    Some(typed) => {
                        if std::mem::take(&mut keyboard.has_dropped) {
                            self.transcript.note(Style::Bad, DROPPED);
                        }
                        self.typed(&typed).await?
                    }
                    None => Some(Outcome::Terminated),
                },
                told = signals.next() => match told {
                    // Drawing asks for the size.
                    Told::Resized => None,
                    Told::Interrupt => self.interrupt().await?,
                    Told::End => Some(Outcome::Terminated),
                },
                Some(line) = self.said.recv() => {
                    self.transcript.note(Style::Dim, line.trim_end());
                    None
                }
                () = tokio::time::sleep(pause) => self.paused().await?,
            };
            if let Some(outcome) = outcome {
                break outcome;
            }
        };
        let is_at_once = self.leave(keyboard).await;
        self.show().await?;
        Ok(if is_at_once { Left::AtOnce } else { Left::InOrder(outcome) })
    }

    /// Unloads the session. True: anyone who pressed Ctrl-C meanwhile does not wait for it.
    async fn leave(&mut self, keyboard: &mut Keyboard) -> bool {
        self.status.does("unloads the session", Instant::now());
        let _ = self.draw();
        let pressed = async {
            while let Some(typed) = keyboard.next().await {
                if typed.bytes.contains(&CTRL_C) {
                    return;
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            () = self.hold.leave() => false,
            () = pressed => true,
        }
    }

    /// How long nothing changes, if nothing comes.
    fn pause(&self) -> Duration {
        if self.decoder.is_waiting() {
            return ESCAPE;
        }
        if self.decoder.is_pasting() {
            return PASTE_SILENCE;
        }
        if self.status.is_moving() || self.pressed.is_some() {
            return TICK;
        }
        match (&self.hold, self.idle_since) {
            (Hold::Here(..), Some(since)) => REST.saturating_sub(since.elapsed()).max(TICK),
            (Hold::Away, _) => POLL_INTERVAL,
            _ => REST,
        }
    }

    async fn paused(&mut self) -> Result<Option<Outcome>, Failure> {
        if let Some(key) = self.decoder.give_up() {
            return self.key(key).await;
        }
        self.pressed = self.pressed.filter(|at| at.elapsed() < acting::TWICE);
        if self.idle_since.is_some_and(|since| since.elapsed() >= REST)
            && let Some(gone) = self.hold.rest().await
        {
            return self.gone(gone).await;
        }
        if matches!(self.hold, Hold::Away) {
            self.show().await?;
        }
        Ok(self.is_over())
    }

    async fn heard(&mut self, heard: Heard) -> Result<Option<Outcome>, Failure> {
        let now = Instant::now();
        match heard {
            Heard::Taken => {
                self.elsewhere = None;
                self.show().await?;
            }
            Heard::Look => self.show().await?,
            Heard::Busy(who) => {
                self.status.rests();
                // It is asked for again and again, and told once.
                if self.elsewhere.as_ref() != Some(&who) {
                    let line = format!("{} is run by {who}, which accepts what is sent from here", self.id);
                    self.transcript.note(Style::Dim, &line);
                    self.elsewhere = Some(who);
                }
            }
            Heard::Failed(error) => return self.failed(*error),
            Heard::Live(Live::Entry(event)) if event.seq() <= self.journal.seq() => {}
            Heard::Live(Live::Entry(_)) => {
                self.journal.pace().await;
                self.show().await?;
            }
            Heard::Live(Live::Activity(line)) => self.status.does(&line, now),
            Heard::Live(Live::Delta { start, attempt, delta }) => {
                self.status.delta(&delta, now);
                self.transcript.delta(start, attempt, &delta);
            }
            Heard::Live(Live::DeltaReset { start, attempt }) => self.transcript.reset(start, attempt),
            Heard::Live(Live::Idle) => {
                self.show().await?;
                self.idle_since = Some(now);
                self.status.rests();
            }
            Heard::Live(Live::Unloaded(gone)) => return self.gone(gone).await,
        }
        Ok(self.is_over())
    }

    /// The session cannot be loaded. That is said, and another message tries again.
    fn failed(&mut self, error: HostError) -> Result<Option<Outcome>, Failure> {
        self.status.rests();
        if let HostError::Faulted { fault, .. } = error {
            return Err(faulted(self.places, &self.id, *fault));
        }
        self.transcript.note(Style::Bad, &format!("the session cannot be loaded: {error}"));
        Ok(None)
    }

    /// The session is not here any more.
    async fn gone(&mut self, gone: UnloadReason) -> Result<Option<Outcome>, Failure> {
        self.idle_since = None;
        self.status.rests();
        self.show().await?;
        match gone {
            UnloadReason::Faulted(fault) => return Err(faulted(self.places, &self.id, fault)),
            UnloadReason::Failed(why) => {
                self.transcript.note(Style::Bad, &format!("{why}. The journal is as it was"));
            }
            UnloadReason::Fenced => {
                self.transcript
                    .note(Style::Bad, "another process has taken the session over; nothing is lost");
                self.want();
            }
            UnloadReason::Ended => return Ok(self.ended()),
            UnloadReason::Unloaded => {
                if self.is_due() {
                    self.want();
                }
            }
        }
        Ok(self.is_over())
    }

    /// Whether the session has ended for good, and all hooks that are to hear of it have.
    fn is_over(&self) -> Option<Outcome> {
        if self.session.has_farewells() { None } else { self.ended() }
    }

    fn ended(&self) -> Option<Outcome> {
        self.session.ended.as_ref().map(|ended| match ended {
            Ended::Stopped => Outcome::Done,
            Ended::Failed => Outcome::Ended,
        })
    }

    /// Whether the session has something to do: a turn that can go on, or what was sent.
    fn is_due(&self) -> bool {
        let waits = |on: &WaitOn| matches!(on, WaitOn::Answers(_) | WaitOn::Time { until: None, .. });
        let goes_on =
            self.session.turn.as_ref().is_some_and(|turn| !turn.waiting.as_ref().is_some_and(waits));
        goes_on || !self.sent.is_empty() || !self.answered.is_empty()
    }

    fn want(&mut self) {
        self.idle_since = None;
        if matches!(self.hold, Hold::Away) && self.session.ended.is_none() {
            self.status.does("takes the session up", Instant::now());
            self.hold.take_up(&self.opened.host, &self.id);
        }
    }

    /// Takes what is new in the journal in.
    async fn show(&mut self) -> Result<(), Failure> {
        loop {
            let entries = self.journal.page().await?;
            if entries.is_empty() {
                break;
            }
            self.idle_since = None;
            let now = Instant::now();
            for entry in &entries {
                self.session.apply(entry).map_err(|corrupt| {
                    let session = self.id.to_string();
                    Failure::Corrupt { session, corrupt }
                })?;
                self.status.entry(entry, now);
                match &entry.fact {
                    Fact::UserMessage(body) => {
                        self.sent.remove(&body.n);
                    }
                    Fact::CommandEdited(body) => {
                        if let Some(text) = self.sent.get_mut(&body.target) {
                            *text = describe::parts(&body.after);
                        }
                    }
                    Fact::CommandCanceled(body) => {
                        self.sent.remove(&body.target);
                    }
                    Fact::UserAnswer(body) => {
                        self.answered.remove(&body.n);
                    }
                    Fact::CommandRejected(body) => {
                        self.sent.remove(&body.n);
                        self.answered.remove(&body.n);
                    }
                    Fact::QuestionAsked(body) => {
                        self.questions.insert(body.question.id.clone(), body.question.clone());
                    }
                    _ => {}
                }
                self.transcript.entry(entry, now);
            }
        }
        self.ask();
        Ok(())
    }

    /// Puts the first question that is open and was not answered yet.
    fn ask(&mut self) {
        let waits = self.session.turn.as_ref().is_some_and(|turn| turn.waiting.is_some());
        let is_answered = |id: &String| self.answered.values().any(|answered| answered == id);
        let open = self.session.questions.iter().find(|id| waits && !is_answered(id)).cloned();
        if self.asked != open {
            if let Some(question) = open.as_ref().and_then(|id| self.questions.get(id)) {
                self.transcript.question(question);
            }
            self.asked = open;
        }
    }

    fn draw(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        // Text of the model can come before the signal that says so.
        if self.screen.resize(tty::size()) {
            self.transcript.resize(self.screen.columns());
        }
        let (columns, lines) = (self.screen.columns(), self.screen.lines());
        let prompt = match &self.asked {
            Some(_) => Row::new(Look::BOLD, "answer› "),
            None => Row::new(Look::BOLD, "› "),
        };
        let shown = self.editor.shown(&prompt, columns, (lines / EDITED_PART).max(1));
        let mut below: Vec<Row> = Vec::new();
        for text in self.sent.values() {
            below.extend(sent("", text, Look::DIM, columns).into_iter().take(2));
        }
        let rest = lines.saturating_sub(shown.rows.len() + 2);
        below.truncate(rest / 2);
        let room = rest - below.len();
        // What is said takes so little that it stays within the terminal if that becomes half as wide.
        let mut changing = self.transcript.changing(now, room / 3);
        if changing.len() > room {
            let hidden = changing.len() - room.saturating_sub(1);
            changing.truncate(room.saturating_sub(1));
            changing.push(Row::new(Look::DIM, &format!("… and {hidden} more")));
        }
        changing.append(&mut below);
        let above = self.transcript.take();
        let at = changing.len();
        changing.extend(shown.rows);
        changing.push(self.status.row(&self.session, now, self.hint()));
        let cursor = (at + shown.cursor.0, shown.cursor.1);
        self.screen.draw(&above, &changing, cursor).map_err(broken)
    }

    /// What can be done now.
    fn hint(&self) -> &'static str {
        match &self.session.turn {
            _ if self.is_paste_stuck(Instant::now()) => "the end of the paste is missing: Ctrl-C ends it",
            _ if self.pressed.is_some() => LEAVES,
            Some(_) if self.asked.is_some() => "waits for your answer",
            Some(turn) if turn.waiting.is_some() => "waits",
            Some(_) => "Ctrl-C interrupts",
            None => "/help",
        }
    }
}

fn broken(error: io::Error) -> Failure {
    Failure::io("writing to the terminal", error)
}
