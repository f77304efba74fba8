//! The Kings and the pieces on the board, from digits to squares.
//!
//! Boards are read backwards and stand at the top of the set: square s is bit `CAPACITY - 1 - s`, what
//! [`Bits::reversed`] makes of it. So the places that [`Combinations`] counts from the far end are the
//! low bits, and placing a whole group is one [`Deposit`] onto the empty squares.

use super::arm::Deposit;
use super::categories::CategoryTable;
use super::combinations::{Combinations, NOWHERE, PIECES, PLACES};
use super::division::{Small, Wide};
use super::files::FileSums;
use super::layout::{CUTS, Layout, Place};
use crate::game::{Bits, Rules, Side};
use crate::population::{Binomials, Candidates};

/// The tables of one variant.
#[derive(Clone, Debug)]
pub(super) struct Kinds<B> {
    /// By King digit from the end.
    king_pairs: Vec<KingPair>,
    king_count: Small,
    kings: Place,
    board: B,
    /// How many bits of a set are no squares.
    unused: u32,
    sums: FileSums,
    /// How many squares there are without a King.
    room: u8,
    list: Vec<KindTable<B>>,
    /// How many kinds are placed when the last Pawn stands.
    until_pawns: usize,
    /// Whether the first kind leads the mirror comparison, so that it may decide it.
    first_decides: bool,
    choices: Choices,
    combinations: Combinations,
    /// Each place as a set, and as bytes to compare file sums with.
    place_bits: Box<[B; PLACES]>,
    sums_of_place: Box<[FileSums; PLACES]>,
}

/// A King pair: the squares counted from the far end, Black's first.
#[derive(Clone, Copy, Debug)]
pub(super) struct KingPair {
    squares: [u8; 2],
    /// Whether both stand on the central file.
    pub(super) central: bool,
}

/// One kind but the King.
#[derive(Clone, Debug)]
pub(super) struct KindTable<B> {
    /// Its number in the variant's table.
    pub(super) kind: usize,
    place: Place,
    /// 0 if it promotes; 2 if the groups of promoted pieces are always empty.
    first_group: usize,
    /// How many unpromoted pieces one side may have on a file, in every byte.
    pub(super) file_limit: Option<FileSums>,
    /// Whether the numbers inside its categories may need more than 32 bits.
    wide: bool,
    /// By the number of pieces on the board.
    categories: Box<[CategoryTable; PIECES]>,
    /// Where the unpromoted pieces of each side could never move.
    pub(super) immobile: [B; 2],
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

/// A kind's digit, taken apart: for each group how many pieces it has, and which combination of the
/// empty squares they take, counted from the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    counts: [u8; 4],
    indices: [u64; 4],
}

impl Groups {
    pub(super) const NEW: Groups = Groups {
        counts: [0; 4],
        indices: [0; 4],
    };
}

/// Division by binomial coefficients.
#[derive(Clone, Debug)]
struct Choices {
    /// By C(n,k), for n and k.
    single: Box<[[Small; PIECES]; PLACES]>,
    /// By C(n,p) C(n-p,q), for n, p and q: no divisor where the product does not fit a word.
    double: Vec<[[Wide; PIECES]; PIECES]>,
}

impl Choices {
    /// `None` if a coefficient does not fit a word.
    fn new(room: usize, most: usize, binomials: &Binomials, doubles: bool) -> Option<Self> {
        let mut single = Box::new([[Small::new(1); PIECES]; PLACES]);
        let mut double = Vec::new();
        if doubles {
            double.resize(room + 1, [[Wide::NONE; PIECES]; PIECES]);
        }
        for n in 0..=room {
            for p in 0..=most.min(n) {
                let first = u64::try_from(binomials.choose(n, p)).ok()?;
                single[n][p] = Small::new(first);
                if doubles {
                    for (q, entry) in double[n][p]
                        .iter_mut()
                        .enumerate()
                        .take(most.min(n - p) + 1)
                    {
                        let second = u64::try_from(binomials.choose(n - p, q)).ok()?;
                        if let Some(product) = first.checked_mul(second) {
                            *entry = Wide::new(product);
                        }
                    }
                }
            }
        }
        Some(Choices { single, double })
    }

    #[inline(always)]
    fn single(&self, n: usize, k: usize) -> &Small {
        &self.single[n % PLACES][k % PIECES]
    }

