//! Each door, tried with samples that are corrupted.

use rewake_untrusted::Samples;

use crate::fuzzing::*;

#[test]
fn manifests() {
    Samples::corpus("manifest")
        .words(&[
            "[component.words]",
            "kind = \"hook\"",
            "on",
            "\"64MiB\"",
            "fs",
            "workspace",
            "source",
            "=\"\"\"",
        ])
        .check_text(1_000, manifest);
}

#[test]
fn locks() {
    Samples::corpus("lock")
        .words(&["[[component.tool]]", "[[use]]", "blake3:", "\"0.1.0\"", "'''"])
        .check_text(700, lock);
}

#[test]
fn packed_bundles() {
    Samples::corpus("packed").words(&["00000000000", "ustar\0", "bundle.toml"]).check(700, packed);
}

#[test]
fn components() {
    let made = |text: &[u8]| wat::parse_bytes(text).expect("a sample is WebAssembly").into_owned();
    Samples::corpus("component").map(made).check(1_000, component);
}

#[test]
fn scripts() {
    Samples::corpus("script").words(&["[[reply]]", "use", "delay_ms"]).check_text(700, script);
}

#[test]
fn matchers() {
    Samples::corpus("matcher")
        .words(&["|", ",", "effect:", "grant:", "(?i)", "\\pL", "{1000}"])
        .check_text(1_000, matcher);
}

#[test]
fn words() {
    Samples::corpus("names")
        .words(&["@", "host:", "fs:", "http:", "KiB", "ms", "/**"])
        .check_text(2_000, names);
}

/// What is wrong a hundred thousand times over, all on one line or each on its own, is told in bounded time and words:
/// each problem took a look through the file, and kept its line.
#[test]
fn many_problems_of_a_long_file_are_told() {
    let keys: Vec<String> = (0..100_000).map(|n| format!("k{n} = 1")).collect();
    for text in [format!("a = {{ {} }}", keys.join(", ")), keys.join("\n"), "=\n".repeat(100_000)] {
        let since = std::time::Instant::now();
        for text in [text.clone(), format!("schema = 1\n[bundle]\n{}", text.replace("a = ", "name = "))] {
            lock(&text);
            let error = crate::Lock::parse(&text, "some.file").unwrap_err();
            let kept: usize =
                error.problems().iter().filter_map(|problem| Some(problem.place.as_ref()?.text.len())).sum();
            assert!(kept <= 4 << 20, "{kept} bytes are kept");
        }
        assert!(since.elapsed().as_secs() < 60, "{:?}", since.elapsed());
    }
}

/// Two names that are long: what would have to be looked at is as long as one times the other.
#[test]
fn long_names_are_not_taken_for_mistakes() {
    let (one, other) = ("a".repeat(200_000), "a".repeat(200_001));
    assert_eq!(rewake_toml::nearest(&one, [other.as_str(), "a"]), None);
    assert_eq!(rewake_toml::nearest("memry", ["memory", other.as_str()]), Some("memory"));
}
