//! The rule that the core's own lint configuration keeps I/O, clock and chance out of it.
//!
//! Checks that the bans are written, with reasons; clippy enforces them.

use toml::{Table, Value};

use crate::tree::Violation;

pub(crate) const CONFIG: &str = "host/core/clippy.toml";

const TYPES: [&str; 7] = [
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::fs::File",
    "std::fs::OpenOptions",
    "std::thread::Builder",
    "std::time::Instant",
    "std::time::SystemTime",
];

const METHODS: [&str; 12] = [
    "jiff::Timestamp::now",
    "std::env::args",
    "std::env::var",
    "std::env::vars",
    "std::fs::create_dir_all",
    "std::fs::read",
    "std::fs::read_to_string",
    "std::fs::write",
    "std::thread::sleep",
    "std::thread::spawn",
    "std::time::Instant::now",
    "std::time::SystemTime::now",
];

pub(crate) fn bans(path: &str, text: &str) -> Vec<Violation> {
    let config: Table = match text.parse() {
        Ok(config) => config,
        Err(error) => return vec![Violation::new(path, 1, format!("not TOML: {error}"))],
    };
    let mut found = Vec::new();
    for (list, banned) in [("disallowed-types", TYPES.as_slice()), ("disallowed-methods", METHODS.as_slice())]
    {
        let entries = config.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for &name in banned {
            let reasoned = entries.iter().any(|entry| is_reasoned_ban(entry, name));
            if !reasoned {
                let rule =
                    format!("{list} must name `{name}` with a reason: the core is given time, ids and data");
                found.push(Violation::new(path, 1, rule));
            }
        }
    }
    found
}

fn is_reasoned_ban(entry: &Value, name: &str) -> bool {
    let field = |key| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    field("path") == name && !field("reason").is_empty()
}

#[cfg(test)]
fn config(reason: &str, except: &str) -> String {
    let list = |names: &[&str]| {
        let kept = names.iter().filter(|&&name| name != except);
        kept.map(|name| format!("{{ path = \"{name}\", reason = \"{reason}\" }},")).collect::<String>()
    };
    format!("disallowed-types = [{}]\ndisallowed-methods = [{}]\n", list(&TYPES), list(&METHODS))
}

#[test]
fn all_bans_with_reasons_pass() {
    assert_eq!(bans(CONFIG, &config("passed in", "none")), []);
}

#[test]
fn each_missing_ban_is_told() {
    for name in TYPES.into_iter().chain(METHODS) {
        let found = bans(CONFIG, &config("passed in", name));
        assert_eq!(found.len(), 1, "{name}");
        assert!(found[0].rule.contains(name));
    }
    let all = TYPES.len() + METHODS.len();
    assert_eq!(bans(CONFIG, &config("", "none")).len(), all, "a ban without a reason is none");
    assert_eq!(bans(CONFIG, "").len(), all, "no configuration");
    assert_eq!(bans(CONFIG, "not toml").len(), 1);
}
