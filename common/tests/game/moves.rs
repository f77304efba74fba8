//! Moves: their names, their legality and what they do, on random positions.

use std::collections::BTreeSet;

use kazoe_common::game::{Bits, Move, Position, Rules, Side, Variant};

use crate::random::TestRng;
use crate::variants::variant;

/// The position after a move that its name gives.
fn played<B: Bits>(rules: &Rules<B>, position: &Position<B>, name: &str) -> String {
    let wanted = rules.variant().parse_move(name).expect("a move's name");
    assert!(rules.is_legal(position, wanted), "{name}");
    assert_eq!(rules.variant().move_name(wanted), name);
    rules.sfen(&rules.play(position, wanted))
}

#[test]
fn moves_do_what_their_names_say() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    for (before, name, after) in [
        (
            Variant::SHOGI.initial,
            "7g7f",
            "lnsgkgsnl/1r5b1/ppppppppp/9/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL w - 1",
        ),
        (
            "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 1",
            "8h2b+",
            "lnsgkgsnl/1r5+B1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/7R1/LNSGKGSNL w B 1",
        ),
        (
            "4k4/9/9/9/9/9/9/9/4K4 w P2p 1",
            "P*5e",
            "4k4/9/9/9/4p4/9/9/9/4K4 b Pp 1",
        ),
        (
            "4k4/9/9/9/9/9/4n4/9/4K4 w - 1",
            "5g6i+",
            "4k4/9/9/9/9/9/9/9/3+nK4 b - 1",
        ),
        (
            "4k4/9/9/9/9/9/9/3+b5/4K4 b - 1",
            "5i6h",
            "4k4/9/9/9/9/9/9/3K5/9 w B 1",
        ),
    ] {
        let position = rules.parse(before).expect("a position");
        assert_eq!(played(&rules, &position, name), after);
    }
    let position = rules.parse("4k4/9/9/9/9/9/4n4/9/4K4 w - 1");
    let stuck = Variant::SHOGI.parse_move("5g6i").expect("a move's name");
    assert!(!rules.is_legal(&position.expect("a position"), stuck));
    let rules = Rules::<u64>::new(&Variant::MINISHOGI);
    let position = rules.initial();
    assert_eq!(
        played(&rules, &position, "5d5c"),
        "rbsgk/4p/P4/5/KGSBR w - 1"
    );
}

