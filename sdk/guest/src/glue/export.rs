//! The component's functions, as the host calls them, and the macros that export them.

use std::cell::RefCell;

use super::{
    session,
    shapes::{parts_in, parts_out, sender_in, tool_def_out},
};
use crate::{
    bindings::{
        harness_plugin::{
            exports::rewake::plugin::{harness as wharness, state as ws},
            rewake::plugin::types as wt,
        },
        hook_plugin::exports::rewake::plugin::hook as whook,
        tool_plugin::exports::rewake::plugin::tool as wtool,
    },
    harness::{self, Harness, Next, Scope},
    hook::{Decision, Firing, HookEntry},
    json::JsonText,
    tool::{self, ToolContext, ToolEntry, ToolError},
};

/// `tool.list-tools`.
pub fn list_tools(tools: &[ToolEntry]) -> Vec<wt::ToolDef> {
    tool::list(tools).into_iter().map(tool_def_out).collect()
}

/// `tool.call`.
///
/// # Errors
/// As the tool says.
pub fn call_tool(
    tools: &[ToolEntry],
    name: &str,
    input: String,
    context: wtool::Context,
) -> Result<Vec<wt::Part>, wtool::Error> {
    let cx = ToolContext {
        session: context.session,
        turn: context.turn,
        idempotency_key: context.idempotency_key,
        config: JsonText::from_text(context.config),
    };
    tool::call(tools, name, &JsonText::from_text(input), &cx).map(parts_out).map_err(|error| match error {
        ToolError::InvalidInput(what) => wtool::Error::InvalidInput(what),
        ToolError::Failed(why) => wtool::Error::Failed(why),
    })
}

/// `hook.handle`.
///
/// # Errors
/// As the hook says.
pub fn handle_hook(hooks: &[HookEntry], event: whook::Event) -> Result<whook::Verdict, String> {
    let firing = Firing {
        name: event.name,
        idempotency_key: event.idempotency_key,
        session: event.session,
        turn: event.turn,
        input: JsonText::from_text(event.input),
        config: JsonText::from_text(event.config),
    };
    let verdict = crate::hook::handle(hooks, &firing).map_err(|error| error.to_string())?;
    Ok(whook::Verdict {
        decision: match verdict.decision {
            Decision::None => whook::Decision::None,
            Decision::Allow => whook::Decision::Allow,
            Decision::Deny => whook::Decision::Deny,
            Decision::Ask => whook::Decision::Ask,
            Decision::Block => whook::Decision::Block,
        },
        reason: verdict.reason,
        context: verdict.context,
        updated_input: verdict.updated_input.map(JsonText::into_text),
        updated_output: verdict.updated_output.map(parts_out),
        title: verdict.title,
        end_turn: verdict.end_turn,
    })
}

/// What the host gives a step.
fn input_in(input: wharness::Input) -> harness::Input {
    let message_in = |message: wharness::Message| harness::Message {
        id: message.id,
        sender: sender_in(message.sender),
        at: message.at,
        parts: parts_in(message.parts),
        origin: message.origin.map(JsonText::from_text),
    };
    let answer_in = |answer: wharness::Answer| harness::Answer {
        question: answer.question,
        sender: sender_in(answer.sender),
        value: JsonText::from_text(answer.value),
    };
    let unfinished_in = |unfinished: wharness::Unfinished| harness::Unfinished {
        turn: unfinished.turn,
        how: match unfinished.how {
            wharness::Ending::Interrupted => harness::Ending::Interrupted,
            wharness::Ending::Failed => harness::Ending::Failed,
            wharness::Ending::Trapped => harness::Ending::Trapped,
            wharness::Ending::TimedOut => harness::Ending::TimedOut,
            wharness::Ending::RolledBack => harness::Ending::RolledBack,
        },
        first_seq: unfinished.first_seq,
        last_seq: unfinished.last_seq,
    };
    harness::Input {
        step: input.step,
        messages: input.messages.into_iter().map(message_in).collect(),
        answers: input.answers.into_iter().map(answer_in).collect(),
        context: input.context,
        unfinished: input.unfinished.map(unfinished_in),
    }
}

