//! Images, canonicality and the local rules.

use std::cmp::Ordering;

use kazoe_common::game::{Bits, Piece, Position, Rules, Side, TwoPawns, Variant};

use crate::random::TestRng;
use kazoe_testkit::tables::table;
use kazoe_testkit::variants::{CHIRAL, GOROGORO, JUDKINS};

/// The list of the definition, (place in the piece order, square index), made the slow way.
fn piece_list<B: Bits>(
    rules: &Rules<B>,
    position: &Position<B>,
) -> Vec<(usize, bool, Side, usize)> {
    let variant = rules.variant();
    let mut list: Vec<_> = (0..variant.squares())
        .filter_map(|square| position.at(square).map(|piece| (piece, square)))
        .map(|(piece, square)| {
            let letter = variant.kinds[piece.kind].letter;
            let place = variant.mirror_order.find(letter).expect("every kind");
            (place, !piece.promoted, piece.side, square)
        })
        .collect();
    list.sort_unstable();
    list
}

fn known_images_agree<B: Bits>(variant: &'static Variant, file: &str, column: usize) {
    let rules = Rules::<B>::new(variant);
    for line in table(file) {
        images_agree(&rules, &rules.parse(&line[column]).expect("a position"));
    }
}

/// Compares the images of a position, and what is said about them, with the definitions.
fn images_agree<B: Bits>(rules: &Rules<B>, position: &Position<B>) {
    let variant = rules.variant();
    let image_of = |kind: usize| {
        let letter = variant.kinds[kind].mirror;
        let found = variant.kinds.iter().position(|k| k.letter == letter);
        found.expect("the mirror image is a kind")
    };
    let mirrored = rules.mirrored(position);
    let exchanged = rules.exchanged(position);
    assert_eq!(rules.mirrored(&mirrored), *position);
    assert_eq!(rules.exchanged(&exchanged), *position);
    assert_eq!(rules.exchanged(&mirrored), rules.mirrored(&exchanged));
    let (width, height) = (usize::from(variant.width), usize::from(variant.height));
    for square in 0..variant.squares() {
        let (x, y) = (square / height, square % height);
        let piece = position.at(square);
        let image = mirrored.at(height * (width - 1 - x) + y);
        let expected = piece.map(|p| Piece {
            kind: image_of(p.kind),
            ..p
        });
        assert_eq!(image, expected);
        let twin = exchanged.at(variant.squares() - 1 - square);
        assert_eq!(
            twin.map(|p| (p.kind, p.promoted)),
            piece.map(|p| (p.kind, p.promoted))
        );
        assert_eq!(twin.map(|p| p.side.other()), piece.map(|p| p.side));
    }
    for side in Side::BOTH {
        for kind in 0..variant.kinds.len() {
            assert_eq!(
                mirrored.hand(side)[image_of(kind)],
                position.hand(side)[kind]
            );
        }
        assert_eq!(exchanged.hand(side.other()), position.hand(side));
        // A move's target is attacked alike in every image.
        assert_eq!(
            rules.in_check(&mirrored, side),
            rules.in_check(position, side)
        );
        assert_eq!(
            rules.in_check(&exchanged, side.other()),
            rules.in_check(position, side)
        );
    }
    let order = piece_list(rules, position).cmp(&piece_list(rules, &mirrored));
    assert_eq!(rules.is_canonical(position), order != Ordering::Greater);
    assert_eq!(rules.is_canonical(&mirrored), order != Ordering::Less);
    assert_eq!(rules.is_self_mirrored(position), mirrored == *position);
}

#[test]
fn images_of_known_positions() {
    known_images_agree::<u128>(&Variant::SHOGI, "verdicts-shogi.tsv", 0);
    known_images_agree::<u128>(&Variant::SHOGI, "ranks-shogi.tsv", 1);
    known_images_agree::<u64>(&Variant::MINISHOGI, "verdicts-minishogi.tsv", 0);
    known_images_agree::<u64>(&Variant::MINISHOGI, "ranks-minishogi.tsv", 1);
}

