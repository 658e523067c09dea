//! docs/bundle-toml.md: it explains every key that the reader knows and no other, and its example is read.

use std::collections::BTreeSet;

use rewake_core::fact::PluginKind;

use super::HEAD;
use crate::Manifest;

/// Where every key is explained.
const DOCUMENT: &str = include_str!("../../../../docs/bundle-toml.md");
/// The authors' guide, whose manifests are read too.
const GUIDE: &str = include_str!("../../../../docs/authors.md");
/// A key that no table has, and that is like none.
const WRONG: &str = "qqqqqqqqqqqq";

/// The known keys of the table that has the wrong one, as the reader itself lists them.
fn known(text: &str) -> Vec<String> {
    let error = Manifest::parse(text, "bundle.toml").expect_err("a wrong key").to_string();
    let mut told = error.lines().skip_while(|line| !line.contains(WRONG));
    let list = told.find_map(|line| line.split_once("known here: "));
    let (_, list) = list.unwrap_or_else(|| panic!("no list of keys in:\n{error}"));
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_known() {
    let component = |below: &str, rest: &str| {
        format!("{HEAD}[component.x]\nkind = \"tool\"\nsource = \"x.wasm\"\n[component.x{below}]\n{rest}")
    };
    let tables = [
        ("", format!("{WRONG} = 1\n{HEAD}")),
        ("bundle.", format!("{HEAD}{WRONG} = 1")),
        ("agent.", format!("{HEAD}[agent]\n{WRONG} = 1")),
        ("agent.tools.", format!("{HEAD}[agent]\ntools = [{{ {WRONG} = 1 }}]")),
        ("component.NAME.", format!("{HEAD}[component.x]\n{WRONG} = 1")),
        ("component.NAME.asks.", component(".asks", &format!("{WRONG} = 1"))),
        ("component.NAME.asks.fs.", component(".asks", &format!("fs = [{{ {WRONG} = 1 }}]"))),
        ("component.NAME.asks.http.", component(".asks", &format!("http = [{{ {WRONG} = 1 }}]"))),
        (
            "component.NAME.asks.http.secret.",
            component(".asks", &format!("http = [{{ secret = {{ {WRONG} = 1 }} }}]")),
        ),
        ("component.NAME.asks.models.", component(".asks", &format!("models = [{{ {WRONG} = 1 }}]"))),
        ("component.NAME.limits.", component(".limits", &format!("{WRONG} = 1"))),
        ("component.NAME.on.", format!("{HEAD}[component.x]\non = [{{ {WRONG} = 1 }}]")),
        ("config.KEY.", format!("{HEAD}[config.x]\n{WRONG} = 1")),
    ];
    let keys =
        tables.iter().flat_map(|(path, text)| known(text).into_iter().map(move |key| format!("{path}{key}")));
    let keys: BTreeSet<String> = keys.collect();
    let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `"));
    let documented: BTreeSet<String> =
        rows.filter_map(|row| row.split_once("` |")).map(|(key, _)| key.to_owned()).collect();
    assert_eq!(documented, keys);
}

/// The text of each fenced block of this language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("\n```{language}\n");
    text.split(fence.as_str())
        .skip(1)
        .filter_map(|rest| rest.split_once("\n```"))
        .map(|(block, _)| block)
        .collect()
}

#[test]
fn manifests_in_the_documents_are_read() {
    let example = blocks(DOCUMENT, "toml");
    let [example] = example.as_slice() else { panic!("one example: {example:?}") };
    let manifest = Manifest::parse(example, "docs/bundle-toml.md").unwrap_or_else(|error| panic!("{error}"));
    let kinds: Vec<PluginKind> = manifest.components.iter().map(|component| component.kind).collect();
    assert_eq!(kinds, [PluginKind::Harness, PluginKind::Tool, PluginKind::Hook]);

    let pieces = blocks(GUIDE, "toml");
    assert!(!pieces.is_empty(), "the guide shows manifests");
    for piece in pieces {
        let text = if piece.starts_with("schema = ") { piece.to_owned() } else { format!("{HEAD}{piece}") };
        Manifest::parse(&text, "docs/authors.md").unwrap_or_else(|error| panic!("{piece}\n\n{error}"));
    }
}
