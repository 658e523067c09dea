//! Files of tools and hooks: what is mounted is all there is, within its quota, and what was done with it
//! stands in the journal (R8).

use std::fs;
use std::path::PathBuf;

use rewake_core::ids::{Digest, SessionId};
use rewake_tests::bundles::{Draft, guest};
use rewake_tests::{Outcome, World};
use serde_json::{Value, json};

pub(crate) const WORKSPACE: &str =
    r#"{ mount = "/workspace", source = "workspace", access = "rw", why = "the test" }"#;

/// A bundle whose tool has these mounts.
pub(crate) fn bundle(fs: &str) -> Draft {
    let limits = "memory = \"16MiB\"\ntimeout = \"20s\"\nfuel = 10_000_000_000\noutput = \"64KiB\"";
    let toml = format!(
        "[component.tool_files]\nkind = \"tool\"\nsource = \"tool_files.wasm\"\n\n[component.tool_files.asks]\nfs = [{fs}]\n\n[component.tool_files.limits]\n{limits}"
    );
    Draft::new("test/files")
        .harness("harness_script")
        .toml(&toml)
        .file("tool_files.wasm", guest("tool_files"))
}

/// Has the tool do these; what it said, a line an operation.
pub(crate) async fn files(world: &World, id: &SessionId, ops: Value) -> Vec<String> {
    let script = json!([{ "op": "tools", "uses": [{ "name": "files", "input": { "ops": ops } }] }]);
    assert_eq!(world.run(id, &script.to_string()).await, Outcome::Idle);
    let learned = world.check(id).await.learned().pop().expect("a report");
    let said = learned[0].strip_prefix("use-").and_then(|line| line.split_once(": ok: "));
    let (_, said) = said.unwrap_or_else(|| panic!("{learned:?}"));
    said.lines().map(str::to_owned).collect()
}

pub(crate) fn workspace(world: &World, id: &SessionId) -> PathBuf {
    world.path().join("workspaces").join(id.as_str())
}

