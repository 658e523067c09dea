//! `rewake bundle test` and `rewake bundle call`: what passes, what fails and how that is told, and that the cuts
//! find what is declared idempotent and is not.

use std::fs;
use std::path::Path;

use rewake_tests::bundles::{Draft, guest, root};
use rewake_tests::program::{Ended, Program, text};
use rewake_tests::server::{Server, response};
use serde_json::{Value, json};

/// The bundles of this repository, from its root on.
const OURS: [&str; 10] = [
    "plugins/files",
    "plugins/guard",
    "plugins/fetch",
    "plugins/plan",
    "plugins/assistant",
    "examples/tool",
    "examples/hook",
    "examples/harness",
    "examples/publisher",
    "examples/checks",
];

/// A bundle with cases.
fn with_cases(program: &Program, draft: &Draft, cases: &str) -> String {
    let bundle = program.bundle(draft);
    let folder = Path::new(&bundle).join("tests");
    fs::create_dir(&folder).expect("a folder for the cases");
    fs::write(folder.join("cases.toml"), cases).expect("the cases");
    bundle
}

fn append(tool: &str) -> String {
    let ops = json!([{
        "op": "tools",
        "uses": [{ "name": tool, "input": { "path": "/workspace/log", "line": "x" } }]
    }]);
    ops.to_string()
}

/// A session that has a tool append a line to a file.
fn session(tool: &str, expect: &str) -> String {
    format!("[[session]]\nname = \"appends\"\nmessages = ['{}']\n{expect}\n", append(tool))
}

fn test(program: &Program, folder: &str, more: &[&str]) -> Ended {
    program.run(&[&["bundle", "test", folder], more].concat())
}

#[test]
fn our_own_bundles_pass_their_tests() {
    std::thread::scope(|scope| {
        for bundle in OURS {
            scope.spawn(move || {
                let folder = text(&root().join(bundle));
                let ended = test(&Program::new(), &folder, &["--replay"]).expect(0);
                assert!(ended.stdout.contains("passed"), "{}", ended.stdout);
            });
        }
    });
}

/// `N-F2`, `N-G5`: the tests of a bundle reach no network, whatever its manifest asks for: they have the case's answers,
/// within the grants, and in their order. With --network they reach it.
#[test]
fn tests_reach_no_network_unless_they_are_let() {
    let server = Server::start(|_| response("200 OK", &[], "real"));
    let ask = format!("http = [{{ host = {:?}, scheme = \"http\", methods = [\"GET\"] }}]", server.host());
    let toml = format!(
        "[component.tool_http]\nkind = \"tool\"\nsource = \"tool_http.wasm\"\n\n[component.tool_http.asks]\n{ask}"
    );
    let draft = Draft::scripted().toml(&toml).file("tool_http.wasm", guest("tool_http"));
    let url = server.url("/a?b=1");
    let call = |name: &str, urls: &[&str], rest: &str| {
        let fetches: Vec<String> = urls.iter().map(|url| format!("{{ url = {url:?} }}")).collect();
        format!(
            "[[call]]\nname = {name:?}\ntool = \"fetch_once\"\nargs.fetches = [{}]\n{rest}\n",
            fetches.join(", ")
        )
    };
    let answers = format!(
        "http = [{{ url = {url:?}, status = 404, headers = {{ x-seen = \"one\" }}, body = \"first\" }}, {{ url = {url:?}, body = \"then\" }}]"
    );
    let cases = [
        call(
            "answers",
            &[&url, &url, &url],
            &format!(
                "{answers}\nexpect.contains = [\"404 x-seen=one 5 bytes: first\\n\", \"200 4 bytes: then\\n\"]"
            ),
        ),
        call("nothing", &[&url], "expect.contains = [\"the test has no answer for GET\", \"--network\"]"),
        call("denied", &["http://192.0.2.1/"], &format!("{answers}\nexpect.contains = \"denied\"")),
    ];
    let program = Program::new();
    let folder = with_cases(&program, &draft, &cases.concat());
    test(&program, &folder, &[]).expect(0);
    assert_eq!(server.asked(), Vec::<String>::new(), "something was sent");
    let ended = test(&program, &folder, &["--filter", "nothing", "--network"]).expect(7);
    assert!(ended.stdout.contains("real"), "{}", ended.stdout);
    assert_eq!(server.count("GET /a?b=1 "), 1);
}

