//! Between the twin's positions and the library's.

use kazoe_common::game::{self, Bits, Position, Rules, Side, Unmove};

use super::moves::Move;
use super::{At, Mailbox, Piece, Twin};

impl Twin {
    /// The square with a library's index.
    pub(crate) fn square(&self, index: usize) -> At {
        (index / self.height(), index % self.height())
    }

    /// Reads a position of the library square by square.
    pub(crate) fn read<B: Bits>(&self, position: &Position<B>) -> Mailbox {
        let mut read = Mailbox::empty(position.turn());
        for (index, at) in self.squares().enumerate() {
            let piece = position.at(index).map(|piece| Piece {
                side: piece.side,
                kind: u8::try_from(piece.kind).unwrap(),
                promoted: piece.promoted,
            });
            read.set(at, piece);
        }
        read.hands = Side::BOTH.map(|side| *position.hand(side));
        read
    }

    /// Makes the library read the twin's SFEN.
    pub(crate) fn write<B: Bits>(&self, rules: &Rules<B>, position: &Mailbox) -> Position<B> {
        let sfen = self.format(position);
        rules
            .parse(&sfen)
            .unwrap_or_else(|error| panic!("{sfen}: {error}"))
    }

    /// Plays a path of un-moves forward by the twin's rules, from a KK position to `position`.
    pub(crate) fn replay<B: Bits>(
        &self,
        rules: &Rules<B>,
        position: &Position<B>,
        path: &[Unmove],
    ) {
        let mut fast = *position;
        for &unmove in path {
            let after = self.read(&fast);
            fast = rules.undo(&fast, unmove);
            let before = self.read(&fast);
            let step = self.read_move(unmove.into());
            assert!(
                self.may_play(&before, step) && self.play(&before, step) == after,
                "{step:?} does not lead from {} to {}",
                self.format(&before),
                self.format(&after),
            );
        }
        assert!(
            self.is_kings_only(&self.read(&fast)),
            "{}",
            rules.sfen(&fast)
        );
    }

    /// Reads a move of the library.
    pub(crate) fn read_move(&self, step: game::Move) -> Move {
        match step {
            game::Move::Board { from, to, promote } => Move::Board {
                from: self.square(from),
                to: self.square(to),
                promote,
            },
            game::Move::Drop { kind, to } => Move::Drop {
                kind: u8::try_from(kind).unwrap(),
                to: self.square(to),
            },
        }
    }
}
