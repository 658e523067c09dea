//! What is shown of a file.

use super::*;

fn read_from(dir: &TempDir, path: &str, offset: u32, limit: Option<u32>) -> Result<String, ToolError> {
    crate::read::read(dir.path(), &Read { path: path.to_owned(), offset, limit })
}

fn read_all(dir: &TempDir, path: &str) -> Result<String, ToolError> {
    read_from(dir, path, 1, None)
}

#[test]
fn lines_come_with_their_numbers() {
    let dir = workspace(&[("a.txt", "one\n\ttwo\n\n"), ("open", "one\ntwo"), ("empty", ""), ("feed", "\n")]);
    assert_eq!(read_all(&dir, "a.txt"), Ok("1\tone\n2\t\ttwo\n3\t\n".to_owned()));
    assert_eq!(read_from(&dir, "/workspace/./a.txt", 2, None), Ok("2\t\ttwo\n3\t\n".to_owned()));
    assert_eq!(read_all(&dir, "open"), Ok("1\tone\n2\ttwo\n[the last line has no line feed]".to_owned()));
    assert_eq!(read_all(&dir, "empty"), Ok("[`empty` is empty]".to_owned()));
    assert_eq!(read_all(&dir, "feed"), Ok("1\t\n".to_owned()));
}

#[test]
fn a_piece_says_where_to_go_on() {
    let dir = workspace(&[("a.txt", "1\n2\n3\n4\n"), ("one", "x")]);
    let piece = "2\t2\n3\t3\n[lines 2 to 3 of 4; go on with offset = 4]";
    assert_eq!(read_from(&dir, "a.txt", 2, Some(2)), Ok(piece.to_owned()));
    assert_eq!(read_from(&dir, "a.txt", 4, Some(2)), Ok("4\t4\n".to_owned()));
    assert_eq!(invalid(read_from(&dir, "a.txt", 5, None)), "`a.txt` has only 4 lines; `offset` is 5");
    assert_eq!(invalid(read_from(&dir, "one", 2, None)), "`one` has only 1 line; `offset` is 2");
    assert_eq!(invalid(read_from(&dir, "a.txt", 0, None)), "`offset` counts lines from 1");
    assert_eq!(invalid(read_from(&dir, "a.txt", 1, Some(0))), "`limit` must be at least 1 line");
}

#[test]
fn line_ends_are_said_once() {
    let dir = workspace(&[
        ("crlf", "one\r\ntwo\r\n"),
        ("cr", "one\rtwo\n"),
        ("end", "one\r"),
        ("both", "one\r\ntwo\n"),
        ("bom", "\u{feff}one\n"),
    ]);
    let crlf = "[lines end with CRLF; edit_file keeps that, write \\n as usual]";
    assert_eq!(read_all(&dir, "crlf"), Ok(format!("1\tone\n2\ttwo\n{crlf}")));
    assert_eq!(
        read_all(&dir, "both"),
        Ok(format!("1\tone\n2\ttwo\n{}", crlf.replace("lines", "some lines")))
    );
    assert_eq!(
        read_from(&dir, "crlf", 1, Some(1)),
        Ok(format!("1\tone\n[lines 1 to 1 of 2; go on with offset = 2]{crlf}"))
    );
    assert_eq!(read_all(&dir, "cr"), Ok("1\tone\rtwo\n".to_owned()));
    assert_eq!(read_all(&dir, "end"), Ok("1\tone\r\n[the last line has no line feed]".to_owned()));
    assert_eq!(read_all(&dir, "bom"), Ok("1\tone\n".to_owned()));
}

#[test]
fn a_line_end_that_two_pieces_share_is_one() {
    // The carriage return is the last byte of what is read at once.
    let text = format!("{}\r\nnext\r\n", "x".repeat((64 << 10) - 1));
    let dir = workspace(&[("a", &text)]);
    let answer = read_from(&dir, "a", 2, None).expect("the second line");
    assert!(answer.starts_with("2\tnext\n[lines end with CRLF"), "{answer}");
    let answer = read_from(&dir, "a", 1, Some(1)).expect("the first line");
    assert!(answer.contains("[line 1 is cut: it has 65535 bytes]"), "{answer}");
}

