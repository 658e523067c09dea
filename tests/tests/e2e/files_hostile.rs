//! Files as an attacker would have them: links that change while they are followed, things that are no files,
//! trees without a bottom, names that are none.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rewake_core::ids::SessionId;
use rewake_runtime::{HostError, NewSession};
use rewake_sandbox::workspace::WorkspaceError;
use rewake_tests::World;
use rewake_tests::world::asked_for;
use serde_json::{Value, json};

use crate::files::{WORKSPACE, bundle, files, rules, workspace};

/// A directory of the operator's, `/drop` for guests, with a session that may write there.
async fn with_drop(world: &World) -> (tempfile::TempDir, SessionId) {
    let drop = tempfile::tempdir().unwrap();
    rules(world, &format!("[dirs]\ndrop = {{ path = {:?}, access = \"rw\" }}\n", drop.path()));
    let ask = r#"{ mount = "/drop", source = "host:drop", access = "rw", why = "the test" }"#;
    let id = world.create(&bundle(ask)).await;
    (drop, id)
}

/// A folder that is a link a moment later: whatever is read or written is inside.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_takes_a_folder_s_place_leads_nowhere() {
    let world = World::new().await;
    let id = world.create(&bundle(WORKSPACE)).await;
    let own = workspace(&world, &id);
    let outside = world.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a"), "outside").unwrap();
    for name in ["real", "d"] {
        fs::create_dir(own.join(name)).unwrap();
        fs::write(own.join(name).join("a"), "inside").unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let (stop, own, outside) = (stop.clone(), own.clone(), outside.clone());
        move || {
            let mut swaps = 0;
            while !stop.load(Ordering::Relaxed) {
                fs::rename(own.join("d"), own.join("aside")).unwrap();
                std::os::unix::fs::symlink(&outside, own.join("d")).unwrap();
                std::thread::sleep(Duration::from_micros(200));
                fs::remove_file(own.join("d")).unwrap();
                fs::rename(own.join("aside"), own.join("d")).unwrap();
                std::thread::sleep(Duration::from_micros(200));
                swaps += 1;
            }
            swaps
        }
    });
    let one = [
        json!({ "do": "read", "path": "/workspace/d/a" }),
        json!({ "do": "append", "path": "/workspace/d/a", "text": "!" }),
        json!({ "do": "write", "path": "/workspace/d/new", "text": "!" }),
        json!({ "do": "make_dir", "path": "/workspace/d/dir" }),
        json!({ "do": "remove", "path": "/workspace/d/new" }),
        json!({ "do": "list", "path": "/workspace/d" }),
        json!({ "do": "look", "path": "/workspace/d/a" }),
    ];
    let ops: Vec<Value> = one.iter().cycle().take(7 * 150).cloned().collect();
    let said = files(&world, &id, json!(ops)).await;
    stop.store(true, Ordering::Relaxed);
    assert!(swapping.join().unwrap() > 10);
    assert!(said.iter().all(|line| !line.contains("outside")), "{said:?}");
    assert!(said.iter().any(|line| line == "PermissionDenied"), "no link was met");
    assert!(said.iter().any(|line| line.starts_with("inside")), "nothing was read");
    assert_eq!(fs::read_to_string(outside.join("a")).unwrap(), "outside");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Pipes, sockets and devices of a directory are looked at, never opened: not even for a moment, which whoever
