//! What is taken for a harness, a tool or a hook, and what is refused.

use rewake_bindings::Linkers;
use wasmtime::Engine;

use crate::guest::{Parts, component, engine};

const STEP: &str = r#"(func (export "step") (type $step) i32.const 0)"#;
const STATE: &str = r#"
    (func (export "step") (type $step) i32.const 0)
    (func (export "save") (result i32) i32.const 0)
    (func (export "load") (param i32 i32 i32) (result i32) i32.const 0)"#;
const TOOL: &str = r#"
    (func (export "list-tools") (result i32) i32.const 0)
    (func (export "call") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) i32.const 0)"#;
const HOOK: &str = r#"(func (export "handle") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) i32.const 0)"#;

/// What each linker says to a component: none for yes, or the whole error.
fn verdicts(engine: &Engine, text: &str) -> [Option<String>; 3] {
    let linkers = Linkers::new(engine).expect("the linkers can be made");
    let component = component(engine, text);
    [
        linkers.harness(&component).map(drop),
        linkers.tool(&component).map(drop),
        linkers.hook(&component).map(drop),
    ]
    .map(|result| result.err().map(|error| format!("{error:#}")))
}

#[test]
fn each_kind_is_known_by_its_export() {
    let engine = engine(false);
    for (index, parts) in [Parts::harness(STEP), Parts::tool(TOOL), Parts::hook(HOOK)].iter().enumerate() {
        let verdicts = verdicts(&engine, &parts.text());
        for (other, verdict) in verdicts.iter().enumerate() {
            assert_eq!(other == index, verdict.is_none(), "{index} {other}: {verdict:?}");
        }
    }
}

#[test]
fn a_component_without_exports_is_nothing_and_the_error_says_what_is_missing() {
    let [harness, tool, hook] = verdicts(&engine(false), "(component)").map(Option::unwrap);
    assert!(harness.contains("not a harness"), "{harness}");
    assert!(harness.contains("rewake:plugin/harness@0.1.0"), "{harness}");
    assert!(tool.contains("rewake:plugin/tool@0.1.0"), "{tool}");
    assert!(hook.contains("rewake:plugin/hook@0.1.0"), "{hook}");
}

#[test]
fn state_is_optional_but_not_half_of_it() {
    let engine = engine(false);
    let linkers = Linkers::new(&engine).unwrap();
    let stateless = linkers.harness(&Parts::harness(STEP).component(&engine));
    assert!(!stateless.unwrap().keeps_state());
    let stateful = Parts::stateful_harness(STATE);
    let kept = linkers.harness(&stateful.component(&engine)).unwrap();
    assert!(kept.keeps_state());

    let half =
        stateful.text().replace(r#"(instance $state (export "save" (func $save)) "#, "(instance $state ");
    let error = linkers.harness(&component(&engine, &half)).map(drop);
    let error = format!("{:#}", error.unwrap_err());
    assert!(error.contains("`save`"), "{error}");
}

#[test]
fn only_a_harness_may_import_the_session() {
    let text = r#"(component (import "rewake:plugin/session@0.1.0" (instance
        (export "set-title" (func (param "title" string))))))"#;
    let [harness, tool, hook] = verdicts(&engine(false), text).map(Option::unwrap);
    assert!(harness.contains("not a harness"), "{harness}");
    for (error, kind) in [(tool, "tool"), (hook, "hook")] {
        assert!(error.contains(&format!("linked as a {kind}")), "{error}");
        assert!(error.contains("rewake:plugin/session@0.1.0"), "{error}");
    }
}

#[test]
fn an_unknown_import_is_refused_and_named() {
    let text = r#"(component (import "acme:host/anything" (instance (export "f" (func)))))"#;
    for error in verdicts(&engine(false), text).map(Option::unwrap) {
        assert!(error.contains("acme:host/anything"), "{error}");
    }
}

#[test]
fn a_component_of_another_engine_is_refused() {
    let linkers = Linkers::new(&engine(false)).unwrap();
    let component = Parts::harness(STEP).component(&engine(true));
    let error = format!("{:#}", linkers.harness(&component).map(drop).unwrap_err());
    assert!(error.contains("Engine"), "{error}");
}
