//! Tests of bundles, and the small components and manifests that they share.

mod asks;
mod component;
mod document;
mod fuzzing;
mod gather;
mod load;
mod lock;
mod manifest;
mod matcher;
mod names;
mod pack;
mod set;
mod tools;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;

use super::PluginKind;
use rewake_toml::Error;

/// A manifest's first lines; tables can follow.
const HEAD: &str = "schema = 1\n[bundle]\nname = \"acme/word-tools\"\nversion = \"0.1.0\"\napi = \"0.1\"\n";

/// A component that exports these interfaces, each with functions that do nothing, and imports
/// these instances.
fn component(exports: &[(&str, &[&str])], imports: &[&str]) -> Vec<u8> {
    let imports: String = imports.iter().map(|name| format!("(import \"{name}\" (instance))\n")).collect();
    let exports: String = exports
        .iter()
        .enumerate()
        .map(|(index, (name, functions))| {
            let functions: String =
                functions.iter().map(|function| format!("(export \"{function}\" (func $f))")).collect();
            format!("(instance $i{index} {functions})\n(export \"{name}\" (instance $i{index}))\n")
        })
        .collect();
    let text = format!(
        "(component {imports}
            (core module $m (func (export \"f\")))
            (core instance $c (instantiate $m))
            (func $f (canon lift (core func $c \"f\")))
            {exports})"
    );
    wat::parse_str(text).expect("the test's own component is well-formed")
}

/// A component of this kind, with what the Rust toolchain makes it import.
fn plugin(kind: PluginKind) -> Vec<u8> {
    let imports = ["wasi:io/streams@0.2.6", "wasi:cli/environment@0.2.6", "rewake:plugin/log@0.1.0"];
    match kind {
        PluginKind::Tool => component(&[("rewake:plugin/tool@0.1.0", &["list-tools", "call"])], &imports),
        PluginKind::Hook => component(&[("rewake:plugin/hook@0.1.0", &["handle"])], &imports),
        PluginKind::Harness => component(
            &[("rewake:plugin/harness@0.1.0", &["step"]), ("rewake:plugin/state@0.1.0", &["save", "load"])],
            &imports,
        ),
    }
}

/// A bundle's files in memory.
fn files(files: &[(&str, &[u8])]) -> BTreeMap<String, Bytes> {
    files.iter().map(|(path, bytes)| ((*path).to_owned(), Bytes::copy_from_slice(bytes))).collect()
}

/// Writes files below a folder.
fn write(dir: &Path, files: &[(&str, &[u8])]) {
    for (path, bytes) in files {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
        std::fs::write(path, bytes).expect("the file can be written");
    }
}

/// Each problem as `line:column message | help`, in order.
fn lines(error: &Error) -> Vec<String> {
    let line = |problem: &rewake_toml::Problem| {
        let place = match &problem.place {
            Some(place) => format!("{}:{}", place.line, place.column),
            None => "-".to_owned(),
        };
        let help = problem.help.as_deref().unwrap_or("-");
        format!("{place} {} | {help}", problem.message)
    };
    error.problems().iter().map(line).collect()
}
