//! Choices from a seed: the same seed and the same questions give the same answers, on every machine. Knows
//! nothing of what is chosen.

/// A stream of choices.
#[derive(Clone, Debug)]
pub struct Chooser(u64);

impl Chooser {
    /// The stream of a seed for one purpose: what is drawn for one never moves what is drawn for another.
    pub fn new(seed: u64, purpose: u64) -> Self {
        let mut chooser = Chooser(seed ^ purpose.wrapping_mul(0xA24B_AED4_963E_E407));
        chooser.next();
        chooser
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next().checked_rem(end).unwrap_or(0)
    }

    /// Whether a chance of one in `odds` comes true.
    pub fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, several: &'a [T]) -> &'a T {
        let at = self.below(several.len() as u64);
        &several[usize::try_from(at).unwrap_or(0)]
    }
}
