//! Entries of a newer host: an unknown kind or version is refused with its name, its seq and the remedy; other
//! sessions continue.

use rewake_core::entry::{Draft as Fresh, Place};
use rewake_core::fact::Custom;
use rewake_runtime::{HostError, host};
use rewake_tests::bundles::Draft;
use rewake_tests::{Outcome, Running, World, forge};
use serde_json::json;

/// A22: an unknown kind is refused with its name and seq; other sessions are unaffected.
#[tokio::test(flavor = "multi_thread")]
async fn a_kind_of_a_newer_host_is_refused_by_name_and_harms_no_other_session() {
    let world = World::new().await;
    let id = world.create(&Draft::scripted()).await;
    let other = world.create(&Draft::scripted()).await;
    for one in [&id, &other] {
        assert_eq!(world.run(one, "[]").await, Outcome::Idle);
    }
    let seq = world.events(&id).await.0.len() as u64 + 1;
    let newer = Custom { kind: "zz.future".into(), data: json!({ "a": 1 }) };
    forge::append(world.store.as_ref(), &id, vec![Fresh::system(Place::default(), newer)], vec![], None)
        .await;

    let refused = Running::try_load(&world.host(), &id).await.map(|_| ()).unwrap_err();
    let HostError::Faulted { fault, .. } = &refused else { panic!("{refused}") };
    assert_eq!((fault.reason.as_str(), fault.seq), ("corrupt", Some(seq)));
    for words in
        [format!("entry {seq}"), "\"zz.future\" version 1".into(), "a newer version of rewake".into()]
    {
        assert!(fault.detail.contains(&words), "{words}: {}", fault.detail);
    }
    let broken = host::verify(world.store.as_ref(), &id).await.unwrap().broken.unwrap();
    assert_eq!((broken.seq, broken.what.contains("zz.future")), (seq, true));
    // Nothing was appended, and what was known before it can still be told.
    assert_eq!(world.store.head(&id).await.unwrap().unwrap().seq, seq);
    assert_eq!(host::standing(world.store.as_ref(), &id).await.unwrap().session.turns, 1);
    assert_eq!(world.run(&other, "[]").await, Outcome::Idle);
    assert_eq!(world.check(&other).await.count("turn.completed"), 2);
}
