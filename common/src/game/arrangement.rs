//! From an unchecked arrangement of pieces to a position.

use std::fmt;

use super::bits::Bits;
use super::position::{Hand, Piece, Position, Side};
use super::rules::{Rules, Square};
use super::sfen::{self, SfenError, plural};
use super::variant::{KINDS, Variant};

/// What an SFEN says, before anyone has asked whether it is a position: any pieces of the variant on
/// any squares and in any number, Kings included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrangement {
    pub(super) variant: &'static Variant,
    /// By square.
    pub(super) board: Vec<Option<Piece>>,
    pub(super) hands: [Hand; 2],
    pub(super) turn: Side,
}

impl Arrangement {
    /// Reads an SFEN. A move number may be left out and is not kept.
    ///
    /// # Errors
    /// If the text is not an SFEN of the variant: the error points at the character.
    pub fn parse(variant: &'static Variant, text: &str) -> Result<Self, SfenError> {
        sfen::parse(variant, text)
    }

    /// Whose pieces and board these are.
    #[must_use]
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    /// What stands on a square, `square < variant.squares()`.
    #[must_use]
    pub fn at(&self, square: Square) -> Option<Piece> {
        self.board[square]
    }

    /// What a side holds.
    #[must_use]
    pub fn hand(&self, side: Side) -> &Hand {
        &self.hands[side as usize]
    }

    /// The side to move.
    #[must_use]
    pub fn turn(&self) -> Side {
        self.turn
    }
}

/// Why an arrangement is not a position, or not one with the whole set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrangementError {
    /// It was read for another variant.
    Variant {
        /// The arrangement's variant, by name.
        found: &'static str,
        /// The rules' variant, by name.
        expected: &'static str,
    },
    /// A side has no King or more than one.
    Kings {
        /// The side.
        side: Side,
        /// How many Kings it has.
        found: usize,
    },
    /// There are more pieces of a kind than the game has, or, where the whole set is asked for, fewer.
    Count {
        /// The kind's name.
        kind: &'static str,
        /// How many there are on the board and in the hands.
        found: usize,
        /// How many the game has.
        whole: usize,
    },
}

impl fmt::Display for ArrangementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ArrangementError::Variant { found, expected } => {
                write!(f, "an arrangement of {found}, expected {expected}")
            }
            ArrangementError::Kings { side, found: 0 } => write!(f, "{side} has no King"),
            ArrangementError::Kings { side, found } => write!(f, "{side} has {found} Kings"),
            ArrangementError::Count { kind, found, whole } => {
                write!(f, "{found} {kind}{}, the game has {whole}", plural(found))
            }
        }
    }
}

impl std::error::Error for ArrangementError {}

/// Why a text is not a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionError {
    /// It is not SFEN.
    Sfen(SfenError),
    /// What it says is not a position.
    Arrangement(ArrangementError),
}

impl fmt::Display for PositionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PositionError::Sfen(error) => error.fmt(f),
            PositionError::Arrangement(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PositionError {}

impl From<SfenError> for PositionError {
    fn from(error: SfenError) -> Self {
        PositionError::Sfen(error)
    }
}

impl From<ArrangementError> for PositionError {
    fn from(error: ArrangementError) -> Self {
        PositionError::Arrangement(error)
    }
}

impl<B: Bits> Rules<B> {
    /// Reads a position. It may hold fewer pieces than the game has; a census asks
    /// [`check_whole_set`](Self::check_whole_set) too.
    ///
    /// # Errors
    /// If the text is not SFEN, or what it says is not a position.
    pub fn parse(&self, text: &str) -> Result<Position<B>, PositionError> {
        let arrangement = Arrangement::parse(self.variant, text)?;
        Ok(self.position(&arrangement)?)
    }

    /// The initial position.
    ///
    /// # Panics
    /// If the variant's table contradicts itself.
    #[must_use]
    pub fn initial(&self) -> Position<B> {
        match self.parse(self.variant.initial) {
            Ok(position) => position,
            Err(error) => panic!("{}: the initial position: {error}", self.variant.id),
        }
    }

    /// Checks an arrangement: one King a side, and no more pieces of any kind than the game has.
    ///
    /// # Errors
    /// The first of these that does not hold, Kings before the others, which come in the variant's
    /// order.
    pub fn position(&self, arrangement: &Arrangement) -> Result<Position<B>, ArrangementError> {
        let same = std::ptr::eq(self.variant, arrangement.variant);
        if !same && self.variant != arrangement.variant {
            return Err(ArrangementError::Variant {
                found: arrangement.variant.name,
                expected: self.variant.name,
            });
        }
        let mut position = Position::<B>::bare(arrangement.turn);
        position.hands = arrangement.hands;
        for (square, piece) in arrangement.board.iter().enumerate() {
            if let Some(piece) = *piece {
                position.put(square, piece);
            }
        }
        for side in Side::BOTH {
            let found = position.pieces(side, 0, false).count() as usize;
            if found != 1 {
                return Err(ArrangementError::Kings { side, found });
            }
        }
        self.check_counts(&position, |found, whole| found <= whole)?;
        Ok(position)
    }

    /// Checks that the board and the hands hold the game's whole set.
    ///
    /// # Errors
    /// The first kind, in the variant's order, of which there are too few.
    pub fn check_whole_set(&self, position: &Position<B>) -> Result<(), ArrangementError> {
        self.check_counts(position, |found, whole| found == whole)
    }

    fn check_counts(
        &self,
        position: &Position<B>,
        fits: impl Fn(usize, usize) -> bool,
    ) -> Result<(), ArrangementError> {
        debug_assert!(self.variant.kinds.len() <= KINDS);
        for (kind, entry) in self.variant.kinds.iter().enumerate() {
            let held = position.hands.iter().map(|hand| usize::from(hand[kind]));
            let found = position.kinds[kind].count() as usize + held.sum::<usize>();
            let whole = usize::from(entry.count);
            if !fits(found, whole) {
                return Err(ArrangementError::Count {
                    kind: entry.name,
                    found,
                    whole,
                });
            }
        }
        Ok(())
    }
}
