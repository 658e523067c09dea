//! An import of a harness is in all places that wit/README.md lists: a default that traps would hide that one is
//! missing in the host, and no compiler sees that guests cannot call it.
//!
//! Knows WIT as the parser gives it, and the names of functions in Rust text.

use wit_parser::{PackageId, Resolve, WorldItem};

use crate::tree::Violation;

/// The document that lists the places.
pub(crate) const FILE: &str = "wit/README.md";
const WORLD: &str = "harness-plugin";
const BINDINGS: &str = "host/bindings/src/imports.rs";
const GLUE: &str = "sdk/guest/src/glue/import.rs";

/// Where a new import is written.
const PLACES: [&str; 6] = [
    "wit/v0.1.0/imports.wit",
    BINDINGS,
    "host/runtime/src/imports/",
    "sdk/guest/src/session.rs",
    GLUE,
    "sdk/guest/src/testing/fake/mod.rs",
];

/// The files of an interface that have a Rust function for each of its own; those of the SDK come last.
fn files(interface: &str) -> Option<(&'static str, &'static [&'static str])> {
    let of_session = &[PLACES[3], GLUE, PLACES[5]];
    Some(match interface {
        "model" => ("host/runtime/src/imports/model/mod.rs", of_session),
        "tools" => ("host/runtime/src/imports/tools.rs", of_session),
        "session" => ("host/runtime/src/imports/session.rs", of_session),
        "http" => ("host/runtime/src/imports/http.rs", &["sdk/guest/src/http.rs", GLUE]),
        "log" => ("host/runtime/src/imports/mod.rs", &["sdk/guest/src/log.rs", GLUE]),
        _ => return None,
    })
}

/// What the guest SDK calls a function.
fn name_in_the_sdk(interface: &str, function: &str) -> String {
    match (interface, function) {
        ("model", "complete") => "model".to_owned(),
        ("tools", "list_tools") => "tools".to_owned(),
        ("tools", "call") => "call_tools".to_owned(),
        _ => function.to_owned(),
    }
}

/// Every function that a harness imports, as interface and name.
pub(crate) fn functions(resolve: &Resolve, package: PackageId) -> Vec<(String, String)> {
    let world = &resolve.worlds[resolve.packages[package].worlds[WORLD]];
    let mut functions = Vec::new();
    for item in world.imports.values() {
        let WorldItem::Interface { id, .. } = item else { continue };
        let interface = &resolve.interfaces[*id];
        let name = interface.name.clone().unwrap_or_default();
        functions.extend(interface.functions.keys().map(|one| (name.clone(), one.replace('-', "_"))));
    }
    functions
}

/// The places in which a function is missing, and those that the document does not list.
pub(crate) fn missing(functions: &[(String, String)], read: &dyn Fn(&str) -> String) -> Vec<Violation> {
    let document = read(FILE);
    let unlisted = PLACES.iter().filter(|place| !document.contains(&format!("`{place}`")));
    let mut violations: Vec<Violation> =
        unlisted.map(|place| Violation::new(FILE, 1, format!("it does not list `{place}`"))).collect();
    for (interface, function) in functions {
        let Some((runtime, sdk)) = files(interface) else {
            let rule =
                format!("the interface `{interface}` is new: add its files to tests/tests/tidy/imports.rs");
            violations.push(Violation::new(PLACES[0], 1, rule));
            continue;
        };
        let rule =
            || format!("`{interface}.{function}` of the contract is not here; {FILE} lists the places");
        if !is_in_table(&read(BINDINGS), interface, function) {
            violations.push(Violation::new(BINDINGS, 1, rule()));
        }
        let in_sdk = name_in_the_sdk(interface, function);
        let files = [(runtime, function)].into_iter().chain(sdk.iter().map(|file| (*file, &in_sdk)));
        for (file, name) in files {
            if !read(file).contains(&format!("fn {name}(")) {
                violations.push(Violation::new(file, 1, rule()));
            }
        }
    }
    violations
}

/// Whether the bindings' table has a function.
fn is_in_table(bindings: &str, interface: &str, function: &str) -> bool {
    let after = bindings.split_once(&format!("\n    {interface}: "));
    let table = after.and_then(|(_, rest)| rest.split_once("\n    }"));
    table.is_some_and(|(table, _)| table.contains(&format!("\n        {function}(")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::assert_none;

    fn read(path: &str) -> String {
        match path {
            FILE => PLACES.map(|place| format!("`{place}`")).join(" "),
            BINDINGS => "\n    model: M {\n        rename(a: A) -> ();\n    }\n    session: S {\n        \
                         say() -> ();\n    }\n"
                .to_owned(),
            "host/runtime/src/imports/session.rs" => {
                "fn say(&mut self) {} fn rename(&mut self) {}".to_owned()
            }
            _ => "fn say(&self) {} fn renamed() {}".to_owned(),
        }
    }

    fn found(interface: &str, function: &str) -> Vec<Violation> {
        missing(&[(interface.to_owned(), function.to_owned())], &read)
    }

    #[test]
    fn a_function_that_is_everywhere_is_no_violation() {
        assert_none(found("session", "say"));
    }

    #[test]
    fn each_missing_place_is_named() {
        let found_of = found("session", "rename");
        let files: Vec<&str> = found_of.iter().map(|violation| violation.file.as_str()).collect();
        assert_eq!(files, [BINDINGS, PLACES[3], GLUE, PLACES[5]]);
        assert!(found_of.iter().all(|violation| violation.rule.contains("`session.rename`")), "{found_of:?}");
        let of_new = found("files", "open");
        assert!(of_new.len() == 1 && of_new[0].rule.contains("`files` is new"), "{of_new:?}");
        let without = missing(&[], &|_| "`host/bindings/src/imports.rs`".to_owned());
        assert!(without.len() == 5 && without.iter().all(|violation| violation.file == FILE), "{without:?}");
    }
}
