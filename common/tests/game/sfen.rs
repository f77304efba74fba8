//! SFEN in and out.

use kazoe_common::game::{Arrangement, Bits, Position, Rules, Side, Variant};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use kazoe_testkit::tables::table;

/// Reads every position of a table's column and checks that it comes out as it went in.
fn round_trips<B: Bits>(variant: &'static Variant, file: &str, column: usize) {
    let rules = Rules::<B>::new(variant);
    let mut text = String::new();
    for line in table(file) {
        let sfen = &line[column];
        let position = rules
            .parse(sfen)
            .unwrap_or_else(|error| panic!("{sfen}: {error}"));
        assert_eq!(rules.check_whole_set(&position), Ok(()), "{sfen}");
        text.clear();
        rules.write_sfen(&position, &mut text);
        assert_eq!(text, *sfen);
        for (x, y) in (0..variant.width).flat_map(|x| (0..variant.height).map(move |y| (x, y))) {
            let square = usize::from(x) * usize::from(variant.height) + usize::from(y);
            let arrangement = Arrangement::parse(variant, sfen).expect("it parsed before");
            assert_eq!(position.at(square), arrangement.at(square), "{sfen}");
        }
    }
}

#[test]
fn known_positions_come_out_as_they_went_in() {
    round_trips::<u128>(&Variant::SHOGI, "ranks-shogi.tsv", 1);
    round_trips::<u128>(&Variant::SHOGI, "verdicts-shogi.tsv", 0);
    round_trips::<u64>(&Variant::MINISHOGI, "ranks-minishogi.tsv", 1);
    round_trips::<u64>(&Variant::MINISHOGI, "verdicts-minishogi.tsv", 0);
    round_trips::<u128>(&Variant::MINISHOGI, "verdicts-minishogi.tsv", 0);
}

#[test]
fn hands_are_sorted_and_the_move_number_is_one() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    for (input, output) in [
        (
            "4k4/9/9/9/9/9/9/9/4K4 w pl2nPG10pS 77",
            "`p` at character 33 is listed a second time",
        ),
        (
            "4k4/9/9/9/9/9/9/9/4K4 w pl2nPGSb 77",
            "4k4/9/9/9/9/9/9/9/4K4 w GSPb2nlp 1",
        ),
        (
            "4k4/9/9/9/9/9/9/9/4K4 b 18p",
            "4k4/9/9/9/9/9/9/9/4K4 b 18p 1",
        ),
        (
            " 13k1111/333/9/9/9/9/9/9/4K4  b   1p1P \n",
            "4k4/9/9/9/9/9/9/9/4K4 b Pp 1",
        ),
    ] {
        let got = match rules.parse(input) {
            Ok(position) => rules.sfen(&position),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, output);
    }
}

#[test]
fn squares_count_from_blacks_left_and_from_the_far_side() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    let position = rules
        .parse("k8/9/9/9/9/9/9/9/1K7 w - 1")
        .expect("a position");
    assert_eq!(position.king(Side::White), 0);
    assert_eq!(position.king(Side::Black), 17);
    assert_eq!(position.turn(), Side::White);
}

#[test]
fn errors_point_at_the_character() {
    for line in table("bad-sfen.tsv") {
        let [variant, sfen, expected] = line.as_slice() else {
            panic!("three fields: {line:?}");
        };
        let variant = Variant::by_id(variant).expect("a known variant");
        let rules = Rules::<u128>::new(variant);
        let error = rules.parse(sfen).expect_err(sfen);
        assert_eq!(error.to_string(), *expected, "{sfen}");
    }
}

#[test]
fn a_census_wants_the_whole_set() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    for (sfen, expected) in [
        (
            "lnsgkgsnl/1r5b1/pppp1pppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
            "17 Pawns, the game has 18",
        ),
        (
            "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1",
            "1 Bishop, the game has 2",
        ),
        ("4k4/9/9/9/9/9/9/9/4K4 b - 1", "0 Golds, the game has 4"),
    ] {
        let position = rules.parse(sfen).expect("a position");
        let error = rules.check_whole_set(&position).expect_err(sfen);
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn arrangements_belong_to_a_variant() {
    let rules = Rules::<u128>::new(&Variant::SHOGI);
    let small = Arrangement::parse(&Variant::MINISHOGI, Variant::MINISHOGI.initial);
    let error = rules.position(&small.expect("its own initial position"));
    assert_eq!(
        error.expect_err("too small").to_string(),
        "an arrangement of mini shogi, expected shogi"
    );
}

/// Whatever is done to a good SFEN, reading it ends in a position that reads back, or in an error.
#[test]
fn no_text_is_too_hostile() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let alphabet: Vec<char> = "+-/ 0123456789bwkKgGpPrRxX\t\n\u{0}\u{7f}é飛\u{202e}\u{1f600}"
        .chars()
        .collect();
    let shogi = Rules::<u128>::new(&Variant::SHOGI);
    let (mut good, mut bad) = (0, 0);
    for line in table("ranks-shogi.tsv") {
        for _ in 0..100 {
            let mut text: Vec<char> = line[1].chars().collect();
            for _ in 0..=random.next_u32() % 3 {
                let at = random.next_u32() as usize % text.len().max(1);
                let other = alphabet[random.next_u32() as usize % alphabet.len()];
                match random.next_u32() % 4 {
                    _ if text.is_empty() => text.push(other),
                    0 => text[at] = other,
                    1 => text.insert(at, other),
                    2 => drop(text.remove(at)),
                    _ => text.truncate(at + 1),
                }
            }
            let text: String = text.into_iter().collect();
            match shogi.parse(&text) {
                Ok(position) => {
                    good += 1;
                    let again: Position<u128> = shogi
                        .parse(&shogi.sfen(&position))
                        .expect("its own SFEN reads");
                    assert_eq!(again, position);
                }
                Err(error) => {
                    bad += 1;
                    assert!(!error.to_string().is_empty());
                }
            }
        }
    }
    assert!(good > 100 && bad > 1000, "{good} good, {bad} bad");
    for text in [
        "9".repeat(1_000_000),
        "/".repeat(1_000_000),
        "+".repeat(1_000_000),
        "P".repeat(1_000_000),
        format!("4k4/9/9/9/9/9/9/9/4K4 b {}P", "9".repeat(1_000_000)),
        format!("4k4/9/9/9/9/9/9/9/4K4 b {} -", " ".repeat(1_000_000)),
        format!("4k4/9/9/9/9/9/9/9/4K4 b - {}x", "1".repeat(1_000_000)),
    ] {
        let result = shogi.parse(&text);
        assert_eq!(result.is_ok(), text.ends_with('-'));
    }
}
