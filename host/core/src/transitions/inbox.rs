//! Taking rows in from the inbox (journal.md R1): each row in exactly one entry. Controls come first:
//! stop, then answers and interrupts by number, then messages.

use rewake_wire::{Actor, ActorType, Sender};

use super::{Applied, hook, turn};
use crate::command::{Command, Row};
use crate::decide::{Decision, Then};
use crate::entry::{Draft, Entry, Place};
use crate::fact::{
    Answer, CommandRejected, Message, SessionStopped, TurnInterrupted, UserAnswer, UserInterrupt,
    UserMessage, UserStop, WaitOn,
};
use crate::limits;
use crate::session::Session;

/// The first control among the rows, if there is one, and what comes of it.
pub(crate) fn controls(session: &Session, rows: &[Row]) -> Option<Decision> {
    let is_stop = |row: &&Row| matches!(row.command, Command::Stop { .. });
    if let Some(row) = rows.iter().find(is_stop) {
        return Some(stop(session, rows, row));
    }
    rows.iter().find_map(|row| match &row.command {
        Command::Interrupt { turn } => Some(interrupt(session, row, *turn)),
        Command::Answer { question, value } => Some(answered(session, row, question, value)),
        Command::Message { .. } | Command::Stop { .. } => None,
    })
}

fn stop(session: &Session, rows: &[Row], row: &Row) -> Decision {
    let Command::Stop { reason } = &row.command else { unreachable!("the caller looked") };
    let body = UserStop { n: row.n, sender: row.sender.clone(), reason: reason.clone() };
    let mut entries = vec![Draft::by(actor(&row.sender), Place::default(), body)];
    entries.extend(turn::closings(session, crate::fact::Ending::Interrupted, "the session was stopped"));
    entries.extend(rejections(rows, Some(row.n), "the session was stopped"));
    entries.push(Draft::by(
        actor(&row.sender),
        Place::default(),
        SessionStopped { reason: limits::cut(reason, limits::DETAIL_BYTES_MAX) },
    ));
    if let Some(turn) = &session.turn {
        entries.push(Draft::system(
            Place::turn(turn.number),
            TurnInterrupted { usage: turn.usage, cost: super::turn::cost(session, turn), reason: None },
        ));
    }
    Decision { entries, drops_guest: true, then: Then::Again }
}

fn interrupt(session: &Session, row: &Row, meant: u32) -> Decision {
    let Some(turn) = session.turn.as_ref().filter(|turn| turn.number == meant) else {
        return Decision::append(vec![reject(row.n, "the turn it was meant for is over")]);
    };
    let body = UserInterrupt { n: row.n, sender: row.sender.clone(), turn: meant };
    let mut entries = vec![Draft::by(actor(&row.sender), Place::turn(meant), body)];
    entries.extend(turn::closings(session, crate::fact::Ending::Interrupted, ""));
    entries.push(Draft::system(
        Place::turn(meant),
        TurnInterrupted { usage: turn.usage, cost: super::turn::cost(session, turn), reason: None },
    ));
    Decision { entries, drops_guest: true, then: Then::Again }
}

fn answered(session: &Session, row: &Row, question: &str, value: &str) -> Decision {
    let held = hook::held(session, question);
    let entry = match &session.turn {
        // An agent cannot approve itself, nor can a trigger for it.
        Some(_) if held.is_some() && !matches!(row.sender, Sender::Operator(_)) => {
            reject(row.n, "only an operator may answer what a hook asks")
        }
        Some(turn) if session.questions.contains(question) => Draft::by(
            actor(&row.sender),
            held.unwrap_or(Place::turn(turn.number)),
            UserAnswer {
                n: row.n,
                sender: row.sender.clone(),
                question: question.to_owned(),
                value: value.to_owned(),
            },
        ),
        _ => reject(row.n, "the question is not open: answered already, withdrawn, or never asked"),
    };
    Decision::append(vec![entry])
}

/// The messages that can be taken in now, at most a batch.
pub(crate) fn messages(rows: &[Row], turn: u32) -> (Vec<Draft>, Vec<u64>) {
    let batch = rows.iter().filter_map(|row| match &row.command {
        Command::Message { parts } => Some((row, parts)),
        _ => None,
    });
    let mut bytes = 0;
    batch
        .take(limits::BATCH_MESSAGES_MAX)
        .take_while(|(_, parts)| {
            let before = bytes;
            bytes += parts.iter().map(rewake_wire::Part::len).sum::<usize>();
            before == 0 || bytes <= limits::BATCH_BYTES_MAX
        })
        .map(|(row, parts)| {
            let body = UserMessage { n: row.n, sender: row.sender.clone(), parts: parts.clone() };
            (Draft::by(actor(&row.sender), Place::turn(turn), body), row.n)
        })
        .unzip()
}

/// Every row but one is answered: an ended session leaves nothing acknowledged in no entry.
pub(crate) fn rejections<'a>(
    rows: &'a [Row],
    but: Option<u64>,
    why: &'a str,
) -> impl Iterator<Item = Draft> + 'a {
    rows.iter().filter(move |row| Some(row.n) != but).map(move |row| reject(row.n, why))
}

fn reject(n: u64, why: &str) -> Draft {
    Draft::system(Place::default(), CommandRejected { n, why: why.to_owned() })
}

/// Whose doing a command is.
pub(crate) fn actor(sender: &Sender) -> Actor {
    match sender {
        Sender::Operator(id) => Actor::new(ActorType::Operator, id),
        Sender::Agent(id) => Actor::new(ActorType::Agent, id),
        Sender::Trigger(id) => Actor::new(ActorType::Trigger, id),
        Sender::System => Actor::new(ActorType::System, "host"),
    }
}

pub(crate) fn take(session: &mut Session, n: u64) -> Applied {
    if session.taken.insert(n) { Ok(()) } else { Err("its inbox row was taken in before") }
}

pub(crate) fn message(session: &mut Session, entry: &Entry, body: &UserMessage) -> Applied {
    take(session, body.n)?;
    session.pending.messages.push(Message {
        n: body.n,
        sender: body.sender.clone(),
        at: entry.at,
        parts: body.parts.clone(),
    });
    Ok(())
}

pub(crate) fn answer(session: &mut Session, body: &UserAnswer) -> Applied {
    take(session, body.n)?;
    if !session.questions.remove(&body.question) {
        return Err("its question is not open");
    }
    let belongs_to_call = hook::held(session, &body.question).is_some();
    if !belongs_to_call {
        session.pending.answers.push(Answer {
            question: body.question.clone(),
            sender: body.sender.clone(),
            value: body.value.clone(),
        });
    }
    let turn = session.turn.as_mut().ok_or("there is no turn that could have asked")?;
    if let Some(step) = turn.step.as_mut().filter(|_| belongs_to_call) {
        // A re-run because a person answered does not count (R5).
        (step.progressed, step.excused, step.reruns) = (false, true, 0);
    }
    if session.questions.is_empty() && matches!(turn.waiting, Some(WaitOn::Answers(_))) {
        turn.waiting = None;
    }
    Ok(())
}
