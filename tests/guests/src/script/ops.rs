//! How each operation is done, and what it teaches.

use std::{
    collections::HashMap,
    fs,
    hint::black_box,
    io::{Read as _, Write as _},
    thread,
    time::{Duration, Instant},
};

use rewake_sdk::{part::text_of, prelude::*, session::Child};

use super::{Op, Script, Use};
use crate::{
    fetching, fileops,
    time::{now_ms, timestamp},
};

impl Script {
    /// Does one operation; some if it ends the step.
    pub(super) fn perform(&mut self, op: Op, cx: &Session) -> Result<Option<Next>, Failure> {
        match op {
            Op::Tools { uses } => self.call(uses, cx),
            Op::Model { text, model, patient } => match self.ask_model(text, model, cx) {
                Err(failure) if patient => self.learn(format!("no answer: {}", failure.code)),
                asked => asked?,
            },
            Op::Say { text } => self.learn_seq("said", cx.say(text)),
            Op::Clock => self.learn(format!("clock: {}", now_ms())),
            Op::Random => self.learn_random()?,
            Op::Sleep { ms } => {
                let before = Instant::now();
                thread::sleep(Duration::from_millis(ms));
                self.learn(format!("slept: {} ns", before.elapsed().as_nanos()));
            }
            Op::HashMap => {
                let map: HashMap<u32, ()> = (0..16).map(|key| (key, ())).collect();
                let order: Vec<&u32> = map.keys().collect();
                self.learn(format!("order: {order:?}"));
            }
            Op::Read { path } => {
                let read = fs::read_to_string(path).unwrap_or_else(|error| format!("({error})"));
                self.learn(format!("read: {read}"));
            }
            Op::Hold { path } => match fs::File::open(path) {
                Ok(file) => self.held = Some(file),
                Err(error) => self.learn(format!("not held: {:?}", error.kind())),
            },
            Op::ReadHeld { bytes } => self.read_held(bytes),
            Op::Files { ops } => {
                for line in fileops::run(&ops) {
                    self.learn(format!("files: {line}"));
                }
            }
            Op::Fetch { fetches } => {
                for line in fetching::run(&fetches) {
                    self.learn(format!("fetch: {line}"));
                }
            }
            Op::List { path } => self.list(&path)?,
            Op::More => return Ok(Some(Next::More)),
            Op::Ask { id, text, choices } => {
                let question = Question { id, text, choices, answer_schema: None };
                return Ok(Some(Next::Ask(vec![question])));
            }
            Op::Wait { ms, on_message } => {
                let until = ms.map(|ms| timestamp(now_ms() + ms));
                return Ok(Some(Next::Wait { until, on_message }));
            }
            Op::Fail { session: false, code } => return Err(Failure::turn(code, "as scripted")),
            Op::Fail { session: true, code } => return Err(Failure::session(code, "as scripted")),
            Op::Spoil => self.is_spoilt = true,
            Op::Trap => panic!("this harness crashes, as scripted"),
            Op::Spin => spin(),
            Op::Grow => grow(),
            Op::Snoop { port } => self.learn(crate::snoop::lines(port).join("\n")),
            session => self.perform_session(session, cx)?,
        }
        Ok(None)
    }

