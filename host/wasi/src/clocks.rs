//! How finely guests can read clocks: in whole milliseconds. A finer clock tells a guest what its neighbours do,
//! by how long its own work takes. Reads no clock: the imports do.

/// The least step of every clock that a guest can read, in nanoseconds: a millisecond.
pub const CLOCK_RESOLUTION_NS: u32 = 1_000_000;

/// A time in nanoseconds, rounded down to what a guest may know of it.
#[must_use]
pub fn coarse_ns(ns: u64) -> u64 {
    ns - ns % u64::from(CLOCK_RESOLUTION_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_tell_whole_milliseconds() {
        assert_eq!([0, 999_999, 1_000_000, 2_999_999].map(coarse_ns), [0, 0, 1_000_000, 2_000_000]);
    }
}
