//! The rule that a newcomer meets the demo first and the checks second.
//!
//! Reads the README's fenced blocks; knows nothing of the rest of it.

use crate::tree::Violation;

pub(crate) const FILE: &str = "README.md";

/// What a newcomer types, in this order.
const FIRST: [&str; 2] = ["cargo xtask demo", "cargo xtask test"];

/// Fence languages that hold commands.
const SHELLS: [&str; 4] = ["", "sh", "bash", "console"];

pub(crate) fn first_commands(path: &str, text: &str) -> Vec<Violation> {
    let found = commands(text);
    let mut violations = Vec::new();
    for (index, expected) in FIRST.into_iter().enumerate() {
        let (line, command) = found.get(index).copied().unwrap_or((1, "nothing"));
        if command != expected {
            let rule = format!("command {} of the README must be `{expected}`; it is `{command}`", index + 1);
            violations.push(Violation::new(path, line, rule));
        }
    }
    violations
}

/// The commands in fenced shell blocks with their lines, without prompts and comments.
fn commands(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (line, number) in text.lines().zip(1..) {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(language.trim()) };
            continue;
        }
        let command = line.split(" #").next().unwrap_or_default().trim();
        let command = command.strip_prefix("$ ").unwrap_or(command);
        let in_shell = fence.is_some_and(|language| SHELLS.contains(&language));
        if in_shell && !command.is_empty() && !command.starts_with('#') {
            found.push((number, command));
        }
    }
    found
}

#[test]
fn the_two_commands_may_stand_in_one_block_or_two() {
    let one =
        "# Rewake\n\n```sh\n# first\ncargo xtask demo   # plays it\n\ncargo xtask test\nrewake run\n```\n";
    assert_eq!(first_commands(FILE, one), []);
    let two =
        "```toml\nschema = 1\n```\n```console\n$ cargo xtask demo\n```\nand\n```\ncargo xtask test\n```\n";
    assert_eq!(first_commands(FILE, two), []);
}

#[test]
fn another_order_or_another_command_is_told() {
    let swapped = first_commands(FILE, "```\ncargo xtask test\ncargo xtask demo\n```\n");
    assert_eq!(swapped.iter().map(|found| found.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(first_commands(FILE, "```\ncargo build\ncargo xtask demo\ncargo xtask test\n```\n").len(), 2);
    assert_eq!(first_commands(FILE, "cargo xtask demo\ncargo xtask test\n").len(), 2, "not in a block");
    assert_eq!(first_commands(FILE, "").len(), 2);
}
