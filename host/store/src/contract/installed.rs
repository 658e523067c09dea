//! Checks of what is installed: side by side, in place of another, and what keeps a bundle from going.

use rewake_core::Refusal;
use rewake_core::ids::Digest;
use rewake_wire::Status;

use super::tale::Tale;
use crate::StoreError;
use crate::ports::{Bundle, Install, Installed, Store};

const PROJECT: &str = "installing";

/// A kept bundle, with content of its own and content that all have.
async fn kept(store: &dyn Store, name: &str, version: &str) -> Digest {
    let own = format!("{name} {version}").into_bytes();
    let digest = Digest::of(&own);
    let files = vec![("all".to_owned(), b"the same in all".to_vec()), ("own".to_owned(), own)];
    let bundle = Bundle { digest, name: name.into(), version: version.into(), files };
    store.put_bundle(bundle).await.unwrap();
    digest
}

fn install(digest: Digest) -> Install {
    Install {
        project: PROJECT.into(),
        digest,
        source: "/from/here".into(),
        by: "ann".into(),
        instead_of: None,
    }
}

fn is_refused<T>(result: Result<T, StoreError>, words: &str) {
    match result.err() {
        Some(StoreError::Refused(Refusal::Conflict(text))) => assert!(text.contains(words), "{text}"),
        other => panic!("not refused: {other:?}"),
    }
}

async fn of(store: &dyn Store, project: &str, name: &str) -> Vec<Installed> {
    store.installed(project).await.unwrap().into_iter().filter(|one| one.name == name).collect()
}

/// Versions stand side by side; one version of a name is one bundle; another takes its place when asked.
pub(super) async fn names_and_versions(store: &dyn Store) {
    let absent = Digest::of(b"never kept");
    assert!(matches!(store.install(install(absent)).await, Err(StoreError::NotFound(_))));
    assert!(store.installed("no-such-project").await.unwrap().is_empty());
    let (one, two) = (kept(store, "in/a", "1.0.0").await, kept(store, "in/a", "2.0.0").await);
    for digest in [one, two, one] {
        store.install(install(digest)).await.unwrap();
    }
    let found = of(store, PROJECT, "in/a").await;
    let mut versions: Vec<&str> = found.iter().map(|one| one.version.as_str()).collect();
    versions.sort_unstable();
    assert_eq!(versions, ["1.0.0", "2.0.0"], "side by side, each once");
    assert!(found.iter().all(|one| one.source == "/from/here" && one.by == "ann" && one.installed_at.0 > 0));
    assert!(of(store, "another", "in/a").await.is_empty(), "each project its own");

    // The same version again, with other content.
    let files = vec![("own".to_owned(), b"changed".to_vec())];
    let changed = Digest::of(b"changed");
    let bundle = Bundle { digest: changed, name: "in/a".into(), version: "2.0.0".into(), files };
    store.put_bundle(bundle).await.unwrap();
    is_refused(store.install(install(changed)).await, "in/a 2.0.0");
    let wrong = Install { instead_of: Some(one), ..install(changed) };
    is_refused(store.install(wrong).await, "in/a 2.0.0");
    let missing = Install { instead_of: Some(absent), ..install(changed) };
    assert!(store.install(missing).await.is_err());
    assert_eq!(of(store, PROJECT, "in/a").await, found, "nothing was written");
    store.install(Install { instead_of: Some(two), ..install(changed) }).await.unwrap();
    let digests = |found: Vec<Installed>| -> Vec<Digest> {
        let mut digests: Vec<Digest> = found.into_iter().map(|one| one.digest).collect();
        digests.sort_unstable_by_key(|digest| digest.0);
        digests
    };
    let mut expected = vec![one, changed];
    expected.sort_unstable_by_key(|digest| digest.0);
    assert_eq!(digests(of(store, PROJECT, "in/a").await), expected);
    assert_eq!(store.bundle(&two).await.unwrap(), None, "nothing has what was replaced");
    // One that is there already takes another's place: the other goes.
    store.install(Install { instead_of: Some(one), ..install(changed) }).await.unwrap();
    assert_eq!(digests(of(store, PROJECT, "in/a").await), [changed]);
    store.install(Install { instead_of: Some(changed), ..install(changed) }).await.unwrap();
    assert_eq!(digests(of(store, PROJECT, "in/a").await), [changed]);
}

/// A session that has not ended keeps its bundle installed; any session keeps its content.
pub(super) async fn what_goes_and_what_stays(store: &dyn Store) {
    let digest = kept(store, "in/b", "1.0.0").await;
    let beside = kept(store, "in/c", "1.0.0").await;
    assert!(matches!(store.uninstall(PROJECT, &digest).await, Err(StoreError::NotFound(_))));
    store.install(install(digest)).await.unwrap();
    store.install(Install { project: "another".into(), ..install(digest) }).await.unwrap();
    let mut tale = Tale::new("ses_installed");
    let mut creation = tale.creation();
    creation.bundles = vec![digest];
    store.create(creation).await.unwrap();

    is_refused(store.uninstall(PROJECT, &digest).await, "ses_installed");
    assert_eq!(of(store, PROJECT, "in/b").await.len(), 1);
    tale.projection.status = Status::Stopped;
    store.append(tale.append(1)).await.unwrap();
    store.uninstall(PROJECT, &digest).await.unwrap();
    assert!(of(store, PROJECT, "in/b").await.is_empty());
    assert_eq!(of(store, "another", "in/b").await.len(), 1, "each project its own");
    store.uninstall("another", &digest).await.unwrap();
    assert!(store.bundle(&digest).await.unwrap().is_some(), "a session names it");

    store.install(install(beside)).await.unwrap();
    store.uninstall(PROJECT, &beside).await.unwrap();
    assert_eq!(store.bundle(&beside).await.unwrap(), None, "nothing has it any more");
    assert!(!store.list_bundles().await.unwrap().iter().any(|bundle| bundle.digest == beside));
    let files = store.bundle(&digest).await.unwrap().unwrap().files;
    assert_eq!(files.len(), 2, "content that others have stays");
}
