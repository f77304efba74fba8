//! SFEN: how a position is written.
//!
//! Four fields: the board by ranks from the far side, each from Black's left; the side to move; the
//! hands, `-` if both are empty; a move number, which says nothing about the position and may be
//! left out.

use std::fmt;
use std::iter;

use super::arrangement::Arrangement;
use super::bits::Bits;
use super::position::{Hand, Piece, Position, Side};
use super::rules::Rules;
use super::variant::{KINDS, Variant};

/// Why a text is not the SFEN of an arrangement; characters are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SfenError {
    /// There is nothing to read.
    Empty,
    /// A character of the board or the hands that names no piece.
    NoPiece {
        /// The character.
        found: char,
        /// Where it stands.
        at: usize,
        /// The variant's name.
        variant: &'static str,
    },
    /// A promoted piece of a kind that does not promote.
    NoPromotion {
        /// The piece's letter as written.
        letter: char,
        /// Where its `+` stands.
        at: usize,
        /// The kind's name.
        kind: &'static str,
    },
    /// A `+` of the board that no piece follows.
    LonePlus {
        /// Where it stands.
        at: usize,
    },
    /// A `0` among the empty squares or before a piece in hand.
    Zero {
        /// Where it stands.
        at: usize,
    },
    /// A rank that is too short or too long.
    RankLength {
        /// The rank, 1 for the far one.
        rank: usize,
        /// How many squares it holds.
        found: usize,
        /// How many it should hold.
        expected: usize,
    },
    /// Too few or too many ranks.
    Ranks {
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The text ends after the board.
    NoTurn,
    /// The second field is neither `b` nor `w`.
    Turn {
        /// The character in the way.
        found: char,
        /// Where it stands.
        at: usize,
    },
    /// The text ends after the side to move.
    NoHands,
    /// A King in hand.
    KingInHand {
        /// Its letter as written.
        letter: char,
        /// Where it stands.
        at: usize,
    },
    /// A promoted piece in hand.
    PromotedInHand {
        /// Where its `+` stands.
        at: usize,
    },
    /// A number in the hands that no piece follows.
    LoneNumber {
        /// Where it begins.
        at: usize,
    },
    /// A number in the hands that exceeds 255.
    LargeNumber {
        /// Where it begins.
        at: usize,
    },
    /// A piece that the hands list a second time.
    HandTwice {
        /// Its letter as written.
        letter: char,
        /// Where it stands the second time.
        at: usize,
    },
    /// The fourth field is not a number.
    MoveNumber {
        /// The character in the way.
        found: char,
        /// Where it stands.
        at: usize,
    },
    /// Something follows the move number.
    Rest {
        /// Its first character.
        found: char,
        /// Where it stands.
        at: usize,
    },
}

impl fmt::Display for SfenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SfenError::Empty => write!(f, "an empty SFEN"),
            SfenError::NoPiece { found, at, variant } => {
                let found = found.escape_debug();
                write!(f, "`{found}` at character {at} is not a piece of {variant}")
            }
            SfenError::NoPromotion { letter, at, kind } => write!(
                f,
                "`+{letter}` at character {at}: a {kind} does not promote"
            ),
            SfenError::LonePlus { at } => {
                write!(f, "`+` at character {at} stands before no piece")
            }
            SfenError::Zero { at } => write!(f, "`0` at character {at} counts nothing"),
            SfenError::RankLength {
                rank,
                found,
                expected,
            } => {
                let s = plural(found);
                write!(
                    f,
                    "rank {rank} holds {found} square{s}, expected {expected}"
                )
            }
            SfenError::Ranks { found, expected } => {
                let s = plural(found);
                write!(f, "the board has {found} rank{s}, expected {expected}")
            }
            SfenError::NoTurn => write!(f, "no side to move follows the board"),
            SfenError::Turn { found, at } => {
                let found = found.escape_debug();
                write!(
                    f,
                    "`{found}` at character {at} is not a side to move, expected `b` or `w`"
                )
            }
            SfenError::NoHands => {
                write!(f, "no hands follow the side to move, expected `-` for none")
            }
            SfenError::KingInHand { letter, at } => {
                write!(f, "`{letter}` at character {at}: a King is never in hand")
            }
            SfenError::PromotedInHand { at } => {
                write!(f, "`+` at character {at}: pieces in hand are unpromoted")
            }
            SfenError::LoneNumber { at } => {
                write!(f, "the number at character {at} stands before no piece")
            }
            SfenError::LargeNumber { at } => {
                write!(f, "the number at character {at} is too large for a hand")
            }
            SfenError::HandTwice { letter, at } => {
                write!(f, "`{letter}` at character {at} is listed a second time")
            }
            SfenError::MoveNumber { found, at } => {
                let found = found.escape_debug();
                write!(
                    f,
                    "`{found}` at character {at} is not part of a move number"
                )
            }
            SfenError::Rest { found, at } => {
                let found = found.escape_debug();
                write!(f, "`{found}` at character {at} follows the move number")
            }
        }
    }
}

