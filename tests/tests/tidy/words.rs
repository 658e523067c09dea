//! The rule that documents, texts of the program and comments use the field's standard words. Documents have none of the
//! listed phrases. A table in the tree says how many are in each crate's string literals, doc comments and other comments:
//! these numbers only fall.
//!
//! Knows phrases with their replacements, and what is prose in Markdown and in Rust. Knows no grammar.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, LitStr, Macro, Meta};

use crate::functions::{is_test, is_test_file};
use crate::modules::named;
use crate::tree::Violation;

/// The table: a crate's folder, and the counts of its kinds of text.
pub(crate) const TABLE: &str = "tests/tests/tidy/words.txt";
/// Set to write lower counts, and rows of new crates, into the table.
pub(crate) const UPDATE: &str = "UPDATE_WORDS";
/// On a line that may have a phrase: `// tidy: anew`, `<!-- tidy: anew -->`.
const ALLOWED: &str = "tidy: ";

/// What not to write, and what to write. `|` divides words of which one matches, `*` is any word.
const PHRASES: [(&str, &str); 24] = [
    ("let|lets|letting go of", "unload, release"),
    ("take|takes|taken|taking|took up", "load, resume"),
    ("take|takes|taken|taking|took * up", "load, resume"),
    ("take|takes|taken|taking|took * * up", "load, resume"),
    ("take|takes|taken|taking|took in", "accept"),
    ("take|takes|taken|taking|took back", "cancel, undo"),
    ("told", "reported, shown, returned, logged"),
    ("go|goes|going|gone|went on", "resume, continue"),
    ("void", "discarded"),
    ("mend|mends|mended|mending", "fix, repair"),
    ("stand|stands|standing|stood in", "is in"),
    ("of before", "previous, older"),
    ("as before", "previous, as in …"),
    ("given back", "restored, returned"),
    ("read|reads back", "restored, replayed"),
    ("is|are none", "invalid; there is no …"),
    ("none that can be", "invalid, out of range"),
    ("spoil|spoils|spoilt|spoiling", "corrupted, malformed"),
    ("anew", "again"),
    ("the host could not", "runtime error"),
    ("see|sees|seen to it", "ensure, check"),
    ("whoever", "name the role"),
    ("so many", "n, a number of"),
    ("what is due", "name the thing"),
];
/// What not to write where the program speaks to its user.
const IN_LITERALS: [(&str, &str); 2] =
    [("a person", "you, user, operator"), ("people", "you, users, operators")];

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Literal,
    Doc,
    Comment,
}

const KINDS: [(Kind, &str); 3] =
    [(Kind::Literal, "string literals"), (Kind::Doc, "doc comments"), (Kind::Comment, "comments")];

/// A phrase in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    path: String,
    line: usize,
    kind: Kind,
    words: String,
    instead: &'static str,
}

impl Found {
    fn violation(&self, more: &str) -> Violation {
        Violation::new(&self.path, self.line, format!("`{}`: write {}{more}", self.words, self.instead))
    }
}

/// The phrases of each crate, by its folder.
pub(crate) type Counted = BTreeMap<String, Vec<Found>>;

/// Lines with their numbers.
type Lines = Vec<(usize, String)>;

/// Checks a Markdown file outside of its code, which is quoted from the program.
pub(crate) fn in_prose(path: &str, text: &str) -> Vec<Violation> {
    let mut lines = Lines::new();
    let mut in_block = false;
    for (line, number) in text.lines().zip(1..) {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        let prose: Vec<&str> = line.split('`').step_by(2).collect();
        lines.push((number, if is_fence || in_block { "`".to_owned() } else { prose.join("`") }));
    }
    phrases(path, text, Kind::Doc, &lines).iter().map(|found| found.violation("")).collect()
}

/// The phrases in a Rust file.
pub(crate) fn in_rust(path: &str, text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    for (kind, lines) in comments(text) {
        found.extend(phrases(path, text, kind, &lines));
    }
    // What is not Rust is the business of `functions`.
    let is_product = !is_test_file(path) && !path.starts_with("tests/");
    if let (true, Ok(file)) = (is_product, syn::parse_file(text)) {
        let mut literals = Literals(Vec::new());
        literals.visit_file(&file);
        found.extend(literals.0.iter().flat_map(|lines| phrases(path, text, Kind::Literal, lines)));
    }
    found
}

/// Comments; those of lines that follow each other are one text.
fn comments(text: &str) -> Vec<(Kind, Lines)> {
    let mut found: Vec<(Kind, Lines)> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let Some((kind, comment)) = comment(line) else { continue };
        match found.last_mut() {
            Some((of, lines)) if *of == kind && lines.last().is_some_and(|(last, _)| last + 1 == number) => {
                lines.push((number, comment.to_owned()));
            }
            _ => found.push((kind, vec![(number, comment.to_owned())])),
        }
    }
    found
}

