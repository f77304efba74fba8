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
        if self.distance == -1 {
            // The same as below by fixed shifts.
            return doubled(set, enter, |set, steps| set.down(steps));
        }
        doubled(set, enter, |set, steps| self.rotated(set, steps))
    }

    /// The set so many steps on, if all of them stay on the board.
    #[inline]
    fn rotated(&self, set: B, steps: u32) -> B {
        set.rotated(steps.wrapping_mul(self.distance.cast_unsigned()))
    }
}

/// A set and all that it gets to by up to eight steps over squares of `enter`; `moved` takes a set so
/// many steps on.
#[inline]
fn doubled<B: Bits>(set: B, enter: B, moved: impl Fn(B, u32) -> B) -> B {
    let (mut found, mut runs) = (set, enter);
    for steps in [1, 2] {
        found |= runs & moved(found, steps);
        runs &= moved(runs, steps);
    }
    found |= runs & moved(found, 4);
    found | (enter & moved(found, 1))
}

#[cfg(test)]
mod tests {
    use super::super::rules::Rules;
    use super::super::variant::Variant;
    use super::*;

    /// What each role attacks from each square, by paces and by rays, on boards with some squares taken.
    fn paces_attack_as_rays_do<B: Bits>(variant: &'static Variant) {
        let rules = Rules::<B>::new(variant);
        for round in 1..40 {
            let mut taken = B::EMPTY;
            for s in (0..variant.squares()).filter(|s| (s * s + 3 * s) % round > round / 2) {
                taken |= B::bit(s);
            }
            for role in &rules.roles {
                for side in Side::BOTH {
                    let mut all = B::EMPTY;
                    for s in 0..variant.squares() {
                        let by_rays = rules.attacks(role, side, s, taken);
                        let free = rules.board & !taken;
                        let by_paces = rules.attacks_of_all(role, side, B::bit(s), free);
                        assert_eq!(by_paces, by_rays, "{role:?} {side} {s}");
                        if taken.has(s) {
                            all |= by_rays;
                        }
                    }
                    let free = rules.board & !taken;
                    assert_eq!(rules.attacks_of_all(role, side, taken, free), all);
                }
            }
        }
    }

    #[test]
    fn paces_attack_as_rays_do_on_both_boards() {
        paces_attack_as_rays_do::<u128>(&Variant::SHOGI);
        paces_attack_as_rays_do::<u64>(&Variant::MINISHOGI);
        paces_attack_as_rays_do::<u128>(&Variant::MINISHOGI);
    }

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
