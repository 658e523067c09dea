//! What is said about bytes that are not the component that the manifest promises.

use super::super::component::CONTRACT;
use super::super::{PluginKind, inspect};
use super::{component, plugin};

#[test]
fn every_kind_is_recognised() {
    for kind in PluginKind::ALL {
        let found = inspect(&plugin(kind), kind).expect("it is of that kind");
        assert_eq!(found.contract, CONTRACT);
        assert_eq!(found.has_state, kind == PluginKind::Harness);
        assert_eq!(
            found.imports,
            ["rewake:plugin/log@0.1.0", "wasi:cli/environment@0.2.6", "wasi:io/streams@0.2.6"]
        );
        assert!(found.exports.contains(&format!("rewake:plugin/{kind}@0.1.0")));
    }
}

#[test]
fn a_harness_may_keep_no_state() {
    let bytes = component(&[("rewake:plugin/harness@0.1.0", &["step"])], &["rewake:plugin/model@0.1.0"]);
    assert!(!inspect(&bytes, PluginKind::Harness).expect("it is a harness").has_state);
}

#[test]
fn other_exports_and_any_wasi_0_2_are_tolerated() {
    let bytes = component(
        &[
            ("rewake:plugin/tool@0.1.0", &["list-tools", "call"]),
            ("rewake:plugin/hook@0.1.0", &["handle"]),
            ("rewake:plugin/state@0.9.0", &[]),
            ("exports", &[]),
        ],
        &[
            "wasi:cli/exit@0.2.0",
            "wasi:sockets/tcp@0.2.9",
            "wasi:http/outgoing-handler@0.2.12",
            "rewake:plugin/http@0.1.0",
        ],
    );
    assert!(inspect(&bytes, PluginKind::Tool).is_ok());
    assert!(inspect(&bytes, PluginKind::Hook).is_ok());
}

#[track_caller]
fn check(bytes: &[u8], kind: PluginKind, message: &str) {
    let invalid = inspect(bytes, kind).expect_err(message);
    assert_eq!(invalid.message, message);
    assert!(invalid.help.is_some(), "{message} needs a word on what to do");
}

#[test]
fn what_is_no_component_is_named() {
    let core = wat::parse_str("(module)").expect("the test's own module is well-formed");
    check(b"", PluginKind::Tool, "is empty");
    check(&core, PluginKind::Tool, "is a core module, not a component");
    check(
        b"\x7fELF\x02\x01\x01",
        PluginKind::Tool,
        "is native code (ELF), such as a .cwasm; compiled artifacts are never accepted",
    );
    check(b"(component)", PluginKind::Tool, "is not WebAssembly");
    check(b"#!/bin/sh\n", PluginKind::Tool, "is not WebAssembly");
    assert!(inspect(b"\0asm\x63\0\x01\0", PluginKind::Tool).is_err(), "of an unknown version");
}

#[test]
fn a_component_cut_off_anywhere_is_refused() {
    let whole = plugin(PluginKind::Tool);
    for length in 0..whole.len() {
        // What is cut off whole and is only custom sections (number 0) changes nothing that runs.
        if let Ok(found) = inspect(&whole[..length], PluginKind::Tool) {
            assert_eq!(whole[length], 0, "cut off after {length} bytes and taken for {found:?}");
        }
    }
    check(&whole[..6], PluginKind::Tool, "is cut off after 6 bytes");
    let length = whole.len() - 3;
    check(&whole[..length], PluginKind::Tool, &format!("is cut off after {length} bytes"));
}

#[test]
fn damaged_bytes_are_refused_or_still_valid_but_never_a_panic() {
    let whole = plugin(PluginKind::Harness);
    for at in 0..whole.len() {
        for value in [0x00, 0x7f, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            let _ = inspect(&damaged, PluginKind::Harness);
        }
    }
    let mut damaged = whole;
    damaged.extend_from_slice(b"\xff\xff\xff");
    assert!(inspect(&damaged, PluginKind::Harness).is_err());
}

#[test]
fn another_kind_is_named() {
    check(
        &plugin(PluginKind::Hook),
        PluginKind::Tool,
        "is a hook, not a tool: it does not export rewake:plugin/tool@0.1.0",
    );
    check(
        &plugin(PluginKind::Tool),
        PluginKind::Harness,
        "is a tool, not a harness: it does not export rewake:plugin/harness@0.1.0",
    );
    let program = component(&[("wasi:cli/run@0.2.6", &["run"])], &[]);
    check(
        &program,
        PluginKind::Tool,
        "is a command-line program, not a tool: it does not export rewake:plugin/tool@0.1.0",
    );
    let other = component(&[("acme:db/query@1.0.0", &["q"])], &[]);
    check(&other, PluginKind::Tool, "is not a tool: it does not export rewake:plugin/tool@0.1.0");
}

#[test]
fn another_contract_is_named_with_both_versions() {
    let tool =
        |version: &str| component(&[(&format!("rewake:plugin/tool{version}"), &["list-tools", "call"])], &[]);
    check(
        &tool("@0.2.0"),
        PluginKind::Tool,
        "uses rewake:plugin/tool@0.2.0, a contract newer than 0.1.0, which is spoken here",
    );
    check(
        &tool("@0.1.1"),
        PluginKind::Tool,
        "uses rewake:plugin/tool@0.1.1, a contract newer than 0.1.0, which is spoken here",
    );
    check(
        &tool("@0.0.9"),
        PluginKind::Tool,
        "uses rewake:plugin/tool@0.0.9, a contract older than 0.1.0, which is spoken here",
    );
    check(&tool(""), PluginKind::Tool, "exports rewake:plugin/tool without a version");
}

#[test]
fn a_missing_function_is_named() {
    let tool = component(&[("rewake:plugin/tool@0.1.0", &["call"])], &[]);
    check(&tool, PluginKind::Tool, "exports rewake:plugin/tool@0.1.0 without `list-tools`");
    let state: &[(&str, &[&str])] =
        &[("rewake:plugin/harness@0.1.0", &["step"]), ("rewake:plugin/state@0.1.0", &["save"])];
    check(&component(state, &[]), PluginKind::Harness, "exports rewake:plugin/state@0.1.0 without `load`");
}

#[test]
fn imports_that_no_host_gives_are_named() {
    let tool = |import: &str| component(&[("rewake:plugin/tool@0.1.0", &["list-tools", "call"])], &[import]);
    check(
        &tool("rewake:plugin/model@0.1.0"),
        PluginKind::Tool,
        "imports `rewake:plugin/model@0.1.0`, which a tool does not get",
    );
    check(
        &tool("rewake:plugin/magic@0.1.0"),
        PluginKind::Tool,
        "imports `rewake:plugin/magic@0.1.0`, which a tool does not get",
    );
    check(
        &tool("rewake:plugin/log@0.3.0"),
        PluginKind::Tool,
        "uses rewake:plugin/log@0.3.0, a contract newer than 0.1.0, which is spoken here",
    );
    check(
        &tool("wasi:nn/graph@0.2.0"),
        PluginKind::Tool,
        "imports `wasi:nn/graph@0.2.0`, which no host provides",
    );
    check(
        &tool("wasi:cli/exit@0.3.0"),
        PluginKind::Tool,
        "imports `wasi:cli/exit@0.3.0`, which no host provides",
    );
    check(
        &tool("acme:db/query@1.0.0"),
        PluginKind::Tool,
        "imports `acme:db/query@1.0.0`, which no host provides",
    );
    check(&tool("plain"), PluginKind::Tool, "imports `plain`, which no host provides");
}
