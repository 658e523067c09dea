//! Which tests pass, and how failures are told.

use std::fs;
use std::path::Path;

use rewake_sdk::prelude::*;

use super::run_below;

fn run(files: &[(&str, &str)], path: &str) -> Result<String, ToolError> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    run_below(folder.path(), path)
}

const GOOD: &str = "from test import assert\n@test good = || assert true\n";

#[test]
fn the_project_has_one_bug_in_each_of_two_files() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/project");
    let text = run_below(&project, ".").expect("a report");
    assert!(text.starts_with("2 of 6 tests failed (2 files)\n"), "{text}");
    for words in [
        "FAILED cart_test.koto: more_of_a_thing_is_one_line\n",
        "FAILED prices_test.koto: ten_are_cheaper\n       assertion failed, '1000' is not equal to '900'",
        "--- prices_test.koto - 8:3",
        "ok     prices_test.koto: few_cost_their_price",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[test]
fn the_project_is_whole_once_both_are_mended() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/project");
    let read = |name: &str| fs::read_to_string(project.join(name)).expect("a file");
    let prices = read("prices.koto").replace("count > 10", "count >= 10");
    let others = "    cart.keep(|line| line.name != name).to_list()";
    let cart = read("cart.koto")
        .replace(others, &format!("{others} + [{{name, price, count: known.count + count}}]"));
    let (cart_test, prices_test) = (read("cart_test.koto"), read("prices_test.koto"));
    let files = [
        ("prices.koto", prices.as_str()),
        ("cart.koto", &cart),
        ("cart_test.koto", &cart_test),
        ("prices_test.koto", &prices_test),
    ];
    let text = run(&files, ".").expect("a report");
    assert!(text.starts_with("all 6 tests passed (2 files)\n"), "{text}");
}

#[test]
fn a_path_chooses_what_is_run() {
    let files =
        [("a_test.koto", GOOD), ("deep/b_test.koto", GOOD), (".hidden/c_test.koto", "no ("), ("d.koto", "x")];
    assert!(run(&files, ".").is_ok_and(|text| text.starts_with("all 2 tests passed (2 files)")));
    assert!(run(&files, "deep").is_ok_and(|text| text.ends_with("ok     deep/b_test.koto: good")));
    assert!(run(&files, "a_test.koto").is_ok_and(|text| text.starts_with("all 1 tests")));
    for (path, words) in [("../x", "leads out"), ("none", "there is no `none`"), (".hidden/x", "there is no")]
    {
        let error = run(&files, path).expect_err(path);
        assert!(error.message().contains(words), "{error}");
    }
    assert!(run(&[("a.koto", "")], ".").is_err_and(|error| error.message().contains("no file *_test.koto")));
}

#[test]
fn what_is_wrong_with_a_file_is_told_and_the_others_run() {
    let files = [
        ("a_test.koto", "@test broken = || (\n"),
        ("b_test.koto", "throw 'at once'\n"),
        ("c_test.koto", "x = 1\n"),
        ("d_test.koto", "import nowhere\n"),
        ("e_test.koto", GOOD),
    ];
    let text = run(&files, ".").expect("a report");
    assert!(text.starts_with("4 of 5 tests failed (5 files)"), "{text}");
    for words in [
        "a_test.koto - 1:19",
        "b_test.koto - 1:1",
        "no function marked `@test`",
        "nowhere",
        "ok     e_test.koto: good",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
}

#[test]
fn tests_that_never_end_are_ended() {
    let text = run(&[("a_test.koto", "@test ever = ||\n  loop\n    null\n")], ".").expect("a report");
    assert!(text.contains("FAILED a_test.koto: ever") && text.contains("timed out"), "{text}");
}

#[test]
fn what_comes_before_each_test_runs_and_files_are_out_of_reach() {
    let text = "@pre_test = || throw 'before each'\n@test a = || null\n@test b = || null\n";
    let told = run(&[("a_test.koto", text)], ".").expect("a report");
    assert_eq!(told.matches("before each (while").count(), 2, "{told}");
    let told = run(&[("a_test.koto", "@test a = || io.create 'x'\n@test b = || os.name()\n")], ".")
        .expect("a report");
    assert!(told.starts_with("2 of 2 tests failed") && told.contains("io"), "{told}");
}
