//! Where paths lead.

use std::{
    io,
    path::{Path, PathBuf},
};

use crate::{
    tool::ToolError,
    workspace::{explain, place},
};

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

#[test]
fn what_goes_wrong_is_said_in_words_for_a_model() {
    let place = place(Path::new("/root"), "a/b").expect("a place");
    let said = |kind: io::ErrorKind| explain(&place, &io::Error::from(kind));
    for (kind, part) in [
        (io::ErrorKind::NotFound, "there is no `a/b`"),
        (io::ErrorKind::NotADirectory, "a part of the path is a file or a link"),
        (io::ErrorKind::AlreadyExists, "a part of the path is a file or a link"),
        (io::ErrorKind::IsADirectory, "is a directory, not a file"),
    ] {
        let ToolError::InvalidInput(message) = said(kind) else { panic!("{kind:?}") };
        assert!(message.contains(part), "{message}");
    }
    for (kind, part) in [
        (io::ErrorKind::PermissionDenied, "leads out of the workspace"),
        (io::ErrorKind::QuotaExceeded, "the workspace is full"),
        (io::ErrorKind::Interrupted, "`a/b`: "),
    ] {
        let ToolError::Failed(message) = said(kind) else { panic!("{kind:?}") };
        assert!(message.contains(part), "{message}");
    }
}
