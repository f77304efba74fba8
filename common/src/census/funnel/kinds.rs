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
use super::layout::{CUTS, Layout};
use crate::game::{Bits, Hand, KINDS, Rules, Side};
use crate::population::{Binomials, Candidates};

/// The tables of one variant.
#[derive(Clone, Debug)]
pub(super) struct Kinds<B> {
    /// By King digit from the end.
    king_pairs: Vec<KingPair>,
    king_count: Small,
    board: B,
    /// How many bits of a set are no squares.
    unused: u32,
    sums: FileSums,
    list: Vec<KindTable<B>>,
    /// How many kinds are placed when the last Pawn stands; at least one, if there is one.
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
    /// The words that its digit's remainder and quotient by C(n,b) are found in.
    places: [usize; 2],
    /// 0 if it promotes; 2 if the groups of promoted pieces are always empty.
    pub(super) first_group: usize,
    /// How many unpromoted pieces one side may have on a file, in every byte.
    pub(super) file_limit: Option<FileSums>,
    /// Whether the numbers inside its categories may need more than 32 bits.
    pub(super) wide: bool,
    /// By the number of pieces on the board.
    categories: Box<[CategoryTable; PIECES]>,
    /// Where the unpromoted pieces of each side could never move.
    pub(super) immobile: [B; 2],
}

/// The kinds' digits of a sample, as far as they are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digits {
    /// What is left of each word.
    pub(super) words: [u64; WORDS],
    /// How many pieces of each kind stand on the board.
    pub(super) board: Hand,
    /// How many squares are empty before the kind is placed.
    pub(super) empty: Hand,
}

/// More words than there are: a power of two, for indices that need no check.
pub(super) const WORDS: usize = 8;
const _: () = assert!(CUTS < WORDS);

impl Digits {
    pub(super) const NEW: Digits = Digits {
        words: [0; WORDS],
        board: [0; KINDS],
        empty: [0; KINDS],
    };
}

/// A kind's digit, taken apart: for each group how many pieces it has, and which combination of the
/// empty squares they take, counted from the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    pub(super) counts: [u8; 4],
    pub(super) indices: [u64; 4],
}

impl Groups {
    pub(super) const NEW: Groups = Groups {
        counts: [0; 4],
        indices: [0; 4],
    };
}

/// More than the number of squares.
const ROOM: usize = 128;

/// Division by binomial coefficients.
#[derive(Clone, Debug)]
struct Choices {
    /// By C(n,k), for n and k.
    single: Box<[[Small; PIECES]; ROOM]>,
    /// By C(n,p) C(n-p,q), for n, p and q: no divisor where the product does not fit a word.
    double: Vec<[[Wide; PIECES]; PIECES]>,
}

impl Choices {
    /// `None` if a coefficient does not fit a word.
    fn new(room: usize, most: usize, binomials: &Binomials, doubles: bool) -> Option<Self> {
        let mut single = Box::new([[Small::new(1); PIECES]; ROOM]);
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
        &self.single[n % ROOM][k % PIECES]
    }

    /// The number inside a category as the indices of its groups.
    ///
    /// They are written one by one to where they are wanted: as one array they went by way of the
    /// stack, and the profile showed a sixth of the whole funnel waiting for its copy.
    #[inline(always)]
    fn split(&self, x: u128, n: usize, counts: [usize; 4], indices: &mut [u64; 4]) {
        let [p, q, r, _] = counts;
        // Two groups at once: with the promoted pieces gone, what is left fits a word, nearly always.
        match self.double[n][p % PIECES][q % PIECES].divide_to_word(x) {
            Some((rest, promoted)) => {
                (indices[1], indices[0]) = self.single(n, p).divide(promoted);
                (indices[3], indices[2]) = self.single(n - p - q, r).divide(rest);
            }
            None => self.split_one_by_one(x, n, counts, indices),
        }
    }

    /// The same for numbers of at most 32 bits; the groups before the `FIRST` are empty.
    #[inline(always)]
    fn split_short<const FIRST: usize>(
        &self,
        x: u64,
        n: usize,
        counts: [usize; 4],
        indices: &mut [u64; 4],
    ) {
        let [p, q, r, _] = counts;
        let (mut x, mut n) = (x, n);
        if FIRST == 0 {
            (x, indices[0]) = self.single(n, p).divide_short(x);
            n -= p;
            (x, indices[1]) = self.single(n, q).divide_short(x);
            n -= q;
        }
        (indices[3], indices[2]) = self.single(n, r).divide_short(x);
    }