fn comment(line: &str) -> Option<(Kind, &str)> {
    let start = line.trim_start();
    let doc = start.strip_prefix("//!").or(start.strip_prefix("///").filter(|rest| !rest.starts_with('/')));
    if let Some(doc) = doc {
        return Some((Kind::Doc, doc));
    }
    let (before, comment) = line.split_once("// ")?;
    let is_outside =
        before.trim().is_empty() || before.ends_with(' ') && before.matches('"').count() % 2 == 0;
    is_outside.then_some((Kind::Comment, comment))
}

/// The string literals of product code, but for doc comments.
struct Literals(Vec<Lines>);

impl Literals {
    fn literal(&mut self, line: usize, literal: &LitStr) {
        self.0.push(literal.value().lines().map(|text| (line, text.to_owned())).collect());
    }

    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(text) = syn::parse_str(&literal.to_string()) {
                        self.literal(literal.span().start().line, &text);
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(named(item).0) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match &attribute.meta {
            Meta::List(list) => self.tokens(list.tokens.clone()),
            meta if !meta.path().is_ident("doc") => visit::visit_attribute(self, attribute),
            _ => {}
        }
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.tokens(item.tokens.clone());
    }

    fn visit_lit_str(&mut self, literal: &'ast LitStr) {
        self.literal(literal.span().start().line, literal);
    }
}

/// The phrases in lines of a file.
fn phrases(path: &str, file: &str, kind: Kind, lines: &Lines) -> Vec<Found> {
    let words = words(lines);
    let of_literals: &[(&str, &str)] = if kind == Kind::Literal { &IN_LITERALS } else { &[] };
    let mut found = Vec::new();
    for at in 0..words.len() {
        let here = |(phrase, _): &&(&str, &'static str)| matches(phrase, &words[at..]);
        let Some((phrase, instead)) = PHRASES.iter().chain(of_literals).find(here) else { continue };
        let matched = &words[at..at + phrase.split(' ').count()];
        let matched = matched.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>().join(" ");
        let line = words[at].0;
        let allowed = file.lines().nth(line - 1).and_then(|text| text.split_once(ALLOWED));
        if allowed.is_none_or(|(_, allowed)| !allowed.contains(&matched)) {
            found.push(Found { path: path.to_owned(), line, kind, words: matched, instead });
        }
    }
    found
}

/// Words in small letters with their lines; an empty one where something stands between two words.
fn words(lines: &Lines) -> Vec<(usize, String)> {
    let is_of_word = |c: char| c.is_alphanumeric() || "_-'".contains(c);
    let mut words = Vec::new();
    for (number, line) in lines {
        for part in line.split_whitespace() {
            for (index, word) in part.split(|c| !is_of_word(c)).enumerate() {
                if index > 0 {
                    words.push((*number, String::new()));
                }
                if !word.is_empty() {
                    words.push((*number, word.to_lowercase()));
                }
            }
        }
    }
    words
}

fn matches(phrase: &str, words: &[(usize, String)]) -> bool {
    let mut next = words.iter();
    phrase.split(' ').all(|wanted| {
        let word = next.next().map_or("", |(_, word)| word);
        !word.is_empty() && (wanted == "*" || wanted.split('|').any(|wanted| wanted == word))
    })
}

fn count(found: &[Found]) -> [usize; 3] {
    KINDS.map(|(kind, _)| found.iter().filter(|found| found.kind == kind).count())
}

fn rows(table: &str) -> BTreeMap<&str, [usize; 3]> {
    let rows = table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let folder = fields.next()?;
        let mut number = || fields.next()?.parse().ok();
        Some((folder, [number()?, number()?, number()?]))
    });
    rows.collect()
}

/// Where a crate has more phrases than the table says, or fewer.
pub(crate) fn kept(table: &str, counted: &Counted) -> Vec<Violation> {
    let rows = rows(table);
    let mut violations = Vec::new();
    for (folder, found) in counted {
        let were = rows.get(folder.as_str()).copied().unwrap_or_default();
        for (((kind, name), is), was) in KINDS.into_iter().zip(count(found)).zip(were) {
            let differs = format!("`{folder}` has {is} of these phrases in {name}, and {was} in `{TABLE}`");
            if is < was {
                let rule = format!(
                    "{differs}: write the lower number, `{UPDATE}=1 cargo test -p rewake-tests --test tidy`"
                );
                violations.push(Violation::new(TABLE, 1, rule));
            } else if is > was {
                let found = found.iter().filter(|found| found.kind == kind);
                violations.extend(found.map(|found| found.violation(&format!("; {differs}"))));
            }
        }
    }
    violations
}

