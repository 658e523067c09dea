//! The arithmetic of measuring: medians, quantiles, and when a round counts. Knows no figure.

/// A floor whose median is above this was disturbed: a woken thread had to wait for its processor.
pub(crate) const FLOOR_US_MAX: f64 = 500.0;
/// How much the floor may differ between before a round and after it.
pub(crate) const FLOOR_MOVES_MAX: f64 = 1.5;

/// One round: what was measured between two measurements of the floor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Round {
    /// The floor's median before, in microseconds.
    pub(crate) before_us: f64,
    /// The floor's median after.
    pub(crate) after_us: f64,
    /// What was measured; more than one where a quantile is asked for.
    pub(crate) samples: Vec<f64>,
}

impl Round {
    /// Whether the machine did other things meanwhile: the round says nothing.
    pub(crate) fn is_void(&self) -> bool {
        let (low, high) = if self.before_us < self.after_us {
            (self.before_us, self.after_us)
        } else {
            (self.after_us, self.before_us)
        };
        high > FLOOR_US_MAX || high > low * FLOOR_MOVES_MAX
    }

    /// The round's floor, in microseconds.
    pub(crate) fn floor_us(&self) -> f64 {
        f64::midpoint(self.before_us, self.after_us)
    }

    /// The round's median.
    pub(crate) fn value(&self) -> f64 {
        median(&self.samples)
    }
}

/// Rounds that count, and how many did not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    kept: Vec<Round>,
    voided: Vec<Round>,
}

impl Rounds {
    /// Takes a round in, or counts it as void.
    pub(crate) fn add(&mut self, round: Round) {
        if round.is_void() {
            self.voided.push(round);
        } else {
            self.kept.push(round);
        }
    }

    /// How many count.
    pub(crate) fn count(&self) -> usize {
        self.kept.len()
    }

    /// How many do not.
    pub(crate) fn voided(&self) -> usize {
        self.voided.len()
    }

    /// What the floor was in those, from the least to the greatest, in microseconds.
    pub(crate) fn disturbed_us(&self) -> Spread {
        let floors: Vec<f64> =
            self.voided.iter().flat_map(|round| [round.before_us, round.after_us]).collect();
        Spread::of(&floors)
    }

    /// The median of the rounds' medians, and the least and the greatest of them.
    pub(crate) fn spread(&self) -> Spread {
        Spread::of(&self.each(Round::value))
    }

    /// The same of what `of` makes of each round.
    pub(crate) fn spread_of(&self, of: impl Fn(&Round) -> f64) -> Spread {
        Spread::of(&self.each(of))
    }

    /// A quantile of all samples of all rounds; and the least and the greatest sample.
    pub(crate) fn quantile(&self, at: f64) -> Spread {
        let all: Vec<f64> = self.kept.iter().flat_map(|round| round.samples.iter().copied()).collect();
        Spread { median: quantile(&all, at), ..Spread::of(&all) }
    }

    /// The floor's median over all rounds, in microseconds.
    pub(crate) fn floor_us(&self) -> f64 {
        median(&self.each(Round::floor_us))
    }

    fn each(&self, of: impl Fn(&Round) -> f64) -> Vec<f64> {
        self.kept.iter().map(of).collect()
    }
}

/// A value and between what it lay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// Of values; zero of none.
    pub(crate) fn of(values: &[f64]) -> Spread {
        Spread { median: median(values), low: quantile(values, 0.0), high: quantile(values, 1.0) }
    }

    /// A single value.
    pub(crate) fn only(value: f64) -> Spread {
        Spread { median: value, low: value, high: value }
    }
}

/// The median; zero of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The quantile `at`, 0 to 1, between the two values beside it; zero of nothing.
pub(crate) fn quantile(values: &[f64], at: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = at.clamp(0.0, 1.0) * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(before_us: f64, after_us: f64, value: f64) -> Round {
        Round { before_us, after_us, samples: vec![value] }
    }

    #[test]
    fn medians_and_quantiles_lie_between() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        let hundred: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(quantile(&hundred, 0.99), 99.0);
        assert_eq!((quantile(&hundred, 0.0), quantile(&hundred, 1.0)), (0.0, 100.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.99), 1.99);
    }

    #[test]
    fn a_round_is_void_when_its_floor_was_disturbed() {
        assert!(!round(100.0, 149.0, 1.0).is_void());
        assert!(!round(149.0, 100.0, 1.0).is_void());
        assert!(round(100.0, 151.0, 1.0).is_void(), "it moved");
        assert!(round(151.0, 100.0, 1.0).is_void(), "it moved back");
        assert!(round(501.0, 499.0, 1.0).is_void(), "it is too high");
        assert!(!round(500.0, 500.0, 1.0).is_void());
    }

    #[test]
    fn only_what_counts_is_counted() {
        let mut rounds = Rounds::default();
        for (before, after, value) in [(100.0, 110.0, 5.0), (100.0, 400.0, 1_000.0), (90.0, 90.0, 7.0)] {
            rounds.add(round(before, after, value));
        }
        assert_eq!((rounds.count(), rounds.voided()), (2, 1));
        assert_eq!(rounds.disturbed_us(), Spread { median: 250.0, low: 100.0, high: 400.0 });
        assert_eq!(rounds.spread(), Spread { median: 6.0, low: 5.0, high: 7.0 });
        assert_eq!(rounds.floor_us(), 97.5);
        let ratio = rounds.spread_of(|round| round.value() / round.floor_us());
        assert!((ratio.low - 5.0 / 105.0).abs() < 1e-9, "each by its own floor");
    }

    #[test]
    fn a_quantile_is_of_all_samples() {
        let mut rounds = Rounds::default();
        rounds.add(Round { before_us: 1.0, after_us: 1.0, samples: (0..50).map(f64::from).collect() });
        rounds.add(Round { before_us: 1.0, after_us: 1.0, samples: (50..=100).map(f64::from).collect() });
        assert_eq!(rounds.quantile(0.99), Spread { median: 99.0, low: 0.0, high: 100.0 });
    }
}
