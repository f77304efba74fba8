//! Kinds of few pieces: all that a category's groups need on one line of a cache.

use super::categories::{CategoryTable, Entry};
use super::combinations::Combinations;
use super::division::{Small, divide_short};
use super::layout::{Row, WORDS};
use crate::population::Binomials;

/// The most bits that u may have: the table holds an entry for each.
const BITS: u32 = 12;

/// The tables of the kinds of few pieces that promote, or of those that do not.
#[derive(Clone, Debug)]
pub(super) struct Few {
    rows: Box<[Start; Row::COUNT]>,
    /// By b and u, the category's number.
    categories: Vec<u8>,
    /// By row and category.
    lines: Vec<Line>,
}

/// Where a row's tables begin.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// C(n,b).
    choose: Small,
    lines: u32,
    categories: u32,
    /// How many bits u has.
    bits: u32,
}

/// A category of b pieces on n empty squares.
///
/// Looked up by themselves, in tables that serve many n and b, the divisors alone took 15 instructions
/// each.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line {
    /// The bases of the first three groups' indices, and their inverses.
    inverses: [u64; 3],
    bases: [u32; 3],
    /// Its first digit.
    first: u32,
    /// For each group, where the combinations of so many pieces begin among [`Combinations::few`]; [`LONG`]
    /// if some group has none there.
    combinations: [u32; 4],
    pub(super) counts: [u8; 4],
    /// How many pieces the groups before each have.
    pub(super) before: [u8; 4],
}

/// What stands for the start of combinations that are in no table; greater than any.
const LONG: u32 = 1 << 31;

impl Few {
    /// Whether the categories of a kind, by b, are few enough, on up to `room` squares.
    pub(super) fn fit(room: usize, tables: &[CategoryTable], binomials: &Binomials) -> bool {
        tables.iter().enumerate().all(|(b, table)| {
            let digits = binomials.choose(room, b).checked_mul(1 << table.bits());
            table.bits() <= BITS
                && table.list().len() <= usize::from(u8::MAX)
                && digits.is_some_and(|digits| digits < u128::from(LONG))
        })
    }

    /// The tables for the kinds with these categories, by b, which fit.
    pub(super) fn new(
        room: usize,
        tables: &[CategoryTable],
        binomials: &Binomials,
        combinations: &Combinations,
    ) -> Self {
        let nothing = Start {
            choose: Small::new(1),
            lines: 0,
            categories: 0,
            bits: 0,
        };
        let mut few = Few {
            rows: Box::new([nothing; Row::COUNT]),
            categories: Vec::new(),
            lines: Vec::new(),
        };
        for (b, table) in tables.iter().enumerate() {
            let categories = few.categories.len() as u32;
            few.categories
                .extend((0..=table.mask()).map(|u| table.number(u) as u8));
            for n in b..=room {
                few.rows[Row::new(n, b).index()] = Start {
                    choose: Small::new(binomials.choose(n, b) as u64),
                    lines: few.lines.len() as u32,
                    categories,
                    bits: table.bits(),
                };
                few.lines.extend(
                    (table.list().iter())
                        .map(|entry| Line::new(n, b, entry, binomials, combinations)),
                );
            }
        }
        few
    }

    /// Takes a kind's digit off its words: its category's line, and the number inside the category.
    #[inline(always)]
    pub(super) fn take(&self, row: Row, places: [usize; 2], words: &mut [u64; WORDS]) -> Choice {
        let start = &self.rows[row.index()];
        // The digit divided by C(n,b): quotient and remainder. The highest digit of a word is less than
        // the divisor, as it should be.
        let word = &mut words[places[0] % WORDS];
        let (rest, d) = start.choose.divide(*word);
        *word = rest;
        let word = &mut words[places[1] % WORDS];
        let u = *word & ((1 << start.bits) - 1);
        *word >>= start.bits;
        let category = self.categories[start.categories as usize + u as usize];
        Choice {
            line: start.lines + u32::from(category),
            digit: (u * start.choose.divisor + d) as u32,
        }
    }

    #[inline(always)]
    pub(super) fn line(&self, choice: Choice) -> &Line {
        &self.lines[choice.line as usize]
    }
}

/// A kind's digit, and its category.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    line: u32,
    digit: u32,
}

impl Choice {
    pub(super) const NONE: Choice = Choice { line: 0, digit: 0 };
}

impl Line {
    fn new(
        n: usize,
        b: usize,
        entry: &Entry,
        binomials: &Binomials,
        combinations: &Combinations,
    ) -> Self {
        let mut empty = n;
        let bases = entry.counts.map(|k| {
            let base = binomials.choose(empty, k.into());
            empty -= usize::from(k);
            u32::try_from(base).expect("a factor of a category's size, which fits")
        });
        let bases = [bases[0], bases[1], bases[2]];
        let short = entry.counts.iter().all(|&k| k < 4);
        let mut before = 0;
        Line {
            inverses: bases.map(|base| Small::new(base.into()).inverse()),
            bases,
            first: u32::try_from(u128::from(entry.start) * binomials.choose(n, b))
                .expect("a digit, which fits"),
            combinations: entry
                .counts
                .map(|k| if short { combinations.start(k) } else { LONG }),
            counts: entry.counts,
            before: entry.counts.map(|k| {
                before += k;
                before - k
            }),
        }
    }

    /// The groups' combinations; those before the `FIRST` have no pieces, and none here.
    #[inline(always)]
    pub(super) fn combinations<const FIRST: usize>(&self, choice: Choice) -> [u32; 4] {
        let mut x = u64::from(choice.digit - self.first);
        let mut combinations = self.combinations;
        let divisors = self.bases.iter().zip(&self.inverses);
        for (combination, (&base, &inverse)) in combinations.iter_mut().zip(divisors).skip(FIRST) {
            let index;
            (x, index) = divide_short(x, base.into(), inverse);
            *combination += index as u32;
        }
        combinations[3] += x as u32;
        combinations
    }

    /// Whether all groups' combinations are in the table of few.
    #[inline(always)]
    pub(super) fn are_few(combinations: [u32; 4]) -> bool {
        combinations[3] < LONG
    }

    /// The groups' indices, by their combinations.
    #[inline(always)]
    pub(super) fn indices(&self, combinations: [u32; 4]) -> [u64; 4] {
        std::array::from_fn(|number| u64::from(combinations[number] - self.combinations[number]))
    }
}
