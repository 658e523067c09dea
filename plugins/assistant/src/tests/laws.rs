//! The law of the context: made from nothing it is what it became step by step, whatever happened.
//!
//! Journals are made up by seeds as the host would write them: turns that end well, fail or are
//! interrupted anywhere, calls that are refused, lost or cut off, questions, hooks, steps that a
//! crash made run again, and conversations that were shortened.

use rewake_sdk::{prelude::*, session::JournalEvent};
use serde_json::{Value, json};

use super::{check_request, from_nothing};
use crate::{
    Config,
    ask::NAME as ASK,
    compact::{self, Due},
    context::{Context, KINDS},
};

/// Numbers of a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A journal that is made up.
struct Play {
    chance: Chance,
    journal: Vec<JournalEvent>,
    turn: u32,
    ids: u32,
    /// Contexts that a cut-off step was told; the next one is told them again.
    again: Vec<String>,
    /// The fold up to the newest step's start.
    saved: Context,
    shortened: u32,
}

/// The turn was ended in the midst of a step.
struct Ended;

impl Play {
    fn new(seed: u64) -> Self {
        let chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        Self {
            chance,
            journal: Vec::new(),
            turn: 0,
            ids: 0,
            again: Vec::new(),
            saved: Context::default(),
            shortened: 0,
        }
    }

    fn write(&mut self, kind: &str, data: Value) -> u32 {
        let seq = self.journal.len() as u32 + 1;
        self.journal.push(JournalEvent {
            seq,
            kind: kind.to_owned(),
            turn: Some(format!("turn_{}", self.turn)),
            at: String::new(),
            data: JsonText::from(super::whole(kind, data)),
        });
        seq
    }

    fn session(&mut self) {
        for _ in 0..self.chance.below(6) + 2 {
            if self.chance.one_in(5) {
                self.write("workspace.imported", json!({ "files": 2 }));
            }
            self.turn += 1;
            match self.turn_of_steps() {
                Ok(()) => self.write("turn.completed", json!({ "steps": 1, "usage": {} })),
                Err(Ended) if self.chance.one_in(2) => self.write("turn.interrupted", json!({ "usage": {} })),
                Err(Ended) => self.write(
                    "turn.failed",
                    json!({ "scope": "turn", "code": "trapped", "detail": "why", "usage": {} }),
                ),
            };
        }
    }

    fn turn_of_steps(&mut self) -> Result<(), Ended> {
        let mut input = json!({ "messages": self.messages(1), "contexts": self.contexts() });
        for step in 1..=self.chance.below(6) + 1 {
            self.write("step.started", json!({ "input": input }));
            self.check();
            input = json!({});
            if self.step(step as u32, &mut input).is_err() {
                self.again = self.again_after_abort();
                self.write("step.aborted", json!({ "how": "interrupted" }));
                return Err(Ended);
            }
            self.write("step.completed", json!({}));
            if self.chance.one_in(4) {
                input["messages"] = self.messages(0);
            }
            if self.chance.one_in(4) {
                input["contexts"] = self.contexts().into();
            }
        }
        Ok(())
    }

    /// The contexts of the newest step.
    fn again_after_abort(&self) -> Vec<String> {
        let newest = self.journal.iter().rev().find(|event| event.kind == "step.started");
        let data: Value = newest.and_then(|event| event.data.parse().ok()).unwrap_or_default();
        serde_json::from_value(data["input"]["contexts"].clone()).unwrap_or_default()
    }

    fn messages(&mut self, least: u64) -> Value {
        let messages = (0..self.chance.below(2) + least).map(|_| {
            let text = "m".repeat(self.chance.below(400) as usize + 1);
            json!({ "sender": { "type": "operator", "id": "ada" }, "parts": [{ "type": "text", "text": text }] })
        });
        Value::Array(messages.collect())
    }

    fn contexts(&mut self) -> Vec<String> {
        let mut contexts = std::mem::take(&mut self.again);
        contexts.extend((0..self.chance.below(2)).map(|n| format!("context {n}")));
        contexts
    }

