//! What the funnel asks before the reverse search: the mirror, two Pawns, immobile pieces, checks.

use kazoe_common::census::Outcome;
use kazoe_common::game::Side;

use super::reverse::Found;
use super::{Mailbox, Piece, Twin};

impl Twin {
    /// The left-right mirror image.
    pub(crate) fn mirror(&self, position: &Mailbox) -> Mailbox {
        let mut image = Mailbox::empty(position.turn);
        for (x, y) in self.squares() {
            let piece = position.at((x, y)).map(|p| Piece {
                kind: self.mirrored_kind(p.kind),
                ..p
            });
            image.set((self.width() - 1 - x, y), piece);
        }
        for side in Side::BOTH {
            for kind in self.kinds() {
                image.hands[side as usize][usize::from(self.mirrored_kind(kind))] =
                    position.hands[side as usize][usize::from(kind)];
            }
        }
        image
    }

    fn mirrored_kind(&self, kind: u8) -> u8 {
        let letter = self.variant.kinds[usize::from(kind)].mirror;
        self.kind_of(letter)
            .expect("a kind's image is a kind of the same game")
    }

    /// The board turned by 180 degrees and the players exchanged.
    pub(crate) fn exchange(&self, position: &Mailbox) -> Mailbox {
        let mut other = Mailbox::empty(position.turn.other());
        for (x, y) in self.squares() {
            let piece = position.at((x, y)).map(|p| Piece {
                side: p.side.other(),
                ..p
            });
            other.set((self.width() - 1 - x, self.height() - 1 - y), piece);
        }
        other.hands = [position.hands[1], position.hands[0]];
        other
    }

    /// The list that the mirror comparison compares: (type, unpromoted, White, square index), sorted.
    fn mirror_list(&self, position: &Mailbox) -> Vec<(usize, bool, bool, usize)> {
        let mut list: Vec<(usize, bool, bool, usize)> = self
            .squares()
            .filter_map(|at| Some((at, position.at(at)?)))
            .map(|((x, y), piece)| {
                let letter = self.variant.kinds[usize::from(piece.kind)].letter;
                let order = self.variant.mirror_order.find(letter).unwrap();
                let square = self.height() * x + y;
                (order, !piece.promoted, piece.side == Side::White, square)
            })
            .collect();
        list.sort_unstable();
        list
    }

    /// Whether the position's list is not greater than its mirror image's.
    pub(crate) fn is_canonical(&self, position: &Mailbox) -> bool {
        self.mirror_list(position) <= self.mirror_list(&self.mirror(position))
    }

    /// Whether a side has more unpromoted pieces of a kind on a file than the kind allows.
    pub(crate) fn has_crowded_file(&self, position: &Mailbox) -> bool {
        Side::BOTH.into_iter().any(|side| {
            self.kinds().any(|kind| {
                let piece = Piece {
                    side,
                    kind,
                    promoted: false,
                };
                let limit = self.variant.kinds[usize::from(kind)].file_limit;
                (0..self.width()).any(|x| {
                    let number = (0..self.height())
                        .filter(|&y| position.at((x, y)) == Some(piece))
                        .count();
                    limit.is_some_and(|limit| number > usize::from(limit))
                })
            })
        })
    }

    /// Whether an unpromoted piece stands where it can never move.
    pub(crate) fn has_immobile_piece(&self, position: &Mailbox) -> bool {
        self.squares().any(|at| {
            position
                .at(at)
                .is_some_and(|p| !p.promoted && !self.can_stand(p.side, p.kind, at))
        })
    }

    /// The first local rule that a position breaks, in the funnel's order.
    pub(crate) fn broken_rule(&self, position: &Mailbox) -> Option<Outcome> {
        if self.has_crowded_file(position) {
            Some(Outcome::TwoPawns)
        } else if self.has_immobile_piece(position) {
            Some(Outcome::Immobile)
        } else if self.in_check(position, position.turn.other()) {
            Some(Outcome::InCheck)
        } else {
            None
        }
    }

    /// The whole funnel: the outcome, and for an unreachable position its depth.
    pub(crate) fn judge(&self, position: &Mailbox) -> (Outcome, Option<u32>) {
        if !self.is_canonical(position) {
            return (Outcome::Mirrored, None);
        }
        if let Some(outcome) = self.broken_rule(position) {
            return (outcome, None);
        }
        match self.published_search(position) {
            Found::Reachable { .. } => (Outcome::Reachable, None),
            Found::Unreachable { depth } => (Outcome::Unreachable, Some(depth)),
        }
    }
}
