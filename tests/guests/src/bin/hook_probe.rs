//! A hook that does what its configuration says: `deny`, `ask` and `allow` name tools, `trap_on`
//! names tools and events, each with commas between; `sleep_ms` comes first; `context` is added.

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
    Ok(config.add_context(verdict))
}

#[hook]
fn session_start(event: SessionStart) -> Result<Verdict> {
    Config::begin(&event.common, "SessionStart")?;
    Ok(Verdict::context(format!("source={}", event.source)))
}

#[hook]
fn after_tool(event: PostToolUse) -> Result<Verdict> {
    let config = Config::begin(&event.common, "PostToolUse")?;
    Ok(config.add_context(Verdict::none()))
}

#[hook]
fn prompt(event: UserPromptSubmit) -> Result<Verdict> {
    let config = Config::begin(&event.common, "UserPromptSubmit")?;
    if names(&config.deny, "UserPromptSubmit") {
        return Ok(Verdict::block("the probe blocks prompts"));
    }
    Ok(config.add_context(Verdict::none()))
}

#[hook]
fn stop(event: Stop) -> Result<Verdict> {
    let config = Config::begin(&event.common, "Stop")?;
    if names(&config.deny, "Stop") {
        return Ok(Verdict::block("the probe wants more"));
    }
    Ok(config.add_context(Verdict::none()))
}

rewake_sdk::hooks![before_tool, session_start, after_tool, prompt, stop];
