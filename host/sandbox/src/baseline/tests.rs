//! Trees, what changed between them, and bringing it back.

use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in
            [("source/a.txt", "one"), ("source/sub/b.txt", "two"), ("source/sub/c.txt", "three")]
        {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let place = Place { folder };
        fs::create_dir(place.at("workspace")).unwrap();
        let quota = crate::workspace::copy_in(
            &place.at("source"),
            &place.at("workspace"),
            crate::workspace::usual_quota(),
        );
        quota.unwrap();
        Baseline::note(&place.at("data"), &session(), &place.at("workspace"), Some(&place.at("source")))
            .unwrap();
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.at(path)).ok()
    }

    fn baseline(&self) -> Baseline {
        Baseline::read(&self.at("data"), &session()).unwrap().unwrap()
    }

    fn changes(&self) -> Vec<(String, Change)> {
        changes(&self.baseline().tree, &scan(&self.at("workspace")).unwrap())
    }

    fn apply(&self) -> Result<Vec<(String, Change)>, ApplyError> {
        apply(&self.baseline(), &self.at("workspace"), &self.at("source"))
    }
}

fn session() -> SessionId {
    SessionId::parse("ses_1").unwrap()
}

#[test]
fn what_nothing_was_done_to_has_no_changes() {
    let place = Place::new();
    assert_eq!(place.changes(), []);
    assert_eq!(place.baseline().source, Some(place.at("source").canonicalize().unwrap()));
    assert_eq!(Baseline::read(&place.at("data"), &SessionId::parse("ses_2").unwrap()).unwrap(), None);
}

#[test]
fn changes_are_named_by_path_and_brought_back() {
    let place = Place::new();
    place.write("workspace/a.txt", "another");
    place.write("workspace/new/deep/d.txt", "four");
    fs::remove_file(place.at("workspace/sub/b.txt")).unwrap();
    fs::create_dir(place.at("workspace/empty")).unwrap();
    std::os::unix::fs::symlink("a.txt", place.at("workspace/link")).unwrap();
    let expected = [
        ("a.txt", Change::Changed),
        ("empty", Change::Added),
        ("link", Change::Added),
        ("new/deep/d.txt", Change::Added),
        ("sub/b.txt", Change::Removed),
    ];
    let expected = expected.map(|(path, change)| (path.to_owned(), change));
    assert_eq!(place.changes(), expected);
    place.write("source/mine.txt", "untouched");
    assert_eq!(place.apply().unwrap(), expected);
    assert_eq!(place.text("source/a.txt").unwrap(), "another");
    assert_eq!(place.text("source/new/deep/d.txt").unwrap(), "four");
    assert_eq!(place.text("source/sub/b.txt"), None);
    assert_eq!(place.text("source/mine.txt").unwrap(), "untouched");
    assert_eq!(fs::read_link(place.at("source/link")).unwrap(), Path::new("a.txt"));
    assert!(place.at("source/empty").is_dir());
    // Again: everything is there already.
    assert_eq!(place.apply().unwrap(), expected);
}

#[test]
fn a_folder_that_changed_where_the_workspace_did_is_left_as_it_is() {
    let place = Place::new();
    place.write("workspace/a.txt", "theirs");
    place.write("workspace/new.txt", "theirs");
    place.write("source/a.txt", "mine");
    let Err(ApplyError::Conflicts(paths)) = place.apply() else { panic!("it was applied") };
    assert_eq!(paths, ["a.txt"]);
    assert_eq!(place.text("source/a.txt").unwrap(), "mine");
    assert_eq!(place.text("source/new.txt"), None, "something was done before the conflict was seen");
}

#[test]
fn a_link_that_leads_out_is_not_brought_along() {
    for text in ["../../etc/passwd", "sub/../../x"] {
        let place = Place::new();
        place.write("workspace/new.txt", "fresh");
        std::os::unix::fs::symlink(text, place.at("workspace/out.log")).unwrap();
        let Err(ApplyError::LeadOut(paths)) = place.apply() else { panic!("{text} was brought along") };
        assert_eq!(paths, ["out.log"]);
        assert_eq!(place.text("source/new.txt"), None, "something was done");
    }
}

#[test]
fn a_file_keeps_its_rights_and_long_names_are_no_matter() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    fs::set_permissions(place.at("source/a.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    place.write("workspace/a.txt", "another");
    let long = format!("workspace/{}", "n".repeat(250));
    place.write(&long, "fresh");
    place.apply().unwrap();
    assert_eq!(fs::metadata(place.at("source/a.txt")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(place.text(&long.replace("workspace", "source")).unwrap(), "fresh");
    let left = fs::read_dir(place.at("source"))
        .unwrap()
        .filter(|one| one.as_ref().unwrap().file_name().to_string_lossy().starts_with(".rewake-apply"));
    assert_eq!(left.count(), 0);
}

#[test]
fn what_stands_in_a_folder_that_has_to_go_is_a_conflict() {
    let place = Place::new();
    fs::remove_dir_all(place.at("workspace/sub")).unwrap();
    place.write("workspace/sub", "now a file");
    place.write("source/sub/mine.txt", "mine");
    let Err(ApplyError::Conflicts(paths)) = place.apply() else { panic!("it was applied") };
    assert_eq!(paths, ["sub/mine.txt"]);
    assert_eq!(place.text("source/sub/b.txt").unwrap(), "two", "something was done");
}

#[test]
fn a_file_that_became_a_folder_takes_its_place() {
    let place = Place::new();
    fs::remove_file(place.at("workspace/a.txt")).unwrap();
    place.write("workspace/a.txt/inside", "now a folder");
    fs::remove_dir_all(place.at("workspace/sub")).unwrap();
    place.write("workspace/sub", "now a file");
    place.apply().unwrap();
    assert_eq!(place.text("source/a.txt/inside").unwrap(), "now a folder");
    assert_eq!(place.text("source/sub").unwrap(), "now a file");
}

#[test]
fn no_link_leads_out() {
    let place = Place::new();
    place.write("outside/secret", "secret");
    fs::remove_dir_all(place.at("workspace/sub")).unwrap();
    std::os::unix::fs::symlink(place.at("outside"), place.at("workspace/sub")).unwrap();
    assert!(read(&place.at("workspace"), "sub/secret", 100).is_err());
    let tree = scan(&place.at("workspace")).unwrap();
    assert!(!tree.keys().any(|path| path.contains("secret")), "{tree:?}");
    // A folder that is a link in the source is not written through either.
    let place = Place::new();
    fs::create_dir(place.at("outside")).unwrap();
    fs::remove_dir_all(place.at("source/sub")).unwrap();
    std::os::unix::fs::symlink(place.at("outside"), place.at("source/sub")).unwrap();
    place.write("workspace/sub/new.txt", "x");
    assert!(place.apply().is_err());
    assert!(!place.at("outside/new.txt").exists());
}

#[test]
fn links_are_judged_by_their_text() {
    for (inside, text, expected) in [
        ("a", "b", true),
        ("a", "../b", false),
        ("s/a", "../b", true),
        ("s/a", "../../b", false),
        ("a", "/b", false),
        ("a", "b/../../c", false),
        // `d -> .` and `up -> d/..` would lead out together.
        ("up", "d/..", false),
        ("s/a", "../d/..", false),
    ] {
        assert_eq!(stays_inside(Path::new(inside), Path::new(text)), expected, "{inside} {text}");
    }
}
