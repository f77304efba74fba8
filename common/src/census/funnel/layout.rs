//! How the funnel takes a rank apart: the section by its leading bits, then words that hold several
//! digits each.

use std::ops::Range;

use num_traits::ToPrimitive;

use super::division::{Small, Wide};
use crate::game::Hand;
use crate::population::{Binomials, Candidates, Rank};

/// The most cuts that a rank may need.
pub(super) const CUTS: usize = 3;

/// How many of the leading bits of a rank choose the bucket where the search for its section begins.
const BUCKET_BITS: u32 = 12;

/// A digit's base is a factor that has to be divided by, times a power of two: C(n,b) 4^b for the
/// pieces on the board. The hands' bases are taken together, as one digit; the King pair is the second.
const BEFORE_KINDS: usize = 2;

/// How a variant's ranks are taken apart.
///
/// Division of a 256-bit number costs most of all steps, so it is done seldom: digits are taken in runs
/// whose bases' product fits a word. A *cut* divides by the product of a run's factors, all powers of
/// two in between included; the remainder is the run's word and the quotient's low bits are what the
/// power of two of the run's last digit counts. What is left after the last cut fits a word. Words are
/// split later by one-word divisions, and only as far as the funnel needs them.
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
    /// For each cut how many words its quotient has.
    pub(super) steps: Vec<usize>,
    /// For each kind but the King where its digit is found.
    pub(super) places: Vec<Place>,
    /// Where the King pair is found.
    pub(super) kings: Place,
}

/// Where a digit is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The word.
    pub(super) word: usize,
    /// Whether it is the word's first digit.
    pub(super) opens: bool,
    /// Whether the word's cut ends inside it: the word's rest is its remainder by the factor, and the
    /// bits from the cut's quotient its quotient.
    pub(super) closes: bool,
}

/// What the funnel knows of a section.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// Its last rank.
    last: [u64; 4],
    cuts: [Cut; CUTS],
    /// The product of the hands' bases.
    pub(super) hands: Small,
    /// How many pieces of each kind stand on the board; the King's entry is 0.
    pub(super) board: Hand,
    /// Whether its digits fit the variant's words.
    pub(super) fits: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    divisor: Wide,
    /// How many bits of the quotient belong to the last digit.
    bits: u8,
    /// How many bits of the number belong to the cut before: they are 0 now, and not shifted out, but
    /// the divisor has as many zeros below it.
    below: u8,
}

/// A digit's base, as a factor and a number of bits.
#[derive(Clone, Copy, Debug)]
struct Base {
    factor: f64,
    exact: Option<u64>,
    bits: u32,
}

impl Base {
    fn new(factor: u128, bits: u32) -> Self {
        Base {
            factor: factor.to_f64().unwrap_or(f64::INFINITY),
            exact: u64::try_from(factor).ok(),
            bits,
        }
    }

    fn size(&self) -> f64 {
        self.factor * 2f64.powi(self.bits.cast_signed())
    }
}

/// A product of bases below this surely fits a word: rounding moves it by less than one part in 2^40.
/// These products decide only which way a rank is taken apart, never what comes out.
const WORD: f64 = 18_446_744_073_709_551_616.0 * (1.0 - 1e-12);

