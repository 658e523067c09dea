//! Files brought into a session's workspace between its turns: announced before they are there, and there before
//! anything runs, wherever a host dies.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rewake_core::Refusal;
use rewake_core::command::Command;
use rewake_core::fact::WorkspaceImported;
use rewake_core::ids::SessionId;
use rewake_runtime::{Host, HostError, Import};
use rewake_sandbox::workspace::WorkspaceError;
use rewake_store::StoreError;
use rewake_tests::bundles::Draft;
use rewake_tests::world::{ann, send};
use rewake_tests::{CutStore, Outcome, Running, World};
use serde_json::{Value, json};

/// A session that has written a line, and a folder beside it that holds something newer.
struct Place {
    world: World,
    id: SessionId,
}

impl Place {
    async fn new() -> Place {
        let world = World::with_snapshots(1).await;
        let id = world.create(&Draft::scripted()).await;
        let place = Place { world, id };
        place.append("mine").await;
        place.write("notes", "brought");
        place
    }

    /// Has a tool write a line into `log`.
    async fn append(&self, line: &str) {
        let uses = json!([{ "name": "append_once", "input": { "path": "/workspace/log", "line": line } }]);
        let ops = json!([{ "op": "tools", "uses": uses }]).to_string();
        assert_eq!(self.world.run(&self.id, &ops).await, Outcome::Idle);
    }

    fn folder(&self) -> PathBuf {
        self.world.path().join("brought")
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.folder()).unwrap();
        fs::write(self.folder().join(name), text).unwrap();
    }

    async fn import(&self, host: &Host, replaces: bool) -> Result<WorkspaceImported, HostError> {
        host.import(&self.id, &Import { from: self.folder(), replaces, by: ann() }).await
    }

    fn text(&self, name: &str) -> Option<String> {
        self.world.workspace_file(&self.id, name)
    }

    /// Where imports are made.
    fn beside(&self) -> PathBuf {
        self.world.path().join("workspaces").join(format!(".import-{}", self.id))
    }

    /// Imports, and has the host die right after the entry. Returns a copy of what was made.
    async fn announce(&self) -> PathBuf {
        let (made, old) = (self.world.path().join("made"), self.world.path().join("old"));
        let workspace = self.world.path().join("workspaces").join(self.id.as_str());
        let dying = self.world.host_over(Arc::new(CutStore::new(self.world.store.clone(), 0)));
        self.import(&dying, false).await.unwrap_err();
        copy(&self.beside(), &made);
        copy(&workspace, &old);
        self.import(self.world.own(), false).await.unwrap();
        fs::remove_dir_all(&workspace).unwrap();
        copy(&old, &workspace);
        copy(&made, &self.beside());
        made
    }

    fn nothing_is_left(&self) {
        let left: Vec<_> = fs::read_dir(self.world.path().join("workspaces")).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}

