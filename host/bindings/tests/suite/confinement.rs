//! What an instance cannot do: more memory, more output, larger calls, unrecorded files.

use std::sync::Arc;

use rewake_bindings::{Data, Sandbox, harness, store};
use rewake_wasi::{Access, Mount, Volume};

use crate::guest::{Parts, engine, prepare, sandbox, step};
use crate::recorder::Recorder;

#[tokio::test]
async fn memory_beyond_the_limit_traps_and_names_it() {
    // 62 pages are within 4 MiB beside the heap's one; another two are not.
    let parts = Parts::harness(
        r#"
        (func (export "step") (type $step)
          (if (i32.ne (memory.grow (i32.const 62)) (i32.const 1)) (then unreachable))
          (drop (memory.grow (i32.const 2)))
          i32.const 0)"#,
    );
    let (result, _) = step(&parts, Recorder::default()).await;
    let error = result.unwrap_err();
    assert!(error.contains("4259840 bytes of memory"), "{error}");
    assert!(error.contains("4194304"), "{error}");
}

#[tokio::test]
async fn several_memories_count_as_one() {
    // 40 pages each are within the limit, together they are not.
    let parts = Parts::harness(r#"(func (export "step") (type $step) i32.const 0)"#).importing(
        r#"(core module $big (memory 40))
           (core instance (instantiate $big)) (core instance (instantiate $big))"#,
        "",
    );
    let (result, _) = step(&parts, Recorder::default()).await;
    let error = result.unwrap_err();
    assert!(error.contains("bytes of memory; its limit"), "{error}");
}

#[tokio::test]
async fn a_guest_s_own_maximum_is_its_own_business() {
    let parts = Parts::harness(
        r#"
        (func (export "step") (type $step)
          (if (i32.ne (memory.grow (i32.const 65535)) (i32.const -1)) (then unreachable))
          i32.const 0)"#,
    );
    let bounded =
        parts.text().replace(r#"(memory (export "memory") 1)"#, r#"(memory (export "memory") 1 2)"#);
    let engine = engine(false);
    let linkers = rewake_bindings::Linkers::new(&engine).unwrap();
    let component = crate::guest::component(&engine, &bounded);
    let pre = linkers.harness(&component).unwrap();
    let data = Data::new(&sandbox(), Box::new(Recorder::default())).unwrap();
    let mut store = store(&engine, data);
    let instance = pre.instantiate(&mut store).await.unwrap();
    let next = instance.step(&mut store, &crate::guest::input()).await;
    assert_eq!(next.unwrap(), Ok(harness::Next::More));
}

#[tokio::test]
async fn a_call_that_hands_over_too_much_traps() {
    // 1.5 MiB of zeros as a title; the limit is 1 MiB.
    let parts = Parts::harness(
        r#"
        (import "host" "set-title" (func $set-title (param i32 i32)))
        (func (export "step") (type $step)
          (drop (memory.grow (i32.const 30)))
          (call $set-title (i32.const 0) (i32.const 1572864)) i32.const 0)"#,
    )
    .importing(
        r#"(import "rewake:plugin/session@0.1.0" (instance $session
             (export "set-title" (func (param "title" string)))))
           (core func $set-title (canon lower (func $session "set-title") (memory $memory)))"#,
        r#"(export "set-title" (func $set-title))"#,
    );
    let (result, mut store) = step(&parts, Recorder::default()).await;
    let error = result.unwrap_err();
    assert!(error.contains("too much data is being copied"), "{error}");
    let recorder = store.data_mut().imports_as::<Recorder>().unwrap();
    assert!(recorder.seen.is_empty());
}

