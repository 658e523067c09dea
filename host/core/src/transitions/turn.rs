//! Turns: opening, going on, waiting, ending. `advance` is the one place that says what is due.

use rewake_wire::Part;

use super::{Applied, firing, hook, inbox};
use crate::command::{Command, Row};
use crate::decide::{Advance, Decision, Then};
use crate::entry::{Draft, Entry, Place};
use crate::error::Refusal;
use crate::fact::{
    AgentMessage, Asker, Ending, Fact, HookEvent, HttpLost, Lost, ModelContent, ModelLost, Next,
    QuestionAsked, QuestionWithdrawn, Scope, StepAborted, StepInput, StepRerun, StepStarted, ToolLost,
    TurnCompleted, TurnFailed, TurnInterrupted, TurnStarted, TurnSteered, TurnWaiting, Unfinished, WaitOn,
};
use crate::ids::{Digest, Timestamp};
use crate::limits;
use crate::money::Usd;
use crate::session::{CallKind, OpenCall, Session, Step, Turn};

/// Decides what is due.
pub(crate) fn advance(session: &Session, advance: Advance) -> Result<Decision, Refusal> {
    if session.ended.is_some() {
        let firings = firing::due(session);
        return Ok(Decision::then(match (advance.running, firings.is_empty()) {
            (true, _) => Then::Idle(None),
            (false, true) => Then::Ended,
            (false, false) => Then::Fire(firings),
        }));
    }
    let rows: Vec<_> = advance.rows.iter().filter(|row| !session.taken.contains(row.n)).cloned().collect();
    if let Some(decision) = inbox::controls(session, &rows) {
        return Ok(decision);
    }
    let Some(turn) = &session.turn else { return Ok(open(session, &advance, &rows)) };
    if let Some(reason) = &turn.ending {
        return Ok(end_by_hook(session, turn, reason, &rows));
    }
    if advance.running {
        return Ok(Decision::then(Then::Idle(None)));
    }
    let firings = firing::due(session);
    if !firings.is_empty() && !is_idle(session, turn, &advance) {
        return Ok(fire(session, turn, firings, &rows));
    }
    if let Some(step) = &turn.step {
        // A call of it waits for a person: then it is not run again before the answer is there (R10).
        return Ok(match &turn.waiting {
            Some(_) if !session.questions.is_empty() => Decision::then(Then::Idle(None)),
            _ => go_on_with(session, turn, step, &advance, &rows),
        });
    }
    if let Some(why) =
        turn.blocked.as_ref().filter(|_| turn.steps == 0 && session.pending.messages.is_empty())
    {
        let failure = fail(session, turn, Ending::Failed, Scope::Turn, "prompt_blocked", why, &rows);
        return Ok(Decision::append(failure));
    }
    if let Some(WaitOn::Time { on_message: true, .. }) = &turn.waiting {
        let (mut entries, commands) = inbox::messages(session, &rows, turn.number);
        if !entries.is_empty() {
            entries.push(Draft::system(Place::turn(turn.number), TurnSteered { commands }));
            return Ok(Decision::append(entries));
        }
    }
    // Only a journal that somebody put together has one, and neither an end nor a step could be folded over it.
    if !session.calls.is_empty() {
        return Err(Refusal::Rule("the turn cannot go on while a call is open that is no step's"));
    }
    Ok(next_step(session, turn, &advance, &rows))
}

/// No turn is open: messages open one.
fn open(session: &Session, advance: &Advance, rows: &[Row]) -> Decision {
    if advance.running {
        return Decision::then(Then::Idle(None));
    }
    let number = session.turns + 1;
    let (mut entries, taken) = inbox::messages(session, rows, number);
    let mut commands: Vec<u64> = session.pending.messages.iter().map(|message| message.n).collect();
    commands.extend(taken);
    if commands.is_empty() {
        return Decision::then(Then::Idle(None));
    }
    entries.push(Draft::system(Place::turn(number), TurnStarted { commands }));
    Decision::append(entries)
}

/// A hook ends the turn, whatever else was decided (hooks.md).
fn end_by_hook(session: &Session, turn: &Turn, reason: &str, rows: &[Row]) -> Decision {
    let mut entries = closings(session, Ending::Interrupted, reason);
    let reason = Some(limits::cut(reason, limits::DETAIL_BYTES_MAX));
    entries.push(interrupted(session, turn, reason, inbox::count(session, rows)));
    Decision { entries, drops_guest: true, then: Then::Again }
}

