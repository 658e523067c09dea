//! Taking rows in from the inbox (journal.md R1): each row in exactly one entry. Controls come first:
//! stop, then answers, interrupts, edits, cancellations and promotions by number, then messages.

use std::collections::BTreeSet;

use rewake_wire::{Actor, ActorType, Part, Sender};

use super::{Applied, hook, turn};
use crate::command::{Command, Row, may_change};
use crate::decide::{Decision, Then};
use crate::entry::{Draft, Entry, Place};
use crate::fact::{
    Answer, CommandCanceled, CommandEdited, CommandPromoted, CommandRejected, Message, SessionStopped,
    UserAnswer, UserInterrupt, UserMessage, UserStop, WaitOn,
};
use crate::limits;
use crate::session::{Session, Turn};

/// The first control among the rows, if there is one, and what comes of it.
pub(crate) fn controls(session: &Session, rows: &[Row]) -> Option<Decision> {
    let is_stop = |row: &&Row| matches!(row.command, Command::Stop { .. });
    if let Some(row) = rows.iter().find(is_stop) {
        return Some(stop(session, rows, row));
    }
    rows.iter().find_map(|row| match &row.command {
        Command::Interrupt { turn } => Some(interrupt(session, rows, row, *turn)),
        Command::Answer { question, value } => Some(answered(session, row, question, value)),
        Command::Edit { target, parts } => Some(edit(session, rows, row, *target, parts)),
        Command::Cancel { target } => Some(cancel(rows, row, *target)),
        Command::Promote { target, turn } => Some(promote(session, rows, row, *target, *turn)),
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
    entries.extend(session.turn.as_ref().map(|turn| turn::interrupted(session, turn, None, 0)));
    Decision { entries, drops_guest: true, then: Then::Again }
}

fn interrupt(session: &Session, rows: &[Row], row: &Row, meant: u32) -> Decision {
    let Some(turn) = session.turn.as_ref().filter(|turn| turn.number == meant) else {
        return Decision::append(vec![reject(row.n, "the turn it was meant for is over")]);
    };
    let body = UserInterrupt { n: row.n, sender: row.sender.clone(), turn: meant };
    let mut entries = vec![Draft::by(actor(&row.sender), Place::turn(meant), body)];
    entries.extend(interrupted(session, turn, rows));
    Decision { entries, drops_guest: true, then: Then::Again }
}

/// The end of a turn that a person interrupts.
fn interrupted(session: &Session, turn: &Turn, rows: &[Row]) -> Vec<Draft> {
    let mut entries = turn::closings(session, crate::fact::Ending::Interrupted, "");
    entries.push(turn::interrupted(session, turn, None, count(session, rows)));
    entries
}

/// Messages among the rows that wait for the next turn, once all that is about them is accepted.
pub(crate) fn count(session: &Session, rows: &[Row]) -> u32 {
    let untaken = || rows.iter().filter(|row| !session.taken.contains(row.n));
    let canceled: BTreeSet<u64> = untaken()
        .filter_map(|row| match row.command {
            Command::Cancel { target } => Some(target),
            _ => None,
        })
        .collect();
    let waiting = untaken().filter(|row| matches!(row.command, Command::Message { .. }));
    u32::try_from(waiting.filter(|row| !canceled.contains(&row.n)).count()).unwrap_or(u32::MAX)
}

/// What a message says that another command is about. It is among the rows, as nobody can have taken it in: the
/// command's insert saw that it was untaken, and taking it needs all that is about it accepted before.
fn waiting<'r>(rows: &'r [Row], by: &Row, target: u64) -> Result<&'r [Part], Decision> {
    let why = match rows.iter().find(|row| row.n == target) {
        Some(Row { sender, command: Command::Message { parts }, .. }) if may_change(&by.sender, sender) => {
            return Ok(parts);
        }
        Some(_) => "it is about no message, or somebody else's",
        None => "the message it is about was delivered or canceled already",
    };
    Err(Decision::append(vec![reject(by.n, why)]))
}

fn edit(session: &Session, rows: &[Row], row: &Row, target: u64, after: &[Part]) -> Decision {
    let sent = match waiting(rows, row, target) {
        Ok(sent) => sent,
        Err(rejected) => return rejected,
    };
    let before = session.edits.get(&target).map_or(sent, Vec::as_slice);
    let body = CommandEdited {
        n: row.n,
        sender: row.sender.clone(),
        target,
        before: before.to_vec(),
        after: after.to_vec(),
    };
    Decision::append(vec![Draft::by(actor(&row.sender), Place::default(), body)])
}

fn cancel(rows: &[Row], row: &Row, target: u64) -> Decision {
    if let Err(rejected) = waiting(rows, row, target) {
        return rejected;
    }
    let body = CommandCanceled { n: row.n, sender: row.sender.clone(), target };
    Decision::append(vec![Draft::by(actor(&row.sender), Place::default(), body)])
}

/// As with an interrupt, only the turn that the sender saw is ended: another one has begun since because of what
/// was sent before.
fn promote(session: &Session, rows: &[Row], row: &Row, target: u64, meant: Option<u32>) -> Decision {
    if let Err(rejected) = waiting(rows, row, target) {
        return rejected;
    }
    let open = session.turn.as_ref().filter(|turn| Some(turn.number) == meant);
    let turn = open.map(|turn| turn.number);
    let body = CommandPromoted { n: row.n, sender: row.sender.clone(), target, turn };
    let place = turn.map_or(Place::default(), Place::turn);
    let mut entries = vec![Draft::by(actor(&row.sender), place, body)];
    entries.extend(open.map(|turn| interrupted(session, turn, rows)).into_iter().flatten());
    Decision { entries, drops_guest: open.is_some(), then: Then::Again }
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

/// The messages that can be accepted now, as they were edited: the one that was promoted last, alone; else at most
/// a batch.
pub(crate) fn messages(session: &Session, rows: &[Row], turn: u32) -> (Vec<Draft>, Vec<u64>) {
    let promoted = session.promoted.iter().rev().find(|n| rows.iter().any(|row| row.n == **n));
    let batch = rows.iter().filter(|row| promoted.is_none_or(|n| row.n == *n)).filter_map(|row| {
        let Command::Message { parts } = &row.command else { return None };
        Some((row, session.edits.get(&row.n).unwrap_or(parts)))
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
    if !session.taken.insert(n) {
        return Err("its inbox row was accepted before");
    }
    session.edits.remove(&n);
    session.promoted.retain(|one| *one != n);
    Ok(())
}

/// Takes a row in that is about another one, which was not accepted.
fn take_about(session: &mut Session, n: u64, target: u64) -> Applied {
    take(session, n)?;
    if session.taken.contains(target) { Err("the message it is about was accepted before") } else { Ok(()) }
}

pub(crate) fn edited(session: &mut Session, body: &CommandEdited) -> Applied {
    take_about(session, body.n, body.target)?;
    session.edits.insert(body.target, body.after.clone());
    Ok(())
}

pub(crate) fn canceled(session: &mut Session, body: &CommandCanceled) -> Applied {
    take_about(session, body.n, body.target)?;
    take(session, body.target)
}

pub(crate) fn promoted(session: &mut Session, body: &CommandPromoted) -> Applied {
    take_about(session, body.n, body.target)?;
    session.promoted.retain(|one| *one != body.target);
    session.promoted.push(body.target);
    Ok(())
}

pub(crate) fn message(session: &mut Session, entry: &Entry, body: &UserMessage) -> Applied {
    if session.edits.get(&body.n).is_some_and(|edited| *edited != body.parts) {
        return Err("it says something else than its newest edit");
    }
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
