//! Doors for fuzzers: what operators write.

use std::path::Path;

use rewake_untrusted::files::{SHOWN_BYTES_MAX, told};

use crate::config::{AllowedAsk, Rules};

/// Values in all the ways in which they go on behind the end of their line.
const SECRETS: &str = r#"
[config."acme/secret"]
plain = "s3cr3t"
pem = """
-----BEGIN s3cr3t
[s3cr3t]
s3cr3t==
"""
list = ["s3cr3t",
  "s3cr3t=", ["s3cr3t"]
]
"#;

/// `rewake.toml`, behind values that may be secrets. Whatever is wrong with it, none of them is shown.
pub fn rules(text: &str) {
    for text in [format!("{SECRETS}{text}"), text.to_owned()] {
        if let Err(error) = Rules::parse(&text, Path::new("/etc/rewake.toml")) {
            told(&error, &text);
            assert!(!error.to_string().contains("s3cr3t"), "a secret is shown: {error}");
        }
    }
}

/// An ask as rules write it.
pub fn allowed(text: &str) {
    if let Err(invalid) = text.parse::<AllowedAsk>() {
        assert!(!invalid.message.is_empty());
        assert!(invalid.to_string().len() < SHOWN_BYTES_MAX, "{} bytes are shown", invalid.to_string().len());
    }
}

#[cfg(test)]
mod tests {
    use rewake_untrusted::Samples;

    use super::*;

    #[test]
    fn rules_of_operators() {
        Samples::corpus("rules")
            .words(&["[config.", "\"\"\"", "'''", "[models.x]", "[[hook]]"])
            .check_text(300, rules);
    }

    #[test]
    fn allowed_asks() {
        Samples::corpus("names").words(&["host:", "fs:", "http:", "/**"]).check_text(500, allowed);
    }

    /// Values that go on behind the end of their line, in a file that is broken somewhere: lines of them were shown as keys
    /// and heads of tables are.
    #[test]
    fn secrets_of_broken_rules_stay_hidden() {
        for (broken, shows) in [
            ("pem = \"\"\"\nline\ncanary==\n[canary]\n\"\"\"\nnext =\n", "pem ="),
            ("list = [\n  [\"canary\"],\n  \"canary=x\",\n]\nnext =\n", "list ="),
            ("key = \"abc\ncanary==\"\n", "key ="),
            ("[ \"abc\ncanary==\"\n", ""),
            ("fine = \"canary\"\nnext =\n", "next ="),
        ] {
            let text = format!("[config.\"a/b\"]\n{broken}");
            let error = Rules::parse(&text, Path::new("/etc/r.toml")).unwrap_err().to_string();
            assert!(!error.contains("canary") && error.contains("/etc/r.toml:"), "{error}");
            assert!(shows != "next =" || error.contains(shows), "{error}");
        }
    }

    /// What is wrong a hundred thousand times over, all on one line or each on its own, is told in bounded time and words:
    /// each problem took a look through the file, and kept its line.
    #[test]
    fn many_problems_of_a_long_file_are_told() {
        let keys: Vec<String> = (0..100_000).map(|n| format!("k{n} = 1")).collect();
        for text in [format!("a = {{ {} }}", keys.join(", ")), keys.join("\n"), "=\n".repeat(100_000)] {
            let since = std::time::Instant::now();
            rules(&text);
            assert!(since.elapsed().as_secs() < 60, "{:?}", since.elapsed());
        }
    }
}
