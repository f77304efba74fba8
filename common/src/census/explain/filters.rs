//! Why a position fails a filter of the funnel.

use crate::game::{Bits, Position, Rules, Side};

use super::{piece_on, pieces_on, squares_named};

/// Every file that holds too many unpromoted pieces of a kind.
pub(super) fn two_pawns(rules: &Rules<u128>, position: &Position<u128>) -> Vec<String> {
    let variant = rules.variant();
    let height = usize::from(variant.height);
    let mut lines = Vec::new();
    for (kind, entry) in variant.kinds.iter().enumerate() {
        let Some(limit) = entry.file_limit else {
            continue;
        };
        for side in Side::BOTH {
            let pieces = position.pieces(side, kind, false);
            for x in 0..usize::from(variant.width) {
                let mut there = 0_u128;
                for square in pieces.squares().filter(|square| square / height == x) {
                    there |= u128::bit(square);
                }
                if there.count() > u32::from(limit) {
                    lines.push(format!(
                        "File {} holds {} unpromoted {}s of {side}, on {}; {limit} may stand there.",
                        usize::from(variant.width) - x,
                        there.count(),
                        entry.name,
                        squares_named(rules, there, "and"),
                    ));
                }
            }
        }
    }
    lines
}

/// Every piece that could never move.
pub(super) fn immobile(rules: &Rules<u128>, position: &Position<u128>) -> Vec<String> {
    let pieces = rules.immobile_pieces(position).squares();
    pieces
        .filter_map(|square| {
            let side = position.at(square)?.side;
            let piece = piece_on(rules, position, square);
            Some(format!("{side}'s {piece} has no move on any board."))
        })
        .collect()
}

/// What attacks the King of the side not to move.
pub(super) fn in_check(rules: &Rules<u128>, position: &Position<u128>) -> Vec<String> {
    let mover = position.turn().other();
    let checkers = rules.checkers(position, mover);
    vec![format!(
        "{mover} made the last move and left its {} attacked by {}.",
        piece_on(rules, position, position.king(mover)),
        pieces_on(rules, position, checkers),
    )]
}
