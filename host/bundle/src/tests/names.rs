//! Single values: paths, sizes, durations, names, and what `use` can say.

use std::time::Duration;

use super::super::Manifest;
use super::super::names::{Use, artifact_path, duration, file_path, mount_path, size_bytes, tool_name};
use rewake_toml::SourceText;

#[test]
fn paths_stay_inside_the_folder() {
    for (text, expected) in
        [("a.wasm", "a.wasm"), ("./a.wasm", "a.wasm"), ("x//y/./a.wasm", "x/y/a.wasm"), ("..a/b", "..a/b")]
    {
        assert_eq!(file_path(text).as_deref(), Ok(expected), "{text}");
    }
    for text in
        ["", ".", "x/", "..", "../a", "x/../../a", "/etc/passwd", "C:/a", "x\\..\\a", "a\0b", "a\nb", "x/.."]
    {
        assert!(file_path(text).is_err(), "{text:?}");
    }
}

#[test]
fn what_a_build_makes_may_lie_outside_of_the_folder() {
    for text in ["words.wasm", "target/wasm32-wasip2/release/words.wasm", "../../target/a.wasm"] {
        assert_eq!(artifact_path(text).as_deref(), Ok(text));
    }
    for text in ["", "target/", "/tmp/a.wasm", "a\\b", "a\0b"] {
        assert!(artifact_path(text).is_err(), "{text:?}");
    }
}

#[test]
fn mounts_are_plain_absolute_paths() {
    for text in ["/", "/workspace", "/a/b"] {
        assert!(mount_path(text).is_ok(), "{text}");
    }
    for text in ["", "workspace", "/a/../b", "/a//b", "/a/", "/./a", "/a\0"] {
        assert!(mount_path(text).is_err(), "{text:?}");
    }
}

#[test]
fn sizes_have_units() {
    for (text, expected) in [("1B", 1), ("256KiB", 262_144), ("64MiB", 67_108_864), ("4GiB", 4_294_967_296)] {
        assert_eq!(size_bytes(text), Ok(expected), "{text}");
    }
    for text in
        ["", "64", "MiB", "64MB", "-1MiB", "1.5GiB", "64 MiB", "0MiB", "99999999999999999999MiB", "1mib"]
    {
        assert!(size_bytes(text).is_err(), "{text:?}");
    }
}

#[test]
fn durations_have_units_and_an_end() {
    for (text, ms) in [("500ms", 500), ("5s", 5000), ("2m", 120_000), ("24h", 86_400_000)] {
        assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
    }
    for text in ["", "5", "s", "0s", "5 s", "1.5s", "25h", "18446744073709551615h", "5sec"] {
        assert!(duration(text).is_err(), "{text:?}");
    }
}

#[test]
fn tool_names_are_those_of_the_contract() {
    for text in ["a", "list_files", "A-1", &"x".repeat(64)] {
        assert!(tool_name(text).is_ok(), "{text}");
    }
    for text in ["", "list files", "ä", "a:b", "a.b", &"x".repeat(65)] {
        assert!(tool_name(text).is_err(), "{text:?}");
    }
}

#[test]
fn use_is_a_name_or_a_relative_path() {
    assert_eq!("../guard".parse(), Ok(Use::Path("../guard".to_owned())));
    assert_eq!("./guard".parse(), Ok(Use::Path("./guard".to_owned())));
    let any = Use::Named("acme/guard".parse().unwrap(), semver::VersionReq::STAR);
    assert_eq!("acme/guard".parse(), Ok(any));
    for text in ["guard", "/srv/guard", "acme/guard@", "acme/guard@new", "Acme/guard", "a/b/c"] {
        assert!(text.parse::<Use>().is_err(), "{text:?}");
    }
}

#[test]
fn places_count_characters_and_survive_odd_spans() {
    let source = SourceText::new("x", "äö = 1\r\nb");
    let place = |span| source.problem(span, rewake_toml::Invalid::new("m")).place.expect("it has one");
    let second = place(2..4);
    assert_eq!((second.line, second.column, second.width, second.text.as_str()), (1, 2, 1, "äö = 1"));
    let inside_a_character = place(1..3);
    assert_eq!((inside_a_character.column, inside_a_character.width), (1, 1));
    let past_the_end = place(90..99);
    assert_eq!((past_the_end.line, past_the_end.column, past_the_end.width), (2, 2, 1));
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let text = format!("{}x = 1", "schema = 1 ".repeat(50));
    let shown = Manifest::parse(&text, "bundle.toml").expect_err("it is not TOML").to_string();
    assert!(shown.lines().all(|line| line.chars().count() < 150), "{shown}");
}
