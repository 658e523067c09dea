//! Shortening the conversation.

use rewake_sdk::{
    model::{Completion, Content, Finish, ModelError, Usage},
    prelude::*,
    testing::{self, Fake},
};
use serde_json::json;

use super::{check_request, from_nothing, told};
use crate::{
    Assistant,
    compact::{COMPACTED, Compacted},
};

/// What the model says of a request that took so many tokens of 1,000.
fn counted(tokens: u32, content: Vec<Content>) -> Completion {
    let has_use = content.iter().any(|one| matches!(one, Content::ToolUse(_)));
    Completion {
        model: "scripted".to_owned(),
        content,
        finish: if has_use { Finish::ToolUse } else { Finish::End },
        usage: Usage { input_tokens: u64::from(tokens) - 10, output_tokens: 10, ..Usage::default() },
        context_tokens: Some(1_000),
    }
}

fn use_of(id: &str, name: &str) -> Vec<Content> {
    vec![Content::ToolUse(ToolUse::new(id, name, json!({})))]
}

fn text(text: &str) -> Vec<Content> {
    vec![Content::Part(Part::text(text))]
}

fn compacted(host: &Fake) -> Vec<Compacted> {
    let emitted = host.emitted().into_iter().filter(|(kind, _)| kind == COMPACTED);
    emitted.map(|(_, data)| data.parse().expect("an entry")).collect()
}

/// Seven tool calls that fill the context, then a summary, then the end.
fn full(summary: Result<Completion, ModelError>) -> Fake {
    let mut host = Fake::new();
    for n in 0..7 {
        let tokens = 100 * (n + 1);
        let name = if n == 1 { "update_plan" } else { "read" };
        host = host.result(Ok(counted(tokens, use_of(&format!("u{n}"), name))));
    }
    host.result(summary)
        .result(Ok(counted(300, use_of("u7", "read"))))
        .result(Ok(counted(310, text("done"))))
        .tool("read", &"x".repeat(300))
        .tool("update_plan", "plan: 1 of 2 done")
}

/// B17: the context is compacted, the journal keeps every entry, and the work continues.
#[test]
fn a_full_context_is_summarised_and_the_work_goes_on() {
    let host = full(Ok(counted(200, text("I read four files.")))).tool("read", &"x".repeat(300));
    let mut assistant = Assistant::default();
    assert_eq!(host.turn(&mut assistant, testing::input("read all the files")), Ok(Next::Done));
    let requests = host.requests();
    assert_eq!((requests.len(), host.uses().len()), (10, 8));
    let summarise = &requests[7];
    assert!(
        summarise.tools.is_empty() && summarise.system.as_ref().is_some_and(|text| text.contains("summary"))
    );
    assert!(format!("{:?}", summarise.messages).contains("you call read"));
    for request in &requests {
        check_request(&request.messages);
    }

    let entry = compacted(&host).remove(0);
    assert_eq!(entry.summary.as_deref(), Some("I read four files."));
    assert_eq!(entry.first.as_deref(), Some("read all the files"));
    assert_eq!(entry.plan.as_deref(), Some("plan: 1 of 2 done"));
    assert!(entry.from_seq < entry.to_seq && entry.messages > 4 && entry.tokens_before >= 800, "{entry:?}");
    let after = format!("{:?}", requests[8].messages);
    for words in ["I read four files.", "read all the files", "plan: 1 of 2 done", "do not do it again"] {
        assert!(after.contains(words), "{words}: {after}");
    }
    // The newest uses are whole, and no use is made again.
    assert!(after.contains("u6") && !after.contains("u2"), "{after}");
    let ids: std::collections::BTreeSet<String> = host.uses().into_iter().map(|one| one.id).collect();
    assert_eq!(ids.len(), 8);
    // The summary is no part of the conversation but through the entry.
    assert_eq!(host.said(), ["done"]);
}

#[test]
fn without_a_summary_the_oldest_is_dropped_and_that_is_said() {
    for failed in [Err(ModelError::Rejected("no".to_owned())), Ok(counted(10, Vec::new()))] {
        let host = full(failed);
        let turn = host.turn(&mut Assistant::default(), testing::input("read all the files"));
        assert_eq!(turn, Ok(Next::Done));
        let entry = compacted(&host).remove(0);
        assert_eq!((entry.summary, entry.first.as_deref()), (None, Some("read all the files")));
        assert!(told(&host).contains("there is no summary"), "{}", told(&host));
    }
}

