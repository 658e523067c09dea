//! Allowances that are added: what stood there stays, what is written is read, and nothing is lost on the way.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

const DIGEST: Digest = Digest([7; 32]);

fn asks() -> Vec<String> {
    vec!["fs:workspace:ro".to_owned(), "http:api.example.com:GET".to_owned()]
}

/// The file after one more allowance.
fn added(before: Option<&str>) -> (tempfile::TempDir, std::path::PathBuf, Result<(), Error>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rewake.toml");
    if let Some(before) = before {
        std::fs::write(&file, before).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    let result = append_allow(&file, "acme/words", &DIGEST, &asks(), "acme/words 0.1.0, approved by ann");
    (folder, file, result)
}

#[track_caller]
fn check(before: Option<&str>, expected: &str) {
    let (folder, file, result) = added(before);
    result.unwrap_or_else(|error| panic!("{error}"));
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, expected);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let rules = load(&file).unwrap_or_else(|error| panic!("{error}"));
    let allowed = rules.allowed("acme/words", &DIGEST).expect("it is said");
    assert_eq!(allowed.iter().map(ToString::to_string).collect::<Vec<_>>(), asks());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

fn lines() -> String {
    format!(
        "# acme/words 0.1.0, approved by ann\n[[allow]]\nbundle = \"acme/words\"\ndigest = \"blake3:{DIGEST}\"\nasks = [\"fs:workspace:ro\", \"http:api.example.com:GET\"]\n"
    )
}

#[test]
fn what_stands_there_stays() {
    check(None, &lines());
    check(Some(""), &lines());
    let other = format!(
        "# Mine.\n[[allow]]  # since May\nbundle = 'a/b'\ndigest = \"blake3:{}\"\nasks = [ ]\n",
        Digest([1; 32])
    );
    let limits =
        "\n[limits.tool]\nmemory = \"16MiB\" # enough\n\n[config.\"a/b\"]\nkey = { env = \"KEY\" }\n";
    check(Some(&other), &format!("{other}\n{}", lines()));
    check(Some(limits), &format!("{limits}\n{}", lines()));
    // Beside the others of its kind.
    check(Some(&format!("{other}{limits}")), &format!("{other}\n{}{limits}", lines()));
}

#[test]
fn an_array_on_one_line_gets_one_more() {
    let before =
        format!("allow = [{{ bundle = \"a/b\", digest = \"blake3:{}\", asks = [] }}]\n", Digest([1; 32]));
    let (_folder, file, result) = added(Some(&before));
    result.unwrap_or_else(|error| panic!("{error}"));
    let rules = load(&file).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rules.allow.len(), 2);
    assert_eq!(rules.allowed("acme/words", &DIGEST).map(|asks| asks.len()), Some(2));
}

#[test]
fn a_file_that_is_wrong_stays_as_it_is() {
    for before in ["[limit]\n", "allow = 3\n", "[allow\n"] {
        let (_folder, file, result) = added(Some(before));
        assert!(result.unwrap_err().to_string().contains("rewake.toml"), "{before}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
}

#[test]
fn a_link_is_not_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let (target, file) = (folder.path().join("target"), folder.path().join("rewake.toml"));
    std::fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    let error = append_allow(&file, "acme/words", &DIGEST, &asks(), "x").unwrap_err().to_string();
    assert!(error.contains("link") && error.contains("--config"), "{error}");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "");
    assert!(std::fs::symlink_metadata(&file).unwrap().is_symlink());
}

#[test]
fn a_note_cannot_leave_its_comment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rewake.toml");
    append_allow(&file, "acme/words", &DIGEST, &asks(), "x\n[dirs]\r\u{1b}[2J").unwrap();
    let rules = load(&file).unwrap_or_else(|error| panic!("{error}"));
    assert!(rules.dirs.is_empty());
}

/// Of several who add at once, none is lost.
#[test]
fn nobody_s_allowance_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rewake.toml");
    std::thread::scope(|scope| {
        for n in 0..8_u8 {
            let file = &file;
            scope.spawn(move || {
                for m in 0..4_u8 {
                    append_allow(file, "acme/words", &Digest([n * 4 + m; 32]), &asks(), "x").unwrap();
                }
            });
        }
    });
    assert_eq!(load(&file).unwrap().allow.len(), 32);
}

#[test]
fn an_ask_is_written_as_it_is_read() {
    let text = "fs:host:docs:rw\nfs:scratch:rw\nfs:bundle:ro\nhttp:*.example.com:8443:PUT\nhttp:http://127.0.0.1:80:GET\nmodel:openai/qwen3:8b\nmodel:*";
    let quoted: Vec<String> = text.lines().map(|line| format!("{line:?}")).collect();
    let rules =
        format!("[[allow]]\nbundle = \"a/b\"\ndigest = \"blake3:{DIGEST}\"\nasks = [{}]", quoted.join(", "));
    let rules = Rules::parse(&rules, Path::new("rewake.toml")).unwrap_or_else(|error| panic!("{error}"));
    let written: Vec<String> = rules.allow[0].asks.iter().map(ToString::to_string).collect();
    assert_eq!(written.join("\n"), text);
}

#[test]
fn a_file_of_allowances_holds_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("grants.toml");
    std::fs::write(&file, lines()).unwrap();
    assert_eq!(allowances(&file).unwrap_or_else(|error| panic!("{error}")).len(), 1);
    for other in [
        "[dirs]\nx = { path = \"/x\", access = \"ro\" }",
        "[limits.tool]\nmemory = \"1MiB\"",
        "[config.\"a/b\"]\nkey = 1",
        "[[hook]]\nbundle = \"./a\"\ncomponent = \"a\"",
        "[models.m]\nprovider = \"scripted\"",
    ] {
        std::fs::write(&file, format!("{}\n{other}", lines())).unwrap();
        let error = allowances(&file).unwrap_err().to_string();
        assert!(error.contains("grants.toml: holds `"), "{other}: {error}");
    }
}
