//! The contract's own imports: each goes to [`Imports`](crate::Imports), as it is.
//!
//! It knows which call is which method, and nothing about any of them.

use wasmtime::Result;

use crate::data::Data;
use crate::generated::harness_plugin::rewake::plugin::{http, log, model, session, tools, types};
use crate::types::{Part, ToolDef, ToolResult, ToolUse};

impl types::Host for Data {}

impl model::Host for Data {
    async fn complete(&mut self, request: model::Request) -> Result<Result<model::Completion, model::Error>> {
        self.keep_pace().await;
        self.imports_mut().model_complete(request).await
    }
}

impl tools::Host for Data {
    async fn list_tools(&mut self) -> Result<Vec<ToolDef>> {
        self.keep_pace().await;
        self.imports_mut().tools_list().await
    }

    async fn call(&mut self, uses: Vec<ToolUse>) -> Result<Vec<ToolResult>> {
        self.keep_pace().await;
        self.imports_mut().tools_call(uses).await
    }
}

impl session::Host for Data {
    async fn info(&mut self) -> Result<session::SessionInfo> {
        self.keep_pace().await;
        self.imports_mut().session_info().await
    }

    async fn events(&mut self, slice: session::Slice) -> Result<Vec<session::Event>> {
        self.keep_pace().await;
        self.imports_mut().session_events(slice).await
    }

    async fn blob(&mut self, digest: String, offset: u32, length: u32) -> Result<Result<Vec<u8>, String>> {
        self.keep_pace().await;
        self.imports_mut().session_blob(digest, offset, length).await
    }

    async fn say(&mut self, parts: Vec<Part>) -> Result<u32> {
        self.keep_pace().await;
        self.imports_mut().session_say(parts).await
    }

    async fn emit(&mut self, kind: String, data: String) -> Result<Result<u32, String>> {
        self.keep_pace().await;
        self.imports_mut().session_emit(kind, data).await
    }

    async fn set_title(&mut self, title: String) -> Result<()> {
        self.keep_pace().await;
        self.imports_mut().session_set_title(title).await
    }

    async fn set_activity(&mut self, line: String) -> Result<()> {
        self.keep_pace().await;
        self.imports_mut().session_set_activity(line).await
    }

    async fn spawn(&mut self, child: session::Child) -> Result<Result<String, String>> {
        self.keep_pace().await;
        self.imports_mut().session_spawn(child).await
    }

    async fn archive(&mut self, handoff: Option<String>) -> Result<Result<(), String>> {
        self.keep_pace().await;
        self.imports_mut().session_archive(handoff).await
    }
}

impl http::Host for Data {
    async fn fetch(&mut self, request: http::Request) -> Result<Result<http::Response, http::Error>> {
        self.keep_pace().await;
        self.imports_mut().http_fetch(request).await
    }
}

impl log::Host for Data {
    async fn log(&mut self, level: log::Level, message: String) -> Result<()> {
        self.keep_pace().await;
        self.imports_mut().log(level, message)
    }
}
