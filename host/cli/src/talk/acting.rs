//! What the user at the terminal does: keys, lines, answers, interrupts and the words with a slash.

use std::time::{Duration, Instant};

use rewake_core::command::Command;
use rewake_wire::Part;

use super::commands::{self, HELP, Slash};
use super::editor::Edited;
use super::keys::Key;
use super::tty::{self, Typed};
use super::{CTRL_C, CTRL_D, LEAVES, PASTE_SILENCE, Talk, broken};
use crate::exit::{Failure, Outcome};
use crate::out::{self, Style};
use crate::prompt;
use crate::sending::deliver;
use crate::show;
use crate::workspace::{self, WorkspaceCommand};

/// Within what a second Ctrl-C leaves.
pub(super) const TWICE: Duration = Duration::from_secs(2);
/// All that the terminal shows goes, and the cursor to the top.
const CLEAR: &[u8] = b"\x1b[2J\x1b[H";

impl Talk<'_> {
    /// Whether a paste has no end, and nothing more of it has come for a while.
    pub(super) fn is_paste_stuck(&self, now: Instant) -> bool {
        self.decoder.is_pasting() && now.saturating_duration_since(self.typed_at) >= PASTE_SILENCE
    }

    pub(super) async fn typed(&mut self, typed: &Typed) -> Result<Option<Outcome>, Failure> {
        let keys = match typed.bytes[..] {
            // The text so far stays in the line: part of a paste is never sent.
            [CTRL_C | CTRL_D] if self.is_paste_stuck(typed.at) => {
                self.decoder.end_paste().into_iter().collect()
            }
            _ => self.decoder.push(&typed.bytes),
        };
        self.typed_at = typed.at;
        for key in keys {
            if let Some(outcome) = self.key(key).await? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    pub(super) async fn key(&mut self, key: Key) -> Result<Option<Outcome>, Failure> {
        if key == Key::Tab {
            if let Some(word) = commands::complete(self.editor.text()) {
                self.editor.set(format!("{word} "));
            }
            return Ok(None);
        }
        match self.editor.key(key) {
            Edited::Line => {}
            Edited::Redraw => {
                self.screen.lift().map_err(broken)?;
                tty::write(CLEAR).map_err(broken)?;
            }
            Edited::Leave => return Ok(Some(self.leaving())),
            Edited::Interrupt => return self.interrupt().await,
            Edited::Done(line) => return self.done(line).await,
        }
        Ok(None)
    }

    /// Ctrl-C: interrupts the open turn; where there is none, takes away what was typed; twice leaves.
    pub(super) async fn interrupt(&mut self) -> Result<Option<Outcome>, Failure> {
        if self.pressed.is_some_and(|at| at.elapsed() < TWICE) {
            return Ok(Some(Outcome::Left));
        }
        if self.session.turn.is_none() && !self.editor.text().is_empty() {
            self.editor.set(String::new());
            return Ok(None);
        }
        self.pressed = Some(Instant::now());
        self.interrupt_turn().await?;
        Ok(None)
    }

    /// Interrupts the open turn, once.
    async fn interrupt_turn(&mut self) -> Result<bool, Failure> {
        let Some(turn) = self.session.turn.as_ref().map(|turn| turn.number) else { return Ok(false) };
        if self.interrupted.insert(turn) && self.send(Command::Interrupt { turn }).await?.is_some() {
            self.transcript.note(Style::Dim, &format!("interrupts turn {turn}; {LEAVES}"));
        }
        Ok(true)
    }

    /// How leaving ends the program.
    fn leaving(&self) -> Outcome {
        match &self.session.turn {
            None => Outcome::Done,
            Some(turn) if turn.waiting.is_some() => Outcome::Waits,
            Some(_) => Outcome::Left,
        }
    }

    /// A line was typed.
    async fn done(&mut self, line: String) -> Result<Option<Outcome>, Failure> {
        let may_stop = std::mem::take(&mut self.may_stop);
        if line.trim().is_empty() {
            return Ok(None);
        }
        if let Some(slash) = commands::read(&line) {
            return self.slash(slash, may_stop).await;
        }
        if let Some(id) = self.asked.clone() {
            self.answer(id, line).await?;
            return Ok(None);
        }
        let command = Command::Message { parts: vec![Part::text(line.trim())] };
        match self.send(command).await? {
            Some(row) => {
                self.editor.keep(&line);
                // What was typed is sent, whether it can be kept or not.
                let _ = self.history.add(&line);
                self.sent.insert(row, line.trim().to_owned());
            }
            None => self.editor.set(line),
        }
        Ok(None)
    }

    async fn answer(&mut self, id: String, line: String) -> Result<(), Failure> {
        let choices = self.questions.get(&id).map(|question| question.choices.clone()).unwrap_or_default();
        let Some(value) = prompt::value(&choices, line.trim()) else {
            let choices = choices.join(", ");
            self.transcript.note(Style::Bad, &format!("answer with a number, or one of: {choices}"));
            return Ok(());
        };
        match self.send(Command::Answer { question: id.clone(), value: value.clone() }).await? {
            Some(row) => {
                self.transcript.answer(row, &value);
                self.answered.insert(row, id);
                self.ask();
            }
            None => self.editor.set(line),
        }
        Ok(())
    }

    /// Puts a command into the session's inbox, and loads the session. None: it was refused, and that is said.
    async fn send(&mut self, command: Command) -> Result<Option<u64>, Failure> {
        if let Err(refusal) = command.check() {
            self.transcript.note(Style::Bad, &refusal.to_string());
            return Ok(None);
        }
        match deliver(&self.opened.host, &self.id, command, None).await {
            Ok(row) => {
                self.want();
                Ok(Some(row))
            }
            Err(error) => {
                self.transcript.note(Style::Bad, &error.to_string());
                Ok(None)
            }
        }
    }

    async fn slash(&mut self, slash: Slash, may_stop: bool) -> Result<Option<Outcome>, Failure> {
        match slash {
            Slash::Help => {
                for line in HELP.lines() {
                    self.transcript.note(Style::Plain, line);
                }
            }
            Slash::Quit => return Ok(Some(self.leaving())),
            Slash::Interrupt => {
                if !self.interrupt_turn().await? {
                    self.transcript.note(Style::Dim, "no turn is open");
                }
            }
            Slash::Back => self.take_back().await?,
            Slash::Next => self.promote().await?,
            Slash::Stop(why) if may_stop => {
                let reason = why.unwrap_or_else(|| "stopped by its operator".to_owned());
                self.send(Command::Stop { reason }).await?;
            }
            Slash::Stop(_) => {
                self.may_stop = true;
                self.transcript
                    .note(Style::Bad, "this ends the session for good; to do it, type /stop again");
            }
            Slash::Show => {
                self.lift()?;
                self.tell(show::show(self.places, &self.id).await);
            }
            Slash::Diff => {
                self.lift()?;
                let diff = WorkspaceCommand::Diff { id: self.id.clone(), against: None, names: false };
                self.tell(workspace::workspace(self.places, diff).await);
            }
            Slash::Unknown(word) => {
                let line =
                    format!("there is no {word}; /help lists what there is. To send it, begin with a blank");
                self.transcript.note(Style::Bad, &line);
            }
        }
        Ok(None)
    }

    /// Cancels the message that was sent last and waits, and puts it into the line again.
    async fn take_back(&mut self) -> Result<(), Failure> {
        let Some((target, text)) = self.sent.last_key_value().map(|(n, text)| (*n, text.clone())) else {
            self.transcript.note(Style::Dim, "nothing that you sent waits");
            return Ok(());
        };
        if self.send(Command::Cancel { target }).await?.is_some() {
            self.sent.remove(&target);
            self.editor.set(text);
        }
        Ok(())
    }

    /// Ends the open turn, and has the message that was sent last told next.
    async fn promote(&mut self) -> Result<(), Failure> {
        let Some(target) = self.sent.last_key_value().map(|(n, _)| *n) else {
            self.transcript.note(Style::Dim, "nothing that you sent waits");
            return Ok(());
        };
        let turn = self.session.turn.as_ref().map(|turn| turn.number);
        if self.send(Command::Promote { target, turn }).await?.is_some() {
            self.transcript.note(Style::Dim, "it is delivered next");
        }
        Ok(())
    }

    /// Makes room for a command that writes by itself.
    fn lift(&mut self) -> Result<(), Failure> {
        let above = self.transcript.take();
        self.screen.draw(&above, &[], (0, 0)).map_err(broken)
    }

    /// What went wrong with such a command is said, and ends nothing.
    fn tell(&mut self, result: Result<Outcome, Failure>) {
        if let Err(failure) = result {
            self.transcript.note(Style::Bad, &failure.to_string());
        }
        out::clear_status();
    }
}
