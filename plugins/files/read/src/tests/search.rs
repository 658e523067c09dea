//! What a search answers.

use super::*;

fn args(pattern: &str) -> Grep {
    Grep {
        pattern: pattern.to_owned(),
        path: String::new(),
        glob: None,
        mode: Mode::Lines,
        context: 0,
        case_insensitive: false,
        include_ignored: false,
        limit: 200,
    }
}

fn search(dir: &TempDir, args: &Grep) -> Result<String, ToolError> {
    crate::search::search(dir.path(), args)
}

fn project() -> TempDir {
    let dir = workspace(&[
        (".gitignore", "target\n"),
        (".hidden.rs", "fn hidden() {}\n"),
        ("src/a.rs", "fn one() {}\n\nfn two() {\n    one();\n}\n"),
        ("src/b.rs", "// Über one\r\nfn three() {}\r\n"),
        ("notes.md", "One and two\n"),
        ("target/c.rs", "fn built() {}\n"),
    ]);
    put(&dir, "blob.rs", b"fn blob() {}\n\0\0");
    dir
}

#[track_caller]
fn check(args: &Grep, expected: &str) {
    assert_eq!(search(&project(), args), Ok(expected.to_owned()));
}

#[test]
fn lines_come_below_their_file() {
    check(&args("fn \\w+"), "src/a.rs\n1:fn one() {}\n3:fn two() {\n\nsrc/b.rs\n2:fn three() {}");
    check(&args("one"), "src/a.rs\n1:fn one() {}\n4:    one();\n\nsrc/b.rs\n1:// Über one");
    check(
        &Grep { case_insensitive: true, glob: Some("*.md".to_owned()), ..args("ONE") },
        "notes.md\n1:One and two",
    );
    check(&Grep { glob: Some("src/b*".to_owned()), ..args("one$") }, "src/b.rs\n1:// Über one");
    check(
        &Grep { path: "src".to_owned(), glob: Some("b*".to_owned()), ..args("ü|Ü") },
        "src/b.rs\n1:// Über one",
    );
    check(&Grep { path: "src/a.rs".to_owned(), ..args("^}") }, "src/a.rs\n5:}");
    check(&Grep { path: ".hidden.rs".to_owned(), ..args("hidden") }, ".hidden.rs\n1:fn hidden() {}");
}

#[test]
fn beginnings_and_ends_are_of_lines() {
    let dir = workspace(&[("lf", "ab\nb\nba\n"), ("crlf", "ab\r\nb\r\nba\r\n"), ("bom", "\u{feff}b\n")]);
    assert_eq!(search(&dir, &args("^b$")), Ok("bom\n1:b\n\ncrlf\n2:b\n\nlf\n2:b".to_owned()));
    assert_eq!(search(&dir, &args("b$")), Ok("bom\n1:b\n\ncrlf\n1:ab\n2:b\n\nlf\n1:ab\n2:b".to_owned()));
    assert_eq!(
        search(&dir, &Grep { mode: Mode::Count, ..args("^b") }),
        Ok("bom: 1\ncrlf: 2\nlf: 2".to_owned())
    );
    let dir = workspace(&[("empty lines", "a\n\nb\n")]);
    assert_eq!(search(&dir, &args("^$")), Ok("empty lines\n2:".to_owned()));
}

#[test]
fn context_is_told_from_what_matches() {
    check(
        &Grep { path: "src/a.rs".to_owned(), context: 1, ..args("one") },
        "src/a.rs\n1:fn one() {}\n2-\n3-fn two() {\n4:    one();\n5-}",
    );
    let dir = workspace(&[("a", "x\n1\n2\n3\n4\nx\n")]);
    assert_eq!(search(&dir, &Grep { context: 1, ..args("x") }), Ok("a\n1:x\n2-1\n--\n5-4\n6:x".to_owned()));
    assert_eq!(
        search(&dir, &Grep { context: 20, mode: Mode::Count, ..args("x") }),
        Ok("a: 2".to_owned()),
        "there is none where lines are only counted"
    );
}

