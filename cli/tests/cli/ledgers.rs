//! What is made of a ledger: reports, verification, files.

use std::fs;

use crate::runs::{Place, serial};
use crate::support::golden;

/// A small campaign, and the file that it is exported to.
fn exported(place: &Place) -> String {
    let ran = place.kazoe(&["run", "--samples", "40_000", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = place.kazoe(&["export"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let digest = serial(40_000).digest;
    assert!(
        ran.stderr.ends_with(&format!(
            ": 10 segments, 40,000 samples, digest {digest}.\n"
        )),
        "{}",
        ran.stderr
    );
    ran.stdout.trim_end().to_owned()
}

/// The file with a count of segment 3 moved from one outcome to another, which no sum shows.
fn tampered(place: &Place, file: &str) -> String {
    let text = fs::read_to_string(place.0.path().join(file)).unwrap();
    let segment = text
        .lines()
        .find(|line| line.starts_with("segment\t3\t"))
        .unwrap();
    let fields: Vec<&str> = segment.split('\t').collect();
    let cells: Vec<String> = fields[3]
        .split(',')
        .map(|cell| {
            let (outcome, count) = cell.split_once(':').unwrap();
            let count: u64 = count.parse().unwrap();
            let count = match outcome {
                "0" => count + 1,
                "5" => count - 1,
                _ => count,
            };
            format!("{outcome}:{count}")
        })
        .collect();
    let changed = segment.replace(fields[3], &cells.join(","));
    assert_ne!(changed, segment);
    let name = "tampered.ledger.tsv";
    fs::write(place.0.path().join(name), text.replace(segment, &changed)).unwrap();
    name.to_owned()
}

#[test]
fn whoever_reads_leaves_nothing_beside_the_database() {
    let place = Place::new();
    exported(&place);
    let files = || {
        let files = fs::read_dir(place.0.path()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let before = files();
    assert!(
        !before.iter().any(|name| name.ends_with("-wal")),
        "{before:?}"
    );
    let database = place.0.path().join("kazoe.db");
    let bytes = fs::read(&database).unwrap();
    for command in ["campaigns", "report", "verify", "export"] {
        let ran = place.kazoe(&[command]);
        assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
        assert_eq!(files(), before, "{command}");
    }
    assert_eq!(fs::read(&database).unwrap(), bytes);
}

#[test]
fn what_nobody_is_at_is_unfinished() {
    let place = Place::new();
    exported(&place);
    let state = |place: &Place| {
        let listed = place.kazoe(&["campaigns"]).silent();
        listed.trim_end().rsplit('\t').next().unwrap().to_owned()
    };
    assert_eq!(state(&place), "complete");
    let mut run = place.command(&["run", "--samples", "400M", "--segment", "1"]);
    let mut child = run.stderr(std::process::Stdio::null()).spawn().unwrap();
    while state(&place) == "complete" {
        assert_eq!(child.try_wait().unwrap(), None);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(state(&place), "unfinished");
}

#[test]
fn reports_read_as_written() {
    let place = Place::new();
    exported(&place);
    for (form, name) in [
        ("text", "report.txt"),
        ("md", "report.md"),
        ("csv", "report.csv"),
    ] {
        let report = place.kazoe(&["report", "--format", form]).silent();
        // How many transactions it took is chance, and the last digit of a float, or of an end that is
        // one times the size, the platform's.
        let float = |line: &str| {
            let (figure, value) = line.split_once(',').unwrap_or_default();
            let end = figure.ends_with(".lower") || figure.ends_with(".upper");
            form == "csv" && (end || value.contains('.') && value.parse::<f64>().is_ok())
        };
        let report: String = report
            .lines()
            .filter(|line| !float(line))
            .map(|line| {
                let line = line
                    .strip_prefix("revision,")
                    .map_or(line, |_| "revision,0");
                let line = line
                    .strip_prefix("owners.local.core_seconds,")
                    .filter(|seconds| seconds.parse::<u64>().is_ok())
                    .map_or(line, |_| "owners.local.core_seconds,0");
                let line = line
                    .split_once(", revision ")
                    .map_or(line, |(before, _)| before);
                format!("{line}\n")
            })
            .collect();
        assert_eq!(report, golden(name), "{name}");
    }
    let run = place.kazoe(&["run"]).stdout;
    assert_eq!(run, place.kazoe(&["report"]).stdout);
    let json = place.kazoe(&["run", "--json"]).stdout;
    assert_eq!(
        json,
        place
            .kazoe(&["report", "minishogi", "--format", "json"])
            .silent()
    );
    let report = place.report();
    assert_eq!(report["version"], 1);
    let id = report["campaign"].as_str().unwrap();
    assert_eq!(json, place.kazoe(&["report", &id[..4], "--json"]).silent());
}

#[test]
fn verification_finds_equal_what_is_equal() {
    let place = Place::new();
    let file = exported(&place);
    for arguments in [
        &["verify", "--share", "100%"][..],
        &["verify", "minishogi", "--share", "100%"],
        &["verify", &file, "--share", "100%"],
    ] {
        let ran = place
            .kazoe(&[arguments, &["--seed", "1"]].concat())
            .silent();
        let said = "\t10 of 10 segments computed again, 40,000 samples, seed 1: all equal\n";
        assert!(ran.ends_with(said), "{ran}");
    }
    let one = place.kazoe(&["verify", "--json"]).silent();
    let one: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert_eq!(one["version"], 1);
    assert_eq!(one["segments"], 10);
    assert!(one["checked_segments"].as_u64().unwrap() >= 1);
}

#[test]
fn verification_finds_a_tampered_tally_and_writes_nothing() {
    let place = Place::new();
    let file = exported(&place);
    let wrong = tampered(&place, &file);
    let other = Place::new();
    let path = place.0.path().join(&wrong);
    let ran = other.kazoe(&["import", path.to_str().unwrap()]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let before = other.kazoe(&["export", "--output", "-"]).silent();
    for (place, arguments) in [
        (&place, &["verify", &wrong, "--share", "100%"][..]),
        (&other, &["verify", "--share", "100%"]),
    ] {
        let ran = place.kazoe(&[arguments, &["--seed", "5"]].concat());
        assert_eq!(ran.code, Some(1));
        assert!(
            ran.stdout
                .ends_with("40,000 samples, seed 5: 1 DIFFERENT\n"),
            "{}",
            ran.stdout
        );
        assert!(
            ran.stderr.starts_with("error: segment 3 differs: stored ["),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(other.kazoe(&["export", "--output", "-"]).silent(), before);
    // Both tallies in one ledger are a dispute, which the next run settles by computing.
    let ran = place.kazoe(&["import", &wrong]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.starts_with("error: segment 3 differs"),
        "{}",
        ran.stderr
    );
    assert_eq!(place.report()["segments"]["disputed"], 1);
    let ran = place.kazoe(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        place.report()["prefix"]["digest"],
        serial(40_000).digest.to_string()
    );
    assert_eq!(place.kazoe(&["verify", "--share", "100%"]).code, Some(0));
}

#[test]
fn a_ledger_travels_as_a_file() {
    let place = Place::new();
    let file = exported(&place);
    let text = fs::read_to_string(place.0.path().join(&file)).unwrap();
    assert!(text.starts_with("kazoe-ledger/1\n"));
    assert_eq!(text, place.kazoe(&["export", "--output", "-"]).silent());
    let other = Place::new();
    fs::write(other.0.path().join("in.tsv"), &text).unwrap();
    let ran = other.kazoe(&["import", "in.tsv"]).silent();
    let said = "\t10 segments filled, 0 confirmed, 0 known, 0 of another size, 0 disputed\n";
    assert!(ran.ends_with(said), "{ran}");
    let ran = other.kazoe(&["import", "in.tsv"]).silent();
    let said = "\t0 segments filled, 0 confirmed, 10 known, 0 of another size, 0 disputed\n";
    assert!(ran.ends_with(said), "{ran}");
    // All but the moments is the same again.
    let facts = |text: &str| -> Vec<String> {
        let moment =
            |line: &&str| !line.starts_with("submitted\t") && !line.starts_with("computed\t");
        text.lines().filter(moment).map(str::to_owned).collect()
    };
    let again = other.kazoe(&["export", "--output", "-"]).silent();
    assert_eq!(facts(&again), facts(&text));
    // And it is a campaign like any other.
    let ran = other.kazoe(&["run", "--samples", "50k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        other.report()["prefix"]["digest"],
        serial(50_000).digest.to_string()
    );
}

#[test]
fn a_file_that_is_none_or_not_whole_is_refused_with_its_line() {
    let place = Place::new();
    let file = exported(&place);
    let text = fs::read_to_string(place.0.path().join(&file)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let half = lines[..lines.len() / 2].join("\n") + "\n";
    fs::write(place.0.path().join("half.tsv"), half).unwrap();
    fs::write(place.0.path().join("none.tsv"), "hello\n").unwrap();
    fs::write(place.0.path().join("empty.tsv"), "").unwrap();
    let other = Place::new();
    for command in ["import", "verify"] {
        for (name, said) in [
            ("half.tsv", "it was cut short"),
            ("none.tsv", "none.tsv: line 1"),
            ("empty.tsv", "empty.tsv: line 1"),
            (
                "missing.tsv",
                "missing.tsv: No such file or directory (os error 2)",
            ),
        ] {
            let path = place.0.path().join(name);
            let ran = other.kazoe(&[command, path.to_str().unwrap()]);
            assert_eq!(ran.code, Some(1), "{command} {name}");
            assert_eq!(ran.stdout, "");
            assert!(
                ran.stderr.starts_with("error: ") && ran.stderr.contains(said),
                "{}",
                ran.stderr
            );
        }
    }
}
