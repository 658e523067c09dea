//! Tidy: the rules of this tree that the compiler does not check.
//!
//! Every check is a pure function from texts to violations, tested beside its definition on inputs
//! that keep and that break the rule; the tests in this file run the checks over the tree. They know
//! file names and manifests, and nothing of what the code does.

mod behaviour;
mod dependencies;
mod examples;
mod functions;
mod golden;
mod imports;
mod links;
mod manifests;
mod modules;
mod purity;
mod readme;
mod shapes;
mod text;
mod tree;
mod wit;
mod words;

use tree::{Tree, assert_none};

#[test]
fn dependencies_point_one_way() {
    assert_none(dependencies::edges(&dependencies::workspace_crates()));
}

#[test]
fn heavy_crates_stand_in_their_own_manifests_only() {
    assert_none(dependencies::confined(&dependencies::workspace_crates()));
}

#[test]
fn the_innermost_crates_depend_on_nothing_new() {
    assert_none(dependencies::listed(&dependencies::workspace_crates()));
}

#[test]
fn every_crate_inherits_from_the_workspace() {
    let tree = Tree::read();
    let crates = dependencies::workspace_crates();
    assert_none(
        crates.iter().flat_map(|member| manifests::inherits(&member.manifest, &tree.text(&member.manifest))),
    );
}

#[test]
fn the_core_is_kept_from_io_clock_and_chance() {
    assert_none(purity::bans(purity::CONFIG, &Tree::read().text(purity::CONFIG)));
}

#[test]
fn every_rust_file_says_what_it_knows() {
    assert_none(Tree::read().each(&["rs"], text::module_doc));
}

#[test]
fn files_are_pages() {
    assert_none(Tree::read().each(&["rs"], text::length));
}

#[test]
fn functions_fit_a_screen() {
    assert_none(Tree::read().each(&["rs"], functions::length));
}

#[test]
fn modules_depend_on_each_other_in_no_large_cycle() {
    let (crates, root) = (dependencies::workspace_crates(), tree::root());
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let roots = crates.iter().filter_map(|member| {
        let folder = member.manifest.strip_suffix("/Cargo.toml")?;
        let files = ["src/lib.rs", "src/main.rs"].map(|file| format!("{folder}/{file}"));
        Some((folder.to_owned(), files.into_iter().find(|file| root.join(file).is_file())?))
    });
    let crates: Vec<_> = roots.map(|(folder, root)| (folder, modules::Crate::read(&root, &read))).collect();
    if let Some(path) = std::env::var_os(modules::WRITE) {
        std::fs::write(path, modules::table(&crates)).expect("the table can be written");
    }
    let host = crates.iter().filter(|(folder, _)| folder.starts_with("host/"));
    assert_none(host.flat_map(|(folder, made)| modules::tangled(folder, &made.cycles())));
}

#[test]
fn lines_hold_no_tab_and_no_trailing_space() {
    assert_none(Tree::read().each(&["rs", "toml", "md"], text::whitespace));
}

#[test]
fn nothing_is_left_unfinished() {
    assert_none(Tree::read().each(&["rs", "toml", "md", "wit"], text::unfinished));
}

#[test]
fn git_tracks_no_built_file() {
    assert_none(text::built(&Tree::read().tracked));
}

#[test]
fn the_readme_starts_with_the_two_commands() {
    assert_none(readme::first_commands(readme::FILE, &Tree::read().text(readme::FILE)));
}

#[test]
fn examples_are_small_and_tested() {
    let tree = Tree::read();
    let of_examples = tree.present.iter().filter(|path| path.starts_with("examples/"));
    let files: Vec<(&str, String)> = of_examples.map(|path| (path.as_str(), tree.text(path))).collect();
    assert_none(examples::small(&files));
}

#[test]
fn documents_use_the_words_of_the_field() {
    let tree = Tree::read();
    let documents = tree.present.iter().filter(|path| tree::has_extension(path, "md"));
    let documents = documents.filter(|path| !path.starts_with("host/adr/"));
    assert_none(documents.flat_map(|path| words::in_prose(path, &tree.text(path))));
}

