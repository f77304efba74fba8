//! Why a position was judged as it was, in sentences.

mod ancestors;
mod filters;
mod last_move;
mod path;

use super::judge::{Judge, Ruling};
use super::outcome::Outcome;
use crate::game::{Bits, Position, Rules, Square};

pub use path::{Path, PathError};

/// An outcome's reasons, and for a reachable position the proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The reasons, a sentence or more a line.
    pub lines: Vec<String>,
    /// The moves that lead to a reachable position.
    pub path: Option<Path>,
    /// The mirror image that stands for a mirrored position, as SFEN, and how it ends in the funnel.
    pub image: Option<(String, Ruling)>,
}

impl Explanation {
    /// Explains the ruling on a position with Black to move.
    ///
    /// # Errors
    /// If the proof does not support the ruling: a fault in the program.
    pub fn of(
        rules: &Rules<u128>,
        judges: &Judge<u128>,
        position: &Position<u128>,
        ruling: Ruling,
    ) -> Result<Self, PathError> {
        let mut explanation = Explanation {
            lines: Vec::new(),
            path: None,
            image: None,
        };
        match ruling.outcome {
            Outcome::Mirrored => {
                let image = rules.mirrored(position);
                let sfen = rules.sfen(&image);
                let judged = judges.rule(&image, None);
                explanation.lines.push(format!(
                    "It is greater than its left-right mirror image, which represents both: {sfen} is {}.",
                    described(judged)
                ));
                explanation.image = Some((sfen, judged));
            }
            Outcome::TwoPawns => explanation.lines = filters::two_pawns(rules, position),
            Outcome::Immobile => explanation.lines = filters::immobile(rules, position),
            Outcome::InCheck => explanation.lines = filters::in_check(rules, position),
            Outcome::Unreachable => {
                explanation.lines = if ruling.depth == Some(0) {
                    last_move::why_none(rules, position)
                } else {
                    ancestors::describe(rules, position)
                };
            }
            Outcome::Reachable => {
                let path = Path::of(rules, position, &judges.prove(position, None).path)?;
                explanation.lines.push(if path.moves.is_empty() {
                    "Only the two Kings are on the board: it needs no move.".to_owned()
                } else {
                    format!(
                    "{} from {}, where only the two Kings are on the board, each checked by the forward rules:",
                    counted(path.moves.len(), "legal move leads here", "legal moves lead here"),
                    path.start
                )});
                explanation.path = Some(path);
            }
            Outcome::Undecided => {}
        }
        Ok(explanation)
    }
}

/// An outcome with its depth.
fn described(ruling: Ruling) -> String {
    match ruling.depth {
        Some(depth) => format!("{} (depth {depth})", ruling.outcome),
        None => ruling.outcome.to_string(),
    }
}

/// A number and what it counts.
fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A piece's name without its owner: "promoted Silver on 4b".
fn piece_on(rules: &Rules<u128>, position: &Position<u128>, square: Square) -> String {
    let variant = rules.variant();
    let name = variant.square_name(square);
    match position.at(square) {
        Some(piece) => {
            let promoted = if piece.promoted { "promoted " } else { "" };
            format!("{promoted}{} on {name}", variant.kinds[piece.kind].name)
        }
        None => name,
    }
}

/// The pieces on these squares: "the Rook on 5a and the Gold on 6b".
fn pieces_on(rules: &Rules<u128>, position: &Position<u128>, squares: u128) -> String {
    let names = squares
        .squares()
        .map(|square| format!("the {}", piece_on(rules, position, square)))
        .collect();
    listed(names, "and")
}

/// The names of these squares: "5a, 5b or 5c".
fn squares_named(rules: &Rules<u128>, squares: u128, link: &str) -> String {
    let variant = rules.variant();
    let names = squares.squares().map(|s| variant.square_name(s)).collect();
    listed(names, link)
}

fn listed(mut names: Vec<String>, link: &str) -> String {
    match names.pop() {
        None => String::new(),
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} {link} {last}", names.join(", ")),
    }
}
