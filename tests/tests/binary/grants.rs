//! Grants and secrets at the program: what is said where nobody answers, what `--grant-asked` and the rules
//! change, and that a secret stands nowhere in what is kept, written or said.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rewake_tests::bundles::{Draft, guest};
use rewake_tests::program::{Ended, Program, text};
use rewake_tests::server::{Server, response};
use serde_json::json;

/// What is looked for. It has characters that encodings change.
const CANARY: &str = "canary/QzWxJvKy+odd&long=secret~value";
/// A piece of it that every encoding leaves as it is; no digest or random byte comes to it by chance.
const PIECE: &str = "QzWxJvKy";

fn write_ops() -> String {
    let input = json!({ "path": "/workspace/log", "line": "x" });
    json!([{ "op": "tools", "uses": [{ "name": "append_once", "input": input }] }]).to_string()
}

/// Not at a terminal: nothing is granted, and what to add is said; added, it is granted.
#[test]
fn what_is_not_granted_is_said_with_the_lines_that_allow_it() {
    let program = Program::new();
    let bundle = program.bundle(&Draft::scripted());
    let told = program.run(&["run", &bundle, &write_ops()]).expect(0).says(&[
        "not granted: test/scripted:tool_probe asks to read and change the session's workspace, as /workspace",
        "--grant-asked",
        "[[allow]]",
        "asks = [\"fs:workspace:rw\"]",
    ]);
    let id = program.sessions()[0].id.clone();
    assert_eq!(program.lines(&id, "log", "x"), 0);
    let shown = program.run(&["show", &id]).expect(0).stdout;
    assert!(shown.contains("not granted  test/scripted:tool_probe asks for fs:workspace:rw"), "{shown}");
    let lines = told.stderr.lines().filter_map(|line| line.strip_prefix("rewake:     "));
    let rules = lines.collect::<Vec<_>>().join("\n");
    std::fs::write(program.data().join("rewake.toml"), &rules).unwrap();
    let again = program.run(&["run", &bundle, &write_ops()]).expect(0);
    assert!(!again.stderr.contains("not granted"), "{}", again.stderr);
    let id = program.sessions()[0].id.clone();
    assert_eq!(program.lines(&id, "log", "x"), 1);
    // A rule that is canceled holds for the session that is there, and is shown.
    std::fs::write(program.data().join("rewake.toml"), rules.replace("\"fs:workspace:rw\"", "")).unwrap();
    let told = program.tell(&id, &write_ops()).expect(0);
    assert!(told.stdout.contains("grants: "), "{}", told.stdout);
    assert_eq!(program.lines(&id, "log", "x"), 1);
    let shown = program.run(&["show", &id]).expect(0).stdout;
    assert!(shown.contains("test/scripted:tool_probe has now nothing"), "{shown}");
    program.check(&id);
}

#[test]
fn grant_asked_is_for_one_session_and_is_shown() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    program.tell(&id, &write_ops()).expect(0);
    assert_eq!(program.lines(&id, "log", "x"), 1);
    let shown = program.run(&["show", &id]).expect(0).stdout;
    assert!(shown.contains("test/scripted, for this session, by ann"), "{shown}");
}

/// `N-G4`: a model that a harness asks for is shown before it is granted, with the line that allows it, and after.
#[test]
fn a_model_that_a_harness_asks_for_is_shown() {
    let program = Program::new();
    let asks = "[component.harness.asks]\nmodels = [{ name = \"fast\", why = \"writes titles\" }]";
    let bundle = program.bundle(&Draft::scripted().toml(asks));
    let inspected = program.run(&["bundle", "inspect", &bundle]).expect(0).stdout;
    let words = "call the model \"fast\", whatever the session's model is";
    assert!(
        inspected.contains(&format!("may {words} [model:fast; not allowed here yet]: writes titles")),
        "{inspected}"
    );
    let ask = format!("not granted: test/scripted:harness asks to {words} (model:fast)");
    program.run(&["run", &bundle, "[]"]).expect(0).says(&[ask.as_str(), "\"model:fast\"]"]);
    let shown = |program: &Program| {
        let id = program.sessions()[0].id.clone();
        program.run(&["show", &id]).expect(0).stdout
    };
    let withheld = shown(&program);
    assert!(withheld.contains("test/scripted:harness asks for model:fast"), "{withheld}");
    program.run(&["run", "--grant-asked", &bundle, "[]"]).expect(0);
    let granted = shown(&program);
    assert!(
        granted.contains("test/scripted:harness may call the model \"fast\", beside the session's own"),
        "{granted}"
    );
}

