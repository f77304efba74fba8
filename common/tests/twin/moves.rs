//! Forward play: legal moves, and counting them.

use super::{At, Mailbox, Piece, Twin};

/// A move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Move {
    Board { from: At, to: At, promote: bool },
    Drop { kind: u8, to: At },
}

impl Twin {
    /// The position after a move.
    pub(crate) fn play(&self, position: &Mailbox, step: Move) -> Mailbox {
        let mut next = *position;
        let mover = position.turn;
        match step {
            Move::Board { from, to, promote } => {
                let piece = position.at(from).expect("a piece stands on its square");
                if let Some(captured) = position.at(to) {
                    next.hands[mover as usize][usize::from(captured.kind)] += 1;
                }
                next.set(from, None);
                let promoted = piece.promoted || promote;
                next.set(to, Some(Piece { promoted, ..piece }));
            }
            Move::Drop { kind, to } => {
                next.hands[mover as usize][usize::from(kind)] -= 1;
                let piece = Piece {
                    side: mover,
                    kind,
                    promoted: false,
                };
                next.set(to, Some(piece));
            }
        }
        next.turn = mover.other();
        next
    }

    /// The moves that the pieces allow: nothing is said yet about the own King or mating drops.
    fn pseudo_moves(&self, position: &Mailbox) -> Vec<Move> {
        let side = position.turn;
        let mut moves = Vec::new();
        for from in self.squares() {
            let Some(piece) = position.at(from).filter(|p| p.side == side) else {
                continue;
            };
            for to in self.destinations(position, piece, from) {
                if piece.promoted || !self.promotes(piece.kind) {
                    moves.push(Move::Board {
                        from,
                        to,
                        promote: false,
                    });
                    continue;
                }
                if self.can_stand(side, piece.kind, to) {
                    moves.push(Move::Board {
                        from,
                        to,
                        promote: false,
                    });
                }
                if self.in_zone(side, from) || self.in_zone(side, to) {
                    moves.push(Move::Board {
                        from,
                        to,
                        promote: true,
                    });
                }
            }
        }
        for kind in self.kinds() {
            if position.hands[side as usize][usize::from(kind)] == 0 {
                continue;
            }
            let piece = Piece {
                side,
                kind,
                promoted: false,
            };
            for to in self.squares() {
                if position.at(to).is_none() && self.may_place(position, piece, to) {
                    moves.push(Move::Drop { kind, to });
                }
            }
        }
        moves
    }

    /// Where a piece may go: to its steps and along its slides, not onto its own side's pieces. Nor
    /// onto a King, which never happens where the side that moved last left no King attackable.
    fn destinations(&self, position: &Mailbox, piece: Piece, from: At) -> Vec<At> {
        let movement = self.movement(piece);
        let free = |at| {
            position
                .at(at)
                .is_none_or(|p| p.side != piece.side && p.kind != 0)
        };
        let mut found = Vec::new();
        for &step in movement.steps {
            found.extend(self.step(piece.side, from, step).filter(|&to| free(to)));
        }
        for &slide in movement.slides {
            let mut here = self.step(piece.side, from, slide);
            while let Some(to) = here {
                if free(to) {
                    found.push(to);
                }
                if position.at(to).is_some() {
                    break;
                }
                here = self.step(piece.side, to, slide);
            }
        }
        found
    }

    /// Whether a pseudo move is legal: it leaves the own King unattacked, and if it drops a piece of
    /// a kind whose mating drop is forbidden, the opponent has a legal move.
    fn is_legal(&self, position: &Mailbox, step: Move) -> bool {
        let next = self.play(position, step);
        !self.in_check(&next, position.turn)
            && (!self.is_restricted(step) || self.has_legal_move(&next))
    }

    fn is_restricted(&self, step: Move) -> bool {
        match step {
            Move::Drop { kind, .. } => self.variant.kinds[usize::from(kind)].mating_drop_forbidden,
            Move::Board { .. } => false,
        }
    }

    /// The legal moves of the side to move.
    pub(crate) fn legal_moves(&self, position: &Mailbox) -> Vec<Move> {
        let mut moves = self.pseudo_moves(position);
        moves.retain(|&step| self.is_legal(position, step));
        moves
    }

    /// Whether any move whatever is legal.
    pub(crate) fn may_play(&self, position: &Mailbox, step: Move) -> bool {
        self.pseudo_moves(position).contains(&step) && self.is_legal(position, step)
    }

    /// Whether the side to move has a legal move. Restricted drops are themselves legal only if they
    /// leave a legal move to the other side, and so on; every such drop takes a piece out of a hand,
    /// so the question ends. They are asked about last, for they cost most.
    pub(crate) fn has_legal_move(&self, position: &Mailbox) -> bool {
        let (restricted, free): (Vec<Move>, Vec<Move>) = self
            .pseudo_moves(position)
            .into_iter()
            .partition(|&step| self.is_restricted(step));
        free.into_iter()
            .chain(restricted)
            .any(|step| self.is_legal(position, step))
    }

    /// How many sequences of `depth` legal moves there are.
    pub(crate) fn perft(&self, position: &Mailbox, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let moves = self.legal_moves(position);
        if depth == 1 {
            return moves.len() as u64;
        }
        moves
            .into_iter()
            .map(|step| self.perft(&self.play(position, step), depth - 1))
            .sum()
    }
}
