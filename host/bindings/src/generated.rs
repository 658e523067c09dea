//! What `bindgen!` makes of `wit/v0.1.0`, and nothing else.
//!
//! `harness-plugin` serves stateless harnesses too: `plugins.rs` looks its two exports up one by
//! one, so that both sorts of harness share one set of types.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated code; the contract is documented in wit/"
)]

pub(crate) mod harness_plugin {
    wasmtime::component::bindgen!({
        path: "../../wit/v0.1.0",
        world: "harness-plugin",
        imports: { default: async | trappable },
        exports: { default: async },
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
    });
}

pub(crate) mod tool_plugin {
    wasmtime::component::bindgen!({
        path: "../../wit/v0.1.0",
        world: "tool-plugin",
        imports: { default: async | trappable },
        exports: { default: async },
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        with: {
            "rewake:plugin/types@0.1.0": crate::generated::harness_plugin::rewake::plugin::types,
            "rewake:plugin/http@0.1.0": crate::generated::harness_plugin::rewake::plugin::http,
            "rewake:plugin/log@0.1.0": crate::generated::harness_plugin::rewake::plugin::log,
        },
    });
}

pub(crate) mod hook_plugin {
    wasmtime::component::bindgen!({
        path: "../../wit/v0.1.0",
        world: "hook-plugin",
        imports: { default: async | trappable },
        exports: { default: async },
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        with: {
            "rewake:plugin/types@0.1.0": crate::generated::harness_plugin::rewake::plugin::types,
            "rewake:plugin/http@0.1.0": crate::generated::harness_plugin::rewake::plugin::http,
            "rewake:plugin/log@0.1.0": crate::generated::harness_plugin::rewake::plugin::log,
        },
    });
}