#[test]
fn the_assistant_comes_to_the_same_wherever_it_is_cut() {
    let folder = text(&root().join("plugins/assistant"));
    std::thread::scope(|scope| {
        for case in ["writes a note", "asks people", "has no room"] {
            let folder = &folder;
            scope.spawn(move || {
                let ended = test(&Program::new(), folder, &["--cut", "--replay", "--filter", case]).expect(0);
                assert!(ended.stdout.contains("places: the same each time"), "{}", ended.stdout);
            });
        }
    });
}

#[test]
fn a_failure_is_told_with_its_place_and_the_difference() {
    let program = Program::new();
    let cases = "[[call]]\nname = \"sleeps\"\ntool = \"sleep_pure\"\nargs = { ms = 1 }\n\
                 expect.text = \"slept 2 ms\"\n\n\
                 [[call]]\nname = \"also <sleeps>\"\ntool = \"sleep_pure\"\nargs = { ms = 1 }\n\
                 expect.files = { \"log\" = \"x\" }\n\n\
                 [[call]]\nname = \"passes\"\ntool = \"sleep_pure\"\nargs = { ms = 1 }\n";
    let bundle = with_cases(&program, &Draft::scripted(), cases);
    let junit = text(&program.beside("junit.xml"));
    let ended = test(&program, &bundle, &["--junit", &junit]).expect(7);
    for line in [
        "FAILED  call     sleeps",
        "tests/cases.toml:1",
        "- slept 2 ms",
        "+ slept 1 ms",
        "there is no file log",
        "ok      call     passes",
        "2 failed, 1 passed",
    ] {
        assert!(ended.stdout.contains(line), "{line:?} is not in:\n{}", ended.stdout);
    }
    let xml = fs::read_to_string(junit).expect("the report");
    assert!(xml.contains("<testsuite name=\"test/scripted\" tests=\"3\" failures=\"2\""), "{xml}");
    assert!(xml.contains("name=\"also &lt;sleeps&gt;\""), "{xml}");
    let nowhere = text(&program.beside("no/such/folder.xml"));
    let ended = test(&program, &bundle, &["--junit", &nowhere, "--cut"]);
    assert!(ended.stdout.contains("2 failed, 1 passed"), "{}", ended.stdout);
    assert!(ended.stdout.contains("no session case: nothing was cut or replayed"), "{}", ended.stdout);
    let one = test(&program, &bundle, &["--filter", "passes"]).expect(0);
    assert!(one.stdout.contains("1 case passed"), "{}", one.stdout);
    test(&program, &bundle, &["--filter", "nothing"]).expect(2).says(&["none of 3 cases has \"nothing\""]);
}

#[test]
fn what_is_no_test_is_refused() {
    let program = Program::new();
    let bundle = program.bundle(&Draft::scripted());
    test(&program, &bundle, &[]).expect(2).says(&["there are no tests", "tests/NAME.toml"]);
    let bundle = with_cases(&program, &Draft::scripted(), "[[call]]\ntol = \"x\"\n");
    test(&program, &bundle, &[]).expect(2).says(&["cases.toml:2:1", "did you mean `tool`?"]);
    let bundle = with_cases(&program, &Draft::scripted(), "[[call]]\ntool = \"sleep_pur\"\n");
    let ended = test(&program, &bundle, &[]).expect(7);
    assert!(ended.stdout.contains("did you mean `sleep_pure`?"), "{}", ended.stdout);
}

#[test]
fn a_transcript_is_blessed_and_then_compared() {
    let program = Program::new();
    let cases = session("append_once", "expect.transcript = \"expected/a.txt\"");
    let bundle = with_cases(&program, &Draft::scripted(), &cases);
    let file = Path::new(&bundle).join("tests/expected/a.txt");
    let ended = test(&program, &bundle, &[]).expect(7);
    assert!(ended.stdout.contains("`--bless` writes it"), "{}", ended.stdout);
    assert!(!file.exists());
    test(&program, &bundle, &["--bless"]).expect(0);
    let blessed = fs::read_to_string(&file).expect("the transcript");
    assert!(blessed.contains("tool append_once ") && blessed.ends_with("turn 1 completed\n"), "{blessed}");
    test(&program, &bundle, &["--replay"]).expect(0);
    fs::write(&file, blessed.replace("appended x", "appended y")).expect("the changed transcript");
    let ended = test(&program, &bundle, &[]).expect(7);
    assert!(ended.stdout.contains("-   ok: appended y"), "{}", ended.stdout);
    assert!(ended.stdout.contains("+   ok: appended x"), "{}", ended.stdout);
}

