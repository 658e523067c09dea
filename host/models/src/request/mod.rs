//! A request as providers are sent it: what the contract says, in the words of each protocol.

mod anthropic;
mod head;
mod openai;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rewake_bindings::model::{Content, Request, Role};
use rewake_bindings::types::{Outcome, Part, ToolResult};
use rewake_core::limits::cut;
use serde_json::{Map, Value};

pub(crate) use self::head::head;
use super::spec::{Protocol, Spec};

/// Bytes of all images of a request.
pub const IMAGES_BYTES_MAX: usize = 20 << 20;
/// Images that providers take.
const IMAGES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];

/// Bytes of images that requests name by digest.
pub type Images = BTreeMap<String, Vec<u8>>;

/// A message in neither protocol's words.
#[derive(Debug, PartialEq)]
struct Message {
    role: Role,
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Text(String),
    Image {
        media_type: String,
        base64: String,
    },
    /// The provider's own block, as it came.
    Thinking(Value),
    Use {
        id: String,
        name: String,
        input: String,
    },
    Result {
        id: String,
        outcome: Outcome,
        pieces: Vec<Piece>,
    },
}

/// Who made a block of reasoning: nobody else can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Maker {
    provider: &'static str,
    origin: String,
}

impl Maker {
    pub(super) fn of(spec: &Spec) -> Maker {
        Maker { provider: spec.protocol.name(), origin: spec.address.origin() }
    }

    /// A block of reasoning as a completion holds it.
    pub(super) fn sign(&self, block: Value) -> String {
        serde_json::json!({ "provider": self.provider, "origin": self.origin, "block": block }).to_string()
    }

    /// The block, if it says that it was made there: harnesses can write anything.
    fn own(&self, thinking: &str) -> Option<Value> {
        let mut signed: Value = serde_json::from_str(thinking).ok()?;
        let is = |key: &str, wanted: &str| signed.get(key).and_then(Value::as_str) == Some(wanted);
        let is_own = is("provider", self.provider) && is("origin", &self.origin);
        signed.get_mut("block").filter(|block| is_own && block.is_object()).map(Value::take)
    }
}

/// What is said of images that are too large together.
pub fn too_many_images() -> String {
    format!("the request's images have more than {IMAGES_BYTES_MAX} bytes")
}

/// Images that the request names by digest, in order.
pub fn named_images(request: &Request) -> impl Iterator<Item = &str> {
    let contents = request.messages.iter().flat_map(|message| &message.content);
    let parts = contents.flat_map(|content| match content {
        Content::Part(part) => std::slice::from_ref(part),
        Content::ToolResult(result) => result.parts.as_slice(),
        Content::Thinking(_) | Content::ToolUse(_) => &[],
    });
    parts.filter_map(|part| match part {
        Part::BlobRef(blob) if is_image(&blob.media_type) => Some(blob.digest.as_str()),
        _ => None,
    })
}

/// What the request says, for the body of the provider's request.
///
/// # Errors
/// What of it no provider can be asked, or is not allowed.
pub(super) fn body(spec: &Spec, request: &Request, images: &Images) -> Result<Map<String, Value>, String> {
    if request.max_tokens == Some(0) {
        return Err("the request's bound on the answer is 0 tokens: it has to be at least 1".into());
    }
    // An image is sent as often as it is named.
    let named = named_images(request).filter_map(|name| images.get(name));
    if named.map(Vec::len).fold(0, usize::saturating_add) > IMAGES_BYTES_MAX {
        return Err(too_many_images());
    }
    let mut body = options(spec, request.options.as_deref())?;
    let messages = messages(request, &Maker::of(spec), images)?;
    if messages.is_empty() {
        return Err("the request holds no message with content".into());
    }
    match spec.protocol {
        Protocol::Anthropic => anthropic::write(spec, request, messages, &mut body)?,
        Protocol::OpenAi => openai::write(request, messages, &mut body)?,
    }
    body.insert("model".into(), spec.model.as_str().into());
    Ok(body)
}

/// The options of a request, if the operator allows each of them.
fn options(spec: &Spec, options: Option<&str>) -> Result<Map<String, Value>, String> {
    let Some(options) = options else { return Ok(Map::new()) };
    let options: Map<String, Value> = serde_json::from_str(options)
        .map_err(|_| "the request's options are no JSON object of options by their names".to_owned())?;
    for name in options.keys() {
        if !spec.options.contains(name) {
            let (name, place) = (cut(name, 64), &spec.place);
            return Err(format!(
                "the option {name:?} is not allowed: the operator allows it with options = [{name:?}] in {place} of rewake.toml"
            ));
        }
    }
    Ok(options)
}