/// How the step ends, for the host.
fn next_out(next: Next) -> wharness::Next {
    let question_out = |question: harness::Question| wharness::Question {
        id: question.id,
        text: question.text,
        choices: question.choices,
        answer_schema: question.answer_schema.map(JsonText::into_text),
    };
    match next {
        Next::More => wharness::Next::More,
        Next::Done => wharness::Next::Done,
        Next::Ask(questions) => wharness::Next::Ask(questions.into_iter().map(question_out).collect()),
        Next::Wait { until, on_message } => wharness::Next::Wait(wharness::Pause { until, on_message }),
    }
}

/// Where a component keeps its harness while it is loaded, stepped and saved.
pub type Slot<H> = RefCell<Option<H>>;

/// `harness.step`: a harness that was not loaded begins as its default.
///
/// # Errors
/// As the harness says.
pub fn step_harness<H: Harness>(
    slot: &Slot<H>,
    input: wharness::Input,
) -> Result<wharness::Next, wharness::Failure> {
    let mut slot = slot.borrow_mut();
    let harness = slot.get_or_insert_default();
    harness.step(input_in(input), &session()).map(next_out).map_err(|failure| wharness::Failure {
        scope: match failure.scope {
            Scope::Turn => wharness::Scope::Turn,
            Scope::Session => wharness::Scope::Session,
        },
        code: failure.code,
        detail: failure.detail,
    })
}

/// `state.save`.
pub fn save_harness<H: Harness>(slot: &Slot<H>) -> ws::Saved {
    let mut slot = slot.borrow_mut();
    let saved = harness::save(slot.get_or_insert_default());
    ws::Saved { version: saved.version, data: saved.data }
}

/// `state.load`.
///
/// # Errors
/// The state is of no version that the harness reads.
pub fn load_harness<H: Harness>(slot: &Slot<H>, saved: ws::Saved) -> Result<(), String> {
    let saved = harness::Saved { version: saved.version, data: saved.data };
    *slot.borrow_mut() = Some(harness::load(&saved)?);
    Ok(())
}

/// Exports a component of tools.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_tools {
    ($tools:expr) => {
        struct Component;

        const _: () = {
            use $crate::__private::{
                bindings::tool_plugin::{
                    exports::rewake::plugin::tool::{Context, Error, Guest},
                },
                bindings::harness_plugin::rewake::plugin::types::{Part, ToolDef},
                glue,
            };

            impl Guest for Component {
                fn list_tools() -> Vec<ToolDef> {
                    glue::list_tools($tools)
                }

                fn call(
                    name: String,
                    input: String,
                    context: Context,
                ) -> Result<Vec<Part>, Error> {
                    glue::call_tool($tools, &name, input, context)
                }
            }
        };

        $crate::__private::bindings::tool_plugin::export_tool!(
            Component with_types_in $crate::__private::bindings::tool_plugin
        );
    };
}

/// Exports a component of hooks.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_hooks {
    ($hooks:expr) => {
        struct Component;

        const _: () = {
            use $crate::__private::{
                bindings::hook_plugin::exports::rewake::plugin::hook::{Event, Guest, Verdict},
                glue,
            };

            impl Guest for Component {
                fn handle(event: Event) -> Result<Verdict, String> {
                    glue::handle_hook($hooks, event)
                }
            }
        };

        $crate::__private::bindings::hook_plugin::export_hook!(
            Component with_types_in $crate::__private::bindings::hook_plugin
        );
    };
}

/// Exports a harness with state.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_harness {
    ($harness:ty) => {
        struct Component;

        thread_local! {
            static HARNESS: $crate::__private::glue::Slot<$harness> =
                const { ::core::cell::RefCell::new(None) };
        }

        const _: () = {
            use $crate::__private::{
                bindings::harness_plugin::exports::rewake::plugin::{harness, state},
                glue,
            };

            impl harness::Guest for Component {
                fn step(input: harness::Input) -> Result<harness::Next, harness::Failure> {
                    HARNESS.with(|slot| glue::step_harness(slot, input))
                }
            }

            impl state::Guest for Component {
                fn save() -> state::Saved {
                    HARNESS.with(|slot| glue::save_harness(slot))
                }

                fn load(saved: state::Saved) -> Result<(), String> {
                    HARNESS.with(|slot| glue::load_harness(slot, saved))
                }
            }
        };

        $crate::__private::bindings::harness_plugin::export_harness!(
            Component with_types_in $crate::__private::bindings::harness_plugin
        );
    };
}