pub(crate) fn rules(world: &World, text: &str) {
    fs::write(world.path().join("rewake.toml"), text).expect("the rules");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_leads_out_of_a_mount() {
    let world = World::new().await;
    let bundle = bundle(WORKSPACE);
    let (id, other) = (world.create(&bundle).await, world.create(&bundle).await);
    let own = workspace(&world, &id);
    fs::write(workspace(&world, &other).join("secret"), "secret").unwrap();
    fs::write(world.path().join("secret"), "secret").unwrap();
    fs::create_dir(own.join("dir")).unwrap();
    fs::write(own.join("dir/a.txt"), "inside").unwrap();
    for (name, text) in [("in", "dir/a.txt"), ("up", "../.."), ("etc", "/etc"), ("loop", "loop")] {
        std::os::unix::fs::symlink(text, own.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(world.path().join("secret"), own.join("absolute")).unwrap();
    let neighbour = format!("/workspace/../{other}/secret");
    let paths = [
        "/workspace/../../secret",
        "/workspace/dir/../../../secret",
        "/workspace/up/secret",
        "/workspace/absolute",
        "/workspace/etc/hostname",
        "/workspace/loop",
        "/etc/hostname",
        "/proc/self/environ",
        "/proc/self/root/etc/hostname",
        "/workspace/dir/a.txt/",
        "/workspace/in/",
        "//workspace/../etc/hostname",
        &neighbour,
    ];
    let mut ops: Vec<Value> = paths.iter().map(|path| json!({ "do": "read", "path": path })).collect();
    ops.extend(paths.iter().map(|path| json!({ "do": "write", "path": path, "text": "changed" })));
    ops.extend(paths.iter().map(|path| json!({ "do": "append", "path": path, "text": "changed" })));
    ops.push(json!({ "do": "read", "path": "/workspace/in" }));
    ops.push(json!({ "do": "env" }));
    ops.push(json!({ "do": "connect", "address": "127.0.0.1:80" }));
    let mut said = files(&world, &id, json!(ops)).await;
    let connected = said.pop().unwrap();
    assert!(!connected.contains("connected"), "{connected}");
    assert_eq!(said.pop().unwrap(), "0 0", "the environment is not empty");
    assert_eq!(said.pop().unwrap(), "inside");
    let known = [
        "PermissionDenied",
        "NotFound",
        "NotADirectory",
        "IsADirectory",
        "FilesystemLoop",
        "Other",
        "InvalidInput",
    ];
    for (op, line) in ops.iter().zip(&said) {
        assert!(known.contains(&line.as_str()), "{op}: {line}");
    }
    for path in [workspace(&world, &other), world.path().to_owned()] {
        assert_eq!(fs::read_to_string(path.join("secret")).unwrap(), "secret");
    }
    assert_eq!(fs::read_to_string(own.join("dir/a.txt")).unwrap(), "inside");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_link_is_not_followed_in_the_next_call() {
    let world = World::new().await;
    let id = world.create(&bundle(WORKSPACE)).await;
    fs::write(world.path().join("secret"), "secret").unwrap();
    let planted = files(
        &world,
        &id,
        json!([
            { "do": "symlink", "text": "/etc", "path": "/workspace/absolute" },
            { "do": "symlink", "text": "../..", "path": "/workspace/up" },
            { "do": "read_link", "path": "/workspace/up" },
        ]),
    )
    .await;
    assert_eq!(planted, ["PermissionDenied", "ok", "../.."]);
    let followed = files(
        &world,
        &id,
        json!([
            { "do": "read", "path": "/workspace/up/secret" },
            { "do": "write", "path": "/workspace/up/new", "text": "x" },
            { "do": "list", "path": "/workspace/up" },
            { "do": "rename", "path": "/workspace/up/secret", "to": "/workspace/secret" },
            { "do": "remove", "path": "/workspace/up/secret" },
        ]),
    )
    .await;
    assert_eq!(followed, ["PermissionDenied"; 5]);
    assert!(world.path().join("secret").exists() && !world.path().join("new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn links_and_renames_keep_to_a_mount_and_what_is_read_only_stays() {
    let world = World::new().await;
    let ro = r#"{ mount = "/ro", source = "workspace", access = "ro", why = "the test" }"#;
    let scratch = r#"{ mount = "/scratch", source = "scratch", access = "rw", why = "the test" }"#;
    let id = world.create(&bundle(&format!("{WORKSPACE}, {ro}, {scratch}"))).await;
    let said = files(
        &world,
        &id,
        json!([
            { "do": "write", "path": "/workspace/a", "text": "12345" },
            { "do": "hard_link", "path": "/workspace/a", "to": "/workspace/b" },
            { "do": "rename", "path": "/workspace/a", "to": "/scratch/a" },
            { "do": "rename", "path": "/workspace/a", "to": "/ro/a" },
            { "do": "read", "path": "/ro/a" },
            { "do": "write", "path": "/ro/a", "text": "" },
            { "do": "append", "path": "/ro/a", "text": "6" },
            { "do": "resize", "path": "/ro/a", "bytes": 0 },
            { "do": "remove", "path": "/ro/a" },
            { "do": "make_dir", "path": "/ro/d" },
            { "do": "symlink", "text": "a", "path": "/ro/l" },
            { "do": "rename", "path": "/ro/a", "to": "/ro/b" },
            { "do": "append", "path": "/workspace/a", "text": "6" },
            { "do": "rename", "path": "/workspace/a", "to": "/workspace/c" },
            { "do": "resize", "path": "/workspace/c", "bytes": 3 },
            { "do": "read_at", "path": "/ro/c", "offset": 1, "length": 9 },
            { "do": "look", "path": "/ro/c" },
            { "do": "list", "path": "/workspace" },
        ]),
    )
    .await;
    let ro = "ReadOnlyFilesystem";
    assert_eq!(
        said,
        [
            "ok",
            "PermissionDenied",
            "CrossesDevices",
            "CrossesDevices",
            "12345",
            ro,
            ro,
            ro,
            ro,
            ro,
            ro,
            ro,
            "ok",
            "ok",
            "ok",
            "23",
            "file 3",
            "c"
        ]
    );
}

/// Quotas are of bytes and of files, holes count, and what is deleted or cut off is free again.
#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_holds_no_more_than_its_quota() {
    let world = World::new().await;
    rules(&world, "[limits.workspace]\nsize = \"100KiB\"\nfiles = 10\n");
    let id = world.create(&bundle(WORKSPACE)).await;
    let said = files(
        &world,
        &id,
        json!([
            { "do": "fill", "path": "/workspace/a", "bytes": 65536 },
            { "do": "fill", "path": "/workspace/b", "bytes": 65536 },
            { "do": "resize", "path": "/workspace/a", "bytes": 1_000_000_000_000u64 },
            { "do": "resize", "path": "/workspace/b", "bytes": 36864 },
            { "do": "append", "path": "/workspace/a", "text": "x" },
            { "do": "remove", "path": "/workspace/b" },
            { "do": "fill", "path": "/workspace/c", "bytes": 16384 },
            { "do": "resize", "path": "/workspace/a", "bytes": 0 },
            { "do": "fill", "path": "/workspace/b", "bytes": 65536 },
            { "do": "make_many", "path": "/workspace/n", "count": 50 },
            { "do": "make_dir", "path": "/workspace/d" },
            { "do": "symlink", "text": "a", "path": "/workspace/l" },
            { "do": "remove", "path": "/workspace/n0" },
            { "do": "make_dir", "path": "/workspace/d" },
            { "do": "rename", "path": "/workspace/c", "to": "/workspace/b" },
            { "do": "fill", "path": "/workspace/e", "bytes": 65536 },
        ]),
    )
    .await;
    assert_eq!(said[0], "wrote 65536");
    // What fits is written before anything fails.
    assert!(said[1].starts_with("wrote 36864, then "), "{said:?}");
    assert_eq!(said[2], "QuotaExceeded");
    assert_eq!(said[3..9], ["ok", "QuotaExceeded", "ok", "wrote 16384", "ok", "wrote 65536"]);
    assert_eq!(said[9..], ["made 7", "QuotaExceeded", "QuotaExceeded", "ok", "ok", "ok", "wrote 65536"]);
    // What another call left behind counts.
    let said = files(
        &world,
        &id,
        json!([
            { "do": "fill", "path": "/workspace/e", "bytes": 65536 },
            { "do": "write_removed", "path": "/workspace/f", "bytes": 65536 },
            { "do": "remove", "path": "/workspace/e" },
            { "do": "write_removed", "path": "/workspace/e", "bytes": 65536 },
            { "do": "write_removed", "path": "/workspace/e", "bytes": 65536 },
        ]),
    )
    .await;
    assert_eq!(said[0], "wrote 65536");
    assert_eq!(said[1], "QuotaExceeded", "there are as many files as there may be");
    assert_eq!(said[2..], ["ok", "wrote 65536", "wrote 65536"]);
}

/// `N-B7`: a file is not renamed to a name with a slash at its end, over a file or to nothing, so that no file is replaced
/// without being counted; a directory is.
#[tokio::test(flavor = "multi_thread")]
async fn a_slash_at_the_end_names_a_directory() {
    let world = World::new().await;
    rules(&world, "[limits.workspace]\nsize = \"100KiB\"\nfiles = 10\n");
    let id = world.create(&bundle(WORKSPACE)).await;
    let said = files(
        &world,
        &id,
        json!([
            { "do": "fill", "path": "/workspace/a", "bytes": 32768 },
            { "do": "fill", "path": "/workspace/b", "bytes": 32768 },
            { "do": "rename", "path": "/workspace/a", "to": "/workspace/b/" },
            { "do": "rename", "path": "/workspace/a", "to": "/workspace/c/" },
            { "do": "rename", "path": "/workspace/a/", "to": "/workspace/c" },
            { "do": "make_dir", "path": "/workspace/d" },
            { "do": "rename", "path": "/workspace/d/", "to": "/workspace/e/" },
            { "do": "rename", "path": "/workspace/a", "to": "/workspace/b" },
            { "do": "fill", "path": "/workspace/a", "bytes": 65536 },
            { "do": "fill", "path": "/workspace/f", "bytes": 32768 },
        ]),
    )
    .await;
    assert_eq!(said[..2], ["wrote 32768"; 2]);
    assert_eq!(said[2..5], ["NotADirectory"; 3]);
    assert_eq!(said[5..9], ["ok", "ok", "ok", "wrote 65536"]);
    assert!(said[9].starts_with("wrote ") && said[9].contains(", then "), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn open_files_run_out_without_a_crash() {
    let world = World::new().await;
    let id = world.create(&bundle(WORKSPACE)).await;
    fs::write(workspace(&world, &id).join("a"), "a").unwrap();
    fs::create_dir(workspace(&world, &id).join("many")).unwrap();
    for at in 0..3_000 {
        fs::write(workspace(&world, &id).join(format!("many/{at}")), "").unwrap();
    }
    let ops = json!([
        { "do": "open_many", "path": "/workspace/a", "count": 2_000 },
        { "do": "open_many", "path": "/workspace/many", "count": 2_000 },
        { "do": "read", "path": "/workspace/a" },
        { "do": "list", "path": "/workspace/many" },
    ]);
    let said = files(&world, &id, ops).await;
    assert!(said[0].ends_with(", then OutOfMemory"), "{}", said[0]);
    assert!(said[1].ends_with(", then OutOfMemory"), "{}", said[1]);
    assert_eq!((said[2].as_str(), said[3].split(' ').count()), ("a", 3_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn scratch_is_empty_in_every_call_and_a_bundle_s_files_are_as_they_are() {
    let world = World::new().await;
    let scratch = r#"{ mount = "/scratch", source = "scratch", access = "rw", why = "the test" }"#;
    let files_of = r#"{ mount = "/bundle", source = "bundle", access = "ro", why = "the test" }"#;
    let draft = bundle(&format!("{scratch}, {files_of}"));
    let id = world.create(&draft).await;
    for _ in 0..2 {
        let said = files(
            &world,
            &id,
            json!([
                { "do": "list", "path": "/scratch" },
                { "do": "write", "path": "/scratch/a", "text": "a" },
                { "do": "read", "path": "/scratch/a" },
                { "do": "resize", "path": "/scratch/a", "bytes": 1_000_000_000_000u64 },
                { "do": "read_at", "path": "/bundle/bundle.toml", "offset": 0, "length": 10 },
                { "do": "write", "path": "/bundle/bundle.toml", "text": "x" },
                { "do": "look", "path": "/bundle/bundle.toml" },
            ]),
        )
        .await;
        // An empty listing is an empty line.
        assert_eq!(said[..6], ["", "ok", "a", "QuotaExceeded", "schema = 1", "ReadOnlyFilesystem"]);
        assert!(said[6].starts_with("file "));
    }
    let left = fs::read_dir(world.path().join("scratch").join(id.as_str())).unwrap().count();
    assert_eq!(left, 0, "a scratch folder outlived its call");
}

/// A directory of the host is seen as the operator names it, and written only if the operator says so too.
#[tokio::test(flavor = "multi_thread")]
async fn directories_of_the_host() {
    let world = World::new().await;
    let host = tempfile::tempdir().unwrap();
    for name in ["docs", "drop"] {
        fs::create_dir(host.path().join(name)).unwrap();
        fs::write(host.path().join(name).join("a"), name).unwrap();
    }
    let (docs, drop) = (host.path().join("docs"), host.path().join("drop"));
    rules(
        &world,
        &format!(
            "[dirs]\ndocs = {{ path = {docs:?}, access = \"ro\" }}\ndrop = {{ path = {drop:?}, access = \"rw\" }}\n"
        ),
    );
    let ask = |name: &str, access: &str| {
        format!(r#"{{ mount = "/{name}", source = "host:{name}", access = "{access}", why = "the test" }}"#)
    };
    let id = world.create(&bundle(&format!("{}, {}", ask("docs", "ro"), ask("drop", "rw")))).await;
    let ops = json!([
        { "do": "read", "path": "/docs/a" },
        { "do": "write", "path": "/docs/a", "text": "x" },
        { "do": "write", "path": "/drop/b", "text": "b" },
        { "do": "read", "path": "/drop/../docs/a" },
        { "do": "rename", "path": "/drop/a", "to": "/docs/b" },
    ]);
    let said = files(&world, &id, ops.clone()).await;
    assert_eq!(said[..3], ["docs", "ReadOnlyFilesystem", "ok"]);
    assert_eq!(said[4], "CrossesDevices");
    assert_eq!(fs::read_to_string(drop.join("b")).unwrap(), "b");
    assert_eq!(fs::read_to_string(docs.join("a")).unwrap(), "docs");
    // Taken away, it is gone at the next load.
    rules(&world, "");
    let said = files(&world, &id, ops).await;
    assert!(said[..3].iter().all(|line| line == "NotFound" || line == "PermissionDenied"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_did_with_files_stands_in_the_journal() {
    let world = World::new().await;
    let id = world.create(&bundle(WORKSPACE)).await;
    let ops = json!([
        { "do": "fill", "path": "/workspace/a", "bytes": 40_000 },
        { "do": "read", "path": "/workspace/a" },
        { "do": "remove", "path": "/workspace/none" },
        { "do": "rename", "path": "/workspace/a", "to": "/workspace/b" },
    ]);
    files(&world, &id, ops).await;
    let events = world.events(&id).await;
    let uses = events.first("tool.completed").data["audit"]["uses"].as_array().unwrap().clone();
    let of = |op: &str| uses.iter().find(|used| used["op"] == op).unwrap_or_else(|| panic!("{op}: {uses:?}"));
    let digest = Digest::of(&vec![b'x'; 40_000]).to_string();
    for op in ["write", "read"] {
        assert_eq!((&of(op)["path"], &of(op)["bytes"]), (&json!("/workspace/a"), &json!(40_000)));
        assert_eq!(of(op)["digest"].as_str().unwrap(), digest);
    }
    assert_eq!(of("unlink")["error"], "no-entry");
    assert_eq!(
        (&of("rename")["path"], &of("rename")["to"]),
        (&json!("/workspace/a"), &json!("/workspace/b"))
    );
}

/// B38, R7: the end of a tool's and of a hook's call names how often each host function was called, whatever its kind.
#[tokio::test(flavor = "multi_thread")]
async fn every_host_call_of_a_tool_and_a_hook_is_counted() {
    let world = World::new().await;
    let id = world.create(&with_hook(&json!([{ "do": "call" }]))).await;
    let ops = json!([{ "do": "call" }, { "do": "remove", "path": "/workspace/none" }]);
    assert_eq!(files(&world, &id, ops).await, ["called", "NotFound"]);
    let events = world.events(&id).await;
    let mut expected = json!({
        "wall-clock.now": 2, "monotonic-clock.now": 3, "monotonic-clock.subscribe": 1, "poll": 1, "log.log": 1,
        "random": 1,
    });
    assert_eq!(events.first("hook.verdict").data["calls"], expected);
    expected["filesystem.unlink-file-at"] = json!(1);
    assert_eq!(events.first("tool.completed").data["calls"], expected);
    // Nothing was called: nothing is said.
    let id = world.create(&bundle(WORKSPACE)).await;
    files(&world, &id, json!([])).await;
    let ended = world.events(&id).await.first("tool.completed").data.clone();
    assert_eq!(ended.get("calls"), None, "{ended}");
}

/// The bundle with a hook that does these before every tool.
fn with_hook(ops: &Value) -> Draft {
    let toml = format!(
        "[component.hook_files]\nkind = \"hook\"\nsource = \"hook_files.wasm\"\n\n[[component.hook_files.on]]\nevent = \"PreToolUse\"\n\n[component.hook_files.asks]\nfs = [{WORKSPACE}]\n\n[config.ops]\ntype = \"string\"\ndefault = {:?}",
        ops.to_string()
    );
    bundle(WORKSPACE).toml(&toml).file("hook_files.wasm", guest("hook_files"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_has_files_too() {
    let ops = json!([
        { "do": "write", "path": "/workspace/hook", "text": "x" },
        { "do": "read", "path": "/workspace/../../secret" },
        { "do": "hard_link", "path": "/workspace/hook", "to": "/workspace/b" },
    ]);
    let world = World::new().await;
    let id = world.create(&with_hook(&ops)).await;
    fs::write(world.path().join("secret"), "secret").unwrap();
    let said = files(&world, &id, json!([{ "do": "read", "path": "/workspace/hook" }])).await;
    assert_eq!(said, ["x"]);
    let verdict = world.events(&id).await.first("hook.verdict").data.clone();
    assert_eq!(verdict["context"], "ok\nPermissionDenied\nPermissionDenied");
    assert!(
        verdict["audit"]["uses"].as_array().unwrap().iter().any(|used| used["op"] == "link"),
        "{verdict}"
    );
}