#[test]
fn cuts_find_a_tool_that_is_declared_idempotent_and_is_not() {
    let program = Program::new();
    let expect = "expect.files = { log = \"x\\n\" }";
    let once = with_cases(&program, &Draft::scripted(), &session("append_once", expect));
    let ended = test(&program, &once, &["--cut", "--replay"]).expect(0);
    assert!(ended.stdout.contains("with an unknown outcome"), "{}", ended.stdout);
    let repeated = with_cases(&program, &Draft::scripted(), &session("append_idempotent", expect));
    test(&program, &repeated, &["--replay"]).expect(0);
    let ended = test(&program, &repeated, &["--cut"]).expect(7);
    assert!(ended.stdout.contains("the file log is another"), "{}", ended.stdout);
    assert!(ended.stdout.contains("cut after "), "{}", ended.stdout);
}

#[test]
fn a_question_is_answered_or_stays_open() {
    let program = Program::new();
    let draft = || {
        Draft::scripted().hook(&[("ask", "append_once")], "[[component.probe.on]]\nevent = \"PreToolUse\"")
    };
    for (answers, expect) in [
        ("answers = { \"*\" = \"allow\" }\n", "expect = { status = \"idle\", files = { log = \"x\\n\" } }"),
        (
            "answers = { ask-1-1-1-0 = \"deny\" }\n",
            "expect = { status = \"idle\", turn = \"completed\", files = { log = false } }",
        ),
        ("", "expect = { status = \"waiting\", files = { log = false } }"),
    ] {
        let cases = session("append_once", &format!("{answers}{expect}"));
        let bundle = with_cases(&program, &draft(), &cases);
        test(&program, &bundle, &["--replay"]).expect(0);
    }
}

#[test]
fn a_hook_is_asked_alone() {
    let program = Program::new();
    let draft = Draft::scripted().hook(
        &[("ask", "append_once")],
        "[[component.probe.on]]\nevent = \"PreToolUse\"\nmatcher = \"effect:once\"",
    );
    let cases = "[[hook]]\ncomponent = \"probe\"\nevent = \"PreToolUse\"\n\
                 input = { tool_name = \"append_once\" }\nexpect.verdict = \"ask\"\n\n\
                 [[hook]]\ncomponent = \"probe\"\nevent = \"PreToolUse\"\n\
                 input = { tool_name = \"sleep_pure\" }\nexpect.verdict = \"unasked\"\n\n\
                 [[hook]]\ncomponent = \"probe\"\nevent = \"PreToolUse\"\n\
                 input = { tool_name = \"elsewhere\" }\neffect = \"pure\"\nexpect.verdict = \"unasked\"\n\n\
                 [[hook]]\ncomponent = \"probe\"\nevent = \"Stop\"\nexpect.verdict = \"none\"\n";
    let bundle = with_cases(&program, &draft, cases);
    let ended = test(&program, &bundle, &[]).expect(7);
    assert!(ended.stdout.contains("1 failed, 3 passed"), "{}", ended.stdout);
    assert!(ended.stdout.contains("`probe` does not listen for Stop"), "{}", ended.stdout);
}

fn call(program: &Program, tool: &str, input: &Value, more: &[&str]) -> Ended {
    let (words, files) = (text(&root().join("examples/tool")), text(&root().join("plugins/files")));
    let bundle = if tool == "word_count" { words } else { files };
    program.run(&[&["bundle", "call", tool, &input.to_string(), "--bundle", &bundle], more].concat())
}

#[test]
fn a_call_gets_what_it_is_granted_and_no_more() {
    let program = Program::new();
    let folder = program.beside("work");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("a.txt"), "one two three").expect("a file");
    let folder = text(&folder);
    let input = json!({ "path": "a.txt" });
    let work = ["--workspace", folder.as_str()];
    call(&program, "word_count", &input, &work).expect(3).says(&[
        "error",
        "words asks to read the session's workspace",
        "--grant fs:workspace:ro",
    ]);
    for grant in [&["--grant", "fs:workspace:ro"][..], &["--grant-asked"]] {
        let ended = call(&program, "word_count", &input, &[&work[..], grant].concat()).expect(0);
        assert_eq!(ended.stdout, "a.txt has 3 words\n");
        ended.says(&["file: open-at /workspace/a.txt", "fuel", "of memory"]);
    }
    let ended = call(&program, "word_count", &input, &[&work[..], &["--grant-asked", "--json"]].concat());
    let said: Value = serde_json::from_str(&ended.expect(0).stdout).expect("JSON");
    assert_eq!((&said["outcome"], &said["parts"][0]["text"]), (&json!("ok"), &json!("a.txt has 3 words")));
    assert!(said["fuel"].as_u64() > Some(0) && said["memory_bytes"].as_u64() > Some(0), "{said}");
    assert_eq!(said["not_granted"], json!([]));
}

