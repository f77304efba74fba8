//! Who attacks what.

use super::bits::Bits;
use super::position::{Position, Side};
use super::roles::Role;
use super::rules::{Rules, Square};

/// Whence a piece of one side in one role attacks one square.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bearing<B> {
    /// By a step.
    pub(crate) steps: B,
    /// By a slide, over empty squares.
    pub(crate) slides: B,
}

/// Whence every square is attacked.
#[derive(Clone, Debug)]
pub(crate) struct Bearings<B> {
    /// How many roles there are.
    roles: usize,
    /// `[(side * squares + target) * (1 + roles)]`: the union over all roles, then each role; all that
    /// may attack one square lies together, since this is asked more than anything else.
    rows: Vec<Bearing<B>>,
}

impl<B: Bits> Bearings<B> {
    pub(crate) fn new(roles: &[Role<B>], squares: usize) -> Self {
        let mut rows = Vec::new();
        for side in Side::BOTH {
            let turned = side.other() as usize;
            for target in 0..squares {
                let of_role = |role: &Role<B>| Bearing {
                    steps: role.steps[turned][target],
                    slides: role.slides[turned][target],
                };
                let all = roles.iter().map(of_role).fold(
                    Bearing {
                        steps: B::EMPTY,
                        slides: B::EMPTY,
                    },
                    |sum, one| Bearing {
                        steps: sum.steps | one.steps,
                        slides: sum.slides | one.slides,
                    },
                );
                rows.push(all);
                rows.extend(roles.iter().map(of_role));
            }
        }
        Bearings {
            roles: roles.len(),
            rows,
        }
    }

    #[inline]
    fn of(&self, by: Side, target: Square, squares: usize) -> (&Bearing<B>, &[Bearing<B>]) {
        let row = 1 + self.roles;
        let start = (by as usize * squares + target) * row;
        (&self.rows[start], &self.rows[start + 1..start + row])
    }
}

impl<B: Bits> Rules<B> {
    /// The squares strictly between two that a slide direction joins; empty for all others.
    #[inline]
    #[must_use]
    pub fn between(&self, s: Square, t: Square) -> B {
        self.between[s * self.variant.squares() + t]
    }

    /// The squares that a piece of `side` in this role attacks from a square: its steps, and its
    /// slides up to and including the first occupied square.
    #[inline]
    #[must_use]
    pub(crate) fn attacks(&self, role: &Role<B>, side: Side, from: Square, occupied: B) -> B {
        role.steps[side as usize][from] | self.slides(role, side, from, occupied)
    }

    /// The same, of slides only.
    #[inline]
    pub(crate) fn slides(&self, role: &Role<B>, side: Side, from: Square, occupied: B) -> B {
        let mut found = B::EMPTY;
        for &(direction, ascending) in &role.directions[side as usize] {
            let ray = self.rays[direction][from];
            let blockers = ray & occupied;
            found |= if blockers.is_empty() {
                ray
            } else {
                let first = if ascending {
                    blockers.first()
                } else {
                    blockers.last()
                };
                ray & !self.rays[direction][first]
            };
        }
        found
    }

    /// Where pieces of `side` in a role, on all squares of a set, can be after one step; a slide counts
    /// for its first square.
    #[inline]
    pub(crate) fn spread(&self, role: &Role<B>, side: Side, set: B) -> B {
        let mut found = B::EMPTY;
        for pace in &role.paces[side as usize] {
            found |= pace.shifted(set);
        }
        found
    }

    /// What pieces of `side` in a role, on all squares of a set, attack when only the squares of `free`
    /// are empty.
    #[inline]
    pub(crate) fn attacks_of_all(&self, role: &Role<B>, side: Side, set: B, free: B) -> B {
        let mut found = B::EMPTY;
        for pace in &role.paces[side as usize] {
            found |= pace.shifted(if pace.slides {
                pace.fill(set, free)
            } else {
                set
            });
        }
        found
    }

    /// The pieces of `by` that attack `target` when the occupied squares are `occupied`.
    ///
    /// Pieces of `by` outside `occupied` do not count: callers may ask "what if these were gone".
    #[inline]
    #[must_use]
    pub fn attackers(&self, position: &Position<B>, target: Square, by: Side, occupied: B) -> B {
        let own = position.sides[by as usize] & occupied;
        let (all, bearings) = self.bearings(by, target);
        let bearing = |s: Square| &bearings[self.role_index_at(position, s)];
        let mut found = B::EMPTY;
        for s in (own & all.steps).squares() {
            if bearing(s).steps.has(s) {
                found |= B::bit(s);
            }
        }
        for s in (own & all.slides & self.sliders(position)).squares() {
            if bearing(s).slides.has(s) && (self.between(s, target) & occupied).is_empty() {
                found |= B::bit(s);
            }
        }
        found
    }

    /// Whether [`attackers`](Self::attackers) finds any.
    #[inline]
    #[must_use]
    pub fn is_attacked(
        &self,
        position: &Position<B>,
        target: Square,
        by: Side,
        occupied: B,
    ) -> bool {
        let own = position.sides[by as usize] & occupied;
        // Few pieces are near enough, so that it costs less to ask which they are than whether one of
        // each role is among them.
        let (all, bearings) = self.bearings(by, target);
        let bearing = |s: Square| &bearings[self.role_index_at(position, s)];
        for s in (own & all.steps).squares() {
            if bearing(s).steps.has(s) {
                return true;
            }
        }
        for s in (own & all.slides & self.sliders(position)).squares() {
            if bearing(s).slides.has(s) && (self.between(s, target) & occupied).is_empty() {
                return true;
            }
        }
        false
    }

    /// The pieces of both sides that slide.
    #[inline]
    pub(crate) fn sliders(&self, position: &Position<B>) -> B {
        let [plain, promoted] = [0, 1].map(|promoted| {
            let mut all = B::EMPTY;
            for &kind in &self.sliding_kinds[promoted] {
                all |= position.kinds[kind];
            }
            all
        });
        (plain & !position.promoted) | (promoted & position.promoted)
    }

    /// Whence all roles together, and each, of `by` attack a square.
    #[inline]
    pub(crate) fn bearings(&self, by: Side, target: Square) -> (&Bearing<B>, &[Bearing<B>]) {
        self.bearings.of(by, target, self.variant.squares())
    }

    /// Whether a side's King is attacked.
    #[inline]
    #[must_use]
    pub fn in_check(&self, position: &Position<B>, side: Side) -> bool {
        self.is_attacked(
            position,
            position.king(side),
            side.other(),
            position.occupied(),
        )
    }
}
