//! What the key is, what it vouches for, and which folders it knows.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn session(id: &str) -> SessionId {
    SessionId::parse(id).unwrap()
}

fn key(folder: &Path) -> (TrustKey, PathBuf) {
    let trust = TrustKey::in_state(Some(&folder.join("state/rewake")));
    let file = trust.file().unwrap().to_owned();
    (trust, file)
}

/// `N-G1`: made at its first use, for its owner alone, and the same from then on; two that make it get the same.
#[test]
fn a_key_is_made_once_and_is_its_owner_s() {
    let folder = tempfile::tempdir().unwrap();
    let (trust, file) = key(folder.path());
    assert!(trust.read().unwrap().is_none());
    let keys: Vec<[u8; KEY_BYTES]> = std::thread::scope(|scope| {
        let made: Vec<_> = (0..8).map(|_| scope.spawn(|| trust.read_or_make().unwrap().0)).collect();
        made.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0]) && keys[0] != [0; KEY_BYTES]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left of the others");
}

/// `N-G1`: a key that others can use, or that is no key, is an error that says what to do.
#[test]
fn a_key_that_is_not_as_it_must_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (trust, file) = key(folder.path());
    let refused = |words: &[&str]| {
        let error = trust.read_or_make().map(|_| ()).unwrap_err().to_string();
        for word in words.iter().chain([&"trust.key"]) {
            assert!(error.contains(word), "{word} is not in {error}");
        }
    };
    trust.read_or_make().unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    refused(&["the mode 640", "chmod 600"]);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o400)).unwrap();
    trust.read_or_make().unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    for bytes in [0, 31, 33] {
        fs::write(&file, vec![1; bytes]).unwrap();
        refused(&["not 32 bytes long", "restore it"]);
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused(&["not a regular file", "REWAKE_TRUST"]);
    // One that an operator names, perhaps for several machines, is not made.
    let named = folder.path().join("shared/trust.key");
    let error = TrustKey::named(&named).read_or_make().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no trust key here") && error.contains("umask 077"), "{error}");
    let error = TrustKey::in_state(None).read_or_make().map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("no home folder") && error.contains("REWAKE_TRUST"), "{error}");
    assert_eq!(trust.clone().or(Some(&named)), TrustKey::named(&named));
    assert_eq!(TrustKey::named(&file).or(Some(&named)), TrustKey::named(&file));
}

/// `N-G1`: a voucher is for one session, entry, bundle, set of grants and approver, and of one key.
#[test]
fn a_voucher_is_for_exactly_what_it_was_given_for() {
    let folder = tempfile::tempdir().unwrap();
    let key = key(folder.path()).0.read_or_make().unwrap();
    let (one, other) = (session("ses_1"), session("ses_2"));
    let (entry, bundle) = (Digest::of(b"entry"), Digest::of(b"bundle"));
    let approved = Approved { session: &one, entry: &entry, bundle: &bundle, grants: b"[]", by: "ann" };
    let mac = key.vouch(&approved);
    assert!(key.has_vouched(&approved, &mac));
    for different in [
        Approved { session: &other, ..approved },
        Approved { entry: &bundle, ..approved },
        Approved { bundle: &entry, ..approved },
        Approved { grants: b"[1]", ..approved },
        Approved { by: "bob", ..approved },
        Approved { by: "", ..approved },
        Approved { grants: b"[]a", by: "nn", ..approved },
    ] {
        assert!(!key.has_vouched(&different, &mac), "{different:?}");
    }
    assert!(!Key([7; KEY_BYTES]).has_vouched(&approved, &mac));
}

/// `N-G1`: a folder is known on the machine that made its id, wherever it is moved, and on no other.
#[test]
fn a_data_folder_is_known_wherever_it_is_moved() {
    let folder = tempfile::tempdir().unwrap();
    let (here, _) = key(folder.path());
    let elsewhere = TrustKey::in_state(Some(&folder.path().join("another")));
    let (data, moved) = (folder.path().join("data"), folder.path().join("moved"));
    fs::create_dir(&data).unwrap();
    assert!(!here.knows(&data).unwrap());
    here.know(&data).unwrap();
    assert!(here.knows(&data).unwrap());
    assert!(!elsewhere.knows(&data).unwrap());
    elsewhere.read_or_make().unwrap();
    assert!(!elsewhere.knows(&data).unwrap());
    fs::rename(&data, &moved).unwrap();
    assert!(here.knows(&moved).unwrap());
    let text = fs::read_to_string(moved.join(FOLDER_FILE)).unwrap();
    for changed in [text.replacen(' ', "0 ", 1), text.replace(' ', ""), String::new(), "x y".into()] {
        fs::write(moved.join(FOLDER_FILE), changed).unwrap();
        assert!(!here.knows(&moved).unwrap());
    }
    here.know(&moved).unwrap();
    assert!(here.knows(&moved).unwrap());
}
