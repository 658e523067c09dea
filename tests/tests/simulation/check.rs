//! What must hold of every journal that a settled run leaves, whatever happened to its hosts. Each check is a
//! function of the evidence, so that a test can doctor that and see the check fail.

use std::collections::{BTreeMap, BTreeSet};

use rewake_core::command::Command;
use rewake_core::effect::Effect;
use rewake_core::entry::Place;
use rewake_core::fact::Fact;
use rewake_core::limits::{RERUNS_MAX, RETRIES_MAX};
use rewake_wire::{Outcome, Part};

use crate::evidence::{Evidence, announced, started};
use crate::owners;

/// What a check found.
pub(crate) type Checked = Result<(), String>;

/// A check.
pub(crate) type Check = fn(&Evidence) -> Checked;

/// Every check of what is left, by its name.
pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("inputs", inputs),
    ("effects", effects),
    ("epochs", epochs),
    ("calls", calls),
    ("writers", writers),
    ("turns", turns),
    ("questions", questions),
    ("steps", steps),
    ("interrupts", interrupts),
    ("changes", changes),
    ("margins", owners::margins),
    ("takeovers", owners::takeovers),
    ("own effects", owners::own_effects),
    ("clocks", owners::clocks),
    ("isolation", owners::isolation),
];

/// All of them; the first that fails.
pub(crate) fn all(evidence: &Evidence) -> Checked {
    CHECKS.iter().try_for_each(|(name, check)| check(evidence).map_err(|why| format!("{name}: {why}")))
}

pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

/// R1: what was acknowledged is in exactly one entry; so is whatever else came into the inbox.
fn inputs(evidence: &Evidence) -> Checked {
    if let Some(broken) = evidence.broken_promises.first() {
        return Err(broken.clone());
    }
    let mut times: BTreeMap<u64, usize> = BTreeMap::new();
    for n in evidence.entries.iter().flat_map(|entry| entry.fact.rows()) {
        *times.entry(n).or_default() += 1;
    }
    let acked = evidence.sent.iter().filter_map(|sent| sent.acked);
    for n in (1..=evidence.through).chain(acked).chain(times.keys().copied()) {
        let times = times.get(&n).copied().unwrap_or(0);
        ensure(times == 1, || format!("row {n} of the inbox was taken in {times} times"))?;
        ensure(n <= evidence.through, || format!("row {n} was acknowledged and is in no inbox"))?;
    }
    let rows: Vec<u64> = evidence.sent.iter().filter_map(|sent| sent.acked).collect();
    let distinct: BTreeSet<u64> = rows.iter().copied().collect();
    ensure(distinct.len() == rows.len(), || format!("two commands are one row: {rows:?}"))
}

