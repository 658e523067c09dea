//! What is sent is kept once, is read back as it was, and tells when it is not.

use rewake_bindings::model::{Content, Message, Request, Role};
use rewake_bindings::types::{Blob, BlobRef, Effect, Outcome, Part, ToolDef, ToolResult, ToolUse};
use rewake_core::asked::Asked;
use rewake_core::fact::{ModelStarted, Stored};
use rewake_core::ids::Digest;
use rewake_core::money::Usd;
use rewake_store::{Blobs as _, MemoryStore};

use super::read::{NotSent, of};
use super::{Pieces, Sent};
use rewake_sandbox::convert::request_digest;

fn text(role: Role, text: &str) -> Message {
    Message { role, content: vec![Content::Part(Part::Text(text.to_owned()))] }
}

fn request(messages: &[Message]) -> Request {
    Request {
        model: None,
        system: Some("Be brief.".into()),
        messages: messages.to_vec(),
        tools: vec![ToolDef {
            name: "read".into(),
            description: "Reads.".into(),
            input_schema: "{}".into(),
            effect: Effect::Idempotent,
        }],
        max_tokens: Some(100),
        options: None,
    }
}

const PROJECT: &str = "default";

/// Every kind of content.
fn full() -> Vec<Message> {
    let blob = Part::Blob(Blob { media_type: "image/png".into(), data: vec![0, 255, 7] });
    let named =
        Part::BlobRef(BlobRef { media_type: "text/plain".into(), digest: "blake3:00".into(), size: 7 });
    let result = ToolResult {
        id: "u".into(),
        outcome: Outcome::TimedOut,
        parts: vec![Part::Json("[1]".into()), blob, named],
        context: vec!["a hook".into()],
    };
    vec![
        text(Role::User, "é \u{0} \u{1f600}"),
        Message {
            role: Role::Assistant,
            content: vec![
                Content::Thinking("{\"signature\":\"x\"}".into()),
                Content::ToolUse(ToolUse { id: "u".into(), name: "read".into(), input: "{ not json".into() }),
            ],
        },
        Message { role: Role::User, content: vec![Content::ToolResult(result)] },
        Message { role: Role::Assistant, content: vec![] },
    ]
}

/// A store, and what a session's fold knows of it.
#[derive(Default)]
struct Kept {
    store: MemoryStore,
    asked: Asked,
    blobs: usize,
    bytes: usize,
}

impl Kept {
    async fn send(&mut self, request: &Request) -> ModelStarted {
        let pieces = Pieces::of(request, &self.asked);
        for blob in pieces.blobs {
            self.blobs += 1;
            self.bytes += blob.bytes.len();
            self.store.put_blob(PROJECT, blob.bytes).await.unwrap();
        }
        let started = ModelStarted {
            model: "m".into(),
            provider: None,
            request: request_digest(request),
            messages: request.messages.len() as u32,
            stored: Some(pieces.stored),
            reserved: Usd::ZERO,
        };
        self.asked.started(&started);
        started
    }

    async fn read(&self, started: &ModelStarted) -> Result<Sent, NotSent> {
        of(&self.store, PROJECT, 9, started.clone()).await
    }
}

#[tokio::test]
async fn what_was_sent_is_read_back_whole() {
    let mut kept = Kept::default();
    let mut all = full();
    for _ in 0..3 {
        let asked = request(&all);
        let started = kept.send(&asked).await;
        // Reading compares the digest of the whole request.
        let sent = kept.read(&started).await.unwrap();
        assert_eq!(sent.messages.len(), all.len());
        assert_eq!((sent.system.as_deref(), sent.tools.len()), (Some("Be brief."), 1));
        all.extend(full());
    }
    let bare = Request { system: None, tools: vec![], max_tokens: None, ..request(&[]) };
    let started = kept.send(&bare).await;
    let stored = started.stored.unwrap();
    assert_eq!((stored.system, stored.tools, stored.options), (None, None, None));
    assert_eq!(kept.read(&started).await.unwrap().messages, []);
}

