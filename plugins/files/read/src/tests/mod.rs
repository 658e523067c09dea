//! Looking, in a directory of each test's own.

mod find;
mod list;
mod read;
mod search;

use std::fs;

use rewake_sdk::testing;
use tempfile::TempDir;

use super::*;

fn workspace(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().expect("a directory");
    for (name, text) in files {
        put(&dir, name, text.as_bytes());
    }
    dir
}

fn put(dir: &TempDir, name: &str, bytes: &[u8]) {
    let path = dir.path().join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, bytes).expect("a file");
}

#[test]
fn a_directory_of_thousands_is_shown_in_part_and_searched_whole() {
    let dir = workspace(&[("top.txt", "")]);
    for number in 0..5000 {
        put(&dir, &format!("many/{number:04}.txt"), format!("number {number}\n").as_bytes());
    }
    list::check_crowd(&dir);
    find::check_crowd(&dir);
    search::check_crowd(&dir);
}

/// The message of what must be a mistake of the model.
fn invalid<T: std::fmt::Debug>(answer: Result<T, ToolError>) -> String {
    match answer {
        Err(ToolError::InvalidInput(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn models_are_told_what_the_tools_take() {
    let tools = [
        testing::tool_def::<read_file>(),
        testing::tool_def::<list_files>(),
        testing::tool_def::<glob>(),
        testing::tool_def::<grep>(),
    ];
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["read_file", "list_files", "glob", "grep"]);
    for tool in &tools {
        assert_eq!(tool.effect, Effect::Pure);
        assert!(!tool.input_schema.as_str().contains("$ref"), "{}", tool.input_schema);
    }
    assert!(tools[0].input_schema.as_str().contains("A text file, relative to the workspace."));
    assert!(tools[3].input_schema.as_str().contains(r#""lines""#), "{}", tools[3].input_schema);
}