    /// The number inside a category as the indices of its groups.
    #[inline(always)]
    fn indices(&self, x: u128, n: usize, counts: [usize; 4]) -> [u64; 4] {
        let [p, q, r, _] = counts;
        // Two groups at once: with the promoted pieces gone, what is left fits a word, nearly always.
        match self.double[n][p % PIECES][q % PIECES].divide_to_word(x) {
            Some((rest, promoted)) => {
                let (second, first) = self.single(n, p).divide(promoted);
                let (fourth, third) = self.single(n - p - q, r).divide(rest);
                [first, second, third, fourth]
            }
            None => self.indices_one_by_one(x, n, counts),
        }
    }

    /// The same for numbers of at most 32 bits; the groups before `first` are empty.
    #[inline(always)]
    fn short_indices(&self, x: u64, n: usize, counts: [usize; 4], first: usize) -> [u64; 4] {
        let [p, q, r, _] = counts;
        let mut indices = [0; 4];
        let (mut x, mut n) = (x, n);
        if first == 0 {
            (x, indices[0]) = self.single(n, p).divide_short(x);
            (x, indices[1]) = self.single(n - p, q).divide_short(x);
            n -= p + q;
        }
        (indices[3], indices[2]) = self.single(n, r).divide_short(x);
        indices
    }

