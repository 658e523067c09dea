//! Components in WebAssembly text, a few KiB each, for sessions that are kept for ever with all that they ran: a
//! harness that does what the letters of its message say, tools of each class, and two hooks. Nothing in them
//! depends on a compiler's version. Knows the contract's layouts; no test's expectations.

use std::fmt::Write as _;

use crate::bundles::Draft;
use crate::hostile::encode;

/// A server that is never there: a request is sent, and fails.
const URL: &str = "http://127.0.0.1:9/golden";

/// What the harness does for each letter. `n` ends the step, `q` asks, `w` waits for a message, `f` and `F` fail the
/// turn and the session, `x` traps; all others are calls. Where the letters end, the turn is done.
const CALLS: &[(char, &str)] = &[
    ('s', "(drop (call $say (i32.const 1408) (i32.const 1)))"),
    ('e', "(call $emit (i32.const 1040) (i32.const 13) (i32.const 1056) (i32.const 14) (i32.const 1792))"),
    ('t', "(call $title (i32.const 1072) (i32.const 6))"),
    ('y', "(call $activity (i32.const 1088) (i32.const 7))"),
    ('g', "(call $log (i32.const 1) (i32.const 1080) (i32.const 6))"),
    ('i', "(call $info (i32.const 1792))"),
    ('l', "(call $list (i32.const 1792))"),
    (
        'v',
        "(call $events (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1568) (i32.const 1) (i32.const 9) (i32.const 0) (i32.const 1792))",
    ),
    (
        'm',
        "(call $model (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1440) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1792))",
    ),
    ('p', "(call $tools (i32.const 1488) (i32.const 1) (i32.const 1792))"),
    ('o', "(call $tools (i32.const 1512) (i32.const 1) (i32.const 1792))"),
    ('k', "(call $tools (i32.const 1536) (i32.const 1) (i32.const 1792))"),
    ('a', "(call $tools (i32.const 1488) (i32.const 2) (i32.const 1792))"),
    (
        'h',
        "(call $fetch (i32.const 1160) (i32.const 4) (i32.const 1176) (i32.const 25) (i32.const 0) (i32.const 0) (i32.const 1096) (i32.const 5) (i32.const 0) (i32.const 0) (i32.const 1792))",
    ),
    ('n', "(return (i32.const 1664))"),
    (
        'q',
        "(i32.store8 (i32.const 1668) (i32.const 2)) (i32.store (i32.const 1672) (i32.const 1584)) (i32.store (i32.const 1676) (i32.const 1)) (return (i32.const 1664))",
    ),
    (
        'w',
        "(i32.store8 (i32.const 1668) (i32.const 3)) (i32.store8 (i32.const 1684) (i32.const 1)) (return (i32.const 1664))",
    ),
    ('f', "(call $fail (i32.const 0)) (return (i32.const 1664))"),
    ('F', "(call $fail (i32.const 1)) (return (i32.const 1664))"),
    ('x', "unreachable"),
];

/// The texts that the harness says, at their places.
const TEXTS: &[(u32, &str)] = &[
    (1024, "said"),
    (1040, "custom.golden"),
    (1056, "{\\\"a\\\":[1,null]}"),
    (1072, "Golden"),
    (1080, "a line"),
    (1088, "working"),
    (1096, "hello"),
    (1104, "look"),
    (1112, "act"),
    (1120, "keep"),
    (1128, "use-1"),
    (1136, "use-2"),
    (1144, "use-3"),
    (1152, "{\\\"n\\\":1}"),
    (1160, "POST"),
    (1176, URL),
    (1208, "q"),
    (1212, "May I?"),
    (1220, "yes"),
    (1224, "no"),
    (1264, "failed"),
    (1272, "as scripted"),
    (1288, "agent.message"),
];

/// The values of the contract that it hands over, at their places: a part, a message, uses, kinds, a question.
const WORDS: &[(u32, &[u32])] = &[
    (1408, &[0, 1024, 4]),
    (1440, &[0, 1456, 1]),
    (1456, &[0, 0, 1096, 5]),
    (1488, &[1128, 5, 1104, 4, 1152, 7, 1136, 5, 1112, 3, 1152, 7, 1144, 5, 1120, 4, 1152, 7]),
    (1568, &[1288, 13]),
    (1584, &[1208, 1, 1212, 6, 1632, 2, 0]),
    (1632, &[1220, 3, 1224, 2]),
];

