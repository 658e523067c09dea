//! The rule that documents use the field's standard words.
//!
//! Knows phrases with their replacements, and what is prose in Markdown. Knows no grammar.

use crate::tree::Violation;

/// Phrases that a search of the field's words does not find, and the words to write instead.
const PHRASES: [(&str, &str); 19] = [
    ("let go of", "unload, release"),
    ("lets go of", "unloads, releases"),
    ("takes up", "loads, resumes"),
    ("taken up", "loaded, resumed"),
    ("take in", "accept"),
    ("takes in", "accepts"),
    ("taken in", "accepted"),
    ("take back", "cancel"),
    ("takes back", "cancels"),
    ("taken back", "canceled"),
    ("of before", "previous, older"),
    ("anew", "again"),
    ("spoilt", "corrupted, malformed"),
    ("mend", "fix, repair"),
    ("mends", "fixes, repairs"),
    ("mended", "fixed, repaired"),
    ("whoever", "name the person or the thing"),
    ("go on with", "resume, continue"),
    ("goes on with", "resumes, continues"),
];

/// Checks a Markdown file outside of fenced blocks, which hold code and output of programs. A phrase may
/// continue on the next line; a name with `_` is one word.
pub(crate) fn in_prose(path: &str, text: &str) -> Vec<Violation> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut in_block = false;
    for (line, number) in text.lines().zip(1..) {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        if is_fence || in_block {
            words.push((number, String::new()));
            continue;
        }
        let found = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        words.extend(found.map(|word| (number, word.to_lowercase())));
    }
    let starts = |at: usize, phrase: &str| {
        let mut rest = words[at..].iter().map(|(_, word)| word.as_str());
        phrase.split(' ').all(|word| rest.next() == Some(word))
    };
    let all = (0..words.len()).flat_map(|at| PHRASES.iter().map(move |phrase| (at, phrase)));
    all.filter(|(at, (phrase, _))| starts(*at, phrase))
        .map(|(at, (phrase, instead))| {
            Violation::new(path, words[at].0, format!("`{phrase}`: write instead: {instead}"))
        })
        .collect()
}

#[test]
fn phrases_are_found_across_lines_and_not_in_blocks() {
    let lines = |text: &str| in_prose("a.md", text).iter().map(|found| found.line).collect::<Vec<_>>();
    assert_eq!(lines("It lets\ngo of it. Mended.\n\n```\nmend\n```\nlet\n```\n```\ngo of\n"), [1, 2]);
    assert_eq!(lines("It takes up\nto 5 s, amended."), [1]);
    assert!(lines("Take up to 5 s. A commander emends it.").is_empty());
}