/// The table with lower counts where there are fewer phrases, and rows for new crates.
pub(crate) fn updated(table: &str, counted: &Counted) -> String {
    let rows = rows(table);
    let head = "# How many of the phrases that are not to be written (words.rs) each crate has. The numbers only fall.\n\
                # crate, string literals, doc comments, comments\n";
    let lines = counted.iter().map(|(folder, found)| {
        let is = count(found);
        let most = rows.get(folder.as_str()).unwrap_or(&is);
        let [literals, docs, comments] = [0, 1, 2].map(|kind| is[kind].min(most[kind]));
        format!("{folder:<24}{literals:>6}{docs:>6}{comments:>6}\n")
    });
    head.to_owned() + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> Vec<(Kind, usize, String)> {
        in_rust("host/a/src/a.rs", text)
            .into_iter()
            .map(|found| (found.kind, found.line, found.words))
            .collect()
    }

    #[test]
    fn phrases_are_found_in_each_kind_of_text() {
        let text = "//! Whoever reads.\n/// It goes\n/// on.\nfn f() { // made anew\n    say!(\"a {}\n it is told\", x);\n}\n";
        let found = rust(text);
        let found: Vec<_> = found.iter().map(|(kind, line, words)| (*kind, *line, words.as_str())).collect();
        assert_eq!(
            found,
            [
                (Kind::Doc, 1, "whoever"),
                (Kind::Doc, 2, "goes on"),
                (Kind::Comment, 4, "anew"),
                (Kind::Literal, 5, "told"),
            ]
        );
    }

    #[test]
    fn phrases_are_found_across_lines_and_not_in_code() {
        let lines = |text: &str| in_prose("a.md", text).iter().map(|found| found.line).collect::<Vec<_>>();
        assert_eq!(lines("It lets\ngo of it. Mended.\n\n```\nmend\n```\nlet\n```\n```\ngo of\n"), [1, 2]);
        assert_eq!(lines("It takes up\nto 5 s, amended."), [1]);
        assert!(lines("`goes on` and `takes` up. A commander emends it.").is_empty());
    }

    #[test]
    fn words_are_whole_and_follow_each_other() {
        for text in ["untold retold", "goes. On", "goes, on", "it_is_told()", "take all of it up", "void_ptr"]
        {
            assert_eq!(in_prose("a.md", text), [], "{text}");
        }
        for text in ["Told.", "(told)", "goes\non", "takes it up", "take the session up", "\"is none\""] {
            assert_eq!(in_prose("a.md", text).len(), 1, "{text}");
        }
        assert_eq!(rust("const A: &str = \"a person\"; // a person\n").len(), 1);
    }

    #[test]
    fn test_code_and_allowed_lines_are_left_out() {
        let literal = "fn f() -> &'static str { \"told\" }\n";
        assert_eq!(rust(literal).len(), 1);
        assert_eq!(rust(&format!("#[cfg(test)]\nmod tests {{ {literal} }}")).len(), 0);
        assert_eq!(rust(&literal.replace('\n', " // tidy: told\n")).len(), 0);
        assert_eq!(rust(&literal.replace('\n', " // tidy: void\n")).len(), 1);
        assert_eq!(in_rust("host/a/src/tests.rs", literal), []);
        assert_eq!(in_rust("tests/src/a.rs", literal), []);
        assert_eq!(in_prose("a.md", "It is told. <!-- tidy: told -->"), []);
        assert_eq!(rust("#[error(\"it is told\")]\nstruct A;\n#[doc = \"told\"]\nstruct B;\n").len(), 1);
    }

    #[test]
    fn counts_fall_and_never_rise() {
        let counted = |texts: &[(&str, &str)]| -> Counted {
            let found = |text: &str| in_rust("host/a/src/a.rs", &format!("/// {text}\n"));
            texts.iter().map(|(folder, text)| ((*folder).to_owned(), found(text))).collect()
        };
        let table = updated("", &counted(&[("host/a", "told anew"), ("host/b", "fine")]));
        assert_eq!(rows(&table), BTreeMap::from([("host/a", [0, 2, 0]), ("host/b", [0, 0, 0])]));
        assert_eq!(kept(&table, &counted(&[("host/a", "told, told")])), []);
        let more = counted(&[("host/a", "told, told, told"), ("host/c", "told")]);
        assert_eq!(kept(&table, &more).len(), 4);
        let fewer = counted(&[("host/a", "told")]);
        assert_eq!(kept(&table, &fewer).len(), 1);
        assert_eq!(rows(&updated(&table, &fewer)), BTreeMap::from([("host/a", [0, 1, 0])]));
        let both = updated(&table, &more);
        assert_eq!(rows(&both), BTreeMap::from([("host/a", [0, 2, 0]), ("host/c", [0, 1, 0])]));
    }
}
