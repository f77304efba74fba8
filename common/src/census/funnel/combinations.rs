//! Combinations by index, as places.

use std::hint::select_unpredictable;

/// From the index of a combination to its places.
///
/// The rank order counts combinations of k of m places by their ascending sequences in lexicographic
/// order. Let e run through such a sequence and c = m - 1 - e: the c descend, lexicographic order is
/// turned round, and the index from the end, j = C(m,k) - 1 - index, is the sum of C(c_1, k),
/// C(c_2, k-1), ..., C(c_k, 1) (the combinatorial number system). So with places counted from the far
/// end and indices from the last, m drops out: one table serves all boards.
#[derive(Clone, Debug)]
pub(super) struct Combinations {
    /// `columns[k][c]`: C(c, k); beyond the last place what no j reaches.
    columns: Box<[[u64; PLACES]; PIECES]>,
    /// `guesses[k][key(j)]` for k of 4 and more: the largest c with C(c, k) at most the least j of that key.
    guesses: Box<[[u8; GUESSES]; PIECES]>,
    /// The places of the combinations of up to three, [`NOWHERE`] filling the rest; one k after the
    /// other, each beginning at its start.
    few: Vec<[u8; 4]>,
    starts: [u32; 4],
}

/// More than any number of pieces of a group.
pub(super) const PIECES: usize = 32;

/// What stands for no place: greater than any.
pub(super) const NOWHERE: u8 = 127;

/// How long columns are: two more than a byte can say, so that no index needs a check.
const PLACES: usize = 258;

/// A key is made of the place of the leading bit and the five bits after it; 0 is the key of 0 alone.
const MANTISSA: u32 = 5;
const KEY_BITS: u32 = 6 + MANTISSA;

/// A row of guesses, and as many beside it as keep the rows' like keys off the same lines of a cache.
const GUESSES: usize = (1 << KEY_BITS) + 320;

#[inline(always)]
fn key(j: u64) -> usize {
    let zeros = j.leading_zeros();
    let leading = j.wrapping_shl(zeros) >> (63 - MANTISSA);
    (leading as usize).wrapping_sub((zeros as usize) << MANTISSA) % (1 << KEY_BITS)
}

/// The least number with this key, among those below 2^62.
fn least(key: usize) -> Option<u64> {
    let leading = (key % (1 << MANTISSA) + (1 << MANTISSA)) as u64;
    match key >> MANTISSA {
        0 => (key == 0).then_some(0),
        // 64 less the leading zeros, and one for the leading bit.
        row @ 2.. => Some(leading << (63 - MANTISSA) >> (65 - row)),
        _ => None,
    }
}

impl Combinations {
    /// Tables for up to `most` of `places` places; `None` if that is too much, or if some C(places, k)
    /// is 2^62 or more.
    pub(super) fn new(places: usize, most: usize) -> Option<Self> {
        if places >= usize::from(NOWHERE) || most >= PIECES {
            return None;
        }
        let mut columns = Box::new([[u64::MAX; PLACES]; PIECES]);
        columns[0][..=places].fill(1);
        let mut guesses = Box::new([[0; GUESSES]; PIECES]);
        for k in 1..=most {
            let mut sum = 0u64;
            for c in 0..=places {
                columns[k][c] = sum;
                sum = Some(sum + columns[k - 1][c]).filter(|&sum| sum < 1 << 62)?;
            }
            for (key, guess) in guesses[k][..1 << KEY_BITS].iter_mut().enumerate() {
                let Some(least) = least(key).filter(|_| k > 3) else {
                    continue;
                };
                let c = columns[k].partition_point(|&value| value <= least) - 1;
                *guess = c.min(places) as u8;
            }
        }
        let room = 0..places as u8;
        let mut few = vec![[NOWHERE; 4]];
        let mut starts = [0; 4];
        starts[1] = few.len() as u32;
        few.extend(room.clone().map(|c| [c, NOWHERE, NOWHERE, NOWHERE]));
        starts[2] = few.len() as u32;
        for c in room.clone() {
            few.extend((0..c).map(|d| [c, d, NOWHERE, NOWHERE]));
        }
        starts[3] = few.len() as u32;
        for c in room {
            for d in 0..c {
                few.extend((0..d).map(|e| [c, d, e, NOWHERE]));
            }
        }
        Some(Combinations {
            columns,
            guesses,
            few,
            starts,
        })
    }

    /// Where the combinations of k begin among [`few`](Self::few); nowhere in particular for more than 3.
    pub(super) fn start(&self, k: u8) -> u32 {
        self.starts[usize::from(k).min(3)]
    }

    /// The places of up to three pieces, [`NOWHERE`] after them; the number is the combination's index,
    /// counted from the start.
    #[inline(always)]
    pub(super) fn few(&self, number: u32) -> [u8; 4] {
        self.few[number as usize]
    }

    /// The places of the k-element combination with index j, in descending order: all but the last three
    /// one by one to `visit`, then the last ones, [`NOWHERE`] after them.
    ///
    /// The last ones come from a table. Each of the others costs a guess and a comparison: between two
    /// keys C(c, k) grows by less than one place (k/c is greater than 2^-5 for k of 4 and more and c up
    /// to 126), so the guess is right or one less. What is subtracted is chosen, not looked up once more: two
    /// loads keep the next place waiting, not three.
    #[inline(always)]
    pub(super) fn unrank(&self, k: u8, mut j: u64, mut visit: impl FnMut(u8)) -> [u8; 4] {
        let mut k = usize::from(k) % PIECES;
        while k > 3 {
            let c = self.guesses[k][key(j)];
            let column = &self.columns[k][usize::from(c)..][..2];
            let more = j >= column[1];
            visit(c + u8::from(more));
            j -= select_unpredictable(more, column[1], column[0]);
            k -= 1;
        }
        self.few(self.starts[k] + j as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Bits;
    use crate::population::Binomials;

    fn places(tables: &Combinations, k: usize, j: u64) -> u128 {
        let mut set = 0;
        let mut visit = |place: u8| {
            if place < NOWHERE {
                set |= u128::bit(place.into());
            }
        };
        tables
            .unrank(k as u8, j, &mut visit)
            .into_iter()
            .for_each(visit);
        set
    }

    fn check(m: usize, k: usize, tables: &Combinations, step: u128) {
        let binomials = Binomials::up_to(m);
        let last = binomials.choose(m, k) - 1;
        let mut index = 0;
        while index <= last {
            let mut expected = 0;
            for place in binomials.places_of(index, m, k) {
                expected |= u128::bit(m - 1 - place);
            }
            let j = u64::try_from(last - index).unwrap();
            assert_eq!(places(tables, k, j), expected, "{k} of {m}, index {index}");
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
        for (room, most) in [(126, 13), (81, 18), (25, 25)] {
            let tables = Combinations::new(room, most).unwrap();
            let binomials = Binomials::up_to(room);
            for k in 3..=most {
                for c in k..room {
                    let border = u64::try_from(binomials.choose(c, k)).unwrap();
                    let at = places(&tables, k, border);
                    assert_eq!(at.last(), c);
                    assert_eq!(at.count() as usize, k);
                    let before = places(&tables, k, border - 1);
                    assert_eq!(before.last(), c - 1);
                    assert_eq!(before.count() as usize, k);
                }
                let last = binomials.choose(room, k) - 1;
                check(room, k, &tables, (last / 50).max(1));
            }
        }
    }

    #[test]
    fn what_does_not_fit_a_word_is_refused() {
        assert!(Combinations::new(126, 60).is_none());
        assert!(Combinations::new(127, 2).is_none());
    }
}