#[test]
fn an_answer_is_never_longer_than_its_limit() {
    let long = "0123456789".repeat(100);
    let dir = workspace(&[
        ("short", &"0123456789\n".repeat(5312)),
        ("many", &format!("{long}\n").repeat(1000)),
        ("wide", &"ä".repeat(50_000)),
        ("edge", &format!("{}ä\n", "x".repeat(1999))),
        ("fits", &format!("{}\n", "x".repeat(2000))),
    ]);
    let answer = read_all(&dir, "short").expect("short");
    assert!(answer.ends_with("\n[lines 1 to 2000 of 5312; go on with offset = 2001]"));
    assert_eq!(read_from(&dir, "short", 1, Some(5000)), Ok(answer));
    let answer = read_all(&dir, "many").expect("many");
    assert!(answer.len() <= ANSWER_BYTES_MAX && answer.len() > ANSWER_BYTES_MAX - 2000);
    let next = answer.lines().count();
    assert!(answer.ends_with(&format!("[lines 1 to {} of 1000; go on with offset = {next}]", next - 1)));
    let answer = read_all(&dir, "wide").expect("wide");
    let expected = format!("1\t{} [line 1 is cut: it has 100000 bytes]\n", "ä".repeat(1000));
    assert_eq!(answer, format!("{expected}[the last line has no line feed]"));
    let cut = format!("1\t{} [line 1 is cut: it has 2001 bytes]\n", "x".repeat(1999));
    assert_eq!(read_all(&dir, "edge"), Ok(cut));
    assert_eq!(read_all(&dir, "fits"), Ok(format!("1\t{}\n", "x".repeat(2000))));
}

#[test]
fn a_file_of_ten_megabytes_is_read_where_it_is_asked_for() {
    let dir = workspace(&[("large", &"0123456789\n".repeat(1_000_000)), ("line", &"x".repeat(10 << 20))]);
    assert_eq!(read_from(&dir, "large", 1_000_000, None), Ok("1000000\t0123456789\n".to_owned()));
    let answer = read_all(&dir, "line").expect("one line");
    assert!(answer.len() < 2200 && answer.contains("it has 10485760 bytes"));
}

#[test]
fn what_cannot_be_read_is_explained() {
    let dir = workspace(&[("a/b", "")]);
    put(&dir, "latin", b"one\nna\xefve\n");
    put(&dir, "cut", b"one \xc3");
    put(&dir, "late", &[&b"x\n".repeat(10_000)[..], b"\xff\n"].concat());
    put(&dir, "binary", b"\x7fELF\0\0");
    put(&dir, "wide", b"\xff\xfea\0");
    put(&dir, "a.png", b"\x89PNG\r\n\x1a\n");
    let message = |path| read_all(&dir, path).expect_err(path).message().to_owned();
    assert_eq!(message("c"), "there is no `c` in the workspace");
    assert_eq!(message("a"), "`a` is a directory; list_files shows what is in it");
    assert!(message("a/b/c").contains("a part of the path is a file"));
    assert_eq!(message("binary"), "`binary` is a binary file, 6 bytes: only text can be read");
    assert_eq!(message("wide"), "`wide` is text in UTF-16, not UTF-8, 4 bytes: only text can be read");
    assert_eq!(message("a.png"), "`a.png` is a PNG image, 8 bytes: only text can be read");
    let latin = message("latin");
    assert!(latin.starts_with("`latin` is not in UTF-8: line 2 has the byte 0xef at column 3"), "{latin}");
    assert!(message("cut").contains("line 1 has the byte 0xc3 at column 5"));
    assert!(read_from(&dir, "late", 10_001, None).is_err());
    for path in ["../x", "a/../../x", "/etc/passwd"] {
        assert!(message(path).contains("leads out of the workspace"), "{path}");
    }
    assert!(message("a\0b").contains("zero byte"));
}
