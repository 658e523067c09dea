//! The rules as they are written: what is taken, what is refused and in which words, and that no error shows
//! what may be a secret.

use std::collections::BTreeSet;
use std::path::Path;

use rewake_core::fact::PluginKind;
use rewake_core::grant::{Access, FsSource, Scheme};
use rewake_core::ids::Digest;

use super::*;
use rewake_bundle::Bundle;

mod models;

const FILE: &str = "/etc/rewake/rewake.toml";
const CANARY: &str = "canary-7d1f";
/// Where every key is explained.
const DOCUMENT: &str = include_str!("../../../../../docs/rewake-toml.md");

fn rules(text: &str) -> Rules {
    Rules::parse(text, Path::new(FILE)).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refused(text: &str, words: &[&str]) {
    let error = Rules::parse(text, Path::new(FILE)).expect_err("it is wrong").to_string();
    for word in words {
        assert!(error.contains(word), "{word:?} is not in:\n{error}");
    }
}

fn digest() -> Digest {
    Digest::of(b"a bundle")
}

fn allow(asks: &str) -> String {
    format!("[[allow]]\nbundle = \"acme/words\"\ndigest = \"blake3:{}\"\nasks = [{asks}]", digest())
}

#[test]
fn every_table_is_read() {
    let rules = rules(
        &[
            "[dirs]\ndocs = { path = \"docs\", access = \"ro\" }\nall = { path = \"/srv\", access = \"rw\" }",
            &allow("\"fs:workspace:ro\", \"fs:host:docs:rw\", \"http:api.example.com:GET\", \"http:http://127.0.0.1:80:PUT\", \"model:fast\""),
            "[config.\"acme/words\"]\nkey = { env = \"WORDS_KEY\" }\ndepth = 3",
            "[[hook]]\nbundle = \"./guard\"\ncomponent = \"guard\"\n[[hook]]\nbundle = \"acme/words\"\ncomponent = \"watch\"",
            "[limits.tool]\nmemory = \"16MiB\"\ntimeout = \"5s\"\nfuel = 1_000\noutput = \"1KiB\"",
            "[models.fast]\nprovider = \"anthropic\"\nmodel = \"m\"\nbase_url = \"https://x\"\nkey_env = \"K\"\nprice = { input = 3, output = 15.5 }",
        ]
        .join("\n"),
    );
    assert_eq!(rules.dirs["docs"], HostDir { path: "/etc/rewake/docs".into(), access: Access::ReadOnly });
    assert_eq!(rules.dirs["all"], HostDir { path: "/srv".into(), access: Access::ReadWrite });
    let asks = rules.allowed("acme/words", &digest()).expect("it is named");
    assert_eq!(*asks[0], AllowedAsk::Fs(FsSource::Workspace, Access::ReadOnly));
    assert_eq!(*asks[1], AllowedAsk::Fs(FsSource::Host("docs".into()), Access::ReadWrite));
    assert!(matches!(asks[2], AllowedAsk::Http(Scheme::Https, _, method) if method == "GET"));
    assert!(matches!(asks[3], AllowedAsk::Http(Scheme::Http, host, _) if host.to_string() == "127.0.0.1:80"));
    assert_eq!(*asks[4], AllowedAsk::Model("fast".into()));
    assert!(rules.allowed("acme/words", &Digest::of(b"another version")).is_none());
    assert!(rules.allowed("acme/other", &digest()).is_none());
    assert_eq!(rules.hooks[0].bundle, HookBundle::Path("/etc/rewake/./guard".into()));
    assert_eq!(rules.hooks[1].bundle, HookBundle::Named("acme/words".into()));
    let tool = rules.limits.of(PluginKind::Tool);
    assert_eq!(
        (tool.memory_bytes_max, tool.fuel_max, tool.output_bytes_max),
        (Some(16 << 20), Some(1000), Some(1024))
    );
    assert_eq!(rules.limits.of(PluginKind::Harness), Bounds::default());
    let price = rules.models["fast"].price.map(|price| (price.input.to_string(), price.output.to_string()));
    assert_eq!(price, Some(("$3.00".to_owned(), "$15.50".to_owned())));
}

#[test]
fn what_is_wrong_is_told_at_its_place() {
    refused("[dir]\n", &["rewake.toml:1:2", "unknown key `dir`", "`dirs`"]);
    refused("[dirs]\ndocs = { path = \"/x\", acess = \"ro\" }", &["`acess`", "`access`"]);
    refused("[dirs]\ndocs = { path = \"/x\", access = \"rx\" }", &["`access` cannot be `rx`"]);
    refused("[[allow]]\nbundle = \"acme/words\"", &["[allow] (number 1) has no `digest`", "has no `asks`"]);
    let any = "[[allow]]\nbundle = \"acme/words\"\ndigest = \"*\"\nasks = []";
    refused(any, &["`digest` cannot be `*`", "every version there will ever be"]);
    refused(&any.replace('*', "blake3:12"), &["is not a digest", "64 hexadecimal digits"]);
    for ask in [
        "workspace",
        "fs:workspace",
        "fs:workspace:x",
        "fs:home:ro",
        "http:api.example.com",
        "http:a b:GET",
        "http:*:get",
    ] {
        refused(&allow(&format!("{ask:?}")), &["rewake.toml:4"]);
    }
    refused("[[hook]]\nbundle = \"guard\"\ncomponent = \"guard\"", &["scope/name", "starts with"]);
    refused("[limits.tools]\n", &["`tools`", "did you mean `tool`?"]);
    refused("[limits.tool]\nmemory = \"64\"", &["has no unit"]);
    refused("[models.fast]\nprovider = \"antropic\"", &["did you mean \"anthropic\"?"]);
    refused("[config.words]\nkey = 1", &["[config.\"scope/name\"]"]);
    refused("[config.\"a/b\"]\nkey = { evn = \"X\" }", &["`evn`", "`env`"]);
    refused("[config.\"a/b\"]\nkey = { env = \"X\", file = \"y\" }", &["two places"]);
    for wrong in [
        "dirs = 3",
        "dirs = \"docs\"",
        "[dirs]\ndocs = \"/srv\"",
        "[dirs]\ndocs = { path = 3, access = \"ro\" }",
        "allow = 1",
        "[allow]",
        "allow = [3]",
        "config = []",
        "[config]\n\"a/b\" = 3",
        "[hook]",
        "hook = [1]",
        "limits = []",
        "[limits]\ntool = 1",
        "[limits.tool]\ntimeout = 5",
        "[limits.tool]\nfuel = \"1\"",
        "[models]\nfast = 1",
        "[models.fast]\nprovider = \"openai\"\nprice = 3",
    ] {
        refused(wrong, &["must be ", "rewake.toml:"]);
    }
    for path in ["", "~", "~/docs"] {
        refused(
            &format!("[dirs]\ndocs = {{ path = {path:?}, access = \"ro\" }}"),
            &["rewake.toml:2", "path"],
        );
        refused(&format!("[config.\"a/b\"]\nkey = {{ file = {path:?} }}"), &["rewake.toml:2", "path"]);
    }
}

/// Two entries for one version of a bundle would allow what both say: anyone who narrows it with a second one
/// would narrow nothing.
#[test]
fn a_version_of_a_bundle_is_allowed_in_one_place() {
    let wide = allow("\"fs:workspace:rw\"");
    refused(&format!("{wide}\n{}", allow("")), &["rewake.toml:5", "number 2", "a second time", "into one"]);
    let other = wide.replace(&digest().to_string(), &Digest::of(b"another version").to_string());
    assert_eq!(rules(&format!("{wide}\n{other}")).allow.len(), 2);
}

/// Whatever is wrong, and wherever: no error and no debug output shows a value of configuration.
#[test]
fn values_are_never_shown() {
    let good = format!("[config.\"a/b\"]\nkey = {CANARY:?}");
    assert!(!format!("{:?}", rules(&good)).contains("7d1f"));
    for text in [
        format!("[config.\"a/b\"]\nkey = [{CANARY:?}]"),
        format!("[config.\"a/b\"]\nkey = {{ env = \"x\", evn = {CANARY:?} }}"),
        format!("[config.\"a/b\"]\nkey = {{ env = [{CANARY:?}] }}"),
        format!("[config]\nkey = {CANARY:?}"),
        format!("config = {CANARY:?}"),
        format!("[config.\"a/b\"]\nkey = {CANARY}"),
        format!("[config.\"a/b\"]\nkey = \"{CANARY}"),
        format!("[config.\"a/b\"]\nkey = \"\"\"\n{CANARY}\n\"\"\n"),
        format!("[config.\"a/b\"]\nkey = \"\"\"\n[{CANARY}]\n\"\"\" x\n"),
        format!("[config.\"a/b\"]\nkey {CANARY:?}"),
        format!("[config.\"a/b\"]\nkey = {CANARY:?}\nkey = {CANARY:?}"),
    ] {
        let error = Rules::parse(&text, Path::new(FILE)).expect_err("it is wrong");
        let shown = format!("{error}\n{error:?}");
        assert!(!shown.contains("7d1f"), "{text}\n\n{error}");
    }
}

fn bundle(config: &str) -> Bundle {
    let manifest =
        format!("schema = 1\n[bundle]\nname = \"a/b\"\nversion = \"0.1.0\"\napi = \"0.1\"\n{config}");
    let files = [("bundle.toml".to_owned(), manifest.into_bytes().into())];
    Bundle::from_files(files.into()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn values_are_of_the_type_that_the_bundle_declares() {
    let bundle = bundle(
        "[config.depth]\ntype = \"integer\"\ndefault = 1\n[config.name]\ntype = \"string\"\n[config.key]\ntype = \"string\"\nsensitive = true",
    );
    let values = |text: &str| values(&rules(text), &bundle).map_err(|error| error.to_string());
    let set = |text: &str| values(text).unwrap().unwrap();
    assert_eq!(set(""), "{\"depth\":1}");
    assert_eq!(set("[config.\"a/b\"]\ndepth = 2\nname = \"n\""), "{\"depth\":2,\"name\":\"n\"}");
    let text = format!("[config.\"a/b\"]\nkey = {CANARY:?}");
    assert_eq!(set(&text), "{\"depth\":1}", "a sensitive value is left out");
    assert_eq!(rules(&text).secret("a/b", "key"), Some(Secret::new(CANARY)));
    assert_eq!(rules(&text).secret("a/other", "key"), None);
    for (line, words) in [
        ("depth = \"2\"", "the value of `depth` is not of the type \"integer\""),
        ("deph = 2", "did you mean `depth`?"),
        ("name = { env = \"REWAKE_TEST_NOT_SET\" }", "`REWAKE_TEST_NOT_SET`, which is not set"),
        ("key = { env = \"REWAKE_TEST_NOT_SET\" }", "`REWAKE_TEST_NOT_SET`, which is not set"),
        ("key = { file = \"/dev/null\" }", "not a regular file"),
        ("key = \"\"", "`key` is empty"),
        ("key = { file = \"/nowhere/key\" }", "`/nowhere/key`, which cannot be read"),
        ("key = 7", "`key` is not of the type \"string\""),
    ] {
        let error = values(&format!("[config.\"a/b\"]\n{line}")).unwrap_err();
        assert!(error.contains(words) && error.contains("rewake.toml:2"), "{line}: {error}");
    }
}

#[test]
fn values_come_from_files_without_their_line_feed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), format!("{CANARY}\n")).unwrap();
    std::fs::write(folder.path().join("depth"), "3\n").unwrap();
    std::fs::write(folder.path().join("empty"), "\n").unwrap();
    let text = "[config.\"a/b\"]\nkey = { file = \"key\" }\ndepth = 3";
    let rules = Rules::parse(text, &folder.path().join(RULES_FILE)).unwrap();
    let bundle =
        bundle("[config.depth]\ntype = \"integer\"\n[config.key]\ntype = \"string\"\nsensitive = true");
    assert_eq!(values(&rules, &bundle).unwrap().unwrap(), "{\"depth\":3}");
    assert_eq!(rules.secret("a/b", "key"), Some(Secret::new(CANARY)));
    // Whether it is secret is not for a bundle to say: another version, or another bundle of the name, may
    // leave it out.
    for kept in ["{ file = \"depth\" }", "{ env = \"PATH\" }"] {
        let text = format!("[config.\"a/b\"]\nname = {kept}");
        let rules = Rules::parse(&text, &folder.path().join(RULES_FILE)).unwrap();
        let bundle = self::bundle("[config.name]\ntype = \"string\"");
        let error = values(&rules, &bundle).unwrap_err().to_string();
        assert!(error.contains("does not declare it sensitive"), "{error}");
    }
    let text = "[config.\"a/b\"]\nkey = { file = \"empty\" }";
    let rules = Rules::parse(text, &folder.path().join(RULES_FILE)).unwrap();
    assert!(values(&rules, &bundle).unwrap_err().to_string().contains("the value of `key` is empty"));
    assert_eq!(rules.secret("a/b", "key"), None, "an empty secret is none");
}

