//! The harness of the benchmarks: a message says how many steps it takes, and what each of them does.
//!
//! Does as little of its own as it can: what is measured is the host.

use std::hint::black_box;

use rewake_sdk::prelude::*;
use rewake_test_guests::time::now_ms;
use serde::{Deserialize, Serialize};

/// What a message asks for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Plan {
    /// Steps of the turn; one, if none.
    steps: u32,
    /// Calls of the tool, one after another.
    calls: u32,
    /// The tool.
    tool: String,
    /// Its input, a JSON object.
    input: String,
    /// Readings of the wall clock.
    clocks: u32,
    /// Whether the model is asked.
    asks: bool,
    /// Bytes that the saved state has besides this plan.
    state: usize,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Bench {
    plan: Plan,
    left: u32,
    filling: String,
}

impl Harness for Bench {
    const STATE_VERSION: u32 = 1;

    fn step(&mut self, input: Input, cx: &Session) -> Result<Next, Failure> {
        if input.step == 1
            && let Some(message) = input.messages.first()
        {
            self.plan = serde_json::from_str(&message.text())
                .map_err(|error| Failure::turn("bad_plan", error.to_string()))?;
            self.left = self.plan.steps.max(1);
        }
        for _ in 0..self.plan.clocks {
            black_box(now_ms());
        }
        for n in 0..self.plan.calls {
            let input = JsonText::from_text(self.plan.input.clone());
            let results = cx.call_tools(&[ToolUse::new(format!("use-{n}"), self.plan.tool.clone(), input)]);
            if results.first().is_none_or(|result| result.outcome.to_string() != "ok") {
                return Err(Failure::turn("bad_result", format!("{results:?}")));
            }
        }
        if self.plan.asks {
            cx.model(Request { messages: vec![Message::user("?")], ..Request::default() })?;
        }
        self.left = self.left.saturating_sub(1);
        // Another one each time: what is saved again unchanged costs nothing.
        self.filling = format!("{:0width$}", self.left, width = self.plan.state);
        Ok(if self.left == 0 { Next::Done } else { Next::More })
    }
}

rewake_sdk::harness!(Bench);
