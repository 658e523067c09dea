//! The rule about the length of functions, on the syntax tree.
//!
//! Tests are free of it: a long test is one story. Functions made by macros are not seen.

use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ImplItemFn, ItemFn, ItemMod, Meta, Signature, Token, TraitItemFn};

use crate::tree::Violation;

/// From the line of `fn` to the line of its closing brace, both counted.
const FUNCTION_LINES_MAX: usize = 70;

pub(crate) fn length(path: &str, text: &str) -> Vec<Violation> {
    if is_test_file(path) {
        return Vec::new();
    }
    let file = match syn::parse_file(text) {
        Ok(file) => file,
        Err(error) => {
            let rule = format!("not understood as Rust ({error}): fix it, or teach tidy the syntax");
            return vec![Violation::new(path, error.span().start().line, rule)];
        }
    };
    let mut functions = Functions { path, found: Vec::new() };
    functions.visit_file(&file);
    functions.found
}

/// `tests.rs` beside a module, and what stands in a package's folder `tests`. The package that is
/// itself called `tests` holds ordinary code too.
pub(crate) fn is_test_file(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let file = parts.pop();
    file == Some("tests.rs") || parts.iter().skip(1).any(|&part| part == "tests")
}

struct Functions<'a> {
    path: &'a str,
    found: Vec<Violation>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &Signature, body: &Block) {
        let first = signature.span().start().line;
        let lines = body.span().end().line - first + 1;
        if lines > FUNCTION_LINES_MAX {
            let rule = format!(
                "`{}` has {lines} lines and may have {FUNCTION_LINES_MAX}: name its parts and call them",
                signature.ident
            );
            self.found.push(Violation::new(self.path, first, rule));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_test(&item.attrs) {
            self.measure(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            self.measure(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.measure(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }
}

/// `#[test]`, `#[tokio::test]` and their like, `#[cfg(test)]`, and what a feature opens to the tests of other crates:
/// `#[cfg(any(test, feature = "…"))]`.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let last = attribute.path().segments.last();
        last.is_some_and(|segment| segment.ident == "test") || is_cfg_test(&attribute.meta)
    })
}

fn is_cfg_test(meta: &Meta) -> bool {
    let condition = meta.require_list().ok().filter(|list| list.path.is_ident("cfg"));
    condition.and_then(|list| list.parse_args().ok()).is_some_and(|condition| names_test(&condition))
}

fn names_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if !list.path.is_ident("not") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|conditions| conditions.iter().any(names_test)),
        _ => false,
    }
}

/// A function of exactly so many lines.
#[cfg(test)]
fn function(name: &str, lines: usize) -> String {
    format!("fn {name}() {{\n{}}}\n", "\n".repeat(lines - 2))
}

#[test]
fn the_longest_function_passes_and_one_line_more_does_not() {
    assert_eq!(length("a.rs", &function("fits", FUNCTION_LINES_MAX)), []);
    let long = format!("//! Doc.\n\n/// Doc.\n#[inline]\npub {}", function("long", FUNCTION_LINES_MAX + 1));
    let found = length("a.rs", &long);
    assert_eq!((found.len(), found[0].line), (1, 5));
    assert!(found[0].rule.contains("`long` has 71 lines"), "{}", found[0].rule);
}

#[test]
fn functions_are_found_wherever_they_stand() {
    let long = function("long", FUNCTION_LINES_MAX + 1);
    for text in [
        format!("struct A;\nimpl A {{ {long} }}"),
        format!("trait A {{ {long} }}"),
        format!("mod a {{ {long} }}"),
        format!("#[cfg(not(test))] mod a {{ {long} }}"),
    ] {
        assert_eq!(length("a.rs", &text).len(), 1, "{text}");
    }
    let nested = format!("fn outer() {{ {long} }}");
    assert_eq!(length("a.rs", &nested).len(), 2, "the outer and the inner function");
}

#[test]
fn tests_may_be_long() {
    let long = function("long", FUNCTION_LINES_MAX + 1);
    for text in [
        format!("#[test] {long}"),
        format!("#[tokio::test] async {long}"),
        format!("#[cfg(test)] mod tests {{ {long} }}"),
        format!("#[cfg(all(test, unix))] mod tests {{ {long} }}"),
        format!("#[cfg(any(test, feature = \"doors\"))] mod doors {{ {long} }}"),
    ] {
        assert_eq!(length("a.rs", &text), [], "{text}");
    }
    for path in ["host/core/src/entry/tests.rs", "tests/tests/replay.rs", "host/store/tests/contract.rs"] {
        assert_eq!(length(path, &long), [], "{path}");
    }
    for path in ["tests/src/world.rs", "tests/guests/src/bin/echo.rs", "host/core/src/tests_of.rs"] {
        assert_eq!(length(path, &long).len(), 1, "{path}");
    }
}

#[test]
fn what_is_not_rust_is_told() {
    assert_eq!(length("a.rs", "fn a( {").len(), 1);
}
