//! The Kings and the pieces on the board, from digits to sets of squares.
//!
//! Boards are read backwards and stand at the top of the set: square s is bit `CAPACITY - 1 - s`, what
//! [`Bits::reversed`] makes of it. So the places that [`Combinations`] counts from the far end are the
//! low bits, and placing a whole group is one [`Deposit`] onto the empty squares.

use super::arm::Deposit;
use super::categories::CategoryTable;
use super::combinations::Combinations;
use super::division::{Small, Wide};
use super::layout::{CUTS, Layout, Place};
use crate::game::{Bits, Rules, Side};
use crate::population::Candidates;

/// The tables of one variant.
#[derive(Clone, Debug)]
pub(super) struct Kinds<B> {
    /// By King digit the squares of the Kings, Black's first, as bit numbers.
    king_pairs: Vec<[u8; 2]>,
    king_count: Small,
    kings: Place,
    /// The central file; empty if there is none.
    central: B,
    board: B,
    room: usize,
    list: Vec<KindTable<B>>,
    /// How many kinds are placed when the last Pawn stands.
    until_pawns: usize,
    /// Whether the first kind leads the mirror comparison, so that it may decide it.
    first_decides: bool,
    combinations: Combinations<B>,
    /// `small[n * stride + k]` and `wide[...]`: division by C(n, k).
    stride: usize,
    small: Vec<Small>,
    wide: Vec<Wide>,
    files: Vec<B>,
    /// The last bit of each file.
    file_tops: B,
}

/// One kind but the King.
#[derive(Clone, Debug)]
pub(super) struct KindTable<B> {
    /// Its number in the variant's table.
    pub(super) kind: usize,
    place: Place,
    /// 0 if it promotes; 2 if the groups of promoted pieces are always empty.
    first_group: usize,
    /// How many unpromoted pieces one side may have on a file.
    file_limit: Option<u8>,
    /// Whether its digits need two words.
    wide: bool,
    /// By the number of pieces on the board.
    categories: Vec<CategoryTable>,
    /// Where the unpromoted pieces of each side could never move.
    pub(super) immobile: [B; 2],
}

/// A kind's digit, taken apart: for each group the number of pieces and the index of their
/// combination, from the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    pub(super) counts: [u8; 4],
    pub(super) indices: [u64; 4],
}

impl Split {
    pub(super) const NEW: Split = Split {
        counts: [0; 4],
        indices: [0; 4],
    };
}

/// The words of one sample, as far as they are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    pub(super) values: [u64; CUTS + 1],
    /// The bits beside each cut.
    pub(super) highs: [u64; CUTS + 1],
    /// What is left of the present word.
    present: u64,
}

impl Words {
    pub(super) const NEW: Words = Words {
        values: [0; CUTS + 1],
        highs: [0; CUTS + 1],
        present: 0,
    };

    /// Begins to read a word.
    #[inline(always)]
    pub(super) fn open(&mut self, word: usize) {
        self.present = self.values[word];
    }
}

impl<B: Bits> Kinds<B> {
    /// `None` if some number does not fit.
    pub(super) fn new(rules: &Rules<B>, candidates: &Candidates, layout: &Layout) -> Option<Self> {
        let variant = candidates.variant();
        let squares = variant.squares();
        // The deposit needs one bit of a two-word set to be no square.
        if squares >= 127 {
            return None;
        }
        let pairs = candidates.king_pairs();
        let bit = |square: usize| (B::CAPACITY - 1 - square) as u8;
        let room = squares - 2;
        let most = variant.kinds[1..]
            .iter()
            .map(|kind| room.min(kind.count.into()))
            .max();
        let stride = most.unwrap_or(0) + 1;
        let binomials = candidates.binomials();
        let mut small = Vec::new();
        let mut wide = Vec::new();
        for n in 0..=room {
            for k in 0..stride {
                // C(n,k) = 0 is never divided by.
                let divisor = u64::try_from(binomials.choose(n, k)).ok()?.max(1);
                small.push(Small::new(divisor));
                wide.push(Wide::new(divisor));
            }
        }
        let mut list = Vec::new();
        for (kind, entry) in variant.kinds.iter().enumerate().skip(1) {
            let promotes = entry.promoted.is_some();
            let plain = candidates.categories(kind);
            let bits = |b: usize| b as u32 * if promotes { 2 } else { 1 };
            let largest = |b: usize| binomials.choose(room, b).checked_shl(bits(b));
            let widest = (0..plain.len()).map(|b| {
                let size = largest(b)?;
                (size >> bits(b) == binomials.choose(room, b)).then_some(size)
            });
            let widest = widest.collect::<Option<Vec<u128>>>()?.into_iter().max()?;
            list.push(KindTable {
                kind,
                place: layout.places[kind - 1],
                first_group: if promotes { 0 } else { 2 },
                file_limit: entry.file_limit,
                wide: u64::try_from(widest).is_err(),
                categories: (0..)
                    .zip(plain)
                    .map(|(b, categories)| CategoryTable::new(categories, bits(b)))
                    .collect::<Option<_>>()?,
                immobile: Side::BOTH.map(|side| {
                    let standing = rules.standing[side as usize][kind];
                    (rules.board & !standing).reversed()
                }),
            });
        }
        let until_pawns = list.iter().rposition(|kind| kind.file_limit.is_some());
        let central = match variant.width % 2 {
            1 => rules.files[usize::from(variant.width / 2)].reversed(),
            _ => B::EMPTY,
        };
        let first = variant.kinds.get(1);
        let leader = variant
            .mirror_order
            .chars()
            .find(|&c| c != variant.kinds[0].letter && variant.kinds.iter().any(|k| k.letter == c));
        Some(Kinds {
            king_pairs: (0..pairs.count())
                .map(|digit| pairs.unrank(digit))
                .map(|(black, white)| [bit(black), bit(white)])
                .collect(),
            king_count: Small::new(pairs.count() as u64),
            kings: layout.kings,
            central,
            board: rules.board.reversed(),
            room,
            until_pawns: until_pawns.map_or(0, |last| last + 1),
            first_decides: first.is_some_and(|k| k.mirror == k.letter && leader == Some(k.letter)),
            combinations: Combinations::new(room, stride - 1)?,
            list,
            stride,
            small,
            wide,
            files: rules.files.iter().map(|file| file.reversed()).collect(),
            file_tops: rules
                .files
                .iter()
                .fold(B::EMPTY, |tops, file| tops | B::bit(file.reversed().last())),
        })
    }

