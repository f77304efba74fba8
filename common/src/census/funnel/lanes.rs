//! Lanes: the samples of a batch on their way, and sets of them.

use super::combinations::PIECES;
use super::files::FileSums;
use super::layout::{Layout, Row, WORDS};
use super::trail::Trail;
use crate::census::Outcome;
use crate::game::{Bits, KINDS};
use crate::population::Rank;

/// The most samples of a batch: what one refill of the draws keeps at most.
pub(super) const BATCH: usize = 64;

/// A sample on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) section: u32,
    /// The King digit.
    pub(super) kings: u32,
    /// The hands' digits, as one.
    pub(super) hands: u64,
    /// How far the rank is before its section's end, and later what the cuts have left of it.
    pub(super) rest: [u64; 4],
    /// What is left of each word.
    pub(super) words: [u64; WORDS],
    /// Where the tables by numbers of squares and pieces have each kind.
    pub(super) rows: [Row; KINDS],
    /// How many pieces each group of each kind has, of the kinds that have been taken off the words.
    pub(super) counts: [[u8; 4]; KINDS],
    /// Of the kind that was taken last, which combination of the empty squares each group takes, counted
    /// from the last; of the groups that are not placed yet.
    pub(super) indices: [u64; 4],
    /// Where the groups stand that are placed.
    pub(super) trail: Trail,
    /// How many squares are empty beside the Kings, by files, and how many before the group that is counted
    /// next.
    pub(super) beside_kings: FileSums,
    pub(super) empty: FileSums,
}

impl Lane {
    pub(super) const NEW: Self = Lane {
        section: 0,
        kings: 0,
        hands: 0,
        rest: [0; 4],
        words: [0; WORDS],
        rows: [Row::ZERO; KINDS],
        counts: [[0; 4]; KINDS],
        indices: [0; 4],
        trail: Trail::NEW,
        beside_kings: FileSums::ZERO,
        empty: FileSums::ZERO,
    };

    /// Begins with a rank of its section. One whose section does not fit the words is left out later: in
    /// its lane the largest section's last rank keeps the others company.
    #[inline(always)]
    pub(super) fn enter(&mut self, layout: &Layout, rank: Rank) -> bool {
        let mut section = layout.section(self.section);
        let fits = section.fits;
        self.rest = section.before_last(rank);
        if !fits {
            self.section = layout.largest;
            self.rest = [0; 4];
            section = layout.section(self.section);
        }
        self.rows = section.rows;
        self.trail.clear();
        fits
    }
}

/// Samples of a batch, by number.
#[derive(Clone, Copy, Default)]
pub(super) struct Samples(u64);

const _: () = assert!(BATCH == u64::BITS as usize);

impl Samples {
    pub(super) const NONE: Samples = Samples(0);

    /// Adds a sample or not, without a branch.
    #[inline(always)]
    pub(super) fn insert_if(&mut self, wanted: bool, sample: usize) {
        self.0 |= u64::from(wanted) << sample;
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, sample: usize) {
        self.0 &= !(1 << sample);
    }

    /// The first so many.
    pub(super) fn first(count: usize) -> Samples {
        Samples(u64::MAX.checked_shr((BATCH - count) as u32).unwrap_or(0))
    }

    /// Writes their outcome.
    #[inline(always)]
    pub(super) fn mark(self, outcomes: &mut [u8], outcome: Outcome) {
        for sample in self.iter() {
            outcomes[sample] = outcome as u8;
        }
    }

    #[inline(always)]
    pub(super) fn without(self, other: Samples) -> Samples {
        Samples(self.0 & !other.0)
    }

    #[inline(always)]
    pub(super) fn with(self, other: Samples) -> Samples {
        Samples(self.0 | other.0)
    }

    #[inline(always)]
    pub(super) fn holds(self, sample: usize) -> bool {
        self.0 >> sample & 1 == 1
    }

    /// In ascending order.
    #[inline(always)]
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        self.0.squares().map(|sample| sample % BATCH)
    }

    /// In the order of a number below [`PIECES`].
    ///
    /// A loop that runs so often for each sample then ends as the processor expects, but for a few times a
    /// batch. (Measured on shogi's Pawns: 3.1 mispredicted branches a sample, now 1.3.)
    #[inline(always)]
    pub(super) fn sorted(self, mut number: impl FnMut(usize) -> u8) -> Sorted {
        let mut starts = [0u8; PIECES];
        for sample in self.iter() {
            starts[usize::from(number(sample)) % PIECES] += 1;
        }
        let mut start = 0;
        for count in &mut starts {
            (*count, start) = (start, start + *count);
        }
        let mut sorted = Sorted {
            items: [0; BATCH],
            len: usize::from(start),
        };
        for sample in self.iter() {
            let start = &mut starts[usize::from(number(sample)) % PIECES];
            sorted.items[usize::from(*start) % BATCH] = sample as u8;
            *start += 1;
        }
        sorted
    }
}

/// Samples of a batch in another order.
pub(super) struct Sorted {
    items: [u8; BATCH],
    len: usize,
}

impl Sorted {
    #[inline(always)]
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        let items = self.items[..self.len].iter();
        items.map(|&sample| usize::from(sample) % BATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_sort_by_number_and_stay_in_order_beside_their_likes() {
        let mut samples = Samples::NONE;
        for sample in [0, 3, 5, 7, 40, 63] {
            samples.insert_if(true, sample);
            samples.insert_if(false, (sample + 1) % BATCH);
        }
        let number = |sample: usize| (sample % 4) as u8;
        let sorted: Vec<usize> = samples.sorted(number).iter().collect();
        assert_eq!(sorted, [0, 40, 5, 3, 7, 63]);
        assert_eq!(Samples::NONE.sorted(number).iter().count(), 0);
        assert_eq!(Samples::first(BATCH).iter().count(), BATCH);
        assert_eq!(Samples::first(0).iter().count(), 0);
        assert!(Samples::first(3).without(samples).iter().eq(1..3));
    }
}
