//! What wit-bindgen makes of the plugin contract, a module for each world.
//!
//! Knows the WIT. Nothing outside `glue.rs` and the export macros looks in here. All worlds share
//! the harness's types, so that conversions are written once; each world's exports are claimed only
//! by the component whose macro names them.

#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::too_many_lines,
    reason = "generated code"
)]

pub mod harness_plugin {
    wit_bindgen::generate!({
        path: "../../wit/v0.1.0",
        world: "harness-plugin",
        pub_export_macro: true,
        export_macro_name: "export_harness",
        default_bindings_module: "rewake_sdk::__private::bindings::harness_plugin",
    });
}

pub mod tool_plugin {
    wit_bindgen::generate!({
        path: "../../wit/v0.1.0",
        world: "tool-plugin",
        pub_export_macro: true,
        export_macro_name: "export_tool",
        default_bindings_module: "rewake_sdk::__private::bindings::tool_plugin",
        with: {
            "rewake:plugin/types@0.1.0": crate::bindings::harness_plugin::rewake::plugin::types,
            "rewake:plugin/http@0.1.0": crate::bindings::harness_plugin::rewake::plugin::http,
            "rewake:plugin/log@0.1.0": crate::bindings::harness_plugin::rewake::plugin::log,
        },
    });
}

pub mod hook_plugin {
    wit_bindgen::generate!({
        path: "../../wit/v0.1.0",
        world: "hook-plugin",
        pub_export_macro: true,
        export_macro_name: "export_hook",
        default_bindings_module: "rewake_sdk::__private::bindings::hook_plugin",
        with: {
            "rewake:plugin/types@0.1.0": crate::bindings::harness_plugin::rewake::plugin::types,
            "rewake:plugin/http@0.1.0": crate::bindings::harness_plugin::rewake::plugin::http,
            "rewake:plugin/log@0.1.0": crate::bindings::harness_plugin::rewake::plugin::log,
        },
    });
}