#[test]
fn a_model_that_cannot_be_asked_now_costs_nothing_of_the_conversation() {
    let failures = [ModelError::Unavailable("busy".to_owned()), ModelError::Budget("$1.00".to_owned())];
    for error in failures {
        let is_capped = matches!(error, ModelError::Budget(_));
        let host = full(Err(error));
        let mut assistant = Assistant::default();
        host.turn(&mut assistant, testing::input("read all the files")).expect_err("a failure");
        assert!(compacted(&host).is_empty(), "nothing is dropped");
        assert_eq!(host.said().iter().any(|said| said.contains("spend cap")), is_capped);
        // It can be asked again: the next turn summarises first.
        host.turn(&mut assistant, testing::input("go on")).expect("a turn");
        let summarise = format!("{:?}", host.requests()[8].messages);
        assert!(summarise.contains("you call read"), "{summarise}");
        assert_eq!(compacted(&host).len(), 1);
    }
}

#[test]
fn what_stands_for_the_older_part_is_carried_on() {
    let mut host = full(Ok(counted(200, text("first summary"))));
    // The same again, in a second turn.
    for n in 10..17 {
        host = host.result(Ok(counted(100 * (n - 9), use_of(&format!("u{n}"), "read"))));
    }
    let host =
        host.result(Ok(counted(200, text("second summary")))).result(Ok(counted(100, text("all done"))));
    let mut assistant = Assistant::default();
    host.turn(&mut assistant, testing::input("read all the files")).expect("a turn");
    host.turn(&mut assistant, testing::input("now the others")).expect("a turn");
    let entries = compacted(&host);
    assert_eq!(entries.len(), 2);
    let summarise = &host.requests()[17];
    assert!(format!("{:?}", summarise.messages).contains("first summary"));
    assert_eq!(entries[1].first.as_deref(), Some("read all the files"));
    assert_eq!(entries[1].task.as_deref(), Some("now the others"));
    assert_eq!(entries[1].from_seq, entries[0].from_seq);
    let told = told(&host);
    assert!(told.contains("second summary") && !told.contains("first summary"), "{told}");

    // The state is a cache here too.
    let journal = host.journal();
    assert_eq!(from_nothing(&journal, assistant.context.through), assistant.context);
}

#[test]
fn a_request_that_is_too_large_is_made_smaller_once() {
    let too_large = || ModelError::TooLarge("200,000 tokens are more than 100,000".to_owned());
    let host = Fake::new()
        .reply_use("read", json!({}))
        .reply_error(too_large())
        .reply("I read a large file.")
        .tool("read", &"x".repeat(300_000));
    assert_eq!(host.turn(&mut Assistant::default(), testing::input("go")), Ok(Next::Done));
    let requests = host.requests();
    check_request(&requests[2].messages);
    let size = |at: usize| format!("{:?}", requests[at].messages).len();
    assert!(size(1) > 300_000 && size(2) < 160_000, "{} {}", size(1), size(2));
    assert!(told(&host).contains("bytes are left out here"));
    assert_eq!(compacted(&host)[0].messages, 0);

    let host = Fake::new()
        .reply_use("read", json!({}))
        .reply_error(too_large())
        .reply_error(too_large())
        .tool("read", &"x".repeat(300_000));
    let failure = host.turn(&mut Assistant::default(), testing::input("go")).expect_err("a failure");
    assert_eq!(failure.code, "context_too_large");
    assert_eq!(host.requests().len(), 3);
    assert!(host.said()[0].contains("I cannot go on"));
}

#[test]
fn a_session_that_could_not_go_on_can_when_it_is_asked_less() {
    let too_large = || ModelError::TooLarge("too many tokens".to_owned());
    let host = Fake::new().reply_error(too_large()).reply("hello");
    let mut assistant = Assistant::default();
    let failure = host.turn(&mut assistant, testing::input("hi")).expect_err("nothing can be cut");
    assert_eq!(failure.code, "context_too_large");
    // The next turn tries again: another model, or another limit, may take it.
    assert_eq!(host.turn(&mut assistant, testing::input("hi?")), Ok(Next::Done));
}

#[test]
fn the_operator_can_say_how_much_room_there_is() {
    let config = json!({ "context_tokens": 400 });
    let mut host = Fake::new().config(config).tool("read", &"x".repeat(300));
    for n in 0..6 {
        host = host.reply_use(&format!("read{n}"), json!({}));
    }
    let host = host.reply("a summary").reply("ok");
    let mut assistant = Assistant::default();
    let _ = host.turn(&mut assistant, testing::input("y".repeat(900)));
    assert!(!compacted(&host).is_empty());
}

#[test]
fn it_does_not_shorten_at_every_step() {
    let mut host = Fake::new().tool("read", &"x".repeat(100));
    for n in 0..12 {
        host = host.result(Ok(counted(990, use_of(&format!("u{n}"), "read"))));
    }
    let host = host.result(Ok(counted(990, text("done"))));
    host.turn(&mut Assistant::default(), testing::input("go")).expect("a turn");
    let times = compacted(&host).len();
    assert!((2..=4).contains(&times), "{times}");
}
