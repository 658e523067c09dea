//! Components of the contract, written in WebAssembly text, each with one export that does something it
//! should not: what no compiler makes of an honest program.

use std::fmt::Write as _;
use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::bundles::{Draft, root};

/// What goes wrong: WebAssembly text that stands in an export before anything else it does.
#[derive(Clone, Copy, Debug)]
pub struct Deed {
    /// For messages.
    pub name: &'static str,
    /// The text.
    pub text: &'static str,
    /// The code that its end is known by.
    pub code: &'static str,
}

/// Everything that each export is tried with.
pub const DEEDS: [Deed; 9] = [
    Deed { name: "traps", text: "unreachable", code: "trapped" },
    Deed { name: "loops", text: "(loop $on (br $on))", code: "out_of_fuel" },
    Deed { name: "recurses", text: "(drop (call $recurse (i32.const 1)))", code: "trapped" },
    Deed {
        name: "grows in steps",
        text: "(loop $on (drop (memory.grow (i32.const 16))) (br $on))",
        code: "out_of_memory",
    },
    Deed { name: "grows at once", text: "(drop (memory.grow (i32.const 65000)))", code: "out_of_memory" },
    Deed {
        name: "fills memory for ever",
        text: "(loop $on (memory.fill (i32.const 65536) (i32.const 7) (i32.const 65536)) (br $on))",
        code: "out_of_fuel",
    },
    Deed {
        name: "floods the log",
        text: "(loop $on (call $log (i32.const 1) (i32.const 1024) (i32.const 1024)) (br $on))",
        code: "out_of_fuel",
    },
    Deed {
        name: "says too much at once",
        text: "(drop (memory.grow (i32.const 400))) (call $log (i32.const 1) (i32.const 65536) (i32.const 24000000))",
        code: "too_much_data",
    },
    Deed { name: "returns what is not there", text: "(return (i32.const -4))", code: "trapped" },
];

/// Limits under which all of that ends soon. What fills its memory is not what is measured.
const LIMITS: &str = "memory = \"32MiB\"\nfuel = 20_000_000\ntimeout = \"20s\"";

/// The parameters of each export, how many `i32` they are, and the text of its honest result.
const EXPORTS: [(&str, &str, usize, &str); 6] = [
    ("tool", "tool@0.1.0#list-tools", 0, "(i32.const 16)"),
    ("tool", "tool@0.1.0#call", 12, "(i32.const 128)"),
    ("hook", "hook@0.1.0#handle", 13, "(i32.const 1024)"),
    ("harness", "harness@0.1.0#step", 13, "(i32.const 192)"),
    ("harness", "state@0.1.0#save", 0, "(i32.const 256)"),
    ("harness", "state@0.1.0#load", 3, "(i32.const 1024)"),
];

/// What honest exports point at: at 16 one tool `act`; at 128 its result, the text `done`; at 192 a step
/// that is done; at 256 an empty state of version 1; at 1024 nothing but zeros, which is `ok` of most.
const DATA: &str = r#"
(data (i32.const 16) "\20\00\00\00\01\00\00\00")
(data (i32.const 32) "\40\00\00\00\03\00\00\00\50\00\00\00\05\00\00\00\60\00\00\00\11\00\00\00\02")
(data (i32.const 64) "act")
(data (i32.const 80) "Acts.")
(data (i32.const 96) "{\"type\":\"object\"}")
(data (i32.const 132) "\90\00\00\00\01\00\00\00")
(data (i32.const 148) "\b0\00\00\00\04\00\00\00")
(data (i32.const 176) "done")
(data (i32.const 196) "\01")
(data (i32.const 256) "\01\00\00\00\00\04\00\00\00\00\00\00")
"#;

const COMMON: &str = r#"
(import "rewake:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(memory (export "memory") 2)
(global $top (mut i32) (i32.const 4096))
(func $recurse (param i32) (result i32)
  (i32.add (call $recurse (local.get 0)) (call $recurse (local.get 0))))
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
  (local $at i32)
  (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
  (global.set $top (i32.add (local.get $at) (local.get 3)))
  (if (i32.gt_u (global.get $top) (i32.mul (memory.size) (i32.const 65536)))
    (then (drop (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get 3) (i32.const 16)))))))
  (local.get $at))
"#;

/// A component of a kind (`tool`, `hook`, `harness`) whose `export` (`call`, `step`, …) begins with `text`;
/// with the export `start`, its initialiser does.
///
/// # Panics
/// If the text is wrong.
pub fn component(kind: &str, export: &str, text: &str) -> Vec<u8> {
    component_with(kind, export, text, "", "")
}

