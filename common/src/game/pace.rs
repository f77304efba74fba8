//! Paces: one direction of a role's moves, taken by a whole set of squares at once.

use super::bits::Bits;
use super::position::Side;

/// One direction, as a shift of sets.
///
/// A set is rotated within its word, whatever the direction: a square t of `arrivals` holds what stood
/// `distance` squares below it, modulo the word's length, and that is the square from which the step
/// leads to t, since two squares of a board are never a whole word apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<B> {
    /// Where the step arrives when it stays on the board.
    arrivals: B,
    /// How far it goes up in the word.
    distance: i32,
    /// Whether the piece slides this way.
    pub(crate) slides: bool,
}

impl<B: Bits> Pace<B> {
    pub(crate) fn new(arrivals: B, distance: i32, slides: bool) -> Self {
        Pace {
            arrivals,
            distance,
            slides,
        }
    }

    /// Whether it goes one square toward larger (`Black`) or smaller squares on its file: straight back.
    #[inline]
    pub(crate) fn is_retreat(&self, side: Side) -> bool {
        self.distance
            == match side {
                Side::Black => 1,
                Side::White => -1,
            }
    }

    /// Where the set gets by one step.
    #[inline]
    pub(crate) fn shifted(&self, set: B) -> B {
        self.rotated(set, 1) & self.arrivals
    }

    /// The set and all that it gets to by up to eight steps over squares of `free`: in four rounds
    /// instead of eight, since each doubles the run of free squares that it looks over.
    #[inline]
    pub(crate) fn fill(&self, set: B, free: B) -> B {
        let enter = free & self.arrivals;
        if self.distance == 1 {
            // A sum carries from every square to the end of the run above it.
            let seeds = enter & set.rotated(1);
            return set | seeds | (enter & !enter.plus(seeds));
        }
        let (mut found, mut runs) = (set, enter);
        for steps in [1, 2] {
            found |= runs & self.rotated(found, steps);
            runs &= self.rotated(runs, steps);
        }
        found |= runs & self.rotated(found, 4);
        found | (enter & self.rotated(found, 1))
    }

    /// The set so many steps on, if all of them stay on the board.
    #[inline]
    fn rotated(&self, set: B, steps: i32) -> B {
        set.rotated((steps * self.distance).cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fill_runs_over_free_squares_to_the_edge() {
        // One file of nine squares in the middle of a word, upward.
        let file = 0x1ff << 9;
        let pace = Pace::new(file & !(1 << 9), 1, true);
        assert_eq!(pace.fill(1 << 9, u64::MAX), file);
        assert_eq!(pace.fill(1 << 9, !(1 << 13)), 0b1111 << 9);
        assert_eq!(pace.shifted(1 << 17), 0);
        let back = Pace::new(file & !(1 << 17), -1, true);
        assert_eq!(back.fill(1 << 17, u64::MAX), file);
        assert_eq!(
            back.fill(1 << 17 | 1 << 11, !(1 << 13)),
            0b1111 << 14 | 0b111 << 9
        );
    }
}
