//! The known cases, through the binary.

use crate::support::{kazoe, kazoe_fed, lines};
use kazoe_testkit::tables::table;

const VARIANTS: [&str; 2] = ["minishogi", "shogi"];

#[test]
fn sizes_are_the_published_ones() {
    let size = |variant| kazoe(&["size", variant]).silent();
    assert_eq!(
        size("shogi"),
        "80880932079767835177773204009328769812438521503800714936366945233084532\n"
    );
    assert_eq!(size("minishogi"), "16014219505238849250\n");
}

#[test]
fn every_known_rank_holds_both_ways() {
    for variant in VARIANTS {
        let rows = table(&format!("ranks-{variant}.tsv"));
        let expected = lines(rows.iter().map(|row| row.join("\t")));
        let column = |i: usize| lines(rows.iter().map(|row| &row[i]));
        assert_eq!(
            kazoe_fed(&["unrank", variant], column(0)).silent(),
            expected
        );
        assert_eq!(kazoe_fed(&["rank", variant], column(1)).silent(), expected);
        // As arguments they come out the same.
        let some: Vec<&str> = rows.iter().take(50).map(|row| row[0].as_str()).collect();
        let expected = lines(rows.iter().take(50).map(|row| row.join("\t")));
        assert_eq!(
            kazoe(&[&["unrank", variant], &some[..]].concat()).silent(),
            expected
        );
    }
}

#[test]
fn every_known_verdict_comes_out_of_judge() {
    for variant in VARIANTS {
        let rows = table(&format!("verdicts-{variant}.tsv"));
        let sfens = lines(rows.iter().map(|row| &row[0]));
        let expected = lines(rows.iter().map(|row| {
            let depth = row.get(2).map_or("", String::as_str);
            format!("{}\t{}\t{depth}", row[0], row[1])
        }));
        assert_eq!(kazoe_fed(&["judge", variant], sfens).silent(), expected);
    }
}

#[test]
fn the_published_samples_are_drawn() {
    let expected = "\
        0\t10540203479009103412\t2+s1s/1p2+r/K3+B/g1+r1g/1p1k+B b - 1\ttwo_pawns\t\n\
        1\t9496244178767151300\tK1S2/g3s/3+p+B/RR1+Pg/2+bk1 b - 1\tin_check\t\n\
        2\t3028777950199603339\t1+SG1+P/2k1S/+R+P3/+bbr2/2KG1 b - 1\tmirrored\t\n\
        3\t6623098050047547432\t2+B2/5/K+r1k+P/g+Sb2/1+Spgr b - 1\timmobile\t\n\
        4\t14312022722205142538\t2+P1r/1B3/kR+p1+S/2gb1/2K1G b s 1\tin_check\t\n";
    let sample = |more: &[&str]| kazoe(&[&["sample", "minishogi"], more].concat()).silent();
    assert_eq!(
        sample(&["--seed", "1", "--first", "0", "--count", "5"]),
        expected
    );
    assert_eq!(sample(&["--count", "5"]), expected);
    assert_eq!(sample(&["--count", "0"]), "");
    // Across a block's border, and in the middle of a block.
    let both = sample(&["--first", "4000", "--count", "200"]);
    let apart = [
        sample(&["--first", "4000", "--count", "96"]),
        sample(&["--first", "4096", "--count", "104"]),
    ];
    assert_eq!(both, apart.concat());
    assert!(both.starts_with("4000\t") && both.lines().count() == 200);
}

#[test]
fn block_0_has_the_published_outcomes() {
    let block = kazoe(&["sample", "minishogi", "--count", "4096"]).silent();
    let count = |outcome: &str| {
        let is = |line: &&str| line.split('\t').nth(3) == Some(outcome);
        block.lines().filter(is).count()
    };
    let outcomes = [
        "mirrored",
        "two_pawns",
        "immobile",
        "in_check",
        "unreachable",
        "reachable",
    ];
    assert_eq!(outcomes.map(count), [132, 75, 676, 2312, 294, 607]);
}

#[test]
fn perft_is_the_published_one() {
    let perft = |arguments: &[&str]| kazoe(&[&["perft"], arguments].concat()).silent();
    assert_eq!(perft(&["shogi", "0"]), "1\n");
    assert_eq!(perft(&["shogi", "4"]), "719731\n");
    assert_eq!(perft(&["minishogi", "6"]), "8276188\n");
    let sfen = "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1";
    assert_eq!(perft(&["shogi", "1", sfen]), "593\n");
    assert_eq!(perft(&["shogi", "2", sfen]), "105677\n");
    let divided = perft(&["minishogi", "3", "--divide"]);
    let (parts, total) = divided.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(total, "total\t2512");
    let sum: u64 = parts
        .lines()
        .map(|line| line.split_once('\t').unwrap().1.parse::<u64>().unwrap())
        .sum();
    assert_eq!((parts.lines().count(), sum), (14, 2512));
}