#[test]
fn what_is_required_and_not_set_is_told_with_the_lines_that_set_it() {
    let bundle = bundle(
        "[config.api_key]\ntype = \"string\"\nsensitive = true\nrequired = true\n[config.depth]\ntype = \"integer\"\nrequired = true\ndescription = \"How deep.\"",
    );
    let unset = values(&rules(""), &bundle).unwrap().unwrap_err();
    assert_eq!(unset.keys, ["api_key", "depth"]);
    assert_eq!(unset.lines, "[config.\"a/b\"]\napi_key = { env = \"API_KEY\" }\ndepth = 0 # How deep.");
    assert!(Rules::parse(&unset.lines, Path::new(FILE)).is_ok());
}

/// The known keys of every table, as the reader itself lists them; and each of them is in the document.
#[test]
fn every_key_is_documented_and_every_documented_key_is_known() {
    const WRONG: &str = "qqqqqqqqqqqq";
    let tables = [
        ("", "qqqqqqqqqqqq = 1".to_owned()),
        ("dirs.NAME.", format!("[dirs]\nx = {{ {WRONG} = 1 }}")),
        ("allow.", format!("[[allow]]\n{WRONG} = 1")),
        ("config.\"SCOPE/NAME\".KEY.", format!("[config.\"a/b\"]\nx = {{ {WRONG} = 1 }}")),
        ("hook.", format!("[[hook]]\n{WRONG} = 1")),
        ("limits.", format!("[limits]\n{WRONG} = 1")),
        ("limits.tool.", format!("[limits.tool]\n{WRONG} = 1")),
        ("limits.hook.", format!("[limits.hook]\n{WRONG} = 1")),
        ("limits.harness.", format!("[limits.harness]\n{WRONG} = 1")),
        ("limits.workspace.", format!("[limits.workspace]\n{WRONG} = 1")),
        ("limits.scratch.", format!("[limits.scratch]\n{WRONG} = 1")),
        ("limits.journal.", format!("[limits.journal]\n{WRONG} = 1")),
        ("limits.compile.", format!("[limits.compile]\n{WRONG} = 1")),
        ("limits.http.", format!("[limits.http]\n{WRONG} = 1")),
        ("egress.", format!("[egress]\n{WRONG} = 1")),
        ("trust.", format!("[trust]\n{WRONG} = 1")),
        ("models.NAME.", format!("[models.x]\n{WRONG} = 1")),
        ("models.NAME.price.", format!("[models.x]\nprice = {{ {WRONG} = 1 }}")),
    ];
    let mut known = BTreeSet::new();
    for (path, text) in &tables {
        let error = Rules::parse(text, Path::new(FILE)).unwrap_err().to_string();
        let (_, list) = error.split_once("known here: ").unwrap_or_else(|| panic!("{error}"));
        let names = list.lines().next().unwrap_or_default().split('`').skip(1).step_by(2);
        for name in names {
            // A typing error of each key, wherever it stands, is met with the key.
            let near = text.replace(WRONG, &format!("{name}x"));
            refused(&near, &[&format!("unknown key `{name}x`"), &format!("did you mean `{name}`?")]);
            known.insert(format!("{path}{name}"));
        }
    }
    let documented: BTreeSet<String> = DOCUMENT
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .filter_map(|row| row.split_once("` |"))
        .map(|(key, _)| key.to_owned())
        .collect();
    assert_eq!(documented, known);
}