/// The same, with imports (`$name` to call them by) before everything else, and with definitions behind it.
///
/// # Panics
/// If the text is wrong.
pub fn component_with(kind: &str, export: &str, text: &str, imports: &str, more: &str) -> Vec<u8> {
    let mut module = format!("(module {imports} {COMMON} {DATA}");
    for (_, name, params, honest) in EXPORTS.iter().filter(|(of, ..)| *of == kind) {
        let body = if name.ends_with(&format!("#{export}")) { text } else { "" };
        let params = "i32 ".repeat(*params);
        let _ = write!(
            module,
            "(func (export \"rewake:plugin/{name}\") (param {params}) (result i32) {body} {honest})"
        );
    }
    if export == "start" {
        // An initialiser returns nothing.
        let _ = write!(module, "(func $start {text}) (start $start)");
    }
    module.push_str(more);
    module.push(')');
    encode(kind, &module)
}

/// A component of a kind from the WebAssembly text of its module, which has the contract's names.
///
/// # Panics
/// If the text is wrong.
pub fn encode(kind: &str, module: &str) -> Vec<u8> {
    let mut bytes = wat(module);
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(root().join("wit/v0.1.0")).expect("the contract");
    let world = resolve.select_world(&[package], Some(&format!("{kind}-plugin"))).expect("a world");
    embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8, false).expect("metadata");
    let mut encoder = ComponentEncoder::default();
    encoder.module(&bytes).expect("a module of the contract").encode().expect("a component")
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// A bundle of the scripted harness with a hostile tool, `act`.
pub fn with_tool(component: Vec<u8>) -> Draft {
    Draft::new("test/hostile")
        .harness("harness_script")
        .toml(&format!("[component.hostile]\nkind = \"tool\"\nsource = \"hostile.wasm\"\n[component.hostile.limits]\n{LIMITS}"))
        .file("hostile.wasm", component)
}

/// A bundle of the scripted harness and its probe, with a hostile hook before every tool.
pub fn with_hook(component: Vec<u8>) -> Draft {
    Draft::scripted()
        .toml(&format!("[component.hostile]\nkind = \"hook\"\nsource = \"hostile.wasm\"\n[component.hostile.limits]\n{LIMITS}\n[[component.hostile.on]]\nevent = \"PreToolUse\""))
        .file("hostile.wasm", component)
}

/// A bundle of a hostile harness.
pub fn with_harness(component: Vec<u8>) -> Draft {
    Draft::new("test/hostile")
        .toml(&format!("[component.harness]\nkind = \"harness\"\nsource = \"hostile.wasm\"\nstate_version = 1\n[component.harness.limits]\n{LIMITS}"))
        .file("hostile.wasm", component)
}

/// A harness that does nothing, and has one function that is more than a compiler gets done with: thousands of locals that are
/// live through thousands of branches.
pub fn compile_bomb(locals: usize, branches: usize) -> Vec<u8> {
    let mut text = String::from("(func (param i32) (result i32)");
    text.push_str(&" (local i32)".repeat(locals));
    for at in 0..branches {
        let (to, from) = (1 + at % locals, 1 + (at * 7 + 3) % locals);
        let _ = write!(
            text,
            "(if (i32.and (local.get {from}) (i32.const 1)) (then (local.set {to} (i32.add (local.get {to}) (local.get {from})))) (else (local.set {from} (i32.mul (local.get 0) (local.get {to})))))"
        );
    }
    text.push_str("(local.get 1)");
    for at in 1..=locals {
        let _ = write!(text, "(i32.xor (local.get {at}))");
    }
    text.push(')');
    component_with("harness", "none", "", "", &text)
}

/// A bundle whose harness is these bytes.
pub fn with_bytes(bytes: Vec<u8>) -> Draft {
    Draft::new("test/bytes")
        .toml("[component.harness]\nkind = \"harness\"\nsource = \"harness.wasm\"\nstate_version = 1")
        .file("harness.wasm", bytes)
}

/// Processes whose parent is `parent`, by what they were started as.
pub fn children(parent: u32) -> Vec<(u32, String)> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = all.flatten().filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    pids.filter(|pid| parent_of(*pid) == Some(parent)).map(|pid| (pid, words(pid))).collect()
}

/// A process's parent, if it is there and has not ended.
pub fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    // Behind the name, which may hold anything: the state, and the parent.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if state == "Z" { None } else { fields.next()?.parse().ok() }
}

fn words(pid: u32) -> String {
    let bytes = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}
