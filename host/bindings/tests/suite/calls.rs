//! Calls in both directions: exports with their results, imports with their arguments.

use rewake_bindings::types::Part;
use rewake_bindings::{Data, Linkers, harness, hook, state, store, tool};

use crate::guest::{Parts, engine, input, prepare, sandbox, step};
use crate::recorder::Recorder;

/// Returns the case of `next` that is in the code: the result's first byte is ok, the next word is
/// the variant.
const DONE: &str = r#"(func (export "step") (type $step)
    (i32.store8 (i32.const 4) (i32.const 1)) i32.const 0)"#;

#[tokio::test]
async fn a_step_returns_what_the_harness_decided() {
    let (result, _) = step(&Parts::harness(DONE), Recorder::default()).await;
    assert_eq!(result, Ok(Ok(harness::Next::Done)));
}

#[tokio::test]
async fn a_harness_without_state_saves_nothing_and_refuses_to_load() {
    let (pre, mut store) = prepare(&Parts::harness(DONE), Recorder::default());
    let instance = pre.instantiate(&mut store).await.unwrap();
    assert_eq!(instance.save(&mut store).await.unwrap(), None);
    let saved = state::Saved { version: 1, data: vec![1] };
    let refusal = instance.load(&mut store, &saved).await.unwrap();
    assert!(refusal.unwrap_err().contains("rewake:plugin/state@0.1.0"));
}

#[tokio::test]
async fn state_comes_back_as_it_was_loaded() {
    // Keeps version, pointer and length at 16, which is what `save` returns.
    let parts = Parts::stateful_harness(
        r#"
        (func (export "step") (type $step) i32.const 0)
        (func (export "save") (result i32) i32.const 16)
        (func (export "load") (param $version i32) (param $at i32) (param $length i32) (result i32)
          (i32.store (i32.const 16) (local.get $version))
          (i32.store (i32.const 20) (local.get $at))
          (i32.store (i32.const 24) (local.get $length))
          i32.const 0)"#,
    );
    let (pre, mut store) = prepare(&parts, Recorder::default());
    let instance = pre.instantiate(&mut store).await.unwrap();
    let saved = state::Saved { version: 3, data: b"all of it".to_vec() };
    assert_eq!(instance.load(&mut store, &saved).await.unwrap(), Ok(()));
    let next = instance.step(&mut store, &input()).await.unwrap();
    assert_eq!(next, Ok(harness::Next::More));
    assert_eq!(instance.save(&mut store).await.unwrap(), Some(saved));
}

const TITLED: &str = r#"
    (import "host" "set-title" (func $set-title (param i32 i32)))
    (data (i32.const 64) "Words")
    (func (export "step") (type $step)
      (call $set-title (i32.const 64) (i32.const 5)) i32.const 0)"#;

fn titled() -> Parts {
    Parts::harness(TITLED).importing(
        r#"(import "rewake:plugin/session@0.1.0" (instance $session
             (export "set-title" (func (param "title" string)))))
           (core func $set-title (canon lower (func $session "set-title") (memory $memory)))"#,
        r#"(export "set-title" (func $set-title))"#,
    )
}

#[tokio::test]
async fn an_import_that_waits_reaches_the_host_and_comes_back() {
    let (result, mut store) = step(&titled(), Recorder::default()).await;
    assert_eq!(result, Ok(Ok(harness::Next::More)));
    let recorder = store.data_mut().imports_as::<Recorder>().unwrap();
    assert_eq!(recorder.seen, ["title Words"]);
}

#[tokio::test]
async fn the_host_s_side_comes_out_of_the_store_as_what_it_was() {
    let (_, store) = step(&titled(), Recorder::default()).await;
    let imports: Box<dyn std::any::Any> = store.into_data().into_imports();
    let recorder = imports.downcast::<Recorder>().unwrap();
    assert_eq!(recorder.seen, ["title Words"]);
}

#[tokio::test]
async fn an_import_that_nobody_implements_traps_and_says_which() {
    struct Nothing;
    impl rewake_wasi::WasiHost for Nothing {}

    impl rewake_bindings::ModelImports for Nothing {}
    impl rewake_bindings::ToolsImports for Nothing {}
    impl rewake_bindings::SessionImports for Nothing {}
    impl rewake_bindings::HttpImports for Nothing {}
    impl rewake_bindings::LogImports for Nothing {}
    let (result, _) = step(&titled(), Nothing).await;
    let error = result.unwrap_err();
    assert!(error.contains("session.set-title is not importable"), "{error}");
}

