//! Imports, cut off at each point there is, and settled once or twice.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::baseline::{Change, changes, scan};

const QUOTA: Quota = Quota { bytes_max: 1 << 20, files_max: 12 };

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A session that began with a folder and did something since; and another folder, to be brought in.
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        let workspace = place.at(&format!("data/workspaces/{}", session()));
        place.write("first/both", "first");
        place.write("first/mine", "first");
        place.write("first/sub/deep", "first");
        fs::create_dir_all(&workspace).unwrap();
        copy_in(&place.at("first"), &workspace, crate::workspace::usual_quota()).unwrap();
        Baseline::note(&place.at("data"), &session(), &workspace, Some(&place.at("first"))).unwrap();
        place.write(&format!("data/workspaces/{}/mine", session()), "changed");
        place.write(&format!("data/workspaces/{}/made", session()), "made");
        symlink("sub/deep", workspace.join("link")).unwrap();
        place.write("more/both", "more");
        place.write("more/new", "more");
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn data(&self) -> PathBuf {
        self.at("data")
    }

    fn workspace(&self) -> PathBuf {
        path(&self.data(), &session())
    }

    fn bring(&self, replaces: bool) -> Bring {
        let (data, from) = (self.data(), self.at("more"));
        Bring { data, session: session(), epoch: 3, from, replaces, quota: QUOTA }
    }

    fn stage(&self, replaces: bool) -> Staged {
        stage(&self.bring(replaces)).unwrap()
    }

    fn settle(&self, announced: Option<Digest>) {
        settle(&self.data(), &session(), announced).unwrap();
        let left: Vec<_> = fs::read_dir(self.at("data/workspaces")).unwrap().collect();
        assert_eq!(left.len(), 1, "something is left: {left:?}");
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.workspace().join(path)).ok()
    }

    fn holds(&self) -> Vec<String> {
        scan(&self.workspace()).unwrap().into_keys().collect()
    }

    fn is_as_before(&self) -> bool {
        self.text("both").as_deref() == Some("first") && self.text("new").is_none()
    }

    fn is_imported(&self) -> bool {
        self.text("both").as_deref() == Some("more")
            && self.text("new").is_some()
            && self.text("made").is_some()
    }

    fn work(&self) -> Vec<(String, Change)> {
        let given = Baseline::read(&self.data(), &session()).unwrap().unwrap();
        changes(&given.tree, &scan(&self.workspace()).unwrap())
    }
}

fn session() -> SessionId {
    SessionId::parse("ses_1").unwrap()
}

#[test]
fn what_comes_replaces_and_the_rest_stays() {
    let place = Place::new();
    let staged = place.stage(false);
    assert!(place.is_as_before());
    assert_eq!(staged.copied, Copied { files: 2, bytes: 8, left_out: 0 });
    staged.put().unwrap();
    assert_eq!(place.holds(), ["both", "link", "made", "mine", "new", "sub", "sub/deep"]);
    assert!(place.is_imported());
    assert_eq!(place.text("mine").as_deref(), Some("changed"));
    assert_eq!(fs::read_link(place.workspace().join("link")).unwrap(), Path::new("sub/deep"));
    assert_eq!(staged.tree, baseline::digest(&scan(&place.workspace()).unwrap()));
    assert_eq!(fs::metadata(place.workspace()).unwrap().permissions().mode() & 0o777, 0o700);
    place.settle(Some(staged.tree));
    assert!(place.is_imported());
}

#[test]
fn a_copy_replaces_everything() {
    let place = Place::new();
    place.stage(true).put().unwrap();
    assert_eq!(place.holds(), ["both", "new"]);
    assert_eq!(place.work(), []);
    let given = Baseline::read(&place.data(), &session()).unwrap().unwrap();
    assert_eq!(given.source, Some(place.at("more").canonicalize().unwrap()));
}

/// What people brought is not what the session did.
#[test]
fn work_is_what_the_session_did() {
    let place = Place::new();
    let work = [
        ("link".to_owned(), Change::Added),
        ("made".to_owned(), Change::Added),
        ("mine".to_owned(), Change::Changed),
    ];
    assert_eq!(place.work(), work);
    place.stage(false).put().unwrap();
    assert_eq!(place.work(), work);
    let given = Baseline::read(&place.data(), &session()).unwrap().unwrap();
    assert_eq!(given.source, Some(place.at("first").canonicalize().unwrap()));
    place.write(&format!("data/workspaces/{}/new", session()), "changed");
    assert!(place.work().contains(&("new".to_owned(), Change::Changed)));
}

