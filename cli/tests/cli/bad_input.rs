//! Bad input: clear words and the right exit code.

use crate::support::{kazoe, kazoe_fed, lines};
use kazoe_testkit::tables::table;

const TRY_HELP: &str = "\n\nFor more information, try '--help'.";

#[test]
fn an_unknown_variant_names_the_known_ones_and_the_nearest() {
    for (command, name) in [
        ("size", "<VARIANT>"),
        ("unrank", "<VARIANT>"),
        ("rank", "[VARIANT]"),
        ("sample", "<VARIANT>"),
        ("judge", "[VARIANT]"),
    ] {
        kazoe(&[command, "Shogii"]).refused(
            2,
            &format!(
                "error: invalid value 'Shogii' for '{name}': unknown variant, expected one of shogi, minishogi; did you mean shogi?{TRY_HELP}"
            ),
        );
    }
    kazoe(&["size", "chess"]).refused(
        2,
        &format!(
            "error: invalid value 'chess' for '<VARIANT>': unknown variant, expected one of shogi, minishogi{TRY_HELP}"
        ),
    );
}

#[test]
fn invalid_numbers_are_rejected() {
    for (option, value, why) in [
        ("--seed", "-1", "the number is negative"),
        (
            "--seed",
            "18446744073709551616",
            "the number exceeds 2^64 - 1",
        ),
        ("--count", "-5", "the number is negative"),
        ("--count", "1.5", "the number is not whole"),
        ("--count", "1e30", "the number exceeds 2^64 - 1"),
        (
            "--count",
            "",
            "expected a number, as in 10M, 5e9 or 1_000_000",
        ),
        (
            "--first",
            "ten",
            "`t` at character 1 is not part of a number, expected something like 10M, 5e9 or 1_000_000",
        ),
    ] {
        let name = match option {
            "--seed" => "--seed <SEED>",
            "--first" => "--first <I>",
            _ => "--count <N>",
        };
        let message = if value.is_empty() {
            format!("error: invalid value '' for '{name}': {why}{TRY_HELP}")
        } else {
            format!("error: invalid value '{value}' for '{name}': {why}{TRY_HELP}")
        };
        kazoe(&["sample", "minishogi", option, value]).refused(2, &message);
    }
    kazoe(&["sample", "minishogi", "--first", "2e18", "--count", "4e18"]).refused(
        2,
        &format!("error: a campaign has at most 2^62 samples{TRY_HELP}"),
    );
    kazoe(&["unrank", "minishogi", "16014219505238849250"]).refused(
        1,
        "error: rank 16014219505238849250 is out of range: minishogi has 16014219505238849250 \
         candidates, ranks from 0 to one less",
    );
    kazoe(&["unrank", "minishogi", "-1"]).refused(1, "error: a rank is never negative");
    kazoe(&["unrank", "shogi", &"9".repeat(1000)]).refused(1, "error: a rank is less than 2^256");
    let ran = kazoe(&["perft", "minishogi", "-1"]);
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(2)));
}

#[test]
fn every_wrong_sfen_is_refused_in_the_words_of_its_row() {
    for row in table("bad-sfen.tsv") {
        let [variant, sfen, message] = &row[..] else {
            panic!("{row:?}");
        };
        let judged = kazoe_fed(&["judge", variant], lines([sfen]));
        assert_eq!(judged.code, Some(1), "{sfen}");
        assert_eq!(judged.stdout, "", "{sfen}");
        let expected = format!("error: line 1: {message}\nerror: 1 of 1 line failed\n");
        assert_eq!(judged.stderr, expected, "{sfen}");
    }
}

#[test]
fn a_position_without_the_whole_set_is_not_judged() {
    let sfen = "5/5/K1k2/5/5 b - 1";
    kazoe(&["judge", "minishogi", sfen]).refused(1, "error: 0 Golds, the game has 2");
    kazoe(&["rank", "minishogi", sfen]).refused(
        1,
        "error: 0 pieces of kind Gold, the game has 2; candidates have the whole set",
    );
}

#[test]
fn a_position_outside_the_population_names_its_mirror_images_rank() {
    kazoe(&["rank", "minishogi", "2bpK/2bsk/3sg/3rg/3rp b - 1"]).refused(
        1,
        "error: the King pair is greater than its mirror image's; the mirror image is the candidate: \
         its rank is 0",
    );
    kazoe(&["rank", "minishogi", "Kpb2/ksb2/gs3/gr3/pr3 w - 1"])
        .refused(1, "error: White is to move; candidates have Black to move");
}

#[test]
fn an_sfen_without_quotes_is_wrong_usage() {
    for command in ["judge", "rank"] {
        kazoe(&[command, "minishogi", "rbsgk/4p/5/P4/KGSBR", "b", "-", "1"]).refused(
            2,
            &format!(
                "error: an SFEN contains spaces: put it in quotes, as in '5/5/K1k2/5/5 b - 1'{TRY_HELP}"
            ),
        );
    }
}

#[test]
fn unknown_commands_and_flags_are_wrong_usage() {
    for arguments in [
        &["unrnak", "shogi"][..],
        &["size"],
        &["size", "shogi", "minishogi"],
        &["size", "shogi", "--jsno"],
        &["size", "shogi", "--format", "xml"],
        &["size", "shogi", "--format", "text", "--json"],
        &["--verbose"],
    ] {
        let ran = kazoe(arguments);
        assert_eq!(
            (ran.stdout.as_str(), ran.code),
            ("", Some(2)),
            "{arguments:?}"
        );
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
}
