//! Each door, tried with samples that are spoilt.

use rewake_untrusted::Samples;

use super::*;

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
fn rules_of_operators() {
    Samples::corpus("rules")
        .words(&["[config.", "\"\"\"", "'''", "[models.x]", "[[hook]]"])
        .check_text(300, rules);
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

#[test]
fn schemas() {
    Samples::corpus("schema")
        .words(&["\"$ref\":\"#\"", "\"anyOf\"", "\"pattern\"", "\"uniqueItems\":true", "\"const\""])
        .check_text(1_500, schema);
}

#[test]
fn addresses() {
    Samples::corpus("urls").words(&["https://", "@", "[::1]", "%00", "..", "\\"]).check_text(2_000, urls);
}

#[test]
fn snapshots() {
    Samples::corpus("snapshot").check_json(400, |text| snapshot(text.as_bytes()));
}

#[test]
fn answers_of_models() {
    Samples::corpus("stream").words(&["\"index\":0", "[DONE]", "\"type\":"]).check_json_lines(1_500, stream);
}

#[test]
fn keys_in_answers() {
    Samples::corpus("scrubbed")
        .words(&["sk-canary-7f3a9b", "sk-can", "ary-7f3a9b", "%73", "&#115;", "\\u0073"])
        .check_text(200, scrubbed);
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
        let error =
            crate::config::Rules::parse(&text, std::path::Path::new("/etc/r.toml")).unwrap_err().to_string();
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
        for text in [text.clone(), format!("schema = 1\n[bundle]\n{}", text.replace("a = ", "name = "))] {
            lock(&text);
            rules(&text);
            let error = crate::bundle::Lock::parse(&text, "some.file").unwrap_err();
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
    assert_eq!(crate::bundle::nearest(&one, [other.as_str(), "a"]), None);
    assert_eq!(crate::bundle::nearest("memry", ["memory", other.as_str()]), Some("memory"));
}
