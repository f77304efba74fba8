//! Division by constants that are known beforehand: multiplication by a reciprocal.

use std::hint::select_unpredictable;

/// A divisor for numbers of one word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Small {
    pub(super) divisor: u64,
    /// floor((2^64 - 1) / divisor).
    inverse: u64,
}

impl Small {
    pub(super) fn new(divisor: u64) -> Self {
        Small {
            divisor,
            inverse: u64::MAX / divisor,
        }
    }

    pub(super) fn inverse(&self) -> u64 {
        self.inverse
    }

    /// Quotient and remainder.
    ///
    /// With v the inverse and d the divisor, 2^64 - d v is 1 to d, so x v / 2^64 is less than x / d, by
    /// at most x / 2^64 < 1; its floor is the quotient or one less, which the remainder tells.
    #[inline(always)]
    pub(super) fn divide(&self, x: u64) -> (u64, u64) {
        let quotient = ((u128::from(x) * u128::from(self.inverse)) >> 64) as u64;
        let remainder = x - quotient.wrapping_mul(self.divisor);
        let short = remainder >= self.divisor;
        (
            select_unpredictable(short, quotient.wrapping_add(1), quotient),
            select_unpredictable(short, remainder.wrapping_sub(self.divisor), remainder),
        )
    }
}

/// The same for numbers with (x + 1) d less than 2^64, without a correction; v is [`Small::inverse`].
///
/// Let r = 2^64 - d v, 1 to d. Then (x + 1) v / 2^64 = (x + 1)/d - (x + 1) r / (d 2^64) is less than
/// (x + 1)/d, so less than floor(x/d) + 1; and it is at least floor(x/d), because (x + 1)/d is at
/// least floor(x/d) + 1/d, and what is subtracted at most (x + 1) / 2^64, at most 1/d.
#[inline(always)]
pub(super) fn divide_short(x: u64, d: u64, v: u64) -> (u64, u64) {
    debug_assert!((u128::from(x) + 1) * u128::from(d) < 1 << 64);
    let quotient = ((u128::from(x + 1) * u128::from(v)) >> 64) as u64;
    (quotient, x - quotient * d)
}

/// A divisor for numbers of two words: its leading bit moved to the top, with the reciprocal of
/// Möller and Granlund ("Improved division by invariant integers", IEEE Transactions on Computers 60
/// (2011), algorithm 4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    /// The divisor shifted to the top.
    shifted: u64,
    /// floor((2^128 - 1) / shifted) - 2^64.
    reciprocal: u64,
    shift: u32,
}

impl Wide {
    /// No divisor: no quotient by it fits.
    pub(super) const NONE: Wide = Wide {
        shifted: 0,
        reciprocal: 0,
        shift: 0,
    };

    pub(super) const fn new(divisor: u64) -> Self {
        let shift = divisor.leading_zeros();
        let shifted = divisor << shift;
        Wide {
            shifted,
            // The low word is what subtracting 2^64 leaves: the quotient lies between 2^64 and 2^65.
            reciprocal: (u128::MAX / shifted as u128) as u64,
            shift,
        }
    }

    /// Divides (high, low) by the shifted divisor, high being less than it.
    #[inline(always)]
    fn two_by_one(&self, high: u64, low: u64) -> (u64, u64) {
        debug_assert!(high < self.shifted);
        let guess = u128::from(self.reciprocal) * u128::from(high)
            + (u128::from(high) << 64 | u128::from(low));
        let quotient = ((guess >> 64) as u64).wrapping_add(1);
        let remainder = low.wrapping_sub(quotient.wrapping_mul(self.shifted));
        // One too many as often as not: no branch.
        let excess = remainder > guess as u64;
        let quotient = select_unpredictable(excess, quotient.wrapping_sub(1), quotient);
        let corrected = remainder.wrapping_add(self.shifted);
        let remainder = select_unpredictable(excess, corrected, remainder);
        // Hardly ever one too few.
        if remainder >= self.shifted {
            return (quotient.wrapping_add(1), remainder - self.shifted);
        }
        (quotient, remainder)
    }

    /// Quotient and remainder of a number of two words; `None` if the quotient does not fit one.
    #[inline(always)]
    pub(super) fn divide_to_word(&self, x: u128) -> Option<(u64, u64)> {
        let [low, high] = [x as u64, (x >> 64) as u64];
        if high >= self.shifted >> self.shift {
            return None;
        }
        let high = high << self.shift | low >> 1 >> (63 - self.shift);
        let (quotient, remainder) = self.two_by_one(high, low << self.shift);
        Some((quotient, remainder >> self.shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Divisors and words at their ends and in between.
    fn words() -> Vec<u64> {
        let mut words = vec![
            1,
            2,
            3,
            7,
            10,
            u64::MAX,
            u64::MAX - 1,
            1 << 63,
            (1 << 63) - 1,
        ];
        let mut state = 9u64;
        for _ in 0..60 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            words.push((state >> (state & 63)).max(1));
        }
        words
    }

    #[test]
    fn one_word() {
        for d in words() {
            let small = Small::new(d);
            let most = u64::MAX / d;
            let ends = [
                0,
                d - 1,
                d,
                d.wrapping_mul(3),
                most,
                most - 1,
                most - most % d,
            ];
            for x in words().into_iter().chain(ends) {
                assert_eq!(small.divide(x), (x / d, x % d));
                if (u128::from(x) + 1) * u128::from(d) < 1 << 64 {
                    assert_eq!(divide_short(x, d, small.inverse()), (x / d, x % d));
                }
            }
        }
    }

    #[test]
    fn two_words() {
        for d in words() {
            let wide = Wide::new(d);
            for high in words().into_iter().chain([0]) {
                for low in words().into_iter().chain([0]) {
                    let x = u128::from(high) << 64 | u128::from(low);
                    let d = u128::from(d);
                    let quotient = u64::try_from(x / d).ok();
                    let expected = quotient.map(|quotient| (quotient, (x % d) as u64));
                    assert_eq!(wide.divide_to_word(x), expected);
                    assert_eq!(Wide::NONE.divide_to_word(x), None);
                }
            }
        }
    }
}
