//! Data folders that were kept (`tests/golden/stores`): the program lists, verifies, replays and continues their
//! sessions. `tests/golden/README.md` says how one is made.

mod bundle;
mod make;
mod refused;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rewake_core::command::Command;
use rewake_core::ids::SessionId;
use rewake_core::session;
use rewake_runtime::host;
use rewake_tests::bundles::root;
use rewake_tests::{Outcome, Running, World, forge, preload, tamper};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What a golden session was when it was put here.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    id: String,
    /// What is to be done with it: `message`, `answer`, or nothing, where it has ended.
    then: String,
    status: String,
    entries: u64,
    head: String,
    /// The newest snapshot that holds.
    snapshot: Option<u64>,
    said: Vec<String>,
    kinds: BTreeMap<String, usize>,
}

/// The newest schema, of which a golden store is written. From the tag 0.1.0 on there is one of each.
const SCHEMA: u32 = 1;

/// The golden store of a schema, and the sessions that it holds.
fn files(schema: u32) -> [PathBuf; 2] {
    ["db.gz", "txt"].map(|end| root().join(format!("tests/golden/stores/schema-{schema}.{end}")))
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn unpacked(path: &Path) -> Vec<u8> {
    let packed = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).expect("a packed store");
    bytes
}

/// A world with a golden store in it, and what its sessions were.
async fn golden(schema: u32) -> (World, Vec<Kept>) {
    let [store, list] = files(schema);
    let world = World::with_store(&unpacked(&store)).await;
    let text = std::fs::read_to_string(list).expect("its sessions");
    let kept: Vec<Kept> = text.lines().map(|line| serde_json::from_str(line).expect("a session")).collect();
    for one in &kept {
        std::fs::create_dir_all(world.path().join("workspaces").join(&one.id)).expect("a workspace");
    }
    (world, kept)
}

/// What a session is now, as it is kept.
async fn kept(world: &World, id: &SessionId, then: &str) -> Kept {
    let store = world.store.as_ref();
    let verified = host::verify(store, id).await.unwrap();
    assert_eq!(verified.broken, None, "{id}");
    let events = world.events(id).await;
    let mut kinds = BTreeMap::new();
    for event in &events.0 {
        *kinds.entry(event.kind.clone()).or_default() += 1;
    }
    let snapshot = store.newest_snapshot(id, u64::MAX).await.unwrap();
    Kept {
        id: id.to_string(),
        then: then.to_owned(),
        status: store.session(id).await.unwrap().unwrap().status.as_str().to_owned(),
        entries: verified.entries,
        head: verified.head.hash.to_string(),
        snapshot: snapshot.map(|snapshot| snapshot.seq),
        said: events.said(),
        kinds,
    }
}

/// Takes a golden session up, and has it come to an end of its turn.
async fn goes_on(world: &World, kept: &Kept) {
    let id = SessionId::parse(&kept.id).unwrap();
    // Its approval is of the machine that made the store.
    world.own().approve(&id, None, "ann").await.expect("approved");
    let mut running = Running::load(world.own(), &id).await;
    assert_eq!(running.rest().await, Outcome::Idle, "{id}");
    let before = world.events(&id).await;
    match kept.then.as_str() {
        "message" => drop(running.send("s").await),
        _ => {
            let question = before.last("question.asked").data["id"].as_str().unwrap().to_owned();
            let answer = Command::Answer { question, value: "\"allow\"".into() };
            running.command(answer).await.expect("taken");
        }
    }
    running.event("turn.completed").await;
    running.unload().await;
    let events = world.check(&id).await;
    let loaded = events.0.iter().find(|event| event.kind == "session.loaded" && event.seq > kept.entries);
    let loaded = &loaded.expect("it was loaded").data["snapshot_seq"];
    // A snapshot is a cache: a host may say that it does not read this version any more, and nothing else.
    let rejected: Vec<&Value> = events
        .of_kind("snapshot.rejected")
        .filter(|event| event.seq > kept.entries)
        .map(|event| &event.data["why"])
        .collect();
    let is_told = rejected.iter().any(|why| why.as_str().unwrap_or_default().contains("it is of version"));
    assert!(
        *loaded == json!(kept.snapshot) || is_told,
        "{id}: {loaded}, not {:?}: {rejected:?}",
        kept.snapshot
    );
}

/// A20: later versions read, replay and resume the stores of earlier ones.
#[tokio::test(flavor = "multi_thread")]
async fn what_every_schema_held_is_read_replayed_and_gone_on_with() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        make::store().await;
    }
    let version = "SELECT user_version FROM pragma_user_version";
    let newest = tamper::number(&World::new().await.path().join(preload::JOURNAL), version);
    assert_eq!(newest, i64::from(SCHEMA), "the newest schema has no golden store");
    for schema in 1..=SCHEMA {
        let (world, all) = golden(schema).await;
        assert!(all.len() >= 4, "schema {schema}");
        for before in &all {
            let id = SessionId::parse(&before.id).unwrap();
            assert_eq!(kept(&world, &id, &before.then).await, *before, "schema {schema}");
            let entries = forge::entries(world.store.as_ref(), &id).await;
            let whole = session::fold(id.clone(), &entries).unwrap();
            let standing = host::standing(world.store.as_ref(), &id).await.unwrap();
            assert_eq!(standing.session, whole, "{id}: the fold from its snapshot is another");
            let replayed = world.own().replay(&id).await.unwrap();
            assert_eq!(replayed.mismatch, None, "schema {schema}: {id}");
        }
        for one in all.iter().filter(|one| !one.then.is_empty()) {
            goes_on(&world, one).await;
        }
    }
}
