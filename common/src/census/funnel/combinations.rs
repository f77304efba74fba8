//! Combinations by index, as sets of places.

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
    /// `guesses[k][key(j)]`: the largest c with C(c, k) at most the least j of that key.
    guesses: Box<[[u8; GUESSES]; PIECES]>,
    /// `pairs[k][j]` for k up to 2: the places, and [`NOWHERE`] where there are fewer.
    pairs: Box<[[[u8; 2]; 1 << PAIR_BITS]; 4]>,
    /// The same for k up to 3, one k after the other, each beginning at its start.
    triples: Vec<[u8; 4]>,
    starts: [u32; 4],
}

/// How long tables by place are: one more than a byte and one can say, so that no index needs a check.
pub(super) const PLACES: usize = 257;

/// More than any number of pieces of a group.
pub(super) const PIECES: usize = 32;

/// What stands for no place: greater than any.
pub(super) const NOWHERE: u8 = 127;

/// C(126, 2) is less than 2 to this.
const PAIR_BITS: u32 = 13;

/// A key is made of the place of the leading bit and the six bits after it; 0 is the key of 0 alone.
const MANTISSA: u32 = 6;
const KEY_BITS: u32 = 6 + MANTISSA;

/// A row of guesses, and as much beside it as keeps the rows' like keys off the same lines of a cache.
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
        for c in 0..=places {
            columns[0][c] = 1;
            for k in 1..=most {
                columns[k][c] = match c.checked_sub(1) {
                    None => 0,
                    Some(c) => {
                        Some(columns[k][c] + columns[k - 1][c]).filter(|&sum| sum < 1 << 62)?
                    }
                };
            }
        }
        let mut guesses = Box::new([[0; GUESSES]; PIECES]);
        for k in 3..=most {
            for (key, guess) in guesses[k][..1 << KEY_BITS].iter_mut().enumerate() {
                let Some(least) = least(key) else { continue };
                let c = columns[k].partition_point(|&value| value <= least) - 1;
                *guess = c.min(places) as u8;
            }
        }
        let room = 0..places as u8;
        let singles = room.clone().map(|c| [c, NOWHERE, NOWHERE, NOWHERE]);
        let mut triples = vec![[NOWHERE; 4]];
        let mut starts = [0; 4];
        starts[1] = triples.len() as u32;
        triples.extend(singles);
        starts[2] = triples.len() as u32;
        for c in room.clone() {
            triples.extend((0..c).map(|d| [c, d, NOWHERE, NOWHERE]));
        }
        starts[3] = triples.len() as u32;
        for c in room {
            for d in 0..c {
                triples.extend((0..d).map(|e| [c, d, e, NOWHERE]));
            }
        }
        let mut pairs = Box::new([[[NOWHERE; 2]; 1 << PAIR_BITS]; 4]);
        for k in 1..3 {
            let all = &triples[starts[k] as usize..starts[k + 1] as usize];
            for (pair, &[c, d, ..]) in pairs[k].iter_mut().zip(all) {
                *pair = [c, d];
            }
        }
        Some(Combinations {
            columns,
            guesses,
            pairs,
            triples,
            starts,
        })
    }

    /// The places of the k-element combination with index j, in descending order; some [`NOWHERE`]
    /// among them.
    ///
    /// The last ones come from a table. Each of the others costs a guess and a comparison: between two
    /// keys C(c, k) grows by less than one place (k/c is greater than 2^-6 for k of 3 and more and c up
    /// to 126), so the guess is right or one less. There are three loads between one place and the next.
    ///
    /// `MANY`: take the last three from the larger table, not the last two from the smaller one.
    #[inline(always)]
    pub(super) fn each_place<const MANY: bool>(
        &self,
        k: u8,
        mut j: u64,
        mut visit: impl FnMut(usize),
    ) {
        let mut k = usize::from(k) % PIECES;
        while k > if MANY { 3 } else { 2 } {
            let column = &self.columns[k];
            let guess = usize::from(self.guesses[k][key(j)]);
            let c = guess + usize::from(column[guess + 1] <= j);
            j -= column[c];
            visit(c);
            k -= 1;
        }
        if MANY {
            let [c, d, e, _] = self.triples[self.starts[k] as usize + j as usize];
            visit(c.into());
            visit(d.into());
            visit(e.into());
        } else {
            let [c, d] = self.pairs[k][j as usize % (1 << PAIR_BITS)];
            visit(c.into());
            visit(d.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Bits;
    use crate::population::Binomials;

    fn places(tables: &Combinations, k: usize, j: u64) -> u128 {
        let mut sets = [0; 2];
        let visit = |set: &mut u128, place| {
            if place < usize::from(NOWHERE) {
                *set |= u128::bit(place);
            }
        };
        tables.each_place::<false>(k as u8, j, |place| visit(&mut sets[0], place));
        tables.each_place::<true>(k as u8, j, |place| visit(&mut sets[1], place));
        assert_eq!(sets[0], sets[1]);
        sets[0]
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
