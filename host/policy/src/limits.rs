//! Bounds of a host that are plain numbers: the rules set them, the sandbox keeps them.

/// What compiling one component may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// Bytes of the component.
    pub component_bytes_max: u64,
    /// Seconds of processor time, all threads together.
    pub cpu_s_max: u64,
    /// Bytes of address space.
    pub memory_bytes_max: u64,
    /// Milliseconds of wall time.
    pub time_ms_max: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        CompileLimits {
            component_bytes_max: rewake_bundle::COMPONENT_BYTES_MAX,
            cpu_s_max: 60,
            memory_bytes_max: 2 << 30,
            time_ms_max: 300_000,
        }
    }
}
