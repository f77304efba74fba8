//! USI: how squares and moves are named. Files are counted from Black's right with digits, ranks from
//! the far side with letters: `7g7f`, `8h2b+`, `P*5e`.

use std::fmt;

use super::moves::Move;
use super::rules::Square;
use super::variant::Variant;

/// Why a text names no move; characters are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsiError {
    /// It is too short or too long, or has something else where `*` or `+` would stand.
    Shape,
    /// No square where one should be named.
    Square {
        /// Where it should begin.
        at: usize,
        /// The variant's name.
        variant: &'static str,
    },
    /// A drop of no piece of the variant.
    NoPiece {
        /// What stands for the piece.
        found: char,
        /// The variant's name.
        variant: &'static str,
    },
    /// A drop of a King.
    King,
}

impl fmt::Display for UsiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            UsiError::Shape => write!(f, "not a move such as 7g7f, 8h2b+ or P*5e"),
            UsiError::Square { at, variant } => {
                write!(f, "no square of {variant} at character {at}")
            }
            UsiError::NoPiece { found, variant } => {
                let found = found.escape_debug();
                write!(f, "`{found}` at character 1 is not a piece of {variant}")
            }
            UsiError::King => write!(f, "a King is never dropped"),
        }
    }
}

impl std::error::Error for UsiError {}

impl Variant {
    /// A square's name: `5e`.
    #[must_use]
    pub fn square_name(&self, square: Square) -> String {
        let [file, rank] = self.square_letters(square);
        format!("{file}{rank}")
    }

    /// A move's name.
    #[must_use]
    pub fn move_name(&self, named: Move) -> String {
        match named {
            Move::Drop { kind, to } => {
                format!("{}*{}", self.kinds[kind].letter, self.square_name(to))
            }
            Move::Board { from, to, promote } => {
                let sign = if promote { "+" } else { "" };
                format!("{}{}{sign}", self.square_name(from), self.square_name(to))
            }
        }
    }

    /// The move that a text names, legal or not.
    ///
    /// # Errors
    /// If it names none of this board and these pieces.
    pub fn parse_move(&self, text: &str) -> Result<Move, UsiError> {
        let mut chars = ['\0'; 5];
        let mut length = 0;
        for c in text.chars() {
            *chars.get_mut(length).ok_or(UsiError::Shape)? = c;
            length += 1;
        }
        match (length, chars) {
            (4, [piece, '*', file, rank, _]) => {
                let kind = self.kinds.iter().position(|k| k.letter == piece);
                let kind = kind.ok_or(UsiError::NoPiece {
                    found: piece,
                    variant: self.name,
                })?;
                if kind == 0 {
                    return Err(UsiError::King);
                }
                let to = self.named_square(file, rank, 3)?;
                Ok(Move::Drop { kind, to })
            }
            (4, _) | (5, [.., '+']) => Ok(Move::Board {
                from: self.named_square(chars[0], chars[1], 1)?,
                to: self.named_square(chars[2], chars[3], 3)?,
                promote: length == 5,
            }),
            _ => Err(UsiError::Shape),
        }
    }

    fn square_letters(&self, square: Square) -> [char; 2] {
        let (x, y) = (
            square / usize::from(self.height),
            square % usize::from(self.height),
        );
        let digit = u32::try_from(usize::from(self.width) - x).ok();
        let letter = u8::try_from(y).ok();
        [
            digit
                .and_then(|d| char::from_digit(d, 10))
                .expect("at most 9 files"),
            letter
                .map(|y| char::from(b'a' + y))
                .expect("at most 26 ranks"),
        ]
    }

    fn named_square(&self, file: char, rank: char, at: usize) -> Result<Square, UsiError> {
        let width = usize::from(self.width);
        let height = usize::from(self.height);
        let file = file.to_digit(10).map(|d| d as usize);
        let rank = rank
            .is_ascii_lowercase()
            .then(|| rank as usize - 'a' as usize);
        match (file, rank) {
            (Some(file), Some(y)) if (1..=width).contains(&file) && y < height => {
                Ok(height * (width - file) + y)
            }
            _ => Err(UsiError::Square {
                at,
                variant: self.name,
            }),
        }
    }
}