#[test]
fn files_and_counts_are_a_line_each() {
    check(&Grep { mode: Mode::Files, ..args("one") }, "src/a.rs\nsrc/b.rs");
    check(&Grep { mode: Mode::Count, ..args("one") }, "src/a.rs: 2\nsrc/b.rs: 1");
    // Two matches of one line are one line.
    let dir = workspace(&[("a", "aaaa aa\naa")]);
    assert_eq!(search(&dir, &Grep { mode: Mode::Count, ..args("aa") }), Ok("a: 2".to_owned()));
    assert_eq!(search(&dir, &args("aa")), Ok("a\n1:aaaa aa\n2:aa".to_owned()));
}

#[test]
fn what_was_not_searched_is_said_where_nothing_was_found() {
    let note = "; hidden and ignored files were left out (include_ignored = true takes them in)";
    check(
        &args("built|hidden|blob"),
        &format!(
            "no line of 4 files in `.` matches{note}\n[skipped, since they are no text: 1 of these files]"
        ),
    );
    check(&Grep { path: "src/a.rs".to_owned(), ..args("zzz") }, "no line of 1 file in `src/a.rs` matches");
    check(
        &Grep { include_ignored: true, ..args("built|hidden|blob") },
        ".hidden.rs\n1:fn hidden() {}\n\ntarget/c.rs\n1:fn built() {}",
    );
    check(&Grep { path: "target".to_owned(), ..args("built") }, "target/c.rs\n1:fn built() {}");
    let dir = workspace(&[("empty", "")]);
    assert_eq!(search(&dir, &args("x")), Ok("no line of 1 file in `.` matches".to_owned()));
}

/// Of thousands of files.
pub(super) fn check_crowd(dir: &TempDir) {
    let more = "there are more; make `pattern`, `path` or `glob` narrower, or use another `mode`]";
    let answer = search(dir, &Grep { limit: 2, ..args("number") }).expect("an answer");
    let found = "many/0000.txt\n1:number 0\n\nmany/0001.txt\n1:number 1";
    assert_eq!(answer, format!("{found}\n[only the first 2 lines: {more}"));
    for mode in [Mode::Files, Mode::Count] {
        let answer = search(dir, &Grep { mode, ..args("number") }).expect("an answer");
        assert_eq!(answer.lines().count(), 201);
        assert!(answer.ends_with(&format!("\n[only the first 200 files: {more}")), "{answer}");
    }
    let answer = search(dir, &args("number (17|4999)$"));
    assert_eq!(answer, Ok("many/0017.txt\n1:number 17\n\nmany/4999.txt\n1:number 4999".to_owned()));
}

#[test]
fn a_limit_within_a_file_keeps_the_context_of_what_is_shown() {
    let dir = workspace(&[("a", "x\n1\n2\n3\nx\n4\n5\nx\n")]);
    let more = "[only the first 2 lines: there are more; make `pattern`, `path` or `glob` narrower, or use another \
                `mode`]";
    assert_eq!(
        search(&dir, &Grep { context: 1, limit: 2, ..args("x") }),
        Ok(format!("a\n1:x\n2-1\n--\n4-3\n5:x\n6-4\n{more}"))
    );
    // All that there is, is no more than was asked for.
    assert_eq!(search(&dir, &Grep { limit: 3, ..args("x") }), Ok("a\n1:x\n5:x\n8:x".to_owned()));
}

#[test]
fn long_lines_are_cut_around_what_matches() {
    let line = format!("{}needle{}", "ä".repeat(1000), "ö".repeat(1000));
    let dir = workspace(&[("start", &format!("needle{line}")), ("wide", &line)]);
    let answer = search(&dir, &args("needle")).expect("an answer");
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines[1].starts_with("1:needleää") && lines[1].ends_with("ä… [line of 4012 bytes]"), "{answer}");
    assert!(lines[4].starts_with("1:…ä") && lines[4].contains("äneedleö"), "{answer}");
    assert!(lines[4].len() < 500, "{answer}");
}

