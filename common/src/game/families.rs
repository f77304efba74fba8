//! Families: roles that move alike, asked about together.
//!
//! In shogi five roles move as the Gold does and two slide as the Rook does. Who attacks a King or pins a
//! shield is a question about ways of moving, of which there are ten, and not about the fourteen roles
//! with their steps and slides.

use super::bits::Bits;
use super::position::{Position, Side};
use super::roles::Role;
use super::rules::{Rules, Square};
use super::variant::KINDS;

/// One way of stepping, or one of sliding, and the roles that have it.
#[derive(Clone, Debug)]
pub(crate) struct Family<B> {
    /// The kinds that move so unpromoted, and those that do promoted: one bit a kind.
    members: [u8; 2],
    /// `reach[side][s]`: where a piece of `side` on s gets on an empty board.
    reach: [Vec<B>; 2],
}

/// All ways of moving of a variant.
#[derive(Clone, Debug)]
pub(crate) struct Families<B> {
    steps: Vec<Family<B>>,
    slides: Vec<Family<B>>,
    /// `near[side][k]`: from where some piece of the other side steps to k or to a square that a King of
    /// `side` on k reaches.
    near: [Vec<B>; 2],
}

impl<B: Bits> Family<B> {
    /// The pieces of both sides that move so.
    #[inline]
    fn of(&self, position: &Position<B>) -> B {
        let mut sets = [B::EMPTY; 2];
        for (set, &members) in sets.iter_mut().zip(&self.members) {
            let mut rest = members;
            while rest != 0 {
                *set |= position.kinds[rest.trailing_zeros() as usize % KINDS];
                rest &= rest - 1;
            }
        }
        (sets[0] & !position.promoted) | (sets[1] & position.promoted)
    }

    /// Groups the roles by one of their tables; `kings` is where a King gets, by side and square.
    fn group(roles: &[Role<B>], table: impl Fn(&Role<B>) -> &[Vec<B>; 2]) -> Vec<Family<B>> {
        let mut families: Vec<Family<B>> = Vec::new();
        for role in roles {
            let reach = table(role);
            if reach.iter().flatten().all(|set| set.is_empty()) {
                continue;
            }
            let found = families.iter_mut().find(|family| family.reach == *reach);
            let bit = 1 << role.kind;
            if let Some(family) = found {
                family.members[usize::from(role.promoted)] |= bit;
                continue;
            }
            let mut members = [0; 2];
            members[usize::from(role.promoted)] = bit;
            families.push(Family {
                members,
                reach: reach.clone(),
            });
        }
        families
    }
}

impl<B: Bits> Families<B> {
    /// Gathers the roles of a variant, the King's first.
    pub(crate) fn new(roles: &[Role<B>]) -> Self {
        let steps: Vec<Family<B>> = Family::group(roles, |role| &role.steps);
        let king = &roles[0];
        let near = Side::BOTH.map(|side| {
            let (own, other) = (side as usize, side.other() as usize);
            let around = king.steps[own].iter().zip(&king.slides[own]).enumerate();
            let around = around.map(|(k, (&by_step, &by_slide))| B::bit(k) | by_step | by_slide);
            let steps_to = |around: B, s: Square| {
                let mut families = steps.iter();
                families.any(|family| !(family.reach[other][s] & around).is_empty())
            };
            around
                .map(|around| {
                    let squares = 0..king.steps[own].len();
                    let near = squares.filter(|&s| steps_to(around, s));
                    near.fold(B::EMPTY, |near, s| near | B::bit(s))
                })
                .collect()
        });
        Families {
            near,
            slides: Family::group(roles, |role| &role.slides),
            steps,
        }
    }
}

/// What one side's pieces do to the other side's King.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threats<B> {
    /// Where a piece other than the King has to go: anywhere, or where it ends the check.
    pub(crate) targets: B,
    /// Pieces of the King's side that shield him.
    pub(crate) pinned: B,
    /// The sliders that they shield him from.
    pub(crate) pinners: B,
}

impl<B: Bits> Rules<B> {
    /// What the opponent does to the King of `side`.
    #[inline]
    pub(crate) fn threats(&self, position: &Position<B>, side: Side) -> Threats<B> {
        let king = position.king(side);
        let (own, occupied) = (position.of(side), position.occupied());
        let theirs = position.of(side.other());
        // An attack turned around: the same piece of the King's side, standing on his square.
        let turned = side as usize;
        let mut checkers = B::EMPTY;
        for family in &self.families.steps {
            checkers |= family.of(position) & theirs & family.reach[turned][king];
        }
        // A step can't be blocked, even along a line.
        let (steps, mut targets) = (checkers, self.board);
        if !steps.is_empty() {
            targets = steps;
        }
        let (mut pinned, mut pinners) = (B::EMPTY, B::EMPTY);
        for family in &self.families.slides {
            let aiming = family.of(position) & theirs & family.reach[turned][king] & !steps;
            for slider in aiming.squares() {
                let between = self.between(slider, king);
                let shields = between & occupied;
                if shields.is_empty() {
                    checkers |= B::bit(slider);
                    targets &= between | B::bit(slider);
                } else if !shields.is_many() && !(shields & own).is_empty() {
                    pinned |= shields;
                    pinners |= B::bit(slider);
                }
            }
        }
        if checkers.is_many() {
            targets = B::EMPTY;
        }
        Threats {
            targets,
            pinned,
            pinners,
        }
    }

    /// Those of the squares `to`, the King of `side`'s own or within his reach, on which he would not be
    /// attacked if only the squares of `occupied` barred slides.
    #[inline]
    pub(crate) fn safe_targets(&self, position: &Position<B>, side: Side, to: B, occupied: B) -> B {
        let king = position.king(side);
        let theirs = position.of(side.other());
        let other = side.other() as usize;
        let mut safe = to;
        for s in (theirs & self.families.near[side as usize][king]).squares() {
            safe &= !self.role_at(position, s).steps[other][s];
        }
        for s in (theirs & self.sliders(position)).squares() {
            for t in (self.role_at(position, s).slides[other][s] & safe).squares() {
                if (self.between(s, t) & occupied).is_empty() {
                    safe &= !B::bit(t);
                }
            }
        }
        safe
    }
}