    /// One step; what it asked people for is answered in the next one's input.
    fn step(&mut self, step: u32, input: &mut Value) -> Result<(), Ended> {
        self.may_crash();
        if self.chance.one_in(3) && self.shorten()? {
            return Ok(());
        }
        self.write("model.started", json!({ "request": "x" }));
        self.may_end()?;
        let outcome = self.outcome();
        self.write("model.completed", json!({ "outcome": outcome.clone() }));
        self.may_crash();
        self.may_end()?;
        let Some(content) = outcome["completion"]["content"].as_array() else {
            return if outcome.get("too_large").is_some() { Ok(()) } else { Err(Ended) };
        };
        let uses: Vec<&Value> =
            content.iter().filter_map(|one| one.get("tool_use")).filter(|one| one["name"] != ASK).collect();
        if !uses.is_empty() {
            self.call(&uses)?;
        }
        let all = content.iter().filter_map(|one| one.get("tool_use"));
        let answers = all.enumerate().filter(|(_, one)| one["name"] == ASK).map(|(at, _)| {
            json!({ "question": format!("turn_{}-{step}-{at}", self.turn),
                    "sender": { "type": "operator", "id": "ada" }, "value": "\"yes\"" })
        });
        let answers: Vec<Value> = answers.collect();
        if !answers.is_empty() {
            self.may_end()?;
            input["answers"] = Value::Array(answers);
        }
        Ok(())
    }

