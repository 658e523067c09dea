//! What an author can write in `bundle.toml`, and what is said about mistakes in it.

use std::time::Duration;

use rewake_core::fact::OnError;
use rewake_core::grant::{Access, FsSource};
use rewake_core::money::Usd;

use super::super::{
    ConfigType, HookEvent, Instructions, Limits, Manifest, Matcher, PluginKind, ToolPick, Use,
};
use super::{HEAD, lines};

const FULL: &str = r#"schema = 1
[bundle]
name = "acme/word-tools"
version = "0.1.0"
license = "MIT"
api = "0.1"
use = ["rewake/files@0.1", "../guard"]

[agent]
instructions = "You count words."
model = "scripted"
script = "./demo.toml"
harness = "loop"
tools = ["words", "rewake/files:*", { from = "rewake/files:list_files", as = "ls" }]

[component.words]
kind = "tool"
source = "words.wasm"
build = "cargo build --release --target wasm32-wasip2 -p words"
artifact = "../target/wasm32-wasip2/release/words.wasm"
[component.words.asks]
fs = [{ mount = "/workspace", source = "workspace", access = "ro", why = "reads what it counts" }]
http = [{ host = "api.example.com", methods = ["GET"], secret = { config = "api_key", header = "Authorization", format = "Bearer {}" } }]
[component.words.limits]
memory = "64MiB"
timeout = "5s"
fuel = 2_000_000_000
output = "256KiB"

[component.loop]
kind = "harness"
source = "loop.wasm"
state_version = 1

[component.guard]
kind = "hook"
source = "guard.wasm"
[[component.guard.on]]
event = "PreToolUse"
matcher = "write|edit"
on_error = "allow"
rewrites = true
timeout = "500ms"
[[component.guard.on]]
event = "SessionStart"

[config.api_key]
type = "string"
sensitive = true
required = true
[config.depth]
type = "integer"
default = 3
description = "How deep to look."
"#;

#[test]
fn a_full_manifest_is_read() {
    let manifest = Manifest::parse(FULL, "bundle.toml").expect("it is well-formed");
    assert_eq!(manifest.name.as_str(), "acme/word-tools");
    assert_eq!(manifest.version.to_string(), "0.1.0");
    assert_eq!(manifest.license.as_deref(), Some("MIT"));
    let uses: Vec<&Use> = manifest.uses.iter().map(serde_spanned::Spanned::get_ref).collect();
    let files = Use::Named("rewake/files".parse().unwrap(), semver::VersionReq::parse("0.1").unwrap());
    assert_eq!(uses, [&files, &Use::Path("../guard".to_owned())]);

    let agent = manifest.agent.as_ref().expect("it has one");
    assert_eq!(agent.instructions, Some(Instructions::Text("You count words.".to_owned())));
    assert_eq!(agent.script.as_ref().unwrap().get_ref(), "demo.toml");
    let picks: Vec<_> = agent.tools.as_ref().unwrap().iter().map(|pick| pick.get_ref().clone()).collect();
    assert_eq!(picks[1], ToolPick::AllOf("rewake/files".parse().unwrap()));
    assert_eq!(picks[2], ToolPick::renamed("rewake/files:list_files", "ls").unwrap());

    let names: Vec<&str> = manifest.components.iter().map(|found| found.name.get_ref().as_str()).collect();
    assert_eq!(names, ["words", "loop", "guard"], "in the order of the file, not of the alphabet");
    let [words, harness, guard] = manifest.components.as_slice() else { panic!("three components") };
    assert_eq!(
        (words.kind, harness.kind, guard.kind),
        (PluginKind::Tool, PluginKind::Harness, PluginKind::Hook)
    );
    assert_eq!(harness.state_version, Some(1));
    assert_eq!(words.artifact.as_deref(), Some("../target/wasm32-wasip2/release/words.wasm"));
    assert_eq!(harness.artifact, None);
    assert_eq!(words.asks.fs[0].source, FsSource::Workspace);
    assert_eq!(words.asks.fs[0].access, Access::ReadOnly);
    assert_eq!(words.asks.describe(), ["fs:workspace:ro", "http:api.example.com:GET"]);
    assert_eq!(words.asks.http[0].secret.as_ref().unwrap().format, "Bearer {}");
    let limits = Limits {
        memory_bytes: Some(64 << 20),
        timeout: Some(Duration::from_secs(5)),
        fuel: Some(2_000_000_000),
        output_bytes: Some(256 << 10),
    };
    assert_eq!(words.limits, limits);
    let [edits, start] = guard.on.as_slice() else { panic!("two declarations") };
    assert_eq!((edits.event, edits.on_error, edits.rewrites), (HookEvent::PreToolUse, OnError::Allow, true));
    assert_eq!(edits.timeout, Duration::from_millis(500));
    assert_eq!(
        (start.event, start.on_error, start.rewrites),
        (HookEvent::SessionStart, OnError::Allow, false)
    );
    assert_eq!((start.timeout, &start.matcher), (Duration::from_secs(30), &Matcher::EVERYTHING));

    assert_eq!(manifest.config["depth"].value_type, ConfigType::Integer);
    assert_eq!(manifest.config["depth"].default, Some(serde_json::json!(3)));
    assert!(manifest.config["api_key"].sensitive && manifest.config["api_key"].required);
}