#[test]
fn wrong_names_are_told_apart() {
    for (text, expected) in [
        ("", "not a move such as 7g7f, 8h2b+ or P*5e"),
        ("7g7", "not a move such as 7g7f, 8h2b+ or P*5e"),
        ("7g7f++", "not a move such as 7g7f, 8h2b+ or P*5e"),
        ("7g7f=", "not a move such as 7g7f, 8h2b+ or P*5e"),
        ("P*5e+", "no square of shogi at character 1"),
        ("0g7f", "no square of shogi at character 1"),
        ("7j7f", "no square of shogi at character 1"),
        ("7g7F", "no square of shogi at character 3"),
        ("7g飛f", "no square of shogi at character 3"),
        ("P*0a", "no square of shogi at character 3"),
        ("p*5e", "`p` at character 1 is not a piece of shogi"),
        ("歩*5e", "`歩` at character 1 is not a piece of shogi"),
        ("K*5e", "a King is never dropped"),
    ] {
        let error = Variant::SHOGI.parse_move(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
    let long = "7".repeat(1_000_000);
    assert!(Variant::SHOGI.parse_move(&long).is_err());
    let error = Variant::MINISHOGI.parse_move("6a5a").expect_err("too wide");
    assert_eq!(error.to_string(), "no square of mini shogi at character 1");
    for square in 0..Variant::SHOGI.squares() {
        let to = 80 - square;
        for promote in [false, true] {
            let named = Move::Board {
                from: square,
                to,
                promote,
            };
            let name = Variant::SHOGI.move_name(named);
            assert_eq!(Variant::SHOGI.parse_move(&name), Ok(named));
        }
    }
}

/// Positions of random games and thrown ones, with many pieces in hand and with few.
fn positions<B: Bits>(rules: &Rules<B>, seed: u64, number: usize) -> Vec<Position<B>> {
    let mut rng = TestRng::new(seed);
    let mut found = Vec::new();
    while found.len() < number {
        let game = rng.game(rules, 200);
        found.push(game[rng.number(game.len())]);
        found.push(game[game.len() - 1]);
        for hand_odds in [2, 5, 20] {
            found.push(rng.scattered(rules, hand_odds));
        }
    }
    found
}

fn mirrored<B: Bits>(rules: &Rules<B>, played: Move) -> Move {
    let (width, height) = (
        usize::from(rules.variant().width),
        usize::from(rules.variant().height),
    );
    mapped(played, |s| height * (width - 1 - s / height) + s % height)
}

fn mapped(played: Move, square: impl Fn(usize) -> usize) -> Move {
    match played {
        Move::Drop { kind, to } => Move::Drop {
            kind,
            to: square(to),
        },
        Move::Board { from, to, promote } => Move::Board {
            from: square(from),
            to: square(to),
            promote,
        },
    }
}

fn legal_set<B: Bits>(rules: &Rules<B>, position: &Position<B>) -> BTreeSet<Move> {
    let moves = rules.legal_moves(position);
    let set: BTreeSet<Move> = moves.iter().copied().collect();
    assert_eq!(set.len(), moves.len(), "a move was listed twice");
    set
}

fn properties_hold<B: Bits>(variant: &'static Variant) {
    let rules = Rules::<B>::new(variant);
    for position in positions(&rules, 7, 200) {
        let sfen = rules.sfen(&position);
        let moves = legal_set(&rules, &position);
        assert_eq!(rules.has_legal_move(&position), !moves.is_empty(), "{sfen}");
        assert_eq!(rules.perft(&position, 1), moves.len() as u64, "{sfen}");
        let me = position.turn();
        for &m in &moves {
            let next = rules.play(&position, m);
            let name = variant.move_name(m);
            assert_eq!(variant.parse_move(&name), Ok(m));
            // The SFEN is made from the squares, so it reads back only if all sets agree.
            assert_eq!(rules.parse(&rules.sfen(&next)), Ok(next), "{sfen} {name}");
            assert_eq!(rules.check_whole_set(&next), Ok(()), "{sfen} {name}");
            assert_eq!(next.turn(), me.other());
            assert!(!rules.in_check(&next, me), "{sfen} {name}");
            assert!(!rules.has_two_pawns(&next), "{sfen} {name}");
            assert!(!rules.has_immobile(&next), "{sfen} {name}");
            if let Move::Drop { kind, .. } = m
                && variant.kinds[kind].mating_drop_forbidden
            {
                assert!(rules.has_legal_move(&next), "{sfen} {name}");
            }
        }
        let image = legal_set(&rules, &rules.mirrored(&position));
        let expected: BTreeSet<Move> = moves.iter().map(|&m| mirrored(&rules, m)).collect();
        assert_eq!(image, expected, "{sfen}");
        let twin = legal_set(&rules, &rules.exchanged(&position));
        let last = variant.squares() - 1;
        let expected: BTreeSet<Move> = moves.iter().map(|&m| mapped(m, |s| last - s)).collect();
        assert_eq!(twin, expected, "{sfen}");
    }
}

#[test]
fn properties_of_legal_moves_on_random_positions() {
    properties_hold::<u128>(&Variant::SHOGI);
    properties_hold::<u64>(&Variant::MINISHOGI);
    properties_hold::<u64>(variant("gorogoro"));
    properties_hold::<u64>(variant("judkins"));
    properties_hold::<u64>(variant("tiny"));
}

#[test]
fn a_move_is_legal_exactly_when_it_is_listed() {
    let rules = Rules::<u64>::new(&Variant::MINISHOGI);
    let squares = Variant::MINISHOGI.squares();
    for position in positions(&rules, 11, 50) {
        let listed = legal_set(&rules, &position);
        // One square beyond the board is asked about too.
        let asked = (0..=squares).flat_map(|to| {
            let drops =
                (0..=Variant::MINISHOGI.kinds.len()).map(move |kind| Move::Drop { kind, to });
            let moves = (0..=squares).flat_map(move |from| {
                [false, true].map(|promote| Move::Board { from, to, promote })
            });
            drops.chain(moves)
        });
        let legal: BTreeSet<Move> = asked.filter(|&m| rules.is_legal(&position, m)).collect();
        assert_eq!(legal, listed, "{}", rules.sfen(&position));
    }
    let beyond = Move::Board {
        from: usize::MAX,
        to: usize::MAX,
        promote: true,
    };
    assert!(!rules.is_legal(&rules.initial(), beyond));
}

/// Whether the side to move has a legal move, by the recursive definition and nothing else. `free`
/// are the rules with mating Pawn drops.
fn has_move_by_definition<B: Bits>(free: &Rules<B>, position: &Position<B>) -> bool {
    free.legal_moves(position)
        .into_iter()
        .any(|m| is_legal_by_definition(free, position, m))
}

fn is_legal_by_definition<B: Bits>(free: &Rules<B>, position: &Position<B>, m: Move) -> bool {
    match m {
        Move::Drop { kind, .. } if free.variant().kinds[kind].name == "Pawn" => {
            has_move_by_definition(free, &free.play(position, m))
        }
        _ => true,
    }
}

/// Compares the legal moves with the definition; returns how many Pawn drops were forbidden as mate
/// and how many as stalemate.
fn forbidden_drops<B: Bits>(
    strict: &'static Variant,
    free: &'static Variant,
    positions: usize,
) -> [usize; 2] {
    let (strict, free) = (Rules::<B>::new(strict), Rules::<B>::new(free));
    let mut forbidden = [0; 2];
    let mut rng = TestRng::new(3);
    for i in 0..positions {
        let position = rng.scattered(&strict, 2 + i % 7);
        let (legal, illegal): (BTreeSet<Move>, BTreeSet<Move>) = free
            .legal_moves(&position)
            .into_iter()
            .partition(|&m| is_legal_by_definition(&free, &position, m));
        let sfen = strict.sfen(&position);
        assert_eq!(legal_set(&strict, &position), legal, "{sfen}");
        for m in illegal {
            let next = free.play(&position, m);
            let stalemate = !free.in_check(&next, next.turn());
            forbidden[usize::from(stalemate)] += 1;
        }
    }
    forbidden
}

#[test]
fn pawn_drops_follow_the_recursive_definition() {
    let tiny = forbidden_drops::<u64>(variant("tiny"), variant("tiny-mating-drops"), 40_000);
    assert!(tiny[0] > 100 && tiny[1] > 100, "{tiny:?}");
    let mini = forbidden_drops::<u64>(
        &Variant::MINISHOGI,
        variant("minishogi-mating-drops"),
        10_000,
    );
    assert!(mini[0] > 10, "{mini:?}");
    let shogi = forbidden_drops::<u128>(&Variant::SHOGI, variant("shogi-mating-drops"), 2000);
    assert!(shogi[0] > 5, "{shogi:?}");
}

#[test]
fn both_words_agree() {
    let (narrow, wide) = (
        Rules::<u64>::new(&Variant::MINISHOGI),
        Rules::<u128>::new(&Variant::MINISHOGI),
    );
    for position in positions(&narrow, 5, 100) {
        let same = wide.parse(&narrow.sfen(&position)).expect("a position");
        assert_eq!(narrow.legal_moves(&position), wide.legal_moves(&same));
        assert_eq!(narrow.is_canonical(&position), wide.is_canonical(&same));
        for side in Side::BOTH {
            assert_eq!(narrow.in_check(&position, side), wide.in_check(&same, side));
        }
    }
}
