//! King pairs that are not greater than their mirror image's.

use crate::game::{Square, Variant};

/// The bijection between the King digit and the folded King pairs: Black's King left of the central
/// file, or on it with White's King on it or to the left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KingPairs {
    height: usize,
    squares: usize,
    /// H * (W div 2): the squares left of the central file (of the centre, if W is even).
    left: usize,
    /// The squares left of the central file and on it; equal to `left` if W is even.
    folded: usize,
}

impl KingPairs {
    pub(crate) fn new(variant: &Variant) -> Self {
        let (width, height) = (usize::from(variant.width), usize::from(variant.height));
        KingPairs {
            height,
            squares: width * height,
            left: height * (width / 2),
            folded: height * width.div_ceil(2),
        }
    }

    /// How many pairs have Black's King left of the central file.
    fn aside(&self) -> usize {
        self.left * (self.squares - 1)
    }

    /// How many pairs there are.
    pub(crate) fn count(&self) -> usize {
        let central = self.folded - self.left;
        self.aside() + central * (self.folded - usize::from(central > 0))
    }

    /// The squares (Black's, White's) of the pair with this digit, less than the count.
    pub(crate) fn unrank(&self, digit: usize) -> (Square, Square) {
        debug_assert!(digit < self.count());
        let (black, other) = match digit.checked_sub(self.aside()) {
            None => (digit % self.left, digit / self.left),
            Some(rest) => (self.left + rest % self.height, rest / self.height),
        };
        (black, other + usize::from(other >= black))
    }

    /// The digit of a pair of different squares; `None` if it is greater than its mirror image's.
    pub(crate) fn rank(&self, black: Square, white: Square) -> Option<usize> {
        debug_assert!(black != white);
        let other = white - usize::from(white > black);
        if black < self.left {
            Some(other * self.left + black)
        } else if black < self.folded && white < self.folded {
            Some(self.aside() + other * self.height + (black - self.left))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_folded_pairs_are_in_bijection_on_every_board() {
        for width in 1..=9u8 {
            for height in 1..=5u8 {
                let variant = Variant {
                    width,
                    height,
                    ..Variant::SHOGI
                };
                let pairs = KingPairs::new(&variant);
                let (w, h) = (usize::from(width), usize::from(height));
                let mirror = |s: Square| h * (w - 1 - s / h) + s % h;
                let mut found = 0;
                for black in 0..w * h {
                    for white in (0..w * h).filter(|&white| white != black) {
                        let folded =
                            (black / h, white / h) <= (mirror(black) / h, mirror(white) / h);
                        let digit = pairs.rank(black, white);
                        assert_eq!(digit.is_some(), folded);
                        if let Some(digit) = digit {
                            assert_eq!(pairs.unrank(digit), (black, white));
                            found += 1;
                        }
                    }
                }
                // As many digits as pairs, and each pair has one that leads back to it.
                assert_eq!(found, pairs.count());
            }
        }
    }

    #[test]
    fn known_counts() {
        assert_eq!(KingPairs::new(&Variant::SHOGI).count(), 3276);
        assert_eq!(KingPairs::new(&Variant::MINISHOGI).count(), 310);
    }
}
