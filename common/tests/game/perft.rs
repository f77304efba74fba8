//! Counts of legal moves against published ones.

use kazoe_common::game::{Bits, Move, Position, Rules, Variant};

use crate::variants::variant;
use kazoe_testkit::tables::table;

fn counts_agree<B: Bits>(variant: &'static Variant) {
    let rules = Rules::<B>::new(variant);
    let lines = table("perft.tsv");
    let mut rows = 0;
    for line in lines.iter().filter(|line| line[0] == variant.id) {
        rows += 1;
        let position = rules.parse(&line[1]).expect("a position");
        for (depth, expected) in (1..).zip(line[2].split(' ')) {
            let expected: u64 = expected.parse().expect("a number");
            assert_eq!(
                rules.perft(&position, depth),
                expected,
                "{} at {depth}",
                line[1]
            );
        }
        let divided = rules.divide(&position, 3);
        assert_eq!(divided.len() as u64, rules.perft(&position, 1));
        let sum: u64 = divided.iter().map(|(_, count)| count).sum();
        assert_eq!(sum, rules.perft(&position, 3));
    }
    assert!(rows > 0, "{}: no rows", variant.id);
}

#[test]
fn shogi() {
    counts_agree::<u128>(&Variant::SHOGI);
}

#[test]
fn minishogi() {
    counts_agree::<u64>(&Variant::MINISHOGI);
}

#[test]
fn minishogi_with_mating_drops() {
    counts_agree::<u64>(variant("minishogi-mating-drops"));
}

#[test]
fn gorogoro() {
    counts_agree::<u64>(variant("gorogoro"));
}

#[test]
fn judkins() {
    counts_agree::<u64>(variant("judkins"));
}

/// What the last of `depth` moves did: captures, promotions, checks, mates.
fn last_moves<B: Bits>(rules: &Rules<B>, position: &Position<B>, depth: u32) -> [u64; 4] {
    let mut sums = [0; 4];
    rules.for_each_move(position, |m| {
        let next = rules.play(position, m);
        if depth > 1 {
            for (sum, more) in sums.iter_mut().zip(last_moves(rules, &next, depth - 1)) {
                *sum += more;
            }
            return;
        }
        let check = rules.in_check(&next, next.turn());
        let seen = [
            matches!(m, Move::Board { to, .. } if position.occupied().has(to)),
            matches!(m, Move::Board { promote: true, .. }),
            check,
            check && !rules.has_legal_move(&next),
        ];
        for (sum, seen) in sums.iter_mut().zip(seen) {
            *sum += u64::from(seen);
        }
    });
    sums
}

#[test]
fn captures_promotions_checks_and_mates() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    assert_eq!(
        last_moves(&rules, &rules.initial(), 5),
        [113_680, 57_214, 71_434, 0]
    );
}

#[test]
fn pawn_drops_that_end_the_game() {
    let (rules, ignoring) = (
        Rules::<u128>::new(&Variant::SHOGI),
        Rules::<u128>::new(variant("shogi-mating-drops")),
    );
    for line in table("pawn-drop-mate.tsv") {
        let counts = [&rules, &ignoring].map(|rules| {
            let position = rules.parse(&line[0]).expect("a position");
            rules.legal_moves(&position).len().to_string()
        });
        assert_eq!(counts, [line[1].clone(), line[2].clone()], "{}", line[0]);
    }
}