/// R3, R5: nothing is done that no entry announces; what may be done once is never tried again; what is told to
/// have been done was.
fn effects(evidence: &Evidence) -> Checked {
    let log = evidence.log();
    announced(&evidence.entries, &log)?;
    let started = started(&evidence.entries);
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &evidence.entries {
        match &entry.fact {
            Fact::CallRetried(body) => {
                let is_once = started.get(&body.start).is_some_and(|one| one.class == Effect::Once);
                ensure(!is_once, || format!("the call {} of class `once` is tried again", body.start))?;
            }
            Fact::ToolCompleted(body) if body.outcome == Outcome::Ok => {
                let line = body.start.and_then(|start| started.get(&start)?.line.as_deref());
                if let Some(line) = line {
                    *done.entry(line).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    for (line, told) in done {
        let written = log.iter().filter(|other| *other == line).count();
        ensure(written >= told, || {
            format!("{line:?} was told to be done {told} times, and was {written} times")
        })?;
    }
    Ok(())
}

/// R0: entries are numbered without a gap, epochs never go back, one host has an epoch, and nobody appends who has
/// not the lease.
fn epochs(evidence: &Evidence) -> Checked {
    let mut epoch = 0;
    for (at, entry) in evidence.entries.iter().enumerate() {
        ensure(entry.seq == at as u64 + 1, || format!("entry {} stands at {}", entry.seq, at + 1))?;
        ensure(entry.epoch >= epoch, || {
            format!("entry {} is of epoch {}, after {epoch}", entry.seq, entry.epoch)
        })?;
        epoch = entry.epoch;
    }
    let mut of_epoch: BTreeMap<u64, u32> = BTreeMap::new();
    let mut last_seq = 0;
    for accepted in &evidence.accepted {
        let host = *of_epoch.entry(accepted.epoch).or_insert(accepted.host);
        let epoch = accepted.epoch;
        ensure(host == accepted.host, || {
            format!("hosts {host} and {} wrote in epoch {epoch}", accepted.host)
        })?;
        ensure(accepted.last_seq > last_seq, || format!("entry {} was written twice", accepted.last_seq))?;
        last_seq = accepted.last_seq;
        let id = evidence.hosts.get(&accepted.host);
        ensure(accepted.holder.as_ref() == id, || {
            format!("host {} wrote entry {last_seq} under the lease of {:?}", accepted.host, accepted.holder)
        })?;
    }
    for entry in &evidence.entries {
        if let Fact::SessionLoaded(body) = &entry.fact {
            let id = of_epoch.get(&entry.epoch).and_then(|host| evidence.hosts.get(host));
            ensure(id == Some(&body.host), || {
                format!("entry {} names another host than wrote it", entry.seq)
            })?;
        }
    }
    Ok(())
}

fn is_start(fact: &Fact) -> bool {
    matches!(fact, Fact::ModelStarted(_) | Fact::ToolStarted(_) | Fact::HttpStarted(_) | Fact::HookStarted(_))
}

/// The start that a fact ends.
fn ends(fact: &Fact) -> Option<u64> {
    match fact {
        Fact::ModelCompleted(body) => Some(body.start),
        Fact::ModelLost(body) => Some(body.start),
        Fact::ToolCompleted(body) => body.start,
        Fact::ToolLost(body) => Some(body.start),
        Fact::HookVerdict(body) => Some(body.start),
        _ => None,
    }
}

/// A call that has not ended.
struct Open {
    place: Place,
    /// Attempts that count.
    spent: u32,
    /// The next does not: its host unloaded it in good order, or lived on (R5).
    excused: bool,
}

/// Every call that was started ended exactly once, where it began, before its turn; and was tried no oftener than
/// it may be.
fn calls(evidence: &Evidence) -> Checked {
    let mut open: BTreeMap<u64, Open> = BTreeMap::new();
    let mut keys = BTreeSet::new();
    for entry in &evidence.entries {
        let (seq, place) = (entry.seq, entry.place);
        if is_start(&entry.fact) {
            ensure(keys.insert(entry.hash), || format!("the key of {seq} was used before"))?;
            open.insert(seq, Open { place, spent: 0, excused: false });
        }
        match &entry.fact {
            Fact::SessionUnloaded(_) => open.values_mut().for_each(|call| call.excused = true),
            Fact::SessionLoaded(body) if body.again.is_some() => {
                open.values_mut().for_each(|call| call.excused = true);
            }
            Fact::CallRetried(body) => {
                let call = open.get_mut(&body.start);
                let call = call.ok_or_else(|| format!("entry {seq} tries again what has ended"))?;
                call.spent += u32::from(!std::mem::take(&mut call.excused));
                ensure(call.spent <= RETRIES_MAX, || format!("{} is tried for ever", body.start))?;
            }
            _ => {}
        }
        if let Some(start) = ends(&entry.fact) {
            let is_there = open.remove(&start).is_some_and(|call| call.place == place);
            ensure(is_there, || format!("entry {seq} ends {start}, which ended before or began elsewhere"))?;
        }
        if entry.fact.is_turn_end() {
            ensure(open.is_empty(), || format!("a turn ends at {seq} with open calls: {:?}", open.keys()))?;
        }
    }
    ensure(open.is_empty(), || format!("calls never ended: {:?}", open.keys()))
}

/// R4, `N-A1`: no two calls of tools that may change the workspace overlap, and those of one request start in its order.
/// The tools of the scene that write are those that append.
fn writers(evidence: &Evidence) -> Checked {
    let mut open: BTreeMap<u64, Place> = BTreeMap::new();
    let mut newest = None;
    for entry in &evidence.entries {
        if matches!(&entry.fact, Fact::ToolStarted(body) if body.name.starts_with("append")) {
            let (seq, place) = (entry.seq, entry.place);
            ensure(open.is_empty(), || {
                format!("the writer that starts at {seq} overlaps {:?}", open.keys())
            })?;
            ensure(newest < Some(place), || format!("the writer that starts at {seq} comes too early"))?;
            open.insert(seq, place);
            newest = Some(place);
        }
        if let Some(start) = ends(&entry.fact) {
            open.remove(&start);
        }
    }
    Ok(())
}

/// Every turn ended exactly once and last, and one is open at a time.
fn turns(evidence: &Evidence) -> Checked {
    let mut open = None;
    let mut count = 0;
    for entry in &evidence.entries {
        let (seq, turn) = (entry.seq, entry.place.turn);
        if let Fact::TurnStarted(_) = entry.fact {
            count += 1;
            ensure(open.is_none(), || format!("turn {turn} starts at {seq} while {open:?} is open"))?;
            ensure(turn == count, || format!("turn {turn} starts at {seq}, the {count}th"))?;
            open = Some(turn);
        } else if entry.fact.is_turn_end() {
            ensure(open.take() == Some(turn), || format!("turn {turn} ends at {seq} and is not open"))?;
        } else if entry.place.step > 0 {
            let kind = entry.fact.kind();
            ensure(open == Some(turn), || format!("{kind} at {seq} stands outside of its turn {turn}"))?;
        }
    }
    ensure(open.is_none(), || format!("turn {open:?} never ended"))
}

/// The first answer to an open question counts, and no other.
fn questions(evidence: &Evidence) -> Checked {
    let mut open = BTreeSet::new();
    for entry in &evidence.entries {
        let seq = entry.seq;
        match &entry.fact {
            Fact::QuestionAsked(body) => {
                let id = &body.question.id;
                ensure(open.insert(id.clone()), || format!("{id} is asked again at {seq} while it is open"))?;
            }
            Fact::QuestionWithdrawn(body) => {
                ensure(open.remove(&body.id), || {
                    format!("{} is withdrawn at {seq} and is not open", body.id)
                })?;
            }
            Fact::UserAnswer(body) => {
                let id = &body.question;
                ensure(open.remove(id), || format!("{id} is answered at {seq} and is not open"))?;
            }
            _ => {}
        }
    }
    ensure(open.is_empty(), || format!("questions stay open: {open:?}"))
}

/// State advances by completed steps only; a step is not run again for ever.
fn steps(evidence: &Evidence) -> Checked {
    let (mut saved, mut open) = (None, None);
    for entry in &evidence.entries {
        let (seq, place) = (entry.seq, entry.place);
        match &entry.fact {
            Fact::StepStarted(body) => {
                ensure(body.state == saved, || format!("the step of {seq} starts from another state"))?;
                ensure(open.replace(place).is_none(), || {
                    format!("a step starts at {seq} while another is open")
                })?;
            }
            Fact::StepCompleted(body) => {
                ensure(open.take() == Some(place), || format!("a step ends at {seq} that is not open"))?;
                saved = body.state;
            }
            Fact::StepAborted(_) => {
                ensure(open.take() == Some(place), || {
                    format!("a step is aborted at {seq} that is not open")
                })?;
            }
            Fact::StepRerun(body) => {
                ensure(body.again <= RERUNS_MAX, || format!("the step of {seq} is run again for ever"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// What begins after an interrupt or a stop is not of the turn that it ended.
fn interrupts(evidence: &Evidence) -> Checked {
    let mut ending = None;
    for entry in &evidence.entries {
        match &entry.fact {
            Fact::UserInterrupt(_) => ending = Some(entry.place.turn),
            Fact::UserStop(_) => ending = Some(entry.place.turn),
            Fact::CommandPromoted(body) if body.turn.is_some() => ending = body.turn,
            fact if fact.is_turn_end() => ending = None,
            fact if is_start(fact) && entry.place.step > 0 => {
                ensure(ending.is_none(), || format!("{} at {} after an interrupt", fact.kind(), entry.seq))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// R1: a message is told as its last edit says, and not at all if it was canceled; who was told that it is so was
/// told the truth. Promoted messages come first, the last one before the others.
fn changes(evidence: &Evidence) -> Checked {
    let acked = |n: u64| evidence.sent.iter().find(|sent| sent.acked == Some(n)).map(|sent| &sent.command);
    let has_ended = |fact: &Fact| matches!(fact, Fact::SessionStopped(_) | Fact::SessionFailed(_));
    let is_over = evidence.entries.iter().any(|entry| has_ended(&entry.fact));
    let about = |n: u64| {
        let sent = evidence.sent.iter().filter(move |sent| sent.command.target() == Some(n));
        sent.filter(|sent| !matches!(sent.command, Command::Promote { .. })).filter_map(|sent| sent.acked)
    };
    let mut says: BTreeMap<u64, &Vec<Part>> = BTreeMap::new();
    let (mut promoted, mut seen): (Vec<u64>, BTreeSet<u64>) = Default::default();
    for entry in &evidence.entries {
        let seq = entry.seq;
        seen.extend(entry.fact.rows());
        match &entry.fact {
            Fact::CommandEdited(body) => {
                says.insert(body.target, &body.after);
                if let Some(Command::Edit { parts, .. }) = acked(body.n) {
                    ensure(*parts == body.after, || format!("the edit of {seq} says something else"))?;
                }
            }
            Fact::CommandPromoted(body) => {
                promoted.retain(|n| *n != body.target);
                promoted.push(body.target);
            }
            Fact::UserMessage(body) => {
                let late = about(body.n).find(|n| !seen.contains(n));
                ensure(late.is_none(), || format!("the message of {seq} is told without {late:?}"))?;
                let is_canceled = about(body.n).any(|n| matches!(acked(n), Some(Command::Cancel { .. })));
                ensure(!is_canceled, || format!("the message of {seq} was taken back"))?;
                let said = says.get(&body.n).copied().or_else(|| match acked(body.n) {
                    Some(Command::Message { parts }) => Some(parts),
                    _ => None,
                });
                ensure(said.is_none_or(|said| *said == body.parts), || {
                    format!("the message of {seq} says something else than was sent")
                })?;
                let next = promoted.pop();
                ensure(next.is_none_or(|n| n == body.n), || format!("{next:?} was to be told before {seq}"))?;
            }
            Fact::CommandRejected(body) => {
                let is_about = acked(body.n).is_some_and(|command| command.target().is_some());
                ensure(!is_about || is_over, || format!("{} was acknowledged, and rejected", body.n))?;
            }
            _ => promoted.retain(|n| !entry.fact.rows().any(|row| row == *n)),
        }
    }
    Ok(())
}
