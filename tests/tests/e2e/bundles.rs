//! Bundles that are not as they must be: refused with the place and the way out, and nothing is created.

use rewake_tests::World;
use rewake_tests::bundles::{Draft, guest};

/// A bundle that cannot be used is refused in these words, and leaves nothing behind.
async fn refused(draft: &Draft, expected: &[&str]) {
    let world = World::new().await;
    let error = world.try_create(draft).await.expect_err("it is malformed").to_string();
    for words in expected {
        assert!(error.contains(words), "{words:?} is not in:\n{error}");
    }
    assert!(world.store.list_sessions(10, None).await.unwrap().is_empty());
    assert!(world.store.list_bundles().await.unwrap().is_empty());
    assert!(!world.path().join("workspaces").exists());
}

fn component(kind: &str, source: &str) -> String {
    format!("[component.words]\nkind = {kind:?}\nsource = {source:?}")
}

#[tokio::test(flavor = "multi_thread")]
async fn toml_that_does_not_parse_is_shown_at_its_place() {
    let draft = Draft::scripted().toml("[agent\ninstructions = 1");
    let line = draft.manifest().lines().position(|line| line == "[agent").unwrap() + 1;
    refused(&draft, &["bundle.toml:", &format!(":{line}:7"), "[agent", "^"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_key_is_shown_with_the_nearest() {
    let draft = Draft::new("test/keys").toml("[component.words]\nkind = \"tool\"\nsorce = \"words.wasm\"");
    let line = draft.manifest().lines().position(|line| line.starts_with("sorce")).unwrap() + 1;
    refused(&draft, &[&format!("bundle.toml:{line}:1"), "`sorce`", "`source`"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_is_named() {
    let draft = Draft::new("test/missing").toml(&component("tool", "words.wasm"));
    refused(&draft, &["there is no file `words.wasm`", "build it, or correct the name"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_without_a_manifest_is_no_bundle() {
    let world = World::new().await;
    let new = rewake_runtime::NewSession { bundle: world.path().join("none").into(), ..Default::default() };
    let error = world.host().create(&new).await.expect_err("there is none").to_string();
    assert!(error.contains("none") && error.contains("bundle.toml"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_component_is_told() {
    let mut bytes = guest("tool_probe");
    bytes.truncate(bytes.len() / 2);
    let draft = Draft::new("test/cut").toml(&component("tool", "words.wasm")).file("words.wasm", bytes);
    refused(&draft, &["`words.wasm`", "cut off"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_of_another_kind_is_told() {
    let draft = Draft::new("test/kind")
        .toml(&component("tool", "words.wasm"))
        .file("words.wasm", guest("hook_probe"));
    refused(&draft, &["`words.wasm` is a hook, not a tool", "kind = \"hook\""]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_core_module_is_no_component() {
    let draft = Draft::new("test/core")
        .toml(&component("tool", "words.wasm"))
        .file("words.wasm", b"\0asm\x01\0\0\0".as_slice());
    refused(&draft, &["`words.wasm` is a core module, not a component", "wasm32-wasip2"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_webassembly_is_told() {
    for (bytes, words) in
        [(b"".as_slice(), "is empty"), (b"MZ", "is not WebAssembly"), (b"\x7fELF", "native code")]
    {
        let draft = Draft::new("test/other").toml(&component("tool", "words.wasm")).file("words.wasm", bytes);
        refused(&draft, &[words]).await;
    }
}

/// design.md: a compiled artifact is never accepted from a bundle.
#[tokio::test(flavor = "multi_thread")]
async fn a_compiled_artifact_is_never_accepted() {
    let draft = Draft::new("test/compiled")
        .toml(&component("tool", "words.cwasm"))
        .file("words.cwasm", guest("tool_probe"));
    refused(&draft, &["`words.cwasm` is a compiled artifact"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tools_of_one_name_are_refused_with_the_way_to_rename_one() {
    let draft = Draft::scripted().toml("[component.again]\nkind = \"tool\"\nsource = \"tool_probe.wasm\"");
    refused(&draft, &["append_once", "tool_probe", "again"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_without_a_harness_runs_no_session() {
    refused(&Draft::new("test/tools").tools("tool_probe", "rw"), &["harness"]).await;
}

/// A guard that would never run is refused, not ignored.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_would_never_run_is_refused() {
    let on = |rest: &str| Draft::scripted().hook(&[], &format!("[[component.probe.on]]\n{rest}"));
    refused(&on("event = \"Notification\""), &["never fires Notification"]).await;
    refused(&on("event = \"SessionStart\"\nmatcher = \"reboot\""), &["can never match `reboot`"]).await;
    let broken = on("event = \"PreToolUse\"\nmatcher = \"wr(\"");
    let line = broken.manifest().lines().position(|line| line.starts_with("matcher")).unwrap() + 1;
    let place = format!("bundle.toml:{line}:11");
    refused(&broken, &["`wr(` does not compile: unclosed group", &place]).await;
    refused(&on("event = \"PreToolUse\"\nmatcher = \"a.b/c\""), &["can never match `a.b/c`"]).await;
}

/// What the operator has not set and the bundle needs is told with the lines that set it.
#[tokio::test(flavor = "multi_thread")]
async fn configuration_without_a_value_is_told() {
    let draft = Draft::scripted().toml("[config.key]\ntype = \"string\"\nrequired = true");
    refused(&draft, &["test/scripted needs a value for key", "[config.\"test/scripted\"]\nkey = "]).await;
}
