//! Parts of a campaign that are computed apart: `kazoe compute` and what becomes of its file.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::runs::{Place, interrupt, serial};
use crate::support::wait;

/// A campaign of 10 segments of which nothing is computed, and its file.
fn campaign(place: &Place) -> &'static str {
    let ran = place.kazoe(&["run", "--samples", "40_000", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = place.kazoe(&["export", "-o", "whole.ledger.tsv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = fs::read_to_string(place.0.path().join("whole.ledger.tsv")).unwrap();
    let head: Vec<&str> = text
        .lines()
        .take_while(|line| !line.starts_with("build"))
        .collect();
    let end = "end\t0\t0\t00000000000000000000000000000000";
    let bare = format!("{}\n{end}\n", head.join("\n"));
    fs::write(place.0.path().join("campaign.ledger.tsv"), bare).unwrap();
    "campaign.ledger.tsv"
}

#[test]
fn parts_make_the_whole() {
    let place = Place::new();
    let file = campaign(&place);
    let last = [
        "compute",
        file,
        "--segments",
        "7..",
        "-o",
        "last.ledger.tsv",
    ];
    let ran = place.kazoe(&last);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, "last.ledger.tsv\n");
    let first = place.kazoe(&["compute", file, "-s", "..7", "--json"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let first: Value = serde_json::from_str(&first.stdout).unwrap();
    assert_eq!(
        (&first["version"], &first["segments"]),
        (&1.into(), &7.into())
    );
    assert_eq!(first["complete"], true);
    let name = first["file"].as_str().unwrap();
    assert!(name.ends_with("-0-7.ledger.tsv"), "{name}");

    let import = |file: &str| place.kazoe(&["import", file, "--db", "parts.db"]);
    let ran = import("last.ledger.tsv").silent();
    assert!(ran.contains("\t3 segments filled, 0 confirmed"), "{ran}");
    let ran = import(name).silent();
    assert!(ran.contains("\t7 segments filled, 0 confirmed"), "{ran}");
    let report = place
        .kazoe(&["report", "--db", "parts.db", "--json"])
        .silent();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["complete"], true);
    assert_eq!(
        report["prefix"]["digest"],
        serial(40_000).digest.to_string()
    );
    // Witnesses and all: what is exported is what a run exports.
    let segments = |db: &str| {
        let text = place.kazoe(&["export", "--db", db, "-o", "-"]).silent();
        let lines = text
            .lines()
            .filter(|line| line.starts_with("segment\t") || line.starts_with("witness\t"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(segments("parts.db"), segments("kazoe.db"));

    // Once more there is nothing to do, and more is added to what is there.
    let again = place.kazoe(&last);
    assert!(
        again.stderr.contains("0 samples computed"),
        "{}",
        again.stderr
    );
    let more = [
        "compute",
        file,
        "-s",
        "5..",
        "-o",
        "last.ledger.tsv",
        "--json",
    ];
    let more = place.kazoe(&more);
    let more: Value = serde_json::from_str(&more.stdout).unwrap();
    assert_eq!(more["segments"], 5);
    assert!(!place.0.path().join("last.ledger.tsv.unfinished").exists());
}

/// Ctrl-C writes what is finished, `kill -9` leaves it beside the file; the same command goes on.
#[test]
fn nothing_finished_is_lost() {
    for kill in [false, true] {
        let place = Place::new();
        let ran = place.kazoe(&["run", "--samples", "4096", "--segment", "1"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let ran = place.kazoe(&["export", "-o", "small.ledger.tsv"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        // The campaign's id does not follow from the samples.
        let small = fs::read_to_string(place.0.path().join("small.ledger.tsv")).unwrap();
        let large = small.replace("\nsamples\t4096\n", "\nsamples\t4096000000\n");
        assert_ne!(large, small);
        fs::write(place.0.path().join("campaign.ledger.tsv"), large).unwrap();

        let part = [
            "compute",
            "campaign.ledger.tsv",
            "-o",
            "part.ledger.tsv",
            "-s",
        ];
        let mut child = place
            .command(&[&part[..], &["0..1M"]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let beside = place.0.path().join("part.ledger.tsv.unfinished/kazoe.db");
        let beside = beside.to_str().unwrap();
        let finished = || {
            let ran = place.kazoe(&["campaigns", "--db", beside]);
            let saved = ran.stdout.split('\t').nth(4).unwrap_or("0");
            saved.parse::<u64>().unwrap()
        };
        while finished() == 0 {
            assert_eq!(child.try_wait().unwrap(), None);
            thread::sleep(Duration::from_millis(20));
        }
        if kill {
            child.kill().unwrap();
            assert_eq!(wait(child).code, None);
        } else {
            interrupt(&child);
            let ran = wait(child);
            assert_eq!(ran.code, Some(130), "{}", ran.stderr);
            assert!(ran.stderr.contains("Saved: "), "{}", ran.stderr);
            assert_eq!(ran.stdout, "part.ledger.tsv\n");
        }
        // Of what is there already nothing is computed again.
        let more = place.kazoe(&[&part[..], &["0..1"]].concat());
        assert_eq!(more.code, Some(0), "{}", more.stderr);
        let there = ": 4,096 of 4,096 samples are finished.\n";
        assert!(more.stderr.contains(there), "{}", more.stderr);
        let ran = place.kazoe(&["import", "part.ledger.tsv"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains(", 1 confirmed,"), "{}", ran.stdout);
    }
}

#[test]
fn invalid_parts_are_rejected() {
    let place = Place::new();
    let file = campaign(&place);
    let beyond = place.kazoe(&["compute", file, "-s", "3..11"]);
    beyond.refused(2, "error: --segments: the campaign has the segments 0..10\n\nFor more information, try '--help'.");
    let stdout = place.kazoe(&["compute", file, "-s", "3..", "-o", "-"]);
    assert_eq!(stdout.code, Some(2), "{}", stdout.stderr);
    let missing = place.kazoe(&["compute", "none.tsv", "-s", ".."]);
    assert_eq!(missing.code, Some(1), "{}", missing.stderr);

    // Another campaign's file is not written over.
    let ran = place.kazoe(&["run", "--samples", "5000", "--seed", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = place.kazoe(&["export", "-o", "other.ledger.tsv"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let other = fs::read(place.0.path().join("other.ledger.tsv")).unwrap();
    let ran = place.kazoe(&["compute", file, "-s", "..", "-o", "other.ledger.tsv"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("is of another campaign"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        fs::read(place.0.path().join("other.ledger.tsv")).unwrap(),
        other
    );

    // Nor is anything computed that the campaign's build counts otherwise.
    let text = fs::read_to_string(place.0.path().join(file)).unwrap();
    let line = text
        .lines()
        .find(|line| line.starts_with("self-test"))
        .unwrap();
    let (before, digest) = line.rsplit_once('\t').unwrap();
    let changed = format!(
        "{before}\t{}{}",
        if digest.starts_with('0') { 1 } else { 0 },
        &digest[1..]
    );
    fs::write(place.0.path().join("odd.tsv"), text.replace(line, &changed)).unwrap();
    let ran = place.kazoe(&["compute", "odd.tsv", "-s", ".."]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("self-test mismatch: "),
        "{}",
        ran.stderr
    );

    let both = [
        "import",
        file,
        "--db",
        "a.db",
        "--coordinator",
        "http://127.0.0.1:1",
    ];
    let ran = place.kazoe(&both);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    let owner = [
        "import",
        file,
        "--owner",
        "x",
        "--coordinator",
        "http://127.0.0.1:1",
    ];
    let ran = place.kazoe(&owner);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

/// What is typed wins over the environment.
#[test]
fn a_typed_database_wins_over_a_coordinator_in_the_environment() {
    let place = Place::new();
    let _ = campaign(&place);
    let named = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("KAZOE_COORDINATOR", "http://127.0.0.1:1");
        command.output().unwrap()
    };
    let typed = named(&["campaigns", "--db", "kazoe.db"]);
    assert!(typed.status.success(), "{typed:?}");
    assert_eq!(named(&["campaigns"]).status.code(), Some(1));
}