#[test]
fn texts_and_comments_use_them_more_and_more() {
    let tree = Tree::read();
    let crates = dependencies::workspace_crates();
    let folders = crates.iter().filter_map(|member| member.manifest.strip_suffix("/Cargo.toml"));
    let mut counted: words::Counted = folders.map(|folder| (folder.to_owned(), Vec::new())).collect();
    for path in tree.present.iter().filter(|path| tree::has_extension(path, "rs")) {
        let is_in = |folder: &&String| path.strip_prefix(*folder).is_some_and(|rest| rest.starts_with('/'));
        let folder = counted.keys().filter(is_in).max_by_key(|folder| folder.len()).cloned();
        let found = words::in_rust(path, &tree.text(path));
        counted.entry(folder.unwrap_or_default()).or_default().extend(found);
    }
    if std::env::var_os(words::UPDATE).is_some() {
        let table = words::updated(&tree.text(words::TABLE), &counted);
        std::fs::write(tree::root().join(words::TABLE), table).expect("the table can be written");
    }
    assert_none(words::kept(&tree.text(words::TABLE), &counted));
}

#[test]
fn links_between_documents_lead_somewhere() {
    let tree = Tree::read();
    let documents = tree.present.iter().filter(|path| tree::has_extension(path, "md"));
    let documents = documents.map(|path| (path.as_str(), tree.text(path))).collect();
    assert_none(links::dead(&documents, |path| tree::root().join(path).exists()));
}

#[test]
fn behaviour_rows_are_listed_with_the_tests_that_name_them() {
    let tree = Tree::read();
    let sources = tree.present.iter().filter(|path| tree::has_extension(path, "rs"));
    let tests: Vec<_> = sources
        .filter(|path| !path.starts_with("tests/tests/tidy/"))
        .flat_map(|path| behaviour::tests(path, &tree.text(path)))
        .collect();
    assert_none(behaviour::agree(&tree.text(behaviour::FILE), &tests));
}

#[test]
fn the_reference_is_what_the_contract_says() {
    let made = wit::of_the_tree(&tree::root());
    if std::env::var_os(wit::WRITE).is_some() {
        std::fs::write(tree::root().join(wit::FILE), &made).expect("the reference can be written");
    }
    assert_none(wit::fresh(&Tree::read().text(wit::FILE), &made));
}

#[test]
fn imports_of_a_harness_are_in_every_place() {
    let tree = Tree::read();
    let (resolve, package) = wit::parsed(&tree::root());
    assert_none(imports::missing(&imports::functions(&resolve, package), &|path| tree.text(path)));
}

#[test]
fn golden_files_are_as_listed() {
    let tree = Tree::read();
    let files: Vec<String> = tree.present.iter().filter(|path| golden::is_golden(path)).cloned().collect();
    let read = |path: &str| std::fs::read(tree::root().join(path)).ok();
    let made = golden::list(&files, read);
    if std::env::var_os(golden::UPDATE).is_some() {
        std::fs::write(tree::root().join(golden::LIST), &made).expect("the list can be written");
    }
    assert!(
        golden::ELSEWHERE.iter().all(|path| files.iter().any(|file| file == path)),
        "a golden file is gone"
    );
    assert_none(golden::unlisted(&tree.text(golden::LIST), &made));
}

#[test]
fn every_variant_and_field_of_an_entry_stands_in_a_golden_payload() {
    let tree = Tree::read();
    let held = shapes::held(&tree.text(golden::ELSEWHERE[0]));
    let declared = shapes::SOURCES
        .iter()
        .flat_map(|path| shapes::declared(&tree.text(path)).into_iter().map(move |one| (*path, one)));
    let lacks = declared.filter(|(_, one)| !held.contains(one));
    assert_none(lacks.map(|(path, (of, name))| {
        let rule = format!("no golden payload has `{name}` of `{of}`: add one to `{}`", golden::ELSEWHERE[0]);
        tree::Violation::new(path, 1, rule)
    }));
}