const STDIO: &str = r#"
(import "wasi:io/error@0.2.6" (instance $errors (export "error" (type (sub resource)))))
(alias export $errors "error" (type $error))
(import "wasi:io/streams@0.2.6" (instance $streams
  (export "output-stream" (type $out (sub resource)))
  (alias outer 1 $error (type $error'))
  (export "error" (type $error-here (eq $error')))
  (type $stream-error' (variant (case "last-operation-failed" (own $error-here)) (case "closed")))
  (export "stream-error" (type $stream-error (eq $stream-error')))
  (export "[method]output-stream.blocking-write-and-flush" (func
    (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $stream-error)))))))
(alias export $streams "output-stream" (type $out))
(import "wasi:cli/stdout@0.2.6" (instance $stdout
  (alias outer 1 $out (type $out'))
  (export "output-stream" (type $out-here (eq $out')))
  (export "get-stdout" (func (result (own $out-here))))))
(import "wasi:cli/stderr@0.2.6" (instance $stderr
  (alias outer 1 $out (type $out'))
  (export "output-stream" (type $out-here (eq $out')))
  (export "get-stderr" (func (result (own $out-here))))))
(core func $get-stdout (canon lower (func $stdout "get-stdout")))
(core func $get-stderr (canon lower (func $stderr "get-stderr")))
(core func $write (canon lower
  (func $streams "[method]output-stream.blocking-write-and-flush") (memory $memory)))"#;

#[tokio::test]
async fn output_is_kept_up_to_its_limit_and_the_rest_counted() {
    let parts = Parts::harness(
        r#"
        (import "host" "stdout" (func $stdout (result i32)))
        (import "host" "stderr" (func $stderr (result i32)))
        (import "host" "write" (func $write (param i32 i32 i32 i32)))
        (data (i32.const 64) "one\0atwo\0a")
        (func (export "step") (type $step)
          (call $write (call $stdout) (i32.const 64) (i32.const 8) (i32.const 0))
          (call $write (call $stderr) (i32.const 68) (i32.const 3) (i32.const 0))
          (call $write (call $stdout) (i32.const 2048) (i32.const 2000) (i32.const 0))
          i32.const 0)"#,
    )
    .importing(
        STDIO,
        r#"(export "stdout" (func $get-stdout)) (export "stderr" (func $get-stderr))
           (export "write" (func $write))"#,
    );
    let (result, mut store) = step(&parts, Recorder::default()).await;
    assert_eq!(result, Ok(Ok(harness::Next::More)));
    let output = store.data_mut().take_output();
    assert!(output.stdout.starts_with("one\ntwo\n"));
    assert_eq!(output.stderr, "two");
    assert_eq!(output.stdout.len() + output.stderr.len(), 1024);
    assert_eq!(output.dropped_bytes, 8 + 3 + 2000 - 1024);
    assert_eq!(store.data_mut().take_output(), rewake_bindings::Output::default());
}

fn mounted(directory: &std::path::Path, access: Access) -> Sandbox {
    let volume = Arc::new(Volume::new(directory.to_owned(), None));
    Sandbox { mounts: vec![Mount { volume, name: "/workspace".to_owned(), access }], ..sandbox() }
}

#[tokio::test]
async fn a_harness_gets_no_mount_that_it_can_write() {
    let parts = Parts::harness(r#"(func (export "step") (type $step) i32.const 0)"#);
    let (pre, mut store) = prepare(&parts, Recorder::default());
    let folder = tempfile::tempdir().unwrap();
    let writable = mounted(folder.path(), Access::Write);
    *store.data_mut() = Data::new(&writable, Box::new(Recorder::default())).unwrap();
    let error = pre.instantiate(&mut store).await.map(drop).unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    let readable = mounted(folder.path(), Access::Read);
    *store.data_mut() = Data::new(&readable, Box::new(Recorder::default())).unwrap();
    assert!(pre.instantiate(&mut store).await.is_ok());
}

#[test]
fn two_mounts_of_one_name_are_refused() {
    let mut twice = mounted(std::path::Path::new("/no/such/folder"), Access::Write);
    assert!(Data::new(&twice, Box::new(Recorder::default())).is_ok(), "a mount is opened when it is used");
    twice.mounts.push(twice.mounts[0].clone());
    let error = Data::new(&twice, Box::new(Recorder::default())).map(drop).unwrap_err();
    assert!(error.to_string().contains("/workspace"), "{error}");
}
