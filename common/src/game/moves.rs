//! Moves: listing them and making them.

use std::ops::ControlFlow;

use super::bits::Bits;
use super::generate::Moves;
use super::position::{Piece, Position};
use super::rules::{Rules, Square};

/// A move of the side to move; its name is USI's ([`Variant::move_name`](super::Variant::move_name)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Move {
    /// A piece moves on the board.
    Board {
        /// From this square.
        from: Square,
        /// To this one.
        to: Square,
        /// And promotes.
        promote: bool,
    },
    /// A piece is dropped from the hand.
    Drop {
        /// The kind's index.
        kind: usize,
        /// On this square.
        to: Square,
    },
}

impl<B: Bits> Rules<B> {
    /// The legal moves, in an order that is always the same and means nothing.
    ///
    /// Legal is what `docs/mathematics.md` calls legal: no move leaves the mover's King attackable,
    /// captures a King, leaves a piece where it could never move again or more unpromoted Pawns of a
    /// side on a file than one, and no Pawn drop leaves the opponent without a legal move.
    #[must_use]
    pub fn legal_moves(&self, position: &Position<B>) -> Vec<Move> {
        let mut moves = Vec::new();
        self.for_each_move(position, |m| moves.push(m));
        moves
    }

    /// Hands each legal move to `visit`, in the order of [`legal_moves`](Self::legal_moves), without
    /// allocating.
    pub fn for_each_move(&self, position: &Position<B>, mut visit: impl FnMut(Move)) {
        let _ = self.visit_moves(position, &mut |moves| {
            moves.for_each(&mut visit);
            ControlFlow::Continue(())
        });
    }

    /// Whether a move is legal; any move may be asked about, whatever its squares.
    #[must_use]
    pub fn is_legal(&self, position: &Position<B>, wanted: Move) -> bool {
        self.visit_moves(position, &mut |moves| {
            if moves.holds(wanted) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .is_break()
    }

    /// The position after a legal move.
    ///
    /// # Panics
    /// Perhaps, if the move is not legal ([`is_legal`](Self::is_legal)); otherwise what it returns then
    /// is no position of the game.
    #[must_use]
    pub fn play(&self, position: &Position<B>, played: Move) -> Position<B> {
        match played {
            Move::Drop { kind, to } => self.after_drop(position, kind, to),
            Move::Board { from, to, promote } => {
                let piece = position.at(from).expect("a legal move moves a piece");
                self.after_board_move(position, piece, from, to, promote)
            }
        }
    }

    /// The position after the drop of a kind in hand on an empty square.
    #[inline]
    pub(crate) fn after_drop(
        &self,
        position: &Position<B>,
        kind: usize,
        to: Square,
    ) -> Position<B> {
        let side = position.turn;
        let mut next = *position;
        next.hands[side as usize][kind] -= 1;
        next.put(
            to,
            Piece {
                side,
                kind,
                promoted: false,
            },
        );
        next.turn = side.other();
        next
    }

    /// The position after the piece on `from` went to `to`, where it captures what stands there.
    #[inline]
    pub(crate) fn after_board_move(
        &self,
        position: &Position<B>,
        piece: Piece,
        from: Square,
        to: Square,
        promote: bool,
    ) -> Position<B> {
        let me = position.turn as usize;
        let (bit, both) = (B::bit(to), B::bit(from) | B::bit(to));
        let mut next = *position;
        if position.sides[1 - me].has(to) {
            next.sides[1 - me] &= !bit;
            next.promoted &= !bit;
            for (set, held) in next.kinds.iter_mut().zip(&mut next.hands[me]) {
                if set.has(to) {
                    *set &= !bit;
                    *held += 1;
                    break;
                }
            }
        }
        next.sides[me] ^= both;
        next.kinds[piece.kind] ^= both;
        if piece.promoted {
            next.promoted ^= both;
        } else if promote {
            next.promoted |= bit;
        }
        next.turn = position.turn.other();
        next
    }
}

impl<B: Bits> Moves<B> {
    /// How many moves these are.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        match self {
            // Few pieces may promote, and without an instruction for it counting is not cheap.
            Moves::Board {
                plain, promoting, ..
            }
            | Moves::March {
                plain, promoting, ..
            } => {
                if promoting.is_empty() {
                    plain.count()
                } else {
                    plain.count() + promoting.count()
                }
            }
            Moves::Drop { to, .. } => to.count(),
        }
    }

    /// Hands out the moves one by one.
    #[inline]
    pub(crate) fn for_each(&self, visit: &mut impl FnMut(Move)) {
        match *self {
            Moves::Drop { kind, to } => to.squares().for_each(|to| visit(Move::Drop { kind, to })),
            Moves::March {
                march,
                plain,
                promoting,
                ..
            } => {
                for (set, promote) in [(plain, false), (promoting, true)] {
                    for to in set.squares() {
                        let from = march.origin(to);
                        visit(Move::Board { from, to, promote });
                    }
                }
            }
            Moves::Board {
                from,
                plain,
                promoting,
                ..
            } => {
                for (set, promote) in [(plain, false), (promoting, true)] {
                    for to in set.squares() {
                        visit(Move::Board { from, to, promote });
                    }
                }
            }
        }
    }

    /// Whether a move is one of these.
    fn holds(&self, wanted: Move) -> bool {
        let holds = |set: B, square| square < B::CAPACITY && set.has(square);
        match (*self, wanted) {
            (Moves::Drop { kind, to }, Move::Drop { kind: k, to: t }) => kind == k && holds(to, t),
            (
                Moves::Board {
                    from,
                    plain,
                    promoting,
                    ..
                },
                Move::Board {
                    from: f,
                    to: t,
                    promote,
                },
            ) => from == f && holds(if promote { promoting } else { plain }, t),
            (
                Moves::March {
                    march,
                    plain,
                    promoting,
                    ..
                },
                Move::Board {
                    from: f,
                    to: t,
                    promote,
                },
            ) => holds(if promote { promoting } else { plain }, t) && march.origin(t) == f,
            _ => false,
        }
    }
}