impl std::error::Error for SfenError {}

/// The ending of a noun after a number.
pub(super) fn plural(number: usize) -> &'static str {
    if number == 1 { "" } else { "s" }
}

/// Reads an arrangement; fields may be separated by any white space.
pub(super) fn parse(variant: &'static Variant, text: &str) -> Result<Arrangement, SfenError> {
    let mut fields = fields(text);
    let (at, board) = fields.next().ok_or(SfenError::Empty)?;
    let board = parse_board(variant, board, at)?;
    let (at, turn) = fields.next().ok_or(SfenError::NoTurn)?;
    let turn = parse_turn(turn, at)?;
    let (at, hands) = fields.next().ok_or(SfenError::NoHands)?;
    let hands = parse_hands(variant, hands, at)?;
    if let Some((at, number)) = fields.next()
        && let Some((i, found)) = numbered(number).find(|(_, c)| !c.is_ascii_digit())
    {
        return Err(SfenError::MoveNumber { found, at: at + i });
    }
    if let Some((at, rest)) = fields.next() {
        let found = rest.chars().next().unwrap_or(' ');
        return Err(SfenError::Rest { found, at });
    }
    Ok(Arrangement {
        variant,
        board,
        hands,
        turn,
    })
}

/// The fields of a text, each with the number of its first character.
fn fields(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 1;
    text.split(|c: char| c.is_ascii_whitespace())
        .map(move |field| {
            let at = next;
            next += field.chars().count() + 1;
            (at, field)
        })
        .filter(|(_, field)| !field.is_empty())
}

fn numbered(field: &str) -> impl Iterator<Item = (usize, char)> {
    field.chars().enumerate()
}

/// The side and kind that a letter names.
fn named(variant: &Variant, letter: char) -> Option<(Side, usize)> {
    let upper = letter.to_ascii_uppercase();
    let kind = variant.kinds.iter().position(|k| k.letter == upper)?;
    let side = if letter == upper {
        Side::Black
    } else {
        Side::White
    };
    Some((side, kind))
}

fn parse_board(
    variant: &'static Variant,
    field: &str,
    start: usize,
) -> Result<Vec<Option<Piece>>, SfenError> {
    let (width, height) = (usize::from(variant.width), usize::from(variant.height));
    let mut board = vec![None; variant.squares()];
    let (mut x, mut y) = (0, 0);
    let mut plus = None;
    for (i, c) in numbered(field).chain(iter::once((0, '/'))) {
        let at = start + i;
        if let (Some(at), '/' | '+' | '0'..='9') = (plus, c) {
            return Err(SfenError::LonePlus { at });
        }
        match c {
            '/' => {
                // Ranks beyond the last are only counted: their number is the error.
                if x != width && y < height {
                    return Err(SfenError::RankLength {
                        rank: y + 1,
                        found: x,
                        expected: width,
                    });
                }
                x = 0;
                y += 1;
            }
            '+' => plus = Some(at),
            '0' => return Err(SfenError::Zero { at }),
            '1'..='9' => x += c as usize - '0' as usize,
            letter => {
                let (side, kind) = named(variant, letter).ok_or(SfenError::NoPiece {
                    found: letter,
                    at,
                    variant: variant.name,
                })?;
                let entry = &variant.kinds[kind];
                if let Some(at) = plus
                    && entry.promoted.is_none()
                {
                    return Err(SfenError::NoPromotion {
                        letter,
                        at,
                        kind: entry.name,
                    });
                }
                if x < width && y < height {
                    board[height * x + y] = Some(Piece {
                        side,
                        kind,
                        promoted: plus.is_some(),
                    });
                }
                plus = None;
                x += 1;
            }
        }
    }
    if y != height {
        return Err(SfenError::Ranks {
            found: y,
            expected: height,
        });
    }
    Ok(board)
}

