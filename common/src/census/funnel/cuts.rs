//! Taking a word off the top of a long number.

/// The most limbs of a modulus.
const LIMBS: usize = 4;

/// A division of numbers below a known bound whose quotient fits a word.
///
/// The quotient is guessed from the number's leading 64 bits and put right by the remainder. So the cost
/// is one multiplication for the guess and one for each limb of the *modulus*, however long the number
/// is; a long division from the other end took two for each limb of the number (measured on shogi: 250
/// instructions a rank, now 206).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    modulus: [u64; LIMBS],
    /// Just below 2^127 / m, where m = modulus / 2^k lies between 2^63 and 2^64.
    inverse: u64,
    /// Where the leading 64 bits of the bound begin: the limb, and the bit in it.
    limb: u8,
    shift: u8,
    /// How many bits of the product belong below the quotient.
    down: u8,
}

impl Cut {
    pub(super) const NONE: Cut = Cut {
        modulus: [0, 0, 0, 1],
        inverse: 0,
        limb: 0,
        shift: 0,
        down: 0,
    };

    /// The division by `modulus` of numbers up to `bound`; `None` if the guess could be too far off.
    pub(super) fn new(modulus: &[u64; LIMBS], bound: &[u64; LIMBS]) -> Option<Self> {
        let (bits, length) = (bit_length(modulus), bit_length(bound));
        // The leading bits may begin in the last but one limb at most; quotients are below 2^63.
        if bits == 0 || length > 255 || length > bits + 62 {
            return None;
        }
        let start = length.saturating_sub(64);
        // Rounded up, so that the inverse and the guess are never too large.
        let leading = match bits.checked_sub(64) {
            Some(k) => u128::from(window(modulus, k)) + 1,
            None => u128::from(modulus[0] << (64 - bits)),
        };
        let inverse = u64::try_from((1 << 127) / leading).unwrap_or(u64::MAX);
        // top * inverse / 2^64, top standing for 2^start and the inverse for 2^(127 - k).
        let down = 63 + i64::from(bits) - 64 - i64::from(start);
        Some(Cut {
            modulus: *modulus,
            // A modulus beyond the bound is never contained: the quotient is 0.
            inverse: if down > 63 { 0 } else { inverse },
            limb: (start / 64) as u8,
            shift: (start % 64) as u8,
            down: down.clamp(0, 63) as u8,
        })
    }

    /// How many limbs a remainder needs, room for the guess's error included.
    pub(super) fn limbs(&self) -> usize {
        (bit_length(&self.modulus) as usize + 2)
            .div_ceil(64)
            .min(LIMBS)
    }

    /// The quotient; x becomes the remainder, which needs no more than `N` limbs.
    ///
    /// The guess q' = floor(top * inverse / 2^(64 + down)) is at most the quotient q. What it lacks: the
    /// bits below `top` are worth less than 2^start / modulus, at most 1/2; the inverse is too small by
    /// less than one part in 2^62, which makes less than 2 for quotients below 2^63; and the floor. So
    /// q - q' is at most 3, two bits more than a remainder has, and hardly ever more than 0.
    #[inline(always)]
    pub(super) fn take<const N: usize>(&self, x: &mut [u64; LIMBS]) -> u64 {
        let limb = usize::from(self.limb).min(LIMBS - 2);
        let top = x[limb] >> self.shift | (x[limb + 1] << 1) << (63 - self.shift);
        let guess = (u128::from(top) * u128::from(self.inverse)) >> 64;
        let mut quotient = guess as u64 >> self.down;
        let (mut carry, mut borrow) = (0, false);
        for (x, &m) in x[..N].iter_mut().zip(&self.modulus) {
            let product;
            (product, carry) = m.carrying_mul(quotient, carry);
            (*x, borrow) = x.borrowing_sub(product, borrow);
        }
        x[N..].fill(0);
        loop {
            let (mut less, mut borrow) = (*x, false);
            for (x, &m) in less[..N].iter_mut().zip(&self.modulus) {
                (*x, borrow) = x.borrowing_sub(m, borrow);
            }
            if borrow {
                return quotient;
            }
            *x = less;
            quotient += 1;
        }
    }
}

