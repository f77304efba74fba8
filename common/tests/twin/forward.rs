//! Forward play to the end: everything that legal moves reach. For tiny boards only.

use std::collections::HashSet;

use kazoe_common::game::Side;

use super::{At, Mailbox, Piece, Twin};

/// A tiny position as one number, to keep large sets small: equal numbers are equal positions.
pub(crate) type Small = u128;

impl Twin {
    /// The position as a mixed-radix number.
    pub(crate) fn small(&self, position: &Mailbox) -> Small {
        let mut number: Small = position.turn as Small;
        let mut append = |base: usize, digit: usize| {
            assert!(digit < base);
            number = number
                .checked_mul(base as Small)
                .expect("the board is tiny")
                + digit as Small;
        };
        let contents = 4 * self.variant.kinds.len();
        for at in self.squares() {
            let content = position.at(at).map_or(0, |p| {
                1 + 4 * usize::from(p.kind) + 2 * usize::from(p.promoted) + p.side as usize
            });
            append(contents + 1, content);
        }
        for kind in self.kinds().map(usize::from) {
            let count = usize::from(self.variant.kinds[kind].count);
            for hand in position.hands {
                append(count + 1, usize::from(hand[kind]));
            }
        }
        number
    }

    /// Every KK position: the Kings not adjacent, all else in the hands in any division, either side
    /// to move.
    pub(crate) fn kings_only(&self) -> Vec<Mailbox> {
        let mut hands = vec![Mailbox::empty(Side::Black).hands];
        for kind in self.kinds().map(usize::from) {
            let count = self.variant.kinds[kind].count;
            hands = hands
                .into_iter()
                .flat_map(|hands| {
                    (0..=count).map(move |black| {
                        let mut divided = hands;
                        divided[Side::Black as usize][kind] = black;
                        divided[Side::White as usize][kind] = count - black;
                        divided
                    })
                })
                .collect();
        }
        let king = |side| {
            Some(Piece {
                side,
                kind: 0,
                promoted: false,
            })
        };
        let adjacent = |a: At, b: At| a.0.abs_diff(b.0) <= 1 && a.1.abs_diff(b.1) <= 1;
        let mut found = Vec::new();
        for black in self.squares() {
            for white in self.squares().filter(|&white| !adjacent(black, white)) {
                for &hands in &hands {
                    for turn in Side::BOTH {
                        let mut position = Mailbox::empty(turn);
                        position.set(black, king(Side::Black));
                        position.set(white, king(Side::White));
                        position.hands = hands;
                        found.push(position);
                    }
                }
            }
        }
        found
    }

    /// Everything that sequences of legal moves reach from these positions, they included.
    pub(crate) fn reached_from(&self, starts: &[Mailbox]) -> HashSet<Small> {
        let mut reached: HashSet<Small> = starts.iter().map(|p| self.small(p)).collect();
        let mut unexplored = starts.to_vec();
        while let Some(position) = unexplored.pop() {
            for step in self.legal_moves(&position) {
                let next = self.play(&position, step);
                if reached.insert(self.small(&next)) {
                    unexplored.push(next);
                }
            }
        }
        reached
    }
}
