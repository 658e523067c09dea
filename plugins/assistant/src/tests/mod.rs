//! What the model is told and how turns go, with a host in memory.

mod asking;
mod compacting;
mod golden;
mod laws;

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
            context.apply(event, true).expect("an entry");
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
            let is_empty = matches!(content, Content::Part(Part::Text(text)) if text.trim().is_empty());
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
