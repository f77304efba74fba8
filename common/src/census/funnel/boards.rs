//! The filters that ask for squares: owners and kinds, too, of the samples that are left.

use super::Funnel;
use super::arm::Instructions;
use super::kinds::{KindTable, Kinds};
use super::kings::Kings;
use super::lanes::Lane;
use crate::game::{Bits, KINDS, Position, Side};
use crate::population::GROUPS;

/// A board that is being filled in the order of the rank, read backwards (see [`Kings`]).
#[derive(Clone, Copy, Debug)]
pub(super) struct Board<B> {
    kings: [B; 2],
    empty: B,
    /// The squares of each group of each kind.
    groups: [[B; 4]; KINDS],
    placed: usize,
}

impl<B: Bits> Board<B> {
    pub(super) const NEW: Self = Board {
        kings: [B::EMPTY; 2],
        empty: B::EMPTY,
        groups: [[B::EMPTY; 4]; KINDS],
        placed: 0,
    };

    /// Begins with the Kings.
    #[inline(always)]
    pub(super) fn seat(&mut self, kings: &Kings<B>, lane: &Lane) {
        (self.kings, self.empty) = kings.board_with(lane.kings);
        self.placed = 0;
    }

    /// The squares of each group of a kind.
    pub(super) fn groups(&self, kind: &KindTable<B>) -> [B; 4] {
        self.groups[kind.number()]
    }

    /// Puts the next kind's pieces on it, whose places the lane holds; whether all can move.
    #[inline(always)]
    pub(super) fn stand<I: Instructions>(
        &mut self,
        kinds: &Kinds<B>,
        kind: &KindTable<B>,
        lane: &Lane,
    ) -> bool {
        let groups = &mut self.groups[kind.number()];
        let counts = lane.counts[kind.number()];
        for group in kind.first_group..4 {
            let (trail, count) = (&lane.trail, counts[group]);
            let places = if kind.many {
                kinds.places::<4>(trail, self.placed, count)
            } else {
                kinds.places::<2>(trail, self.placed, count)
            };
            self.placed += usize::from(counts[group]);
            groups[group] = I::set(places, self.empty);
            self.empty ^= groups[group];
        }
        (groups[2] & kind.immobile[0] | groups[3] & kind.immobile[1]).is_empty()
    }
}

impl<B: Bits> Funnel<B> {
    /// The position of a full board, unless the King of the side not to move is attacked.
    ///
    /// It is built turned by 180 degrees with the players exchanged, as the sets come; only one that
    /// passes is turned back.
    #[inline(always)]
    pub(super) fn position(&self, lane: &Lane, board: &Board<B>) -> Option<Position<B>> {
        let kings = board.kings;
        let mut twin = Position::bare(Side::White);
        twin.sides = [kings[1], kings[0]];
        twin.kinds[0] = kings[0] | kings[1];
        for (all, sets) in twin.kinds.iter_mut().zip(&board.groups).skip(1) {
            for (&set, (side, promoted)) in sets.iter().zip(GROUPS) {
                *all |= set;
                twin.sides[side.other() as usize] |= set;
                if promoted {
                    twin.promoted |= set;
                }
            }
        }
        let lowered = |set: B| set.down(self.rules.unused);
        twin.sides = twin.sides.map(lowered);
        twin.kinds = twin.kinds.map(lowered);
        twin.promoted = lowered(twin.promoted);
        if self.rules.in_check(&twin, Side::Black) {
            return None;
        }
        // The hands' digits count from the end: how many White holds.
        let mut digits = lane.hands;
        for (kind, entry) in self.rules.variant().kinds.iter().enumerate().skip(1) {
            let total = entry.count - lane.rows[kind].board() as u8;
            let white = (digits % (u64::from(total) + 1)) as u8;
            digits /= u64::from(total) + 1;
            twin.hands[0][kind] = white;
            twin.hands[1][kind] = total - white;
        }
        Some(self.rules.exchanged(&twin))
    }
}
