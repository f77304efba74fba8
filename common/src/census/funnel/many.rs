//! Kinds of many pieces: categories by search, and numbers of two words.

use super::categories::CategoryTable;
use super::combinations::PIECES;
use super::division::{Small, Wide};
use super::layout::{Row, WORDS};
use crate::population::Binomials;

/// The tables of the kinds of many pieces that promote, or of those that do not.
#[derive(Clone, Debug)]
pub(super) struct Many {
    /// By b.
    categories: Box<[CategoryTable; PIECES]>,
    /// C(n,k), by row.
    choices: Box<[Small; Row::COUNT]>,
    /// By n, p and q: C(n,p) C(n-p,q); no divisor where that does not fit a word.
    pairs: Vec<Wide>,
    /// Where in an n's pairs each p begins, and how many pairs an n has.
    starts: [u16; PIECES],
    stride: usize,
}

impl Many {
    /// The tables for the kinds with these categories, by b, on up to `room` squares: nothing if there are
    /// no such kinds, `None` if a number is too large.
    pub(super) fn new(
        room: usize,
        tables: &[CategoryTable],
        binomials: &Binomials,
    ) -> Option<Option<Self>> {
        let Some(most) = tables.len().checked_sub(1) else {
            return Some(None);
        };
        let mut many = Many {
            // More pieces than there are: never asked for.
            categories: (0..PIECES)
                .map(|b| tables[b.min(most)].clone())
                .collect::<Vec<_>>()
                .try_into()
                .ok()?,
            choices: Box::new([Small::new(1); Row::COUNT]),
            pairs: Vec::new(),
            starts: [0; PIECES],
            stride: 0,
        };
        for p in 0..=most {
            many.starts[p] = many.stride as u16;
            many.stride += most - p + 1;
        }
        for n in 0..=room {
            for p in 0..=most {
                let first = u64::try_from(binomials.choose(n, p)).ok()?;
                if p <= n {
                    many.choices[Row::new(n, p).index()] = Small::new(first);
                }
                for q in 0..=most - p {
                    let left = n.saturating_sub(p);
                    let second = u64::try_from(binomials.choose(left, q)).ok()?;
                    let product = first.checked_mul(second).filter(|&product| product > 0);
                    many.pairs.push(product.map_or(Wide::NONE, Wide::new));
                }
            }
        }
        Some(Some(many))
    }

    #[inline(always)]
    fn choices(&self, n: usize, k: u8) -> &Small {
        &self.choices[Row::new(n, k.into()).index()]
    }

    /// Takes a kind's digit off its words: how many pieces its groups have, and the number inside the
    /// category.
    #[inline(always)]
    pub(super) fn take(
        &self,
        row: Row,
        places: [usize; 2],
        words: &mut [u64; WORDS],
    ) -> ([u8; 4], u128) {
        let choose = &self.choices[row.index()];
        let categories = &self.categories[row.board()];
        // See Few::take.
        let word = &mut words[places[0] % WORDS];
        let (rest, d) = choose.divide(*word);
        *word = rest;
        let word = &mut words[places[1] % WORDS];
        let u = *word & categories.mask();
        *word >>= categories.bits();
        let category = categories.find(u);
        let x = u128::from(u - category.start) * u128::from(choose.divisor) + u128::from(d);
        (category.counts, x)
    }

    /// The number inside a category taken apart: the promoted groups' part of it, and the others'; `None` if
    /// they do not fit two words.
    #[inline(always)]
    pub(super) fn halves(&self, row: Row, counts: [u8; 4], x: u128) -> Option<[u64; 2]> {
        let [p, q, ..] = counts.map(usize::from);
        let pair = usize::from(self.starts[p % PIECES]) + q;
        // Two groups at once: with the promoted pieces gone, what is left fits a word, nearly always.
        let (others, promoted) = self.pairs[row.empty() * self.stride + pair].divide_to_word(x)?;
        Some([promoted, others])
    }

    /// The halves as the groups' indices.
    #[inline(always)]
    pub(super) fn indices(&self, row: Row, counts: [u8; 4], halves: [u64; 2]) -> [u64; 4] {
        let ([p, q, r, _], n) = (counts, row.empty());
        let (second, first) = self.choices(n, p).divide(halves[0]);
        let left = n - usize::from(p) - usize::from(q);
        let (fourth, third) = self.choices(left, r).divide(halves[1]);
        [first, second, third, fourth]
    }

    #[cold]
    pub(super) fn indices_one_by_one(&self, row: Row, counts: [u8; 4], mut x: u128) -> [u64; 4] {
        let mut n = row.empty();
        counts.map(|k| {
            let base = u128::from(self.choices(n, k).divisor);
            n -= usize::from(k);
            let index = (x % base) as u64;
            x /= base;
            index
        })
    }
}
