//! Files of a harness: what it read is recorded, and a step that is run again reads the same, whatever
//! stands on the disk by then (R8).

use std::fs;
use std::sync::Arc;

use rewake_store::CutStore;
use rewake_tests::bundles::Draft;
use rewake_tests::play::Scenario;
use rewake_tests::world::{rest, send};
use rewake_tests::{Outcome, World};
use serde_json::json;

fn bundle() -> Draft {
    let asks = "[component.harness.asks]\nfs = [{ mount = \"/workspace\", source = \"workspace\", access = \"ro\", why = \"the test\" }, { mount = \"/bundle\", source = \"bundle\", access = \"ro\", why = \"the test\" }]";
    Draft::new("test/reader").harness("harness_script").toml(asks).tools("tool_probe", "rw")
}

fn append(line: &str) -> serde_json::Value {
    json!({ "op": "tools", "uses": [
        { "name": "append_idempotent", "input": { "path": "/workspace/log", "line": line } },
    ] })
}

/// Cut after every append: the same comes of it.
#[tokio::test(flavor = "multi_thread")]
async fn reads_are_replayed_wherever_a_step_is_cut() {
    let ops = json!([
        { "op": "files", "ops": [
            { "do": "read_at", "path": "/bundle/bundle.toml", "offset": 0, "length": 10 },
            { "do": "list", "path": "/bundle" },
            { "do": "look", "path": "/bundle/bundle.toml" },
            { "do": "read", "path": "/workspace/log" },
            { "do": "write", "path": "/bundle/bundle.toml", "text": "x" },
            { "do": "write", "path": "/workspace/mine", "text": "x" },
            { "do": "read", "path": "/workspace/../../secret" },
            { "do": "hard_link", "path": "/bundle/bundle.toml", "to": "/bundle/w" },
        ] },
        { "op": "hold", "path": "/bundle/bundle.toml" },
        { "op": "read_held", "bytes": 2 },
        append("a"),
        { "op": "read_held", "bytes": 2 },
        { "op": "say", "text": "one" },
        { "op": "read_held", "bytes": 2 },
        { "op": "more" },
        { "op": "files", "ops": [{ "do": "read_at", "path": "/bundle/bundle.toml", "offset": 1, "length": 3 }] },
    ]);
    let scenario = Scenario::new(bundle()).say(&ops);
    scenario
        .everywhere(|world, id, events| {
            let learned = events.learned().pop().unwrap();
            let ro = "files: ReadOnlyFilesystem";
            assert_eq!(learned[0], "files: schema = 1");
            assert_eq!(learned[1], "files: bundle.toml harness_script.wasm tool_probe.wasm");
            assert!(learned[2].starts_with("files: file "), "{learned:?}");
            assert_eq!(learned[3], "files: NotFound");
            assert_eq!(learned[4..6], [ro, ro]);
            assert_eq!(learned[6..8], ["files: PermissionDenied", "files: PermissionDenied"]);
            let held: Vec<&String> = learned.iter().filter(|line| line.starts_with("held: ")).collect();
            assert_eq!(held, ["held: sc", "held: he", "held: ma"]);
            assert_eq!(learned.last().unwrap(), "files: che");
            assert_eq!(world.workspace_file(id, "mine"), None);
        })
        .await;
}

/// The file is another one by the time the step is run again; what was read of it stays.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_stays_whatever_becomes_of_the_file() {
    let ops = json!([
        { "op": "files", "ops": [{ "do": "read", "path": "/workspace/a" }] },
        { "op": "hold", "path": "/workspace/a" },
        { "op": "read_held", "bytes": 3 },
        append("x"),
        { "op": "read_held", "bytes": 9 },
    ]);
    let mut recorded = 0;
    for (appends, becomes) in (2..7).flat_map(|cut| [(cut, Some("AFTER!")), (cut, None)]) {
        let world = World::new().await;
        let id = world.create(&bundle()).await;
        let file = world.path().join("workspaces").join(id.as_str()).join("a");
        fs::write(&file, "before").unwrap();
        let cut = world.host_over(Arc::new(CutStore::new(world.store.clone(), appends)));
        send(&cut, &id, &ops.to_string()).await;
        rest(&cut, &id).await;
        drop(cut);
        let before = world.events(&id).await;
        if before.count("turn.completed") > 0 {
            continue;
        }
        match becomes {
            Some(text) => fs::write(&file, text).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        assert_eq!(world.resume(&id).await, Outcome::Idle);
        let learned = world.check(&id).await.learned().pop().unwrap();
        let lines: Vec<&str> =
            learned.iter().map(String::as_str).filter(|line| !line.starts_with("use")).collect();
        if before.count("step.observed") == 0 {
            continue;
        }
        recorded += 1;
        // What was not read before the cut is read live: from the file as it is by then, or not at all. A
        // stream's failure reaches a program without its code.
        let after = if becomes.is_some() { "held: ER!" } else { "held: Uncategorized" };
        assert_eq!(lines[..2], ["files: before", "held: bef"], "cut after {appends}");
        assert!(lines[2] == after || lines[2] == "held: ore", "cut after {appends}: {lines:?}");
    }
    assert!(recorded >= 4, "cut where nothing was recorded: {recorded}");
}

/// Neither the folder nor the file need be there for a step that has recorded all of it to be checked.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_reads_no_live_mount() {
    let world = World::new().await;
    let id = world.create(&bundle()).await;
    let folder = world.path().join("workspaces").join(id.as_str());
    let text = "x".repeat(300_000);
    fs::write(folder.join("a"), &text).unwrap();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    fs::write(folder.join("b"), &bytes).unwrap();
    let ops = json!([{ "op": "files", "ops": [
        { "do": "read", "path": "/workspace/a" },
        { "do": "read", "path": "/workspace/b" },
        { "do": "list", "path": "/workspace" },
    ] }]);
    assert_eq!(world.run(&id, &ops.to_string()).await, Outcome::Idle);
    let learned = world.events(&id).await.learned().pop().unwrap();
    assert_eq!(learned[0], format!("files: {text}"));
    assert_eq!(learned[2], "files: a b");
    fs::remove_dir_all(&folder).unwrap();
    let replayed = world.own().replay(&id).await.unwrap();
    assert_eq!(replayed.mismatch, None);
}
