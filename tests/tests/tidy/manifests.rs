//! The rule that every crate takes its lints and package fields from the workspace.
//!
//! Knows one manifest at a time; which crate may depend on which is in `dependencies`.

use toml::{Table, Value};

use crate::tree::{Violation, line_of};

const PACKAGE_FIELDS: [&str; 5] = ["version", "edition", "rust-version", "license", "publish"];

pub(crate) fn inherits(path: &str, text: &str) -> Vec<Violation> {
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Violation::new(path, 1, format!("not TOML: {error}"))],
    };
    let mut found = Vec::new();
    if !manifest.get("lints").is_some_and(is_inherited) {
        found.push(Violation::new(
            path,
            1,
            "no `workspace = true` under [lints]: every crate has the workspace's lints",
        ));
    }
    let package = manifest.get("package");
    for field in PACKAGE_FIELDS {
        if !package.and_then(|package| package.get(field)).is_some_and(is_inherited) {
            let rule = format!(
                "write `{field}.workspace = true` under [package]: the value stands once, in the root"
            );
            found.push(Violation::new(path, line_of(text, field), rule));
        }
    }
    found
}

fn is_inherited(value: &Value) -> bool {
    value.get("workspace") == Some(&Value::Boolean(true))
}

#[cfg(test)]
const GOOD: &str = "[package]\nname = \"a\"\nversion.workspace = true\nedition.workspace = true\n\
    rust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n[lints]\nworkspace = true\n";

#[test]
fn a_manifest_that_inherits_passes() {
    assert_eq!(inherits("a/Cargo.toml", GOOD), []);
}

#[test]
fn each_field_that_is_not_inherited_is_told() {
    for field in PACKAGE_FIELDS {
        let own = GOOD.replace(&format!("\n{field}.workspace = true"), &format!("\n{field} = \"own\""));
        let found = inherits("a/Cargo.toml", &own);
        assert_eq!(found.len(), 1, "{field}: {found:?}");
        assert!(own.lines().nth(found[0].line - 1).unwrap().starts_with(field));

        let missing = GOOD.replace(&format!("\n{field}.workspace = true"), "");
        assert_eq!(inherits("a/Cargo.toml", &missing).len(), 1, "{field}");
    }
    assert_eq!(inherits("a/Cargo.toml", &GOOD.replace("[lints]\nworkspace = true\n", "")).len(), 1);
    assert_eq!(
        inherits("a/Cargo.toml", &GOOD.replace("[lints]\nworkspace = true", "[lints]\nworkspace = false"))
            .len(),
        1
    );
    assert_eq!(inherits("a/Cargo.toml", "not toml").len(), 1);
}