#[test]
fn predecessors_lead_back() {
    // Black's only Pawn has just stepped forward, or stands where it stood and something else moved.
    let sfen = "rbsgk/4p/P4/5/KGSBR w - 1";
    let found = kazoe(&["predecessors", "minishogi", sfen]).silent();
    assert!(
        found.contains("5d5c\trbsgk/4p/5/P4/KGSBR b - 1\n"),
        "{found}"
    );
    for line in found.lines() {
        let (m, before) = line.split_once('\t').unwrap();
        let after = kazoe(&["perft", "minishogi", "1", before, "--divide"]).silent();
        assert!(
            after.lines().any(|l| l == format!("{m}\t1")),
            "{line}: {after}"
        );
    }
    let broken = kazoe(&["predecessors", "minishogi", "rbsgk/4P/5/5/KGSBp b R 1"]);
    assert_eq!(broken.stdout, "");
    assert_eq!(broken.code, Some(0));
    assert_eq!(
        broken.stderr,
        "No predecessors: the position is immobile, which no legal move leads to.\n"
    );
}

#[test]
fn white_to_move_is_judged_as_its_exchanged_twin() {
    let judge = |sfen: &str| kazoe(&["judge", "minishogi", sfen]).silent();
    let rows = table("verdicts-minishogi.tsv");
    let mut judged = 0;
    for row in rows.iter().step_by(25) {
        let twin = exchanged(&row[0]);
        let expected = format!(
            "{twin}\t{}\t{}\n",
            row[1],
            row.get(2).map_or("", String::as_str)
        );
        assert_eq!(judge(&twin), expected);
        judged += 1;
    }
    assert!(judged > 20);
}

/// The twin of a position with Black to move, written with plain text operations.
fn exchanged(sfen: &str) -> String {
    let fields: Vec<&str> = sfen.split(' ').collect();
    let swap = |c: char| {
        if c.is_ascii_uppercase() {
            c.to_ascii_lowercase()
        } else {
            c.to_ascii_uppercase()
        }
    };
    let mut pieces: Vec<String> = Vec::new();
    let mut plus = false;
    for c in fields[0].chars() {
        if c == '+' {
            plus = true;
            continue;
        }
        pieces.push(format!("{}{}", if plus { "+" } else { "" }, swap(c)));
        plus = false;
    }
    pieces.reverse();
    let hands = fields[2];
    let split = hands
        .find(|c: char| c.is_ascii_lowercase())
        .map_or(hands.len(), |first| {
            // A number belongs to the letter that follows it.
            hands[..first]
                .trim_end_matches(|c: char| c.is_ascii_digit())
                .len()
        });
    let hands: String = [&hands[split..], &hands[..split]]
        .concat()
        .chars()
        .map(swap)
        .collect();
    let hands = if fields[2] == "-" { "-" } else { &hands };
    format!("{} w {hands} 1", pieces.concat())
}

#[test]
fn no_mirror_skips_that_filter_alone() {
    let rows = table("verdicts-minishogi.tsv");
    let mirrored: Vec<_> = rows.iter().filter(|row| row[1] == "mirrored").collect();
    let sfens = lines(mirrored.iter().map(|row| &row[0]));
    let judged = kazoe_fed(&["judge", "minishogi", "--no-mirror"], sfens).silent();
    assert_eq!(judged.lines().count(), mirrored.len());
    assert!(
        judged
            .lines()
            .all(|line| line.split('\t').nth(1) != Some("mirrored"))
    );
    assert!(
        judged
            .lines()
            .any(|line| line.split('\t').nth(1) == Some("reachable"))
    );
}

#[test]
fn json_carries_a_version_and_the_same_facts() {
    let json = |arguments: &[&str]| -> serde_json::Value {
        let text = kazoe(&[arguments, &["--json"]].concat()).silent();
        let other = kazoe(&[arguments, &["--format", "json"]].concat()).silent();
        assert_eq!(text, other);
        let document: serde_json::Value = serde_json::from_str(&text).expect("one document");
        assert_eq!(document["version"], 1, "{text}");
        document
    };
    assert_eq!(json(&["size", "minishogi"])["size"], "16014219505238849250");
    let ranked = json(&["unrank", "minishogi", "0"]);
    assert_eq!(ranked["rank"], "0");
    assert_eq!(ranked["sfen"], "Kpb2/ksb2/gs3/gr3/pr3 b - 1");
    let sfen = "Kpb2/ksb2/gs3/gr3/pr3 b - 1";
    assert_eq!(json(&["rank", "minishogi", sfen])["rank"], "0");
    let judged = json(&["judge", "minishogi", sfen]);
    assert_eq!(judged["outcome"], "immobile");
    assert!(judged["depth"].is_null());
    assert_eq!(json(&["perft", "minishogi", "2"])["count"], 181);
    let divided = json(&["perft", "minishogi", "2", "--divide"]);
    assert_eq!(divided["moves"].as_array().map(Vec::len), Some(14));
    let sample = json(&["sample", "minishogi", "--first", "1", "--count", "1"]);
    assert_eq!(sample["rank"], "9496244178767151300");
    assert_eq!(sample["outcome"], "in_check");
}
