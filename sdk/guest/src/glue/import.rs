//! The host's functions, as the SDK calls them.

use super::shapes::{
    content_in, message_out, part_out, parts_out, tool_def_in, tool_def_out, tool_result_in, tool_use_out,
};
use crate::{
    bindings::harness_plugin::rewake::plugin::{
        http as wh, log as wl, model as wm, session as ws, tools as wtools,
    },
    http,
    json::JsonText,
    log::Level,
    model::{Completion, Finish, ModelError, ModelResult, Request, ToolResult, ToolUse, Usage},
    part::Part,
    session::{Calls, Child, Info, JournalEvent, Session, Slice},
    tool::ToolDef,
};

/// The session that the host has called this component for.
pub(crate) fn session() -> Session {
    Session::new(Box::new(Host))
}

struct Host;

impl Calls for Host {
    fn model(&self, request: Request) -> ModelResult {
        let request = wm::Request {
            model: request.model,
            system: request.system,
            messages: request.messages.into_iter().map(message_out).collect(),
            tools: request.tools.into_iter().map(tool_def_out).collect(),
            max_tokens: request.max_tokens,
            options: request.options.map(JsonText::into_text),
        };
        wm::complete(&request).map(completion_in).map_err(|error| match error {
            wm::Error::Denied(why) => ModelError::Denied(why),
            wm::Error::Budget(why) => ModelError::Budget(why),
            wm::Error::TooLarge(why) => ModelError::TooLarge(why),
            wm::Error::Rejected(why) => ModelError::Rejected(why),
            wm::Error::Unavailable(why) => ModelError::Unavailable(why),
        })
    }

    fn tools(&self) -> Vec<ToolDef> {
        wtools::list_tools().into_iter().map(tool_def_in).collect()
    }

    fn call_tools(&self, uses: &[ToolUse]) -> Vec<ToolResult> {
        let uses: Vec<_> = uses.iter().cloned().map(tool_use_out).collect();
        wtools::call(&uses).into_iter().map(tool_result_in).collect()
    }

    fn info(&self) -> Info {
        let info = ws::info();
        Info {
            id: info.id,
            agent: info.agent,
            turn: info.turn,
            instructions: info.instructions,
            config: JsonText::from_text(info.config),
        }
    }

    fn events(&self, slice: &Slice) -> Vec<JournalEvent> {
        let slice = ws::Slice {
            after: slice.after,
            before: slice.before,
            kinds: slice.kinds.clone(),
            limit: slice.limit,
            newest_first: slice.newest_first,
        };
        let event_in = |event: ws::Event| JournalEvent {
            seq: event.seq,
            kind: event.kind,
            turn: event.turn,
            at: event.at,
            data: JsonText::from_text(event.data),
        };
        ws::events(&slice).into_iter().map(event_in).collect()
    }

    fn blob(&self, digest: &str, offset: u32, length: u32) -> Result<Vec<u8>, String> {
        ws::blob(digest, offset, length)
    }

    fn say(&self, parts: &[Part]) -> u32 {
        let parts: Vec<_> = parts.iter().cloned().map(part_out).collect();
        ws::say(&parts)
    }

    fn emit(&self, kind: &str, data: &JsonText) -> Result<u32, String> {
        ws::emit(kind, data.as_str())
    }

    fn set_title(&self, title: &str) {
        ws::set_title(title);
    }

    fn set_activity(&self, line: &str) {
        ws::set_activity(line);
    }

    fn spawn(&self, child: &Child) -> Result<String, String> {
        ws::spawn(&ws::Child {
            agent: child.agent.clone(),
            message: parts_out(child.message.clone()),
            on_behalf_of: child.on_behalf_of.clone(),
        })
    }

    fn archive(&self, handoff: Option<&str>) -> Result<(), String> {
        ws::archive(handoff)
    }

    fn log(&self, level: Level, message: &str) {
        log(level, message);
    }
}

fn completion_in(completion: wm::Completion) -> Completion {
    Completion {
        model: completion.model,
        content: completion.content.into_iter().map(content_in).collect(),
        finish: match completion.finish {
            wm::Finish::End => Finish::End,
            wm::Finish::ToolUse => Finish::ToolUse,
            wm::Finish::MaxTokens => Finish::MaxTokens,
            wm::Finish::Refused => Finish::Refused,
            wm::Finish::Other => Finish::Other,
        },
        usage: Usage {
            input_tokens: completion.usage.input_tokens.into(),
            output_tokens: completion.usage.output_tokens.into(),
            cache_read_tokens: completion.usage.cache_read_tokens.into(),
            cache_write_tokens: completion.usage.cache_write_tokens.into(),
        },
        context_tokens: completion.context_tokens,
    }
}

pub(crate) fn log(level: Level, message: &str) {
    let level = match level {
        Level::Debug => wl::Level::Debug,
        Level::Info => wl::Level::Info,
        Level::Warn => wl::Level::Warn,
        Level::Error => wl::Level::Error,
    };
    wl::log(level, message);
}

pub(crate) fn fetch(request: &http::Request) -> Result<http::Response, http::Error> {
    let header_out =
        |(name, value): &(String, String)| wh::Header { name: name.clone(), value: value.clone() };
    let response = wh::fetch(&wh::Request {
        method: request.method.clone(),
        url: request.url.clone(),
        headers: request.headers.iter().map(header_out).collect(),
        body: request.body.clone(),
        timeout_ms: request.timeout_ms,
    });
    match response {
        Ok(response) => Ok(http::Response {
            status: response.status,
            headers: response.headers.into_iter().map(|one| (one.name, one.value)).collect(),
            body: response.body,
        }),
        Err(error) => Err(match error {
            wh::Error::Denied(why) => http::Error::Denied(why),
            wh::Error::TimedOut => http::Error::TimedOut,
            wh::Error::TooLarge => http::Error::TooLarge,
            wh::Error::Unknown(why) => http::Error::Unknown(why),
            wh::Error::Failed(why) => http::Error::Failed(why),
        }),
    }
}
