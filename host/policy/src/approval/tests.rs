//! What carries over from one version to the next, and what is wider.

use std::path::Path;

use super::*;
use crate::config::Rules;

const KEY: &str = "[config.key]\ntype = \"string\"\nsensitive = true\n[config.other]\ntype = \"string\"\nsensitive = true\n";

/// A bundle whose one tool asks for this.
fn bundle(version: &str, asks: &str) -> Bundle {
    bundle_of("tool", version, asks)
}

/// A bundle whose one component, of this kind, asks for this.
fn bundle_of(kind: &str, version: &str, asks: &str) -> Bundle {
    let head = format!("schema = 1\n[bundle]\nname = \"a/b\"\nversion = \"{version}\"\napi = \"0.1\"\n");
    let tool = format!("[component.t]\nkind = \"{kind}\"\nsource = \"t.wasm\"\n");
    let manifest = format!("{head}{tool}[component.t.asks]\n{asks}\n{KEY}");
    let component = wat::parse_str(format!(
        "(component
            (core module $m (func (export \"f\")))
            (core instance $c (instantiate $m))
            (func $f (canon lift (core func $c \"f\")))
            (instance $i (export \"list-tools\" (func $f)) (export \"call\" (func $f)) (export \"step\" (func $f)))
            (export \"rewake:plugin/{kind}@0.1.0\" (instance $i)))",
    ));
    let files = [
        ("bundle.toml".to_owned(), manifest.into_bytes().into()),
        ("t.wasm".to_owned(), component.unwrap().into()),
    ];
    Bundle::from_files(files.into()).unwrap_or_else(|error| panic!("{error}"))
}

/// What is wider in the new version, where the rules allow this to the old one.
fn check(old: &str, allowed: &str, new: &str, expected: &[&str]) {
    check_of("tool", old, allowed, new, expected);
}

fn check_of(kind: &str, old: &str, allowed: &str, new: &str, expected: &[&str]) {
    let (old, new) = (bundle_of(kind, "0.1.0", old), bundle_of(kind, "0.2.0", new));
    let text =
        format!("[[allow]]\nbundle = \"a/b\"\ndigest = \"blake3:{}\"\nasks = [{allowed}]", old.digest());
    let rules = Rules::parse(&text, Path::new("rewake.toml")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(wider(&rules, &old, &new), expected);
}

fn fs(source: &str, access: &str) -> String {
    format!("fs = [{{ mount = \"/m\", source = \"{source}\", access = \"{access}\" }}]")
}

fn http(host: &str, methods: &str, more: &str) -> String {
    format!("http = [{{ host = \"{host}\", methods = [{methods}]{more} }}]")
}

fn secret(key: &str) -> String {
    format!(", secret = {{ config = \"{key}\", header = \"Authorization\" }}")
}

#[test]
fn directories_carry_over_as_far_as_they_were_allowed() {
    let (ro, rw) = ("\"fs:workspace:ro\"", "\"fs:workspace:rw\"");
    let read = fs("workspace", "ro");
    let write = fs("workspace", "rw");
    check(&read, ro, &read, &[]);
    check(&write, rw, &write, &[]);
    check(&write, rw, &read, &[]);
    check(&write, rw, "", &[]);
    check(&read, ro, &write, &["fs:workspace:rw"]);
    check(&write, ro, &write, &["fs:workspace:rw"]);
    check(&read, rw, &write, &["fs:workspace:rw"]);
    check(&read, "", &read, &["fs:workspace:ro"]);
    check(&read, ro, &fs("bundle", "ro"), &["fs:bundle:ro"]);
    // Whether the operator has such a directory is no matter of the approval; which one it is, is.
    check(&fs("host:docs", "ro"), "\"fs:host:docs:ro\"", &fs("host:docs", "ro"), &[]);
    check(&fs("host:docs", "ro"), "\"fs:host:docs:ro\"", &fs("host:mail", "ro"), &["fs:host:mail:ro"]);
    let elsewhere = fs("workspace", "ro").replace("/m", "/elsewhere");
    check(&read, ro, &elsewhere, &[]);
}

#[test]
fn hosts_carry_over_with_their_methods_and_secrets() {
    let get = http("api.example.com", "\"GET\"", "");
    let allowed = "\"http:api.example.com:GET\"";
    check(&get, allowed, &get, &[]);
    check(&get, allowed, &http("api.example.com", "\"GET\", \"PUT\"", ""), &["http:api.example.com:PUT"]);
    check(&get, allowed, &http("*.example.com", "\"GET\"", ""), &["http:*.example.com:GET"]);
    check(&http("*.example.com", "\"GET\"", ""), "\"http:*.example.com:GET\"", &get, &[]);
    check(
        &get,
        allowed,
        &http("api.example.com", "\"GET\"", ", scheme = \"http\""),
        &["http:http://api.example.com:GET"],
    );
    let with = |key: &str| http("api.example.com", "\"GET\"", &secret(key));
    check(&with("key"), allowed, &with("key"), &[]);
    check(&get, allowed, &with("key"), &["http:api.example.com:GET"]);
    check(&with("key"), allowed, &with("other"), &["http:api.example.com:GET"]);
    let keyed = |more: &str| http("api.example.com", "\"PUT\"", more);
    let put = "\"http:api.example.com:PUT\"";
    check(&keyed(""), put, &keyed(", honours_key = true"), &["http:api.example.com:PUT"]);
}

/// `N-G4`: a model that was not approved for the old version needs approval for the new one.
#[test]
fn models_carry_over_by_their_names() {
    let models = |names: &[&str]| {
        let each: Vec<String> = names.iter().map(|name| format!("{{ name = \"{name}\" }}")).collect();
        format!("models = [{}]", each.join(", "))
    };
    let fast = models(&["fast"]);
    let both = models(&["fast", "slow"]);
    let check = |old: &str, allowed: &str, new: &str, expected: &[&str]| {
        check_of("harness", old, allowed, new, expected);
    };
    check(&fast, "\"model:fast\"", &fast, &[]);
    check(&fast, "\"model:fast\"", &both, &["model:slow"]);
    check(&fast, "\"model:*\"", &both, &["model:slow"]);
    check(&fast, "", &fast, &["model:fast"]);
    check(&models(&["*"]), "\"model:*\"", &both, &[]);
    check(&fast, "\"model:fast\"", &models(&["*"]), &["model:*"]);
    let asks = bundle_of("harness", "0.1.0", &both);
    assert_eq!(lines(&asks), ["model:fast", "model:slow"]);
}

#[test]
fn what_is_withheld_is_what_is_asked_and_not_allowed() {
    let both = bundle("0.1.0", &format!("{}\n{}", fs("workspace", "rw"), http("a.b", "\"GET\"", "")));
    assert_eq!(lines(&both), ["fs:workspace:rw", "http:a.b:GET"]);
    let text = format!(
        "[[allow]]\nbundle = \"a/b\"\ndigest = \"blake3:{}\"\nasks = [\"fs:workspace:ro\"]",
        both.digest()
    );
    let rules = Rules::parse(&text, Path::new("rewake.toml")).unwrap();
    assert_eq!(withheld(&rules, &both), ["fs:workspace:rw", "http:a.b:GET"]);
    let rules = Rules::parse(&text.replace(":ro", ":rw"), Path::new("rewake.toml")).unwrap();
    assert_eq!(withheld(&rules, &both), ["http:a.b:GET"]);
}
