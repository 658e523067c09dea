//! How rules are read: what is wrong is told with its place, and nothing makes the reader fall over.

use proptest::{prelude::*, test_runner::RngSeed};

use crate::parse::parse;

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (rules, line, column, words) in [
        ("allow *", 1, 1, "begins with `deny` or `ask`, not `allow`"),
        ("ask *\n\n  Deny *", 3, 3, "not `Deny`"),
        ("deny", 1, 5, "`deny` wants tools"),
        ("deny -- never", 1, 6, "`deny` wants tools"),
        ("deny path=.env", 1, 6, "`path=.env` is not a name of a tool"),
        ("deny a||b", 1, 8, "`` is not a name"),
        ("deny ä|b", 1, 6, "`ä` is not a name"),
        ("deny a|ä", 1, 8, "`ä` is not a name"),
        ("ask * paht=.env", 1, 7, "`paht` is no condition"),
        ("ask * =x", 1, 7, "`=x` is no condition"),
        ("ask * path", 1, 11, "wants `=` or `!=`"),
        ("ask * path =x", 1, 11, "wants `=` or `!=`"),
        ("ask * path=", 1, 12, "names no path"),
        ("ask * path=a|", 1, 14, "names no path"),
        ("ask * path=../a", 1, 12, "names no path"),
        ("ask * path=\"a b", 1, 12, "is not closed"),
        ("ask * path=\"a\"b", 1, 15, "a space is wanted"),
        ("ask * pattern=x", 1, 15, "between two `/`"),
        ("ask * pattern=/x", 1, 15, "is not closed"),
        ("ask * pattern=/x\\", 1, 15, "is not closed"),
        ("ask * pattern=//", 1, 15, "found everywhere"),
        ("ask * pattern=/(/", 1, 15, "not a regular expression"),
        ("ask * pattern=/(?:a{1000}){1000}/", 1, 15, "not a regular expression"),
        ("ask * pattern=/x/g", 1, 18, "a space is wanted"),
        ("ask * capability=web", 1, 18, "`web` is not one of `http`, `fs-ro`, `fs-rw`"),
        ("ask * effect=pure|twice", 1, 19, "`twice` is not one of `pure`, `idempotent`, `once`"),
    ] {
        let problem = parse(rules).expect_err(rules);
        assert_eq!((problem.line, problem.column), (line, column), "{rules}: {problem}");
        let text = problem.to_string();
        assert!(text.starts_with(&format!("line {line}, column {column}: ")), "{text}");
        assert!(text.contains(words), "{rules}: {text}");
    }
}

#[test]
fn rules_are_bounded() {
    assert_eq!(parse(&"ask a\n".repeat(200)).map(|rules| rules.len()).ok(), Some(200));
    assert_eq!(parse(&"ask a\n".repeat(201)).expect_err("too many").line, 201);
    assert_eq!(parse(&format!("ask {}", "a".repeat(2_000))).expect_err("too long").line, 1);
}

#[test]
fn a_rule_is_kept_as_it_is_written() {
    let rules =
        parse("  deny  write_* path=\"a \\\"b\"|c pattern!=/a\\/b/i   -- because -- of it  ").expect("rules");
    assert_eq!(rules[0].text, "deny  write_* path=\"a \\\"b\"|c pattern!=/a\\/b/i");
    assert_eq!(rules[0].why.as_deref(), Some("because -- of it"));
    assert_eq!(rules[0].tools, ["write_*"]);
    let signs: Vec<bool> = rules[0].conditions.iter().map(|condition| condition.is_negated).collect();
    assert_eq!(signs, [false, true]);
}

/// The rules that the documents show.
#[test]
fn documented_rules_can_be_read() {
    let document = include_str!("../../../../docs/plugins.md");
    let (_, rules) = document.split_once("rules = '''\n").expect("rules in the document");
    let (rules, _) = rules.split_once("'''").expect("their end");
    assert_eq!(parse(rules).map(|rules| rules.len()), Ok(5));
}

/// Pieces of which rules are made, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "deny",
        "ask",
        " ",
        " ",
        "\n",
        "*",
        "|",
        "a_b",
        "path=",
        "path!=",
        "pattern=/",
        "/",
        "/i",
        "\\",
        "\"",
        "capability=",
        "http",
        "fs-rw",
        "effect=",
        "once",
        "**",
        "?",
        "..",
        "--",
        "#",
        "=",
        "!",
        "(",
        "[a-",
        "{9",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,3}"]
}

proptest! {
    // Deterministic: the same cases in every run; a failing one becomes a named test.
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(0x5e55_1035),
        ..ProptestConfig::default()
    })]

    /// Whatever is written is read, or has a problem at a place that there is.
    #[test]
    fn reading_never_falls_over(text in prop_oneof![
        proptest::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat()),
        "(?s).{0,200}",
    ]) {
        if let Err(problem) = parse(&text) {
            let line = text.lines().nth(problem.line - 1);
            prop_assert!(line.is_some(), "{problem}");
            let columns = line.map_or(0, |line| line.chars().count()) + 1;
            prop_assert!((1..=columns).contains(&problem.column), "{problem}");
        }
    }
}