/// The last entry of a turn that a person or a hook ends.
pub(crate) fn interrupted(session: &Session, turn: &Turn, reason: Option<String>, pending: u32) -> Draft {
    let body = TurnInterrupted { usage: turn.usage, cost: cost(session, turn), reason, pending };
    Draft::system(Place::turn(turn.number), body)
}

fn fire(session: &Session, turn: &Turn, firings: Vec<firing::Firing>, rows: &[Row]) -> Decision {
    let crashed = session.load.crashed;
    if crashed <= limits::CRASHED_LOADS_MAX {
        return Decision::then(Then::Fire(firings));
    }
    let detail = format!(
        "the session was loaded {crashed} times without coming to a step; a hook of SessionStart may kill its host"
    );
    Decision::append(fail(session, turn, Ending::Failed, Scope::Turn, "loads", &detail, rows))
}

fn go_on_with(session: &Session, turn: &Turn, step: &Step, advance: &Advance, rows: &[Row]) -> Decision {
    if advance.ready {
        return Decision::then(Then::RunStep);
    }
    let again = match (step.progressed, step.excused) {
        (true, _) => 1,
        (false, true) => step.reruns,
        (false, false) => step.reruns + 1,
    };
    if again > limits::RERUNS_MAX {
        let detail = format!(
            "the step was begun {again} times without adding an entry; what kills its host must not be tried for ever"
        );
        return Decision::append(fail(session, turn, Ending::Failed, Scope::Turn, "reruns", &detail, rows));
    }
    let place = Place::step(turn.number, step.number);
    Decision::append(vec![Draft::system(place, StepRerun { again })])
}

/// Whether the turn waits for something that is not there yet.
fn is_idle(session: &Session, turn: &Turn, advance: &Advance) -> bool {
    match &turn.waiting {
        None => false,
        Some(WaitOn::Answers(_)) => !session.questions.is_empty(),
        Some(WaitOn::Time { until, on_message }) => {
            let has_message = *on_message
                && (!session.pending.messages.is_empty()
                    || advance.rows.iter().any(|row| {
                        matches!(row.command, Command::Message { .. }) && !session.taken.contains(row.n)
                    }));
            !has_message && until.is_none_or(|until| advance.now < until)
        }
    }
}

/// Whether nothing is due, whatever the inbox holds: what ends a host then is nothing that the session does.
pub(crate) fn rests(session: &Session, now: Timestamp) -> bool {
    match session.turn.as_ref().map(|turn| &turn.waiting) {
        // A message opens a turn before anything else is done about it.
        None => true,
        Some(Some(WaitOn::Answers(_))) => !session.questions.is_empty(),
        Some(Some(WaitOn::Time { until: Some(until), on_message: false })) => now < *until,
        Some(_) => false,
    }
}

fn next_step(session: &Session, turn: &Turn, advance: &Advance, rows: &[Row]) -> Decision {
    if is_idle(session, turn, advance) {
        let until = match &turn.waiting {
            Some(WaitOn::Time { until, .. }) => *until,
            _ => None,
        };
        return Decision::then(Then::Idle(until));
    }
    if turn.after == Some(Next::Done) && !(turn.stop.blocked && turn.stop.rounds < limits::STOP_ROUNDS_MAX) {
        return Decision::append(vec![complete(session, turn, rows)]);
    }
    let steps_max = session.pins().agent.max_steps.unwrap_or(u32::MAX).min(limits::TURN_STEPS_MAX);
    if turn.steps >= steps_max {
        let detail = format!(
            "a turn of this session has at most {steps_max} steps: send a message to continue, or create a session \
             with a higher `--max-steps` or `max_steps` of [agent]"
        );
        return Decision::append(fail(session, turn, Ending::Failed, Scope::Turn, "steps", &detail, rows));
    }
    let pins = session.pins();
    let harness = &pins.components[pins.agent.harness as usize];
    let place = Place::step(turn.number, turn.steps + 1);
    let input = StepInput { contexts: hook::contexts(session), ..session.pending.clone() };
    let started = StepStarted {
        input,
        state: session.saved,
        component: harness.digest,
        seed: Digest::of_parts([advance.seed.0.as_slice(), &turn.steps.to_le_bytes()]),
    };
    Decision::append(vec![Draft::system(place, started)])
}

