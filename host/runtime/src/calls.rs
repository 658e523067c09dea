//! Tool uses: what is wrong with one before anything is done, and running one.

use rewake_bindings::tool;
use rewake_bindings::types::ToolUse;
use rewake_core::canonical;
use rewake_core::entry::Place;
use rewake_core::fact::{Class, Ending, HookEvent, LogLines, Provider, RequestedUse, ToolCompleted, ToolPin};
use rewake_core::ids::{Digest, turn_name};
use rewake_core::limits::{TOOL_INPUT_BYTES_MAX, cut};
use rewake_wire::{Outcome, Part};

use crate::context::{Busy, SessionContext};
use crate::hooks::{self, MatchTarget};
use rewake_policy::grants;
use rewake_sandbox::convert::part_in;
use rewake_sandbox::guest::{self, Broken, CallResult, Used};

/// A use, checked against the pins.
pub(crate) struct Planned {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: String,
    pub(crate) arguments: Digest,
    /// The hooks that must judge it.
    pub(crate) hooks: Vec<u32>,
    /// The hooks that must hear how it ended.
    pub(crate) after: Vec<u32>,
    /// The tool, or why it is refused before any hook is asked.
    pub(crate) target: Result<ToolPin, (Outcome, String)>,
}

/// Checks a use against the pins. The same use always comes to the same plan. `known`: the digest of its arguments,
/// if it was worked out before.
pub(crate) fn plan(cx: &SessionContext, one: ToolUse, known: Option<Digest>) -> Planned {
    let ToolUse { id, name, input } = one;
    let digest = known.map_or_else(|| canonical::digest(&input), Ok);
    let arguments = digest.clone().unwrap_or_else(|_| Digest::of(input.as_bytes()));
    let target = match (cx.tool(&name), digest) {
        (None, _) => {
            let names: Vec<&str> = cx.created.tools.iter().map(|tool| tool.name.as_str()).collect();
            Err((
                Outcome::Error,
                format!("there is no tool {:?}; there are: {}", cut(&name, 100), names.join(", ")),
            ))
        }
        (Some(_), _) if input.len() > TOOL_INPUT_BYTES_MAX => Err((
            Outcome::Error,
            format!("the input has {} bytes; at most {TOOL_INPUT_BYTES_MAX} are taken", input.len()),
        )),
        (Some(_), Err(why)) => Err((Outcome::Error, format!("the input cannot be read as JSON: {why}"))),
        (Some(tool), Ok(_)) if tool.component.is_none() => Err((Outcome::Denied, not_provided(tool))),
        (Some(tool), Ok(_)) => Ok(tool.clone()),
    };
    let matching = |event| match &target {
        Ok(tool) => hooks::matching(cx, event, &MatchTarget::tool(cx, tool)),
        Err(_) => Vec::new(),
    };
    let hooks = matching(HookEvent::PreToolUse);
    let after = [HookEvent::PostToolUse, HookEvent::PostToolUseFailure].map(matching).concat();
    Planned { id, name, input, arguments, hooks, after, target }
}

fn not_provided(tool: &ToolPin) -> String {
    match tool.by {
        Some(Provider::Client) => format!("no client of this session runs the tool {:?}", tool.name),
        Some(Provider::Host) | None => format!("this host does not run the tool {:?}", tool.name),
    }
}

impl Planned {
    /// As the request records it.
    pub(crate) fn requested(&self) -> RequestedUse {
        RequestedUse {
            id: self.id.clone(),
            name: self.name.clone(),
            input: self.input.clone(),
            arguments: self.arguments,
            hooks: self.hooks.clone(),
            after: self.after.clone(),
        }
    }

    /// Digest of the tool's definition; of nothing, where there is no tool.
    pub(crate) fn definition(&self) -> Digest {
        self.target.as_ref().map_or_else(|_| Digest::default(), |tool| tool.definition)
    }

    /// The class in force.
    pub(crate) fn class(&self) -> Class {
        self.target.as_ref().map_or(Class::Once, |tool| tool.effect)
    }

    /// The call to dispatch; none where there is no tool.
    pub(crate) fn call(
        &self,
        place: Place,
        start: u64,
        key: String,
        contexts: Vec<String>,
    ) -> Option<ToolCall> {
        let tool = self.target.as_ref().ok()?.clone();
        let component = tool.component?;
        Some(ToolCall { place, start, key, component, tool, input: self.input.clone(), contexts })
    }
}

