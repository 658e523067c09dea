//! A digest that a test can compare: FNV-1a of 64 bits. It guards nothing.

/// Folds bytes into a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// The digest of all lines, each ended so that no two lists of lines look alike.
    #[must_use]
    pub fn of_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        lines.into_iter().fold(Self::default(), |digest, line| digest.fold(line).fold("\n"))
    }

    /// This digest with more text folded in.
    #[must_use]
    pub fn fold(self, text: &str) -> Self {
        let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(text.bytes().fold(self.0, step))
    }

    /// Sixteen hexadecimal digits.
    #[must_use]
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fnv_1a() {
        assert_eq!(Digest::default().fold("foobar").hex(), "85944171f73967e8");
    }

    #[test]
    fn lines_do_not_run_together() {
        assert_ne!(Digest::of_lines(["ab", "c"]), Digest::of_lines(["a", "bc"]));
    }
}
