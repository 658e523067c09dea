//! docs/wit.md is the contract as a reference: written from `wit/v0.1.0`, and compared with it.
//!
//! Knows WIT as the parser gives it. `cargo xtask docs` has it write the file instead of comparing.

use std::fmt::Write as _;
use std::path::Path;

use wit_parser::{
    Docs, Function, Interface, InterfaceId, PackageId, Resolve, Type, TypeDef, TypeDefKind, TypeOwner, World,
    WorldItem,
};

use crate::tree::Violation;

pub(crate) const FILE: &str = "docs/wit.md";
const SOURCE: &str = "wit/v0.1.0";
/// Set by `cargo xtask docs`.
pub(crate) const WRITE: &str = "REWAKE_DOCS_WRITE";

/// The reference as the contract makes it.
pub(crate) fn of_the_tree(root: &Path) -> String {
    let (resolve, package) = parsed(root);
    reference(&resolve, &resolve.packages[package])
}

/// The contract.
pub(crate) fn parsed(root: &Path) -> (Resolve, PackageId) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(root.join(SOURCE)).expect("the contract is well-formed");
    (resolve, package)
}

pub(crate) fn fresh(written: &str, made: &str) -> Vec<Violation> {
    let differing = written.lines().zip(made.lines()).take_while(|(a, b)| a == b).count();
    let rule = format!("it is not what {SOURCE} says: run `cargo xtask docs`");
    if written == made { Vec::new() } else { vec![Violation::new(FILE, differing + 1, rule)] }
}

fn reference(resolve: &Resolve, package: &wit_parser::Package) -> String {
    let mut out = format!(
        "# The plugin contract: {}\n\nGenerated from `{SOURCE}` by `cargo xtask docs`. [wit/README.md](../wit/README.md) \
         has the explanations, the fields of\nhook events and the rules for versions. Authors who write Rust use the \
         SDK instead ([authors.md](authors.md)).\n\n## Worlds\n\nA component targets one of these.\n\n| world | imports | exports |\n|---|---|---|\n",
        package.name
    );
    for (name, world) in &package.worlds {
        let world = &resolve.worlds[*world];
        let _ = writeln!(
            out,
            "| `{name}` | {} | {} |",
            items(resolve, world, false),
            items(resolve, world, true)
        );
    }
    for id in in_order(resolve, package) {
        let interface = &resolve.interfaces[id];
        let name = interface.name.as_deref().unwrap_or("?");
        let _ = write!(out, "\n## Interface `{name}`\n");
        if let Some(docs) = paragraph(&interface.docs) {
            let _ = write!(out, "\n{docs}\n");
        }
        functions(&mut out, resolve, interface);
        for (name, id) in &interface.types {
            let def = &resolve.types[*id];
            // What is used from another interface is explained there.
            if !matches!(def.kind, TypeDefKind::Type(Type::Id(other)) if resolve.types[other].owner != def.owner)
            {
                type_def(&mut out, resolve, name, def);
            }
        }
    }
    out
}

/// What components export first, then what they import, each as the worlds name it, then what is left. Files
/// are read in no order.
fn in_order(resolve: &Resolve, package: &wit_parser::Package) -> Vec<InterfaceId> {
    let worlds = || package.worlds.values().map(|world| &resolve.worlds[*world]);
    let exports = worlds().flat_map(|world| world.exports.values());
    let imports = worlds().flat_map(|world| world.imports.values());
    let named = exports.chain(imports).filter_map(|item| match item {
        WorldItem::Interface { id, .. } => Some(*id),
        WorldItem::Function(_) | WorldItem::Type { .. } => None,
    });
    let with_functions = named.filter(|id| !resolve.interfaces[*id].functions.is_empty());
    let mut order: Vec<InterfaceId> = Vec::new();
    for id in with_functions.chain(package.interfaces.values().copied()) {
        if !order.contains(&id) {
            order.push(id);
        }
    }
    order
}

/// The interfaces that a world imports or exports; without those that only bring types.
fn items(resolve: &Resolve, world: &World, exported: bool) -> String {
    let items = if exported { &world.exports } else { &world.imports };
    let names = items.values().filter_map(|item| match item {
        WorldItem::Interface { id, .. } => {
            let interface = &resolve.interfaces[*id];
            (!interface.functions.is_empty())
                .then(|| format!("`{}`", interface.name.as_deref().unwrap_or("?")))
        }
        WorldItem::Function(function) => Some(format!("`{}`", function.name)),
        WorldItem::Type { .. } => None,
    });
    names.collect::<Vec<_>>().join(", ")
}

fn functions(out: &mut String, resolve: &Resolve, interface: &Interface) {
    if interface.functions.is_empty() {
        return;
    }
    out.push_str("\n| function | |\n|---|---|\n");
    for function in interface.functions.values() {
        let docs = paragraph(&function.docs).unwrap_or_default();
        let _ = writeln!(out, "| `{}` | {docs} |", signature(resolve, function));
    }
}

fn signature(resolve: &Resolve, function: &Function) -> String {
    let params =
        function.params.iter().map(|param| format!("{}: {}", param.name, type_name(resolve, &param.ty)));
    let result = function.result.map(|result| format!(" -> {}", type_name(resolve, &result)));
    format!("{}({}){}", function.name, params.collect::<Vec<_>>().join(", "), result.unwrap_or_default())
}

