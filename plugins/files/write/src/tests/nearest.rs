//! What is said of a text that is not there.

use crate::nearest::hint;

const CODE: &str = "fn main() {\n\tlet a = 1;\n    let b = 2;\n\n    print(a, b);\n}\n";

#[track_caller]
fn check(text: &str, old: &str, expected: &str) {
    assert_eq!(hint(text, old), expected);
}

#[test]
fn other_white_space_is_named() {
    check(
        CODE,
        "    let a = 1;\n",
        "white space differs. Line 2 of the file is `\\tlet a = 1;`, and `old` has `    let a = 1;` (1 tab there, \
         4 spaces in `old`)",
    );
    check(
        CODE,
        "let a = 1;\n  let b = 2;",
        "white space differs. Line 3 of the file is `    let b = 2;`, and `old` has `  let b = 2;` (4 spaces there, \
         2 spaces in `old`)",
    );
    check(
        CODE,
        "print(a,b);",
        "white space differs. Line 5 of the file is `    print(a, b);`, and `old` has `print(a,b);` (4 spaces there, \
         no indent in `old`)",
    );
    check("a\u{a0}b\n", "a b", "white space differs. Line 1 of the file is `a\u{a0}b`, and `old` has `a b`");
}

#[test]
fn the_line_from_which_on_it_differs_is_named() {
    check(
        CODE,
        "    let b = 2;\n\n    print(b, a);\n}",
        "its first 2 lines are at line 3, but then line 5 of the file is `    print(a, b);`, and `old` has \
         `    print(b, a);`",
    );
    check(
        CODE,
        "    print(a, b);\n}\n\nfn more() {}\n",
        "its first 3 lines are at line 5, but then the file ends, and `old` has `fn more() {}`",
    );
    check(
        "one\ntwo\n",
        "one\nthree",
        "its first line is at line 1, but then line 2 of the file is `two`, and `old` has `three`",
    );
}

#[test]
fn an_end_of_a_line_that_is_not_there_is_named() {
    let missing = "it ends with a line feed, and the file does not; leave that one out";
    check("one\ntwo", "two\n", missing);
    check("one\ntwo", "one\ntwo\n", missing);
    check(
        "0123456789\n",
        "012345678\n",
        "it must match exactly, and no line of it is there. The nearest to `012345678` is line 1: `0123456789`",
    );
    check(
        "one\ntwo three\n",
        "one\ntwo\n",
        "its first line is at line 1, but then line 2 of the file is `two three`, and `old` has `two`",
    );
}

#[test]
fn line_numbers_that_were_copied_along_are_named() {
    let expected =
        "it begins its lines with the numbers of read_file; leave each number and the tab after it out";
    check(CODE, "3\t    let b = 2;\n4\t\n5\t    print", expected);
    check(CODE, "     6\t}", expected);
}

#[test]
fn the_nearest_line_is_named() {
    check(
        CODE,
        "let bee = 2;",
        "it must match exactly, and no line of it is there. The nearest to `let bee = 2;` is line 3: `    let b = 2;`",
    );
    check(
        "Über die Maße\nother\n",
        "über die Masse",
        "it must match exactly, and no line of it is there. The nearest to `über die Masse` is line 1: `Über die Maße`",
    );
    let nothing =
        "it must match exactly, and nothing like it is there; read the file again and copy the text";
    check(CODE, "struct Unrelated<T>(T);", nothing);
    check(CODE, " ", nothing);
    check(CODE, "\u{1f980}", nothing);
    check(&"x".repeat(100_000), &"y".repeat(100_000), nothing);
}

#[test]
fn long_lines_are_shown_in_part() {
    let line = "ab ".repeat(150);
    let said = hint(&line, &line.replacen("ab ", "ab  ", 1));
    assert!(said.starts_with("white space differs") && said.contains('…') && said.len() < 600, "{said}");
}

#[test]
fn a_large_file_of_empty_lines_is_searched_in_time() {
    let said = hint(&"\n".repeat(1_000_000), &format!("{}x", "\n".repeat(1000)));
    assert!(said.contains("nothing like it"), "{said}");
}
