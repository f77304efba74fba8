//! Division by constants that are known beforehand: multiplication by a reciprocal.

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

    /// Quotient and remainder.
    ///
    /// With v the inverse and d the divisor, 2^64 - d v is 1 to d, so x v / 2^64 is less than x / d, by
    /// at most x / 2^64 < 1; its floor is the quotient or one less, which the remainder tells.
    #[inline(always)]
    pub(super) fn divide(&self, x: u64) -> (u64, u64) {
        let quotient = ((u128::from(x) * u128::from(self.inverse)) >> 64) as u64;
        let remainder = x - quotient.wrapping_mul(self.divisor);
        if remainder >= self.divisor {
            (quotient + 1, remainder - self.divisor)
        } else {
            (quotient, remainder)
        }
    }
}

/// A divisor for numbers of several words: its leading bit moved to the top, with the reciprocal of
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
    pub(super) const ONE: Wide = Wide::new(1);

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
        let mut quotient = ((guess >> 64) as u64).wrapping_add(1);
        let mut remainder = low.wrapping_sub(quotient.wrapping_mul(self.shifted));
        if remainder > guess as u64 {
            quotient = quotient.wrapping_sub(1);
            remainder = remainder.wrapping_add(self.shifted);
        }
        if remainder >= self.shifted {
            quotient = quotient.wrapping_add(1);
            remainder -= self.shifted;
        }
        (quotient, remainder)
    }

    /// Quotient and remainder of a number of two words, any numbers.
    #[inline(always)]
    pub(super) fn divide(&self, x: u128) -> (u128, u64) {
        let [low, high] = [x as u64, (x >> 64) as u64];
        // The bits that the shift pushes out of the top are less than the shifted divisor.
        let top = high >> 1 >> (63 - self.shift);
        let middle = high << self.shift | low >> 1 >> (63 - self.shift);
        let (q1, r) = self.two_by_one(top, middle);
        let (q0, r) = self.two_by_one(r, low << self.shift);
        (u128::from(q1) << 64 | u128::from(q0), r >> self.shift)
    }

    /// Divides a number of four words in place and gives the remainder; the quotient must fit the
    /// lowest `STEPS` words, and each word costs one step.
    #[inline(always)]
    pub(super) fn divide_limbs<const STEPS: usize>(&self, x: &mut [u64; 4]) -> u64 {
        let low_bits = |word: u64| word >> 1 >> (63 - self.shift);
        // The words above the quotient's, shifted: less than the shifted divisor, or the quotient
        // would be longer. So at most one of them is not 0.
        let above = if STEPS < 4 { x[STEPS] } else { 0 };
        debug_assert!(x.iter().skip(STEPS + 1).all(|&word| word == 0));
        let mut remainder = above << self.shift | low_bits(x[STEPS - 1]);
        for i in (0..STEPS).rev() {
            let below = if i > 0 { low_bits(x[i - 1]) } else { 0 };
            let word = x[i] << self.shift | below;
            (x[i], remainder) = self.two_by_one(remainder, word);
        }
        if STEPS < 4 {
            x[STEPS] = 0;
        }
        remainder >> self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

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
            for x in words().into_iter().chain([0, d, d - 1, d.wrapping_mul(3)]) {
                assert_eq!(small.divide(x), (x / d, x % d));
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
                    assert_eq!(wide.divide(x), (x / d, (x % d) as u64));
                }
            }
        }
    }

    fn limbs<const STEPS: usize>() {
        let as_number = |limbs: &[u64; 4]| {
            let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
            BigUint::from_bytes_le(&bytes)
        };
        let words = words();
        for (i, &d) in words.iter().enumerate() {
            for j in 0..words.len() {
                let mut x: [u64; 4] = std::array::from_fn(|l| words[(i + j + 7 * l) % words.len()]);
                x[STEPS..].fill(0);
                if STEPS < 4 {
                    x[STEPS] = words[(i * j) % words.len()] % d;
                }
                let number = as_number(&x);
                let remainder = Wide::new(d).divide_limbs::<STEPS>(&mut x);
                assert_eq!(as_number(&x), &number / d);
                assert_eq!(BigUint::from(remainder), &number % d);
            }
        }
    }

    #[test]
    fn four_words() {
        limbs::<1>();
        limbs::<2>();
        limbs::<3>();
        limbs::<4>();
    }
}