    /// All kinds but the King, in the type order.
    pub(super) fn all(&self) -> &[KindTable<B>] {
        &self.list
    }

    /// The kinds up to the last that a file may not hold many of.
    pub(super) fn until_pawns(&self) -> &[KindTable<B>] {
        &self.list[..self.until_pawns]
    }

    /// The Kings, Black's first, and the rest of the first word.
    #[inline(always)]
    pub(super) fn kings(&self, word: u64) -> ([B; 2], u64) {
        let (rest, digit) = if self.kings.closes {
            (0, word)
        } else {
            self.king_count.divide(word)
        };
        let pair = self.king_pairs[digit as usize];
        (pair.map(|bit| B::bit(usize::from(bit))), rest)
    }

    /// The squares without a King.
    #[inline(always)]
    pub(super) fn empty_beside(&self, kings: &[B; 2]) -> B {
        self.board ^ kings[0] ^ kings[1]
    }

    /// Whether both Kings stand on the central file.
    #[inline(always)]
    pub(super) fn both_central(&self, kings: &[B; 2]) -> bool {
        ((kings[0] | kings[1]) & !self.central).is_empty()
    }

    /// Takes the digit of a kind with b pieces on the board and n squares empty.
    #[inline(always)]
    pub(super) fn split(&self, kind: &KindTable<B>, words: &mut Words, b: u8, n: usize) -> Split {
        let b = usize::from(b);
        let categories = &kind.categories[b];
        let choose = &self.small[n * self.stride + b];
        if kind.place.opens {
            words.open(kind.place.word);
        }
        // The digit divided by C(n, b): quotient and remainder.
        let (u, d) = if kind.place.closes {
            (words.highs[kind.place.word], words.present)
        } else {
            let (quotient, d) = choose.divide(words.present);
            words.present = quotient >> categories.bits();
            (quotient & categories.mask(), d)
        };
        let category = categories.find(u);
        let mut split = Split {
            counts: category.counts,
            indices: [0; 4],
        };
        let mut m = n;
        let (mut x, mut high) = {
            let x = u128::from(u - category.start) * u128::from(choose.divisor) + u128::from(d);
            (x as u64, (x >> 64) as u64)
        };
        for group in kind.first_group..4 {
            let k = usize::from(split.counts[group]);
            let row = m * self.stride + k;
            let index = if group == 3 {
                x
            } else if kind.wide {
                let (quotient, index) =
                    self.wide[row].divide(u128::from(high) << 64 | u128::from(x));
                (x, high) = (quotient as u64, (quotient >> 64) as u64);
                index
            } else {
                let (quotient, index) = self.small[row].divide(x);
                x = quotient;
                index
            };
            split.indices[group] = self.small[row].divisor - 1 - index;
            m -= k;
        }
        split
    }

    /// The squares that a group of the kind takes.
    #[inline(always)]
    pub(super) fn squares<D: Deposit>(&self, split: &Split, group: usize, empty: B) -> B {
        let k = usize::from(split.counts[group]);
        D::set(self.combinations.places(k, split.indices[group]), empty)
    }

    /// Whether some file holds more unpromoted pieces of one side than the kind allows.
    ///
    /// For limit 1 that is so when fewer files than squares are occupied. A file is a run of bits: with
    /// all its bits but the top one added to what it holds below the top, the carry reaches the top
    /// exactly if that was not nothing, and never leaves the file.
    #[inline(always)]
    pub(super) fn crowded(&self, kind: &KindTable<B>, set: B) -> bool {
        match kind.file_limit {
            None => false,
            Some(1) => {
                let below = self.board & !self.file_tops;
                let occupied = ((set & below).plus(below) | set) & self.file_tops;
                occupied.count() < set.count()
            }
            Some(limit) => {
                let crowded = |&file: &B| (set & file).count() > u32::from(limit);
                self.files.iter().any(crowded)
            }
        }
    }

    /// The number of squares without a King.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Whether a position with both Kings on the central file is canonical, if its first kind tells.
    pub(super) fn first_decides(&self) -> Option<&KindTable<B>> {
        self.list.first().filter(|_| self.first_decides)
    }
}

impl<B> KindTable<B> {
    /// The groups that may hold pieces.
    #[inline(always)]
    pub(super) fn groups(&self) -> std::ops::Range<usize> {
        self.first_group..4
    }
}
