//! Counts of legal moves against published ones.

use kazoe_common::game::{Bits, Rules, Variant};

use crate::data::table;
use crate::variants::{MATING_SHOGI, variant};

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

#[test]
fn pawn_drops_that_end_the_game() {
    let (rules, ignoring) = (
        Rules::<u128>::new(&Variant::SHOGI),
        Rules::<u128>::new(&MATING_SHOGI),
    );
    for line in table("pawn-drop-mate.tsv") {
        let counts = [&rules, &ignoring].map(|rules| {
            let position = rules.parse(&line[0]).expect("a position");
            rules.legal_moves(&position).len().to_string()
        });
        assert_eq!(counts, [line[1].clone(), line[2].clone()], "{}", line[0]);
    }
}
