//! `judge --explain`: reasons in words, and paths that replay.

use kazoe_common::game::{Rules, Side, Variant};
use serde_json::Value;

use crate::support::{golden, kazoe, kazoe_fed, lines};
use kazoe_testkit::tables::table;

#[test]
fn explanations_read_as_written() {
    let expected = golden("explain-minishogi.txt");
    let sfens: Vec<&str> = expected
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert!(sfens.len() >= 10);
    let printed = kazoe_fed(&["judge", "minishogi", "--explain"], lines(sfens)).silent();
    assert_eq!(printed, expected);
}

/// Every explained reachable position of the known verdicts, with its path played here again.
fn replay(variant: &'static Variant) {
    let rows = table(&format!("verdicts-{}.tsv", variant.id));
    let sfens = lines(rows.iter().map(|row| &row[0]));
    let printed = kazoe_fed(&["judge", variant.id, "--explain", "--json"], sfens).silent();
    let rules = Rules::<u128>::new(variant);
    assert_eq!(printed.lines().count(), rows.len());
    let mut replayed = 0;
    for (line, row) in printed.lines().zip(&rows) {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_eq!(answer["sfen"], row[0].as_str());
        assert_eq!(answer["outcome"], row[1].as_str());
        let why = answer["why"].as_array().expect("reasons");
        assert!(!why.is_empty(), "{line}");
        let image = answer["image"]["outcome"].as_str();
        assert_eq!(image.is_some(), row[1] == "mirrored", "{line}");
        assert_ne!(image, Some("mirrored"), "{line}");
        if row[1] != "reachable" {
            continue;
        }
        let start = answer["path"]["start"].as_str().unwrap();
        let mut here = rules.parse(start).unwrap();
        assert_eq!(here.occupied().count_ones(), 2, "{line}");
        assert!(
            Side::BOTH.iter().all(|&side| !rules.in_check(&here, side)),
            "{line}"
        );
        for m in answer["path"]["moves"].as_array().unwrap() {
            let m = variant.parse_move(m.as_str().unwrap()).unwrap();
            assert!(rules.is_legal(&here, m), "{line}");
            here = rules.play(&here, m);
        }
        assert_eq!(rules.sfen(&here), row[0]);
        replayed += 1;
    }
    assert!(replayed > 100, "{replayed}");
}

#[test]
fn paths_of_mini_shogi_replay() {
    replay(&Variant::MINISHOGI);
}

#[test]
fn paths_of_shogi_replay() {
    replay(&Variant::SHOGI);
}

#[test]
fn explain_prints_a_path_move_by_move() {
    let sfen = "rbsgk/4p/5/P4/KGSBR b - 1";
    let printed = kazoe(&["judge", "minishogi", "--explain", sfen]).silent();
    let mut printed = printed.lines();
    assert_eq!(
        printed.next(),
        Some(format!("{sfen}\treachable\t").as_str())
    );
    let (count, rest) = printed
        .next()
        .and_then(|line| line.trim_start().split_once(' '))
        .expect("a number of moves");
    assert!(rest.starts_with("legal moves lead here from "), "{rest}");
    assert!(
        rest.ends_with(", each checked by the forward rules:"),
        "{rest}"
    );
    let moves: Vec<&str> = printed
        .flat_map(|line| line.strip_prefix("    ").unwrap().split(' '))
        .collect();
    assert_eq!(moves.len().to_string(), count);
    let parsed = moves.iter().map(|m| Variant::MINISHOGI.parse_move(m));
    assert!(parsed.into_iter().all(|m| m.is_ok()), "{moves:?}");
}

#[test]
fn with_white_to_move_it_is_said_what_is_explained() {
    let printed = kazoe(&[
        "judge",
        "minishogi",
        "--explain",
        "rbsgk/4p/P4/5/KGSBR w - 1",
    ])
    .silent();
    let twin = "  rbsgk/5/4p/P4/KGSBR b - 1";
    let said: Vec<&str> = printed.lines().skip(1).take(2).collect();
    assert!(
        said[0].starts_with("  White is to move. With the board turned"),
        "{printed}"
    );
    assert_eq!(said[1], twin);
}
