//! What one call of a guest may consume: what its author asks for, within the operator's bounds; within this
//! version's own, where the operator says nothing.

use std::time::Duration;

use rewake_core::fact::{GuestLimits, PluginKind};

use rewake_policy::config::Bounds;
use rewake_sandbox::engine::MEMORY_BYTES_MAX;

/// Bytes of a tool's output, anyone who allows it more: it must fit an entry, escaped.
const OUTPUT_BYTES_MAX: u64 = 4 << 20;

const MINUTE_MS: u64 = 60_000;

/// What an author has who asks for nothing: enough for a guest in Rust, JavaScript or Python, whose first
/// call takes about a million units of fuel and 13 MiB. A step may wait for models and tools.
const fn usual(kind: PluginKind) -> GuestLimits {
    let (timeout_ms, fuel_max) = match kind {
        PluginKind::Harness => (60 * MINUTE_MS, 100_000_000_000),
        PluginKind::Tool => (MINUTE_MS, 20_000_000_000),
        PluginKind::Hook => (MINUTE_MS / 2, 5_000_000_000),
    };
    GuestLimits { memory_bytes_max: 64 << 20, timeout_ms, fuel_max, output_bytes_max: 256 << 10 }
}

/// What an author can ask for at most where the operator sets no bound: they are not the one whose machine
/// it is.
const fn most(kind: PluginKind) -> GuestLimits {
    let usual = usual(kind);
    GuestLimits {
        memory_bytes_max: 4 * usual.memory_bytes_max,
        timeout_ms: 10 * usual.timeout_ms,
        fuel_max: 10 * usual.fuel_max,
        output_bytes_max: OUTPUT_BYTES_MAX,
    }
}

/// The limits of a component.
pub(super) fn in_force(kind: PluginKind, own: &rewake_bundle::Limits, bounds: Bounds) -> GuestLimits {
    let (usual, most) = (usual(kind), most(kind));
    let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let within = |own: Option<u64>, usual: u64, bound: Option<u64>, most: u64| {
        own.unwrap_or(usual).min(bound.unwrap_or(most))
    };
    let memory =
        within(own.memory_bytes, usual.memory_bytes_max, bounds.memory_bytes_max, most.memory_bytes_max);
    let output =
        within(own.output_bytes, usual.output_bytes_max, bounds.output_bytes_max, most.output_bytes_max);
    GuestLimits {
        memory_bytes_max: memory.min(MEMORY_BYTES_MAX as u64),
        timeout_ms: within(
            own.timeout.map(ms),
            usual.timeout_ms,
            bounds.timeout_max.map(ms),
            most.timeout_ms,
        ),
        fuel_max: within(own.fuel, usual.fuel_max, bounds.fuel_max, most.fuel_max),
        output_bytes_max: output.min(OUTPUT_BYTES_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [PluginKind; 3] = [PluginKind::Harness, PluginKind::Tool, PluginKind::Hook];

    /// Every number as large as it can be written, or nothing.
    fn asked(much: bool) -> rewake_bundle::Limits {
        rewake_bundle::Limits {
            memory_bytes: much.then_some(u64::MAX),
            timeout: much.then_some(Duration::MAX),
            fuel: much.then_some(u64::MAX),
            output_bytes: much.then_some(u64::MAX),
        }
    }

    fn numbers(limits: GuestLimits) -> [u64; 4] {
        [limits.memory_bytes_max, limits.timeout_ms, limits.fuel_max, limits.output_bytes_max]
    }

    #[test]
    fn an_author_gets_what_they_ask_for_within_what_there_is() {
        for kind in KINDS {
            assert_eq!(in_force(kind, &asked(false), Bounds::default()), usual(kind));
            assert_eq!(in_force(kind, &asked(true), Bounds::default()), most(kind));
            let little = rewake_bundle::Limits {
                memory_bytes: Some(1),
                timeout: Some(Duration::from_millis(2)),
                fuel: Some(3),
                output_bytes: Some(4),
            };
            assert_eq!(numbers(in_force(kind, &little, Bounds::default())), [1, 2, 3, 4]);
        }
    }

    #[test]
    fn the_operator_has_the_last_word() {
        let low = Bounds {
            memory_bytes_max: Some(1),
            timeout_max: Some(Duration::from_millis(2)),
            fuel_max: Some(3),
            output_bytes_max: Some(4),
        };
        let high = Bounds {
            memory_bytes_max: Some(u64::MAX),
            timeout_max: Some(Duration::MAX),
            fuel_max: Some(u64::MAX),
            output_bytes_max: Some(u64::MAX),
        };
        for kind in KINDS {
            for much in [false, true] {
                assert_eq!(numbers(in_force(kind, &asked(much), low)), [1, 2, 3, 4]);
            }
            // Who asks for nothing is not given more because they could have it.
            assert_eq!(in_force(kind, &asked(false), high), usual(kind));
            let all = [MEMORY_BYTES_MAX as u64, u64::MAX, u64::MAX, OUTPUT_BYTES_MAX];
            assert_eq!(numbers(in_force(kind, &asked(true), high)), all);
        }
    }
}
