//! What a journal, a store and a bundle from elsewhere claim, and what counts of it: pins are compared with the bundle of
//! their digest, snapshots with the journal, and a hook's name with what is installed.

use std::path::Path;

use rewake_bundle::Bundle;
use rewake_core::fact::{Created, Fact};
use rewake_core::grant::Access;
use rewake_core::ids::{Digest, SessionId};
use rewake_runtime::NewSession;
use rewake_store::Snapshot;
use rewake_tests::bundles::Draft;
use rewake_tests::forge;
use rewake_tests::world::asked_for;
use rewake_tests::{Outcome, World};
use serde_json::{Value, json};

use crate::grants::{Ruled, allow, approval};

/// A world with a session of this bundle that somebody else made: its journal, with other pins, and its bundle.
async fn brought(from: &World, id: &SessionId, change: impl FnOnce(&mut Created)) -> World {
    let world = World::new().await;
    let mut drafts = forge::drafts(&forge::entries(from.store.as_ref(), id).await);
    let Fact::SessionCreated(created) = &mut drafts[0].fact else { panic!("no pins") };
    for pin in &created.bundles {
        let kept = from.store.bundle(&pin.digest).await.unwrap().expect("a bundle");
        world.store.put_bundle(kept).await.unwrap();
    }
    change(created);
    forge::create(world.store.as_ref(), id, drafts).await;
    std::fs::create_dir_all(world.path().join("workspaces").join(id.as_str())).expect("a workspace");
    world
}

async fn load_error(world: &World, id: &SessionId) -> String {
    match world.own().load(id).await {
        Ok(_) => panic!("it was loaded"),
        Err(error) => error.to_string(),
    }
}

/// `N-G1`: rules allow a bundle by its digest. A journal from elsewhere that pins another component, or more than the
/// manifest asks for, under that digest is not loaded, and cannot be approved; as it was made, it is loaded.
#[tokio::test(flavor = "multi_thread")]
async fn pins_from_elsewhere_are_compared_with_the_bundle() {
    let ruled =
        Ruled::new(&Draft::new("test/asks").harness("harness_script").tools("tool_probe", "ro")).await;
    let rules = ruled.allow("\"fs:workspace:rw\"");
    ruled.write(&rules);
    let id = ruled.create(None).await;
    let as_it_was = brought(&ruled.world, &id, |_| ()).await;
    as_it_was.rule(&rules);
    assert_eq!(as_it_was.resume(&id).await, Outcome::Idle);
    let wider = |created: &mut Created| {
        let tool = &mut created.components[1];
        tool.asks.fs[0].access = Access::ReadWrite;
        tool.grants.clone_from(&tool.asks);
    };
    // Its bytes are compiled here already, whatever bundle they were of.
    let other = |created: &mut Created| created.components[1].digest = created.components[0].digest;
    for (forged, why) in [
        (brought(&ruled.world, &id, wider).await, "grants that its manifest does not ask for"),
        (brought(&ruled.world, &id, other).await, "has no such component"),
    ] {
        forged.rule(&rules);
        let told = load_error(&forged, &id).await;
        assert!(told.contains(why), "{told}");
        std::fs::remove_file(forged.path().join("rewake.toml")).unwrap();
        let told = forged.own().approve(&id, None, "ann").await.expect_err("it is refused").to_string();
        assert!(told.contains(why), "{told}");
    }
}

/// `N-G1`: what a store from elsewhere holds under a digest must have it.
#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_from_elsewhere_must_have_its_digest() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    ruled.write(&ruled.allow("\"fs:workspace:rw\""));
    let id = ruled.create(None).await;
    let world = World::new().await;
    let other = ruled.world.bundle(&Draft::scripted().toml("# another content"));
    let other = Bundle::load(&other).expect("a bundle");
    let files = other.files().map(|(path, bytes)| (path.to_owned(), bytes.to_vec())).collect();
    let (digest, version) = (ruled.digest(), "0.1.0".to_owned());
    let kept = rewake_store::Bundle { digest, name: "test/scripted".into(), version, files };
    world.store.put_bundle(kept).await.unwrap();
    forge::create(
        world.store.as_ref(),
        &id,
        forge::drafts(&forge::entries(ruled.world.store.as_ref(), &id).await),
    )
    .await;
    std::fs::create_dir_all(world.path().join("workspaces").join(id.as_str())).expect("a workspace");
    world.rule(&ruled.allow("\"fs:workspace:rw\""));
    let told = load_error(&world, &id).await;
    assert!(told.contains("damaged in this store") && told.contains("its content is that of"), "{told}");
}

