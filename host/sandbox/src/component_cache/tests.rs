//! Whose key is trusted, what is taken over and what is left alone, and what is kept how long.

use std::os::unix::fs::symlink;

use super::*;

fn open(folder: &Path) -> io::Result<Place> {
    Place::open(folder, FOLDER_BYTES_MAX)
}

fn key_of(folder: &Path) -> [u8; 32] {
    open(folder).unwrap().key
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

/// A folder, private, in a folder that is removed.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let parent = tempfile::tempdir().unwrap();
    let cache = parent.path().join("cache");
    fs::create_dir(&cache).unwrap();
    chmod(&cache, 0o700);
    (parent, cache)
}

fn digest() -> Digest {
    Digest::of(b"a component")
}

#[test]
fn a_key_is_made_once_and_kept() {
    let (_parent, cache) = folder();
    assert_eq!(key_of(&cache), key_of(&cache));
    assert_eq!((mode(&cache), mode(&cache.join(KEY))), (0o700, 0o600));
}

#[test]
fn a_key_that_others_could_have_put_there_is_not_trusted() {
    let (parent, cache) = folder();
    let planted = cache.join(file_name(digest(), Mode::Plain).unwrap());
    fs::write(cache.join(KEY), [7; 32]).unwrap();
    chmod(&cache.join(KEY), 0o600);
    fs::write(&planted, "x").unwrap();
    chmod(&cache, 0o770);
    assert_ne!(key_of(&cache), [7; 32]);
    assert!(!planted.exists());
    assert_eq!(mode(&cache), 0o700);

    // A private folder in which the key alone can be read by others, or is not a key's length.
    for (key, mode) in [(vec![7; 32], 0o644), (vec![7; 31], 0o600), (vec![7; 33], 0o600)] {
        fs::write(cache.join(KEY), &key).unwrap();
        chmod(&cache.join(KEY), mode);
        assert_ne!(key_of(&cache), [7; 32]);
        assert_eq!(key_of(&cache), key_of(&cache));
    }
    // A link instead of a key.
    let elsewhere = parent.path().join("elsewhere");
    fs::write(&elsewhere, [7; 32]).unwrap();
    fs::remove_file(cache.join(KEY)).unwrap();
    symlink(&elsewhere, cache.join(KEY)).unwrap();
    assert_ne!(key_of(&cache), [7; 32]);
    assert_eq!(fs::read(&elsewhere).unwrap(), [7; 32], "the link was followed");
}

/// Anyone who names a folder of their own by mistake keeps what is in it, and its mode.
#[test]
fn a_folder_that_holds_other_things_is_left_alone() {
    let (_parent, cache) = folder();
    fs::write(cache.join("thesis.txt"), "years of work").unwrap();
    fs::write(cache.join(KEY), "of a door").unwrap();
    for public in [0o755, 0o777, 0o1777] {
        chmod(&cache, public);
        let refused = open(&cache).unwrap_err().to_string();
        assert!(refused.contains("open to others"), "{refused}");
        assert_eq!(mode(&cache), public);
    }
    assert_eq!(fs::read_to_string(cache.join("thesis.txt")).unwrap(), "years of work");
    assert_eq!(fs::read_to_string(cache.join(KEY)).unwrap(), "of a door");
    // Nor is one that everybody shares, though nothing be in it.
    let (_parent, shared) = folder();
    chmod(&shared, 0o1777);
    assert!(open(&shared).is_err() && mode(&shared) == 0o1777);
}

/// One that cannot be made good does not look good the next time.
#[test]
fn a_folder_that_cannot_be_taken_over_stays_open_to_others() {
    let (_parent, cache) = folder();
    fs::create_dir(cache.join(KEY)).unwrap();
    chmod(&cache, 0o755);
    for _ in 0..2 {
        assert!(open(&cache).is_err());
        assert_eq!(mode(&cache), 0o755);
    }
}

/// A path that comes to name another folder after it was looked at leads nowhere.
#[test]
fn the_folder_that_was_checked_is_the_one_that_is_used() {
    let (parent, cache) = folder();
    let link = parent.path().join("link");
    symlink(&cache, &link).unwrap();
    let place = open(&link).unwrap();
    let other = parent.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    place.write(digest(), Mode::Plain, b"code").unwrap();
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    assert!(cache.join(file_name(digest(), Mode::Plain).unwrap()).exists());
    assert!(place.read(digest(), Mode::Plain).unwrap().ends_with(b"code"));
}

