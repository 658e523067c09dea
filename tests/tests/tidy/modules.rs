//! Which module of a crate uses which, on the syntax tree: `use` and inline paths, each followed through re-exports to
//! the module that defines the item. Test code is left out.
//!
//! Knows one crate at a time, by its root file. A name that is defined nowhere in the text is taken for one that a macro
//! defines in the last module of its path.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItemFn, Item, Macro, UseTree, Visibility};

use crate::functions::is_test;
use crate::tree::Violation;

/// A path of names: of a module from its crate's root, or as it is written.
type Names = Vec<String>;

/// How often a path is followed through `use`: two of them that name each other would lead in a circle.
const FOLLOWED_MAX: u8 = 16;

/// The modules of one crate.
#[derive(Default)]
pub(crate) struct Crate {
    modules: BTreeMap<Names, Module>,
    /// Lines that are neither blank nor test code.
    pub(crate) lines: usize,
}

#[derive(Default)]
struct Module {
    /// Names that are defined here.
    items: BTreeSet<String>,
    /// Names that a `use` makes known here, and the paths that it gives for them.
    uses: BTreeMap<String, Names>,
    /// Paths before `::*`.
    globs: Vec<Names>,
    /// Every path that is written here.
    paths: BTreeSet<Names>,
}

impl Crate {
    /// Reads a crate from its root file on; `read` returns a file's text if there is one.
    pub(crate) fn read(root: &str, read: &dyn Fn(&str) -> Option<String>) -> Crate {
        let mut made = Crate::default();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        made.file(root, folder, Vec::new(), read);
        made
    }

    fn file(&mut self, path: &str, folder: &str, module: Names, read: &dyn Fn(&str) -> Option<String>) {
        let depth = module.len();
        let text = read(path).unwrap_or_default();
        // What is not Rust is the business of `functions`.
        let Ok(file) = syn::parse_file(&text) else { return };
        let mut reader = Reader { made: self, at: module, children: Vec::new(), tests: BTreeSet::new() };
        reader.made.modules.insert(reader.at.clone(), Module::default());
        reader.visit_file(&file);
        let Reader { children, tests, .. } = reader;
        let counts = |(line, number): &(&str, usize)| !line.trim().is_empty() && !tests.contains(number);
        self.lines += text.lines().zip(1..).filter(counts).count();
        for child in children {
            let folder = format!("{folder}/{}", child[depth..].join("/"));
            let file = [format!("{folder}.rs"), format!("{folder}/mod.rs")];
            if let Some(file) = file.iter().find(|file| read(file).is_some()) {
                self.file(file, &folder, child, read);
            }
        }
    }

    /// The top-level modules, and which others each of them uses.
    pub(crate) fn edges(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut edges: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (at, module) in &self.modules {
            let Some(top) = at.first() else { continue };
            let used = edges.entry(top).or_default();
            for path in &module.paths {
                let home = self.home(at, path, FOLLOWED_MAX);
                used.extend(
                    home.and_then(|home| home.first()).filter(|home| *home != top).map(String::as_str),
                );
            }
        }
        edges
    }

    /// The module that defines what a path names where it is written in the module `at`; none for other crates.
    fn home(&self, at: &[String], path: &[String], followed: u8) -> Option<&Names> {
        let followed = followed.checked_sub(1)?;
        let (start, names) = start(at, path)?;
        let is_ours = |index: usize| index > 0 || names.len() < path.len();
        let (mut at, mut module) = self.modules.get_key_value(start)?;
        for (index, name) in names.iter().enumerate() {
            if let Some((child, inner)) = self.modules.get_key_value(&joined(at, std::slice::from_ref(name)))
            {
                (at, module) = (child, inner);
                continue;
            }
            if module.items.contains(name) {
                return Some(at);
            }
            if let Some(used) = module.uses.get(name) {
                return self.home(at, &joined(used, &names[index + 1..]), followed);
            }
            let through = |glob: &Names| self.home(at, &joined(glob, &names[index..]), followed);
            return module.globs.iter().find_map(through).or(is_ours(index).then_some(at));
        }
        Some(at)
    }