/// The completion of a use that is not started.
pub(crate) fn refusal(outcome: Outcome, why: &str) -> ToolCompleted {
    ToolCompleted::new(None, outcome, vec![Part::text(why)])
}

/// A tool call that is started.
pub(crate) struct ToolCall {
    place: Place,
    start: u64,
    key: String,
    component: u32,
    tool: ToolPin,
    input: String,
    contexts: Vec<String>,
}

/// Runs one call; returns how it ended, what was said beside it, and what it took.
pub(crate) async fn perform(
    cx: &SessionContext,
    call: &ToolCall,
    busy: &Busy,
) -> (ToolCompleted, Option<LogLines>, Used) {
    let component = cx.component(call.component);
    let context = tool::Context {
        session: cx.id.to_string(),
        turn: turn_name(call.place.turn),
        idempotency_key: call.key.clone(),
        config: component.config.clone(),
    };
    let sandbox = cx.sandbox(component, Some(busy.clone()));
    let way_out = cx.way_out(component);
    let CallResult { result, ms, logs, files, http, calls, used } =
        guest::call_tool(&cx.components, component, sandbox, way_out, &call.tool.tool, &call.input, &context)
            .await;
    let (outcome, parts) = match result {
        Ok(Ok(parts)) => (Outcome::Ok, parts.into_iter().map(part_in).collect()),
        Ok(Err(tool::Error::InvalidInput(why))) => {
            (Outcome::Error, vec![Part::text(format!("invalid input: {why}"))])
        }
        Ok(Err(tool::Error::Failed(why))) => (Outcome::Error, vec![Part::text(why)]),
        Err(broken) => ended_badly(&broken),
    };
    let (mut parts, cut_bytes) = cut_parts(parts, component.limits.output_bytes_max);
    let denied = match outcome {
        Outcome::Ok => None,
        _ => grants::denied(&cx.created, component, &texts(&parts), cx.approve_again(component)),
    };
    let (words, withheld) = denied.unzip();
    parts.extend(words.map(Part::text));
    let completed = ToolCompleted {
        start: Some(call.start),
        outcome,
        parts,
        contexts: call.contexts.clone(),
        ms,
        cut_bytes,
        withheld: withheld.unwrap_or_default(),
        audit: files,
        http,
        calls,
    };
    (completed, logs.into_fact(&component.full_name()), used)
}

fn texts(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn ended_badly(broken: &Broken) -> (Outcome, Vec<Part>) {
    let outcome = match broken.how {
        Ending::TimedOut => Outcome::TimedOut,
        Ending::Interrupted | Ending::Failed | Ending::Trapped | Ending::RolledBack => Outcome::Error,
    };
    (outcome, vec![Part::text(format!("the tool was ended ({}): {}", broken.code, broken.detail))])
}

/// Cuts an output to its limit; returns how many bytes went. A part that cannot be cut goes whole.
pub(crate) fn cut_parts(parts: Vec<Part>, bytes_max: u64) -> (Vec<Part>, u64) {
    let mut room = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    let mut gone = 0u64;
    for part in parts {
        let size = part.len();
        if size <= room {
            room -= size;
            kept.push(part);
            continue;
        }
        gone += (size - if matches!(part, Part::Text { .. }) { room } else { 0 }) as u64;
        if let Part::Text { text } = part
            && room > 0
        {
            kept.push(Part::text(cut(&text, room)));
        }
        room = 0;
    }
    if gone > 0 && kept.is_empty() {
        kept.push(Part::text(format!("the output was over its limit of {bytes_max} bytes and is left out")));
    }
    (kept, gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_cut_and_marked() {
        let (parts, gone) = cut_parts(vec![Part::text("abcdef")], 4);
        assert_eq!((parts[0].clone(), gone), (Part::text("abcd… (2 bytes cut)"), 2));
        let json = Part::Json { json: "[1,2,3]".into() };
        let (parts, gone) = cut_parts(vec![json.clone(), Part::text("x")], 7);
        assert_eq!((parts, gone), (vec![json.clone()], 1));
        let (parts, gone) = cut_parts(vec![json], 3);
        assert!(gone == 7 && matches!(&parts[0], Part::Text { text } if text.contains("over its limit")));
    }
}
