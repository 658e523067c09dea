//! Amounts of money. Whole nano-USD, so that sums are the same on every host.

use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Nano-USD of one USD.
const NANOS: u64 = 1_000_000_000;
/// Decimals of an amount.
const DECIMALS_MAX: usize = 9;

/// An amount in USD, kept as nano-USD. Sums saturate: a cap is never passed by overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(u64);

impl Usd {
    /// Nothing.
    pub const ZERO: Usd = Usd(0);

    /// An amount in nano-USD.
    pub const fn from_nanos(nanos: u64) -> Usd {
        Usd(nanos)
    }

    /// In nano-USD.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Both together, saturating.
    #[must_use]
    pub const fn plus(self, other: Usd) -> Usd {
        Usd(self.0.saturating_add(other.0))
    }

    /// What is left of it; nothing, if the other is more.
    #[must_use]
    pub const fn minus(self, other: Usd) -> Usd {
        Usd(self.0.saturating_sub(other.0))
    }

    /// Whether it is nothing.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Usd>>(amounts: I) -> Usd {
        amounts.fold(Usd::ZERO, Usd::plus)
    }
}

/// `$1.50`, and as many decimals as the amount has beyond cents.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:09}", self.0 % NANOS);
        let cents = decimals.trim_end_matches('0').len().max(2);
        write!(f, "${}.{}", self.0 / NANOS, &decimals[..cents])
    }
}

/// Why a text is no amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAmount(String);

impl fmt::Display for NoAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not an amount in USD: write a number such as 2.50, with at most 9 decimals",
            self.0
        )
    }
}

impl std::error::Error for NoAmount {}

/// Reads `2`, `2.5` or `$2.50`.
impl FromStr for Usd {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Usd, NoAmount> {
        let no = || NoAmount(text.chars().take(40).collect());
        let number = text.strip_prefix('$').unwrap_or(text);
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_digits(whole) || !is_digits(decimals) || decimals.len() > DECIMALS_MAX {
            return Err(no());
        }
        let whole: u64 = whole.parse().map_err(|_| no())?;
        let decimals: u64 = format!("{decimals:0<9}").parse().map_err(|_| no())?;
        let nanos = whole.checked_mul(NANOS).and_then(|nanos| nanos.checked_add(decimals));
        nanos.map(Usd).ok_or_else(no)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_and_shown() {
        for (text, nanos, shown) in [
            ("0", 0, "$0.00"),
            ("2", 2_000_000_000, "$2.00"),
            ("$2.5", 2_500_000_000, "$2.50"),
            ("0.000000001", 1, "$0.000000001"),
            ("18446744073.709551615", u64::MAX, "$18446744073.709551615"),
        ] {
            let amount: Usd = text.parse().unwrap();
            assert_eq!((amount.nanos(), amount.to_string().as_str()), (nanos, shown), "{text}");
        }
        for text in ["", "-1", "1.", ".5", "1e3", "1.0000000001", "18446744073.709551616", "1 USD", "$"] {
            assert!(text.parse::<Usd>().is_err(), "{text}");
        }
    }
}
