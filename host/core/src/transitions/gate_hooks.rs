//! The part of the gate that hooks and their questions pass (hooks.md, journal.md R4): who is asked about a
//! use and when, what a verdict may hold, whether a person let something pass. Runs no hook.

use rewake_wire::Outcome;

use super::hook::{binding, qualified};
use super::http;
use super::record::{at, is_open, use_at};
use crate::canonical;
use crate::entry::{Entry, Place};
use crate::error::Refusal;
use crate::fact::{
    Asker, Decision, Fact, HookEvent, HookStarted, HookVerdict, Provider, QuestionAsked, RequestedUse,
    ToolPin, TurnWaiting, WaitOn,
};
use crate::ids::Digest;
use crate::session::{CallKind, Session, Step};

/// The answer that lets a held use pass: JSON text. Every other one refuses it.
pub const ALLOW: &str = "\"allow\"";
/// The answers that a hook's question offers.
pub const CHOICES: [&str; 2] = ["allow", "deny"];

/// What the ids of hooks' questions begin with, and no harness's: an answer meant for the one must never count
/// for the other.
pub(crate) const ASK: &str = "ask-";

/// The id of a hook's question about the call at a place.
pub fn question_id(place: Place) -> String {
    let Place { turn, step, ordinal, index } = place;
    format!("{ASK}{turn}-{step}-{ordinal}-{index}")
}

/// A hook that the session itself asks.
pub(crate) fn fired(session: &Session, place: Place, body: &HookStarted) -> Result<(), Refusal> {
    let is_due = super::firing::due(session)
        .iter()
        .any(|firing| firing.start.is_none() && firing.place == place && firing.started() == *body);
    if is_due { Ok(()) } else { Err(Refusal::Rule("the hook is not due to be asked")) }
}

/// A use is judged by the hooks that its request names, and once by each: nobody asks until it is allowed.
/// Those that may replace the input come first, one after another.
pub(crate) fn asked(session: &Session, step: &Step, place: Place, body: &HookStarted) -> Result<(), Refusal> {
    let is_of_tools = |entry: &Entry| matches!(entry.fact, Fact::ToolsRequested(_));
    if !at(step, place.ordinal).any(is_of_tools) {
        return http::asked(step, place, body);
    }
    let none = Err(Refusal::Rule("the hook is none of those that must judge the use"));
    let requested = use_at(step, place)?;
    let pins = &session.pins().hooks;
    let Some(pin) = pins.get(body.hook as usize).filter(|pin| pin.event == body.event) else { return none };
    let list = match body.event {
        HookEvent::PreToolUse => &requested.hooks,
        HookEvent::PostToolUse | HookEvent::PostToolUseFailure => &requested.after,
        _ => return none,
    };
    if !list.contains(&body.hook) || body.source.is_some() || body.message.is_some() {
        return none;
    }
    let before = |entry: &Entry| {
        entry.place == place && matches!(&entry.fact, Fact::HookStarted(one) if one.hook == body.hook)
    };
    if at(step, place.ordinal).any(before) {
        return Err(Refusal::Rule("the hook was asked about the use before"));
    }
    if body.event != HookEvent::PreToolUse && end_event(step, place) != Some(body.event) {
        return Err(Refusal::Rule("the use has not ended in the way that the hook hears of"));
    }
    let must_come_before = |hook: u32| {
        pins.get(hook as usize).is_some_and(|other| {
            other.event == body.event && other.rewrites && (!pin.rewrites || hook < body.hook)
        })
    };
    if list.iter().any(|hook| must_come_before(*hook) && verdict(step, place, *hook).is_none()) {
        return Err(Refusal::Rule("a hook that may replace what is judged has not answered yet"));
    }
    Ok(())
}

/// The event that hears how the use at a place ended; none: it has not.
fn end_event(step: &Step, place: Place) -> Option<HookEvent> {
    at(step, place.ordinal).filter(|entry| entry.place == place).find_map(|entry| match &entry.fact {
        Fact::ToolCompleted(body) if body.outcome == Outcome::Ok => Some(HookEvent::PostToolUse),
        Fact::ToolCompleted(_) | Fact::ToolLost(_) => Some(HookEvent::PostToolUseFailure),
        _ => None,
    })
}

/// A hook's verdict on the use at a place, and its seq.
fn verdict(step: &Step, place: Place, hook: u32) -> Option<(u64, &HookVerdict)> {
    at(step, place.ordinal).filter(|entry| entry.place == place).find_map(|entry| match &entry.fact {
        Fact::HookVerdict(body) if body.hook == hook => Some((entry.seq, body)),
        _ => None,
    })
}

/// A verdict ends what was asked, and holds only what its event has.
pub(crate) fn judged(session: &Session, place: Place, body: &HookVerdict) -> Result<(), Refusal> {
    match is_open(session, body.start, place)?.kind {
        CallKind::Hook(open) if open.hook == body.hook && open.binding == body.binding => {}
        CallKind::Hook(_) => return Err(Refusal::Rule("a verdict is bound to what was asked")),
        _ => return Err(Refusal::Rule("an end of another kind")),
    }
    let pin = &session.pins().hooks[body.hook as usize];
    let (event, changes) = (pin.event, &body.changes);
    let may_change = (changes.input.is_none() || pin.rewrites && event == HookEvent::PreToolUse)
        && (changes.output.is_none() || pin.rewrites && event == HookEvent::PostToolUse)
        && (changes.title.is_none()
            || matches!(event, HookEvent::SessionStart | HookEvent::UserPromptSubmit))
        && (changes.end_turn.is_none() || event != HookEvent::SessionEnd);
    if event.may_decide(body.decision) && may_change {
        Ok(())
    } else {
        Err(Refusal::Rule("a verdict holds only what its event and its hook may decide"))
    }
}

