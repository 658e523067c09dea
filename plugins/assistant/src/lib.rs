//! A harness: each step is one model call and the tool calls that it asks for.
//!
//! Knows what a step does with the conversation, and how a turn ends. The conversation itself is a
//! fold of the journal (`context`); nothing that a step did is kept anywhere else. Does not know
//! the model, the tools, or how steps are made durable: a host that dies runs the step again.

mod ask;
mod compact;
mod context;
mod project;
mod read;
mod words;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use rewake_sdk::{
    model::{Finish, ModelError},
    prelude::*,
    workspace::WORKSPACE,
};
use serde::{Deserialize, Serialize};

use compact::Due;
use context::{Context, Pinned};
use project::{Project, Stamp};

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 64;
/// Tool uses that the host takes at once.
const USES_MAX: usize = 64;
/// Answers in a row that may be cut at their limit and go on.
const CUT_MAX: u32 = 3;
/// Answers in a row that may hold nothing.
const EMPTY_MAX: u32 = 2;

/// Bytes of a conversation that is kept as state, as its messages count them. A larger one is made from the journal
/// at each step, until it is shortened: written as JSON it could be more than the host keeps.
const KEPT_BYTES_MAX: usize = 2 << 20;

/// The agent. Its state is a cache: all of it can be made again from the journal.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Assistant {
    context: Context,
    stamp: Option<Stamp>,
}

/// The bundle's configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Config {
    /// Messages that come in the midst of a turn are heard in it.
    steer: bool,
    /// Tokens that the model has room for; the host's own figure counts too, and the smaller one.
    context_tokens: Option<u64>,
    /// The model is informed after this number of identical failing calls in a turn; 0: never.
    repeats_warn: u32,
    /// The turn ends after this number of them; 0: never.
    repeats_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { steer: true, context_tokens: None, repeats_warn: 3, repeats_max: 6 }
    }
}

impl Config {
    fn pinned(&self, asks: bool) -> Pinned {
        Pinned { asks, repeats_warn: self.repeats_warn, repeats_max: self.repeats_max }
    }

    fn more(&self) -> Next {
        if self.steer { Next::more_with_messages() } else { Next::More }
    }
}

impl Harness for Assistant {
    const STATE_VERSION: u32 = 3;

    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
        let next = self.step_of(&input, cx);
        if self.context.bytes() > KEPT_BYTES_MAX {
            self.context = Context::default();
        }
        next
    }

    /// Earlier states were the conversation itself. The journal has it.
    fn migrate(_from: u32, _data: &[u8]) -> Result<Self, String> {
        Ok(Self::default())
    }
}

rewake_sdk::harness!(Assistant);

impl Assistant {
    fn step_of(&mut self, input: &Input, cx: &Session) -> Result<Next, Failure> {
        let config: Config = cx.config()?;
        let tools = cx.tools();
        let asks = tools.iter().all(|tool| tool.name != ask::NAME);
        read::catch_up(&mut self.context, cx, input.step, config.pinned(asks))?;
        if let Some(repeated) = self.context.repeats.reached(config.repeats_max) {
            return Err(Failure::turn("loop", words::of_loop(repeated)));
        }
        if !self.context.named {
            name_session(input, cx);
        }
        let project = self.project(cx, input.step)?;
        match compact::due(&self.context, &config) {
            Due::Nothing => {}
            Due::Shorten(plan) => {
                compact::run(&self.context, plan, &config, cx)?;
                return Ok(config.more());
            }
            Due::TooLarge => {
                cx.say(format!("I cannot go on: {}.", words::NO_ROOM));
                return Err(Failure::turn("context_too_large", words::NO_ROOM));
            }
        }
        self.ask_model(cx, &config, project.as_ref(), tools, asks)
    }

    /// The project's instructions, looked at where a turn begins.
    fn project(&mut self, cx: &Session, step: u32) -> Result<Option<Project>, Failure> {
        let known = &self.context.project;
        if step > 1 {
            return Ok(known.clone());
        }
        match project::look(&workspace(), &mut self.stamp) {
            None => Ok(known.clone()),
            Some(now) => {
                if now != *known {
                    project::journal(cx, now.as_ref())?;
                }
                Ok(now)
            }
        }
    }

    fn ask_model(
        &self,
        cx: &Session,
        config: &Config,
        project: Option<&Project>,
        mut tools: Vec<ToolDef>,
        asks: bool,
    ) -> Result<Next, Failure> {
        cx.set_activity("thinking");
        if asks {
            tools.push(ask::definition());
        }
        let request = Request {
            system: Some(project::system(&cx.info().instructions, project)),
            messages: self.context.messages(),
            tools,
            ..Request::default()
        };
        let completion = match cx.model(request) {
            Ok(completion) => completion,
            // The next step reads that in the journal, and shortens the conversation.
            Err(ModelError::TooLarge(_)) => return Ok(config.more()),
            Err(error) => return Err(not_asked(error, &self.context, cx)),
        };
        let text = completion.text();
        if !text.trim().is_empty() {
            cx.say(text.trim());
        }
        let uses = completion.tool_uses();
        if uses.is_empty() {
            return Ok(self.without_uses(cx, config, &completion));
        }

        cx.set_activity(&words::of_uses(&uses));
        let is_call = |one: &&ToolUse| !(asks && one.name == ask::NAME);
        let calls: Vec<ToolUse> = uses.iter().filter(is_call).cloned().collect();
        for calls in calls.chunks(USES_MAX) {
            // What came of them is read from the journal, by this harness or the one after a crash.
            let _ = cx.call_tools(calls);
        }
        let questions = if asks { ask::questions(&uses, self.context.place()) } else { Vec::new() };
        Ok(if questions.is_empty() { config.more() } else { Next::Ask(questions) })
    }

    /// The model wants no tool: it is done, or it was stopped before it was.
    fn without_uses(&self, cx: &Session, config: &Config, completion: &Completion) -> Next {
        let last = &self.context.last;
        let note = match completion.finish {
            Finish::MaxTokens if last.cut < CUT_MAX => return config.more(),
            Finish::MaxTokens => "[the model's answer was cut at its limit again and again]",
            Finish::Refused => "[the model would not answer]",
            _ if !completion.text().trim().is_empty() => return Next::Done,
            _ if last.empty + 1 < EMPTY_MAX => return config.more(),
            _ => "[the model gave no answer]",
        };
        cx.say(note);
        Next::Done
    }
}

/// The turn ends because the model does not answer. Where the spend cap is why, people are told what was done.
fn not_asked(error: ModelError, context: &Context, cx: &Session) -> Failure {
    if let ModelError::Budget(why) = &error {
        cx.say(words::of_budget(why, context.answers, &context.did));
    }
    error.into()
}

/// Where the workspace is.
fn workspace() -> PathBuf {
    #[cfg(test)]
    if let Some(root) = tests::workspace() {
        return root;
    }
    PathBuf::from(WORKSPACE)
}

/// Names the session after its first message.
fn name_session(input: &Input, cx: &Session) {
    let text = input.text();
    if let Some(line) = text.lines().map(str::trim).find(|line| !line.is_empty()) {
        cx.set_title(&line.chars().take(TITLE_CHARS_MAX).collect::<String>());
    }
}
