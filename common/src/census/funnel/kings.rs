//! The Kings, from their digit to the board with them alone.

use super::division::Small;
use super::files::FileSums;
use crate::game::{Bits, Rules};
use crate::population::Candidates;

/// The King pairs of one variant.
///
/// Boards are read backwards and stand at the top of the set: square s is bit `CAPACITY - 1 - s`, what
/// [`Bits::reversed`] makes of it. So the places that
/// [`Combinations`](super::combinations::Combinations) counts from the far end are the low bits, and
/// placing a whole group is one [`set`](super::arm::Instructions::set) of the empty squares.
#[derive(Clone, Debug)]
pub(super) struct Kings<B> {
    /// By digit from the end.
    pairs: Vec<KingPair>,
    count: Small,
    board: B,
    /// How many bits of a set are no squares.
    unused: u32,
    sums: FileSums,
}

/// A King pair: the squares counted from the far end, Black's first.
#[derive(Clone, Copy, Debug)]
struct KingPair {
    squares: [u8; 2],
    /// Whether both stand on the central file.
    central: bool,
}

impl<B: Bits> Kings<B> {
    pub(super) fn new(rules: &Rules<B>, candidates: &Candidates) -> Self {
        let variant = candidates.variant();
        let (width, height) = (usize::from(variant.width), usize::from(variant.height));
        let far = variant.squares() - 1;
        let central = |square: usize| width % 2 == 1 && square / height == width / 2;
        let pairs = candidates.king_pairs();
        Kings {
            pairs: (0..pairs.count())
                .rev()
                .map(|digit| pairs.unrank(digit))
                .map(|(black, white)| KingPair {
                    squares: [black, white].map(|square| (far - square) as u8),
                    central: central(black) && central(white),
                })
                .collect(),
            count: Small::new(pairs.count() as u64),
            board: rules.board.reversed(),
            unused: rules.unused,
            sums: FileSums::of_board(width, height),
        }
    }

    /// The digit, and the rest of the word.
    #[inline(always)]
    pub(super) fn take(&self, word: u64) -> (u32, u64) {
        let (rest, digit) = self.count.divide(word);
        (digit as u32, rest)
    }

    /// Whether both Kings stand on the central file.
    #[inline(always)]
    pub(super) fn are_central(&self, digit: u32) -> bool {
        self.pairs[digit as usize].central
    }

    /// The empty squares beside them, by files.
    #[inline(always)]
    pub(super) fn sums_beside(&self, digit: u32) -> FileSums {
        let mut taken = FileSums::ZERO;
        for square in self.pairs[digit as usize].squares {
            self.sums.count(square, &mut taken);
        }
        self.sums.less(&taken)
    }

    /// Their squares, Black's first, and the empty ones.
    #[inline(always)]
    pub(super) fn board_with(&self, digit: u32) -> ([B; 2], B) {
        let kings = self.pairs[digit as usize]
            .squares
            .map(|square| B::bit(usize::from(square)).up(self.unused));
        (kings, self.board ^ kings[0] ^ kings[1])
    }
}
