//! A packed bundle with its lock (`tests/golden/bundles`): it is read, has the same digest, is packed to the same
//! bytes, and runs.

use std::fs;
use std::path::PathBuf;

use rewake_bundle::{Bundle, LOCK_FILE, ListedTool, Locator, Lock, pack, unpack};
use rewake_core::effect::Effect;
use rewake_runtime::NewSession;
use rewake_tests::bundles::root;
use rewake_tests::world::asked_for;
use rewake_tests::{Outcome, World, played};

fn folder() -> PathBuf {
    root().join("tests/golden/bundles")
}

/// The newest form's files: the packed bundle, and its digest.
fn files() -> [PathBuf; 2] {
    ["played-1.rewake", "played-1.txt"].map(|name| folder().join(name))
}

/// Writes them.
fn make() {
    let [packed, digest] = files();
    let made = tempfile::tempdir().expect("a folder");
    let bundle = Bundle::load(&played::bundle().write(made.path())).expect("a bundle");
    let tool = |name: &str, effect| ListedTool {
        name: name.into(),
        description: "Does it.".into(),
        effect,
        input_schema: "{\"type\":\"object\"}".into(),
    };
    let tools = vec![tool("look", Effect::Pure), tool("act", Effect::Once), tool("keep", Effect::Idempotent)];
    let lock = Lock::of(&bundle, [("tools".to_owned(), tools)].into(), []);
    fs::write(made.path().join(LOCK_FILE), lock.text()).expect("the lock");
    let bundle = Bundle::load(made.path()).expect("a locked bundle");
    fs::write(&packed, pack(&bundle).expect("packed")).expect("written");
    fs::write(&digest, format!("blake3:{}\n", bundle.digest())).expect("written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packed_bundle_is_what_it_was_and_runs() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        make();
    }
    let [packed, digest] = files();
    let bytes = fs::read(&packed).expect("a golden bundle");
    let files = unpack(&bytes).expect("a packed bundle");
    let lock = String::from_utf8(files[LOCK_FILE].to_vec()).expect("text");
    let bundle = Bundle::from_files(files).expect("a bundle");
    assert_eq!(format!("blake3:{}\n", bundle.digest()), fs::read_to_string(digest).unwrap());
    assert_eq!(pack(&bundle).expect("packed"), bytes);
    let read = Lock::parse(&lock, LOCK_FILE).expect("a lock");
    assert_eq!(bundle.lock(), Some(&read));
    assert_eq!(Lock::parse(&read.text(), LOCK_FILE).expect("a lock"), read);
    assert_eq!(read.components["tools"].tools.len(), 3);

    let world = World::new().await;
    let new = NewSession { bundle: Locator::Packed(packed), ..asked_for() };
    let id = world.own().create(&new).await.expect("a session").id;
    assert_eq!(world.run(&id, "sa").await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!((events.said(), events.count("tool.completed")), (vec!["said".to_owned()], 2));
}
