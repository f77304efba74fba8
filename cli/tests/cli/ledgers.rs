//! What is made of a ledger: reports, verification, files.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use kazoe_common::census::{Campaign, Fingerprint};
use kazoe_common::game::Variant;
use kazoe_coordinator::ledger_file::LedgerFile;
use serde_json::Value;

use crate::runs::{Place, interrupt, serial};
use crate::support::{golden, wait};

/// The fingerprint of the first samples of mini shogi.
fn fingerprint(samples: u64) -> Fingerprint {
    let campaign = Campaign::new(&Variant::MINISHOGI, 1);
    Fingerprint::of(&campaign, &serial(samples))
}

/// A file as a build from before fingerprints writes it.
fn without_check(text: &str) -> String {
    let kept = text
        .lines()
        .filter(|line| !line.contains("\tkazoe-check/1 "));
    let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
    assert_ne!(kept, text);
    kept
}

/// A small campaign, and the file that it is exported to.
fn exported(place: &Place) -> String {
    let ran = place.kazoe(&["run", "--samples", "40_000", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = place.kazoe(&["export"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let digest = serial(40_000).digest;
    assert!(
        ran.stderr.ends_with(&format!(
            ": 10 segments, 40,000 samples, digest {digest}, fingerprint {}.\n",
            fingerprint(40_000)
        )),
        "{}",
        ran.stderr
    );
    ran.stdout.trim_end().to_owned()
}

/// The file with a count of segment 3 moved from one outcome to another, which the digest does not show.
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
fn readers_leave_no_file_beside_the_database() {
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
fn an_incomplete_campaign_without_a_run_is_unfinished() {
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
            let (figure, value) = line.rsplit_once(',').unwrap_or_default();
            let end = figure.ends_with(".lower") || figure.ends_with(".upper");
            let published = figure.starts_with("published,");
            let number = value.contains('.') && value.parse::<f64>().is_ok();
            form == "csv" && !published && (end || number)
        };
        let report: String = report
            .lines()
            .filter(|line| !float(line))
            .map(|line| {
                let line = line
                    .strip_prefix("report,,revision,")
                    .map_or(line, |_| "report,,revision,0");
                let line = line
                    .strip_prefix("owners,local,core_seconds,")
                    .filter(|seconds| seconds.parse::<u64>().is_ok())
                    .map_or(line, |_| "owners,local,core_seconds,0");
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
    let ran = place.kazoe(&["verify", &wrong, "--share", "100%", "--seed", "5"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stdout
            .ends_with("40,000 samples, seed 5: 1 DIFFERENT\n"),
        "{}",
        ran.stdout
    );
    let stated = fingerprint(40_000).to_string();
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines.len(), 3, "{}", ran.stderr);
    assert!(
        lines[0].starts_with("error: segment 3 differs: stored ["),
        "{}",
        lines[0]
    );
    assert!(lines[1].contains(&format!("the file states the fingerprint {stated}, but")));
    assert!(
        lines[2].ends_with(&format!("computed {stated}")),
        "{}",
        lines[2]
    );

    // Written by a build from before fingerprints it would be taken, and found by computing only.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, without_check(&text)).unwrap();
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
    // A database takes no tally that differs from its own.
    let before = place.kazoe(&["export", "--output", "-"]).silent();
    let ran = place.kazoe(&["import", &wrong]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    for said in [
        "two tallies of segment 3 of campaign ",
        "`kazoe verify`",
        "; no segment of ",
    ] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert_eq!(place.kazoe(&["export", "--output", "-"]).silent(), before);
    assert_eq!(
        place.report()["prefix"]["digest"],
        serial(40_000).digest.to_string()
    );
    assert_eq!(place.kazoe(&["verify", "--share", "100%"]).code, Some(0));
}

/// README's digest beside other counts: the fingerprint distinguishes them.
#[test]
fn counts_moved_beside_an_honest_digest_are_refused() {
    let place = Place::new();
    let file = exported(&place);
    let wrong = tampered(&place, &file);
    let path = place.0.path().join(&wrong);
    let path = path.to_str().unwrap();
    let honest = fingerprint(40_000).to_string();
    let other = Place::new();
    let ran = other.kazoe(&["import", path]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    let text = fs::read_to_string(path).unwrap();
    let counted = {
        let mut file = LedgerFile::open(text.as_bytes()).unwrap();
        file.by_ref().for_each(drop);
        let campaign = file.header().campaign.clone();
        file.sums().fingerprint(&campaign).to_string()
    };
    assert_ne!(counted, honest);
    let said = format!("the file states the fingerprint {honest}, but its counts have {counted}");
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    let nothing = format!("; no segment of {path} was imported\n");
    assert!(ran.stderr.ends_with(&nothing), "{}", ran.stderr);
    // Not even a database is begun.
    assert_eq!(fs::read_dir(other.0.path()).unwrap().count(), 0);

    // A file of an earlier build states no fingerprint: that is said, and the report shows another one.
    fs::write(path, without_check(&text)).unwrap();
    let ran = other.kazoe(&["import", path]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = format!("{path} has no fingerprint: ");
    assert!(ran.stderr.starts_with(&said), "{}", ran.stderr);
    let [ours, theirs] = [&place, &other].map(Place::report);
    assert_eq!(ours["prefix"]["digest"], theirs["prefix"]["digest"]);
    assert_eq!(ours["prefix"]["fingerprint"], honest.as_str());
    assert_eq!(theirs["prefix"]["fingerprint"], counted.as_str());

    // Verification compares with a published one, whatever share it computes again.
    for (place, code) in [(&place, 0), (&other, 1)] {
        let ran = place.kazoe(&["verify", "--fingerprint", &honest, "--seed", "1"]);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        let said = format!("error: the fingerprint differs: expected {honest}, stored {counted}");
        assert_eq!(ran.stderr.contains(&said), code == 1, "{}", ran.stderr);
    }
    let ran = place.kazoe(&["verify", &file, "--fingerprint", &honest, "--json"]);
    let json: Value = serde_json::from_str(&ran.silent()).unwrap();
    assert_eq!(json["fingerprint"], honest.as_str());
    assert_eq!(json["stated_fingerprint"], honest.as_str());
    assert_eq!(json["changed"], Value::Null);
    let odd = place.kazoe(&["verify", "--fingerprint", "caf0"]);
    assert_eq!(odd.code, Some(2), "{}", odd.stderr);
}

/// However the work is cut and ordered, the same samples have the same fingerprint, in every format.
#[test]
fn the_fingerprint_does_not_depend_on_the_cut() {
    let expected = fingerprint(40_000).to_string();
    for segment in ["1", "2", "7", "64"] {
        let place = Place::new();
        let run = ["run", "--samples", "40_000", "--segment", segment];
        let ran = place.kazoe(&run);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        for (form, said) in [
            ("text", format!("\nfingerprint {expected}\n")),
            ("md", format!("\n- fingerprint: `{expected}`\n")),
            ("json", format!("\n    \"fingerprint\": \"{expected}\"")),
            ("csv", format!("\nprefix,,fingerprint,{expected}\n")),
        ] {
            let report = place.kazoe(&["report", "--format", form]).silent();
            assert!(report.contains(&said), "{report}");
        }
        let said = format!("\tfingerprint {expected}, digest ");
        assert!(place.kazoe(&["verify"]).silent().contains(&said));
        let json = place.kazoe(&["export", "--json"]).silent();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["fingerprint"], expected.as_str());
    }
    // Nor on the way: extended from fewer samples.
    let place = Place::new();
    for samples in ["5000", "40_000"] {
        let ran = place.kazoe(&["run", "--samples", samples, "--segment", "1"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    assert_eq!(place.report()["prefix"]["fingerprint"], expected.as_str());
}

/// `docs/recheck.py` adds a ledger file up by itself.
#[test]
fn another_program_finds_the_same_fingerprint() {
    let place = Place::new();
    let file = exported(&place);
    let wrong = tampered(&place, &file);
    let recheck = |arguments: &[&str]| {
        let ran = Command::new("python3")
            .args([
                "-B",
                concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/recheck.py"),
            ])
            .args(arguments)
            .current_dir(place.0.path())
            .output()
            .expect("python3 starts");
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    };
    let line = |samples| format!("\nfingerprint {}\n", fingerprint(samples));
    let (code, said) = recheck(&["check-ledger", &file]);
    assert!(code == Some(0) && said.ends_with(&line(40_000)), "{said}");
    let (code, said) = recheck(&["check-ledger", &wrong]);
    assert!(code == Some(1) && !said.contains(&line(40_000)), "{said}");
    let stated = format!(
        "WRONG: the file states the fingerprint {},",
        fingerprint(40_000)
    );
    assert!(said.contains(&stated), "{said}");
    let (code, said) = recheck(&["campaign", "minishogi", "1", "4200"]);
    assert!(code == Some(0) && said.ends_with(&line(4200)), "{said}");
}

/// A truncated file and an interrupted import leave the database unchanged.
#[test]
fn an_interrupted_import_leaves_nothing() {
    let place = Place::new();
    let file = exported(&place);
    let text = fs::read_to_string(place.0.path().join(&file)).unwrap();
    let other = Place::new();
    for signal in [false, true] {
        let mut import = other.command(&["import", "-"]);
        let piped = import
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&text.as_bytes()[..text.len() / 2]).unwrap();
        if signal {
            hears_signals(&child);
            interrupt(&child);
        } else {
            drop(stdin);
        }
        let ran = wait(child);
        assert_eq!(
            ran.code,
            Some(if signal { 130 } else { 1 }),
            "{}",
            ran.stderr
        );
        let said = "no segment of standard input was imported";
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(fs::read_dir(other.0.path()).unwrap().count(), 0);
    }
    let mut import = other.command(&["import", "-"]);
    let mut child = import
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let ran = wait(child);
    assert!(
        ran.stdout.contains("\t10 segments filled, "),
        "{}",
        ran.stdout
    );
}

/// Waits until a process catches SIGINT.
fn hears_signals(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    loop {
        let status = fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        if caught & 1 << 1 != 0 {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
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
            ("half.tsv", "it was truncated"),
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
            let nothing = ran.stderr.ends_with(" was imported\n");
            assert_eq!(nothing, command == "import", "{}", ran.stderr);
        }
    }
}