    /// Groups of top-level modules that all reach each other, of more than one module, largest first.
    pub(crate) fn cycles(&self) -> Vec<Vec<&str>> {
        let edges = self.edges();
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            edges.keys().map(|from| (*from, reach(&edges, from))).collect();
        let mut cycles = BTreeSet::new();
        for (from, seen) in &reached {
            let back = |to: &&str| reached.get(to).is_some_and(|seen| seen.contains(from));
            let cycle: Vec<&str> = seen.iter().copied().filter(back).collect();
            if cycle.len() > 1 {
                cycles.insert(cycle);
            }
        }
        let mut cycles: Vec<Vec<&str>> = cycles.into_iter().collect();
        cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.len()));
        cycles
    }
}

/// What can be reached from a module.
fn reach<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        let used = edges.get(module).into_iter().flatten().copied();
        next.extend(used.filter(|module| seen.insert(*module)));
    }
    seen
}

/// The module where a path begins, and what is left of the path.
fn start<'a>(at: &'a [String], path: &'a [String]) -> Option<(&'a [String], &'a [String])> {
    let supers = path.iter().take_while(|name| *name == "super").count();
    match path.first()?.as_str() {
        "crate" => Some((&[], &path[1..])),
        "self" => Some((at, &path[1..])),
        _ => Some((&at[..at.len().checked_sub(supers)?], &path[supers..])),
    }
}

fn joined(before: &[String], after: &[String]) -> Names {
    [before, after].concat()
}