fn type_def(out: &mut String, resolve: &Resolve, name: &str, def: &TypeDef) {
    let _ = write!(out, "\n### {} `{name}`\n", def.kind.as_str());
    if let Some(docs) = paragraph(&def.docs) {
        let _ = write!(out, "\n{docs}\n");
    }
    let rows: Vec<(&str, Option<String>, &Docs)> = match &def.kind {
        TypeDefKind::Record(record) => {
            let row = |field: &wit_parser::Field| Some(type_name(resolve, &field.ty));
            record.fields.iter().map(|field| (field.name.as_str(), row(field), &field.docs)).collect()
        }
        TypeDefKind::Variant(variant) => {
            let row = |case: &wit_parser::Case| case.ty.map(|ty| type_name(resolve, &ty));
            variant.cases.iter().map(|case| (case.name.as_str(), row(case), &case.docs)).collect()
        }
        TypeDefKind::Enum(cases) => {
            cases.cases.iter().map(|case| (case.name.as_str(), None, &case.docs)).collect()
        }
        TypeDefKind::Type(other) => {
            let _ = write!(out, "\nIt is `{}`.\n", type_name(resolve, other));
            return;
        }
        other => panic!("the reference has no form for `{name}`, a {}: add one here", other.as_str()),
    };
    let head = if matches!(def.kind, TypeDefKind::Record(_)) { "field" } else { "case" };
    let has_types = rows.iter().any(|(_, ty, _)| ty.is_some());
    out.push_str(&if has_types {
        format!("\n| {head} | type | |\n|---|---|---|\n")
    } else {
        format!("\n| {head} | |\n|---|---|\n")
    });
    for (name, ty, docs) in rows {
        let docs = paragraph(docs).unwrap_or_default();
        let ty = ty.map(|ty| format!("`{ty}`")).unwrap_or_default();
        let _ = if has_types {
            writeln!(out, "| `{name}` | {ty} | {docs} |")
        } else {
            writeln!(out, "| `{name}` | {docs} |")
        };
    }
}

fn type_name(resolve: &Resolve, ty: &Type) -> String {
    let inner = |ty: &Type| type_name(resolve, ty);
    let optional = |ty: &Option<Type>| ty.as_ref().map_or("_".to_owned(), inner);
    let Type::Id(id) = ty else {
        return format!("{ty:?}").to_lowercase();
    };
    let def = &resolve.types[*id];
    if let (Some(name), TypeOwner::Interface(_)) = (&def.name, def.owner) {
        return name.clone();
    }
    match &def.kind {
        TypeDefKind::Option(ty) => format!("option<{}>", inner(ty)),
        TypeDefKind::List(ty) => format!("list<{}>", inner(ty)),
        TypeDefKind::Result(result) => match (&result.ok, &result.err) {
            (ok, Some(err)) => format!("result<{}, {}>", optional(ok), inner(err)),
            (Some(ok), None) => format!("result<{}>", inner(ok)),
            (None, None) => "result".to_owned(),
        },
        TypeDefKind::Tuple(tuple) => {
            format!("tuple<{}>", tuple.types.iter().map(inner).collect::<Vec<_>>().join(", "))
        }
        other => panic!("the reference has no form for a {} without a name: add one here", other.as_str()),
    }
}

/// A doc comment as one line of Markdown.
fn paragraph(docs: &Docs) -> Option<String> {
    let text = docs.contents.as_deref()?.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| text.replace('|', "\\|"))
}

#[test]
fn everything_of_a_contract_is_told() {
    let mut resolve = Resolve::default();
    let text = "package a:b@1.0.0;
        interface shapes { type id = string; }
        /// Does
        /// things.
        interface doing {
          use shapes.{id};
          /// Two | fields.
          record both { /// First.
            one: option<list<u8>>, two: tuple<id, bool> }
          variant kind { none, some(both) }
          enum colour { red, /// As the sea.
            blue }
          /// Does it.
          do-it: func(what: id) -> result<_, kind>;
        }
        world w { import doing; export run: func(); }";
    let package = resolve.push_str("a.wit", text).expect("well-formed");
    let made = reference(&resolve, &resolve.packages[package]);
    for line in [
        "# The plugin contract: a:b@1.0.0",
        "| `w` | `doing` | `run` |",
        "Does things.",
        "| `do-it(what: id) -> result<_, kind>` | Does it. |",
        "It is `string`.",
        "Two \\| fields.",
        "| `one` | `option<list<u8>>` | First. |",
        "| `two` | `tuple<id, bool>` |  |",
        "| `some` | `both` |  |",
        "| `blue` | As the sea. |",
    ] {
        assert!(made.lines().any(|found| found == line), "{line:?} is not in:\n{made}");
    }
    assert_eq!(made.matches("`id`").count(), 1, "a type is told where it is defined:\n{made}");
}

#[test]
fn a_stale_reference_is_told_at_its_first_wrong_line() {
    assert_eq!(fresh("a\nb\n", "a\nb\n"), []);
    assert_eq!(fresh("a\nb\n", "a\nc\n")[0].line, 2);
    assert_eq!(fresh("", "a\n")[0].line, 1);
}
