//! Patterns of paths.

use crate::paths::{Glob, matches, names};

#[test]
fn a_path_is_what_it_leads_to() {
    for path in ["a/b", "./a//b", "a/c/../b", "/workspace/a/b", "../a/b", "A/B/", "x/../../a/b"] {
        assert_eq!(names(path), ["a", "b"], "{path}");
    }
    assert_eq!(names("/workspace"), Vec::<String>::new());
    assert_eq!(names("/workspaces/a"), ["workspaces", "a"]);
}

#[test]
fn one_name_covers_everything_of_that_name() {
    let glob = Glob::new(".env*");
    for path in [".env", ".env.local", "app/.ENV", "app/.environment/deep/file"] {
        assert!(glob.covers(path), "{path}");
    }
    for path in ["env", "app/x.env", ".", ""] {
        assert!(!glob.covers(path), "{path}");
    }
    assert!(Glob::new("*").covers("a") && !Glob::new("*").covers("."));
}

#[test]
fn several_names_cover_a_place_from_the_workspace_down() {
    for (glob, path, is_covered) in [
        ("docs/plan.md", "docs/plan.md", true),
        ("docs/plan.md", "x/docs/plan.md", false),
        ("docs/*", "docs/a/b", true),
        ("docs/*", "docs", false),
        ("docs/**", "docs", true),
        ("docs/**", "docs/a/b", true),
        ("**/secret", "secret", true),
        ("**/secret", "a/b/secret/c", true),
        ("**/secret", "a/b/secrets", false),
        ("a/**/b/**/c", "a/x/b/y/z/c/d", true),
        ("a/**/b/**/c", "a/x/c/y/b", false),
        ("src/?.rs", "src/a.rs", true),
        ("src/?.rs", "src/ab.rs", false),
        ("**", "anything/at/all", true),
    ] {
        assert_eq!(Glob::new(glob).covers(path), is_covered, "{glob} {path}");
    }
}

#[test]
fn stars_take_no_time_to_fail() {
    let glob = Glob::new(&"**/*a*a*a*a*a*/".repeat(200));
    assert!(!glob.covers(&format!("{}b", "aaaabbbbbbbbbbbb/".repeat(500))));
    assert!(!matches(&"*a".repeat(500), &"a".repeat(400)));
    assert!(matches("*", "") && matches("a*", "a") && !matches("", "a"));
}
