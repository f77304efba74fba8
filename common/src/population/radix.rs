//! Mixed radix: a number as digits of given bases, the least significant first.

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{One, Zero};

/// Takes the least significant digit off a number.
pub(crate) fn take_digit(number: &mut BigUint, base: &BigUint) -> BigUint {
    let (rest, digit) = number.div_rem(base);
    *number = rest;
    digit
}

/// A number that is put together digit by digit, the least significant first: the inverse of
/// [`take_digit`].
#[derive(Debug)]
pub(crate) struct Digits {
    number: BigUint,
    scale: BigUint,
}

impl Digits {
    pub(crate) fn new() -> Self {
        Digits {
            number: BigUint::zero(),
            scale: BigUint::one(),
        }
    }

    /// Adds the next digit, less than its base.
    pub(crate) fn push(&mut self, digit: &BigUint, base: &BigUint) {
        debug_assert!(digit < base);
        self.number += digit * &self.scale;
        self.scale *= base;
    }

    pub(crate) fn number(self) -> BigUint {
        self.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_numbers_are_in_bijection() {
        let bases = [3u32, 1, 10, 7].map(BigUint::from);
        let mut seen = Vec::new();
        for number in 0..210u32 {
            let mut rest = BigUint::from(number);
            let digits = bases.each_ref().map(|base| take_digit(&mut rest, base));
            assert!(rest.is_zero());
            let mut written = Digits::new();
            for (digit, base) in digits.iter().zip(&bases) {
                assert!(digit < base);
                written.push(digit, base);
            }
            assert_eq!(written.number(), BigUint::from(number));
            seen.push(digits);
        }
        assert_eq!(seen[0], [0u32, 0, 0, 0].map(BigUint::from));
        assert_eq!(seen[1], [1u32, 0, 0, 0].map(BigUint::from));
        assert_eq!(seen[209], [2u32, 0, 9, 6].map(BigUint::from));
    }
}