    fn outcome(&mut self) -> Value {
        match self.chance.below(12) {
            0 => return json!({ "too_large": "why" }),
            1 => return json!({ "unavailable": "why" }),
            _ => {}
        }
        let mut content = Vec::new();
        if self.chance.one_in(3) {
            content.push(json!({ "thinking": "{}" }));
        }
        if !self.chance.one_in(4) {
            let text = "t".repeat(self.chance.below(600) as usize);
            content.push(json!({ "part": { "type": "text", "text": text } }));
        }
        for _ in 0..self.chance.below(4) {
            self.ids += 1;
            let (name, input) =
                if self.chance.one_in(5) { (ASK, r#"{"question":"May I?"}"#) } else { ("tool", "{}") };
            // Models name their uses as they like, also twice the same in a session.
            let id = if self.chance.one_in(9) { "same".to_owned() } else { format!("u{}", self.ids) };
            content.push(json!({ "tool_use": { "id": id, "name": name, "input": input } }));
        }
        let finish = if self.chance.one_in(5) { "max_tokens" } else { "end" };
        let usage = json!({ "input_tokens": 100, "output_tokens": self.chance.below(50) });
        json!({ "completion": { "content": content, "finish": finish, "usage": usage } })
    }

    fn call(&mut self, uses: &[&Value]) -> Result<(), Ended> {
        let requested: Vec<Value> = uses.iter().map(|one| json!({ "id": one["id"] })).collect();
        self.write("tools.requested", json!({ "uses": requested }));
        self.may_end()?;
        let mut open = Vec::new();
        for index in 0..uses.len() {
            if self.chance.one_in(4) {
                let start = self.write("hook.started", json!({ "index": index, "event": "PreToolUse" }));
                let verdict =
                    json!({ "index": index, "start": start, "hook": 0, "decision": "none", "context": "c" });
                self.write("hook.verdict", verdict);
            }
            if self.chance.one_in(4) {
                let parts = json!([{ "type": "text", "text": "no" }]);
                self.write("tool.completed", json!({ "index": index, "outcome": "denied", "parts": parts }));
            } else {
                self.write("tool.started", json!({ "index": index, "class": "once" }));
                open.push(index);
            }
        }
        while !open.is_empty() {
            self.may_crash();
            if self.chance.one_in(12) {
                for index in open {
                    self.write("tool.lost", json!({ "index": index, "why": "interrupted" }));
                }
                return Err(Ended);
            }
            let at = self.chance.below(open.len() as u64) as usize;
            let index = open.swap_remove(at);
            if self.chance.one_in(5) {
                self.write("tool.lost", json!({ "index": index, "why": "host" }));
            } else {
                let text = "r".repeat(self.chance.below(3_000) as usize);
                let parts = json!([{ "type": "text", "text": text }]);
                self.write("tool.completed", json!({ "index": index, "outcome": "ok", "parts": parts }));
            }
        }
        Ok(())
    }

    /// The conversation is shortened as the harness would have it.
    fn shorten(&mut self) -> Result<bool, Ended> {
        let context_tokens = Some(1 + self.chance.below(2_000));
        let config = Config { context_tokens, ..Config::default() };
        let Due::Shorten(mut plan) = compact::due(&self.saved, &config) else { return Ok(false) };
        self.write(compact::COMPACTING, json!([plan.from_seq, plan.to_seq]));
        self.write("model.started", json!({ "request": "x" }));
        self.may_end()?;
        let content = json!([{ "part": { "type": "text", "text": "a summary" } }]);
        let completion = json!({ "content": content, "finish": "end", "usage": {} });
        self.write("model.completed", json!({ "outcome": { "completion": completion } }));
        self.may_end()?;
        plan.summary = Some("a summary".to_owned());
        self.write(compact::COMPACTED, serde_json::to_value(&plan).expect("JSON"));
        self.may_end()?;
        self.shortened += 1;
        Ok(true)
    }

    fn may_end(&mut self) -> Result<(), Ended> {
        if self.chance.one_in(15) { Err(Ended) } else { Ok(()) }
    }

    /// A host died and another goes on: what it writes of that says nothing of the conversation.
    fn may_crash(&mut self) {
        if self.chance.one_in(8) {
            self.write("session.loaded", json!({}));
            self.write("step.rerun", json!({ "again": 1 }));
        }
    }

    /// At a step's start: what was saved at the one before, with what came since, is what all makes.
    fn check(&mut self) {
        let state = serde_json::to_string(&self.saved).expect("JSON");
        let mut context: Context = serde_json::from_str(&state).expect("a state");
        let before = context.through;
        let since = self.journal.iter().filter(|event| event.seq > before);
        for event in since.filter(|event| KINDS.contains(&event.kind.as_str())) {
            context.apply(event, Config::default().pinned(true)).expect("an entry");
        }
        let all = from_nothing(&self.journal, u32::MAX);
        assert_eq!(context, all);
        assert_eq!(context.through, self.journal.len() as u32);
        check_request(&context.messages());
        self.saved = context;
    }
}

#[test]
fn made_from_nothing_it_is_what_it_became_step_by_step() {
    let mut shortened = 0;
    for seed in 0..600 {
        let mut play = Play::new(seed);
        play.session();
        shortened += play.shortened;
    }
    assert!(shortened > 50, "the seeds shorten {shortened} times only");
}

#[test]
fn a_harness_without_its_state_asks_the_model_the_same() {
    use rewake_sdk::testing::{self, Fake};

    let turns = |keep: bool| {
        let mut host = Fake::new().tool("a", "done");
        for n in 0..4 {
            host = host.reply_use("a", json!({ "n": n })).reply("ok");
        }
        let mut assistant = crate::Assistant::default();
        for n in 0..4 {
            if !keep {
                assistant = crate::Assistant::default();
            }
            host.turn(&mut assistant, testing::input(format!("turn {n}"))).expect("a turn");
        }
        host.requests()
    };
    assert_eq!(turns(true), turns(false));
}

/// The host keeps 16 MiB of state, and a byte of a text can take six of JSON.
#[test]
fn a_conversation_that_is_too_large_to_keep_is_made_from_the_journal() {
    use rewake_sdk::{
        harness,
        model::{Content, Finish},
        testing::{self, Fake},
    };

    let uses = (0..12).map(|n| Content::ToolUse(ToolUse::new(format!("u{n}"), "read", json!({}))));
    let mut host =
        Fake::new().completion(Finish::ToolUse, uses.collect()).tool("read", &"\0".repeat(256 << 10));
    host = host.reply("I have read all.").reply("I still know.");
    let mut assistant = crate::Assistant::default();
    for text in ["read", "go on"] {
        host.turn(&mut assistant, testing::input(text)).expect("a turn");
        let bytes = harness::save(&assistant).data.len();
        assert!(bytes < 16 << 20, "{bytes} bytes of state after {text:?}");
    }
    let requests = host.requests();
    let (before, after) = (&requests[1].messages, &requests[2].messages);
    assert_eq!(after[..before.len()], before[..]);
}

#[test]
fn a_step_reads_only_what_came_since() {
    use rewake_sdk::testing::{self, Fake};

    let mut host = Fake::new().tool("a", "done");
    for _ in 0..20 {
        host = host.reply_use("a", json!({}));
    }
    let host = host.reply("ok");
    let mut assistant = crate::Assistant::default();
    host.turn(&mut assistant, testing::input("go")).expect("a turn");
    let newest =
        host.journal().iter().rev().find(|event| event.kind == "step.started").map(|event| event.seq);
    assert_eq!(Some(assistant.context.through), newest);
}

/// The folds of journals that are made up by these seeds.
pub(super) fn contexts(seeds: std::ops::Range<u64>) -> Vec<Context> {
    let fold = |seed| {
        let mut play = Play::new(seed);
        play.session();
        from_nothing(&play.journal, u32::MAX)
    };
    seeds.map(fold).collect()
}