#[test]
fn what_is_not_vouched_for_is_not_read() {
    let (_parent, cache) = folder();
    let place = open(&cache).unwrap();
    place.write(digest(), Mode::Plain, b"machine code").unwrap();
    let path = cache.join(file_name(digest(), Mode::Plain).unwrap());
    let whole = fs::read(&path).unwrap();
    let reads = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        place.read(digest(), Mode::Plain).is_some()
    };
    assert!(reads(&whole));
    for at in 0..whole.len() {
        let mut other = whole.clone();
        other[at] ^= 1;
        assert!(!reads(&other), "byte {at}");
        assert!(!reads(&whole[..at]), "cut after {at}");
    }
    assert!(!reads(&[&whole[..], b"x"].concat()));
    // Another component's, or for the other engine: under a name that is not its own.
    let other = Digest::of(b"another");
    fs::write(cache.join(file_name(other, Mode::Plain).unwrap()), &whole).unwrap();
    fs::write(cache.join(file_name(digest(), Mode::Concurrent).unwrap()), &whole).unwrap();
    assert!(place.read(other, Mode::Plain).is_none() && place.read(digest(), Mode::Concurrent).is_none());
    // Another machine's.
    fs::remove_file(cache.join(KEY)).unwrap();
    fs::write(&path, &whole).unwrap();
    assert!(open(&cache).unwrap().read(digest(), Mode::Plain).is_none());
}

/// Two hosts of different versions share a folder: each has files of its own, and none of the other's.
#[test]
fn another_version_of_the_engine_has_files_of_its_own() {
    let (_parent, cache) = folder();
    let place = open(&cache).unwrap();
    let name = file_name(digest(), Mode::Plain).unwrap();
    assert!(is_compiled(&name));
    assert!(name.ends_with(&compatibility(Mode::Plain).unwrap().to_hex()[..16]));
    let theirs = format!("{}.plain.0123456789abcdef", digest());
    assert!(is_compiled(&theirs));
    fs::write(cache.join(&theirs), "of another version").unwrap();
    assert!(place.read(digest(), Mode::Plain).is_none());
    place.write(digest(), Mode::Plain, b"code").unwrap();
    assert_eq!(fs::read_to_string(cache.join(&theirs)).unwrap(), "of another version");
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let (_parent, cache) = folder();
    let place = Place::open(&cache, 3 * (HEAD_BYTES as u64 + 100)).unwrap();
    let all: Vec<Digest> = (0..5_u8).map(|n| Digest::of(&[n])).collect();
    let age = |at: usize, seconds: u64| {
        let file = File::options().append(true).open(cache.join(file_name(all[at], Mode::Plain).unwrap()));
        file.unwrap().set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    for (at, one) in all.iter().enumerate().take(3) {
        place.write(*one, Mode::Plain, &[0; 100]).unwrap();
        age(at, 1_000 - at as u64);
    }
    // The oldest is used, and so the second goes.
    assert!(place.read(all[0], Mode::Plain).is_some());
    place.write(all[3], Mode::Plain, &[0; 100]).unwrap();
    let kept: Vec<bool> = all.iter().map(|one| place.read(*one, Mode::Plain).is_some()).collect();
    assert_eq!(kept, [true, false, true, true, false]);
    // What is larger than all is allowed is kept for whoever made it, alone.
    place.write(all[4], Mode::Plain, &[0; 1_000]).unwrap();
    assert_eq!(all.iter().filter(|one| place.read(**one, Mode::Plain).is_some()).count(), 1);
    assert!(cache.join(KEY).exists());
}

#[test]
fn one_at_a_time_has_its_turn() {
    let (_parent, cache) = folder();
    let (one, other) = (ComponentCache::open(&cache), ComponentCache::open(&cache));
    let held = one.turn(Duration::ZERO).expect("nobody else is there");
    assert!(other.turn(Duration::from_millis(50)).is_none(), "it is not waited for longer");
    let waiting = std::thread::spawn(move || other.turn(Duration::from_secs(60)).is_some());
    std::thread::sleep(Duration::from_millis(50));
    assert!(!waiting.is_finished());
    drop(held);
    assert!(waiting.join().unwrap());
}
