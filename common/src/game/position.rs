//! A position: the side to move, the board and the pieces in hand, without history.

use std::fmt;

use super::bits::Bits;
use super::variant::KINDS;

/// A player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Side {
    /// Sente: moves first, upper case in SFEN, promotes at small y.
    Black = 0,
    /// Gote.
    White = 1,
}

impl Side {
    /// Both, Black first.
    pub const BOTH: [Side; 2] = [Side::Black, Side::White];

    /// The opponent.
    #[inline]
    #[must_use]
    pub const fn other(self) -> Side {
        match self {
            Side::Black => Side::White,
            Side::White => Side::Black,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Black => "Black",
            Side::White => "White",
        })
    }
}

/// A piece on the board. `kind` is its index in [`Variant::kinds`](super::Variant::kinds).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// Whose it is.
    pub side: Side,
    /// Its kind's index; 0 is the King.
    pub kind: usize,
    /// Whether it is promoted.
    pub promoted: bool,
}

/// How many pieces of each kind one side holds; the King's entry is 0.
pub type Hand = [u8; KINDS];

/// A checked position: one King each, every piece on its board, no square held twice.
///
/// Whether the rest makes up the variant's whole set, and whether the local rules hold, is asked
/// separately ([`Rules`](super::Rules)). Squares are indices `height * x + y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position<B> {
    /// The squares of each side's pieces.
    pub(crate) sides: [B; 2],
    /// The squares of each kind, both sides, promoted or not.
    pub(crate) kinds: [B; KINDS],
    /// The squares of promoted pieces.
    pub(crate) promoted: B,
    /// The hands.
    pub(crate) hands: [Hand; 2],
    /// The side to move.
    pub(crate) turn: Side,
}

impl<B: Bits> Position<B> {
    /// A board with nothing on it: not yet a position, what builders start from.
    pub(crate) fn bare(turn: Side) -> Self {
        Position {
            sides: [B::EMPTY; 2],
            kinds: [B::EMPTY; KINDS],
            promoted: B::EMPTY,
            hands: [[0; KINDS]; 2],
            turn,
        }
    }

    /// The side to move.
    #[inline]
    #[must_use]
    pub fn turn(&self) -> Side {
        self.turn
    }

    /// The occupied squares.
    #[inline]
    #[must_use]
    pub fn occupied(&self) -> B {
        self.sides[0] | self.sides[1]
    }

    /// The squares of one side's pieces.
    #[inline]
    #[must_use]
    pub fn of(&self, side: Side) -> B {
        self.sides[side as usize]
    }

    /// The squares of one side's pieces of one kind, promoted or not as told.
    #[inline]
    #[must_use]
    pub fn pieces(&self, side: Side, kind: usize, promoted: bool) -> B {
        let all = self.sides[side as usize] & self.kinds[kind];
        if promoted {
            all & self.promoted
        } else {
            all & !self.promoted
        }
    }

    /// The square of a side's King.
    #[inline]
    #[must_use]
    pub fn king(&self, side: Side) -> usize {
        (self.sides[side as usize] & self.kinds[0]).first()
    }

    /// What a side holds.
    #[inline]
    #[must_use]
    pub fn hand(&self, side: Side) -> &Hand {
        &self.hands[side as usize]
    }

    /// The piece on a square.
    #[must_use]
    pub fn at(&self, square: usize) -> Option<Piece> {
        let side = Side::BOTH.into_iter().find(|&s| self.of(s).has(square))?;
        let kind = (0..KINDS).find(|&k| self.kinds[k].has(square))?;
        Some(Piece {
            side,
            kind,
            promoted: self.promoted.has(square),
        })
    }

    /// Puts a piece on an empty square.
    #[inline]
    pub(crate) fn put(&mut self, square: usize, piece: Piece) {
        let bit = B::bit(square);
        debug_assert!((self.occupied() & bit).is_empty());
        self.sides[piece.side as usize] |= bit;
        self.kinds[piece.kind] |= bit;
        if piece.promoted {
            self.promoted |= bit;
        }
    }

    /// Takes a known piece off its square.
    #[inline]
    pub(crate) fn lift(&mut self, square: usize, piece: Piece) {
        let bit = B::bit(square);
        debug_assert_eq!(self.at(square), Some(piece));
        self.sides[piece.side as usize] &= !bit;
        self.kinds[piece.kind] &= !bit;
        self.promoted &= !bit;
    }
}
