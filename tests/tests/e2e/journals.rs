//! What a load makes of a store that somebody changed: tampered entries are found and named, bad snapshots
//! are passed over, and no other session is harmed.

use rewake_core::ids::{Digest, SessionId};
use rewake_runtime::{HostError, host};
use rewake_store::Snapshot;
use rewake_tests::bundles::Draft;
use rewake_tests::{Outcome, Running, World};
use serde_json::{Value, json};

const TURN: &str = r#"[{ "op": "tools", "uses": [{ "name": "sleep_pure", "input": { "ms": 7 } }] }]"#;

/// B43, A47: a changed entry in the file is detected, and only its session is not loaded.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_entry_is_found_and_named() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let other = world.create(&Draft::scripted()).await;
    assert_eq!(world.run(&id, TURN).await, Outcome::Idle);
    assert_eq!(world.run(&other, "[]").await, Outcome::Idle);
    let seq = world.check(&id).await.first("tool.completed").seq;

    let world = world.tamper("slept 7 ms", "slept 9 ms").await;
    let verified = host::verify(world.store.as_ref(), &id).await.unwrap();
    let broken = verified.broken.unwrap();
    assert_eq!((broken.seq, verified.entries), (seq, seq - 1));
    assert!(broken.what.contains("payload is not the one"), "{broken}");

    let refused = Running::try_load(&world.host(), &id).await.map(|_| ()).unwrap_err();
    let HostError::Faulted { fault, .. } = &refused else { panic!("{refused}") };
    assert_eq!((fault.reason.as_str(), fault.seq), ("corrupt", Some(seq)));
    assert!(refused.to_string().contains(&format!("entry {seq}")), "{refused}");
    let shown = world.store.session(&id).await.unwrap().unwrap();
    assert_eq!(shown.fault.unwrap(), **fault);

    assert_eq!(world.run(&other, TURN).await, Outcome::Idle);
    assert_eq!(world.check(&other).await.count("turn.completed"), 2);
}

/// B43: a changed column breaks the chain as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_column_is_found() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    assert_eq!(world.run(&id, "[]").await, Outcome::Idle);
    let seq = world.check(&id).await.first("step.completed").seq;
    let world = world.tamper("step.completed", "turn.completed").await;
    let broken = host::verify(world.store.as_ref(), &id).await.unwrap().broken.unwrap();
    assert_eq!(broken.seq, seq);
    assert!(broken.what.contains("the hash chain is broken"), "{broken}");
}

/// The same snapshot with another fold; its digest stands before it.
fn with_fold(snapshot: &Snapshot, fold: &[u8]) -> Snapshot {
    let bytes = [Digest::of(fold).0.as_slice(), fold].concat();
    Snapshot { bytes, ..snapshot.clone() }
}

/// A snapshot that is whole in itself, and of an entry that the journal does not hold.
fn of_another_entry(snapshot: &Snapshot) -> Snapshot {
    let mut session: Value = serde_json::from_slice(&snapshot.bytes[32..]).unwrap();
    let hash = Digest::of(b"another entry");
    session["head"]["hash"] = json!(hash);
    Snapshot { hash, ..with_fold(snapshot, session.to_string().as_bytes()) }
}

/// A snapshot of which one bit has turned.
fn bit_turned(snapshot: &Snapshot) -> Snapshot {
    let mut bytes = snapshot.bytes.clone();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    Snapshot { bytes, ..snapshot.clone() }
}

/// A session with two snapshots, and the newest of them.
async fn snapshotted() -> (World, SessionId, Snapshot) {
    let world = World::with_snapshots(3).await;
    let id = world.create(&Draft::scripted()).await;
    for _ in 0..2 {
        assert_eq!(world.run(&id, TURN).await, Outcome::Idle);
    }
    let newest = world.store.newest_snapshot(&id, u64::MAX).await.unwrap().expect("a snapshot");
    assert!(world.store.newest_snapshot(&id, newest.seq).await.unwrap().is_some(), "only one snapshot");
    (world, id, newest)
}

/// Runs one more turn, which must go on where the session was; what was rejected, and the snapshot used.
async fn goes_on(world: &World, id: &SessionId) -> (Vec<Value>, Value) {
    let before = world.events(id).await.count("snapshot.rejected");
    assert_eq!(world.run(id, TURN).await, Outcome::Idle);
    let events = world.check(id).await;
    assert_eq!(events.learned().pop().unwrap(), ["use-3: ok: slept 7 ms"]);
    let rejected = events.of_kind("snapshot.rejected").skip(before).map(|event| event.data.clone());
    (rejected.collect(), events.last("session.loaded").data["snapshot_seq"].clone())
}

/// Makes a snapshot one that cannot be used.
type Spoil = fn(&Snapshot) -> Snapshot;

/// A16, A18, A19: the newest snapshot is used; a damaged one is rejected, and the older one is used.
#[tokio::test(flavor = "multi_thread")]
async fn a_bad_snapshot_is_passed_over() {
    let (world, id, newest) = snapshotted().await;
    assert_eq!(goes_on(&world, &id).await, (vec![], json!(newest.seq)));

    let spoils: [(&str, Spoil); 6] = [
        ("it is too short", |one| Snapshot { bytes: b"{".to_vec(), ..one.clone() }),
        ("its bytes are not those that were kept", bit_turned),
        ("it does not decode", |one| with_fold(one, b"{")),
        ("it is of version 9", |one| Snapshot { version: 9, ..one.clone() }),
        ("of another session or another entry", |one| Snapshot { hash: Digest::default(), ..one.clone() }),
        ("is another than it was made from", of_another_entry),
    ];
    for (why, spoil) in spoils {
        let (world, id, newest) = snapshotted().await;
        let older = world.store.newest_snapshot(&id, newest.seq).await.unwrap().unwrap();
        world.store.put_snapshot(&id, spoil(&newest)).await.unwrap();
        let (rejected, used) = goes_on(&world, &id).await;
        assert_eq!(used, json!(older.seq), "{why}");
        assert_eq!((rejected.len(), &rejected[0]["at"]), (1, &json!(newest.seq)));
        assert!(rejected[0]["why"].as_str().unwrap().contains(why), "{rejected:?}");
    }
}

/// R9: a snapshot is a cache; without any, the whole journal is folded.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_good_snapshot_the_whole_journal_is_used() {
    let (world, id, newest) = snapshotted().await;
    let older = world.store.newest_snapshot(&id, newest.seq).await.unwrap().unwrap();
    for one in [newest, older] {
        world.store.put_snapshot(&id, Snapshot { bytes: vec![], ..one }).await.unwrap();
    }
    let (rejected, used) = goes_on(&world, &id).await;
    assert_eq!((rejected.len(), used), (2, Value::Null));
}
