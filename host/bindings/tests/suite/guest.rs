//! Components in WebAssembly text: types of the contract, and a frame to put a test's own code in.

use rewake_bindings::{Data, HarnessPre, Imports, Linkers, Sandbox, harness, store};
use wasmtime::component::Component;
use wasmtime::{Config, Engine, Store};

/// The types that harness, tool and hook name, exported so that functions may use them.
const TYPES: &str = r#"
(type $blob' (record (field "media-type" string) (field "data" (list u8))))
(export $blob "blob" (type $blob'))
(type $blob-ref' (record (field "media-type" string) (field "digest" string) (field "size" u32)))
(export $blob-ref "blob-ref" (type $blob-ref'))
(type $part' (variant (case "text" string) (case "json" string) (case "blob" $blob) (case "blob-ref" $blob-ref)))
(export $part "part" (type $part'))
(type $sender' (variant (case "operator" string) (case "agent" string) (case "trigger" string) (case "system")))
(export $sender "sender" (type $sender'))
(type $effect' (enum "pure" "idempotent" "once"))
(export $effect "effect" (type $effect'))
(type $tool-def' (record (field "name" string) (field "description" string) (field "input-schema" string) (field "effect" $effect)))
(export $tool-def "tool-def" (type $tool-def'))
"#;

const HARNESS: &str = r#"
(type $message' (record (field "id" string) (field "sender" $sender) (field "at" string) (field "parts" (list $part)) (field "origin" (option string))))
(export $message "message" (type $message'))
(type $answer' (record (field "question" string) (field "sender" $sender) (field "value" string)))
(export $answer "answer" (type $answer'))
(type $ending' (enum "interrupted" "failed" "trapped" "timed-out" "rolled-back"))
(export $ending "ending" (type $ending'))
(type $unfinished' (record (field "turn" string) (field "how" $ending) (field "first-seq" u32) (field "last-seq" u32)))
(export $unfinished "unfinished" (type $unfinished'))
(type $input' (record (field "step" u32) (field "messages" (list $message)) (field "answers" (list $answer)) (field "context" (list string)) (field "unfinished" (option $unfinished))))
(export $input "input" (type $input'))
(type $question' (record (field "id" string) (field "text" string) (field "choices" (list string)) (field "answer-schema" (option string))))
(export $question "question" (type $question'))
(type $pause' (record (field "until" (option string)) (field "on-message" bool)))
(export $pause "pause" (type $pause'))
(type $next' (variant (case "more") (case "done") (case "ask" (list $question)) (case "wait" $pause)))
(export $next "next" (type $next'))
(type $scope' (enum "turn" "session"))
(export $scope "scope" (type $scope'))
(type $failure' (record (field "scope" $scope) (field "code" string) (field "detail" string)))
(export $failure "failure" (type $failure'))
(func $step (param "input" $input) (result (result $next (error $failure)))
  (canon lift (core func $main "step") (memory $memory) (realloc $realloc)))
(instance $harness (export "step" (func $step)))
(export "rewake:plugin/harness@0.1.0" (instance $harness))
"#;

const STATE: &str = r#"
(type $saved' (record (field "version" u32) (field "data" (list u8))))
(export $saved "saved" (type $saved'))
(func $save (result $saved) (canon lift (core func $main "save") (memory $memory)))
(func $load (param "saved" $saved) (result (result (error string)))
  (canon lift (core func $main "load") (memory $memory) (realloc $realloc)))
(instance $state (export "save" (func $save)) (export "load" (func $load)))
(export "rewake:plugin/state@0.1.0" (instance $state))
"#;

const TOOL: &str = r#"
(type $context' (record (field "session" string) (field "turn" string) (field "idempotency-key" string) (field "config" string)))
(export $context "context" (type $context'))
(type $error' (variant (case "invalid-input" string) (case "failed" string)))
(export $error "error" (type $error'))
(func $list-tools (result (list $tool-def)) (canon lift (core func $main "list-tools") (memory $memory)))
(func $call (param "name" string) (param "input" string) (param "context" $context) (result (result (list $part) (error $error)))
  (canon lift (core func $main "call") (memory $memory) (realloc $realloc)))
(instance $tool (export "list-tools" (func $list-tools)) (export "call" (func $call)))
(export "rewake:plugin/tool@0.1.0" (instance $tool))
"#;

const HOOK: &str = r#"
(type $event' (record (field "name" string) (field "idempotency-key" string) (field "session" string) (field "turn" (option string)) (field "input" string) (field "config" string)))
(export $event "event" (type $event'))
(type $decision' (enum "none" "allow" "deny" "ask" "block"))
(export $decision "decision" (type $decision'))
(type $verdict' (record (field "decision" $decision) (field "reason" (option string)) (field "context" (option string)) (field "updated-input" (option string)) (field "updated-output" (option (list $part))) (field "title" (option string)) (field "end-turn" (option string))))
(export $verdict "verdict" (type $verdict'))
(func $handle (param "event" $event) (result (result $verdict (error string)))
  (canon lift (core func $main "handle") (memory $memory) (realloc $realloc)))
(instance $hook (export "handle" (func $handle)))
(export "rewake:plugin/hook@0.1.0" (instance $hook))
"#;

/// What a test's component is made of. Memory below 1024 is the code's own and starts as zeros.
#[derive(Default)]
pub(crate) struct Parts {
    /// Imports of the component, and `(core func $x (canon lower …))` of what the code calls.
    pub(crate) imports: &'static str,
    /// `(export "x" (func $x))` for each of those.
    pub(crate) lowered: &'static str,
    /// The core module: imports from "host", then functions.
    pub(crate) code: &'static str,
    /// The contract's exports that the code implements.
    pub(crate) exports: &'static [&'static str],
}

impl Parts {
    /// A harness whose `step` is given, of the core type `$step`; it returns a pointer.
    pub(crate) fn harness(code: &'static str) -> Parts {
        Parts { code, exports: &[HARNESS], ..Parts::default() }
    }

    pub(crate) fn stateful_harness(code: &'static str) -> Parts {
        Parts { code, exports: &[HARNESS, STATE], ..Parts::default() }
    }

    pub(crate) fn tool(code: &'static str) -> Parts {
        Parts { code, exports: &[TOOL], ..Parts::default() }
    }

    pub(crate) fn hook(code: &'static str) -> Parts {
        Parts { code, exports: &[HOOK], ..Parts::default() }
    }

    pub(crate) fn importing(mut self, imports: &'static str, lowered: &'static str) -> Parts {
        self.imports = imports;
        self.lowered = lowered;
        self
    }

    pub(crate) fn text(&self) -> String {
        let Parts { imports, lowered, code, exports } = self;
        let exports = exports.concat();
        format!(
            r#"(component
            (core module $heap
              (memory (export "memory") 1)
              (global $top (mut i32) (i32.const 1024))
              (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                global.get $top
                global.get $top local.get 3 i32.add i32.const 7 i32.add i32.const -8 i32.and
                global.set $top))
            (core instance $heap (instantiate $heap))
            (alias core export $heap "memory" (core memory $memory))
            (alias core export $heap "realloc" (core func $realloc))
            {imports}
            (core module $main
              (type $step (func
                (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
              (import "heap" "memory" (memory 1))
              {code})
            (core instance $main (instantiate $main
              (with "heap" (instance $heap))
              (with "host" (instance {lowered}))))
            {TYPES}
            {exports})"#
        )
    }

    pub(crate) fn component(&self, engine: &Engine) -> Component {
        component(engine, &self.text())
    }
}

pub(crate) fn component(engine: &Engine, text: &str) -> Component {
    let bytes = wat::parse_str(text).expect("the test's WebAssembly text is well-formed");
    Component::new(engine, bytes).expect("the test's component is valid")
}

pub(crate) fn engine(concurrent: bool) -> Engine {
    let mut config = Config::new();
    config.concurrency_support(concurrent);
    Engine::new(&config).expect("the engine's settings fit together")
}

pub(crate) fn sandbox() -> Sandbox {
    Sandbox {
        mounts: Vec::new(),
        memory_bytes_max: 4 << 20,
        output_bytes_max: 1024,
        call_bytes_max: 1 << 20,
        while_busy: None,
        files_in_place: false,
    }
}

/// Links a harness and a Store for it.
pub(crate) fn prepare(parts: &Parts, imports: impl Imports) -> (HarnessPre, Store<Data>) {
    let engine = engine(false);
    let linkers = Linkers::new(&engine).expect("the linkers can be made");
    let pre = linkers.harness(&parts.component(&engine)).expect("it is a harness");
    let data = Data::new(&sandbox(), Box::new(imports)).expect("there is nothing to mount");
    (pre, store(&engine, data))
}

pub(crate) fn input() -> harness::Input {
    harness::Input {
        step: 1,
        messages: Vec::new(),
        answers: Vec::new(),
        context: Vec::new(),
        unfinished: None,
    }
}

/// Runs one step of a harness; the error is the whole chain, as text.
pub(crate) async fn step(
    parts: &Parts,
    imports: impl Imports,
) -> (Result<Result<harness::Next, harness::Failure>, String>, Store<Data>) {
    let (pre, mut store) = prepare(parts, imports);
    let result = async {
        let instance = pre.instantiate(&mut store).await?;
        instance.step(&mut store, &input()).await
    }
    .await;
    (result.map_err(|error| format!("{error:#}")), store)
}
