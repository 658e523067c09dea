//! Where paths lead.

use std::path::{Path, PathBuf};

use crate::workspace::place;

fn check(written: &str, name: Option<&str>) {
    let found = place(Path::new("/root"), written);
    assert_eq!(found.as_ref().ok().map(|place| place.name.as_str()), name, "{written}");
    if let (Ok(place), Some(name)) = (found, name) {
        assert_eq!(place.path, Path::new("/root").join(name).components().collect::<PathBuf>());
    }
}

#[test]
fn paths_are_relative_to_the_workspace() {
    check("a/b.txt", Some("a/b.txt"));
    check("./a//b.txt", Some("a/b.txt"));
    check("a/../b.txt", Some("b.txt"));
    check("/workspace/a", Some("a"));
}

#[test]
fn the_workspace_itself_has_a_name() {
    for written in ["", ".", "/workspace", "/workspace/"] {
        let place = place(Path::new("/root"), written).expect(written);
        assert_eq!((place.name.as_str(), place.path), (".", PathBuf::from("/root")));
    }
}

#[test]
fn what_leads_out_is_refused() {
    for written in ["/etc/passwd", "..", "a/../../b", "/workspace/../etc", "/workspacex", "a\0b"] {
        check(written, None);
    }
}
