//! What an attempt to ask a model can cost, what it has cost, and whether the session may spend that.

use rewake_core::fact::ModelOutcome;
use rewake_core::money::{Price, Usd};

use rewake_models::Bill;

/// What decides on an attempt's money; the same for all attempts of a call by one run of its step.
pub(super) struct Terms {
    price: Option<Price>,
    /// The most that an attempt can cost.
    pub(super) reserved: Usd,
    max: Option<Usd>,
    input_tokens_max: u64,
    output_tokens_max: u64,
}

impl Terms {
    /// # Errors
    /// If the session has a cap and nobody said what the model costs.
    pub(super) fn new(
        name: &str,
        price: Option<Price>,
        is_scripted: bool,
        max: Option<Usd>,
        (input_tokens_max, output_tokens_max): (u64, u64),
    ) -> Result<Terms, ModelOutcome> {
        // What the scripted model says costs nothing, unless somebody said that it does.
        if let (None, false, Some(max)) = (price, is_scripted, max) {
            return Err(ModelOutcome::Rejected(format!(
                "the session may spend {max} and nobody says what the model {name:?} costs. Add \
                 `price = {{ input = …, output = … }}`, in USD a million tokens, to its [models.NAME] in \
                 rewake.toml; if it has none there, add one with its `provider` and `model`"
            )));
        }
        let reserved = price.map_or(Usd::ZERO, |price| price.at_most(input_tokens_max, output_tokens_max));
        Ok(Terms { price, reserved, max, input_tokens_max, output_tokens_max })
    }

    /// What an attempt has cost.
    pub(super) fn cost(&self, bill: Bill) -> Usd {
        match bill {
            Bill::Nothing => Usd::ZERO,
            Bill::Tokens(usage) => self.price.map_or(Usd::ZERO, |price| price.of(usage)),
            Bill::Unknown => self.reserved,
        }
    }

    /// Why an attempt may not be made, where so much is spent or reserved beside it; none: it may.
    pub(super) fn over(&self, committed: Usd) -> Option<ModelOutcome> {
        let max = self.max.filter(|max| !self.reserved.is_zero() && committed.plus(self.reserved) > *max)?;
        let Terms { reserved, input_tokens_max, output_tokens_max, .. } = self;
        Some(ModelOutcome::Budget(format!(
            "the session may spend {max}, {committed} of it is spent or may have been, and this call could cost up \
             to {reserved} ({input_tokens_max} tokens in at most, {output_tokens_max} out); it was not sent"
        )))
    }
}

#[cfg(test)]
mod tests {
    use rewake_wire::Usage;

    use super::*;

    fn usd(text: &str) -> Usd {
        text.parse().unwrap()
    }

    fn terms(is_priced: bool, is_scripted: bool, max: Option<&str>) -> Result<Terms, ModelOutcome> {
        let (input, output) = (usd("3"), usd("15"));
        let price = Price { input, output, cache_read: usd("0.3"), cache_write: usd("3.75") };
        Terms::new("fast", is_priced.then_some(price), is_scripted, max.map(usd), (1_000, 100))
    }

    #[test]
    fn a_cap_needs_a_price() {
        assert!(terms(false, false, None).unwrap().reserved.is_zero());
        let Err(ModelOutcome::Rejected(why)) = terms(false, false, Some("1")) else {
            panic!("it was let pass")
        };
        assert!(why.contains("\"fast\" costs") && why.contains("$1.00"), "{why}");
        let scripted = terms(false, true, Some("0")).unwrap();
        assert_eq!((scripted.reserved, scripted.over(usd("5"))), (Usd::ZERO, None));
    }

    #[test]
    fn an_attempt_reserves_what_it_can_cost_and_counts_as_what_it_did() {
        let terms = terms(true, false, Some("0.01")).unwrap();
        assert_eq!(terms.reserved, usd("0.00525"));
        let usage = Usage { input_tokens: 100, output_tokens: 10, ..Usage::default() };
        assert_eq!(terms.cost(Bill::Tokens(usage)), usd("0.00045"));
        assert_eq!((terms.cost(Bill::Nothing), terms.cost(Bill::Unknown)), (Usd::ZERO, terms.reserved));
        assert_eq!(terms.over(usd("0.00475")), None);
        let Some(ModelOutcome::Budget(why)) = terms.over(usd("0.004750001")) else {
            panic!("it was let pass")
        };
        assert!(why.contains("$0.01,") && why.contains("$0.00525 (1000 tokens"), "{why}");
    }
}