    /// The operations on the session itself.
    fn perform_session(&mut self, op: Op, cx: &Session) -> Result<(), Failure> {
        match op {
            Op::Info => {
                let info = cx.info();
                self.learn(format!("info: {} {} {}", info.agent, info.instructions, info.config));
            }
            Op::ListTools => {
                let names: Vec<String> = cx.tools().into_iter().map(|tool| tool.name).collect();
                self.learn(format!("tools: {}", names.join(" ")));
            }
            Op::Emit { kind, data } => match cx.emit(&kind, &data) {
                Ok(seq) => self.learn_seq("emitted", seq),
                Err(error) => self.learn(format!("not emitted: {error}")),
            },
            Op::Events { kinds, after, before, limit, newest_first, data } => {
                let limit = limit.unwrap_or(1000);
                let events = cx.events(&Slice { kinds, after, before, limit, newest_first });
                let shown = events.into_iter().map(|event| {
                    let data = if data { format!(" {:?}", event.data) } else { String::new() };
                    format!("{}@{}{data}", event.kind, event.seq)
                });
                let shown: Vec<String> = shown.collect();
                self.learn(format!("events: {}", shown.join(" ")));
            }
            Op::Blob { digest, offset, length } => {
                let digest = digest.or_else(|| last_body(cx)).unwrap_or_default();
                match cx.blob(&digest, offset, length) {
                    Ok(bytes) => {
                        let text: String = String::from_utf8_lossy(&bytes).chars().take(20).collect();
                        self.learn(format!("blob: {} bytes: {text}", bytes.len()));
                    }
                    Err(error) => self.learn(format!("no blob: {error}")),
                }
            }
            Op::Title { text } => cx.set_title(&text),
            Op::Activity { text } => cx.set_activity(&text),
            Op::Log { text, times } => {
                (0..times.unwrap_or(1)).for_each(|_| cx.log(Level::Info, text.as_str()));
            }
            Op::Print { text } => writeln!(std::io::stdout(), "{text}")
                .map_err(|error| Failure::turn("print", error.to_string()))?,
            Op::Spawn { agent, text } => {
                let child = Child { agent, message: vec![text.into()], on_behalf_of: None };
                match cx.spawn(&child) {
                    Ok(id) => self.learn(format!("spawned: {id}")),
                    Err(error) => self.learn(format!("not spawned: {error}")),
                }
            }
            other => return Err(Failure::turn("bad_script", format!("{other:?} is not done here"))),
        }
        Ok(())
    }

    fn learn_seq(&mut self, what: &str, seq: u32) {
        self.learn(format!("{what}: {seq}"));
    }

    fn learn_random(&mut self) -> Result<(), Failure> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| Failure::turn("random", error.to_string()))?;
        self.learn(format!("random: {:016x}", u64::from_le_bytes(bytes)));
        Ok(())
    }

    fn read_held(&mut self, bytes: u64) {
        let mut text = String::new();
        let read = match &mut self.held {
            Some(file) => file.take(bytes).read_to_string(&mut text),
            None => return self.learn("held: nothing"),
        };
        self.learn(match read {
            Ok(_) => format!("held: {text}"),
            Err(error) => format!("held: {:?}", error.kind()),
        });
    }

    fn list(&mut self, path: &str) -> Result<(), Failure> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        self.learn(format!("list: {}", names.join(" ")));
        Ok(())
    }

    fn call(&mut self, uses: Vec<Use>, cx: &Session) {
        let mut calls = Vec::new();
        for one in uses {
            self.uses += 1;
            let input = one.raw.map_or_else(|| one.input.into(), JsonText::from_text);
            calls.push(ToolUse::new(format!("use-{}", self.uses), one.name, input));
        }
        for result in cx.call_tools(&calls) {
            self.learn_result(&result);
        }
    }

    fn learn_result(&mut self, result: &ToolResult) {
        self.learn(format!("{}: {}: {}", result.id, result.outcome, text_of(&result.parts)));
        for context in &result.context {
            self.learn(format!("{}: context: {context}", result.id));
        }
    }

    fn ask_model(&mut self, text: String, model: Option<String>, cx: &Session) -> Result<(), Failure> {
        self.conversation.push(Message::user(text));
        let completion = cx.model(Request {
            model,
            messages: self.conversation.clone(),
            tools: cx.tools(),
            ..Request::default()
        })?;
        self.learn(format!("model: {}", completion.text()));
        let uses = completion.tool_uses();
        self.conversation.push(Message::assistant(completion.content));
        if !uses.is_empty() {
            let results = cx.call_tools(&uses);
            results.iter().for_each(|result| self.learn_result(result));
            self.conversation.push(Message::tool_results(results));
        }
        Ok(())
    }
}

fn spin() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

fn grow() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    while black_box(kept.len()) < 1 << 20 {
        kept.push(black_box(vec![1; 1 << 20]));
    }
}

/// The digest of the last response's body, if that is a blob.
fn last_body(cx: &Session) -> Option<String> {
    let kinds = vec!["http.completed".to_owned()];
    let newest = Slice { kinds, after: 0, before: None, limit: 1, newest_first: true };
    let event = cx.events(&newest).into_iter().next()?;
    let data: serde_json::Value = serde_json::from_str(event.data.as_str()).ok()?;
    let digest = data.pointer("/outcome/response/body/blob/digest")?;
    digest.as_str().map(str::to_owned)
}
