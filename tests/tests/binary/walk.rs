//! The ten-minute walk of README.md, as it is written there: its commands are run in an empty folder, and what
//! the page shows of their output must be what they say.
//!
//! In the page, a `sh` block holds commands, the `text` block after it what they say: whole lines, in which `…`
//! stands for anything, and for any lines where it stands alone. A `rust` block must be in the new bundle's source.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rewake_tests::bundles::root;
use rewake_tests::program::file;

const BEGIN: &str = "<!-- the walk begins -->";
const END: &str = "<!-- the walk ends -->";
/// What the test's shell says before each block's output.
const MARK: &str = "@@ block ";
/// Links what cargo builds in a new bundle to where it builds those of other tests: the first build is the long
/// one. The page knows nothing of it.
const LINK: &str = "if [ -f bundle.toml ] && [ ! -e target ]; then ln -s \"$SHARED_TARGET\" target; fi";

/// Commands, and the lines that they say.
#[derive(Debug, Default, PartialEq)]
struct Block<'a> {
    commands: &'a str,
    says: Option<Vec<&'a str>>,
}

/// The walk's blocks, and the pieces of source that it shows.
fn blocks(page: &str) -> (Vec<Block<'_>>, Vec<&str>) {
    let (_, walk) = page.split_once(BEGIN).expect("the walk begins");
    let (walk, _) = walk.split_once(END).expect("the walk ends");
    let (mut blocks, mut sources) = (Vec::<Block<'_>>::new(), Vec::new());
    for fenced in walk.split("\n```").skip(1).step_by(2) {
        let (language, text) = fenced.split_once('\n').unwrap_or((fenced, ""));
        match language {
            "sh" => blocks.push(Block { commands: text, says: None }),
            "text" => {
                let block = blocks.last_mut().expect("what is said follows commands");
                assert!(block.says.replace(text.lines().collect()).is_none(), "two outputs: {text}");
            }
            "rust" => sources.push(text),
            other => panic!("a block of `{other}` in the walk"),
        }
    }
    (blocks, sources)
}

/// Whether a line is what the page shows of it.
fn fits(shown: &str, said: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = said.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// Whether lines are what the page shows of them.
fn all_fit(shown: &[&str], said: &[&str]) -> bool {
    match (shown, said) {
        ([], said) => said.is_empty(),
        (["…", rest @ ..], said) => (0..=said.len()).any(|skipped| all_fit(rest, &said[skipped..])),
        ([_, ..], []) => false,
        ([first, shown @ ..], [line, said @ ..]) => fits(first, line.trim_end()) && all_fit(shown, said),
    }
}

/// An empty folder, always at the same place, so that cargo finds what it built before.
fn empty() -> PathBuf {
    let base = root().join("target/new-bundles");
    let folder = base.join("walk");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(base.join("target")).expect("a folder for cargo");
    for name in ["here", "home", "data", "cache"] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
    }
    folder
}

/// Runs all commands in one shell, as a reader does. What each block says is told from the others by marks.
fn walked(folder: &Path, blocks: &[Block<'_>]) -> String {
    let mut script = String::from("set -e\n");
    for (number, block) in blocks.iter().enumerate() {
        let _ = writeln!(script, "echo '{MARK}{number}'\n{}\n{LINK}", block.commands);
    }
    fs::write(folder.join("walk.sh"), script).expect("the commands");
    let said = folder.join("said");
    let output = fs::File::create(&said).expect("a file for what they say");
    let of_cargo = |name: &str, usual: &str| {
        let home = || std::env::home_dir().expect("a home").join(usual);
        std::env::var_os(name).map_or_else(home, PathBuf::from)
    };
    let program = file();
    let path = std::env::var("PATH").expect("a PATH");
    let status = Command::new("bash")
        .arg(folder.join("walk.sh"))
        .current_dir(folder.join("here"))
        .env("PATH", format!("{}:{path}", program.parent().expect("its folder").display()))
        .env("REWAKE", root())
        .env("HOME", folder.join("home"))
        .env("USER", "ann")
        .env("REWAKE_DATA", folder.join("data"))
        .env("REWAKE_CACHE", folder.join("cache"))
        .env("CARGO_HOME", of_cargo("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", of_cargo("RUSTUP_HOME", ".rustup"))
        // Everything that the SDK needs was fetched when this workspace was built.
        .env("CARGO_NET_OFFLINE", "true")
        .env("SHARED_TARGET", root().join("target/new-bundles/target"))
        .env_remove("CARGO_TARGET_DIR")
        .env_remove("RUSTFLAGS")
        .env_remove("REWAKE_CONFIG")
        .env_remove("REWAKE_LOG")
        .stdin(std::process::Stdio::null())
        .stdout(output.try_clone().expect("a handle"))
        .stderr(output)
        .status()
        .expect("bash runs");
    let said = String::from_utf8_lossy(&fs::read(&said).expect("what they said")).into_owned();
    assert!(status.success(), "the walk ended early:\n{said}");
    said
}

#[test]
fn the_walk_goes_as_it_is_written() {
    let page = fs::read_to_string(root().join("README.md")).expect("the page");
    let (blocks, sources) = blocks(&page);
    assert!(blocks.len() >= 7, "{blocks:?}");
    let folder = empty();
    let said = walked(&folder, &blocks);
    let parts: Vec<&str> = said.split(MARK).skip(1).collect();
    assert_eq!(parts.len(), blocks.len(), "{said}");
    for (block, part) in blocks.iter().zip(parts) {
        let lines: Vec<&str> = part.lines().skip(1).collect();
        let Some(shown) = &block.says else { continue };
        let (shown_text, said) = (shown.join("\n"), lines.join("\n"));
        assert!(
            all_fit(shown, &lines),
            "{}\nREADME.md shows:\n{shown_text}\nit says:\n{said}",
            block.commands
        );
    }
    let source = fs::read_to_string(folder.join("here/words/src/lib.rs")).expect("the new bundle's source");
    assert!(!sources.is_empty());
    for piece in sources {
        assert!(source.contains(piece), "README.md shows what a new bundle has not:\n{piece}\n{source}");
    }
}

#[test]
fn pages_are_read_and_lines_compared() {
    let page = format!(
        "```sh\nno\n```\n{BEGIN}\n\n```sh\na\nb\n```\n\n```text\nx … y\n…\n```\n\n```rust\nfn a() {{}}\n```\n{END}"
    );
    let (read, sources) = blocks(&page);
    assert_eq!(read, [Block { commands: "a\nb", says: Some(vec!["x … y", "…"]) }]);
    assert_eq!(sources, ["fn a() {}"]);
    for (shown, said, fitting) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a…", "ab", true),
        ("…b", "ab", true),
        ("a … c … e", "a b c d e", true),
        ("a … c … e", "a b d e", false),
        ("a…a", "a", false),
    ] {
        assert_eq!(fits(shown, said), fitting, "{shown} {said}");
    }
    assert!(all_fit(&["…", "b"], &["a", "a", "b"]) && all_fit(&["b", "…"], &["b"]));
    assert!(!all_fit(&["b"], &["b", "c"]) && !all_fit(&["a", "…", "c"], &["a", "b"]));
}