/// The messages that say something, those of one role in a row as one.
fn messages(request: &Request, maker: &Maker, images: &Images) -> Result<Vec<Message>, String> {
    let mut messages: Vec<Message> = Vec::new();
    for message in &request.messages {
        let mut pieces = Vec::new();
        for content in &message.content {
            pieces.extend(piece(message.role, content, maker, images)?);
        }
        match messages.last_mut() {
            _ if pieces.is_empty() => {}
            Some(last) if last.role == message.role => last.pieces.extend(pieces),
            _ => messages.push(Message { role: message.role, pieces }),
        }
    }
    for message in &mut messages {
        // Providers want what tools returned before anything else that is said to it.
        message.pieces.sort_by_key(|piece| !matches!(piece, Piece::Result { .. }));
    }
    Ok(messages)
}

fn piece(role: Role, content: &Content, maker: &Maker, images: &Images) -> Result<Option<Piece>, String> {
    match (role, content) {
        (Role::User, Content::Part(one)) => Ok(part(one, images).filter(says_something)),
        // What a model says is text.
        (Role::Assistant, Content::Part(one)) => {
            Ok(part(one, &Images::new()).map(text_of).filter(says_something))
        }
        (Role::Assistant, Content::Thinking(thinking)) => Ok(maker.own(thinking).map(Piece::Thinking)),
        (Role::Assistant, Content::ToolUse(tool)) => {
            Ok(Some(Piece::Use { id: tool.id.clone(), name: tool.name.clone(), input: tool.input.clone() }))
        }
        (Role::User, Content::ToolResult(result)) => Ok(Some(self::result(result, images))),
        (Role::User, Content::Thinking(_)) => Err("a message of the user holds a model's reasoning".into()),
        (Role::User, Content::ToolUse(_)) => {
            Err("a message of the user holds a tool use: it is the assistant's".into())
        }
        (Role::Assistant, Content::ToolResult(_)) => {
            Err("a message of the assistant holds a tool's result: it is the user's".into())
        }
    }
}

fn text_of(piece: Piece) -> Piece {
    match piece {
        Piece::Image { media_type, .. } => Piece::Text(format!("[an image of {media_type}, not shown]")),
        other => other,
    }
}

/// Providers refuse texts of nothing.
fn says_something(piece: &Piece) -> bool {
    !matches!(piece, Piece::Text(text) if text.trim().is_empty())
}

fn result(result: &ToolResult, images: &Images) -> Piece {
    let parts = result.parts.iter().filter_map(|one| part(one, images));
    let context = result.context.iter().map(|text| Piece::Text(text.clone()));
    let pieces = parts.chain(context).filter(says_something).collect();
    Piece::Result { id: result.id.clone(), outcome: result.outcome, pieces }
}

/// What is no text and no image is named.
fn part(part: &Part, images: &Images) -> Option<Piece> {
    let (media_type, bytes, size) = match part {
        Part::Text(text) => return Some(Piece::Text(text.clone())),
        Part::Json(json) => return Some(Piece::Text(json.clone())),
        Part::Blob(blob) => (&blob.media_type, Some(&blob.data), blob.data.len()),
        Part::BlobRef(blob) => (&blob.media_type, images.get(&blob.digest), blob.size as usize),
    };
    match bytes.filter(|_| is_image(media_type)) {
        Some(bytes) => Some(Piece::Image { media_type: media_type.clone(), base64: STANDARD.encode(bytes) }),
        None => Some(Piece::Text(format!("[{size} bytes of {}, not shown]", cut(media_type, 100)))),
    }
}

fn is_image(media_type: &str) -> bool {
    IMAGES.contains(&media_type)
}

/// How a call ended, as a model is told.
fn outcome_words(outcome: Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Ok => None,
        Outcome::Error => Some("error"),
        Outcome::Denied => Some("denied: it was not done"),
        Outcome::TimedOut => Some("timed out"),
        Outcome::Unknown => Some("unknown: whether it was done is not known"),
    }
}

/// A tool's schema, as JSON.
fn schema(tool: &rewake_bindings::types::ToolDef) -> Result<Value, String> {
    serde_json::from_str(&tool.input_schema)
        .map_err(|_| format!("the schema of the tool {:?} is not JSON", cut(&tool.name, 64)))
}
