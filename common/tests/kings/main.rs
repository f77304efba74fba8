//! Why it is enough to reach the Kings: for every variant, the initial position and all KK positions
//! (the two Kings alone, not adjacent, every division of the hands, either side to move) can be
//! reached from each other.
//!
//! The parts are those of the proof in `docs/mathematics.md`, each checked by the forward rules.

use std::collections::{HashMap, HashSet};

use kazoe_common::census::{Verdict, published_search};
use kazoe_common::game::{Move, Position, Rules, Side, Variant};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

type Board = Position<u128>;

fn pieces_on_board(position: &Board) -> u32 {
    position.occupied().count_ones()
}

fn for_every_variant(check: impl Fn(&Rules<u128>)) {
    for variant in Variant::ALL {
        check(&Rules::new(variant));
    }
}

#[test]
fn the_initial_position_is_reachable_from_a_kk_position() {
    for_every_variant(|rules| {
        let initial = rules.initial();
        let search = published_search(rules, &initial, None);
        assert_eq!(search.verdict, Verdict::Reachable);
        let mut positions = vec![initial];
        for &unmove in &search.path {
            positions.push(rules.undo(&positions[positions.len() - 1], unmove));
        }
        for (&unmove, pair) in search.path.iter().zip(positions.windows(2)) {
            assert!(rules.is_legal(&pair[1], Move::from(unmove)));
            assert_eq!(rules.play(&pair[1], Move::from(unmove)), pair[0]);
        }
        let first = positions.last().unwrap();
        assert_eq!(pieces_on_board(first), 2);
        assert!(!rules.in_check(first, first.turn().other()));
    });
}

#[test]
fn a_kk_position_is_reachable_from_the_initial_position() {
    for_every_variant(|rules| {
        let reached = (0..1000).any(|seed| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut position = rules.initial();
            for _ in 0..2000 {
                // Never drop; capture whenever possible, a King's capture of the last piece included.
                let mut moves = rules.legal_moves(&position);
                moves.retain(|played| matches!(played, Move::Board { .. }));
                let captures = |played: &Move| {
                    matches!(played, Move::Board { to, .. } if position.at(*to).is_some())
                };
                if moves.iter().any(captures) {
                    moves.retain(captures);
                }
                if moves.is_empty() {
                    return false;
                }
                let played = moves[(rng.next_u64() % moves.len() as u64) as usize];
                assert!(rules.is_legal(&position, played));
                position = rules.play(&position, played);
                if pieces_on_board(&position) == 2 {
                    return true;
                }
            }
            false
        });
        assert!(reached, "{}", rules.variant().id);
    });
}

/// All KK positions with empty hands, either side to move.
fn kings_alone(rules: &Rules<u128>) -> Vec<Board> {
    let (width, height) = (rules.variant().width, rules.variant().height);
    let row = |y: u8, king: &dyn Fn(u8) -> Option<char>| {
        let mut row = String::new();
        for x in 0..width {
            row.push_str(&king(height * x + y).map_or("1".to_owned(), String::from));
        }
        // SFEN joins neighbouring gaps.
        for gap in (2..=width).rev() {
            row = row.replace(&"1".repeat(gap.into()), &gap.to_string());
        }
        row
    };
    let squares = width * height;
    let mut all = Vec::new();
    for black in 0..squares {
        for white in (0..squares).filter(|&white| white != black) {
            let king = |square: u8| match square {
                s if s == black => Some('K'),
                s if s == white => Some('k'),
                _ => None,
            };
            let rows: Vec<String> = (0..height).map(|y| row(y, &king)).collect();
            for turn in ["b", "w"] {
                let sfen = format!("{} {turn} -", rows.join("/"));
                let position = rules.parse(&sfen).unwrap();
                if !rules.in_check(&position, Side::Black) {
                    all.push(position);
                }
            }
        }
    }
    all
}

/// How many positions can be reached from the first along the edges.
fn reached(edges: &HashMap<Board, Vec<Board>>, first: Board) -> usize {
    let mut seen = HashSet::from([first]);
    let mut open = vec![first];
    while let Some(position) = open.pop() {
        for &next in edges.get(&position).into_iter().flatten() {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen.len()
}

#[test]
fn the_kings_walk_to_every_pair_of_squares_and_either_side_to_move() {
    for_every_variant(|rules| {
        let all = kings_alone(rules);
        let mut forward: HashMap<Board, Vec<Board>> = HashMap::new();
        let mut backward: HashMap<Board, Vec<Board>> = HashMap::new();
        for &position in &all {
            for played in rules.legal_moves(&position) {
                let next = rules.play(&position, played);
                forward.entry(position).or_default().push(next);
                backward.entry(next).or_default().push(position);
            }
        }
        // From the first to all, and from all to the first.
        assert_eq!(reached(&forward, all[0]), all.len());
        assert_eq!(reached(&backward, all[0]), all.len());
        let expected = match rules.variant().id {
            "shogi" => 2 * (81 * 80 - 4 * 3 - 28 * 5 - 49 * 8),
            "minishogi" => 2 * (25 * 24 - 4 * 3 - 12 * 5 - 9 * 8),
            _ => all.len(),
        };
        assert_eq!(all.len(), expected);
    });
}

#[test]
fn a_piece_of_every_kind_changes_hands_in_two_plies() {
    for_every_variant(|rules| {
        let (mut owed, mut positions) = (HashSet::new(), kings_alone(rules));
        positions.retain(|position| position.turn() == Side::Black);
        for kind in 1..rules.variant().kinds.len() {
            owed.extend(Side::BOTH.map(|side| (side, kind)));
        }
        for position in &positions {
            for (side, kind) in owed.clone() {
                if gives(rules, position, side, kind) {
                    owed.remove(&(side, kind));
                }
            }
        }
        assert!(owed.is_empty(), "{}: {owed:?}", rules.variant().id);
    });
}

/// Whether the side can drop a piece of the kind on some square from which the other King can take
/// it, so that a KK position is left.
///
/// What else the hands hold changes nothing: a drop is legal by the board alone, but for a Pawn's,
/// which must leave the opponent a legal move, and the capture is one.
fn gives(rules: &Rules<u128>, kings: &Board, side: Side, kind: usize) -> bool {
    let letter = rules.variant().kinds[kind].letter;
    let board = rules.sfen(kings);
    let board = board.split(' ').next().unwrap();
    let (turn, hand) = match side {
        Side::Black => ("b", letter),
        Side::White => ("w", letter.to_ascii_lowercase()),
    };
    let position = rules.parse(&format!("{board} {turn} {hand}")).unwrap();
    rules.legal_moves(&position).into_iter().any(|drop| {
        let Move::Drop { to: target, .. } = drop else {
            return false;
        };
        let dropped = rules.play(&position, drop);
        rules.legal_moves(&dropped).into_iter().any(|capture| {
            let after = rules.play(&dropped, capture);
            matches!(capture, Move::Board { to, .. } if to == target)
                && pieces_on_board(&after) == 2
                && after.turn() == side
                && after.hand(side.other())[kind] == 1
        })
    })
}
