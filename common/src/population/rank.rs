//! A rank: a 256-bit number that names one position of a population.

use std::fmt;
use std::str::FromStr;

use num_bigint::BigUint;

/// The number of a position in its population, 0 to 2^256 - 1.
///
/// Four 64-bit limbs, the least significant first, whatever the population: a rank never allocates.
/// Printed and parsed in decimal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rank([u64; 4]);

impl Rank {
    /// Rank 0.
    pub const ZERO: Rank = Rank([0; 4]);

    /// The rank with these limbs, the least significant first.
    #[inline]
    #[must_use]
    pub const fn from_limbs(limbs: [u64; 4]) -> Self {
        Rank(limbs)
    }

    /// The limbs, the least significant first.
    #[inline]
    #[must_use]
    pub const fn limbs(&self) -> [u64; 4] {
        self.0
    }
}

impl Ord for Rank {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

impl PartialOrd for Rank {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl From<u64> for Rank {
    fn from(value: u64) -> Self {
        Rank([value, 0, 0, 0])
    }
}

impl From<Rank> for BigUint {
    fn from(rank: Rank) -> Self {
        BigUint::from_bytes_le(&rank.0.map(u64::to_le_bytes).concat())
    }
}

impl TryFrom<&BigUint> for Rank {
    type Error = RankError;

    fn try_from(value: &BigUint) -> Result<Self, RankError> {
        if value.bits() > 256 {
            return Err(RankError::TooLarge);
        }
        let mut limbs = [0; 4];
        for (limb, digit) in limbs.iter_mut().zip(value.iter_u64_digits()) {
            *limb = digit;
        }
        Ok(Rank(limbs))
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad_integral(true, "", &BigUint::from(*self).to_string())
    }
}

impl FromStr for Rank {
    type Err = RankError;

    /// Reads decimal digits, nothing else: no sign, no space, no separator.
    fn from_str(text: &str) -> Result<Self, RankError> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() {
            return Err(RankError::NotANumber { at: text.len() });
        }
        if let Some(place) = digits.bytes().position(|byte| !byte.is_ascii_digit()) {
            return Err(RankError::NotANumber {
                at: place + text.len() - digits.len(),
            });
        }
        if digits.len() < text.len() {
            return Err(RankError::Negative);
        }
        // 2^256 has 78 digits; a longer text must not cost the time to read it as a number.
        let significant = digits.trim_start_matches('0');
        if significant.len() > 78 {
            return Err(RankError::TooLarge);
        }
        let value = BigUint::parse_bytes(digits.as_bytes(), 10);
        Rank::try_from(&value.ok_or(RankError::NotANumber { at: 0 })?)
    }
}

/// Why a number is not a rank of any population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankError {
    /// Something other than a decimal digit at this byte of the text, or nothing at all.
    NotANumber {
        /// The byte's place in the text.
        at: usize,
    },
    /// A minus sign.
    Negative,
    /// 2^256 or more.
    TooLarge,
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankError::NotANumber { at } => {
                write!(f, "expected a decimal digit at character {}", at + 1)
            }
            RankError::Negative => write!(f, "a rank is never negative"),
            RankError::TooLarge => write!(f, "a rank is less than 2^256"),
        }
    }
}

impl std::error::Error for RankError {}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGEST: &str =
        "115792089237316195423570985008687907853269984665640564039457584007913129639935";

    #[test]
    fn text_and_big_integers_round_trip_at_both_ends() {
        for text in ["0", "1", "18446744073709551616", LARGEST] {
            let rank: Rank = text.parse().unwrap();
            assert_eq!(rank.to_string(), text);
            assert_eq!(Rank::try_from(&BigUint::from(rank)), Ok(rank));
        }
        assert_eq!("007".parse(), Ok(Rank::from(7)));
        assert_eq!(LARGEST.parse(), Ok(Rank::from_limbs([u64::MAX; 4])));
    }

    #[test]
    fn order_is_that_of_the_numbers() {
        let ranks = ["0", "1", "18446744073709551615", "18446744073709551616"];
        let ranks = ranks.map(|text| text.parse::<Rank>().unwrap());
        assert!(ranks.is_sorted());
        assert!(
            Rank::from_limbs([0, 0, 0, 1]) > Rank::from_limbs([u64::MAX, u64::MAX, u64::MAX, 0])
        );
    }

    #[test]
    fn bad_text_is_told_apart() {
        let error = |text: &str| text.parse::<Rank>().unwrap_err();
        assert_eq!(error(""), RankError::NotANumber { at: 0 });
        assert_eq!(error("-"), RankError::NotANumber { at: 1 });
        assert_eq!(error("12x"), RankError::NotANumber { at: 2 });
        assert_eq!(error("-1x"), RankError::NotANumber { at: 2 });
        assert_eq!(error("+1"), RankError::NotANumber { at: 0 });
        assert_eq!(error("1_000"), RankError::NotANumber { at: 1 });
        assert_eq!(error("-5"), RankError::Negative);
        let beyond = LARGEST.replace("639935", "639936");
        assert_eq!(error(&beyond), RankError::TooLarge);
        assert_eq!(error(&"9".repeat(100_000)), RankError::TooLarge);
    }
}