/// `N-G1`: a snapshot is a cache. One whose pins are others than the journal's is not used, whatever it grants.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_with_other_pins_is_not_used() {
    let world = World::with_snapshots(4).await;
    let bundle = world.bundle(&Draft::scripted());
    let new = NewSession { bundle: bundle.clone().into(), approval: None, ..asked_for() };
    let id = world.own().create(&new).await.unwrap().id;
    let ops = json!([{ "op": "tools", "uses": [{ "name": "append_once", "input": { "path": "/workspace/log", "line": "x" } }] }]).to_string();
    assert_eq!(world.run(&id, &ops).await, Outcome::Idle);
    let snapshot = world.store.newest_snapshot(&id, u64::MAX).await.unwrap().expect("a snapshot");
    let mut fold: Value = serde_json::from_slice(&snapshot.bytes[32..]).unwrap();
    let tool = &mut fold["created"]["components"][1];
    tool["grants"] = tool["asks"].clone();
    let fold = serde_json::to_vec(&fold).unwrap();
    let bytes = [Digest::of(&fold).0.as_slice(), &fold].concat();
    world.store.put_snapshot(&id, Snapshot { bytes, ..snapshot }).await.unwrap();
    world.rule(&allow(&bundle, "\"fs:workspace:rw\""));
    assert_eq!(world.run(&id, &ops).await, Outcome::Idle);
    let events = world.check(&id).await;
    assert_eq!(events.last("snapshot.rejected").data["why"], "it holds other pins than the first entry");
    assert_eq!((events.count("grants.changed"), world.workspace_file(&id, "log")), (0, None));
}

/// `N-G14`: a hook that the rules name is met by the installed bundle of that name, or by the digest that they say; a
/// session whose own bundle of that name is another one is refused, and not run without the hook.
#[tokio::test(flavor = "multi_thread")]
async fn a_hook_by_name_is_met_by_no_other_bundle_of_that_name() {
    let ruled = Ruled::new(&Draft::scripted()).await;
    let on = "[[component.probe.on]]\nevent = \"PreToolUse\"";
    let guard = |word: &str| Draft::new("ops/guard").hook(&[("deny", word)], on);
    let (real, fake) = (ruled.world.bundle(&guard("append_once")), ruled.world.bundle(&guard("nothing")));
    let digest = |folder: &Path| Bundle::load(folder).expect("a bundle").digest();
    let rule = "[[hook]]\nbundle = \"ops/guard\"\ncomponent = \"probe\"\n";
    let with = |folder: &Path| NewSession {
        bundle: ruled.bundle.clone().into(),
        with: vec![folder.to_owned().into()],
        ..asked_for()
    };
    let host = ruled.world.own();
    let refused = async |folder: &Path, words: &[&str]| {
        let told = host.create(&with(folder)).await.expect_err("it is refused").to_string();
        assert!(words.iter().all(|word| told.contains(word)), "{told}");
    };
    ruled.write(rule);
    refused(&fake, &["ops/guard (blake3:", "is not installed", "rewake.toml:1"]).await;
    refused(&real, &["is not installed"]).await;
    // A session without a bundle of the name has no such hook.
    let id = ruled.create(approval()).await;
    assert_eq!(ruled.append(&id, "without").await.0, "use-1: ok: appended without");
    host.install(&Bundle::load(&real).unwrap(), "a folder", "ann", None).await.unwrap();
    refused(&fake, &["is not installed"]).await;
    let id = host.create(&with(&real)).await.expect("a session").id;
    let (learned, events) = ruled.append(&id, "x").await;
    assert!(learned.starts_with("use-1: denied: the probe denies append_once"), "{learned}");
    assert_eq!(events.first("session.created").data["hooks"][0]["operator"], true);
    ruled.write(&format!("{rule}digest = \"blake3:{}\"\n", digest(&fake)));
    refused(&real, &["is blake3:", "not the one of the rule"]).await;
    host.create(&with(&fake)).await.expect("the one that is named");
    // A path may lead to another content by now.
    let path = format!("[[hook]]\nbundle = {real:?}\ncomponent = \"probe\"\n");
    ruled.write(&format!("{path}digest = \"blake3:{}\"\n", digest(&fake)));
    assert!(ruled.refused().await.contains("not the one of the rule"));
}