/// Rules are found where they are named, by the option before the variable, else in the data folder.
#[test]
fn rules_that_are_wrong_or_missing_are_told() {
    let program = Program::new();
    let bundle = program.bundle(&Draft::scripted());
    let none = text(&program.beside("none.toml"));
    program.run(&["--config", &none, "run", &bundle]).expect(2).says(&[&none, "the rules cannot be read"]);
    let rules = program.beside("rules.toml");
    std::fs::write(&rules, "[limit]\n").unwrap();
    let ended = program.run(&["--config", &text(&rules), "run", &bundle]).expect(2);
    ended.says(&["rules.toml:1:2", "unknown key `limit`", "did you mean `limits`?"]);
    assert!(program.sessions().is_empty());
}

/// What is unsafe about the rules is said, once, and nothing of what they hold.
#[test]
fn rules_that_others_can_change_or_read_are_warned_about() {
    let program = Program::new();
    let bundle = program.bundle(&secretive(None));
    program.rule(&format!("[config.\"test/scripted\"]\nkey = {CANARY:?}\nword = \"w\""));
    let rules = program.data().join("rewake.toml");
    for (mode, words) in [(0o600, [false, false]), (0o644, [false, true]), (0o622, [true, false])] {
        std::fs::set_permissions(&rules, std::fs::Permissions::from_mode(mode)).unwrap();
        let told = program.run(&["run", "--grant-asked", &bundle, "[]"]).expect(0).stderr;
        let count = |word: &str| told.matches(word).count();
        let found = [count("can be changed by others"), count("can be read by others")];
        assert_eq!(found, words.map(usize::from), "{mode:o}\n{told}");
        assert!(!told.contains(PIECE), "{told}");
    }
}

/// What tools and hooks did is in the list of entries, below the end of their calls.
#[test]
fn events_show_what_a_call_did() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    program.tell(&id, &write_ops()).expect(0);
    let shown = program.run(&["events", &id, "--types", "tool.completed"]).expect(0).stdout;
    let mut lines = shown.lines();
    assert!(
        lines.next().is_some_and(|line| line.contains("tool.completed") && !line.contains("audit")),
        "{shown}"
    );
    assert!(lines.any(|line| line.starts_with("        write /workspace/log, 2 bytes")), "{shown}");
    let json = program.run(&["events", &id, "--types", "tool.completed", "--json"]).expect(0).stdout;
    assert!(json.lines().count() == 1 && json.contains("\"audit\""), "{json}");
}

/// A bundle whose tool and hook are told their configuration, with a key that they must not be told.
///
/// With a server, another of its tools sends the key there.
fn secretive(server: Option<&Server>) -> Draft {
    let on =
        "[[component.probe.on]]\nevent = \"PreToolUse\"\n[[component.probe.on]]\nevent = \"SessionStart\"";
    let draft = match server {
        None => Draft::scripted(),
        Some(server) => Draft::scripted()
            .toml(&format!(
                "[component.tool_http]\nkind = \"tool\"\nsource = \"tool_http.wasm\"\n[component.tool_http.asks]\nhttp = [{{ host = {:?}, scheme = \"http\", methods = [\"GET\"], secret = {{ config = \"key\", header = \"X-Key\", format = \"Bearer {{}}\" }} }}]",
                server.host()
            ))
            .file("tool_http.wasm", guest("tool_http")),
    };
    draft
        .hook(&[("trap_on", "fail")], on)
        .toml("[config.key]\ntype = \"string\"\nsensitive = true\nrequired = true")
        .toml("[config.word]\ntype = \"string\"\nrequired = true")
}

fn said(all: &mut String, ended: Ended) {
    all.push_str(&ended.stdout);
    all.push_str(&ended.stderr);
}

/// Every file below a folder, whole.
fn contents(folder: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            contents(&path, all);
        } else if path.file_name().is_some_and(|name| name != "rewake.toml") {
            all.push((path.display().to_string(), std::fs::read(&path).unwrap_or_default()));
        }
    }
}