/// Every hook that must judge a use has let pass exactly what is to be started; returns the digest of the
/// arguments that this is: those asked for, or what the last rewriter made of them.
pub(crate) fn let_pass(
    session: &Session,
    step: &Step,
    place: Place,
    requested: &RequestedUse,
    tool: &ToolPin,
    verdicts: &[u64],
) -> Result<Digest, Refusal> {
    let pins = &session.pins().hooks;
    let rewrites = |hook: &&u32| pins.get(**hook as usize).is_some_and(|pin| pin.rewrites);
    let name = qualified(session.pins(), tool);
    let mut arguments = requested.arguments;
    let rewriters = requested.hooks.iter().filter(rewrites);
    for hook in rewriters.chain(requested.hooks.iter().filter(|hook| !rewrites(hook))) {
        let expected = binding(&session.id, place, &name, tool.definition, arguments);
        let passed = verdict(step, place, *hook).filter(|(seq, verdict)| {
            verdicts.contains(seq) && verdict.binding == expected && passes(step, place, verdict.decision)
        });
        let Some((_, verdict)) = passed else {
            return Err(Refusal::Rule("a hook that must judge the use has not let it pass"));
        };
        if let Some(input) = &verdict.changes.input {
            arguments = canonical::digest(input)
                .map_err(|_| Refusal::Rule("what a hook made of the input has no canonical form"))?;
        }
    }
    if tool.ask && !passes(step, place, Decision::Ask) {
        return Err(Refusal::Rule("a person must allow each use of the tool, and has not allowed this one"));
    }
    Ok(arguments)
}

/// The tool whose use is at a place.
fn tool_at<'s>(session: &'s Session, step: &Step, place: Place) -> Option<&'s ToolPin> {
    let requested = use_at(step, place).ok()?;
    session.pins().tool(&requested.name)
}

/// Whether the client that runs the tool at a place has answered with its outcome.
pub(crate) fn is_answered_by_client(step: &Step, place: Place) -> bool {
    let mut here = at(step, place.ordinal).filter(|entry| entry.place == place);
    let asked = here.by_ref().any(|entry| matches!(entry.fact, Fact::UserAnswer(_)));
    asked && here.any(|entry| matches!(&entry.fact, Fact::QuestionAsked(body) if body.by == Asker::Client))
}

/// Whether a decision lets the call at a place pass; where it asks a person, whether the person did.
pub(crate) fn passes(step: &Step, place: Place, decision: Decision) -> bool {
    match decision {
        Decision::None | Decision::Allow => true,
        Decision::Deny | Decision::Block => false,
        Decision::Ask => at(step, place.ordinal)
            .filter(|entry| entry.place == place)
            .any(|entry| matches!(&entry.fact, Fact::UserAnswer(body) if body.value.trim() == ALLOW)),
    }
}

/// A person is asked about a use or request: once, because a hook or the tool's pin wants it, and no hook denied it.
pub(crate) fn question(
    session: &Session,
    step: &Step,
    place: Place,
    body: &QuestionAsked,
) -> Result<(), Refusal> {
    let here = || at(step, place.ordinal).filter(|entry| entry.place == place);
    let decided = |wanted: Decision| {
        here().any(|entry| matches!(&entry.fact, Fact::HookVerdict(one) if one.decision == wanted))
    };
    let is_wanted = match body.by {
        Asker::Hook(hook) => verdict(step, place, hook).is_some_and(|(_, one)| one.decision == Decision::Ask),
        Asker::Policy => tool_at(session, step, place).is_some_and(|tool| tool.ask),
        Asker::Client => tool_at(session, step, place).is_some_and(|tool| tool.by == Some(Provider::Client)),
        Asker::Harness => false,
    };
    let before = here().any(|entry| {
        matches!(
            entry.fact,
            Fact::QuestionAsked(_)
                | Fact::ToolStarted(_)
                | Fact::ToolCompleted(_)
                | Fact::HttpStarted(_)
                | Fact::HttpCompleted(_)
        )
    });
    if is_wanted && !before && !decided(Decision::Deny) {
        let is_its_own = body.question.id == question_id(place);
        if is_its_own {
            Ok(())
        } else {
            Err(Refusal::Rule("a question about a use is named after its place"))
        }
    } else {
        Err(Refusal::Rule("nothing wants a person to be asked about that"))
    }
}

/// The turn waits for what its open step asked.
pub(crate) fn waits(session: &Session, place: Place, body: &TurnWaiting) -> Result<(), Refusal> {
    let open: Vec<&String> = session.questions.iter().collect();
    let is_held = session.open_step().is_some_and(|(turn, _)| place == Place::turn(turn));
    match &body.on {
        WaitOn::Answers(ids) if is_held && !ids.is_empty() && ids.iter().collect::<Vec<_>>() == open => {
            Ok(())
        }
        _ => Err(Refusal::Rule("a turn waits inside of a step only for questions about its calls")),
    }
}
