//! The slow twin against the published figures, before anything is compared with it.

mod twin;

use kazoe_common::census::Outcome;
use kazoe_common::game::Variant;
use kazoe_testkit::tables::table;
use num_bigint::BigUint;
use twin::Twin;
use twin::moves::Move;
use twin::ranks::Candidates;
use twin::rng::{TestRng, positions};

#[test]
fn twin_perft_of_the_initial_positions() {
    let shogi = Twin::new(&Variant::SHOGI);
    for (depth, expected) in (1..).zip([30, 900, 25_470]) {
        assert_eq!(shogi.perft(&shogi.initial(), depth), expected);
    }
    let mini = Twin::new(&Variant::MINISHOGI);
    for (depth, expected) in (1..).zip([14, 181, 2_512, 35_401, 533_203]) {
        assert_eq!(mini.perft(&mini.initial(), depth), expected);
    }
}

#[test]
fn twin_perft_of_the_test_positions() {
    let shogi = Twin::new(&Variant::SHOGI);
    let rows = [
        (
            "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1",
            [593, 105_677],
        ),
        (
            "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1",
            [207, 28_684],
        ),
    ];
    for (sfen, counts) in rows {
        for (depth, expected) in (1..).zip(counts) {
            assert_eq!(shogi.perft(&shogi.parse(sfen), depth), expected, "{sfen}");
        }
    }
}

#[test]
fn twin_knows_pawn_drop_mate_and_stalemate() {
    let shogi = Twin::new(&Variant::SHOGI);
    let rows = [
        ("4k4/9/2NG1GN2/9/9/9/9/9/4K4 b P 1", 19),
        (
            "lnsg3nk/1r2b1gs1/ppppppp1p/7N1/7p1/9/PPPPPPPP1/1B5R1/LNSGKGS1L b P 1",
            43,
        ),
        ("3pkp3/3p1p3/9/9/1B7/9/9/9/4K4 b P 1", 85),
        ("3lkl3/3p1p3/4G4/9/9/9/9/9/K8 b P 1", 76),
        ("7nk/9/7G1/9/9/9/9/9/4K4 b P 1", 80),
        ("4k4/9/9/9/9/9/1g7/9/KN7 w p 1", 80),
        ("k8/9/G1N6/9/9/9/9/9/8K b P 1", 9),
        ("k8/9/GsN6/9/9/9/9/9/8K b P 1", 77),
        (
            "l+N4knl/6g2/4+P2p1/p2s1Pp1p/1pp1l2P1/P1sK2P1P/1P3S1r1/5G3/LN7 w R2BGSN4Pgp 106",
            116,
        ),
    ];
    for (sfen, expected) in rows {
        let moves = shogi.legal_moves(&shogi.parse(sfen));
        assert_eq!(moves.len(), expected, "{sfen}");
    }
}

#[test]
fn twin_sfen_round_trips() {
    let columns = [
        (&Variant::SHOGI, "ranks-shogi.tsv", 1),
        (&Variant::SHOGI, "verdicts-shogi.tsv", 0),
        (&Variant::MINISHOGI, "ranks-minishogi.tsv", 1),
        (&Variant::MINISHOGI, "verdicts-minishogi.tsv", 0),
    ];
    for (variant, name, column) in columns {
        let twin = Twin::new(variant);
        for row in table(name) {
            assert_eq!(twin.format(&twin.parse(&row[column])), row[column]);
        }
    }
}

fn ranks_match(variant: &'static Variant, size: &str, name: &str) {
    let twin = Twin::new(variant);
    let candidates = Candidates::new(twin);
    assert_eq!(candidates.size.to_string(), size);
    for row in table(name) {
        let (rank, sfen): (BigUint, &str) = (row[0].parse().unwrap(), &row[1]);
        assert_eq!(twin.format(&candidates.unrank(&rank)), sfen, "{rank}");
        assert_eq!(candidates.rank(&twin.parse(sfen)), Some(rank), "{sfen}");
    }
}

#[test]
fn twin_ranks_shogi_in_the_published_order() {
    ranks_match(
        &Variant::SHOGI,
        "80880932079767835177773204009328769812438521503800714936366945233084532",
        "ranks-shogi.tsv",
    );
}

#[test]
fn twin_ranks_minishogi_in_the_published_order() {
    ranks_match(
        &Variant::MINISHOGI,
        "16014219505238849250",
        "ranks-minishogi.tsv",
    );
}

/// Judges every `stride`-th line, and every line of depth 1 or more.
fn verdicts_match(variant: &'static Variant, name: &str, stride: usize) {
    let twin = Twin::new(variant);
    for (number, row) in table(name).into_iter().enumerate() {
        let sfen = &row[0];
        let outcome = Outcome::by_name(&row[1]).expect("an outcome's name");
        let depth: Option<u32> = row.get(2).and_then(|depth| depth.parse().ok());
        if number % stride == 0 || depth.is_some_and(|depth| depth > 0) {
            let judged = twin.judge(&twin.parse(sfen));
            assert_eq!(judged, (outcome, depth), "{sfen}");
        }
    }
}

#[test]
fn twin_judges_minishogi_as_published() {
    verdicts_match(&Variant::MINISHOGI, "verdicts-minishogi.tsv", 1);
}

#[test]
fn twin_judges_shogi_as_published() {
    verdicts_match(&Variant::SHOGI, "verdicts-shogi.tsv", 8);
}

/// q is a predecessor of p exactly when p comes of a legal move in q; both lists name a position once.
fn moves_and_predecessors_are_inverse(variant: &'static Variant, seed: u64, number: usize) {
    let twin = Twin::new(variant);
    let mut rng = TestRng::seeded(seed);
    for _ in 0..positions(number) {
        let position = match rng.number(3) {
            0 => {
                let plies = rng.number(200);
                twin.random_play(&mut rng, plies)
            }
            1 => twin.random_placement(&mut rng, 2),
            _ => twin.random_placement(&mut rng, 10),
        };
        let sfen = twin.format(&position);
        let before = twin.predecessors(&position);
        for q in &before {
            assert_eq!(twin.broken_rule(q), None, "{sfen} from {}", twin.format(q));
            let ways = twin
                .legal_moves(q)
                .into_iter()
                .filter(|&step| twin.play(q, step) == position)
                .count();
            assert_eq!(ways, 1, "{sfen} from {}", twin.format(q));
        }
        let moves: Vec<Move> = twin.legal_moves(&position);
        for step in moves {
            let next = twin.play(&position, step);
            let ways = twin
                .predecessors(&next)
                .into_iter()
                .filter(|q| *q == position)
                .count();
            assert_eq!(ways, 1, "{sfen} by {step:?}");
        }
    }
}

#[test]
fn twin_moves_and_predecessors_are_inverse_in_shogi() {
    moves_and_predecessors_are_inverse(&Variant::SHOGI, 9, 20);
}

#[test]
fn twin_moves_and_predecessors_are_inverse_in_minishogi() {
    moves_and_predecessors_are_inverse(&Variant::MINISHOGI, 5, 300);
}
