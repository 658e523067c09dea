//! States that were saved (`tests/golden/states`, a line each) are loaded, and nothing of them is lost. A field that
//! vanishes, or that is read as something else, needs a new version of the state.

use std::{fs, path::PathBuf};

use rewake_sdk::{
    harness::{Saved, load, save},
    prelude::*,
    testing::{self, Fake},
};
use serde_json::{Value, json};

use super::{laws, projects::Folder};
use crate::Assistant;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/states"))
}

/// States of this version: of a project with tools, and of made-up journals.
fn states() -> Vec<Value> {
    let folder = Folder::new("golden");
    folder.write("AGENTS.md", "Use tabs.");
    let host = Fake::new().tool("read", "a text").reply_use("read", json!({ "path": "a" })).reply("ok");
    let mut assistant = Assistant::default();
    host.turn(&mut assistant, testing::input("go")).expect("a turn");
    let mut states = vec![json!(assistant)];
    // The file's time is the only part that differs each time.
    if let Some(stamp) = states[0].pointer_mut("/stamp/modified_ms") {
        *stamp = json!(1_796_009_766_662_u64);
    }
    states.extend(laws::contexts(0..12).into_iter().map(|context| json!(Assistant { context, stamp: None })));
    states
}

/// A20: a state of an earlier version loads, and a state of this version is written as before.
#[test]
fn what_was_saved_is_taken_and_kept() {
    let newest = folder().join(format!("assistant-{}.txt", Assistant::STATE_VERSION));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let lines: String = states().iter().map(|state| format!("{state}\n")).collect();
        fs::write(&newest, lines).expect("written");
    }
    assert!(
        newest.exists(),
        "no state of version {} is kept: run `cargo xtask golden`",
        Assistant::STATE_VERSION
    );
    for version in 3..=Assistant::STATE_VERSION {
        let text = fs::read_to_string(folder().join(format!("assistant-{version}.txt"))).expect("states");
        assert!(text.lines().count() > 4);
        for line in text.lines() {
            let loaded: Assistant = load(&Saved { version, data: line.into() }).expect("an earlier state");
            if version == Assistant::STATE_VERSION {
                let again: Value = serde_json::from_slice(&save(&loaded).data).expect("JSON");
                let before: Value = serde_json::from_str(line).expect("JSON");
                assert!(holds(&again, &before), "it says {before}\nand is read as {again}");
            }
        }
    }
    for version in 1..3 {
        let early = load::<Assistant>(&Saved { version, data: b"[]".to_vec() }).expect("an early version's");
        assert_eq!(early.context, Assistant::default().context);
    }
}

/// Whether all that a state has is in another one. Fields may come to it.
fn holds(now: &Value, before: &Value) -> bool {
    match (now, before) {
        (Value::Object(now), Value::Object(before)) => {
            before.iter().all(|(name, before)| now.get(name).is_some_and(|now| holds(now, before)))
        }
        (Value::Array(now), Value::Array(before)) => {
            now.len() == before.len() && now.iter().zip(before).all(|(now, before)| holds(now, before))
        }
        (now, before) => now == before,
    }
}

/// A state with a field that this version does not have would be told: it is not kept.
#[test]
fn a_field_that_vanished_is_told() {
    let mut state = json!(Assistant::default());
    let loaded: Assistant =
        load(&Saved { version: Assistant::STATE_VERSION, data: state.to_string().into() }).expect("a state");
    assert!(holds(&json!(loaded), &state));
    state["context"]["vanished"] = json!(1);
    let loaded: Assistant =
        load(&Saved { version: Assistant::STATE_VERSION, data: state.to_string().into() }).expect("a state");
    assert!(!holds(&json!(loaded), &state));
}