#[test]
fn lines_that_are_no_utf_8_are_shown_as_far_as_they_can_be() {
    let dir = workspace(&[]);
    put(&dir, "short", b"na\xefve needle\r\n");
    put(&dir, "wide", &[&[0xff; 1000][..], b"needle", &[0x80; 1000], b"\n"].concat());
    let answer = search(&dir, &args("needle")).expect("an answer");
    assert!(answer.starts_with("short\n1:na\u{fffd}ve needle\n\nwide\n1:…\u{fffd}"), "{answer}");
    assert!(answer.contains("needle\u{fffd}") && answer.ends_with("[line of 2006 bytes]"), "{answer}");
}

#[test]
fn an_answer_is_never_longer_than_its_limit() {
    let dir = workspace(&[("many", &format!("{}\n", "0123456789".repeat(39)).repeat(1000))]);
    let answer = search(&dir, &Grep { limit: 1000, ..args("0") }).expect("an answer");
    assert!(answer.len() < ANSWER_BYTES_MAX + 1000, "{}", answer.len());
    assert!(answer.contains("there are more"), "{}", &answer[answer.len() - 200..]);
}

#[test]
fn a_file_of_ten_megabytes_is_searched() {
    let dir = workspace(&[("large", &format!("{}needle\n", "0123456789\n".repeat(950_000)))]);
    assert_eq!(search(&dir, &args("needle")), Ok("large\n950001:needle".to_owned()));
    // A line of more than can be held is not searched, and that is said.
    let dir = workspace(&[("line", &"x".repeat(17 << 20)), ("other", "x\n")]);
    assert_eq!(search(&dir, &args("x$")), Ok("other\n1:x\n[files that cannot be searched: 1]".to_owned()));
}

#[test]
fn what_is_no_expression_is_refused_with_what_to_write() {
    let dir = project();
    let message = |pattern: &str| invalid(search(&dir, &args(pattern)));
    for pattern in ["one(", "a{2,1}", "[z-a]", "*", "(?<n"] {
        let said = message(pattern);
        assert!(said.starts_with("`pattern` cannot be used: ") && said.contains("search for `"), "{said}");
    }
    assert!(message("one(").ends_with("search for `one\\(`"), "{}", message("one("));
    assert_eq!(
        message("one("),
        "`pattern` cannot be used: unclosed group at column 4; to find the text as it is written, search for `one\\(`"
    );
    assert!(message("a(?=b)").contains("look-around"), "{}", message("a(?=b)"));
    for pattern in ["one\\n", "one\ntwo", "[\\n]x"] {
        assert!(message(pattern).ends_with("search for one of the lines"), "{}", message(pattern));
    }
    let large = message("(\\w{200}){200}");
    assert!(large.contains("size limit") && large.ends_with("make it simpler"), "{large}");
    let nested = |depth: usize| format!("{}one{}", "(".repeat(depth), ")".repeat(depth));
    assert!(message(&nested(101)).contains("nest"), "{}", message(&nested(101)));
    assert!(search(&dir, &args(&nested(95))).is_ok());
    assert!(message("").contains("`pattern` is empty"));
    assert!(message(&"x".repeat(1001)).contains("longer than 1000 bytes"));
}

#[test]
fn other_mistakes_are_explained() {
    let dir = project();
    assert!(invalid(search(&dir, &Grep { limit: 0, ..args("x") })).contains("`limit` must be 1 to 1000"));
    assert!(invalid(search(&dir, &Grep { limit: 1001, ..args("x") })).contains("`limit`"));
    assert!(invalid(search(&dir, &Grep { context: 21, ..args("x") })).contains("`context` must be 0 to 20"));
    assert!(invalid(search(&dir, &Grep { glob: Some("[".to_owned()), ..args("x") })).starts_with("`glob`: "));
    assert_eq!(
        invalid(search(&dir, &Grep { path: "none".to_owned(), ..args("x") })),
        "there is no `none` in the workspace"
    );
    let up = Grep { path: "../x".to_owned(), ..args("x") };
    assert!(invalid(search(&dir, &up)).contains("leads out of the workspace"));
}
