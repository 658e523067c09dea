//! Packed bundles: the same bytes every time, and whatever else somebody calls one is refused.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::{Bundle, LOCK_FILE, ListedTool, Locator, Lock, PluginKind, file_name, pack, unpack};
use super::{HEAD, plugin, write};

/// A built bundle in a folder.
fn built(dir: &Path) -> Bundle {
    let manifest = format!("{HEAD}[component.words]\nkind = \"tool\"\nsource = \"out/words.wasm\"\n");
    write(
        dir,
        &[
            ("bundle.toml", manifest.as_bytes()),
            ("out/words.wasm", &plugin(PluginKind::Tool)),
            ("note", b"x"),
        ],
    );
    let tool = ListedTool {
        name: "count".to_owned(),
        description: String::new(),
        effect: rewake_core::effect::Effect::Once,
        input_schema: "{}".to_owned(),
    };
    let tools = BTreeMap::from([("words".to_owned(), vec![tool])]);
    let lock = Lock::of(&Bundle::load_unlocked(dir).unwrap(), tools, &[]);
    write(dir, &[(LOCK_FILE, lock.text().as_bytes())]);
    Bundle::load(dir).unwrap()
}

#[test]
fn the_same_bundle_gives_the_same_bytes_and_comes_back() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let bundle = built(one.path());
    let packed = pack(&bundle).unwrap();
    assert_eq!(pack(&built(other.path())).unwrap(), packed, "wherever and whenever it is packed");
    assert_eq!(file_name(&bundle), "word-tools-0.1.0.rewake");
    assert_eq!(packed.len() % 512, 0);
    let names: Vec<String> = unpack(&packed).unwrap().into_keys().collect();
    assert_eq!(
        names,
        ["bundle.lock", "bundle.toml", "out/words.wasm"],
        "what the digest covers, and no more"
    );
    let file = one.path().join("w.rewake");
    std::fs::write(&file, &packed).unwrap();
    assert_eq!(Locator::from(file).read().unwrap().digest(), bundle.digest());
    // The form itself: mode, owner, time, kind of file.
    let header = &packed[..512];
    assert_eq!(&header[100..108], b"0000644\0");
    assert_eq!(&header[136..148], b"00000000000\0");
    assert_eq!((header[156], &header[257..263]), (b'0', &b"ustar\0"[..]));
}

#[test]
fn what_was_not_built_is_not_packed() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[("bundle.toml", HEAD.as_bytes())]);
    let error = pack(&Bundle::load(dir.path()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("has no bundle.lock") && error.contains("rewake bundle build"), "{error}");
}

#[test]
fn a_changed_byte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let packed = pack(&built(dir.path())).unwrap();
    let file = dir.path().join("w.rewake");
    let find = |needle: &[u8]| packed.windows(needle.len()).rposition(|window| window == needle).unwrap();
    for (at, what) in
        [(find(b"list-tools"), "in a component"), (find(b"api = \"0.1\"") - 4, "in the manifest")]
    {
        let mut changed = packed.clone();
        changed[at] ^= 1;
        std::fs::write(&file, &changed).unwrap();
        assert!(Locator::from(file.clone()).read().is_err(), "{what}");
    }
}

/// A tar with these entries, each with a kind and its bytes.
fn tar(entries: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, kind, content) in entries {
        let mut header = [0_u8; 512];
        header[..path.len()].copy_from_slice(path.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = *kind;
        header[257..265].copy_from_slice(b"ustar\x0000");
        seal(&mut header);
        bytes.extend(header);
        bytes.extend(*content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

fn seal(header: &mut [u8; 512]) {
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// `N-B5`, and what else `pack` would not write.
#[test]
fn what_is_no_packed_bundle_is_refused() {
    let huge = {
        let mut bytes = tar(&[("a", b'0', b"")]);
        let mut header: [u8; 512] = bytes[..512].try_into().unwrap();
        header[124..135].copy_from_slice(b"77777777777");
        seal(&mut header);
        bytes[..512].copy_from_slice(&header);
        bytes
    };
    let many: Vec<String> = (0..10_100).map(|n| format!("f{n:05}")).collect();
    let many: Vec<(&str, u8, &[u8])> = many.iter().map(|name| (name.as_str(), b'0', &b""[..])).collect();
    for (bytes, words) in [
        (b"".to_vec(), "is empty"),
        (b"not a tar at all".repeat(64), "is not a packed bundle"),
        (tar(&[("../a", b'0', b"x")]), "leaves the bundle's folder"),
        (tar(&[("/etc/a", b'0', b"x")]), "absolute"),
        (tar(&[("./a", b'0', b"x")]), "is not written plainly"),
        (tar(&[("a\\b", b'0', b"x")]), "has a `\\`"),
        (tar(&[("a", b'2', b"")]), "not a regular file"),
        (tar(&[("a", b'1', b"")]), "not a regular file"),
        (tar(&[("a", b'L', b"b"), ("c", b'0', b"")]), "not a regular file"),
        (tar(&[("a", b'x', b"11 path=bb\n"), ("c", b'0', b"")]), "not a regular file"),
        (tar(&[("a", b'0', b""), ("a", b'0', b"")]), "twice, or out of order"),
        (tar(&[("b", b'0', b""), ("a", b'0', b"")]), "twice, or out of order"),
        (tar(&many), "more than"),
        (huge, "larger than"),
        ([tar(&[("a", b'0', b"x")]), b"rubbish".repeat(100)].concat(), "other bytes after its last file"),
        (tar(&[("a", b'0', &[7; 2000])])[..1024].to_vec(), "`a`"),
    ] {
        let error = unpack(&bytes).expect_err(words).to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    // A tar that is fine as such, and no bundle.
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("w.rewake");
    std::fs::write(&file, tar(&[("bundle.toml", b'0', HEAD.as_bytes())])).unwrap();
    let error = Locator::from(file.clone()).read().unwrap_err().to_string();
    assert!(error.contains("w.rewake/bundle.toml") && error.contains("has no bundle.lock"), "{error}");
    let extra = [("bundle.toml", b'0', HEAD.as_bytes()), ("extra", b'0', b"x".as_slice())];
    std::fs::write(&file, tar(&extra)).unwrap();
    let error = Locator::from(file).read().unwrap_err().to_string();
    assert!(error.contains("does not name these files that came with it: `extra`"), "{error}");
}
