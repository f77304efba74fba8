//! Databases that are none, or not now.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::runs::{Place, serial};
use crate::support::{Ran, wait};

const READERS: [&str; 4] = ["report", "campaigns", "verify", "export"];

#[track_caller]
fn failed(ran: &Ran, said: &str) {
    assert_eq!(
        (ran.stdout.as_str(), ran.code),
        ("", Some(1)),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.starts_with("error: ") && ran.stderr.contains(said),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn readers_make_no_database() {
    let place = Place::new();
    for command in READERS {
        failed(&place.kazoe(&[command]), "there is no database ./kazoe.db");
    }
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 0);
}

#[test]
fn a_missing_folder_is_named_with_what_to_do() {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--db", "missing/kazoe.db"]);
    failed(
        &ran,
        "cannot create missing/kazoe.db: its folder does not exist",
    );
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 0);
}

#[test]
fn wrong_usage_makes_no_database() {
    let place = Place::new();
    for arguments in [
        &["run", "--samples", "0"][..],
        &["run", "--samples", "-5"],
        &["run", "--samples", "1e19"],
        &["run", "--samples", "5e18"],
        &["run", "--samples", "0.5"],
        &["run", "--segment", "0"],
        &["run", "--segment", "2M"],
        &["run", "--threads", "0"],
        &["run", "--threads", "-1"],
        &["run", "--seed", "-1"],
        &["run", "--cap", "x"],
        &["run", "chess"],
        &["verify", "--share", "0%"],
        &["verify", "--share", "-1%"],
        &["verify", "--share", "200%"],
    ] {
        let ran = place.kazoe(arguments);
        assert_eq!(
            (ran.stdout.as_str(), ran.code),
            ("", Some(2)),
            "{arguments:?}"
        );
        assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    }
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_is_no_database_is_left_as_it_is() {
    let place = Place::new();
    let path = place.0.path().join("notes.db");
    fs::write(
        &path,
        "these are my notes, and there are more than a hundred bytes of them. ".repeat(9),
    )
    .unwrap();
    let before = fs::read(&path).unwrap();
    for command in ["run", "report", "campaigns", "verify", "export"] {
        let ran = place.kazoe(&[command, "--db", "notes.db"]);
        failed(&ran, "notes.db is not a Kazoe database and stays unchanged");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_folder_or_a_place_that_is_not_there_is_no_database() {
    let place = Place::new();
    for path in [".", "no/such/folder/kazoe.db"] {
        for command in ["run", "report"] {
            failed(&place.kazoe(&[command, "--db", path]), path);
        }
    }
}

#[test]
fn a_truncated_database_is_reported_and_kept() {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--samples", "40k", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let path = place.0.path().join("kazoe.db");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    for command in ["run", "report"] {
        failed(&place.kazoe(&[command]), "kazoe.db");
    }
    assert_eq!(fs::metadata(&path).unwrap().len(), whole.len() as u64 / 2);
    fs::write(&path, whole).unwrap();
    assert_eq!(
        place.report()["prefix"]["digest"],
        serial(40_000).digest.to_string()
    );
}

#[test]
fn a_second_writer_is_refused_and_readers_are_not() {
    let place = Place::new();
    let mut first = place
        .command(&["run", "--samples", "1G", "--segment", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !place.kazoe(&["campaigns"]).stdout.contains("minishogi") {
        assert_eq!(first.try_wait().unwrap(), None);
        std::thread::sleep(Duration::from_millis(20));
    }
    failed(&place.kazoe(&["run"]), "is writing to ./kazoe.db");
    assert_eq!(place.kazoe(&["report"]).code, Some(0));
    first.kill().unwrap();
    assert_eq!(wait(first).code, None);
}

#[test]
fn a_missing_campaign_is_reported() {
    let place = Place::new();
    assert_eq!(place.kazoe(&["run", "--samples", "1k"]).code, Some(0));
    for name in ["shogi", "zzz"] {
        failed(
            &place.kazoe(&["report", name]),
            &format!("./kazoe.db has no campaign `{name}`; `kazoe campaigns` lists the campaigns"),
        );
    }
}
