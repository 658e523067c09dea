//! The export macros: one of them stands in each component.
//!
//! Knows what of an author's items the host calls. Exports exist only in a component
//! (`wasm32`); elsewhere the macros check names and leave the crate an ordinary library.

/// Exports tools: `rewake_sdk::tools![word_count, line_count];`.
///
/// Each is a function with `#[tool]`.
#[macro_export]
macro_rules! tools {
    ($($tool:path),+ $(,)?) => {
        const _: () = {
            const TOOLS: &[$crate::tool::ToolEntry] =
                &[$($crate::tool::ToolEntry::of::<$tool>()),+];
            assert!($crate::tool::ToolEntry::all_differ(TOOLS), "two tools have the same name");

            #[cfg(target_arch = "wasm32")]
            $crate::__export_tools!(TOOLS);
        };
    };
}

/// Exports hooks: `rewake_sdk::hooks![guard, greet];`.
///
/// Each is a function with `#[hook]`, and each is of another event.
#[macro_export]
macro_rules! hooks {
    ($($hook:path),+ $(,)?) => {
        const _: () = {
            const HOOKS: &[$crate::hook::HookEntry] =
                &[$($crate::hook::HookEntry::of::<$hook>()),+];
            assert!(
                $crate::hook::HookEntry::all_differ(HOOKS),
                "two hooks are of the same event: make them one function"
            );

            #[cfg(target_arch = "wasm32")]
            $crate::__export_hooks!(HOOKS);
        };
    };
}

/// Exports a harness: `rewake_sdk::harness!(Loop);`, where `Loop` is a [`crate::Harness`].
#[macro_export]
macro_rules! harness {
    ($harness:ty) => {
        const _: () = {
            const fn is_a_harness<H: $crate::Harness>() {}
            is_a_harness::<$harness>();

            #[cfg(target_arch = "wasm32")]
            $crate::__export_harness!($harness);
        };
    };
}