#[test]
fn a_call_works_on_a_copy_unless_it_is_told_otherwise() {
    let program = Program::new();
    let folder = program.beside("work");
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("a.txt");
    let folder = text(&folder);
    let input = json!({ "path": "a.txt", "content": "new" });
    let more = ["--grant-asked", "--workspace", &folder];
    call(&program, "write_file", &input, &more).expect(0);
    assert!(!file.exists(), "the copy is changed, not the folder");
    call(&program, "write_file", &input, &[&more[..], &["--in-place"]].concat()).expect(0);
    assert_eq!(fs::read_to_string(&file).expect("the file"), "new");
}

#[test]
fn a_call_that_cannot_be_made_is_refused() {
    let program = Program::new();
    call(&program, "word_cuont", &json!({}), &[]).expect(2).says(&["the bundle has no tool `word_cuont`"]);
    call(&program, "word_count", &json!({}), &["--workspace", "/does/not/exist"]).expect(2);
    call(&program, "word_count", &json!({}), &["--grant", "fs:workspace"]).expect(2).says(&["fs:workspace"]);
    let words = text(&root().join("examples/tool"));
    program
        .run(&["bundle", "call", "word_count", "{path}", "--bundle", &words])
        .expect(2)
        .says(&["the input is not JSON"]);
    assert!(!program.data().join("scratch").exists() || folder_is_empty(&program.data().join("scratch")));
}

fn folder_is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

#[test]
fn a_directory_of_the_machine_is_a_copy_of_what_the_case_gives() {
    let program = Program::new();
    let component = "[component.tool_probe]\nkind = \"tool\"\nsource = \"tool_probe.wasm\"\n\n\
                     [component.tool_probe.asks]\n\
                     fs = [{ mount = \"/docs\", source = \"host:docs\", access = \"rw\", why = \"the test\" }]";
    let draft = Draft::new("test/dirs").toml(component).file("tool_probe.wasm", guest("tool_probe"));
    let call = "[[call]]\ntool = \"append_once\"\nargs = { path = \"/docs/log\", line = \"x\" }\n";
    let cases = format!(
        "{call}dirs = {{ docs = \"given\" }}\nexpect.text = \"appended x\"\n\n{call}expect.error = \"fs:host:docs:rw\"\n"
    );
    let bundle = with_cases(&program, &draft, &cases);
    let given = Path::new(&bundle).join("tests/given");
    fs::create_dir(&given).expect("a folder");
    fs::write(given.join("log"), "").expect("a file");
    test(&program, &bundle, &[]).expect(0);
    assert_eq!(fs::read_to_string(given.join("log")).expect("the file"), "");
}

#[test]
fn a_session_may_be_of_an_agent_that_is_installed() {
    let program = Program::new();
    let agent = program.bundle(&Draft::scripted());
    program.run(&["bundle", "build", &agent]).expect(0);
    let ops = json!([{
        "op": "tools",
        "uses": [{ "name": "look", "input": { "path": "/workspace/a.txt" } }]
    }]);
    let cases = format!(
        "[[session]]\nagent = \"test/scripted@0.1\"\nmessages = ['{ops}']\n\
         workspace = {{ \"a.txt\" = \"hello from a\" }}\nexpect.says = \"hello from a\"\n"
    );
    let draft = Draft::new("test/beside").tools("tool_pure", "ro");
    let bundle = with_cases(&program, &draft, &cases);
    let ended = test(&program, &bundle, &[]).expect(7);
    assert!(ended.stdout.contains("test/scripted"), "{}", ended.stdout);
    program.run(&["bundle", "install", &agent, "--grant-asked"]).expect(0);
    test(&program, &bundle, &["--replay", "--cut"]).expect(0);
}