fn forms() -> Vec<Vec<u8>> {
    let percent: String = CANARY
        .bytes()
        .map(|b| if b.is_ascii_alphanumeric() { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect();
    let json = serde_json::to_string(CANARY).unwrap();
    // The middle of its base64 at each of the three places it can begin at.
    let base64 =
        (0..3).map(|before| base64(&[&vec![b'x'; before], CANARY.as_bytes()].concat())[4..36].to_owned());
    let hex: String = PIECE.bytes().map(|b| format!("{b:02x}")).collect();
    let numbers: Vec<String> = PIECE.bytes().map(|b| b.to_string()).collect();
    let reversed: String = PIECE.chars().rev().collect();
    [
        CANARY.to_owned(),
        percent,
        json,
        PIECE.to_owned(),
        hex.to_uppercase(),
        hex,
        numbers.join(", "),
        reversed,
    ]
    .into_iter()
    .chain(base64)
    .map(String::into_bytes)
    .collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |chunk: &[u8], at: usize| {
        let bits =
            chunk.iter().chain([&0, &0]).take(3).fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize])
    };
    bytes.chunks(3).flat_map(|chunk| (0..4).map(move |at| digit(chunk, at))).collect()
}

/// All that is said when a session is made of the bundle, run twice, and looked at in every way.
fn said_of_a_session(program: &Program, bundle: &str, server: &Server) -> String {
    let mut all = String::new();
    let ops = json!([
        { "op": "tools", "uses": [{ "name": "echo", "input": {} }, { "name": "fail", "input": { "message": "no" } }] },
        { "op": "tools", "uses": [{ "name": "trap", "input": {} }] },
        { "op": "tools", "uses": [{ "name": "fetch_once", "input": { "fetches": [
            { "url": server.url("/") }, { "url": server.url("/away") }, { "url": "http://127.0.0.1:1/" },
        ] } }] },
        { "op": "model", "text": "a" },
    ])
    .to_string();
    said(&mut all, program.run(&["-vvv", "run", "--grant-asked", bundle, &ops, "--json"]));
    let id = program.sessions()[0].id.clone();
    said(&mut all, program.run(&["-vvv", "run", "--session", &id, &ops]));
    for args in
        [&["show", &id][..], &["events", &id], &["events", &id, "--json"], &["verify", &id], &["replay", &id]]
    {
        said(&mut all, program.run(&[&["-vvv"], args].concat()));
    }
    all
}

/// The canary: values of sensitive configuration stand in no journal, no store, no compiled component, no
/// error, no diagnostics and nothing that is printed; wherever they come from.
#[test]
fn a_secret_stands_nowhere() {
    assert_eq!(base64(b"ab"), "YWIA", "the encoder of this test, padded with zeros");
    for from in ["literal", "file", "variable"] {
        // With a cache of its own, so that what is compiled for it is looked at too.
        let program = Program::new().with_own_cache().with_env("TEST_KEY", CANARY);
        // It says what it was sent, and then a redirect to where nothing is granted.
        let server = Server::start(|request| match request.starts_with("GET /away") {
            true => response("302 Found", &[("location", "http://127.0.0.1:1/")], ""),
            false => response("200 OK", &[], request),
        });
        let bundle = program.bundle(&secretive(Some(&server)));
        std::fs::write(program.beside("key"), CANARY).unwrap();
        let key = match from {
            "literal" => format!("{CANARY:?}"),
            "variable" => "{ env = \"TEST_KEY\" }".to_owned(),
            _ => format!("{{ file = {:?} }}", text(&program.beside("key"))),
        };
        let write = |rest: &str| program.rule(&format!("[config.\"test/scripted\"]\nkey = {key}\n{rest}"));
        let mut all = String::new();
        // Errors about the rules, of every kind, beside it.
        for rest in ["word = 3", "wrd = \"w\"", "word = [", "word = \"w\"\n[limit]", "key = 3"] {
            write(rest);
            said(&mut all, program.run(&["-vvv", "run", &bundle, "[]"]).expect(2));
        }
        write("word = \"w\"");
        all.push_str(&said_of_a_session(&program, &bundle, &server));
        assert!(all.contains("\\\"word\\\":\\\"w\\\""), "the configuration itself was told: {all}");
        let sent = server.asked();
        assert!(sent.len() >= 2 && sent.iter().all(|request| request.contains(CANARY)), "{sent:?}");
        let mut kept = vec![("what was said".to_owned(), all.into_bytes())];
        contents(&program.data(), &mut kept);
        contents(&program.beside("components"), &mut kept);
        assert!(
            kept.iter().any(|(name, _)| name.ends_with("journal.db")) && kept.len() > 4,
            "{}",
            kept.len()
        );
        for form in forms() {
            assert!(kept.iter().all(|(name, _)| !name.contains(PIECE)), "it is in the name of a file");
            for (name, bytes) in &kept {
                let found = bytes.windows(form.len()).any(|window| window == form);
                assert!(
                    !found,
                    "{} stands in {name} (the secret is in a {from})",
                    String::from_utf8_lossy(&form)
                );
            }
        }
    }
}