/// On a board without a central file, and on one whose mirror changes kinds.
#[test]
fn images_of_random_positions() {
    let mut rng = TestRng::new(23);
    let mut equal = 0;
    for variant in [&JUDKINS, &CHIRAL, &GOROGORO] {
        let rules = Rules::<u64>::new(variant);
        for i in 0..2000 {
            let position = rng.scattered(&rules, 2 + i % 3);
            images_agree(&rules, &position);
            equal += usize::from(rules.is_self_mirrored(&position));
        }
    }
    assert!(equal > 0, "{equal} positions were their own images");
}

/// The stages of the funnel before the search, against the published outcomes.
fn stages_agree<B: Bits>(variant: &'static Variant, file: &str) {
    let rules = Rules::<B>::new(variant);
    for line in table(file) {
        let position = rules.parse(&line[0]).expect("a position");
        let stage = if !rules.is_canonical(&position) {
            "mirrored"
        } else if rules.has_two_pawns(&position) {
            "two_pawns"
        } else if rules.has_immobile(&position) {
            "immobile"
        } else if !rules.checkers(&position, Side::White).is_empty() {
            "in_check"
        } else {
            "searched"
        };
        let expected = match line[1].as_str() {
            "reachable" | "unreachable" => "searched",
            early => early,
        };
        assert_eq!(stage, expected, "{}", line[0]);
    }
}

#[test]
fn published_outcomes_before_the_search() {
    stages_agree::<u128>(&Variant::SHOGI, "verdicts-shogi.tsv");
    stages_agree::<u64>(&Variant::MINISHOGI, "verdicts-minishogi.tsv");
}

#[test]
fn self_mirrored_positions_are_canonical() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    for (sfen, expected) in [
        ("4k4/9/9/9/9/9/9/9/4K4 b R2G 1", true),
        ("4k4/9/9/p7p/9/9/9/4P4/R3K3R b - 1", true),
        ("4k4/9/9/9/9/9/9/9/3K5 b - 1", false),
        ("4k4/9/9/p7+p/9/9/9/9/4K4 b - 1", false),
        ("4k4/9/9/p7P/9/9/9/9/4K4 b - 1", false),
    ] {
        let position = rules.parse(sfen).expect("a position");
        assert_eq!(rules.is_self_mirrored(&position), expected, "{sfen}");
        assert!(!expected || rules.is_canonical(&position), "{sfen}");
    }
}

#[test]
fn explanations_name_the_first_offender() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    let cases = [
        ("4k4/9/9/9/9/9/9/9/4K4 b - 1", None, None, 0),
        (
            "4k4/7p1/9/7p1/9/P8/9/9/4K4 b - 1",
            Some((Side::White, 7)),
            None,
            0,
        ),
        (
            "4k4/7p1/9/7p1/P8/P8/9/9/4K4 b - 1",
            Some((Side::Black, 0)),
            None,
            0,
        ),
        ("4k4/7p1/9/7+p1/P8/+P8/9/9/4K4 b - 1", None, None, 0),
        ("4k4/7p1/9/7P1/9/9/9/9/4K4 b - 1", None, None, 0),
        ("4k2P1/9/9/9/9/9/9/9/4K4 b - 1", None, Some(63), 0),
        ("L3k4/9/9/9/9/9/9/9/4K3l b - 1", None, Some(0), 0),
        ("4k4/1N7/9/9/9/9/9/7n1/4K4 b - 1", None, Some(10), 0),
        ("+L3k3+P/1+N7/9/9/9/9/9/7+n1/4K4 b - 1", None, None, 0),
        ("4k4/9/3N1N3/9/4L4/9/9/9/4K4 b - 1", None, None, 3),
    ];
    for (sfen, crowded, stuck, checkers) in cases {
        let position = rules.parse(sfen).expect("a position");
        let expected = crowded.map(|(side, x)| TwoPawns { side, kind: 4, x });
        assert_eq!(rules.two_pawns(&position), expected, "{sfen}");
        assert_eq!(rules.immobile(&position), stuck, "{sfen}");
        assert_eq!(
            rules.checkers(&position, Side::White).count(),
            checkers,
            "{sfen}"
        );
    }
}