/// What must stand before a turn's end: each open call gets exactly one terminal entry, questions are
/// withdrawn, and the open step is aborted.
pub(crate) fn closings(session: &Session, how: Ending, detail: &str) -> Vec<Draft> {
    let mut entries = Vec::new();
    for (start, call) in &session.calls {
        let fact: Fact = match call.kind {
            CallKind::Tool => ToolLost { start: *start, why: Lost::Interrupted }.into(),
            CallKind::Model => ModelLost::new(*start, Lost::Interrupted).into(),
            CallKind::Http => HttpLost { start: *start, why: Lost::Interrupted, refused: None }.into(),
            CallKind::Hook(hook) => hook::lost(session, *start, hook, "the turn ended while it ran").into(),
        };
        entries.push(Draft::system(call.place, fact));
    }
    let Some(turn) = &session.turn else { return entries };
    for id in &session.questions {
        entries.push(Draft::system(Place::turn(turn.number), QuestionWithdrawn { id: id.clone() }));
    }
    if let Some(step) = &turn.step {
        let body = StepAborted { how, detail: limits::cut(detail, limits::DETAIL_BYTES_MAX) };
        entries.push(Draft::system(Place::step(turn.number, step.number), body));
    }
    entries
}

/// What a turn's models will have cost once it is closed: calls that are lost then count whole.
pub(crate) fn cost(session: &Session, turn: &Turn) -> Usd {
    session.calls.values().map(OpenCall::committed).sum::<Usd>().plus(turn.spent)
}

/// A turn's failure, closings and all.
pub(crate) fn fail(
    session: &Session,
    turn: &Turn,
    how: Ending,
    scope: Scope,
    code: &str,
    detail: &str,
    rows: &[Row],
) -> Vec<Draft> {
    let mut entries = closings(session, how, detail);
    // What fails with its session answers every row.
    let pending = if scope == Scope::Turn { inbox::count(session, rows) } else { 0 };
    let body = TurnFailed {
        scope,
        code: limits::cut(code, limits::CODE_BYTES_MAX),
        detail: limits::cut(detail, limits::DETAIL_BYTES_MAX),
        usage: turn.usage,
        cost: cost(session, turn),
        pending,
    };
    entries.push(Draft::system(Place::turn(turn.number), body));
    entries
}

/// What a completed step's wish makes of its turn.
pub(crate) fn follow(session: &Session, turn: &Turn, next: &Next, rows: &[Row]) -> Vec<Draft> {
    let place = Place::turn(turn.number);
    match next {
        Next::More => vec![],
        // Stop hooks are asked before the turn is complete.
        Next::Done if firing::has(session, HookEvent::Stop) => vec![],
        Next::Done => vec![complete(session, turn, rows)],
        Next::Ask(questions) => {
            let asked = questions.iter().map(|question| {
                Draft::agent(place, QuestionAsked { question: question.clone(), by: Asker::Harness })
            });
            let ids = questions.iter().map(|question| question.id.clone()).collect();
            asked.chain([Draft::system(place, TurnWaiting { on: WaitOn::Answers(ids) })]).collect()
        }
        Next::Wait { until, on_message } => {
            let on = WaitOn::Time { until: *until, on_message: *on_message };
            vec![Draft::system(place, TurnWaiting { on })]
        }
    }
}

/// What no step was told opens the next turn, as what is not accepted does.
fn complete(session: &Session, turn: &Turn, rows: &[Row]) -> Draft {
    let left = u32::try_from(session.pending.messages.len()).unwrap_or(u32::MAX);
    let pending = left.saturating_add(inbox::count(session, rows));
    let body = TurnCompleted { steps: turn.steps, usage: turn.usage, cost: turn.spent, pending };
    Draft::system(Place::turn(turn.number), body)
}

/// The call whose answer a message says: that of the newest answer in its step, if no message said it before.
pub(crate) fn answer_said(step: &Step, parts: &[Part]) -> Option<u64> {
    let Fact::ModelCompleted(body) = &step.entries.get(step.unsaid?)?.fact else { return None };
    let said = || parts.iter().filter_map(plain);
    let answered = || {
        body.answer().unwrap_or_default().iter().filter_map(|content| match content {
            ModelContent::Part(part) => plain(part),
            _ => None,
        })
    };
    let bytes = |text: &str| text.len();
    let is_same = answered().any(|text| !text.is_empty())
        && said().map(bytes).sum::<usize>() == answered().map(bytes).sum::<usize>()
        && said().flat_map(str::bytes).eq(answered().flat_map(str::bytes));
    is_same.then_some(body.start)
}

