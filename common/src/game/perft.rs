//! Counting the games of a given length, the usual test of a move generator.

use std::ops::ControlFlow;

use super::bits::Bits;
use super::generate::Moves;
use super::moves::Move;
use super::position::{Piece, Position};
use super::rules::Rules;

impl<B: Bits> Rules<B> {
    /// How many sequences of `depth` legal moves begin in a position; 1 for depth 0.
    ///
    /// The last move is counted, not made. Numbers from 2^64 on wrap, which takes centuries.
    #[must_use]
    pub fn perft(&self, position: &Position<B>, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let mut total = 0;
        let _ = self.visit_moves(position, &mut |moves| {
            if depth == 1 {
                total += u64::from(moves.count());
            } else {
                total += self.perft_after(position, &moves, depth - 1);
            }
            ControlFlow::Continue(())
        });
        total
    }

    /// For each legal move, in the order of [`legal_moves`](Self::legal_moves), how many sequences of
    /// `depth` legal moves begin with it. Empty for depth 0.
    #[must_use]
    pub fn divide(&self, position: &Position<B>, depth: u32) -> Vec<(Move, u64)> {
        let Some(rest) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let mut parts = Vec::new();
        self.for_each_move(position, |m| {
            parts.push((m, self.perft(&self.play(position, m), rest)));
        });
        parts
    }

    fn perft_after(&self, position: &Position<B>, moves: &Moves<B>, depth: u32) -> u64 {
        match *moves {
            Moves::Drop { kind, to } => to
                .squares()
                .map(|t| self.perft(&self.after_drop(position, kind, t), depth))
                .sum(),
            Moves::March {
                kind,
                march,
                plain,
                promoting,
            } => {
                let piece = Piece {
                    side: position.turn,
                    kind,
                    promoted: false,
                };
                let made = |to, promote| {
                    let from = march.origin(to);
                    self.perft(
                        &self.after_board_move(position, piece, from, to, promote),
                        depth,
                    )
                };
                let plain: u64 = plain.squares().map(|to| made(to, false)).sum();
                let promoting: u64 = promoting.squares().map(|to| made(to, true)).sum();
                plain + promoting
            }
            Moves::Board {
                piece,
                from,
                plain,
                promoting,
            } => {
                let made = |to, promote| {
                    self.perft(
                        &self.after_board_move(position, piece, from, to, promote),
                        depth,
                    )
                };
                let plain: u64 = plain.squares().map(|to| made(to, false)).sum();
                let promoting: u64 = promoting.squares().map(|to| made(to, true)).sum();
                plain + promoting
            }
        }
    }
}
