//! `[models]`: what is taken, exactly, and what is refused.

use std::os::unix::fs::PermissionsExt as _;

use rewake_core::money::{Price, Usd};

use super::*;
use crate::trust::TrustKey;

fn usd(text: &str) -> Usd {
    text.parse().unwrap()
}

#[test]
fn a_model_is_read_with_all_its_keys() {
    let text = "[models.fast]\nprovider = \"anthropic\"\nmodel = \"m\"\nbase_url = \"https://x.example/v1\"\nkey_file = \"keys/a\"\nprice = { input = 0.1, output = \"0.30\", cache_read = 1_0, cache_write = 0.125 }\ncontext = 200_000\nmax_tokens = 4096\ntimeout = \"2m\"\nidle_timeout = \"30s\"\nthinking = \"high\"\noptions = [\"temperature\", \"top_p\"]\ncache = false";
    let rules = rules(text);
    let model = &rules.models["fast"];
    assert_eq!(model.key, Some(KeySource::File("/etc/rewake/keys/a".into())));
    assert_eq!(model.base_url.as_ref().unwrap().origin(), "https://x.example");
    let price =
        Price { input: usd("0.1"), output: usd("0.3"), cache_read: usd("10"), cache_write: usd("0.125") };
    assert_eq!(model.price, Some(price));
    assert_eq!((model.context_tokens, model.output_tokens_max), (Some(200_000), Some(4_096)));
    assert_eq!((model.timeout, model.thinking), (Some(Duration::from_secs(120)), Some(Thinking::High)));
    assert_eq!(model.idle_timeout, Some(Duration::from_secs(30)));
    assert_eq!((model.options.join(" "), model.cache), ("temperature top_p".into(), false));
}

/// A cap must hold where nobody said what the cache costs.
#[test]
fn what_is_not_said_of_the_cache_is_dear() {
    let price = |provider: &str| {
        let text = format!(
            "[models.x]\nprovider = {provider:?}\nmodel = \"m\"\nprice = {{ input = 3, output = 15 }}"
        );
        rules(&text).models["x"].price.unwrap()
    };
    let anthropic = price("anthropic");
    assert_eq!((anthropic.cache_read, anthropic.cache_write), (usd("3"), usd("3.75")));
    assert_eq!((price("openai").cache_read, price("openai").cache_write), (usd("3"), usd("3")));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let model = |line: &str| format!("[models.x]\nprovider = \"openai\"\nmodel = \"m\"\n{line}");
    for (line, words) in [
        ("base_url = \"localhost:1\"", "`base_url` cannot be used"),
        ("base_url = \"https://u:p@x.example\"", "user's name or password"),
        ("base_url = \"http://169.254.169.254/\"", "is link-local"),
        ("key_env = \"\"", "`key_env` is empty"),
        ("key_env = \"A\"\nkey_file = \"b\"", "comes from two places"),
        ("key_fil = \"b\"", "did you mean `key_file`?"),
        ("price = { input = -1, output = 1 }", "`input` is not an amount"),
        ("price = { input = 1e3, output = 1 }", "`input` is not an amount"),
        ("price = { input = 0x10, output = 1 }", "must be a price"),
        ("price = { input = nan, output = 1 }", "`input` is not an amount"),
        ("price = { input = 0.0000000001, output = 1 }", "at most 9 decimals"),
        ("price = { input = 1 }", "has no `output`"),
        ("context = 0", "from 1 to"),
        ("thinking = \"hgih\"", "did you mean \"high\"?"),
        ("timeout = 5", "a duration such as"),
        ("options = [\"messages\"]", "`messages` is not an option that harnesses may set"),
        ("options = [\"n\"]", "`n` is not an option"),
        ("options = [\"service_tier\"]", "`service_tier` is not an option"),
        ("options = [\"cache_control\"]", "`cache_control` is not an option"),
        ("options = [\"a b\"]", "not an option's name"),
        ("cache = 1", "true or false"),
    ] {
        refused(&model(line), &[words, "rewake.toml:"]);
    }
    refused("[models.x]\nprovider = \"openai\"", &["[models.x] has no `model`"]);
    refused(
        "[models.x]\nprovider = \"scripted\"\nkey_env = \"A\"",
        &["has `key_env`, and a script has none"],
    );
}

#[test]
fn keys_are_read_when_they_are_used_and_shown_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    let source = KeySource::File(file.clone());
    assert!(source.read().unwrap_err().contains("cannot be read"));
    std::fs::write(&file, format!("{CANARY}\n")).unwrap();
    assert_eq!(source.read().unwrap().expose(), CANARY);
    for (content, says) in
        [("\n", "is empty"), ("ab cd", "something else than a key"), ("a\u{e4}", "no ASCII")]
    {
        std::fs::write(&file, content).unwrap();
        let why = source.read().unwrap_err();
        assert!(why.contains(says) && !why.contains("ab cd"), "{why}");
    }
    let unset = KeySource::Env("REWAKE_TEST_NOT_SET".into()).read().unwrap_err();
    assert!(unset.contains("`REWAKE_TEST_NOT_SET`, which is not set"), "{unset}");
}

/// A key's file is as much a secret's as one of `[config]`.
#[test]
fn a_key_s_file_is_guarded() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::create_dir(place("keys")).unwrap();
    std::fs::write(place("keys/a"), CANARY).unwrap();
    std::fs::set_permissions(place("keys/a"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let model = "[models.x]\nprovider = \"openai\"\nmodel = \"m\"\nkey_file = \"keys/a\"\n";
    let file = place("rules.toml");
    std::fs::write(&file, model).unwrap();
    let rules = RulesFile::new(Some(&file), &place("data"), &place("cache"), &TrustKey::in_state(None));
    let told = rules.read().unwrap().warnings.join("\n");
    assert!(told.contains("holds a model's key and can be read by others"), "{told}");
    std::fs::write(&file, format!("{model}[dirs]\nk = {{ path = \"keys\", access = \"ro\" }}\n")).unwrap();
    let error = rules.read().unwrap_err().to_string();
    assert!(error.contains("a model's key"), "{error}");
    std::fs::set_permissions(place("keys/a"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&file, model).unwrap();
    assert!(!rules.read().unwrap().warnings.join("\n").contains("model's key"));
}
