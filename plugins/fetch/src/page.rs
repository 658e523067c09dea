//! What a response's body is: text in which encoding, or nothing that can be read as text.
//!
//! Knows media types and charsets. Does not know what HTML says (`html` does).

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use rewake_sdk::http::Response;

use crate::html;

/// Bytes in which HTML may name its charset.
const META_BYTES: usize = 1024;
/// Characters of a title.
const TITLE_CHARS_MAX: usize = 200;
/// Characters of a media type: room for the longest that is registered, and for no message.
const TYPE_CHARS_MAX: usize = 80;
/// A part ends at a line's end, if there is one in this last part of it.
const LINE_END_WITHIN: usize = 10;

/// A body, as a model is told of it.
pub(crate) struct Body {
    /// Such as `text/html`.
    pub(crate) media_type: String,
    pub(crate) kind: Kind,
    /// What is to be known beside it.
    pub(crate) notes: Vec<String>,
}

/// What it is.
pub(crate) enum Kind {
    Text(String),
    /// Why there is no text.
    Other(String),
}

/// How a body is to be read, by its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Text,
    Binary,
}

impl Body {
    /// Reads a body; `is_raw`: HTML stays as it is.
    pub(crate) fn of(response: &Response, is_raw: bool) -> Body {
        let given = header(response, "content-type").unwrap_or_default();
        let essence = essence(given);
        let bytes = response.body.as_slice();
        let form = match essence.as_deref() {
            None | Some("application/octet-stream") => sniffed(bytes),
            Some(essence) => form(essence),
        };
        let media_type = essence.unwrap_or_else(|| "no type".to_owned());
        let mut notes = Vec::new();
        if header(response, "content-encoding").is_some_and(|coding| !is_identity(coding)) {
            let why = "It is compressed, which was not asked for, and not shown".to_owned();
            return Body { media_type, kind: Kind::Other(why), notes };
        }
        if form == Form::Binary {
            let why = "It is not text, and not shown".to_owned();
            return Body { media_type, kind: Kind::Other(why), notes };
        }
        let text = decode(bytes, charset(given), form == Form::Html, &mut notes);
        let kind = match form {
            Form::Html if !is_raw => Kind::Text(readable(text, &mut notes)),
            _ => Kind::Text(text),
        };
        Body { media_type, kind, notes }
    }
}

/// HTML as text.
fn readable(text: String, notes: &mut Vec<String>) -> String {
    let Some(page) = html::read(&text) else {
        notes.push("it cannot be shown as text, so this is the HTML".to_owned());
        return text;
    };
    if let Some(title) = page.title {
        notes.push(format!("title {:?}", cut(&title, TITLE_CHARS_MAX)));
    }
    if page.is_cut {
        notes.push("it is so large that only its beginning was read; raw = true has all of it".to_owned());
    }
    if page.text.trim().is_empty() {
        notes.push("the page has no text without its scripts; try raw = true".to_owned());
    }
    page.text
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    let found = response.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// The type alone, in small letters; none: there is none that could be one.
fn essence(content_type: &str) -> Option<String> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+/".contains(c);
    let is_one = essence.contains('/') && essence.len() <= TYPE_CHARS_MAX && essence.chars().all(is_token);
    is_one.then_some(essence)
}

fn charset(content_type: &str) -> Option<&str> {
    let mut parameters = content_type.split(';').skip(1);
    parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })
}

fn form(essence: &str) -> Form {
    const TEXTS: [&str; 14] = [
        "application/json",
        "application/ld+json",
        "application/xml",
        "application/javascript",
        "application/ecmascript",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/yaml",
        "application/toml",
        "application/sql",
        "application/graphql",
        "message/rfc822",
    ];
    match essence {
        "text/html" | "application/xhtml+xml" => Form::Html,
        _ if essence.starts_with("text/") || TEXTS.contains(&essence) => Form::Text,
        _ if ["+json", "+xml", "+yaml", "+text"].iter().any(|end| essence.ends_with(end)) => Form::Text,
        _ => Form::Binary,
    }
}

/// What a body without a type looks like.
fn sniffed(bytes: &[u8]) -> Form {
    if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
        return Form::Binary;
    }
    let start =
        String::from_utf8_lossy(&bytes[..bytes.len().min(META_BYTES)]).trim_start().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") { Form::Html } else { Form::Text }
}

fn is_identity(coding: &str) -> bool {
    let coding = coding.trim();
    coding.is_empty() || coding.eq_ignore_ascii_case("identity")
}

/// Bytes as text: by their byte order mark, else by what the response says, else by what the HTML says, else as
/// UTF-8 if they are, else as browsers would.
fn decode(bytes: &[u8], named: Option<&str>, is_html: bool, notes: &mut Vec<String>) -> String {
    let by_name = named.and_then(|label| match Encoding::for_label(label.as_bytes()) {
        Some(encoding) => Some(encoding),
        None => {
            notes.push(format!("its charset {:?} is not known", cut(label, 40)));
            None
        }
    });
    let in_html = || if is_html { meta(bytes) } else { None };
    let encoding = Encoding::for_bom(bytes).map(|(encoding, _)| encoding).or(by_name).or_else(in_html);
    let encoding =
        encoding.unwrap_or_else(|| if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 });
    let (text, encoding, had_errors) = encoding.decode(bytes);
    if encoding != UTF_8 {
        notes.push(format!("read as {}", encoding.name()));
    }
    if had_errors {
        notes.push(format!("not all of it is {}; what is not reads \u{fffd}", encoding.name()));
    }
    text.into_owned()
}

/// The charset that HTML names in its head.
fn meta(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(META_BYTES)]).to_ascii_lowercase();
    let (_, rest) = start.split_once("<meta").and_then(|_| start.split_once("charset="))?;
    let label: String = rest
        .trim_start_matches(['"', '\'', ' '])
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
        .collect();
    let found = Encoding::for_label(label.as_bytes())?;
    // What can be read as ASCII is none of these, whatever it says (HTML, "prescan a byte stream").
    Some(if found == encoding_rs::UTF_16LE || found == encoding_rs::UTF_16BE { UTF_8 } else { found })
}

/// The beginning of a text.
pub(crate) fn cut(text: &str, chars_max: usize) -> &str {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

/// What comes after so many characters.
pub(crate) fn after(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or("", |(at, _)| &text[at..])
}

/// The beginning of a text, up to a line's end if there is one near.
pub(crate) fn part(text: &str, chars_max: usize) -> &str {
    let part = cut(text, chars_max);
    if part.len() == text.len() {
        return part;
    }
    let near = part.len() - part.len() / LINE_END_WITHIN;
    match part.rfind('\n') {
        Some(at) if at + 1 >= near => &part[..=at],
        _ => part,
    }
}