/// A copy of a folder of files.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for found in fs::read_dir(from).unwrap() {
        let found = found.unwrap();
        match found.file_type().unwrap().is_dir() {
            true => copy(&found.path(), &to.join(found.file_name())),
            false => drop(fs::copy(found.path(), to.join(found.file_name())).unwrap()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_come_between_turns_and_the_harness_hears_of_them() {
    let place = Place::new().await;
    let imported = place.import(place.world.own(), false).await.unwrap();
    assert_eq!((imported.files, imported.bytes, imported.left_out, imported.replaced), (1, 7, 0, false));
    assert_eq!(place.text("notes").as_deref(), Some("brought"));
    assert_eq!(place.text("log").as_deref(), Some("mine\n"));
    place.nothing_is_left();
    let ops = json!([{ "op": "events", "kinds": ["workspace.imported"] }]).to_string();
    assert_eq!(place.world.run(&place.id, &ops).await, Outcome::Idle);
    let events = place.world.check(&place.id).await;
    let entry = events.first("workspace.imported");
    assert_eq!((entry.actor.id.as_str(), entry.turn_id.as_deref()), ("ann", None));
    assert_eq!(entry.data["tree"], imported.tree.to_string());
    assert_eq!(events.learned().pop().unwrap(), [format!("events: workspace.imported@{}", entry.seq)]);

    let replaced = place.import(place.world.own(), true).await.unwrap();
    assert!(replaced.replaced && place.text("log").is_none() && place.text("notes").is_some());
    place.append("again").await;
    assert_eq!(place.text("log").as_deref(), Some("again\n"));
    assert_eq!(place.world.check(&place.id).await.count("workspace.imported"), 2);
}

/// R1: a session that rests in this very host is unloaded for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_rests_here_is_let_go_of() {
    let place = Place::new().await;
    let host = place.world.host();
    let _resting = Running::rested(&host, &place.id).await;
    place.import(&host, false).await.unwrap();
    assert!(host.loaded(&place.id).is_none());
    send(&host, &place.id, "[]").await;
    Running::rested(&host, &place.id).await.unload().await;
    place.world.check(&place.id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_comes_into_a_turn_another_s_session_or_one_that_has_ended() {
    let place = Place::new().await;
    let host = place.world.own();
    let elsewhere = place.world.host();
    let running = Running::rested(&elsewhere, &place.id).await;
    let refused = place.import(host, false).await.unwrap_err();
    assert!(matches!(refused, HostError::Store(StoreError::Busy { .. })), "{refused}");
    running.unload().await;

    let ask = json!([{ "op": "ask", "id": "q", "text": "Go on?" }]).to_string();
    place.world.run(&place.id, &ask).await;
    let refused = place.import(host, false).await.unwrap_err();
    assert!(
        matches!(&refused, HostError::Refused(Refusal::Conflict(why)) if why.contains("turn 2 of")),
        "{refused}"
    );

    let stop = Command::Stop { reason: "enough".into() };
    host.send(&place.id, ann(), stop, None).await.unwrap();
    place.world.resume(&place.id).await;
    let refused = place.import(host, false).await.unwrap_err();
    assert!(matches!(refused, HostError::Refused(Refusal::Ended { .. })), "{refused}");
    let none = Import { from: place.folder().join("none"), replaces: false, by: ann() };
    let refused = host.import(&SessionId::parse("ses_none").unwrap(), &none).await.unwrap_err();
    assert!(matches!(refused, HostError::Store(StoreError::NotFound(_))), "{refused}");
    assert_eq!(place.world.check(&place.id).await.count("workspace.imported"), 0);
    assert_eq!(place.text("notes"), None);
    place.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_s_bounds_hold_for_all_of_it() {
    let place = Place::new().await;
    fs::write(place.world.path().join("rewake.toml"), "[limits.workspace]\nfiles = 2\n").unwrap();
    place.write("more", "");
    let refused = place.import(&place.world.host(), false).await.unwrap_err();
    assert!(
        matches!(refused, HostError::Workspace(WorkspaceError::Full { what: "files", max: 2 })),
        "{refused}"
    );
    assert_eq!(place.text("notes"), None);
    place.nothing_is_left();
    place.import(&place.world.host(), true).await.unwrap();
    assert!(place.text("notes").is_some() && place.text("log").is_none());
    place.world.check(&place.id).await;
}

/// The host dies before the entry: nothing came, and nothing is left of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_announced_never_came() {
    let place = Place::new().await;
    let dying = place.world.host_over(Arc::new(CutStore::new(place.world.store.clone(), 0)));
    place.import(&dying, false).await.unwrap_err();
    assert!(place.beside().exists(), "it died before it was made");
    assert_eq!(place.text("notes"), None);
    place.append("after").await;
    assert_eq!((place.text("notes"), place.text("log").as_deref()), (None, Some("mine\nafter\n")));
    place.nothing_is_left();
    assert_eq!(place.world.check(&place.id).await.count("workspace.imported"), 0);
}

/// The host dies after the entry: the host that loads the session finds the files, before anything runs. Once a
/// session was loaded since, an import that is found beside it is nobody's.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_announced_is_there_before_anything_runs() {
    let place = Place::new().await;
    let made = place.announce().await;
    assert_eq!(place.text("notes"), None);
    place.append("after").await;
    assert_eq!(place.text("notes").as_deref(), Some("brought"));
    assert_eq!(place.text("log").as_deref(), Some("mine\nafter\n"));
    place.nothing_is_left();

    copy(&made, &place.beside());
    place.append("later").await;
    assert_eq!(place.text("log").as_deref(), Some("mine\nafter\nlater\n"), "work was undone");
    place.nothing_is_left();
    place.world.check(&place.id).await;
}

/// An import comes after one that was cut off: that one is finished first.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_finishes_the_one_before_it() {
    let place = Place::new().await;
    place.announce().await;
    fs::remove_file(place.folder().join("notes")).unwrap();
    place.write("other", "second");
    place.import(place.world.own(), false).await.unwrap();
    assert_eq!(place.text("notes").as_deref(), Some("brought"));
    assert_eq!(place.text("other").as_deref(), Some("second"));
    place.nothing_is_left();
    let kinds: Vec<Value> = place
        .world
        .check(&place.id)
        .await
        .of_kind("workspace.imported")
        .map(|event| event.data["files"].clone())
        .collect();
    assert_eq!(kinds, [json!(1), json!(1)]);
}
