//! Selecting and renaming tools.

use serde_spanned::Spanned;

use super::super::{Chosen, Manifest, Name, Offer, select};
use super::{HEAD, lines};
use rewake_toml::Error;

fn name(text: &str) -> Name {
    text.parse().expect("the test's own name is well-formed")
}

/// What two bundles bring; both have a `list_files`.
fn offers() -> Vec<Offer> {
    let offers = [
        ("acme/word-tools", "words", "count_words"),
        ("acme/word-tools", "words", "list_files"),
        ("rewake/files", "files", "list_files"),
        ("rewake/files", "files", "read_file"),
    ];
    offers
        .iter()
        .map(|(bundle, component, tool)| Offer::new(&name(bundle), component, tool).unwrap())
        .collect()
}

/// Selects with `tools = …` as a manifest has it, at line 7.
fn chosen(tools: &str, offers: &[Offer]) -> Result<Vec<Chosen>, Error> {
    let text = format!("{HEAD}[agent]\ntools = {tools}\n");
    let manifest = Manifest::parse(&text, "bundle.toml")?;
    let picks = manifest.agent.as_ref().and_then(|agent| agent.tools.as_deref());
    select(picks, manifest.source(), &manifest.name, offers)
}

#[track_caller]
fn check(tools: &str, expected: &[&str]) {
    let chosen = chosen(tools, &offers()).unwrap_or_else(|error| panic!("{tools}:\n{error}"));
    let shown: Vec<String> = chosen
        .iter()
        .map(|chosen| format!("{} = {}:{}", chosen.name, chosen.offer.bundle, chosen.offer.tool))
        .collect();
    assert_eq!(shown, expected, "{tools}");
}

#[track_caller]
fn check_refused(tools: &str, expected: &[&str]) {
    let error = chosen(tools, &offers()).expect_err("it is refused");
    assert_eq!(lines(&error), expected, "{tools}");
}

#[test]
fn patterns_select_in_their_order_and_each_tool_once() {
    check("[]", &[]);
    check("[\"count_words\"]", &["count_words = acme/word-tools:count_words"]);
    check(
        "[\"read_file\", \"rewake/files:*\", \"count_words\", \"read_file\"]",
        &[
            "read_file = rewake/files:read_file",
            "list_files = rewake/files:list_files",
            "count_words = acme/word-tools:count_words",
        ],
    );
}

#[test]
fn a_rename_tells_two_tools_apart() {
    let renamed = &["list_files = acme/word-tools:list_files", "ls = rewake/files:list_files"];
    check("[\"acme/word-tools:list_files\", { from = \"rewake/files:list_files\", as = \"ls\" }]", renamed);
    check("[\"list_files\", { from = \"rewake/files:list_files\", as = \"ls\" }]", renamed);
    check("[{ from = \"read_file\", as = \"cat\" }]", &["cat = rewake/files:read_file"]);
    check(
        "[{ from = \"rewake/files:read_file\", as = \"cat\" }, \"rewake/files:*\"]",
        &["cat = rewake/files:read_file", "list_files = rewake/files:list_files"],
    );
}

#[test]
fn without_picks_the_bundle_s_own_tools_are_meant() {
    let source = rewake_toml::SourceText::new("bundle.toml", HEAD);
    let chosen = select(None, &source, &name("rewake/files"), &offers()).unwrap();
    let names: Vec<&str> = chosen.iter().map(|chosen| chosen.name.as_str()).collect();
    assert_eq!(names, ["list_files", "read_file"]);
    let spanned: [Spanned<super::super::ToolPick>; 0] = [];
    assert!(select(Some(&spanned), &source, &name("rewake/files"), &offers()).unwrap().is_empty());
}

#[test]
fn the_same_name_twice_is_refused_with_the_way_out() {
    check_refused(
        "[\"acme/word-tools:*\", \"rewake/files:*\"]",
        &[
            "7:31 two tools are named `list_files`: acme/word-tools:list_files (component words) and rewake/files:list_files (component files) | rename one: tools = [{ from = \"rewake/files:list_files\", as = \"another_name\" }, …]",
        ],
    );
    check_refused(
        "[\"list_files\"]",
        &[
            "7:10 two tools are named `list_files`: acme/word-tools:list_files (component words) and rewake/files:list_files (component files) | rename one: tools = [{ from = \"rewake/files:list_files\", as = \"another_name\" }, …]",
        ],
    );
    check_refused(
        "[\"read_file\", { from = \"count_words\", as = \"read_file\" }]",
        &[
            "7:23 two tools are named `read_file`: rewake/files:read_file (component files) and acme/word-tools:count_words (component words) | rename one: tools = [{ from = \"acme/word-tools:count_words\", as = \"another_name\" }, …]",
        ],
    );
    check_refused(
        "[{ from = \"list_files\", as = \"ls\" }]",
        &[
            "7:10 `as = \"ls\"` would name two tools | say which one: acme/word-tools:list_files (component words) or rewake/files:list_files (component files)",
        ],
    );
    check_refused(
        "[{ from = \"read_file\", as = \"cat\" }, { from = \"read_file\", as = \"type\" }]",
        &[
            "7:46 rewake/files:read_file (component files) is renamed to `cat` before | a tool has one name in a session: keep one of the two",
        ],
    );
}

#[test]
fn two_components_of_one_bundle_can_only_be_told_apart_by_their_author() {
    let twice = ["a", "b"].map(|component| Offer::new(&name("acme/x"), component, "t").unwrap());
    let error = chosen("[\"acme/x:*\"]", &twice).expect_err("two tools have one name");
    assert_eq!(
        lines(&error),
        [
            "7:10 two tools are named `t`: acme/x:t (component a) and acme/x:t (component b) | only their author can tell them apart: rename one in acme/x"
        ]
    );
}

#[test]
fn a_pick_that_selects_nothing_is_refused_with_the_nearest() {
    check_refused("[\"read_fil\"]", &["7:10 no tool `read_fil` is here | did you mean `read_file`?"]);
    check_refused(
        "[\"rewake/file:*\"]",
        &["7:10 no bundle `rewake/file` with tools is here | did you mean `rewake/files`?"],
    );
    check_refused(
        "[\"other/thing:*\"]",
        &[
            "7:10 no bundle `other/thing` with tools is here | bundles with tools here: `acme/word-tools` and `rewake/files`; add it to `use` of [bundle]",
        ],
    );
    check_refused(
        "[\"words\"]",
        &[
            "7:10 no tool `words` is here | `words` is a component; its tools are `count_words` and `list_files`",
        ],
    );
    check_refused(
        "[\"rewake/files:count_words\"]",
        &["7:10 no tool `count_words` is here | tools here: `list_files` and `read_file`"],
    );
}

#[test]
fn a_guest_cannot_list_a_tool_with_another_kind_of_name() {
    for tool in ["", "a b", "../x", "a\u{1b}[2J", &"x".repeat(65)] {
        let invalid = Offer::new(&name("acme/x"), "c", tool).expect_err("it is not a tool's name");
        assert!(
            invalid.message.starts_with("the component c of acme/x lists a tool: "),
            "{}",
            invalid.message
        );
    }
}
