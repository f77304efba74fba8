//! How the funnel takes a rank apart: the section by its leading bits, then words that hold several
//! digits each.

use std::ops::Range;

use super::combinations::PIECES;
use super::cuts::{Cut, times};
use super::division::Small;
use crate::game::{Hand, KINDS};
use crate::population::{Candidates, Rank};

/// The most cuts that a rank may need.
pub(super) const CUTS: usize = 4;

/// More words than there are: a power of two, for indices that need no check.
pub(super) const WORDS: usize = 8;
const _: () = assert!(CUTS < WORDS);

/// How many of the leading bits of a rank choose the bucket where the search for its section begins.
const BUCKET_BITS: u32 = 12;

/// How a variant's ranks are taken apart.
///
/// A digit of the pieces on the board is taken as two: its base C(n,b) 4^b is a factor that has to be
/// divided by, and a power of two. The hands' digits are taken together, as one; the King pair's is the
/// second. Neighbours whose bases' product fits a word make a *word*. [`Cut`]s take the words off the
/// rank from the top; what is left after the last is the lowest word. Words are split later by one-word
/// divisions, and only as far as the funnel needs them.
///
/// Ranks are counted from the end of their section: that counts every digit from the end of its range,
/// and so every combination's index, which is what [`Combinations`](super::combinations::Combinations)
/// wants.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The sections in rank order.
    sections: Vec<Section>,
    /// The leading 64 bits of the sections' first ranks.
    keys: Vec<u64>,
    /// `buckets[i]`: the last section whose key is at most the least key of bucket i; one more at the
    /// end.
    buckets: Vec<u32>,
    /// The limb that holds a rank's leading bit, and how far the bit is from its top.
    top: usize,
    spare: u32,
    /// The largest section.
    pub(super) largest: u32,
    /// For each cut, the topmost first, how many limbs its remainders have.
    pub(super) cut_limbs: Vec<usize>,
    /// For each kind but the King the words that its two digits are found in, the factor's first.
    pub(super) places: Vec<[usize; 2]>,
}

/// So many empty squares, and so many pieces to put on some of them: where tables by both have an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row(u16);

impl Row {
    pub(super) const ZERO: Row = Row(0);
    /// How many there are: for up to 127 squares.
    pub(super) const COUNT: usize = 128 * PIECES;

    #[inline(always)]
    pub(super) fn new(empty: usize, board: usize) -> Self {
        debug_assert!(empty < 128 && board < PIECES);
        Row((empty * PIECES + board) as u16)
    }

    #[inline(always)]
    pub(super) fn index(self) -> usize {
        usize::from(self.0) % Self::COUNT
    }

    #[inline(always)]
    pub(super) fn empty(self) -> usize {
        self.index() / PIECES
    }

    #[inline(always)]
    pub(super) fn board(self) -> usize {
        self.index() % PIECES
    }
}

/// What the funnel knows of a section.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Its last rank.
    last: [u64; 4],
    cuts: [Cut; CUTS],
    /// The product of the hands' bases.
    pub(super) hands: Small,
    /// For each kind but the King how many squares are empty before it is placed, and how many pieces of
    /// it stand on the board.
    pub(super) rows: [Row; KINDS],
    /// Whether its digits fit the variant's words.
    pub(super) fits: bool,
}

/// What a word may hold in the largest section: others have larger hands and more empty squares, which
/// leaves them a few bits.
const WORD: f64 = (1u64 << 58) as f64;

impl Layout {
    /// Plans the words so that the largest section fits; `None` if the variant's digits do not.
    pub(super) fn new(candidates: &Candidates) -> Option<Self> {
        let bases = |hands: Hand| bases(candidates, &hands);
        let logarithm = |hands| bases(hands).iter().map(|&base| (base as f64).log2()).sum();
        let sizes: Vec<f64> = candidates.hand_vectors().map(logarithm).collect();
        let largest = (0..sizes.len())
            .max_by(|&a, &b| sizes[a].total_cmp(&sizes[b]))
            .expect("a population has a section");
        let heaviest = bases(candidates.hand_vectors().nth(largest)?);
        let runs = runs(&heaviest)?;
        let places: Vec<usize> = (runs.iter().enumerate())
            .flat_map(|(word, run)| run.clone().map(move |_| word))
            .collect();
        let cut_limbs: Vec<usize> = section_cuts(&heaviest, &runs)?[..runs.len() - 1]
            .iter()
            .map(Cut::limbs)
            .collect();
        let starts: Vec<[u64; 4]> = candidates.section_starts().map(|r| r.limbs()).collect();
        let ends = starts[1..].iter().map(|&next| minus(next, [1, 0, 0, 0]));
        let ends = ends.chain([candidates.last().limbs()]);
        let sections: Vec<Section> = candidates
            .hand_vectors()
            .zip(ends)
            .map(|(hands, last)| {
                let bases = bases(hands);
                let mut rows = [Row::ZERO; KINDS];
                let mut room = candidates.variant().squares() - 2;
                for (kind, entry) in candidates.variant().kinds.iter().enumerate().skip(1) {
                    let board = usize::from(entry.count - hands[kind]);
                    rows[kind] = Row::new(room, board);
                    room -= board;
                }
                let cuts = section_cuts(&bases, &runs)
                    .filter(|cuts| (cuts.iter().zip(&cut_limbs)).all(|(cut, &n)| cut.limbs() <= n));
                Section {
                    last,
                    hands: Small::new(bases[HANDS]),
                    rows,
                    fits: cuts.is_some(),
                    cuts: cuts.unwrap_or([Cut::NONE; CUTS]),
                }
            })
            .collect();
        let last = candidates.last().limbs();
        let top = last.iter().rposition(|&limb| limb > 0).unwrap_or(0);
        let mut layout = Layout {
            sections,
            largest: largest as u32,
            keys: Vec::new(),
            buckets: Vec::new(),
            top,
            spare: last[top].leading_zeros().min(63),
            cut_limbs,
            places: places[KINGS + 1..].as_chunks().0.to_vec(),
        };
        layout.keys = starts.iter().map(|start| layout.key(start)).collect();
        layout.buckets = (0..1u64 << BUCKET_BITS)
            .map(|bucket| bucket << (64 - BUCKET_BITS))
            .map(|least| layout.keys.partition_point(|&key| key <= least) as u32 - 1)
            .collect();
        layout.buckets.push(layout.keys.len() as u32 - 1);
        Some(layout)
    }

