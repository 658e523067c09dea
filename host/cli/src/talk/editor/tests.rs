//! Tests of the line that is being typed.

use super::*;

fn typed(keys: &[Key]) -> Editor {
    let mut editor = Editor::new(vec!["one".into(), "two\nlines".into()]);
    for key in keys {
        assert_eq!(editor.key(key.clone()), Edited::Line, "{key:?}");
    }
    editor
}

fn paste(text: &str) -> Key {
    Key::Paste(text.into())
}

#[test]
fn a_line_is_edited() {
    for (keys, text, cursor) in [
        (&[paste("héllo"), Key::Left, Key::Backspace][..], "hélo", 4),
        (&[paste("a👩\u{200d}🔬b"), Key::Left, Key::Backspace], "ab", 1),
        (&[paste("one two"), Key::Ctrl('w'), Key::Ctrl('y'), Key::Ctrl('y')], "one twotwo", 10),
        (&[paste("one two"), Key::Home, Key::Alt('d'), Key::Delete], "two", 0),
        (&[paste("one two"), Key::WordLeft, Key::Ctrl('k')], "one ", 4),
        (&[paste("one\ntwo"), Key::Ctrl('u')], "one\n", 4),
        (&[paste("one\ntwo"), Key::Up, Key::Char('x')], "onex\ntwo", 4),
        (&[paste("one\nt"), Key::Home, Key::Up, Key::Right, Key::Down, Key::Char('x')], "one\ntx", 6),
        (&[Key::Char('a'), Key::Newline, Key::Char('b')], "a\nb", 3),
        (&[paste("a\\"), Key::Enter, Key::Char('b')], "a\nb", 3),
        (&[paste("a\x1b[31m\u{202e}b\tc")], "a\x1b[31m\u{202e}b\tc", 12),
        (&[Key::Backspace, Key::Delete, Key::Left, Key::Ctrl('w'), Key::Ctrl('k'), Key::Down], "", 0),
    ] {
        let editor = typed(keys);
        assert_eq!((editor.text(), editor.cursor), (text, cursor), "{keys:?}");
    }
}

#[test]
fn what_was_typed_before_comes_back_and_what_was_begun_is_kept() {
    let mut editor = typed(&[Key::Char('x'), Key::Up]);
    assert_eq!(editor.text(), "two\nlines");
    editor.key(Key::Up);
    assert_eq!(editor.text(), "two\nlines", "a line up within it");
    editor.key(Key::Up);
    editor.key(Key::Up);
    assert_eq!(editor.text(), "one", "the oldest stays");
    for expected in ["two\nlines", "x", "x"] {
        editor.key(Key::End);
        editor.key(Key::Down);
        assert_eq!(editor.text(), expected);
    }
    let mut empty = Editor::default();
    empty.key(Key::Up);
    assert_eq!(empty.text(), "");
}

#[test]
fn enter_ends_it_and_other_keys_ask_for_something() {
    let mut editor = typed(&[paste("a b")]);
    assert_eq!(editor.key(Key::Enter), Edited::Done("a b".into()));
    assert_eq!((editor.text(), editor.cursor), ("", 0));
    assert_eq!(editor.key(Key::Ctrl('d')), Edited::Leave);
    assert_eq!(editor.key(Key::Ctrl('c')), Edited::Interrupt);
    assert_eq!(editor.key(Key::Ctrl('l')), Edited::Redraw);
    editor.key(Key::Char('x'));
    assert_eq!(editor.key(Key::Ctrl('d')), Edited::Line, "there is a line");
    editor.keep("x");
    editor.keep("x");
    assert_eq!(editor.past.len(), 3);
}

#[test]
fn it_is_shown_in_rows_around_the_cursor() {
    let prompt = Row::new(Look::default(), "> ");
    let shown = |keys: &[Key], columns, rows_max| {
        let shown = typed(keys).shown(&prompt, columns, rows_max);
        (shown.rows.iter().map(Row::text).collect::<Vec<_>>(), shown.cursor)
    };
    let rows = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
    assert_eq!(shown(&[], 10, 3), (rows(&["> "]), (0, 2)));
    assert_eq!(shown(&[paste("abcdef")], 6, 3), (rows(&["> abcd", "  ef"]), (1, 4)));
    assert_eq!(shown(&[paste("abcd")], 6, 3), (rows(&["> abcd", "  "]), (1, 2)));
    assert_eq!(shown(&[paste("abcde"), Key::Left], 6, 3), (rows(&["> abcd", "  e"]), (1, 2)));
    assert_eq!(shown(&[paste("a\x1b\u{ad}b")], 30, 3), (rows(&[r"> a\u{1b}\u{ad}b"]), (0, 16)));
    assert_eq!(shown(&[paste("日本語"), Key::Left], 7, 3), (rows(&["> 日本", "  語"]), (1, 2)));
    assert_eq!(shown(&[paste("a\nb\nc\nd")], 9, 2), (rows(&["  c", "  d"]), (1, 3)));
    let up = [paste("a\nb\nc\nd"), Key::Up, Key::Up, Key::Up];
    assert_eq!(shown(&up, 9, 2), (rows(&["> a", "  b"]), (0, 3)));
}

/// Putting back what was cut doubles the line each time; it ends at what a message may hold.
#[test]
fn a_line_holds_no_more_than_a_message() {
    let mut editor = Editor::new(vec![]);
    editor.key(Key::Paste("é".repeat(1_000)));
    for _ in 0..30 {
        ['a', 'k', 'y', 'y'].into_iter().for_each(|key| drop(editor.key(Key::Ctrl(key))));
    }
    let bytes = editor.text().len();
    assert!((MESSAGE_BYTES_MAX - 2..=MESSAGE_BYTES_MAX).contains(&bytes), "{bytes}");
}