#[test]
fn a_hook_before_a_tool_denies_on_error_unless_it_says_otherwise() {
    let text = format!(
        "{HEAD}[component.g]\nkind = \"hook\"\nsource = \"g.wasm\"\n[[component.g.on]]\nevent = \"PreToolUse\"\n"
    );
    let manifest = Manifest::parse(&text, "bundle.toml").expect("it is well-formed");
    assert_eq!(manifest.components[0].on[0].on_error, OnError::Deny);
}

/// Reads `HEAD` and then `rest`, whose first line is line 6, and compares what is said.
#[track_caller]
fn check(rest: &str, expected: &[&str]) {
    let error = Manifest::parse(&format!("{HEAD}{rest}"), "bundle.toml").expect_err("it is malformed");
    assert_eq!(lines(&error), expected, "in:\n{rest}");
}

#[test]
fn an_error_shows_the_line_and_points_at_it() {
    let text = HEAD.replace("version", "verzion");
    let error = Manifest::parse(&text, "word-tools/bundle.toml").expect_err("a key is unknown");
    let expected = "\
word-tools/bundle.toml:2:1: [bundle] has no `version`
   |
 2 | [bundle]
   | ^^^^^^^^
   = help: add `version = \"0.1.0\"`

word-tools/bundle.toml:4:1: unknown key `verzion` in [bundle]
   |
 4 | verzion = \"0.1.0\"
   | ^^^^^^^
   = help: did you mean `version`?";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn broken_toml_has_a_place() {
    for (text, expected) in [
        ("schema = 1\n[bundle\n", "2:8 not valid TOML: unclosed table, expected `]`"),
        ("a = \"x\n", "1:7 not valid TOML: invalid basic string, expected `\"`"),
        ("a = 1\n a = 2\n", "2:2 not valid TOML: duplicate key"),
    ] {
        let error = Manifest::parse(text, "bundle.toml").expect_err("it is not TOML");
        let found = lines(&error);
        assert!(found[0].starts_with(expected), "{text:?}: {found:?}");
    }
}

#[test]
fn deep_nesting_is_refused_and_not_followed() {
    for text in [format!("{}a = 1", "a.".repeat(100_000)), format!("a = {}", "[".repeat(100_000))] {
        assert!(Manifest::parse(&text, "bundle.toml").is_err());
    }
}

