//! What models cost, exactly.

use rewake_wire::Usage;
pub use rewake_wire::{NoAmount, Usd};

/// What a model's tokens cost, each in USD a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Tokens of a request.
    pub input: Usd,
    /// Tokens of an answer.
    pub output: Usd,
    /// Tokens of a request that come from the provider's cache.
    pub cache_read: Usd,
    /// Tokens of a request that are put into the provider's cache.
    pub cache_write: Usd,
}

impl Price {
    /// What so many tokens cost, rounded up to a nano-USD.
    pub fn of(&self, usage: Usage) -> Usd {
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        ];
        let parts = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(price.nanos()));
        let millionths = parts.fold(0, u128::saturating_add);
        Usd::from_nanos(u64::try_from(millionths.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// The most that a request of at most so many tokens, with an answer of at most so many, can cost.
    pub fn at_most(&self, input_tokens_max: u64, output_tokens_max: u64) -> Usd {
        let dearest = self.input.max(self.cache_read).max(self.cache_write);
        Price { input: dearest, ..*self }.of(Usage {
            input_tokens: input_tokens_max,
            output_tokens: output_tokens_max,
            ..Usage::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_rounded_up_and_never_overflow() {
        let usd = |text: &str| text.parse::<Usd>().unwrap();
        let price =
            Price { input: usd("3"), output: usd("15"), cache_read: usd("0.3"), cache_write: usd("3.75") };
        let usage =
            Usage { input_tokens: 1_000, output_tokens: 100, cache_read_tokens: 1, cache_write_tokens: 0 };
        assert_eq!(price.of(usage), usd("0.0045003"));
        let tiny = Price { input: Usd::from_nanos(1), ..price };
        assert_eq!(tiny.of(Usage { input_tokens: 1, ..Usage::default() }), Usd::from_nanos(1));
        assert_eq!(price.at_most(1_000, 100), usd("0.00525"));
        assert_eq!(price.at_most(u64::MAX, u64::MAX), Usd::from_nanos(u64::MAX));
        let (dear, all) = (Usd::from_nanos(u64::MAX), u64::MAX);
        let absurd = Price { input: dear, output: dear, cache_read: dear, cache_write: dear };
        let usage =
            Usage { input_tokens: all, output_tokens: all, cache_read_tokens: all, cache_write_tokens: all };
        assert_eq!(absurd.of(usage), Usd::from_nanos(u64::MAX));
    }
}
