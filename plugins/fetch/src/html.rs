//! HTML as text that a model reads: headings, lists, tables, and links with where they lead.
//!
//! Knows elements. Does not run scripts, nor know what a page looks like.

use html2text::config;
use html2text::render::TextDecorator;

/// Columns of a line. What is preformatted and wider is broken; tables are laid out in as many.
const COLUMNS: usize = 200;
/// Characters of a link's URL: what is longer leads nowhere that a person would name.
const LINK_CHARS_MAX: usize = 500;
/// Tags that are read: each takes memory, several hundred bytes of it.
const TAGS_MAX: usize = 50_000;
/// Bytes in which a title is looked for, and may be long.
const TITLE_BYTES: usize = 64 << 10;

/// A page.
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    /// There is more of it, which was not read.
    pub(crate) is_cut: bool,
}

/// Reads HTML; none: it cannot be laid out.
pub(crate) fn read(html: &str) -> Option<Page> {
    let end = html.match_indices('<').nth(TAGS_MAX).map(|(at, _)| at);
    let text = lay_out(&html[..end.unwrap_or(html.len())])?;
    Some(Page { title: title(html), text: tidy(&text), is_cut: end.is_some() })
}

fn lay_out(html: &str) -> Option<String> {
    let config = config::with_decorator(Markdown::default())
        .allow_width_overflow()
        .no_link_wrapping()
        .no_table_borders();
    config.string_from_read(html.as_bytes(), COLUMNS).ok()
}

/// The text of the first `title`, on one line.
fn title(html: &str) -> Option<String> {
    let (_, rest) = split_at_tag(html, "<title")?;
    let (_, rest) = rest.split_once('>')?;
    let (inner, _) = split_at_tag(rest, "</title")?;
    // Only what stands for characters is to be read, and no element begins with this.
    let text = lay_out(&inner.replace('<', "&lt;"))?;
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(words.join(" ")).filter(|title| !title.is_empty())
}

/// What stands before and after a tag, however it is written, near the beginning.
fn split_at_tag<'a>(html: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let near = html.as_bytes().get(..TITLE_BYTES).unwrap_or(html.as_bytes());
    let at = near.windows(tag.len()).position(|part| part.eq_ignore_ascii_case(tag.as_bytes()))?;
    Some((&html[..at], &html[at + tag.len()..]))
}

/// Without white space at the ends of lines, and with one empty line at most between two others.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines().map(str::trim_end) {
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            tidy.push_str(line);
            tidy.push('\n');
        }
    }
    tidy.trim_matches('\n').to_owned()
}

/// What stands around pieces of text.
#[derive(Clone, Debug, Default)]
struct Markdown {
    /// Where the links that are open lead; none: nowhere that could be fetched.
    links: Vec<Option<String>>,
}

/// Whether a link leads to another page.
fn leads_on(url: &str) -> bool {
    let start = url.trim_start().to_ascii_lowercase();
    let is_here = start.is_empty() || start.starts_with('#');
    let is_none = ["javascript:", "data:", "blob:"].iter().any(|scheme| start.starts_with(scheme));
    !is_here && !is_none && url.chars().count() <= LINK_CHARS_MAX
}

impl TextDecorator for Markdown {
    type Annotation = ();

    fn decorate_link_start(&mut self, url: &str) -> (String, ()) {
        let url = Some(url).filter(|url| leads_on(url));
        let start = if url.is_some() { "[" } else { "" };
        self.links.push(url.map(|url| url.split_whitespace().collect()));
        (start.to_owned(), ())
    }

    fn decorate_link_end(&mut self) -> String {
        match self.links.pop().flatten() {
            Some(url) => format!("]({url})"),
            None => String::new(),
        }
    }

    fn decorate_em_start(&self) -> (String, ()) {
        ("*".to_owned(), ())
    }

    fn decorate_em_end(&self) -> String {
        "*".to_owned()
    }

    fn decorate_strong_start(&self) -> (String, ()) {
        ("**".to_owned(), ())
    }

    fn decorate_strong_end(&self) -> String {
        "**".to_owned()
    }

    fn decorate_strikeout_start(&self) -> (String, ()) {
        ("~~".to_owned(), ())
    }

    fn decorate_strikeout_end(&self) -> String {
        "~~".to_owned()
    }

    fn decorate_code_start(&self) -> (String, ()) {
        ("`".to_owned(), ())
    }

    fn decorate_code_end(&self) -> String {
        "`".to_owned()
    }

    fn decorate_preformat_first(&self) {}

    fn decorate_preformat_cont(&self) {}

    fn decorate_image(&mut self, _: &str, title: &str) -> (String, ()) {
        (if title.is_empty() { String::new() } else { format!("[image: {title}]") }, ())
    }

    fn header_prefix(&self, level: usize) -> String {
        format!("{} ", "#".repeat(level))
    }

    fn quote_prefix(&self) -> String {
        "> ".to_owned()
    }

    fn unordered_item_prefix(&self) -> String {
        "- ".to_owned()
    }

    fn ordered_item_prefix(&self, number: i64) -> String {
        format!("{number}. ")
    }

    fn make_subblock_decorator(&self) -> Self {
        Markdown::default()
    }
}
