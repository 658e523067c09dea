//! What an entry leaves out because it says nothing, and what is read in its place: journals are kept for long, and
//! most calls have neither files nor errors.

use rewake_core::fact::{FileAudit, FileOp, FileUsed, ToolCompleted};
use rewake_core::ids::Digest;
use rewake_wire::Outcome;
use serde_json::json;

use crate::bench::completed;

#[test]
fn a_file_s_use_is_written_without_what_it_has_not() {
    let none = String::new();
    let used = FileUsed {
        op: FileOp::StatAt,
        path: "/w/a".into(),
        to: none.clone(),
        detail: none,
        times: 1,
        bytes: 0,
        digest: None,
        error: None,
    };
    let written = serde_json::to_value(&used).unwrap();
    assert_eq!(written, json!({ "op": "stat-at", "path": "/w/a" }));
    assert_eq!(serde_json::from_value::<FileUsed>(written).unwrap(), used);
    let digest = Digest::of(b"more");
    let more = FileUsed { times: 2, bytes: 4, digest: Some(digest), error: Some("busy".into()), ..used };
    let written = serde_json::to_value(&more).unwrap();
    let expected =
        json!({ "op": "stat-at", "path": "/w/a", "times": 2, "bytes": 4, "digest": digest, "error": "busy" });
    assert_eq!(written, expected);
    assert_eq!(serde_json::from_value::<FileUsed>(written).unwrap(), more);
    assert_eq!(serde_json::to_value(FileAudit::default()).unwrap(), json!({}));
}

#[test]
fn a_tool_s_end_says_what_was_cut_of_it_only_if_something_was() {
    let whole = completed(Some(7), Outcome::Ok);
    let cut = ToolCompleted { cut_bytes: 3, ..whole.clone() };
    let written = [whole, cut].map(|body| serde_json::to_value(body).unwrap());
    assert_eq!(written[0], json!({ "start": 7, "outcome": "ok", "parts": [], "ms": 0 }));
    assert_eq!(written[1]["cut_bytes"], 3);
}