fn plain(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        _ => None,
    }
}

/// Checks which answer it says, and keeps the agent's last words, if a Stop hook will want them.
pub(crate) fn said(session: &mut Session, body: &AgentMessage) -> Applied {
    if let Some(of) = body.of {
        let entries = session.open_step().map(|(_, step)| step.entries.as_slice()).unwrap_or_default();
        let is_it = |fact: &Fact| matches!(fact, Fact::ModelCompleted(answer) if answer.start == of && answer.answer().is_some());
        if !entries.iter().rev().any(|entry| is_it(&entry.fact)) {
            return Err("it is of an answer that its step does not have");
        }
    }
    if !firing::has(session, HookEvent::Stop) {
        return Ok(());
    }
    let texts = body.parts.iter().filter_map(plain);
    let text = texts.collect::<Vec<_>>().join("\n");
    open_turn(session)?.said = Some(limits::cut_chars(&text, limits::HOOK_TEXT_CHARS_MAX));
    Ok(())
}

pub(crate) fn started(session: &mut Session, entry: &Entry) -> Applied {
    if session.turn.is_some() {
        return Err("another turn is open");
    }
    if session.ended.is_some() {
        return Err("the session has ended");
    }
    if entry.place.turn != session.turns + 1 {
        return Err("turns are numbered without gaps");
    }
    session.turns += 1;
    // What ended the loads before it was not its doing.
    session.load.crashed = 0;
    session.turn = Some(Turn {
        number: entry.place.turn,
        bytes: 0,
        first_seq: entry.seq - session.pending.messages.len() as u64,
        steps: 0,
        after: None,
        step: None,
        aborted: None,
        waiting: None,
        ending: None,
        prompts: Default::default(),
        blocked: None,
        stop: Default::default(),
        said: None,
        usage: Default::default(),
        spent: Default::default(),
        logged: Default::default(),
    });
    Ok(())
}

/// What it waits for stands until a step starts: a hook may refuse the message that would have ended it.
pub(crate) fn steered(session: &mut Session) -> Applied {
    open_turn(session).map(|_| ())
}

pub(crate) fn waiting(session: &mut Session, body: &TurnWaiting) -> Applied {
    open_turn(session)?.waiting = Some(body.on.clone());
    Ok(())
}

pub(crate) fn asked(session: &mut Session, id: &str) -> Applied {
    open_turn(session)?;
    if session.questions.insert(id.to_owned()) { Ok(()) } else { Err("a question of that id is open") }
}

pub(crate) fn withdrawn(session: &mut Session, id: &str) -> Applied {
    if session.questions.remove(id) { Ok(()) } else { Err("the question is not open") }
}

pub(crate) fn completed(session: &mut Session, entry: &Entry) -> Applied {
    close(session, entry)?;
    Ok(())
}

pub(crate) fn failed(session: &mut Session, entry: &Entry) -> Applied {
    let how = session.turn.as_ref().and_then(|turn| turn.aborted).unwrap_or(Ending::Failed);
    broken(session, entry, how)
}

pub(crate) fn broken(session: &mut Session, entry: &Entry, how: Ending) -> Applied {
    let turn = close(session, entry)?;
    session.pending.messages.clear();
    // Nobody was told yet of one before it: the range covers both.
    let before = session.pending.unfinished.as_ref().map_or(turn.first_seq, |before| before.first_seq);
    let first_seq = before.min(turn.first_seq);
    session.pending.unfinished = Some(Unfinished { turn: turn.number, how, first_seq, last_seq: entry.seq });
    Ok(())
}

fn close(session: &mut Session, entry: &Entry) -> Result<Turn, &'static str> {
    let open = session.turn.as_ref().ok_or("no turn is open")?;
    if open.number != entry.place.turn {
        return Err("another turn is open");
    }
    if open.step.is_some() {
        return Err("its step is still open");
    }
    if !session.calls.is_empty() {
        return Err("a call of it is still open");
    }
    if !session.questions.is_empty() {
        return Err("a question of it is still open");
    }
    session.pending.answers.clear();
    session.turn.take().ok_or("no turn is open")
}

pub(crate) fn open_turn(session: &mut Session) -> Result<&mut Turn, &'static str> {
    session.turn.as_mut().ok_or("no turn is open")
}