#[tokio::test]
async fn a_request_takes_what_is_new_in_it() {
    let mut kept = Kept::default();
    let mut all = vec![text(Role::User, "0")];
    kept.send(&request(&all)).await;
    let first = kept.blobs;
    assert_eq!(first, 5, "system, tools, options, a message and its list");
    let before = kept.send(&request(&all)).await;
    assert_eq!(kept.blobs, first, "the same again takes nothing");
    all.extend([text(Role::Assistant, "1"), text(Role::User, "2")]);
    let after = kept.send(&request(&all)).await;
    assert_eq!(kept.blobs, first + 3, "two messages and a list");
    assert_ne!(before.stored.unwrap().list, after.stored.unwrap().list);
    // Another conversation between does not make the first one begin again.
    kept.send(&request(&[text(Role::User, "beside")])).await;
    let blobs = kept.blobs;
    all.push(text(Role::Assistant, "3"));
    let last = kept.send(&request(&all)).await;
    assert_eq!(kept.blobs, blobs + 2);
    assert_eq!(kept.read(&last).await.unwrap().messages.len(), 4);
    // Compacted: what follows is new, and read back too.
    let compacted = [text(Role::User, "in short"), all[3].clone()];
    let started = kept.send(&request(&compacted)).await;
    assert_eq!(kept.read(&started).await.unwrap().messages.len(), 2);
}

/// A thousand requests, each with all that was said before.
#[tokio::test]
async fn growth_is_linear() {
    let mut kept = Kept::default();
    let (mut all, mut texts) = (Vec::new(), 0);
    for n in 0..1_000 {
        let said = format!("{n} {}", "x".repeat(100));
        texts += said.len();
        all.push(text(if n % 2 == 0 { Role::User } else { Role::Assistant }, &said));
        kept.send(&request(&all)).await;
    }
    assert!(kept.bytes < texts + 1_000 * 350, "{} bytes for {texts} of texts", kept.bytes);
}

#[tokio::test]
async fn the_same_content_is_the_same_bytes() {
    let (one, two) =
        (Pieces::of(&request(&full()), &Asked::default()), Pieces::of(&request(&full()), &Asked::default()));
    assert_eq!((one.stored, &one.blobs), (two.stored, &two.blobs));
    // Written once, read for ever: what stands here is in stores.
    let message = Pieces::of(&request(&[text(Role::User, "hi")]), &Asked::default()).blobs;
    let shown: Vec<String> =
        message.iter().map(|blob| String::from_utf8_lossy(&blob.bytes).into_owned()).collect();
    let expected = [
        r#"{"v":1,"role":"user","content":[{"part":{"type":"text","text":"hi"}}]}"#.to_owned(),
        format!(r#"{{"v":1,"messages":["{}"]}}"#, message[0].digest),
        "Be brief.".to_owned(),
        r#"{"v":1,"tools":[{"name":"read","description":"Reads.","input_schema":"{}","effect":"idempotent"}]}"#.to_owned(),
        r#"{"v":1,"max_tokens":100}"#.to_owned(),
    ];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn what_is_not_as_the_journal_says_is_not_shown() {
    let mut kept = Kept::default();
    let started = kept.send(&request(&full())).await;
    let stored = started.stored.unwrap();
    let missing = Digest::of(b"never kept");
    let put = async |json: &str| kept.store.put_blob(PROJECT, json.as_bytes().to_vec()).await.unwrap();
    let newer = put(r#"{"v":2,"messages":[]}"#).await;
    let no_list = put("{").await;
    let empty = put(&format!(r#"{{"v":1,"parent":"{}","messages":[]}}"#, stored.list)).await;
    let many = format!("\"{missing}\",").repeat(50);
    let long = put(&format!(r#"{{"v":1,"messages":[{}]}}"#, many.trim_end_matches(','))).await;
    let tools = put(r#"{"v":1,"tools":[]}"#).await;
    for (changed, why) in [
        (Stored { system: Some(missing), ..stored }, "is not in this store"),
        (Stored { system: Some(tools), ..stored }, "together it has another digest"),
        (Stored { tools: Some(tools), ..stored }, "together it has another digest"),
        (Stored { list: missing, ..stored }, "is not in this store"),
        (Stored { list: newer, ..stored }, "version 2, which this host does not know"),
        (Stored { list: no_list, ..stored }, "EOF"),
        (Stored { list: empty, ..stored }, "do not have the number"),
        (Stored { list: long, ..stored }, "do not have the number"),
        (Stored { through: missing, ..stored }, "the list of messages is another"),
    ] {
        let started = ModelStarted { stored: Some(changed), ..started.clone() };
        let error = kept.read(&started).await.unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("entry 9"), "{error} for {changed:?}");
    }
    for messages in [0, 3, 5, u32::MAX] {
        let started = ModelStarted { messages, ..started.clone() };
        assert!(matches!(kept.read(&started).await, Err(NotSent::Spoiled { .. })), "{messages}");
    }
    let old = ModelStarted { stored: None, ..started };
    assert!(matches!(kept.read(&old).await, Err(NotSent::NotKept { .. })));
}
