//! Sets of squares in one machine word.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Not};

/// A set of squares: `u64` serves boards of up to 64 squares, `u128` those of up to 128.
pub trait Bits:
    Copy
    + Debug
    + Default
    + Eq
    + Ord
    + Hash
    + Send
    + Sync
    + 'static
    + BitAnd<Output = Self>
    + BitAndAssign
    + BitOr<Output = Self>
    + BitOrAssign
    + BitXor<Output = Self>
    + BitXorAssign
    + Not<Output = Self>
{
    /// How many squares a set can hold.
    const CAPACITY: usize;
    /// The empty set.
    const EMPTY: Self;

    /// The set of one square, `square < CAPACITY`.
    fn bit(square: usize) -> Self;
    /// How many squares the set holds.
    fn count(self) -> u32;
    /// The smallest square of a set that is not empty.
    fn first(self) -> usize;
    /// The largest square of a set that is not empty.
    fn last(self) -> usize;
    /// The word read backwards: square s becomes `CAPACITY - 1 - s`.
    #[must_use]
    fn reversed(self) -> Self;
    /// The set without its smallest square.
    #[must_use]
    fn rest(self) -> Self;
    /// The set moved `by` squares up; what leaves the word is lost.
    #[must_use]
    fn up(self, by: u32) -> Self;
    /// The set moved `by` squares down.
    #[must_use]
    fn down(self, by: u32) -> Self;

    /// The set moved `by` squares up; what leaves the word comes in again from below.
    #[must_use]
    fn rotated(self, by: u32) -> Self;

    /// The set as two 64-bit words, the low squares first; the second is 0 if the set has one word.
    fn words(self) -> [u64; 2];
    /// The set with these words: the inverse of [`words`](Self::words).
    fn from_words(words: [u64; 2]) -> Self;
    /// The sum of the two words as numbers, modulo 2^`CAPACITY`: how carries find the highest square of
    /// a run.
    #[must_use]
    fn plus(self, other: Self) -> Self;

    /// Whether the set is empty.
    #[inline]
    fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Whether the set holds a square.
    #[inline]
    fn has(self, square: usize) -> bool {
        !(self & Self::bit(square)).is_empty()
    }

    /// Whether the set holds two squares or more.
    #[inline]
    fn is_many(self) -> bool {
        !self.is_empty() && !self.rest().is_empty()
    }

    /// The squares in ascending order.
    #[inline]
    fn squares(self) -> Squares {
        Squares {
            words: self.words(),
        }
    }
}

/// The squares of a set in ascending order.
#[derive(Clone, Debug)]
pub struct Squares {
    words: [u64; 2],
}

impl Iterator for Squares {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let [low, high] = &mut self.words;
        if *low != 0 {
            let square = low.trailing_zeros() as usize;
            *low &= *low - 1;
            Some(square)
        } else if *high != 0 {
            let square = high.trailing_zeros() as usize + 64;
            *high &= *high - 1;
            Some(square)
        } else {
            None
        }
    }
}

impl Bits for u64 {
    const CAPACITY: usize = 64;
    const EMPTY: Self = 0;

    #[inline]
    fn bit(square: usize) -> Self {
        1 << square
    }
    #[inline]
    fn count(self) -> u32 {
        self.count_ones()
    }
    #[inline]
    fn first(self) -> usize {
        self.trailing_zeros() as usize
    }
    #[inline]
    fn last(self) -> usize {
        (63 - self.leading_zeros()) as usize
    }
    #[inline]
    fn reversed(self) -> Self {
        self.reverse_bits()
    }
    #[inline]
    fn rest(self) -> Self {
        self & self.wrapping_sub(1)
    }
    #[inline]
    fn up(self, by: u32) -> Self {
        self << by
    }
    #[inline]
    fn down(self, by: u32) -> Self {
        self >> by
    }
    #[inline]
    fn rotated(self, by: u32) -> Self {
        self.rotate_left(by)
    }
    #[inline]
    fn words(self) -> [u64; 2] {
        [self, 0]
    }
    #[inline]
    fn from_words(words: [u64; 2]) -> Self {
        words[0]
    }
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Bits for u128 {
    const CAPACITY: usize = 128;
    const EMPTY: Self = 0;

    #[inline]
    fn bit(square: usize) -> Self {
        1 << square
    }
    #[inline]
    fn has(self, square: usize) -> bool {
        let [low, high] = self.words();
        let word = if square < 64 { low } else { high };
        word >> (square % 64) & 1 == 1
    }
    #[inline]
    fn count(self) -> u32 {
        self.count_ones()
    }
    #[inline]
    fn first(self) -> usize {
        self.trailing_zeros() as usize
    }
    #[inline]
    fn last(self) -> usize {
        (127 - self.leading_zeros()) as usize
    }
    #[inline]
    fn reversed(self) -> Self {
        self.reverse_bits()
    }
    #[inline]
    fn rest(self) -> Self {
        self & self.wrapping_sub(1)
    }
    #[inline]
    fn up(self, by: u32) -> Self {
        self << by
    }
    #[inline]
    fn down(self, by: u32) -> Self {
        self >> by
    }
    #[inline]
    fn rotated(self, by: u32) -> Self {
        self.rotate_left(by)
    }
    #[inline]
    fn words(self) -> [u64; 2] {
        [self as u64, (self >> 64) as u64]
    }
    #[inline]
    fn from_words(words: [u64; 2]) -> Self {
        u128::from(words[0]) | u128::from(words[1]) << 64
    }
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn squares_come_back<B: Bits>(squares: &[usize]) {
        let mut set = B::EMPTY;
        for &square in squares {
            set |= B::bit(square);
        }
        assert_eq!(set.squares().collect::<Vec<_>>(), squares);
        for square in 0..B::CAPACITY {
            assert_eq!(set.has(square), squares.contains(&square), "{square}");
        }
        let turned = set
            .rotated(3)
            .squares()
            .map(|s| (s + B::CAPACITY - 3) % B::CAPACITY);
        let mut turned: Vec<usize> = turned.collect();
        turned.sort_unstable();
        assert_eq!(turned, squares);
    }

    #[test]
    fn a_set_holds_the_squares_put_into_it() {
        squares_come_back::<u64>(&[]);
        squares_come_back::<u64>(&[0, 1, 31, 62, 63]);
        squares_come_back::<u128>(&[]);
        squares_come_back::<u128>(&[5]);
        squares_come_back::<u128>(&[64, 100, 127]);
        squares_come_back::<u128>(&[0, 62, 63, 64, 65, 126, 127]);
    }
}