impl Layout {
    /// Plans the words so that the largest section fits; `None` if the variant's digits do not.
    pub(super) fn new(candidates: &Candidates) -> Option<Self> {
        // They are made twice: kept, those of shogi's hundred thousand sections would take more room
        // than all tables together.
        let all_bases = || {
            candidates
                .hand_vectors()
                .map(|hands| bases(candidates, &hands))
        };
        let size = |bases: &[Base]| bases.iter().map(Base::size).product::<f64>();
        let (largest, heaviest) = all_bases()
            .enumerate()
            .max_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)))
            .expect("a population has a section");
        let heaviest = &heaviest;
        let runs = plan(heaviest)?;
        let mut steps = Vec::new();
        let mut left = size(heaviest);
        let mut places = Vec::new();
        for (word, run) in runs.iter().enumerate() {
            let cut = word + 1 < runs.len();
            for digit in run.clone() {
                places.push(Place {
                    word,
                    opens: digit == run.start,
                    closes: cut && digit + 1 == run.end,
                });
            }
            if cut {
                let divisor = cut_size(heaviest, run);
                let words = (left / divisor).log2() / 64.0;
                steps.push(words.ceil().max(1.0) as usize);
                left /= divisor * 2f64.powi(heaviest[run.end - 1].bits.cast_signed());
            }
        }
        if runs[0].len() < BEFORE_KINDS
            || steps.len() > CUTS
            || steps.iter().any(|&words| words > 4)
        {
            return None;
        }
        let starts: Vec<[u64; 4]> = candidates.section_starts().map(|r| r.limbs()).collect();
        let ends = starts[1..].iter().map(|&next| minus(next, [1, 0, 0, 0]));
        let ends = ends.chain([candidates.last().limbs()]);
        let sections: Vec<Section> = candidates
            .hand_vectors()
            .zip(all_bases())
            .zip(ends)
            .map(|((hands, bases), last)| {
                let mut board = Hand::default();
                for (kind, entry) in candidates.variant().kinds.iter().enumerate().skip(1) {
                    board[kind] = entry.count - hands[kind];
                }
                let cuts = section_cuts(&bases, &runs, &steps);
                Section {
                    last,
                    hands: Small::new(bases[0].exact.unwrap_or(1)),
                    board,
                    fits: cuts.is_some(),
                    cuts: cuts.unwrap_or([Cut::NONE; CUTS]),
                }
            })
            .collect();
        if !sections[largest].fits {
            return None;
        }
        let last = candidates.last().limbs();
        let top = last.iter().rposition(|&limb| limb > 0).unwrap_or(0);
        let mut layout = Layout {
            sections,
            largest: largest as u32,
            keys: Vec::new(),
            buckets: Vec::new(),
            top,
            spare: last[top].leading_zeros().min(63),
            steps,
            kings: places[1],
            places: places.split_off(BEFORE_KINDS),
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

    /// The section of a rank, and how far before the section's last rank it is.
    ///
    /// The leading bits decide, except between sections that begin with the same ones; there the whole
    /// rank does.
    #[inline(always)]
    pub(super) fn locate(&self, rank: Rank) -> (u32, [u64; 4]) {
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
        (index as u32, minus(self.sections[index].last, limbs))
    }

    /// What the cuts leave: the last word.
    #[inline(always)]
    pub(super) fn last_word(&self, section: &Section, rest: &[u64; 4]) -> u64 {
        match self.steps.len().checked_sub(1) {
            None => rest[0],
            Some(cut) => {
                let bits = section.cut(cut).bits;
                rest[0] >> bits | (rest[1] << 1) << (63 - bits)
            }
        }
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
    #[inline(always)]
    pub(super) fn cut(&self, index: usize) -> &Cut {
        &self.cuts[index]
    }
}

impl Cut {
    const NONE: Cut = Cut {
        divisor: Wide::NONE,
        bits: 0,
        below: 0,
    };

    /// Divides, and gives the word and the bits that belong to its last digit.
    #[inline(always)]
    pub(super) fn take<const STEPS: usize>(&self, rest: &mut [u64; 4]) -> (u64, u64) {
        let word = self.divisor.divide_limbs::<STEPS>(rest) >> self.below;
        let high = rest[0] & !(u64::MAX << self.bits);
        rest[0] -= high;
        (word, high)
    }
}

/// The bases of a section's digits: the hands', the King pair's, the kinds'.
fn bases(candidates: &Candidates, hands: &Hand) -> Vec<Base> {
    let variant = candidates.variant();
    let binomials: &Binomials = candidates.binomials();
    let products = hands.iter().map(|&total| u128::from(total) + 1);
    let mut bases = vec![
        Base::new(products.product(), 0),
        Base::new(candidates.king_pairs().count() as u128, 0),
    ];
    let mut empty = variant.squares() - 2;
    for (kind, entry) in variant.kinds.iter().enumerate().skip(1) {
        let board = entry.count - hands[kind];
        let bits = u32::from(board) * if entry.promoted.is_some() { 2 } else { 1 };
        bases.push(Base::new(binomials.choose(empty, board.into()), bits));
        empty -= usize::from(board);
    }
    bases
}

/// Splits the digits of the heaviest section into runs, the last of which needs no cut.
fn plan(bases: &[Base]) -> Option<Vec<Range<usize>>> {
    let mut runs = Vec::new();
    let mut start = 0;
    loop {
        let left: f64 = bases[start..].iter().map(Base::size).product();
        if left < WORD {
            runs.push(start..bases.len());
            return Some(runs);
        }
        // Other sections have larger hands and more empty squares: leave them some bits.
        let most = WORD / if start == 0 { 64.0 } else { 4.0 };
        let mut end = start + 1;
        while end < bases.len() && divisor_size(bases, &(start..end + 1)) < most {
            end += 1;
        }
        if divisor_size(bases, &(start..end)) >= WORD {
            return None;
        }
        runs.push(start..end);
        start = end;
    }
}

/// What a cut after this run divides by.
fn cut_size(bases: &[Base], run: &Range<usize>) -> f64 {
    let before: f64 = bases[run.start..run.end - 1]
        .iter()
        .map(Base::size)
        .product();
    before * bases[run.end - 1].factor
}

/// The same with the bits of the cut before below it.
fn divisor_size(bases: &[Base], run: &Range<usize>) -> f64 {
    cut_size(bases, run) * 2f64.powi(below(bases, run).cast_signed())
}

/// How many bits of the number belong to the cut before this run.
fn below(bases: &[Base], run: &Range<usize>) -> u32 {
    run.start
        .checked_sub(1)
        .map_or(0, |before| bases[before].bits)
}

/// A section's cuts; `None` if its digits do not fit the planned words.
fn section_cuts(bases: &[Base], runs: &[Range<usize>], steps: &[usize]) -> Option<[Cut; CUTS]> {
    let mut cuts = [Cut::NONE; CUTS];
    let mut left: f64 = bases.iter().map(Base::size).product();
    for ((run, &steps), cut) in runs.iter().zip(steps).zip(&mut cuts) {
        let size = cut_size(bases, run);
        let words = 64 * i32::try_from(steps).ok()?;
        if divisor_size(bases, run) >= WORD || left / size >= 2f64.powi(words) * (1.0 - 1e-12) {
            return None;
        }
        let mut divisor = 1u64;
        for (digit, base) in run.clone().zip(&bases[run.clone()]) {
            divisor = divisor.checked_mul(base.exact?)?;
            if digit + 1 < run.end {
                divisor = divisor.checked_mul(1u64.checked_shl(base.bits)?)?;
            }
        }
        let bits = bases[run.end - 1].bits;
        if bits > 63 {
            return None;
        }
        let below = below(bases, run);
        *cut = Cut {
            divisor: Wide::new(divisor.checked_mul(1u64.checked_shl(below)?)?),
            bits: bits as u8,
            below: below as u8,
        };
        left /= size * 2f64.powi(bits.cast_signed());
    }
    (left < WORD).then_some(cuts)
}
