//! What a line is that begins with a slash. Knows the words; what they do is `mod`'s.

/// What can be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    Quit,
    Interrupt,
    /// Cancels the message that was sent last and waits.
    Back,
    /// Has it told next.
    Next,
    /// With a reason.
    Stop(Option<String>),
    Show,
    Diff,
    /// None of these.
    Unknown(String),
}

/// What `/help` says.
pub(super) const HELP: &str = "\
/help       this
/interrupt  end the turn that runs; Ctrl-C does too
/back       take back the message that you sent last and that waits: it stands in the line again
/next       end the turn that runs, and have the message that you sent last told next
/show       what the session runs with, what it may do, what it waits for
/diff       what it changed in its workspace
/stop WHY   end the session for good; asks once more
/quit       leave: the session stays and goes on later; Ctrl-D, or Ctrl-C twice, does too
What is typed while a turn runs is told when it has ended; before, if the agent listens meanwhile.
Enter sends; Alt-Enter, or a backslash before Enter, begins a new line. Up and Down find what was typed before.
A line that begins with a blank is sent as it is.";

/// The words that there are.
const WORDS: [&str; 8] = ["/help", "/quit", "/interrupt", "/back", "/next", "/stop", "/show", "/diff"];

/// Reads a line; none if it is a text to be sent.
pub(super) fn read(line: &str) -> Option<Slash> {
    let (word, rest) = line.trim_end().split_once(char::is_whitespace).unwrap_or((line.trim_end(), ""));
    let name = word.strip_prefix('/')?;
    // `/etc/hosts is wrong` is a text.
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphabetic()) {
        return None;
    }
    let rest = rest.trim();
    Some(match (name, rest.is_empty()) {
        ("help", true) => Slash::Help,
        ("quit" | "exit", true) => Slash::Quit,
        ("interrupt", true) => Slash::Interrupt,
        ("back", true) => Slash::Back,
        ("next", true) => Slash::Next,
        ("stop", _) => Slash::Stop((!rest.is_empty()).then(|| rest.to_owned())),
        ("show", true) => Slash::Show,
        ("diff", true) => Slash::Diff,
        _ => Slash::Unknown(word.to_owned()),
    })
}

/// What the beginning of a word can become, if that is one thing.
pub(super) fn complete(line: &str) -> Option<&'static str> {
    let mut words = WORDS.iter().filter(|word| line.len() > 1 && word.starts_with(line));
    match (words.next(), words.next()) {
        (Some(word), None) => Some(word),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_are_words_of_the_program_and_paths_are_not() {
        for (line, expected) in [
            ("/help", Some(Slash::Help)),
            ("/quit ", Some(Slash::Quit)),
            ("/stop", Some(Slash::Stop(None))),
            ("/stop it is enough", Some(Slash::Stop(Some("it is enough".into())))),
            ("/diff now", Some(Slash::Unknown("/diff".into()))),
            ("/halp", Some(Slash::Unknown("/halp".into()))),
            ("/etc/hosts is wrong", None),
            ("/", None),
            (" /help", None),
            ("what /help does", None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
        for word in WORDS {
            assert!(!matches!(read(word), None | Some(Slash::Unknown(_))), "{word}");
            assert!(HELP.lines().any(|line| line.split_whitespace().next() == Some(word)), "{word}");
        }
    }

    #[test]
    fn a_word_is_completed_where_only_one_begins_so() {
        assert_eq!(complete("/h"), Some("/help"));
        assert_eq!(complete("/s"), None);
        assert_eq!(complete("/"), None);
        assert_eq!(complete("x"), None);
    }
}