fn parse_turn(field: &str, start: usize) -> Result<Side, SfenError> {
    match field {
        "b" => Ok(Side::Black),
        "w" => Ok(Side::White),
        _ => {
            // The field is no single b or w: the first character is wrong, or the second too many.
            let (i, found) = numbered(field)
                .find(|&(i, c)| i > 0 || !matches!(c, 'b' | 'w'))
                .unwrap_or((0, ' '));
            Err(SfenError::Turn {
                found,
                at: start + i,
            })
        }
    }
}

fn parse_hands(
    variant: &'static Variant,
    field: &str,
    start: usize,
) -> Result<[Hand; 2], SfenError> {
    let mut hands = [[0_u8; KINDS]; 2];
    if field == "-" {
        return Ok(hands);
    }
    // Where the number before the next piece begins, and the number.
    let mut number: Option<(usize, u32)> = None;
    for (i, c) in numbered(field) {
        let at = start + i;
        match c {
            '0' if number.is_none() => return Err(SfenError::Zero { at }),
            '0'..='9' => {
                let (at, before) = number.unwrap_or((at, 0));
                let n = before * 10 + (c as u32 - '0' as u32);
                if n > u32::from(u8::MAX) {
                    return Err(SfenError::LargeNumber { at });
                }
                number = Some((at, n));
            }
            '+' => return Err(SfenError::PromotedInHand { at }),
            letter => {
                let (side, kind) = named(variant, letter).ok_or(SfenError::NoPiece {
                    found: letter,
                    at,
                    variant: variant.name,
                })?;
                if kind == 0 {
                    return Err(SfenError::KingInHand { letter, at });
                }
                let held = &mut hands[side as usize][kind];
                if *held > 0 {
                    return Err(SfenError::HandTwice { letter, at });
                }
                let n = number.take().map_or(1, |(_, n)| n);
                *held = u8::try_from(n).map_err(|_| SfenError::LargeNumber { at })?;
            }
        }
    }
    match number {
        Some((at, _)) => Err(SfenError::LoneNumber { at }),
        None => Ok(hands),
    }
}

impl<B: Bits> Rules<B> {
    /// The position's SFEN, hands in the variant's usual order, with move number 1.
    #[must_use]
    pub fn sfen(&self, position: &Position<B>) -> String {
        let mut text = String::with_capacity(128);
        self.write_sfen(position, &mut text);
        text
    }

    /// Appends the position's SFEN; a text that is cleared and used again allocates nothing.
    pub fn write_sfen(&self, position: &Position<B>, text: &mut String) {
        let (width, height) = (
            usize::from(self.variant.width),
            usize::from(self.variant.height),
        );
        let mut letters = [None; 128];
        for (kind, entry) in self.variant.kinds.iter().enumerate() {
            for square in position.kinds[kind].squares() {
                letters[square] = Some(if position.sides[0].has(square) {
                    entry.letter
                } else {
                    entry.letter.to_ascii_lowercase()
                });
            }
        }
        for y in 0..height {
            if y > 0 {
                text.push('/');
            }
            let mut empty = 0_u8;
            for x in 0..width {
                let square = height * x + y;
                let Some(letter) = letters[square] else {
                    empty += 1;
                    continue;
                };
                if empty > 0 {
                    text.push(char::from(b'0' + empty));
                    empty = 0;
                }
                if position.promoted.has(square) {
                    text.push('+');
                }
                text.push(letter);
            }
            if empty > 0 {
                text.push(char::from(b'0' + empty));
            }
        }
        text.push_str(match position.turn {
            Side::Black => " b ",
            Side::White => " w ",
        });
        let before = text.len();
        for side in Side::BOTH {
            for &kind in &self.hand_order {
                let letter = self.variant.kinds[kind].letter;
                push_held(
                    text,
                    position.hands[side as usize][kind],
                    match side {
                        Side::Black => letter,
                        Side::White => letter.to_ascii_lowercase(),
                    },
                );
            }
        }
        if text.len() == before {
            text.push('-');
        }
        text.push_str(" 1");
    }
}

/// Appends one entry of a hand.
fn push_held(text: &mut String, held: u8, letter: char) {
    if held == 0 {
        return;
    }
    if held >= 100 {
        text.push(char::from(b'0' + held / 100));
    }
    if held >= 10 {
        text.push(char::from(b'0' + held / 10 % 10));
    }
    if held >= 2 {
        text.push(char::from(b'0' + held % 10));
    }
    text.push(letter);
}