#[test]
fn a_file_takes_a_folder_s_place_and_nothing_is_written_through_a_link() {
    let place = Place::new();
    fs::remove_dir_all(place.at("more")).unwrap();
    place.write("more/sub", "a file now");
    place.write("more/made/inside", "a folder now");
    place.stage(false).put().unwrap();
    assert_eq!(place.text("sub").as_deref(), Some("a file now"));
    assert_eq!(place.text("made/inside").as_deref(), Some("a folder now"));
    assert!(place.work().iter().all(|(path, _)| !path.starts_with("sub") && !path.starts_with("made")));
    fs::remove_file(place.at("more/sub")).unwrap();
    symlink("made", place.at("more/sub")).unwrap();
    place.write(&format!("data/workspaces/{}/keep/inside", session()), "mine");
    symlink("made", place.at("more/keep")).unwrap();
    place.stage(false).put().unwrap();
    assert_eq!(fs::read_link(place.workspace().join("keep")).unwrap(), Path::new("made"));
    assert_eq!(place.text("made/inside").as_deref(), Some("a folder now"));
}

#[test]
fn links_that_lead_out_do_not_come_along() {
    let place = Place::new();
    symlink("/etc/passwd", place.at("more/out")).unwrap();
    let staged = place.stage(false);
    assert_eq!(staged.copied, Copied { files: 2, bytes: 8, left_out: 1 });
    staged.put().unwrap();
    assert!(fs::symlink_metadata(place.workspace().join("out")).is_err());
}

#[test]
fn what_would_be_too_much_is_refused_and_nothing_is_left_of_it() {
    let place = Place::new();
    for name in ["1", "2", "3", "4", "5"] {
        place.write(&format!("more/{name}"), "");
    }
    let bounded =
        |bytes_max, files_max| Bring { quota: Quota { bytes_max, files_max }, ..place.bring(false) };
    // Of what comes, seven; of what stays, five: the link, two files, a folder and what is in it.
    for (bring, what) in [(bounded(1 << 20, 11), "files"), (bounded(20, 20), "bytes")] {
        let refused = stage(&bring).map(|staged| staged.copied);
        assert!(
            matches!(refused, Err(WorkspaceError::Full { what: found, .. }) if found == what),
            "{refused:?}"
        );
        place.settle(None);
        assert!(place.is_as_before());
    }
    stage(&bounded(1 << 20, 12)).unwrap().put().unwrap();
    assert!(place.is_imported());
}

#[test]
fn what_nothing_announces_is_removed() {
    let place = Place::new();
    let tree = place.stage(false).tree;
    place.settle(None);
    assert!(place.is_as_before());
    place.stage(false);
    place.settle(Some(Digest::of(b"another")));
    assert!(place.is_as_before());
    // What was announced and is spoiled is not what was announced.
    let staged = place.stage(false);
    fs::write(staged.folder.join(TREE).join("new"), "spoiled").unwrap();
    place.settle(Some(tree));
    assert!(place.is_as_before());
}

/// The host is killed after the entry, after each move, and after the last.
#[test]
fn what_is_announced_is_finished_wherever_it_was_cut() {
    for moves in 0..=3 {
        let place = Place::new();
        let staged = place.stage(false);
        let old = place.workspace();
        if moves > 0 {
            fs::rename(staged.folder.join(BASELINE), baseline::path(&place.data(), &session())).unwrap();
        }
        if moves > 1 {
            fs::rename(&old, staged.folder.join(OLD)).unwrap();
        }
        if moves > 2 {
            fs::rename(staged.folder.join(TREE), &old).unwrap();
        }
        place.settle(Some(staged.tree));
        assert!(place.is_imported(), "after {moves} moves");
        assert_eq!(place.work().len(), 3, "after {moves} moves");
        place.settle(Some(staged.tree));
        assert!(place.is_imported(), "after {moves} moves, settled again");
    }
}

#[test]
fn a_workspace_whose_import_is_broken_comes_back() {
    let place = Place::new();
    let staged = place.stage(false);
    fs::rename(place.workspace(), staged.folder.join(OLD)).unwrap();
    fs::remove_file(staged.folder.join(TREE).join("new")).unwrap();
    place.settle(Some(staged.tree));
    assert!(place.is_as_before());
}

/// A host that was stopped in the middle goes on after another one has finished for it.
#[test]
fn whoever_comes_late_moves_nothing() {
    let place = Place::new();
    let staged = place.stage(false);
    put(&place.data(), &session(), &staged.folder).unwrap();
    place.write(&format!("data/workspaces/{}/new", session()), "worked on");
    staged.put().unwrap();
    assert_eq!(place.text("new").as_deref(), Some("worked on"));
    place.settle(Some(staged.tree));
    staged.put().unwrap();
    assert_eq!(place.text("new").as_deref(), Some("worked on"));
    let next = stage(&Bring { epoch: 4, ..place.bring(true) }).unwrap();
    staged.put().unwrap();
    assert_eq!(place.text("new").as_deref(), Some("worked on"));
    next.put().unwrap();
    assert_eq!(place.holds(), ["both", "new"]);
}

#[test]
fn a_folder_that_holds_the_data_is_refused() {
    let place = Place::new();
    let refused = stage(&Bring { from: place.folder.path().to_owned(), ..place.bring(false) });
    assert!(matches!(refused.map(|staged| staged.copied), Err(WorkspaceError::HoldsData { .. })));
    place.settle(None);
}
