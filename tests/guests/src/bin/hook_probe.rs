//! A hook that does what its configuration says: `deny`, `ask` and `allow` name tools, `trap_on`
//! names tools and events, each with commas between; `sleep_ms` comes first; `context` is added, and where
//! it is `heard`, what the hook was told, `common`, what every hook is told, or `can`, what the tool can do. `block`, `end_turn` name tools and events; `input` and `output`
//! replace, `title` names the session.

use std::{thread, time::Duration};

use rewake_sdk::{hook::events::Common, prelude::*};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    deny: String,
    ask: String,
    allow: String,
    trap_on: String,
    sleep_ms: u64,
    context: Option<String>,
    block: String,
    end_turn: String,
    input: Option<String>,
    output: Option<String>,
    title: Option<String>,
}

impl Config {
    /// Sleeps and traps as configured, before the event or tool `name` is decided on.
    fn begin(common: &Common, name: &str) -> Result<Self> {
        let config: Self = common.config()?;
        thread::sleep(Duration::from_millis(config.sleep_ms));
        assert!(!names(&config.trap_on, name), "this hook crashes on `{name}`");
        Ok(config)
    }

    fn add_context(self, verdict: Verdict) -> Verdict {
        match self.context {
            Some(context) => verdict.with_context(context),
            None => verdict,
        }
    }

    /// What is added, replaced and ended on `name`; `heard` is what the hook was told.
    fn finish(self, name: &str, verdict: Verdict, heard: String) -> Verdict {
        let mut verdict = match self.context.as_deref() {
            Some("heard" | "common" | "can") => verdict.with_context(heard),
            Some(context) => verdict.with_context(context),
            None => verdict,
        };
        if names(&self.end_turn, name) {
            verdict.end_turn = Some(format!("the probe ends it at {name}"));
        }
        verdict
    }
}

fn common(common: &Common) -> String {
    let Common { agent, turn_id, source, workspace, .. } = common;
    format!("{agent} {turn_id:?} {source:?} {workspace:?}")
}

fn names(list: &str, name: &str) -> bool {
    list.split(',').any(|entry| entry.trim() == name)
}

#[hook]
fn before_tool(event: PreToolUse) -> Result<Verdict> {
    let tool = event.tool_name.as_str();
    let config = Config::begin(&event.common, tool)?;
    let verdict = if names(&config.deny, tool) {
        Verdict::deny(format!("the probe denies {tool}"))
    } else if names(&config.ask, tool) {
        Verdict::ask(format!("the probe asks about {tool}"))
    } else if names(&config.allow, tool) {
        Verdict::allow()
    } else {
        Verdict::none()
    };
    let mut verdict = verdict;
    verdict.updated_input = config.input.clone().map(JsonText::from_text);
    let heard = match config.context.as_deref() {
        Some("common") => common(&event.common),
        Some("can") => format!("{tool} is {:?} and may use {}", event.effect, event.grants.join(", ")),
        _ => format!("{tool} {}", event.tool_input.as_str()),
    };
    Ok(config.finish(tool, verdict, heard))
}

#[hook]
fn session_start(event: SessionStart) -> Result<Verdict> {
    let config = Config::begin(&event.common, "SessionStart")?;
    let mut verdict = Verdict::context(format!("source={}", event.source));
    verdict.title = config.title;
    Ok(verdict)
}

#[hook]
fn after_tool(event: PostToolUse) -> Result<Verdict> {
    let tool = event.tool_name.as_str();
    let config = Config::begin(&event.common, "PostToolUse")?;
    let mut verdict = Verdict::none();
    if names(&config.block, tool) {
        verdict = Verdict::block(format!("the probe minds what {tool} did"));
    }
    verdict.updated_output = config.output.clone().map(|text| vec![Part::text(text)]);
    let heard = format!("{tool} {} gave {}", event.tool_input.as_str(), event.tool_output.as_str());
    Ok(config.finish(tool, verdict, heard))
}

#[hook]
fn after_failure(event: PostToolUseFailure) -> Result<Verdict> {
    let config = Config::begin(&event.common, "PostToolUseFailure")?;
    let heard = format!("{} {}: {}", event.tool_name, event.outcome, event.error);
    Ok(config.finish(&event.tool_name, Verdict::none(), heard))
}

#[hook]
fn prompt(event: UserPromptSubmit) -> Result<Verdict> {
    let config = Config::begin(&event.common, "UserPromptSubmit")?;
    if names(&config.deny, "UserPromptSubmit") {
        return Ok(Verdict::block("the probe blocks prompts"));
    }
    let mut verdict = Verdict::none();
    verdict.title = config.title.clone();
    Ok(config.finish("UserPromptSubmit", verdict, format!("{} by {}", event.prompt, event.sender.as_str())))
}

#[hook]
fn stop(event: Stop) -> Result<Verdict> {
    let config = Config::begin(&event.common, "Stop")?;
    if names(&config.deny, "Stop") {
        let last = event.last_message.unwrap_or_default();
        return Ok(Verdict::block(format!("more: active={}, last={last}", event.stop_hook_active)));
    }
    if names(&config.block, "Stop") && !event.stop_hook_active {
        return Ok(Verdict::block("the probe wants more"));
    }
    Ok(config.add_context(Verdict::none()))
}

#[hook]
fn session_end(event: SessionEnd) -> Result<Verdict> {
    Config::begin(&event.common, "SessionEnd")?;
    #[expect(clippy::print_stderr, reason = "what a hook prints is journaled, and a test looks for it")]
    {
        eprintln!("ended: {}", event.reason);
    }
    Ok(Verdict::none())
}

rewake_sdk::hooks![before_tool, session_start, after_tool, after_failure, prompt, stop, session_end,];