#[tokio::test]
async fn a_tool_lists_and_answers_in_both_sorts_of_engine() {
    // One tool of empty strings, effect `once`; the answer is the input itself, as one text part.
    let parts = Parts::tool(
        r#"
        (func (export "list-tools") (result i32)
          (i32.store (i32.const 64) (i32.const 96)) (i32.store (i32.const 68) (i32.const 1))
          (i32.store8 (i32.const 120) (i32.const 2))
          i32.const 64)
        (func (export "call") (param i32 i32) (param $input i32) (param $length i32)
              (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
          (i32.store (i32.const 4) (i32.const 32)) (i32.store (i32.const 8) (i32.const 1))
          (i32.store (i32.const 36) (local.get $input))
          (i32.store (i32.const 40) (local.get $length))
          i32.const 0)"#,
    );
    let context = tool::Context {
        session: "s".to_owned(),
        turn: "t".to_owned(),
        idempotency_key: "k".to_owned(),
        config: "{}".to_owned(),
    };
    for concurrent in [false, true] {
        let engine = engine(concurrent);
        let linkers = Linkers::new(&engine).unwrap();
        let pre = linkers.tool(&parts.component(&engine)).unwrap();
        let data = Data::new(&sandbox(), Box::new(Recorder::default())).unwrap();
        let mut store = store(&engine, data);
        let instance = pre.instantiate(&mut store).await.unwrap();
        let tools = instance.list_tools(&mut store).await.unwrap();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].effect, rewake_bindings::types::Effect::Once);
        let call = instance.call(&mut store, "echo", "[1]", &context).await;
        assert_eq!(call.unwrap(), Ok(vec![Part::Text("[1]".to_owned())]));
    }
}

#[tokio::test]
async fn a_hook_decides() {
    // The verdict follows the result's discriminant; `deny` is the third decision.
    let parts = Parts::hook(
        r#"(func (export "handle")
              (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
            (i32.store8 (i32.const 4) (i32.const 2)) i32.const 0)"#,
    );
    let engine = engine(false);
    let linkers = Linkers::new(&engine).unwrap();
    let pre = linkers.hook(&parts.component(&engine)).unwrap();
    let data = Data::new(&sandbox(), Box::new(Recorder::default())).unwrap();
    let mut store = store(&engine, data);
    let instance = pre.instantiate(&mut store).await.unwrap();
    let event = hook::Event {
        name: "PreToolUse".to_owned(),
        idempotency_key: "k".to_owned(),
        session: "s".to_owned(),
        turn: None,
        input: "{}".to_owned(),
        config: "{}".to_owned(),
    };
    let verdict = instance.handle(&mut store, &event).await.unwrap().unwrap();
    assert_eq!(verdict.decision, hook::Decision::Deny);
    assert_eq!(verdict.reason, None);
}

#[tokio::test]
async fn a_tool_reaches_http_and_the_log() {
    // Traps unless `fetch` says error (1), `timed-out` (1).
    let parts = Parts::tool(
        r#"
        (import "host" "log" (func $log (param i32 i32 i32)))
        (import "host" "fetch" (func $fetch
          (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
        (data (i32.const 64) "GETtest:a")
        (func (export "list-tools") (result i32)
          (call $log (i32.const 2) (i32.const 64) (i32.const 3))
          (call $fetch (i32.const 64) (i32.const 3) (i32.const 67) (i32.const 6)
            (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
            (i32.const 128))
          (if (i32.ne (i32.load8_u (i32.const 128)) (i32.const 1)) (then unreachable))
          (if (i32.ne (i32.load8_u (i32.const 132)) (i32.const 1)) (then unreachable))
          i32.const 0)
        (func (export "call") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
          unreachable)"#,
    )
    .importing(
        r#"
        (import "rewake:plugin/log@0.1.0" (instance $log
          (type $level' (enum "debug" "info" "warn" "error"))
          (export "level" (type $level (eq $level')))
          (export "log" (func (param "level" $level) (param "message" string)))))
        (import "rewake:plugin/http@0.1.0" (instance $http
          (type $header' (record (field "name" string) (field "value" string)))
          (export "header" (type $header (eq $header')))
          (type $request' (record (field "method" string) (field "url" string)
            (field "headers" (list $header)) (field "body" (list u8))
            (field "timeout-ms" (option u32))))
          (export "request" (type $request (eq $request')))
          (type $response' (record (field "status" u16) (field "headers" (list $header))
            (field "body" (list u8))))
          (export "response" (type $response (eq $response')))
          (type $error' (variant (case "denied" string) (case "timed-out") (case "too-large")
            (case "unknown" string) (case "failed" string)))
          (export "error" (type $error (eq $error')))
          (export "fetch" (func (param "request" $request)
            (result (result $response (error $error)))))))
        (core func $log-log (canon lower (func $log "log") (memory $memory)))
        (core func $fetch (canon lower (func $http "fetch") (memory $memory) (realloc $realloc)))"#,
        r#"(export "log" (func $log-log)) (export "fetch" (func $fetch))"#,
    );
    let engine = engine(false);
    let linkers = Linkers::new(&engine).unwrap();
    let pre = linkers.tool(&parts.component(&engine)).unwrap();
    let data = Data::new(&sandbox(), Box::new(Recorder::default())).unwrap();
    let mut store = store(&engine, data);
    let instance = pre.instantiate(&mut store).await.unwrap();
    assert_eq!(instance.list_tools(&mut store).await.unwrap(), []);
    let recorder = store.data_mut().imports_as::<Recorder>().unwrap();
    assert_eq!(recorder.seen, ["Level::Warn GET", "fetch test:a"]);
}