    #[cold]
    fn split_one_by_one(
        &self,
        mut x: u128,
        mut n: usize,
        counts: [usize; 4],
        indices: &mut [u64; 4],
    ) {
        for (k, index) in counts.into_iter().zip(indices) {
            let base = u128::from(self.single(n, k).divisor);
            *index = (x % base) as u64;
            x /= base;
            n -= k;
        }
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
                places: layout.places[kind - 1],
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
            board: rules.board.reversed(),
            sums: FileSums::of_board(variant.width.into(), variant.height.into()),
            until_pawns: list
                .iter()
                .rposition(|kind| kind.file_limit.is_some())
                .map_or(list.len().min(1), |last| last + 1),
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
            sums_of_place: Box::new(std::array::from_fn(|place| {
                FileSums::of_place(place.min(usize::from(NOWHERE)) as u8)
            })),
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

    /// The kinds after these.
    pub(super) fn after_pawns(&self) -> &[KindTable<B>] {
        &self.list[self.until_pawns..]
    }

    /// Whether the first kind leads the mirror comparison.
    pub(super) fn first_decides(&self) -> bool {
        self.first_decides
    }

    /// The King digit, and the rest of the first word.
    #[inline(always)]
    pub(super) fn king_digit(&self, word: u64) -> (u32, u64) {
        let (rest, digit) = self.king_count.divide(word);
        (digit as u32, rest)
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
            self.sums
                .count(&self.sums_of_place[usize::from(square)], &mut taken);
        }
        self.sums.less(&taken)
    }

    /// The Kings' squares, Black's first, and the empty ones.
    #[inline(always)]
    pub(super) fn board_with(&self, kings: &KingPair) -> ([B; 2], B) {
        let kings = kings
            .squares
            .map(|square| self.place_bits[usize::from(square)].up(self.unused));
        (kings, self.board ^ kings[0] ^ kings[1])
    }

    /// Takes a kind's digit off the words: its groups in order.
    ///
    /// Whether the kind is `WIDE` and its `FIRST` group are the kind's own; a caller that knows them
    /// saves the questions.
    #[inline(always)]
    pub(super) fn take_groups<const WIDE: bool, const FIRST: usize>(
        &self,
        kind: &KindTable<B>,
        digits: &mut Digits,
        groups: &mut Groups,
    ) {
        debug_assert!(kind.wide == WIDE && kind.first_group >= FIRST);
        let b = usize::from(digits.board[kind.kind % KINDS]);
        let n = usize::from(digits.empty[kind.kind % KINDS]);
        let categories = &kind.categories[b % PIECES];
        // The digit divided by C(n,b): quotient and remainder. The highest digit of a word is less than
        // the divisor, as it should be.
        let choose = self.choices.single(n, b);
        let word = &mut digits.words[kind.places[0] % WORDS];
        let (rest, d) = choose.divide(*word);
        *word = rest;
        let word = &mut digits.words[kind.places[1] % WORDS];
        let u = *word & categories.mask();
        *word >>= categories.bits();
        let category = categories.find(u);
        let u = u - category.start;
        let counts = category.counts.map(usize::from);
        groups.counts = category.counts;
        if WIDE {
            let x = u128::from(u) * u128::from(choose.divisor) + u128::from(d);
            self.choices.split(x, n, counts, &mut groups.indices);
        } else {
            let x = u * choose.divisor + d;
            self.choices
                .split_short::<FIRST>(x, n, counts, &mut groups.indices);
        }
    }

    /// The same for a kind that the caller knows nothing of.
    #[inline(always)]
    pub(super) fn take_any_groups(
        &self,
        kind: &KindTable<B>,
        digits: &mut Digits,
        groups: &mut Groups,
    ) {
        match (kind.wide, kind.first_group) {
            (true, _) => self.take_groups::<true, 0>(kind, digits, groups),
            (false, 0) => self.take_groups::<false, 0>(kind, digits, groups),
            (false, _) => self.take_groups::<false, 2>(kind, digits, groups),
        }
    }

    /// The empty squares when a group has been placed on some, and its pieces by files. `MANY`: whether
    /// they may well be three.
    #[inline(always)]
    pub(super) fn count<const MANY: bool>(
        &self,
        groups: &Groups,
        number: usize,
        empty: FileSums,
    ) -> (FileSums, FileSums) {
        let mut pieces = FileSums::ZERO;
        let (k, index) = (groups.counts[number], groups.indices[number]);
        self.combinations.each_place::<MANY>(k, index, |place| {
            empty.count(&self.sums_of_place[place], &mut pieces);
        });
        (empty.less(&pieces), pieces)
    }

    /// The squares that a group takes of the empty ones.
    #[inline(always)]
    pub(super) fn squares<D: Deposit>(&self, groups: &Groups, number: usize, empty: B) -> B {
        let mut places = B::EMPTY;
        let (k, index) = (groups.counts[number], groups.indices[number]);
        self.combinations.each_place::<false>(k, index, |place| {
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