const MEMORY: &str = r#"
(memory (export "memory") 4)
(global $top (mut i32) (i32.const 65536))
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
  (local $at i32)
  (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
  (global.set $top (i32.add (local.get $at) (local.get 3)))
  (local.get $at))
"#;

const IMPORTS: &str = r#"
(import "rewake:plugin/session@0.1.0" "say" (func $say (param i32 i32) (result i32)))
(import "rewake:plugin/session@0.1.0" "emit" (func $emit (param i32 i32 i32 i32 i32)))
(import "rewake:plugin/session@0.1.0" "set-title" (func $title (param i32 i32)))
(import "rewake:plugin/session@0.1.0" "set-activity" (func $activity (param i32 i32)))
(import "rewake:plugin/session@0.1.0" "info" (func $info (param i32)))
(import "rewake:plugin/session@0.1.0" "events" (func $events (param i32 i32 i32 i32 i32 i32 i32 i32)))
(import "rewake:plugin/log@0.1.0" "log" (func $log (param i32 i32 i32)))
(import "rewake:plugin/tools@0.1.0" "list-tools" (func $list (param i32)))
(import "rewake:plugin/tools@0.1.0" "call" (func $tools (param i32 i32 i32)))
(import "rewake:plugin/model@0.1.0" "complete" (func $model (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
(import "rewake:plugin/http@0.1.0" "fetch" (func $fetch (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
"#;

/// Its state is where it is in the letters, a byte, and the letters; they stand at 16384.
const STATE: &str = r#"
(global $len (mut i32) (i32.const 0))
(func $fail (param $scope i32)
  (i32.store8 (i32.const 1664) (i32.const 1))
  (i32.store8 (i32.const 1668) (local.get $scope))
  (i32.store (i32.const 1672) (i32.const 1264)) (i32.store (i32.const 1676) (i32.const 6))
  (i32.store (i32.const 1680) (i32.const 1272)) (i32.store (i32.const 1684) (i32.const 11)))
(func (export "rewake:plugin/state@0.1.0#save") (result i32)
  (i32.store (i32.const 1760) (i32.const 1))
  (i32.store (i32.const 1764) (i32.const 16384))
  (i32.store (i32.const 1768) (i32.add (global.get $len) (i32.const 1)))
  (i32.const 1760))
(func (export "rewake:plugin/state@0.1.0#load") (param i32 i32 i32) (result i32)
  (memory.copy (i32.const 16384) (local.get 1) (local.get 2))
  (global.set $len (i32.sub (local.get 2) (i32.const 1)))
  (i32.const 2432))
"#;

fn texts(module: &mut String, texts: &[(u32, &str)]) {
    for (at, text) in texts {
        let _ = writeln!(module, "(data (i32.const {at}) \"{text}\")");
    }
}

fn words(module: &mut String, at: u32, words: &[u32]) {
    let bytes: String =
        words.iter().flat_map(|word| word.to_le_bytes()).map(|byte| format!("\\{byte:02x}")).collect();
    let _ = writeln!(module, "(data (i32.const {at}) \"{bytes}\")");
}

/// The harness.
///
/// # Panics
/// If the text is wrong, as of the others.
pub fn harness() -> Vec<u8> {
    let mut module = format!("(module {IMPORTS} {MEMORY} {STATE}");
    texts(&mut module, TEXTS);
    WORDS.iter().for_each(|(at, values)| words(&mut module, *at, values));
    module.push_str(
        r#"
(func (export "rewake:plugin/harness@0.1.0#step")
  (param $step i32) (param $messages i32) (param $count i32)
  (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
  (local $op i32) (local $part i32)
  (if (i32.and (i32.eq (local.get $step) (i32.const 1)) (i32.gt_u (local.get $count) (i32.const 0))) (then
    (local.set $part (i32.load offset=28 (local.get $messages)))
    (i32.store8 (i32.const 16384) (i32.const 0))
    (global.set $len (i32.load offset=8 (local.get $part)))
    (memory.copy (i32.const 16385) (i32.load offset=4 (local.get $part)) (global.get $len))))
  (block $end (loop $next
    (br_if $end (i32.ge_u (i32.load8_u (i32.const 16384)) (global.get $len)))
    (local.set $op (i32.load8_u (i32.add (i32.const 16385) (i32.load8_u (i32.const 16384)))))
    (i32.store8 (i32.const 16384) (i32.add (i32.load8_u (i32.const 16384)) (i32.const 1)))
"#,
    );
    for (letter, call) in CALLS {
        let code = u32::from(*letter);
        let _ = writeln!(module, "(if (i32.eq (local.get $op) (i32.const {code})) (then {call}))");
    }
    module.push_str("(br $next)))\n(i32.store8 (i32.const 1668) (i32.const 1)) (i32.const 1664)))");
    encode("harness", &module)
}

/// The tools `look` (pure), `act` (once) and `keep` (idempotent); each says `done`.
pub fn tools() -> Vec<u8> {
    let mut module = format!("(module {MEMORY}");
    texts(
        &mut module,
        &[
            (64, "look"),
            (72, "act"),
            (80, "keep"),
            (88, "Does it."),
            (96, "{\\\"type\\\":\\\"object\\\"}"),
            (176, "done"),
        ],
    );
    words(&mut module, 16, &[256, 3]);
    let tool = |name: u32, len: u32, effect: u32| [name, len, 88, 8, 96, 17, effect];
    words(&mut module, 256, &[tool(64, 4, 0), tool(72, 3, 2), tool(80, 4, 1)].concat());
    words(&mut module, 128, &[0, 148, 1]);
    words(&mut module, 148, &[0, 176, 4]);
    module.push_str(
        "(func (export \"rewake:plugin/tool@0.1.0#list-tools\") (result i32) (i32.const 16))
(func (export \"rewake:plugin/tool@0.1.0#call\") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 128)))",
    );
    encode("tool", &module)
}

/// A hook that names the session, and adds a context.
pub fn namer() -> Vec<u8> {
    let verdict = [0, 0, 0, 0, 0, 1, 96, 7, 0, 0, 0, 0, 0, 0, 1, 64, 12, 0, 0, 0];
    hook(&verdict)
}

/// A hook that wants a person asked.
pub fn asker() -> Vec<u8> {
    let verdict = [0, 3, 1, 80, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    hook(&verdict)
}

/// A hook with this result: `ok`, and a verdict's words in the order of the contract.
fn hook(verdict: &[u32]) -> Vec<u8> {
    let mut module = format!("(module {MEMORY}");
    texts(&mut module, &[(64, "A good title"), (80, "to be safe"), (96, "context")]);
    words(&mut module, 256, verdict);
    module.push_str(
        "(func (export \"rewake:plugin/hook@0.1.0#handle\") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 256)))",
    );
    encode("hook", &module)
}

/// The bundle of all of them, with a scripted model.
pub fn bundle() -> Draft {
    let replies: String = (1..=20).map(|n| format!("[[reply]]\ntext = \"reply {n}\"\n\n")).collect();
    let component = |name: &str, kind: &str, more: &str| {
        format!("[component.{name}]\nkind = \"{kind}\"\nsource = \"{name}.wasm\"\n{more}\n")
    };
    let toml = [
        component(
            "harness",
            "harness",
            "state_version = 1\n\n[component.harness.asks]\nhttp = [{ host = \"127.0.0.1:9\", scheme = \"http\", methods = [\"POST\"], why = \"the test\" }]",
        ),
        component(
            "tools",
            "tool",
            "\n[component.tools.asks]\nfs = [{ mount = \"/workspace\", source = \"workspace\", access = \"ro\", why = \"the test\" }]",
        ),
        component("namer", "hook", "\n[[component.namer.on]]\nevent = \"SessionStart\""),
        component("asker", "hook", "\n[[component.asker.on]]\nevent = \"PreToolUse\"\nmatcher = \"keep\""),
    ];
    Draft::new("golden/played")
        .toml(&toml.join("\n"))
        .file("harness.wasm", harness())
        .file("tools.wasm", tools())
        .file("namer.wasm", namer())
        .file("asker.wasm", asker())
        .model(&replies)
}
