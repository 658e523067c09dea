//! Installed bundles at the program: what is approved before they are there, sessions and bundles that name
//! them, several versions, another in the place of one, and taking them out.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rewake_tests::bundles::Draft;
use rewake_tests::program::{Ended, Program, text};
use serde_json::{Value, json};

/// A bundle beside the data folder, with its lock.
fn built(program: &Program, draft: &Draft) -> String {
    let folder = program.bundle(draft);
    program.run(&["bundle", "build", &folder]).expect(0);
    folder
}

/// The same bundle in another version.
fn version(draft: &Draft, version: &str) -> Draft {
    let manifest = draft.manifest().replacen("version = \"0.1.0\"", &format!("version = {version:?}"), 1);
    draft.clone().with_manifest(&manifest)
}

fn write_ops() -> String {
    let input = json!({ "path": "/workspace/log", "line": "x" });
    json!([{ "op": "tools", "uses": [{ "name": "append_once", "input": input }] }]).to_string()
}

fn listed(program: &Program) -> Vec<Value> {
    let listed = program.run(&["bundle", "list", "--json"]).expect(0).stdout;
    listed.lines().map(|line| serde_json::from_str(line).expect("a bundle")).collect()
}

fn versions(program: &Program) -> Vec<String> {
    let mut versions: Vec<String> =
        listed(program).iter().map(|one| one["version"].as_str().unwrap().to_owned()).collect();
    versions.sort();
    versions
}

fn rules(program: &Program) -> String {
    std::fs::read_to_string(program.data().join("rewake.toml")).unwrap_or_default()
}

/// The lines of `[[allow]]` that a command prints for a person to copy.
fn lines_of(ended: &Ended) -> String {
    let lines: Vec<&str> = ended.stderr.lines().skip_while(|line| *line != "[[allow]]").collect();
    lines.join("\n")
}

fn bundle_of(program: &Program, id: &str) -> String {
    let shown = program.run(&["show", id]).expect(0).stdout;
    shown.lines().find(|line| line.starts_with("bundles")).expect("it has bundles").to_owned()
}

