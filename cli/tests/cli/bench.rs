//! `kazoe bench`: all stages are there and every answer is checked. Times are not tested.

use serde_json::Value;

use crate::runs::interrupt;
use crate::support::{Ran, command, kazoe, wait};

#[track_caller]
fn done(ran: Ran) -> String {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

fn bench(arguments: &[&str]) -> Ran {
    kazoe(&[&["bench"], arguments].concat())
}

/// Name and arm of the stages of a document's game.
fn stages(game: &Value) -> Vec<(String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let stages = game["stages"].as_array().unwrap();
    stages
        .iter()
        .map(|stage| (text(&stage["name"]).unwrap(), text(&stage["arm"])))
        .collect()
}

/// The arm in use, as `--version --verbose` says.
fn arm() -> String {
    let version = kazoe(&["--version", "--verbose"]).silent();
    let kernel = version
        .lines()
        .find_map(|line| line.strip_prefix("kernel "));
    kernel.unwrap().split(' ').next().unwrap().to_owned()
}

#[test]
fn a_game_is_measured_stage_by_stage_on_both_arms() {
    let printed = done(bench(&[
        "shogi",
        "--seconds",
        "0.01",
        "--threads",
        "1",
        "--json",
    ]));
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["arm"], arm());
    let games = document["games"].as_array().unwrap();
    assert_eq!((games.len(), &games[0]["variant"]), (1, &"shogi".into()));
    let mut arms = vec![arm(), "portable".to_owned()];
    arms.dedup();
    let mut expected = vec![("draws".to_owned(), None)];
    for name in ["funnel", "pipeline"] {
        expected.extend(arms.iter().map(|arm| (name.to_owned(), Some(arm.clone()))));
    }
    for name in [
        "king_filter",
        "has_predecessor",
        "verdict",
        "verdict_median",
        "verdict_p99",
        "search",
    ] {
        expected.push((name.to_owned(), None));
    }
    assert_eq!(stages(&games[0]), expected);
    let spread = |value: &Value| {
        let [min, median, max] = ["min", "median", "max"].map(|name| value[name].as_f64().unwrap());
        assert!(min <= median && median <= max, "{value}");
        value["rounds"].as_u64().unwrap()
    };
    for stage in games[0]["stages"].as_array().unwrap() {
        assert!(spread(&stage["ns"]) >= 1);
        assert!(["cpu", "wall"].contains(&stage["clock"].as_str().unwrap()));
    }
    let scaling = &games[0]["scaling"];
    assert_eq!(
        (&scaling["threads"], &document["threads"]),
        (&1.into(), &1.into())
    );
    for name in [
        "samples_per_second_one_thread",
        "samples_per_second_all_threads",
        "ratio",
        "arithmetic_ratio",
    ] {
        assert_eq!(spread(&scaling[name]), 5, "{name}");
    }
}

#[test]
fn mini_shogi_has_a_line_for_each_stage() {
    let printed = done(bench(&["minishogi", "--rounds", "1", "--threads", "2"]));
    for words in [
        "mini shogi, seed 1, blocks 1,056,768 to 1,056,895: 524,288 samples",
        "draw of a rank",
        "draw and funnel, no verdict",
        "whole pipeline, witnesses included",
        "King filter",
        "has a predecessor",
        "verdict, mean",
        "verdict, median over positions",
        "verdict, p99 over positions",
        "published search",
        "samples a second, 1 thread",
        "samples a second, 2 threads",
        "ratio of the two",
        "the same of bare arithmetic",
        "All answers as known; digest 22124789d49af5b7221e2f0793fa6b69",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

/// Only a run that computes the digest prints it.
#[test]
fn parts_that_compute_no_digest_tell_none() {
    let printed = done(bench(&["minishogi", "--only", "draws", "--rounds", "1"]));
    assert!(printed.contains("All answers as known"), "{printed}");
    assert!(!printed.contains("digest"), "{printed}");
}

#[test]
fn parts_and_arms_are_chosen() {
    let printed = done(bench(&[
        "--only", "pipeline", "--only", "draws", "--arm", "portable", "--rounds", "2", "--json",
    ]));
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (&document["arm"], &document["rounds"]),
        (&"portable".into(), &2.into())
    );
    let games = document["games"].as_array().unwrap();
    let variants: Vec<&Value> = games.iter().map(|game| &game["variant"]).collect();
    assert_eq!(variants, ["shogi", "minishogi"]);
    for game in games {
        let portable = Some("portable".to_owned());
        let expected = [
            ("draws".to_owned(), None),
            ("pipeline".to_owned(), portable),
        ];
        assert_eq!(stages(game), expected);
        assert_eq!(game["scaling"], Value::Null);
        assert_eq!(game["stages"][1]["ns"]["rounds"], 2);
    }
}

#[test]
fn invalid_measurements_are_wrong_usage() {
    for (arguments, said) in [
        (&["chess"][..], "unknown variant"),
        (
            &["--arm", "abacus"],
            "unknown arm; this machine has portable",
        ),
        (
            &["--only", "luck"],
            "possible values: draws, funnel, pipeline",
        ),
        (&["--seconds", "0"], "above 0 and at most 3600 seconds"),
        (&["--seconds", "-1"], "above 0 and at most 3600 seconds"),
        (&["--seconds", "nan"], "above 0 and at most 3600 seconds"),
        (&["--seconds", "soon"], "expected seconds"),
        (&["--rounds", "0"], "number of rounds must be at least 1"),
        (&["--threads", "0"], "at least one thread"),
        (&["--rounds", "1", "--seconds", "1"], "cannot be used with"),
    ] {
        let ran = bench(arguments);
        assert_eq!(
            (ran.stdout.as_str(), ran.code),
            ("", Some(2)),
            "{arguments:?}"
        );
        assert!(ran.stderr.contains(said), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn an_interrupt_ends_it_at_once() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let mut child = command(&["bench", "shogi", "--seconds", "600"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut printed = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    assert!(line.starts_with("Measuring shogi on the arm "), "{line}");
    interrupt(&child);
    let ran = wait(child);
    line.clear();
    printed.read_to_string(&mut line).unwrap();
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(130)), "{line}");
    assert!(line.ends_with("Interrupted.\n"), "{line}");
}