/// Fills in the module of one file, and those that are written within it.
struct Reader<'a> {
    made: &'a mut Crate,
    at: Names,
    /// Modules that are files of their own.
    children: Vec<Names>,
    /// Numbers of the lines of test code.
    tests: BTreeSet<usize>,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        self.made.modules.entry(self.at.clone()).or_default()
    }

    /// Whether this is test code; its lines do not count.
    fn skips(&mut self, attributes: &[Attribute], node: &impl Spanned) -> bool {
        let skips = is_test(attributes);
        if skips {
            self.tests.extend(node.span().start().line..=node.span().end().line);
        }
        skips
    }

    fn use_tree(&mut self, tree: &UseTree, before: &[String]) {
        let path = |name: &Ident| joined(before, &[name.to_string()]);
        let (path, known_as) = match tree {
            UseTree::Path(tree) => return self.use_tree(&tree.tree, &path(&tree.ident)),
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.use_tree(tree, before)),
            UseTree::Glob(_) => {
                self.module().globs.push(before.to_vec());
                self.module().paths.insert(before.to_vec());
                return;
            }
            UseTree::Name(name) if name.ident == "self" => (before.to_vec(), before.last().cloned()),
            UseTree::Name(name) => (path(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(name) if name.ident == "self" => (before.to_vec(), Some(name.rename.to_string())),
            UseTree::Rename(name) => (path(&name.ident), Some(name.rename.to_string())),
        };
        self.module().uses.extend(known_as.map(|name| (name, path.clone())));
        self.module().paths.insert(path);
    }

    /// Paths in what a macro is given, which is no syntax tree.
    fn tokens(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Names::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => colons += 1,
                TokenTree::Ident(name) if colons == 2 => {
                    path.push(name.to_string());
                    colons = 0;
                }
                token => {
                    self.module().paths.insert(std::mem::take(&mut path));
                    colons = 0;
                    match token {
                        TokenTree::Ident(name) => path.push(name.to_string()),
                        TokenTree::Group(group) => self.tokens(group.stream()),
                        _ => {}
                    }
                }
            }
        }
        self.module().paths.insert(path);
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = named(item);
        if self.skips(attributes, item) {
            return;
        }
        self.module().items.extend(name.map(ToString::to_string));
        match item {
            Item::Mod(inner) => {
                let child = joined(&self.at, &[inner.ident.to_string()]);
                if inner.content.is_none() {
                    return self.children.push(child);
                }
                let outer = std::mem::replace(&mut self.at, child);
                self.module();
                visit::visit_item_mod(self, inner);
                self.at = outer;
            }
            Item::Use(item) if item.leading_colon.is_none() => self.use_tree(&item.tree, &[]),
            item => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !self.skips(&item.attrs, item) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string());
            self.module().paths.insert(names.collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    /// Who may see an item is no use of another module.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

/// The attributes of an item, and the name that it defines.
pub(crate) fn named(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

/// Names a file for the table of [`table`]; set by `cargo xtask lines`.
pub(crate) const WRITE: &str = "REWAKE_LINES_WRITE";

/// Of each crate, which is a folder, its lines, the number of its top-level modules, and its largest cycle.
pub(crate) fn table(crates: &[(String, Crate)]) -> String {
    let mut table = format!("{:<24}{:>7}{:>9}  largest cycle\n", "crate", "lines", "modules");
    for (folder, made) in crates {
        let cycles = made.cycles();
        let cycle =
            cycles.first().map_or(String::new(), |cycle| format!("{}: {}", cycle.len(), cycle.join(", ")));
        let row = format!("{folder:<24}{:>7}{:>9}  {cycle}", made.lines, made.edges().len());
        table += row.trim_end();
        table.push('\n');
    }
    table
}

/// The rule: no group of top-level modules that all reach each other is larger.
const CYCLE_MAX: usize = 2;

/// Crates that may break it, and by which modules.
const LISTED: [(&str, &[&str]); 1] = [
    // The fold and its rules: the rules read the state, and the fold calls the rules. Taking them apart would make the
    // state's fields known to every module of the core.
    ("host/core", &["session", "decide", "recovery", "transitions"]),
];

/// What is wrong with the cycles of a crate, which is a folder.
pub(crate) fn tangled(folder: &str, cycles: &[Vec<&str>]) -> Vec<Violation> {
    let listed = LISTED.iter().find(|(name, _)| *name == folder).map(|(_, modules)| *modules);
    let is_listed =
        |cycle: &[&str]| listed.is_some_and(|listed| cycle.iter().all(|module| listed.contains(module)));
    let mut found = Vec::new();
    for cycle in cycles.iter().filter(|cycle| cycle.len() > CYCLE_MAX && !is_listed(cycle)) {
        let rule = format!(
            "{} modules depend on each other ({}), and at most {CYCLE_MAX} may: move what the lower one needs down",
            cycle.len(),
            cycle.join(", ")
        );
        found.push(Violation::new(folder, 1, rule));
    }
    let largest = cycles.first().map_or(0, Vec::len);
    if largest <= CYCLE_MAX && listed.is_some() {
        let rule = "it has no large cycle any more: remove it from LISTED in tests/tests/tidy/modules.rs";
        found.push(Violation::new(folder, 1, rule));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of these files, in the folder `a`.
    fn made(files: &[(&str, &str)]) -> Crate {
        let read = |path: &str| {
            let name = path.strip_prefix("a/src/")?;
            files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned())
        };
        Crate::read("a/src/lib.rs", &read)
    }

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let made = made(files);
        let shown = |(from, to): (&&str, &BTreeSet<&str>)| {
            to.iter().map(|to| format!("{from} {to}")).collect::<Vec<_>>()
        };
        made.edges().iter().flat_map(shown).collect()
    }

    #[test]
    fn a_module_uses_what_its_paths_name() {
        let lib = ("lib.rs", "mod a; mod b; mod c; mod d;");
        let (b, c) = (("b.rs", "pub struct B;"), ("c/mod.rs", "pub fn c() {} pub enum E { F }"));
        let d = ("d.rs", "pub mod e { pub struct G; }");
        for (text, used) in [
            ("use crate::b::B;", &["a b"][..]),
            ("use crate::{b::B as Other, c};", &["a b", "a c"]),
            ("use super::{c::{self, E}};", &["a c"]),
            ("use crate::b::*;", &["a b"]),
            ("fn f(b: &crate::b::B) { super::c::c(); }", &["a b", "a c"]),
            ("fn f() { println!(\"{}\", [crate::c::E::F]); }", &["a c"]),
            ("use crate::d; type T = d::e::G;", &["a d"]),
            ("mod inner { fn f() { super::super::c::c() } }", &["a c"]),
            ("use c::E; use std::b::B; fn f() { c::c() }", &[]),
            ("pub(in crate::b) fn f() {}", &[]),
            ("use crate::unknown;", &[]),
            ("#[cfg(test)] mod tests { use crate::b::B; }", &[]),
            ("#[cfg(any(test, feature = \"x\"))] use crate::b::B;", &[]),
            ("#[test] fn f() { crate::c::c(); }", &[]),
            ("struct A; impl A { #[cfg(test)] fn f() { crate::c::c(); } }", &[]),
            ("#[cfg(not(test))] use crate::b::B;", &["a b"]),
        ] {
            assert_eq!(edges(&[lib, ("a.rs", text), b, c, d]), used, "{text}");
        }
    }

    #[test]
    fn a_folder_is_one_module() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "pub mod x; pub struct A;"),
            ("a/x.rs", "use super::A; use crate::b::B; mod y;"),
            ("a/x/y.rs", "use super::super::A;"),
            ("b/mod.rs", "mod z; pub struct B;"),
            ("b/z.rs", "use crate::a::x;"),
        ];
        assert_eq!(edges(&files), ["a b", "b a"]);
        assert_eq!(made(&files).cycles(), [["a", "b"]]);
    }

    #[test]
    fn re_exports_are_followed_to_the_definition() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d; mod e; pub use b::B; pub use c::*;"),
            ("b.rs", "pub use crate::d::D; pub struct B;"),
            ("c.rs", "pub use crate::d::Renamed as C;"),
            ("d.rs", "pub struct D; pub struct Renamed; make! { struct Made; }"),
            ("e.rs", "pub use crate::e::Circle;"),
        ];
        for (text, used) in [
            ("use crate::B;", "a b"),
            ("use crate::b::D;", "a d"),
            ("use crate::C;", "a d"),
            ("use super::*; fn f(c: C) {}", "a d"),
            ("use super::*; fn f(c: C::Inner) {}", "a d"),
            ("use crate::d::Made;", "a d"),
            ("use crate::e::Circle;", ""),
        ] {
            let mut files = files.to_vec();
            files.push(("a.rs", text));
            let found = edges(&files).into_iter().find(|edge| edge.starts_with("a ")).unwrap_or_default();
            assert_eq!(found, used, "{text}");
        }
    }

    #[test]
    fn lines_are_counted_without_blanks_and_tests() {
        let lib = "//! Doc.\n\nmod a;\n\n/// Doc.\nfn f() {}\n\n/// Test.\n#[test]\nfn t() {\n}\n";
        let a = "struct A;\n#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod more {\n    fn f() {}\n}\n";
        let files =
            [("lib.rs", lib), ("a.rs", a), ("a/tests.rs", "fn f() {}\n"), ("b.rs", "fn unused() {}\n")];
        assert_eq!(made(&files).lines, 5);
    }

    #[test]
    fn the_table_has_a_row_for_each_crate() {
        let files = [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b;"), ("b.rs", "use crate::a;")];
        let table = table(&[("host/a".to_owned(), made(&files)), ("xtask".to_owned(), made(&[]))]);
        let rows: Vec<Vec<&str>> =
            table.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(rows, [vec!["host/a", "3", "2", "2:", "a,", "b"], vec!["xtask", "0", "0"]]);
    }

    #[test]
    fn large_cycles_are_told() {
        let check = |folder: &str, cycles: &[Vec<&str>]| tangled(folder, cycles).len();
        assert_eq!(check("host/new", &[]), 0);
        assert_eq!(check("host/new", &[vec!["a", "b"], vec!["c", "d"]]), 0);
        assert_eq!(check("host/new", &[vec!["a", "b", "c"], vec!["d", "e"]]), 1);
        let listed = LISTED[0].1.to_vec();
        assert_eq!(check("host/core", std::slice::from_ref(&listed)), 0);
        assert_eq!(check("host/core", &[[listed, vec!["entry"]].concat()]), 1);
        assert_eq!(check("host/core", &[vec!["a", "b", "c"]]), 1);
        assert_eq!(check("host/core", &[vec!["a", "b"]]), 1, "the list is out of date");
    }
}
