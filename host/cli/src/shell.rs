//! Words of commands that are shown, as a shell reads them.

use rewake_text::row;

/// What a shell takes as one word.
pub(crate) fn shell_word(word: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_safe) {
        word.to_owned()
    } else {
        format!("'{}'", row(word).replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell_are_quoted_where_needed() {
        assert_eq!(shell_word("/tmp/a-b"), "/tmp/a-b");
        assert_eq!(shell_word("my data"), "'my data'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