/// waits at their other end would notice.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_file_is_not_opened() {
    let world = World::new().await;
    let (drop, id) = with_drop(&world).await;
    pipe(&drop.path().join("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(drop.path().join("socket")).unwrap();
    std::os::unix::fs::symlink("pipe", drop.path().join("link")).unwrap();
    let (opened, is_opened) = mpsc::channel();
    let path = drop.path().join("pipe");
    std::thread::spawn(move || {
        let writer = fs::OpenOptions::new().write(true).open(path);
        let _ = opened.send(writer.is_ok());
    });
    std::thread::sleep(Duration::from_millis(100));
    let mut ops = Vec::new();
    for name in ["pipe", "link", "socket"] {
        let path = format!("/drop/{name}");
        ops.extend([
            json!({ "do": "read", "path": path }),
            json!({ "do": "write", "path": path, "text": "x" }),
            json!({ "do": "append", "path": path, "text": "x" }),
            json!({ "do": "resize", "path": path, "bytes": 0 }),
        ]);
    }
    let said = files(&world, &id, json!(ops)).await;
    assert!(said.iter().all(|line| line == "PermissionDenied"), "{said:?}");
    assert!(is_opened.try_recv().is_err(), "the pipe was opened");
    // Anyone who waits is let go.
    let _reader = fs::File::open(drop.path().join("pipe")).unwrap();
    assert!(is_opened.recv_timeout(Duration::from_secs(10)).unwrap());
}

/// No tree is deeper than whoever must clean it up can go: not by a long path, not step by step through
/// links, not by putting one tree into another.
#[tokio::test(flavor = "multi_thread")]
async fn a_tree_has_a_bottom() {
    let world = World::new().await;
    let id = world.create(&bundle(WORKSPACE)).await;
    let nested = |root: &str, levels: usize| format!("/workspace/{root}{}", "/d".repeat(levels));
    let mut ops = Vec::new();
    for root in ["a", "b"] {
        ops.extend((0..100).map(|level| json!({ "do": "make_dir", "path": nested(root, level) })));
    }
    let made = files(&world, &id, json!(ops)).await;
    assert_eq!(made, vec!["ok"; 200]);
    let a = nested("a", 99);
    let said = files(
        &world,
        &id,
        json!([
            { "do": "rename", "path": "/workspace/b", "to": format!("{a}/b") },
            { "do": "rename", "path": nested("b", 75), "to": format!("{a}/b") },
            { "do": "symlink", "text": format!("a{}", "/d".repeat(99)), "path": "/workspace/l" },
            { "do": "symlink", "text": format!("b{}", "/d".repeat(24)), "path": format!("{a}/l") },
            { "do": "make_dir", "path": "/workspace/l/l/x" },
            { "do": "make_dir", "path": "/workspace/l/l/x/y" },
            { "do": "make_dir", "path": "/workspace/l/l/x/y/z" },
            { "do": "make_dir", "path": "/workspace/l/l/x/y/z/w" },
            { "do": "write", "path": "/workspace/l/l/x/y/file", "text": "x" },
            { "do": "make_dir", "path": "/workspace/e" },
            { "do": "rename", "path": "/workspace/e", "to": "/workspace/l/l/x/y/z/e" },
            { "do": "remove_dir", "path": "/workspace/e" },
        ]),
    )
    .await;
    let deep = "InvalidFilename";
    assert_eq!(said, [deep, "ok", "ok", "ok", "ok", "ok", "ok", deep, "ok", "ok", deep, "ok"]);
    let depth = walked(&workspace(&world, &id));
    assert_eq!(depth, 128);
    // A host that measures it again can.
    let said = files(&world, &id, json!([{ "do": "write", "path": "/workspace/a/file", "text": "x" }])).await;
    assert_eq!(said, ["ok"]);
}

/// How deep folders go below one.
fn walked(folder: &Path) -> usize {
    let folders = fs::read_dir(folder).unwrap().flatten().filter(|entry| entry.file_type().unwrap().is_dir());
    folders.map(|entry| 1 + walked(&entry.path())).max().unwrap_or(0)
}

/// The names that a guest can have are told; others are not there for it.
#[tokio::test(flavor = "multi_thread")]
async fn odd_names() {
    let world = World::new().await;
    let (drop, id) = with_drop(&world).await;
    for name in [b"plain".as_slice(), b"odd\xff", b"line\nfeed"] {
        fs::write(drop.path().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let said = files(
        &world,
        &id,
        json!([
            { "do": "read", "path": "/drop/line\nfeed" },
            { "do": "read", "path": "/drop/nul\u{0}byte" },
            { "do": "write", "path": format!("/drop/{}", "n".repeat(300)), "text": "x" },
            { "do": "read", "path": format!("/drop{}", "/d".repeat(3_000)) },
            { "do": "list", "path": "/drop" },
        ]),
    )
    .await;
    let long = "InvalidFilename";
    assert_eq!(said, ["x", "InvalidInput", long, long, "line", "feed plain"]);
}

/// The host keeps the names of a listing until they are read; not of as many listings as a guest likes.
#[tokio::test(flavor = "multi_thread")]
async fn listings_run_out_without_a_crash() {
    let world = World::new().await;
    let id = world.create(&bundle(WORKSPACE)).await;
    let many = workspace(&world, &id).join("many");
    fs::create_dir(&many).unwrap();
    for at in 0..5_000 {
        fs::write(many.join(format!("{at:0>200}")), "").unwrap();
    }
    let ops = json!([
        { "do": "list_many", "path": "/workspace/many", "count": 300 },
        { "do": "list_many", "path": "/workspace/many", "count": 3 },
    ]);
    let said = files(&world, &id, ops).await;
    assert_eq!(said, ["listed 28, then OutOfMemory", "listed 3"]);
}

/// Two sessions that append to the same file of the operator's write one after the other, never over each
/// other.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_sessions_append_to_one_file() {
    let world = World::new().await;
    let (drop, one) = with_drop(&world).await;
    let ask = r#"{ mount = "/drop", source = "host:drop", access = "rw", why = "the test" }"#;
    let two = world.create(&bundle(ask)).await;
    fs::write(drop.path().join("log"), "").unwrap();
    let lines = |mark: &str| {
        let op = json!({ "do": "append", "path": "/drop/log", "text": format!("{}\n", mark.repeat(50)) });
        json!(vec![op; 300])
    };
    let (a, b) = tokio::join!(files(&world, &one, lines("a")), files(&world, &two, lines("b")));
    assert!(a.iter().chain(&b).all(|line| line == "ok"));
    let log = fs::read_to_string(drop.path().join("log")).unwrap();
    let count = |mark: &str| log.lines().filter(|line| *line == mark.repeat(50)).count();
    assert_eq!((log.lines().count(), count("a"), count("b")), (600, 300, 300));
}

/// What is there can be written over when nothing more fits; times tell no more than clocks do.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_workspace_can_be_written_over() {
    let world = World::new().await;
    rules(&world, "[limits.workspace]\nsize = \"64KiB\"\n[limits.scratch]\nsize = \"1KiB\"\nfiles = 2\n");
    let scratch = r#"{ mount = "/scratch", source = "scratch", access = "rw", why = "the test" }"#;
    let id = world.create(&bundle(&format!("{WORKSPACE}, {scratch}"))).await;
    let said = files(
        &world,
        &id,
        json!([
            { "do": "fill", "path": "/workspace/a", "bytes": 65536 },
            { "do": "write_at", "path": "/workspace/a", "offset": 10, "text": "over" },
            { "do": "write_at", "path": "/workspace/a", "offset": 65534, "text": "it" },
            { "do": "write_at", "path": "/workspace/a", "offset": 65536, "text": "x" },
            { "do": "write_at", "path": "/workspace/a", "offset": 70000, "text": "x" },
            { "do": "append", "path": "/workspace/a", "text": "x" },
            { "do": "read_at", "path": "/workspace/a", "offset": 65533, "length": 9 },
            { "do": "times", "path": "/workspace/a" },
            { "do": "fill", "path": "/scratch/a", "bytes": 1025 },
            { "do": "make_many", "path": "/scratch/n", "count": 5 },
        ]),
    )
    .await;
    let full = "QuotaExceeded";
    assert_eq!(said[..8], ["wrote 65536", "ok", "ok", full, full, full, "xit", "whole: true"]);
    assert!(said[8].starts_with("wrote 1024, then "), "{said:?}");
    assert_eq!(said[9], "made 1");
    // A workspace that would be over its quota is not begun with.
    let from = tempfile::tempdir().unwrap();
    fs::write(from.path().join("a"), vec![b'x'; 65_537]).unwrap();
    let workspace: Option<PathBuf> = Some(from.path().to_owned());
    let new = NewSession { bundle: world.bundle(&bundle(WORKSPACE)).into(), workspace, ..asked_for() };
    let refused = world.own().create(&new).await.unwrap_err();
    assert!(
        matches!(&refused, HostError::Workspace(WorkspaceError::TooLarge { what: "bytes", max: 65_536, .. })),
        "{refused}"
    );
}

/// A bundle brings files for its guests, which cannot change them.
#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_s_own_data() {
    let world = World::new().await;
    let ask = r#"{ mount = "/bundle", source = "bundle", access = "ro", why = "the test" }"#;
    let draft = bundle(ask).file("data/deep/words", "words").file("data/.hidden", "h").file("left.out", "x");
    let manifest = draft.manifest().replace("api =", "files = [\"data/**\"]\napi =");
    let id = world.create(&draft.with_manifest(&manifest)).await;
    let said = files(
        &world,
        &id,
        json!([
            { "do": "read", "path": "/bundle/data/deep/words" },
            { "do": "list", "path": "/bundle/data" },
            { "do": "read", "path": "/bundle/left.out" },
            { "do": "append", "path": "/bundle/data/deep/words", "text": "x" },
        ]),
    )
    .await;
    assert_eq!(said, ["words", ".hidden deep", "NotFound", "ReadOnlyFilesystem"]);
}