#[test]
fn what_a_terminal_would_obey_is_not_shown() {
    let text = format!("{HEAD}\"\\u001b[2Jx\" = 1 # \u{202e}\n");
    let shown = Manifest::parse(&text, "b\u{1b}.toml").expect_err("a key is unknown").to_string();
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

#[test]
fn unknown_keys_name_the_nearest_or_the_known() {
    check(
        "instructions = \"x\"\n",
        &[
            "6:1 unknown key `instructions` in [bundle] | known here: `name`, `version`, `license`, `api`, `use` and `files`",
        ],
    );
    check("[agents]\n", &["6:2 unknown key `agents` in the top level | did you mean `agent`?"]);
    check(
        "[component.a]\nkind = \"tool\"\nsource = \"a.wasm\"\nmemory = \"1MiB\"\n",
        &["9:1 unknown key `memory` in [component.a] | move it into [component.a.limits]"],
    );
    check(
        "[component.a]\nkind = \"tool\"\nsource = \"a.wasm\"\n[component.a.asks]\nfs = [{ mount = \"/w\", source = \"workspace\", acess = \"ro\" }]\n",
        &[
            "10:7 [component.a.asks.fs] (number 1) has no `access` | add `access = \"ro\"`",
            "10:45 unknown key `acess` in [component.a.asks.fs] (number 1) | did you mean `access`?",
        ],
    );
}

/// `N-A3`: among what is wrong with a head is a version that is more than major.minor.patch.
#[test]
fn a_manifest_says_its_schema_name_version_and_contract() {
    let error = Manifest::parse("", "bundle.toml").expect_err("it is empty");
    assert_eq!(
        lines(&error),
        [
            "1:1 the top level has no `schema` | add `schema = 1`",
            "1:1 there is no [bundle] | add it, with name, version and api",
        ]
    );
    let head = |from: &str, to: &str| {
        let error = Manifest::parse(&HEAD.replace(from, to), "bundle.toml").expect_err("it is malformed");
        lines(&error).join("\n")
    };
    assert_eq!(
        head("schema = 1", "schema = 2"),
        "1:10 manifests of schema 2 are not known here | this version reads schema 1; a newer Rewake may read it"
    );
    assert!(
        head("acme/word-tools", "word-tools")
            .starts_with("3:8 `word-tools` is not a bundle's name | write `scope/name`")
    );
    assert!(head("acme/", "../").starts_with("3:8 `../word-tools` is not a bundle's name"));
    assert!(head("\"0.1.0\"", "\"1\"").starts_with("4:11 `1` is not a version: "));
    for version in ["1.0.0-rc.1", "1.0.0+a"] {
        let told = head("\"0.1.0\"", &format!("{version:?}"));
        let words = format!("4:11 `{version}` has a pre-release or build metadata | write major.minor.patch");
        assert!(told.starts_with(&words), "{told}");
    }
    assert_eq!(
        head("\"0.1.0\"", "1.0"),
        "4:11 `version` must be a string such as \"0.1.0\", and this is a fraction | -"
    );
    assert_eq!(
        head("\"0.1\"\n", "\"0.2\"\n"),
        "5:7 the plugin contract `0.2` is not spoken here | this Rewake speaks 0.1: use a newer one, or build the bundle for 0.1"
    );
    assert_eq!(
        head("\"0.1\"\n", "\"0.0\"\n"),
        "5:7 the plugin contract `0.0` is not spoken here | this Rewake speaks 0.1: build the bundle again for it"
    );
}

#[test]
fn keys_written_above_a_table_are_sent_to_their_own() {
    let text = format!("use = [\"../x\"]\n{HEAD}");
    let error = Manifest::parse(&text, "bundle.toml").expect_err("use stands outside of [bundle]");
    assert!(lines(&error)[0].starts_with("1:1 unknown key `use` in the top level | move it into [bundle]"));
}

#[test]
fn an_amount_is_read_exactly() {
    for (written, nanos) in [("2", 2_000_000_000), ("0.1", 100_000_000), ("\"$1.000000001\"", 1_000_000_001)]
    {
        let text = format!("{HEAD}[agent]\nmax_usd = {written}\n");
        let manifest = Manifest::parse(&text, "bundle.toml").expect("it is well-formed");
        assert_eq!(manifest.agent.unwrap().max_usd.map(Usd::nanos), Some(nanos), "{written}");
    }
}

#[test]
fn an_agent_names_the_steps_of_a_turn() {
    for (written, steps) in [("", None), ("max_steps = 1", Some(1)), ("max_steps = 10_000", Some(10_000))] {
        let text = format!("{HEAD}[agent]\n{written}\n");
        let manifest = Manifest::parse(&text, "bundle.toml").expect("it is well-formed");
        assert_eq!(manifest.agent.unwrap().max_steps, steps, "{written}");
    }
}

#[test]
fn an_agent_s_mistakes() {
    check(
        "[agent]\ninstructions = \"x\"\ninstructions_file = \"x.md\"\n",
        &["8:1 [agent] has both `instructions` and `instructions_file` | keep one of them"],
    );
    check(
        "[agent]\ntools = [\"*\", \"files:*\", 3, { from = \"acme/files:*\", as = \"x\" }]\n",
        &[
            "7:10 `*` is not a tool's name | write \"tool\", \"scope/name:tool\" or \"scope/name:*\"",
            "7:15 `files` is not a bundle's name | write \"tool\", \"scope/name:tool\" or \"scope/name:*\"",
            "7:26 `tools` must be an array of names, patterns and { from, as } entries, and this is a number | -",
            "7:29 all tools of acme/files cannot get one name | rename one tool: { from = \"scope/name:tool\", as = \"new_name\" }",
        ],
    );
    check(
        "[agent]\nmax_usd = -1.5\n",
        &[
            "7:11 `max_usd` is not an amount: \"-1.5\" is not an amount in USD: write a number such as 2.50, with at most 9 decimals | -",
        ],
    );
    for steps in ["0", "10001", "-1"] {
        check(
            &format!("[agent]\nmax_steps = {steps}\n"),
            &["7:13 `max_steps` must be a whole number from 1 to 10000 | -"],
        );
    }
    check(
        "[agent]\nmax_usd = true\n",
        &["7:11 `max_usd` must be an amount in USD, and this is true or false | -"],
    );
    check(
        "[agent]\nharness = \"t\"\n[component.t]\nkind = \"tool\"\nsource = \"t.wasm\"\n",
        &["7:11 [component.t] is a tool, not a harness | harnesses here: none"],
    );
    check(
        "[agent]\nscript = \"../../etc/passwd\"\n",
        &[
            "7:10 `../../etc/passwd` leaves the bundle's folder | name a file inside the bundle's folder by its relative path, such as \"words.wasm\"",
        ],
    );
}

/// As `check`, for keys of a tool `a`, whose first line is line 9.
#[track_caller]
fn check_tool(rest: &str, expected: &[&str]) {
    check(&format!("[component.a]\nkind = \"tool\"\nsource = \"a.wasm\"\n{rest}"), expected);
}

#[test]
fn a_component_s_mistakes() {
    check(
        "[component.a]\n",
        &[
            "6:1 [component.a] has no `kind` | add `kind = \"tool\"`",
            "6:1 [component.a] has no `source` | add `source = \"name.wasm\"`",
        ],
    );
    check(
        "[component.a]\nkind = \"tol\"\nsource = \"a.cwasm\"\n",
        &[
            "7:8 `kind` cannot be `tol` | did you mean \"tool\"?",
            "8:10 `a.cwasm` is a compiled artifact, and those are never accepted | name the component itself (.wasm); each host compiles it on its own",
        ],
    );
    check_tool(
        "artifact = \"a.wasm\"\n",
        &[
            "9:12 `artifact` is what `build` makes, and there is no `build` | add the command that makes it, or take `artifact` out",
        ],
    );
    check_tool(
        "state_version = 1\n",
        &[
            "9:1 `state_version` is for a harness, and [component.a] is a tool | take it out, or change `kind`",
        ],
    );
    check_tool(
        "[component.a.limits]\nmemory = 64\ntimeout = \"5\"\nfuel = 0\noutput = \"1MB\"\n",
        &[
            "10:10 `memory` must be a size such as \"64MiB\", and this is a number | -",
            "11:11 `5` has no unit | write a whole number and a unit: \"500ms\", \"5s\" or \"2m\"",
            "12:8 `fuel` must be a whole number from 1 to 9223372036854775807 | -",
            "13:10 `1MB` has a unit that is not used here | write \"1MiB\"",
        ],
    );
    check_tool(
        "[component.a.asks]\nfs = [{ mount = \"w\", source = \"bundle\", access = \"rw\" }, { mount = \"/b\", source = \"bundle\", access = \"rw\" }]\n",
        &[
            "10:17 `w` is not a mount | write the absolute path that the guest sees, without blanks, such as \"/workspace\"",
            "10:102 a bundle's own files cannot be written | write access = \"ro\"",
        ],
    );
    check(
        "[component.a]\nkind = \"harness\"\nsource = \"a.wasm\"\n[component.a.asks]\nfs = [{ mount = \"/w\", source = \"workspace\", access = \"rw\" }]\n",
        &[
            "9:14 [component.a] is a harness and asks to write files | a harness's mounts are read-only (access = \"ro\"): tools change files",
        ],
    );
    check(
        "[component.a]\nkind = \"harness\"\nsource = \"a.wasm\"\n[component.a.limits]\noutput = \"1KiB\"\n",
        &[
            "9:14 `output` is of what a tool returns, and [component.a] is a harness | take it out of the limits",
        ],
    );
    check_tool(
        "[component.a.asks]\nmodels = [{ name = \"fast\", why = \"titles\" }]\n",
        &[
            "9:14 [component.a] is a tool and asks for models | only a harness can call models: take `models` out of its asks",
        ],
    );
    check(
        "[component.a]\nkind = \"harness\"\nsource = \"a.wasm\"\n[component.a.asks]\nmodels = [{ name = \"fast\" }, { name = \"fast\" }, { name = \"a b\" }, { why = \"x\" }]\n",
        &[
            "10:30 the model `fast` is asked for twice | keep one of them",
            "10:58 `a b` is not the name of a model | write the name of a [models.NAME] of rewake.toml, such as \"fast\", or \"*\" for any of them",
            "10:67 [component.a.asks.models] (number 4) has no `name` | add `name = \"fast\"`",
        ],
    );
}

#[test]
fn a_hook_s_mistakes() {
    let hook = "[component.g]\nkind = \"hook\"\nsource = \"g.wasm\"\n";
    check(
        hook,
        &[
            "6:1 [component.g] is a hook and says nowhere when it runs | add [[component.g.on]] with an `event`",
        ],
    );
    let on = |rest: &str| format!("{hook}[[component.g.on]]\n{rest}");
    check(
        &on("event = \"PreTolUse\"\n"),
        &["10:9 `event` cannot be `PreTolUse` | did you mean \"PreToolUse\"?"],
    );
    check(
        &on("event = \"Stop\"\nmatcher = \"x\"\n"),
        &["11:11 Stop has no matcher | leave `matcher` out: the hook then runs every time"],
    );
    check(
        &on("event = \"SessionStart\"\nmatcher = \"start\"\nrewrites = true\ntimeout = 3\n"),
        &[
            "11:11 SessionStart can never match `start` | it is tried on `startup`, `resume` and `fork`",
            "12:12 a hook on SessionStart has nothing to rewrite | `rewrites` is for PreToolUse (the input) and PostToolUse (the output)",
            "13:11 `timeout` must be a duration such as \"5s\", and this is a number | -",
        ],
    );
    check_tool(
        "[[component.a.on]]\nevent = \"PreToolUse\"\n",
        &["9:15 `on` is for a hook, and [component.a] is a tool | take it out, or change `kind`"],
    );
}

#[test]
fn configuration_and_secrets_agree() {
    check(
        "[config.k]\ntype = \"string\"\nsensitive = true\ndefault = \"hunter2\"\n[config.n]\ntype = \"integer\"\ndefault = 1.5\n[config.r]\ntype = \"boolean\"\nrequired = true\ndefault = true\n",
        &[
            "9:11 [config.k] is sensitive and has a default | take `default` out: everyone who has the bundle could read it",
            "12:11 `default` is not of the type \"integer\" | make `type` and `default` agree",
            "16:11 [config.r] is required and has a default | keep one of the two",
        ],
    );
    let http = |ask: &str| format!("[component.a.asks]\nhttp = [{{ {ask} }}]\n");
    check_tool(
        &http("host = \"*\", methods = [\"GET\"], secret = { config = \"k\", header = \"X-Key\" }"),
        &[
            "10:42 a secret would go to any host | name the host that the secret belongs to, in an entry of its own",
            "10:62 there is no [config] key `k` | add [config.k] with `type = \"string\"` and `sensitive = true`",
        ],
    );
    check_tool(
        &http("host = \"https://x.example\", methods = [\"get\"]"),
        &[
            "10:18 `https://x.example` is a URL | write a host alone, such as \"api.example.com\", \"*.example.com\" or \"localhost:8080\"",
            "10:50 `get` is not a method that can be asked for | write \"GET\"",
        ],
    );
    check_tool(
        &http("host = \"x.example\", methods = []"),
        &["10:31 `methods` is empty | write the methods it needs, such as [\"GET\"]"],
    );
    check_tool(
        &http("host = \"x.example\", methods = [\"GET\"], scheme = \"gopher\""),
        &["10:59 `scheme` cannot be `gopher` | it is one of `https` and `http`"],
    );
    check_tool(
        &http("host = \"x.example\", methods = [\"GET\"], honours_key = true"),
        &["10:50 `honours_key` is about PUT and DELETE, and neither is asked for | leave it out"],
    );
    check_tool(
        &http(
            "host = \"x.example\", methods = [\"GET\"], scheme = \"http\", secret = { config = \"k\", header = \"X-Key\" }",
        ),
        &[
            "10:67 a secret would go over the network in clear text | leave `scheme` out; only to an address of this machine, such as 127.0.0.1, it may",
            "10:87 there is no [config] key `k` | add [config.k] with `type = \"string\"` and `sensitive = true`",
        ],
    );
    check_tool(
        &http("host = \"127.1\", methods = [\"PUT\"]"),
        &[
            "10:18 `127.1` is not a host | write a host alone, such as \"api.example.com\", \"*.example.com\" or \"localhost:8080\"",
        ],
    );
}
