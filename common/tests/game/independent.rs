//! Legal moves of shogi against an independent crate.

use std::collections::BTreeSet;

use kazoe_common::game::{Move, Position, Rules, Variant};
use rsshogi::board::{MoveList, position_from_sfen};
use rsshogi::movegen::generate_legal_all;

use crate::random::TestRng;

/// Compares the legal moves of a position by name and returns how many there are.
///
/// The other crate forbids Pawn drops that mate; that those which stalemate are forbidden too is our
/// own rule, so such drops may be missing here and nothing else.
fn compare(rules: &Rules<u128>, position: &Position<u128>) -> usize {
    let sfen = rules.sfen(position);
    let board = position_from_sfen(&sfen).unwrap_or_else(|error| panic!("{sfen}: {error}"));
    let mut list = MoveList::new();
    generate_legal_all(&board, &mut list);
    let theirs: BTreeSet<String> = list.iter().map(|m| m.to_usi()).collect();
    let ours: BTreeSet<String> = rules
        .legal_moves(position)
        .into_iter()
        .map(|m| Variant::SHOGI.move_name(m))
        .collect();
    assert_eq!(ours.difference(&theirs).next(), None, "{sfen}");
    for name in theirs.difference(&ours) {
        let m = Variant::SHOGI.parse_move(name).expect("a USI name");
        let next = rules.play(position, m);
        let pawn_drop =
            matches!(m, Move::Drop { kind, .. } if Variant::SHOGI.kinds[kind].letter == 'P');
        assert!(pawn_drop && !rules.has_legal_move(&next), "{sfen} {name}");
        assert!(!rules.in_check(&next, next.turn()), "{sfen} {name}");
    }
    ours.len()
}

#[test]
fn random_games() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    let mut rng = TestRng::new(17);
    let mut compared = 0;
    for _ in 0..40 {
        for position in rng.game(&rules, 300) {
            compared += compare(&rules, &position);
        }
    }
    assert!(compared > 100_000, "{compared} moves");
}

#[test]
fn thrown_positions() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    let mut rng = TestRng::new(19);
    let mut compared = 0;
    for i in 0..2000 {
        let position = rng.scattered(&rules, 2 + i % 9);
        compared += compare(&rules, &position);
    }
    assert!(compared > 100_000, "{compared} moves");
}