    #[cold]
    fn indices_one_by_one(&self, mut x: u128, mut n: usize, counts: [usize; 4]) -> [u64; 4] {
        counts.map(|k| {
            let base = u128::from(self.single(n, k).divisor);
            let index = (x % base) as u64;
            x /= base;
            n -= k;
            index
        })
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
        let room = squares - 2;
        let binomials = candidates.binomials();
        let mut list = Vec::new();
        for (kind, entry) in variant.kinds.iter().enumerate().skip(1) {
            let promotes = entry.promoted.is_some();
            let plain = candidates.categories(kind);
            let bits = |b: usize| b as u32 * if promotes { 2 } else { 1 };
            let largest = (0..plain.len()).map(|b| {
                let choices = binomials.choose(room, b);
                let free = choices.leading_zeros();
                (bits(b) < free).then_some(choices << bits(b))
            });
            let largest = largest.collect::<Option<Vec<u128>>>()?.into_iter().max()?;
            list.push(KindTable {
                kind,
                place: layout.places[kind - 1],
                first_group: if promotes { 0 } else { 2 },
                file_limit: entry
                    .file_limit
                    .map(|limit| FileSums::of_place(limit.min(NOWHERE))),
                wide: u32::try_from(largest).is_err(),
                categories: {
                    let tables = (0..PIECES).map(|b| {
                        // More pieces than there are: never asked for.
                        let b = if b < plain.len() { b } else { 0 };
                        CategoryTable::new(&plain[b], bits(b))
                    });
                    tables.collect::<Option<Vec<_>>>()?.try_into().ok()?
                },
                immobile: Side::BOTH.map(|side| {
                    let standing = rules.standing[side as usize][kind];
                    (rules.board & !standing).reversed()
                }),
            });
        }
        let most = variant.kinds[1..].iter().map(|kind| kind.count.into());
        let most = room.min(most.max().unwrap_or(0));
        let leads = |letter| {
            let present = |&c: &char| variant.kinds[1..].iter().any(|kind| kind.letter == c);
            variant.mirror_order.chars().find(present) == Some(letter)
        };
        let first = variant.kinds.get(1);
        let pairs = candidates.king_pairs().count();
        Some(Kinds {
            king_pairs: king_pairs(candidates),
            king_count: Small::new(pairs as u64),
            kings: layout.kings,
            board: rules.board.reversed(),
            sums: FileSums::of_board(variant.width.into(), variant.height.into()),
            room: room as u8,
            until_pawns: list
                .iter()
                .rposition(|kind| kind.file_limit.is_some())
                .map_or(0, |last| last + 1),
            first_decides: first
                .is_some_and(|kind| kind.mirror == kind.letter && leads(kind.letter)),
            place_bits: Box::new(std::array::from_fn(|place| {
                if place < squares {
                    B::bit(place)
                } else {
                    B::EMPTY
                }
            })),
            unused: rules.unused,
            sums_of_place: Box::new(std::array::from_fn(|place| FileSums::of_place(place as u8))),
            choices: Choices::new(room, most, binomials, list.iter().any(|kind| kind.wide))?,
            combinations: Combinations::new(room, most.max(2))?,
            list,
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

    /// The first kind, if it leads the mirror comparison.
    pub(super) fn first_if_it_decides(&self) -> Option<&KindTable<B>> {
        self.list.first().filter(|_| self.first_decides)
    }

    /// The number of squares without a King.
    #[inline(always)]
    pub(super) fn room(&self) -> u8 {
        self.room
    }

    /// The King digit, and the rest of the first word.
    #[inline(always)]
    pub(super) fn king_digit(&self, word: u64) -> (u32, u64) {
        if self.kings.closes {
            (word as u32, 0)
        } else {
            let (rest, digit) = self.king_count.divide(word);
            (digit as u32, rest)
        }
    }

    #[inline(always)]
    pub(super) fn king_pair(&self, digit: u32) -> &KingPair {
        &self.king_pairs[digit as usize]
    }

    /// The empty squares beside the Kings, by files.
    #[inline(always)]
    pub(super) fn sums_beside(&self, kings: &KingPair) -> FileSums {
        let mut taken = FileSums::ZERO;
        for square in kings.squares {
            self.sums.count(
                &self.sums_of_place[usize::from(square) % PLACES],
                &mut taken,
            );
        }
        self.sums.less(&taken)
    }

    /// The Kings' squares, Black's first, and the empty ones.
    #[inline(always)]
    pub(super) fn board_with(&self, kings: &KingPair) -> ([B; 2], B) {
        let kings = kings
            .squares
            .map(|square| self.place_bits[usize::from(square) % PLACES].up(self.unused));
        (kings, self.board ^ kings[0] ^ kings[1])
    }

    /// Takes the digit of a kind with b pieces on the board off the words, n squares being empty: its
    /// groups in order.
    #[inline(always)]
    pub(super) fn groups(&self, kind: &KindTable<B>, words: &mut Words, b: u8, n: u8) -> Groups {
        let categories = &kind.categories[usize::from(b) % PIECES];
        let n = usize::from(n);
        let choose = self.choices.single(n, b.into());
        if kind.place.opens {
            words.open(kind.place.word);
        }
        // The digit divided by C(n,b): quotient and remainder.
        let (u, d) = if kind.place.closes {
            (words.highs[kind.place.word], words.present)
        } else {
            let (quotient, d) = choose.divide(words.present);
            words.present = quotient >> categories.bits();
            (quotient & categories.mask(), d)
        };
        let category = categories.find(u);
        let u = u - category.start;
        let counts = category.counts;
        let indices = if kind.wide {
            let x = u128::from(u) * u128::from(choose.divisor) + u128::from(d);
            self.choices.indices(x, n, counts.map(usize::from))
        } else {
            let x = u * choose.divisor + d;
            self.choices
                .short_indices(x, n, counts.map(usize::from), kind.first_group)
        };
        Groups { counts, indices }
    }

    /// The files that a group takes squares of, beside the `empty` ones.
    #[inline(always)]
    pub(super) fn sums(&self, groups: &Groups, number: usize, empty: &FileSums) -> FileSums {
        let mut pieces = FileSums::ZERO;
        let (k, index) = (groups.counts[number], groups.indices[number]);
        self.combinations.each_place(k, index, |place| {
            empty.count(&self.sums_of_place[place], &mut pieces);
        });
        pieces
    }

    /// The empty squares when the kind's first groups have been placed, all but White's unpromoted one,
    /// and the last of them.
    #[inline(always)]
    pub(super) fn sums_but_last(
        &self,
        kind: &KindTable<B>,
        groups: &Groups,
        mut empty: FileSums,
    ) -> (FileSums, FileSums) {
        if kind.first_group == 0 {
            empty = empty.less(&self.sums(groups, 0, &empty));
            empty = empty.less(&self.sums(groups, 1, &empty));
        }
        let last = self.sums(groups, 2, &empty);
        (empty.less(&last), last)
    }

    /// The squares that a group takes of the empty ones.
    #[inline(always)]
    pub(super) fn squares<D: Deposit>(&self, groups: &Groups, number: usize, empty: B) -> B {
        let mut places = B::EMPTY;
        let (k, index) = (groups.counts[number], groups.indices[number]);
        self.combinations.each_place(k, index, |place| {
            places |= self.place_bits[place];
        });
        D::set(places, empty)
    }
}

/// The King pairs by digit, counted from the end.
fn king_pairs(candidates: &Candidates) -> Vec<KingPair> {
    let (variant, pairs) = (candidates.variant(), candidates.king_pairs());
    let far = variant.squares() - 1;
    let (width, height) = (usize::from(variant.width), usize::from(variant.height));
    let central = |square: usize| width % 2 == 1 && square / height == width / 2;
    (0..pairs.count())
        .rev()
        .map(|digit| pairs.unrank(digit))
        .map(|(black, white)| KingPair {
            squares: [black, white].map(|square| (far - square) as u8),
            central: central(black) && central(white),
        })
        .collect()
}

impl<B> KindTable<B> {
    /// The numbers of the groups that may hold pieces, White's unpromoted last.
    #[inline(always)]
    pub(super) fn numbers(&self) -> std::ops::Range<usize> {
        self.first_group..4
    }
}
