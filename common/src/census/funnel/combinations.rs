//! Combinations by index, as sets of places.

use crate::game::Bits;

/// From the index of a combination to the set of its places.
///
/// The rank order counts combinations of k of m places by their ascending sequences in lexicographic
/// order. Let e run through such a sequence and c = m - 1 - e: the c descend, lexicographic order is
/// turned round, and the index i from the end, j = C(m,k) - 1 - i, is the sum of C(c_1, k),
/// C(c_2, k-1), ..., C(c_k, 1) (the combinatorial number system). So with places counted from the far
/// end and indices from the last, m drops out: one table serves all boards.
#[derive(Clone, Debug)]
pub(super) struct Combinations<B> {
    /// How many values c has, and one more.
    rows: usize,
    /// `columns[k * rows + c]`: C(c, k).
    columns: Vec<u64>,
    /// `guesses[(k << GUESS_BITS) + key(j)]`: the largest c with C(c, k) at most the least j of that
    /// key, or that c less one.
    guesses: Vec<u8>,
    /// The places of all combinations of 0, 1 and 2 places, by j from `short_start[k]` on; [`NOWHERE`]
    /// where there is none.
    short: Vec<[u8; 2]>,
    short_start: [usize; 3],
    /// Each place as a set; empty for [`NOWHERE`].
    single: [B; 128],
}

const NOWHERE: u8 = 127;

/// A key is the place of the leading bit and the six bits after it.
const MANTISSA: u32 = 6;
const KEY_BITS: u32 = 6 + MANTISSA;

#[inline(always)]
fn key(j: u64) -> usize {
    let zeros = (j | 1).leading_zeros();
    let mantissa = (j << zeros) << 1 >> (64 - MANTISSA);
    ((63 - zeros) as usize) << MANTISSA | mantissa as usize
}

impl<B: Bits> Combinations<B> {
    /// Tables for up to `most` of `places` places, at most 126; `None` if a C(places, k) does not fit a
    /// word.
    pub(super) fn new(places: usize, most: usize) -> Option<Self> {
        if places >= usize::from(NOWHERE) {
            return None;
        }
        let rows = places + 2;
        let mut columns = vec![0u64; (most + 1) * rows];
        for c in 0..=places {
            columns[c] = 1;
            for k in 1..=most.min(c) {
                let sum = columns[k * rows + c - 1].checked_add(columns[(k - 1) * rows + c - 1]);
                columns[k * rows + c] = sum?;
            }
        }
        // Beyond the last place no j follows.
        for k in 0..=most {
            columns[k * rows + places + 1] = u64::MAX;
        }
        let mut guesses = vec![0u8; (most + 1) << KEY_BITS];
        for k in 3..=most {
            let column = &columns[k * rows..][..rows];
            for (key, guess) in guesses[k << KEY_BITS..][..1 << KEY_BITS]
                .iter_mut()
                .enumerate()
            {
                let (exponent, mantissa) = (key >> MANTISSA, key as u64 & ((1 << MANTISSA) - 1));
                let least = (1 << MANTISSA | mantissa) << (63 - MANTISSA) >> (63 - exponent);
                // Key 0 holds j = 0 beside j = 1.
                let least = if key == 0 { 0 } else { least };
                let c = column.partition_point(|&value| value <= least) - 1;
                *guess = u8::try_from(c.min(places)).ok()?;
            }
        }
        let mut short = vec![[NOWHERE; 2]];
        for c in 0..places {
            short.push([c as u8, NOWHERE]);
        }
        for c in 0..places {
            for d in 0..c {
                short.push([c as u8, d as u8]);
            }
        }
        Some(Combinations {
            rows,
            columns,
            guesses,
            short,
            short_start: [0, 1, 1 + places],
            single: std::array::from_fn(|c| if c < places { B::bit(c) } else { B::EMPTY }),
        })
    }

    /// The set of the k places, counted from the far end, with index j from the last.
    ///
    /// Each place but the last two costs a guess and a comparison: between two keys C(c, k) grows by
    /// less than one place (k/c is greater than 2^-6 for k of 3 and more and c up to 126), so the guess
    /// is right or one less.
    #[inline(always)]
    pub(super) fn places(&self, mut k: usize, mut j: u64) -> B {
        let mut set = B::EMPTY;
        while k > 2 {
            let column = &self.columns[k * self.rows..];
            let guess = usize::from(self.guesses[(k << KEY_BITS) + key(j)]);
            let c = guess + usize::from(column[guess + 1] <= j);
            j -= column[c];
            set |= self.single[c & 127];
            k -= 1;
        }
        let [c, d] = self.short[self.short_start[k] + j as usize];
        set | self.single[usize::from(c) & 127] | self.single[usize::from(d) & 127]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::Binomials;

    fn check(m: usize, k: usize, tables: &Combinations<u128>, step: u128) {
        let binomials = Binomials::up_to(m);
        let last = binomials.choose(m, k) - 1;
        let mut index = 0;
        while index <= last {
            let mut expected = 0;
            for place in binomials.places_of(index, m, k) {
                expected |= u128::bit(m - 1 - place);
            }
            let j = u64::try_from(last - index).unwrap();
            assert_eq!(tables.places(k, j), expected, "{k} of {m}, index {index}");
            index += step;
        }
    }

    #[test]
    fn small_combinations_are_all_right() {
        let tables = Combinations::new(81, 18).unwrap();
        for k in 0..=2 {
            check(81, k, &tables, 1);
        }
        for m in 3..20 {
            for k in 3..=m.min(18) {
                check(m, k, &tables, 1);
            }
        }
    }

    /// Every border of every guess, and what lies beside it.
    #[test]
    fn all_borders_are_right() {
        for (places, most) in [(126, 13), (81, 18), (25, 25)] {
            let tables: Combinations<u128> = Combinations::new(places, most).unwrap();
            let binomials = Binomials::up_to(places);
            for k in 3..=most {
                for c in k..places {
                    let border = u64::try_from(binomials.choose(c, k)).unwrap();
                    let at = tables.places(k, border);
                    assert_eq!(at.last(), c);
                    assert_eq!(at.count() as usize, k);
                    let before = tables.places(k, border - 1);
                    assert_eq!(before.last(), c - 1);
                    assert_eq!(before.count() as usize, k);
                }
                let last = binomials.choose(places, k) - 1;
                check(places, k, &tables, (last / 50).max(1));
            }
        }
    }

    #[test]
    fn what_does_not_fit_a_word_is_refused() {
        assert!(Combinations::<u128>::new(126, 60).is_none());
        assert!(Combinations::<u128>::new(127, 2).is_none());
    }
}
