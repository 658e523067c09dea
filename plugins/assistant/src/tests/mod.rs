//! What the model is told and how turns go, with a host in memory.

mod asking;
mod compacting;
mod golden;
mod laws;
mod loops;
mod projects;
mod told;
mod turns;

use std::{cell::RefCell, path::PathBuf};

use rewake_sdk::{
    model::{Content, Role},
    prelude::*,
    session::JournalEvent,
    testing::Fake,
};
use serde_json::{Value, json};

use crate::context::Context;

thread_local! {
    static WORKSPACE: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Where the workspace of this thread's test is.
pub(crate) fn workspace() -> Option<PathBuf> {
    WORKSPACE.with_borrow(Clone::clone).or_else(|| Some(PathBuf::from("/no/workspace/here")))
}

/// Gives this thread's test a workspace.
fn set_workspace(folder: PathBuf) {
    WORKSPACE.set(Some(folder));
}

/// An entry's payload as the host writes it: what a test does not care about is filled in.
fn whole(kind: &str, mut data: Value) -> Value {
    let use_of_tool = json!({ "name": "t", "input": "{}", "arguments": "" });
    match kind {
        "step.started" => {
            if let Some(messages) = data.pointer_mut("/input/messages") {
                fill_each(messages, &json!({ "n": 0, "at": 0 }));
            }
        }
        "model.completed" => {
            fill(&mut data, &json!({ "start": 0, "ms": 0 }));
            if let Some(completion) = data.pointer_mut("/outcome/completion") {
                fill(completion, &json!({ "model": "m" }));
            }
        }
        "tools.requested" => fill_each(&mut data["uses"], &use_of_tool),
        "tool.started" => fill(&mut data, &json!({ "name": "t", "definition": "", "arguments": "" })),
        "tool.lost" => fill(&mut data, &json!({ "start": 0 })),
        "hook.verdict" => fill(&mut data, &json!({ "binding": "" })),
        "workspace.imported" => {
            let by = json!({ "type": "operator", "id": "ada" });
            let rest = json!({ "by": by, "bytes": 0, "left_out": 0, "replaced": false, "tree": "" });
            fill(&mut data, &rest);
        }
        _ => {}
    }
    data
}

/// Gives an object the fields that it lacks.
fn fill(data: &mut Value, fields: &Value) {
    if let (Some(data), Some(fields)) = (data.as_object_mut(), fields.as_object()) {
        for (name, value) in fields {
            data.entry(name).or_insert_with(|| value.clone());
        }
    }
}

fn fill_each(list: &mut Value, fields: &Value) {
    list.as_array_mut().into_iter().flatten().for_each(|data| fill(data, fields));
}

/// A journal that a test writes.
trait Writes {
    /// An entry that it already holds.
    fn wrote(self, kind: &str, data: Value) -> Self;
}

impl Writes for Fake {
    fn wrote(self, kind: &str, data: Value) -> Self {
        self.entry(kind, whole(kind, data))
    }
}

/// All that the model was told last, as text.
fn told(host: &Fake) -> String {
    let requests = host.requests();
    format!("{:?}", requests.last().expect("a request").messages)
}

/// The context of each step's start, made from nothing.
fn from_nothing(journal: &[JournalEvent], through: u32) -> Context {
    let mut context = Context::default();
    for event in journal.iter().filter(|event| event.seq <= through) {
        let kinds = crate::context::KINDS;
        if kinds.contains(&event.kind.as_str()) {
            context.apply(event, crate::Config::default().pinned(true)).expect("an entry");
        }
    }
    context
}

/// What every provider wants of a request: roles in turn, the first and the last of people, nothing
/// empty, and each use with exactly one result in the message after it.
fn check_request(messages: &[Message]) {
    assert!(!messages.is_empty());
    let all: Vec<&str> = messages.iter().flat_map(uses).collect();
    let distinct: std::collections::BTreeSet<&str> = all.iter().copied().collect();
    assert_eq!(all.len(), distinct.len(), "an id is there twice: {all:?}");
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { Role::User } else { Role::Assistant };
        assert_eq!(message.role, role, "{messages:#?}");
        assert!(!message.content.is_empty(), "{messages:#?}");
        let wanted: Vec<&str> = match at.checked_sub(1).map(|before| &messages[before]) {
            Some(before) if role == Role::User => uses(before),
            _ => Vec::new(),
        };
        let results: Vec<&str> = message.content.iter().filter_map(result_id).collect();
        assert_eq!(results, wanted, "{messages:#?}");
        let first_other = message.content.iter().position(|content| result_id(content).is_none());
        assert!(first_other.is_none_or(|first| first == results.len()), "results come first: {message:#?}");
        for content in &message.content {
            let is_empty = matches!(content, Content::Part(Part::Text { text }) if text.trim().is_empty());
            assert!(!is_empty, "{messages:#?}");
        }
    }
    assert_eq!(messages.last().map(|message| message.role), Some(Role::User), "{messages:#?}");
}

fn uses(message: &Message) -> Vec<&str> {
    let ids = message.content.iter().filter_map(|content| match content {
        Content::ToolUse(one) => Some(one.id.as_str()),
        _ => None,
    });
    ids.collect()
}

fn result_id(content: &Content) -> Option<&str> {
    match content {
        Content::ToolResult(result) => Some(result.id.as_str()),
        _ => None,
    }
}