/// Not at a terminal and not told otherwise: nothing is installed. The lines that are printed are approval
/// enough, in a file; what is approved stands in the rules, and a session by name has it.
#[test]
fn what_is_not_approved_is_not_installed() {
    let program = Program::new();
    let mine = "# Mine, since May.\n[limits.tool]\nmemory = \"64MiB\" # enough\n";
    program.rule(mine);
    let folder = built(&program, &Draft::scripted());
    let refused = program.run(&["bundle", "install", &folder]).expect(2).says(&[
        "test/scripted 0.1.0 (blake3:",
        "tool_probe asks to read and change the session's workspace, as /workspace (fs:workspace:rw) - the test",
        "nothing was installed",
        "--grant-asked",
        "[[allow]]",
    ]);
    assert!(listed(&program).is_empty());
    assert_eq!(rules(&program), mine);

    let file = text(&program.beside("grant.toml"));
    let lines = lines_of(&refused);
    let at = lines.find("blake3:").unwrap() + "blake3:".len();
    let digit = if lines[at..].starts_with('0') { "1" } else { "0" };
    std::fs::write(&file, format!("{}{digit}{}", &lines[..at], &lines[at + 1..])).unwrap();
    let other = program.run(&["bundle", "install", &folder, "--grant", &file]).expect(2);
    other.says(&["has no [[allow]] for test/scripted with the digest blake3:"]);
    std::fs::write(&file, lines.replace("test/scripted", "test/other")).unwrap();
    program
        .run(&["bundle", "install", &folder, "--grant", &file])
        .expect(2)
        .says(&["has no [[allow]] for test/scripted"]);
    std::fs::write(&file, format!("{lines}\n[dirs]\nx = {{ path = \"/\", access = \"ro\" }}")).unwrap();
    program.run(&["bundle", "install", &folder, "--grant", &file]).expect(2).says(&["holds `dirs`"]);
    assert!(listed(&program).is_empty());

    std::fs::write(&file, &lines).unwrap();
    let ended = program.run(&["bundle", "install", &folder, "--grant", &file]).expect(0);
    assert!(ended.stdout.contains("test/scripted 0.1.0 is installed"), "{}", ended.stdout);
    let kept = rules(&program);
    assert!(
        kept.starts_with(mine) && kept.contains("# test/scripted 0.1.0, approved by ann\n[[allow]]"),
        "{kept}"
    );
    let mode = std::fs::metadata(program.data().join("rewake.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let one = &listed(&program)[0];
    assert_eq!(
        (&one["allowed"], &one["by"], &one["source"]),
        (&json!(["fs:workspace:rw"]), &json!("ann"), &json!(folder))
    );
    let shown = program.run(&["bundle", "list"]).expect(0).stdout;
    assert!(shown.contains("test/scripted  0.1.0    fs:workspace:rw  "), "{shown}");

    // Where the rules are not used, nothing is approved in them.
    let moved = program.copied().elsewhere();
    moved
        .run(&["bundle", "install", &folder, "--grant-asked"])
        .expect(2)
        .says(&["nothing was installed: the rules in", "rewake grant --rules"]);

    // From the name alone; the folder is not needed any more.
    std::fs::remove_dir_all(&folder).unwrap();
    program.run(&["run", "test/scripted", &write_ops()]).expect(0);
    let id = program.sessions()[0].id.clone();
    assert_eq!(program.lines(&id, "log", "x"), 1);
    program.check(&id);
}

#[test]
fn a_bundle_without_a_grant_is_installed_only_when_that_is_said() {
    let program = Program::new();
    let folder = built(&program, &Draft::scripted());
    program.run(&["bundle", "install", &folder, "--no-grant"]).expect(0).says(&["nothing is granted to it"]);
    assert_eq!((listed(&program).len(), rules(&program)), (1, String::new()));
    program
        .run(&["run", "test/scripted@0.1", &write_ops()])
        .expect(0)
        .says(&["not granted: test/scripted:tool_probe"]);
    let id = program.sessions()[0].id.clone();
    assert_eq!(program.lines(&id, "log", "x"), 0);
    // Approved later: installed it is already.
    let ended = program.run(&["bundle", "install", &folder, "--grant-asked"]).expect(0);
    assert!(ended.stdout.contains("was installed already"), "{}", ended.stdout);
    assert_eq!(listed(&program).len(), 1);
    program.run(&["run", "test/scripted", &write_ops()]).expect(0);
    let id = program.sessions()[0].id.clone();
    assert_eq!(program.lines(&id, "log", "x"), 1);
    // The rules decide from now on: nobody needs to be asked, and nothing is added to them.
    let before = rules(&program);
    program.run(&["bundle", "install", &folder]).expect(0).says(&["[your rules allow it]"]);
    assert_eq!(rules(&program), before);
    // A bundle that asks for nothing needs no approval.
    let plain = built(&program, &Draft::new("test/plain").harness("harness_script"));
    program.run(&["bundle", "install", &plain]).expect(0).says(&["asks for nothing"]);
}

#[test]
fn a_bundle_that_a_session_runs_with_is_not_removed() {
    let program = Program::new();
    let folder = built(&program, &Draft::scripted());
    program.run(&["bundle", "install", &folder, "--grant-asked"]).expect(0);
    program.run(&["run", "test/scripted", &write_ops()]).expect(0);
    let id = program.sessions()[0].id.clone();
    program.run(&["bundle", "remove", "test/scripted"]).expect(2).says(&[
        &id,
        "nothing was removed",
        "rewake stop",
    ]);
    assert_eq!(listed(&program).len(), 1);
    program.run(&["stop", &id]).expect(0);
    let removed =
        program.run(&["bundle", "remove", "test/scripted"]).expect(0).says(&["still has an [[allow]]"]);
    assert!(removed.stdout.contains("test/scripted 0.1.0 is not installed any more"), "{}", removed.stdout);
    assert!(listed(&program).is_empty());
    let gone = program.run(&["run", "test/scripted", "[]"]).expect(2);
    gone.says(&["the bundle `test/scripted` is not installed", "rewake bundle install"]);
    program.run(&["bundle", "remove", "test/scripted"]).expect(2).says(&["is not installed"]);
    program.run(&["bundle", "remove", "./scripted"]).expect(2).says(&["is not a bundle's name"]);
    // What the session ran with is kept: its steps can be run again.
    program.check(&id);
}

#[test]
fn versions_stand_side_by_side() {
    let program = Program::new();
    let draft = Draft::scripted();
    for wanted in ["0.1.0", "0.1.2", "0.2.0"] {
        let folder = built(&program, &version(&draft, wanted));
        program.run(&["bundle", "install", &folder, "--grant-asked"]).expect(0);
    }
    assert_eq!(versions(&program), ["0.1.0", "0.1.2", "0.2.0"]);
    for (named, expected) in
        [("test/scripted", "0.2.0"), ("test/scripted@0.1", "0.1.2"), ("test/scripted@=0.1.0", "0.1.0")]
    {
        let id = program.run(&["run", named]).expect(0).stdout.trim().to_owned();
        assert!(bundle_of(&program, &id).contains(expected), "{named}");
        program.run(&["stop", &id]).expect(0);
    }
    program
        .run(&["run", "test/scripted@0.3"])
        .expect(2)
        .says(&["`0.1.0`, `0.1.2` and `0.2.0`", "`^0.3` is asked for"]);
    program.run(&["bundle", "remove", "test/scripted"]).expect(2).says(&["test/scripted@=0.1.0"]);
    program.run(&["bundle", "remove", "test/scripted@=0.1.2"]).expect(0);
    assert_eq!(versions(&program), ["0.1.0", "0.2.0"]);
    // Other content under a version that is there.
    let other = built(&program, &version(&draft, "0.2.0").toml("# other"));
    let refused = program.run(&["bundle", "install", &other, "--grant-asked"]).expect(2);
    refused.says(&["another test/scripted 0.2.0 is installed", "bundle update"]);
}

/// C13: an approval covers an update that asks for no more, and no wider one; running sessions keep their
/// version.
#[test]
fn an_update_needs_approval_for_what_is_wider() {
    let program = Program::new();
    let read = Draft::new("test/scripted").harness("harness_script").tools("tool_probe", "ro");
    let folder = built(&program, &read);
    program.run(&["bundle", "update", &folder]).expect(2).says(&["test/scripted is not installed"]);
    program.run(&["bundle", "install", &folder, "--grant-asked"]).expect(0);
    program.run(&["run", "test/scripted", &write_ops()]).expect(0);
    let old = program.sessions()[0].id.clone();

    let again = version(&read, "0.1.1").write(Path::new(&folder));
    let same = program.run(&["bundle", "update", "test/scripted"]).expect(2);
    same.says(&["`bundle.toml` changed since bundle.lock was written"]);
    program.run(&["bundle", "build", &text(&again)]).expect(0);
    let ended = program.run(&["bundle", "update", "test/scripted"]).expect(0);
    assert!(
        ended.stdout.contains("test/scripted 0.1.1 is installed, in the place of 0.1.0"),
        "{}",
        ended.stdout
    );
    ended.says(&["asks for nothing that was not approved for 0.1.0"]);
    assert_eq!(versions(&program), ["0.1.1"]);
    assert_eq!(rules(&program).matches("[[allow]]").count(), 2);
    let unchanged = program.run(&["bundle", "update", "test/scripted"]).expect(0);
    assert!(unchanged.stdout.contains("nothing changed"), "{}", unchanged.stdout);

    let wider = Draft::new("test/scripted").harness("harness_script").tools("tool_probe", "rw");
    let wider = built(&program, &version(&wider, "0.2.0"));
    let before = rules(&program);
    let refused = program.run(&["bundle", "update", &wider]).expect(2);
    refused.says(&["what was not approved for 0.1.1: fs:workspace:rw", "nothing was installed"]);
    assert_eq!((versions(&program), rules(&program)), (vec!["0.1.1".to_owned()], before));
    program.run(&["bundle", "update", &wider, "--grant-asked"]).expect(0);
    assert_eq!(versions(&program), ["0.2.0"]);
    assert_eq!(listed(&program)[0]["allowed"], json!(["fs:workspace:rw"]));

    // What runs keeps what it was made with, and its grants.
    program.tell(&old, &write_ops()).expect(0);
    assert_eq!(program.lines(&old, "log", "x"), 0);
    assert!(bundle_of(&program, &old).contains("0.1.0"));
    program.check(&old);
    program.run(&["run", "test/scripted", &write_ops()]).expect(0);
    let new = program.sessions()[0].id.clone();
    assert_eq!(program.lines(&new, "log", "x"), 1);
}

/// A bundle that uses another by name: found among what is installed, pinned by the lock.
#[test]
fn a_used_bundle_is_found_by_name_and_pinned() {
    let program = Program::new();
    let tools = Draft::new("test/tools").tools("tool_probe", "rw");
    let manifest =
        |draft: &Draft| draft.manifest().replacen("api = ", "use = [\"test/tools@0.1\"]\napi = ", 1);
    let user = Draft::new("test/user").harness("harness_script");
    let user = user.clone().with_manifest(&manifest(&user)).toml("[agent]\ntools = [\"test/tools:*\"]");
    let user = program.bundle(&user);
    let missing = program.run(&["bundle", "build", &user]).expect(2);
    missing.says(&["bundle.toml:", "the bundle `test/tools` is not installed"]);

    let folder = built(&program, &tools);
    program.run(&["run", &user, "--with", &folder]).expect(0);
    program.run(&["bundle", "install", &folder, "--grant-asked"]).expect(0);
    program.run(&["bundle", "build", &user]).expect(0);
    program.run(&["run", &user, &write_ops()]).expect(0);
    let id = program.sessions()[0].id.clone();
    assert_eq!(program.lines(&id, "log", "x"), 1);
    // A newer one beside it changes nothing for who was built with the older one.
    let newer = built(&program, &version(&tools, "0.1.1"));
    program.run(&["bundle", "install", &newer, "--grant-asked"]).expect(0);
    program.run(&["run", &user, &write_ops()]).expect(0);
    let shown = program.run(&["show", &program.sessions()[0].id]).expect(0).stdout;
    assert!(shown.contains("test/tools  0.1.0") && !shown.contains("0.1.1"), "{shown}");
    for session in program.sessions() {
        program.run(&["stop", &session.id]).expect(0);
    }
    program.run(&["bundle", "remove", "test/tools@=0.1.0"]).expect(0);
    let digests: Vec<String> = vec![listed(&program)[0]["digest"].as_str().unwrap().to_owned()];
    let other = program.run(&["run", &user]).expect(2);
    other.says(&[
        "uses test/tools as it was built with, 0.1.0 (blake3:",
        "here it is 0.1.1",
        &digests[0],
        "bundle build",
    ]);
    program.run(&["bundle", "build", &user]).expect(0);
    program.run(&["run", &user]).expect(0);
    // And by name itself, with all that it uses.
    program.run(&["bundle", "install", &user]).expect(0);
    program.run(&["run", "test/user", &write_ops()]).expect(0);
    let id = program.sessions()[0].id.clone();
    assert_eq!(program.lines(&id, "log", "x"), 1);
    program.check(&id);
}

/// `N-A4`: a bundle whose path is not text is not installed: the name that `update` would read could be another folder's,
/// which the approval was not given for.
#[test]
fn a_bundle_of_a_path_that_is_not_text_is_not_installed() {
    let program = Program::new();
    let folder = built(&program, &Draft::scripted());
    let odd = program.beside("").join(OsStr::from_bytes(b"odd-\xff"));
    std::fs::rename(&folder, &odd).unwrap();
    let words = program.words();
    let mut install = std::process::Command::new(&words[0]);
    install.args(&words[1..]).args(["bundle", "install", "--no-grant"]).arg(&odd);
    let ended = install.output().unwrap();
    let shown = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{shown}");
    assert!(shown.contains("is not UTF-8") && shown.contains("odd-\\xFF"), "{shown}");
    assert!(listed(&program).is_empty());
}
