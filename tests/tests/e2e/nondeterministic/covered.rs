//! Every function of the contract, and every method by which a harness's calls come to the host, is in one of the
//! tables: a new one needs a row there that shows how a mismatch in it is reported.

use std::collections::BTreeSet;

use rewake_tests::bundles::root;
use wit_parser::{Resolve, WorldItem};

use super::{counted, rows};

/// Methods without a row, and why.
const EXEMPT: [(&str, &str); 3] = [
    ("file_settled", "told of tools and hooks alone: no replay makes their calls again"),
    ("insecure_seed", "Rust seeds its hash maps with it; counted as `random`, as the others are"),
    (
        "observe_sleep_until",
        "no guest here sleeps until an instant; its comparison is that of `observe_sleep`",
    ),
];

/// The name of the host's method for a function of the contract.
fn method(interface: &str, function: &str) -> String {
    match (interface, function) {
        ("tools", "list-tools") => "tools_list".to_owned(),
        ("log", "log") => "log".to_owned(),
        _ => format!("{interface}_{function}").replace('-', "_"),
    }
}

/// The functions that a harness imports by the contract.
fn of_the_contract() -> BTreeSet<String> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(root().join("wit/v0.1.0")).expect("the contract");
    let world = resolve.packages[package].worlds["harness-plugin"];
    let imports = resolve.worlds[world].imports.values().filter_map(|item| match item {
        WorldItem::Interface { id, .. } => Some(&resolve.interfaces[*id]),
        _ => None,
    });
    let named = imports.flat_map(|interface| {
        let name = interface.name.clone().expect("a named interface");
        interface.functions.keys().map(move |function| method(&name, function)).collect::<Vec<_>>()
    });
    named.collect()
}

/// What a harness can call of the host: the contract's functions, and WASI's.
fn of_the_host() -> BTreeSet<String> {
    let path = "host/wasi/src/host.rs";
    let text = std::fs::read_to_string(root().join(path)).expect("the trait's file");
    let items = syn::parse_file(&text).expect("Rust").items;
    let wasi = items.into_iter().find_map(|item| match item {
        syn::Item::Trait(found) if found.ident == "WasiHost" => Some(found.items),
        _ => None,
    });
    let names = wasi.expect("the trait `WasiHost`").into_iter().filter_map(|item| match item {
        syn::TraitItem::Fn(method) => Some(method.sig.ident.to_string()),
        _ => None,
    });
    of_the_contract().into_iter().chain(names).collect()
}

#[test]
fn every_host_function_has_a_row() {
    let rows = rows::all("http://127.0.0.1:1");
    let covered: BTreeSet<&str> = (rows.iter().flat_map(|row| row.covers).copied())
        .chain(counted::COUNTED.map(|(method, _)| method))
        .chain(EXEMPT.map(|(method, _)| method))
        .collect();
    let host = of_the_host();
    assert!(of_the_contract().len() > 12 && host.len() > 20, "{host:?}");
    let missing: Vec<&String> = host.iter().filter(|method| !covered.contains(method.as_str())).collect();
    assert!(missing.is_empty(), "no mismatch of {missing:?} is tested: add a row to rows.rs or counted.rs");
    let gone: Vec<&&str> = covered.iter().filter(|method| !host.contains(**method)).collect();
    assert!(gone.is_empty(), "the host has no {gone:?} any more");
}