/// The 64 bits from this one on.
fn window(x: &[u64; LIMBS], start: u32) -> u64 {
    let (limb, shift) = (start as usize / 64, start % 64);
    let above = x.get(limb + 1).copied().unwrap_or(0);
    x[limb] >> shift | (above << 1) << (63 - shift)
}

fn bit_length(x: &[u64; LIMBS]) -> u32 {
    let top = x.iter().rposition(|&limb| limb > 0);
    top.map_or(0, |top| 64 * (top as u32 + 1) - x[top].leading_zeros())
}

/// A product, if it fits.
pub(super) fn times(mut x: [u64; LIMBS], by: u64) -> Option<[u64; LIMBS]> {
    let mut carry = 0;
    for limb in &mut x {
        (*limb, carry) = limb.carrying_mul(by, carry);
    }
    (carry == 0).then_some(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;

    fn number(limbs: &[u64]) -> BigUint {
        let bytes: Vec<u8> = limbs.iter().flat_map(|limb| limb.to_le_bytes()).collect();
        BigUint::from_bytes_le(&bytes)
    }

    fn limbs(number: &BigUint) -> [u64; LIMBS] {
        let mut digits = number.iter_u64_digits();
        std::array::from_fn(|_| digits.next().unwrap_or(0))
    }

    fn take(cut: &Cut, x: &BigUint) -> (u64, BigUint) {
        let mut x = limbs(x);
        let quotient = match cut.limbs() {
            1 => cut.take::<1>(&mut x),
            2 => cut.take::<2>(&mut x),
            3 => cut.take::<3>(&mut x),
            _ => cut.take::<4>(&mut x),
        };
        (quotient, number(&x))
    }

    /// Moduli and quotients of all lengths; numbers at the borders and in between.
    #[test]
    fn quotients_and_remainders_are_right() {
        let mut state = 5u64;
        let mut next = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            state ^ state >> 31
        };
        let mut tried = 0;
        for bits in 1..=252u32 {
            for words in [1u32, 2, 7, 20, 31, 45, 53, 62] {
                let random = number(&[next(), next(), next(), next()]);
                let one = BigUint::from(1u32);
                for modulus in [
                    (&random >> (256 - bits)) | (&one << (bits - 1)),
                    &one << (bits - 1),
                    (&one << bits) - 1u32,
                ] {
                    let most = (next() >> (64 - words)).max(1);
                    let bound = &modulus * most;
                    if bound.bits() > 255 {
                        continue;
                    }
                    let cut = Cut::new(&limbs(&modulus), &limbs(&bound)).unwrap();
                    for quotient in [0, most - 1, most / 2, next() % most] {
                        let part = &random % &modulus;
                        for rest in [BigUint::ZERO, &modulus - 1u32, part] {
                            let x = &modulus * quotient + &rest;
                            assert_eq!(take(&cut, &x), (quotient, rest), "{modulus} {bound}");
                            tried += 1;
                        }
                    }
                }
            }
        }
        assert!(tried > 50_000);
    }

    #[test]
    fn a_modulus_beyond_the_bound_leaves_all() {
        let modulus = [0, 0, 1 << 40, 0];
        let cut = Cut::new(&modulus, &[9, 0, 0, 0]).unwrap();
        assert_eq!(take(&cut, &BigUint::from(8u32)), (0, BigUint::from(8u32)));
    }

    #[test]
    fn what_would_not_fit_is_refused() {
        assert!(Cut::new(&[1, 0, 0, 0], &[0, 1, 0, 0]).is_none());
        assert!(Cut::new(&[0; 4], &[1; 4]).is_none());
        assert!(Cut::new(&[0, 0, 0, 1], &[0, 0, 0, 1 << 63]).is_none());
        assert_eq!(times([u64::MAX; 4], 2), None);
        assert_eq!(times([u64::MAX, 1, 0, 0], 2), Some([u64::MAX - 1, 3, 0, 0]));
    }
}