/// `N-G1`: a `journal.db` from elsewhere approves itself no more: without an approval of this machine the server is not
/// reached, and the secret that the rules have for a bundle of that name is not sent. One approval sends it.
#[test]
fn a_journal_from_elsewhere_gets_no_secret() {
    let server = Server::start(|request| response("200 OK", &[], request));
    let config = |key: &str| format!("[config.\"test/scripted\"]\nkey = {key:?}\nword = \"w\"\n");
    let theirs = Program::new();
    theirs.rule(&config("of somebody else"));
    let id = theirs.create(&secretive(Some(&server)));
    let ours = Program::new();
    // It was used before, and has a session of its own.
    ours.create(&Draft::scripted());
    ours.rule(&config(CANARY));
    let ours = ours.holding(&theirs);
    let fetch = json!([{ "op": "tools", "uses": [{ "name": "fetch_once", "input": { "fetches": [{ "url": server.url("/") }] } }] }]);
    ours.tell(&id, &fetch.to_string()).expect(0).says(&["this machine has not approved"]);
    assert_eq!(server.asked(), Vec::<String>::new());
    let told = format!("{:?}", ours.check(&id).learned());
    assert!(told.contains("not granted"), "{told}");
    // The rules name a bundle of that name, and another digest: that is not this one.
    let other = format!(
        "[[allow]]\nbundle = \"test/scripted\"\ndigest = \"blake3:{}\"\nasks = [\"http:http://{}:GET\"]\n",
        "0".repeat(64),
        server.host()
    );
    ours.rule(&(config(CANARY) + &other));
    ours.tell(&id, &fetch.to_string()).expect(0);
    assert_eq!(server.asked(), Vec::<String>::new());
    ours.run(&["grant", &id, "--all"]).expect(0);
    ours.tell(&id, &fetch.to_string()).expect(0);
    let sent = server.asked();
    assert!(sent.len() == 1 && sent[0].contains(CANARY), "{sent:?}");
    ours.check(&id);
}

/// `N-G1`: a trust key that others can use, or that is named and not there, is an error that says what to do, before
/// anything is made or run; and it may not be where data from elsewhere comes.
#[test]
fn a_trust_key_that_cannot_be_trusted_is_an_error() {
    let program = Program::new();
    let id = program.create(&Draft::scripted());
    let key = program.trust_key();
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let before = program.events(&id);
    program.tell(&id, &write_ops()).expect(2).says(&["trust.key", "others can use it", "chmod 600"]);
    assert_eq!(program.events(&id).0, before.0);
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    program.tell(&id, &write_ops()).expect(0);
    // One that machines share is named, by the rules or the environment.
    let shared = program.beside("shared.key");
    let rules = program.beside("rules.toml");
    std::fs::write(&rules, format!("[trust]\nkey_file = {:?}\n", text(&shared))).unwrap();
    let tell = ["--config", &text(&rules), "run", "--session", &id, &write_ops()].map(str::to_owned);
    let tell: Vec<&str> = tell.iter().map(String::as_str).collect();
    program.run(&tell).expect(2).says(&["there is no trust key here", "umask 077"]);
    std::fs::copy(&key, &shared).unwrap();
    program.run(&tell).expect(0);
    assert_eq!(program.check(&id).count("grants.changed"), 0);
    let inside = program.data().join("trust.key");
    std::fs::copy(&key, &inside).unwrap();
    std::fs::write(&rules, format!("[trust]\nkey_file = {:?}\n", text(&inside))).unwrap();
    program.run(&tell).expect(2).says(&["in the data folder or the cache"]);
    // What comes with a data folder does not choose the key that it is checked with.
    program.rule(&format!("[trust]\nkey_file = {:?}\n", text(&shared)));
    program.tell(&id, &write_ops()).expect(2).says(&["cannot name the trust key", "REWAKE_TRUST"]);
}