    /// The leading 64 bits of a rank, as long as the largest one.
    #[inline(always)]
    fn key(&self, limbs: &[u64; 4]) -> u64 {
        let below = if self.top > 0 { limbs[self.top - 1] } else { 0 };
        limbs[self.top] << self.spare | below >> 1 >> (63 - self.spare)
    }

    /// The section of a rank.
    ///
    /// The leading bits decide, except between sections that begin with the same ones; there the whole
    /// rank does.
    #[inline(always)]
    pub(super) fn locate(&self, rank: Rank) -> u32 {
        let limbs = rank.limbs();
        let key = self.key(&limbs);
        let bucket = (key >> (64 - BUCKET_BITS)) as usize;
        let mut index = self.buckets[bucket] as usize;
        let last = self.buckets[bucket + 1] as usize;
        if last - index > 8 {
            index += self.keys[index + 1..=last].partition_point(|&first| first <= key);
        } else {
            while index < last && self.keys[index + 1] <= key {
                index += 1;
            }
        }
        if self.keys[index] == key {
            while index > 0 && Rank::from_limbs(self.sections[index - 1].last) >= rank {
                index -= 1;
            }
        }
        index as u32
    }

    #[inline(always)]
    pub(super) fn section(&self, index: u32) -> &Section {
        &self.sections[index as usize]
    }
}

/// The difference of two numbers, limb by limb.
#[inline(always)]
fn minus(mut a: [u64; 4], b: [u64; 4]) -> [u64; 4] {
    let mut borrow = false;
    for (a, b) in a.iter_mut().zip(b) {
        let (difference, first) = a.overflowing_sub(b);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        (*a, borrow) = (difference, first | second);
    }
    a
}

impl Section {
    /// How far a rank of the section is before its last one.
    #[inline(always)]
    pub(super) fn before_last(&self, rank: Rank) -> [u64; 4] {
        minus(self.last, rank.limbs())
    }

    #[inline(always)]
    pub(super) fn cut(&self, index: usize) -> &Cut {
        &self.cuts[index]
    }
}

/// Where the digits that are no kind's stand.
const HANDS: usize = 0;
const KINGS: usize = 1;

/// The bases of a section's digits: the hands', the King pair's, two for each kind; 0 for one that does
/// not fit a word.
fn bases(candidates: &Candidates, hands: &Hand) -> Vec<u64> {
    let variant = candidates.variant();
    let products = hands.iter().map(|&total| u64::from(total) + 1);
    let product = products.fold(1u64, u64::saturating_mul);
    let mut bases = vec![product, candidates.king_pairs().count() as u64];
    let mut empty = variant.squares() - 2;
    for (kind, entry) in variant.kinds.iter().enumerate().skip(1) {
        let board = entry.count - hands[kind];
        let bits = u32::from(board) * if entry.promoted.is_some() { 2 } else { 1 };
        let factor = candidates.binomials().choose(empty, board.into());
        bases.push(u64::try_from(factor).unwrap_or(0));
        bases.push(1u64.checked_shl(bits).unwrap_or(0));
        empty -= usize::from(board);
    }
    bases
}

/// Splits the digits of the heaviest section into words, the lowest first, each as long as it may be
/// from above. The hands and the King pair are in the lowest.
fn runs(bases: &[u64]) -> Option<Vec<Range<usize>>> {
    let mut runs = Vec::new();
    let mut end = bases.len();
    while end > 0 {
        let mut start = end;
        let mut size = 1.0;
        while start > 0 && size * (bases[start - 1] as f64) < WORD {
            start -= 1;
            size *= bases[start] as f64;
        }
        if start == end {
            return None;
        }
        runs.push(start..end);
        end = start;
    }
    runs.reverse();
    (runs[0].end > KINGS && runs.len() <= CUTS + 1).then_some(runs)
}

/// A section's cuts, the topmost first; `None` if its digits do not fit the words.
fn section_cuts(bases: &[u64], runs: &[Range<usize>]) -> Option<[Cut; CUTS]> {
    let mut cuts = [Cut::NONE; CUTS];
    let mut below = [1, 0, 0, 0];
    for (word, run) in runs.iter().enumerate() {
        let mut through = below;
        for &base in &bases[run.clone()] {
            through = times(through, base).filter(|_| base > 0)?;
        }
        if word > 0 {
            cuts[runs.len() - 1 - word] = Cut::new(&below, &through)?;
        } else if through[1..] != [0; 3] {
            return None;
        }
        below = through;
    }
    Some(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Variant;

    /// Otherwise comparisons with the plain way would compare it with itself.
    #[test]
    fn all_sections_fit() {
        for variant in Variant::ALL {
            let layout = Layout::new(&Candidates::new(variant).unwrap()).unwrap();
            let unfit = layout.sections.iter().filter(|section| !section.fits);
            assert_eq!(unfit.count(), 0, "{}", variant.id);
        }
    }
}
