//! What `--db` may name, and a database file that gets another name, another place or another content
//! while a run writes it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::runs::{Place, interrupt, serial};
use crate::support::{Ran, wait};

/// The names in a place, sorted.
fn names(place: &Place) -> Vec<String> {
    let files = fs::read_dir(place.0.path()).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[track_caller]
fn refused(ran: &Ran, said: &str) {
    assert_eq!(
        (ran.stdout.as_str(), ran.code),
        ("", Some(1)),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.starts_with("error: ") && ran.stderr.contains(said),
        "{} does not say: {said}",
        ran.stderr
    );
}

/// Makes a pipe with a name.
fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn what_is_no_file_is_refused_before_anything_is_made() {
    let place = Place::new();
    let path = |name: &str| place.0.path().join(name);
    pipe(&path("pipe"));
    let _socket = UnixListener::bind(path("socket")).unwrap();
    symlink("nowhere", path("dangling")).unwrap();
    symlink("round", path("round")).unwrap();
    fs::create_dir(path("folder")).unwrap();
    fs::write(path("file"), "").unwrap();
    let before = names(&place);
    for (database, said) in [
        ("/dev/null", "`/dev/null` is a device"),
        ("/dev/full", "`/dev/full` is a device"),
        (":memory:", "in memory, which is lost"),
        (".", "`.` is a folder"),
        ("folder", "`folder` is a folder"),
        ("folder/", "`folder/` is a folder"),
        ("new/", "`new/` is the name of a folder"),
        ("file/", "`file/` is the name of a folder"),
        ("pipe", "`pipe` is a pipe"),
        ("socket", "`socket` is a socket"),
        (
            "dangling",
            "a symbolic link to `nowhere`, which does not exist",
        ),
        (
            "round",
            "cannot open round: Too many levels of symbolic links",
        ),
        ("file:x.db?mode=rwc", "`file:...` is an address"),
        ("FILE:x.db", "`file:...` is an address"),
        ("sqlite://x.db", "`sqlite:...` is an address"),
        (
            "postgres://me:secret@host/kazoe",
            "`postgres:...` is an address",
        ),
    ] {
        for command in ["run", "report", "campaigns", "verify", "export"] {
            let ran = place.kazoe(&[command, "--db", database]);
            refused(&ran, said);
            assert!(!ran.stderr.contains("secret"), "{}", ran.stderr);
        }
    }
    for command in ["run", "report"] {
        let ran = place.kazoe(&[command, "--db", ""]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    }
    assert_eq!(names(&place), before);
    assert!(!Path::new("/dev/null.lock").exists());
    // With a folder in front, any name of a file will do.
    for odd in ["./:memory:", "./file:x?mode=ro#50%", "./a b\nc"] {
        let ran = place.kazoe(&["run", "--samples", "1k", "--db", odd]);
        assert_eq!(ran.code, Some(0), "{odd}: {}", ran.stderr);
        assert!(place.0.path().join(odd).is_file(), "{odd}");
        place.kazoe(&["report", "--db", odd]).silent();
    }
}

#[test]
fn the_files_beside_a_database_are_none() {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--samples", "1k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    fs::write(place.0.path().join("kazoe.db-wal"), "").unwrap();
    let before = names(&place);
    for name in ["kazoe.db.lock", "kazoe.db-wal"] {
        refused(
            &place.kazoe(&["run", "--db", name]),
            "belongs to the database beside it",
        );
    }
    assert_eq!(names(&place), before);
}

#[test]
fn a_hard_linked_file_is_refused_under_each_name() {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--samples", "1k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let second = place.0.path().join("second.db");
    fs::hard_link(place.0.path().join("kazoe.db"), &second).unwrap();
    let before = names(&place);
    for database in ["kazoe.db", "second.db"] {
        for command in ["run", "report", "export"] {
            let ran = place.kazoe(&[command, "--db", database]);
            refused(&ran, &format!("{database} has 2 names (hard links)"));
        }
    }
    assert_eq!(names(&place), before);
    fs::remove_file(second).unwrap();
    let ran = place.kazoe(&["run", "--samples", "2k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Starts a long run, and waits until some of it is saved.
fn begun(place: &Place) -> Child {
    let mut child = place
        .command(&["run", "--samples", "4G", "--segment", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let saved = || {
        let ran = place.kazoe(&["campaigns"]);
        let saved = ran.stdout.split('\t').nth(4).unwrap_or("0");
        saved.parse::<u64>().unwrap()
    };
    while saved() == 0 {
        assert_eq!(child.try_wait().unwrap(), None);
        thread::sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn two_names_of_one_file_have_one_writer() {
    let place = Place::new();
    let path = |name: &str| place.0.path().join(name);
    symlink("kazoe.db", path("link.db")).unwrap();
    fs::create_dir(path("folder")).unwrap();
    symlink(place.0.path(), path("folder/up")).unwrap();
    let mut child = begun(&place);
    for database in ["link.db", "folder/up/kazoe.db", "folder/up/link.db"] {
        let ran = place.kazoe(&["run", "--db", database]);
        let process = format!("another kazoe (process {}) is writing", child.id());
        refused(&ran, &process);
        assert_eq!(place.kazoe(&["report", "--db", database]).code, Some(0));
    }
    // The lock is on the file, not on its name: with a new name and without the file of the lock it holds.
    fs::rename(path("kazoe.db"), path("moved.db")).unwrap();
    refused(
        &place.kazoe(&["run", "--db", "moved.db"]),
        "another kazoe is writing to moved.db",
    );
    let _ = child.kill();
    let _ = wait(child);
}

/// What a run says whose file was displaced.
#[track_caller]
fn displaced(ran: &Ran) {
    refused_after_all(ran);
    assert!(
        ran.stderr
            .contains("error: ./kazoe.db was removed, moved or replaced while it was written"),
        "{}",
        ran.stderr
    );
}

#[track_caller]
fn refused_after_all(ran: &Ran) {
    assert_eq!(
        (ran.stdout.as_str(), ran.code),
        ("", Some(1)),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_removed_or_replaced_under_a_run_ends_it() {
    let other = Place::new();
    let ran = other.kazoe(&["run", "--samples", "1k", "--seed", "7"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let replaced = |place: &Place| {
        let backup = place.0.path().join("backup.db");
        fs::copy(other.0.path().join("kazoe.db"), &backup).unwrap();
        fs::rename(backup, place.0.path().join("kazoe.db")).unwrap();
    };
    let removed = |place: &Place| fs::remove_file(place.0.path().join("kazoe.db")).unwrap();
    let ways: [&dyn Fn(&Place); 2] = [&replaced, &removed];
    for (way, replaces) in ways.into_iter().zip([true, false]) {
        let place = Place::new();
        let child = begun(&place);
        way(&place);
        displaced(&wait(child));
        if replaces {
            // The new file got nothing of the other's log.
            let listed = place.kazoe(&["campaigns"]).silent();
            assert_eq!(listed, other.kazoe(&["campaigns"]).silent());
        }
        let ran = place.kazoe(&["run", "--samples", "40k"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let digest = serial(40_000).digest.to_string();
        assert!(ran.stdout.contains(&digest), "{}", ran.stdout);
    }
}

#[test]
fn a_file_that_gets_another_name_under_a_run_ends_it() {
    let linked =
        |place: &Path| fs::hard_link(place.join("kazoe.db"), place.join("two.db")).unwrap();
    let pointed = |place: &Path| {
        fs::rename(place.join("kazoe.db"), place.join("moved.db")).unwrap();
        symlink(place.join("moved.db"), place.join("kazoe.db")).unwrap();
    };
    let ways: [&dyn Fn(&Path); 2] = [&linked, &pointed];
    for way in ways {
        let place = Place::new();
        let child = begun(&place);
        way(place.0.path());
        displaced(&wait(child));
    }
}

#[test]
fn a_moved_file_has_all_that_was_saved() {
    let place = Place::new();
    let path = |name: &str| place.0.path().join(name);
    let child = begun(&place);
    fs::rename(path("kazoe.db"), path("moved.db")).unwrap();
    displaced(&wait(child));
    // Alone, without a log beside it.
    let elsewhere = Place::new();
    fs::copy(path("moved.db"), elsewhere.0.path().join("kazoe.db")).unwrap();
    let report = elsewhere.report();
    let saved = report["prefix"]["samples"].as_u64().unwrap();
    assert!(saved > 0);
    assert_eq!(report["prefix"]["digest"], serial(saved).digest.to_string());
}

#[test]
fn a_log_that_is_removed_under_a_run_ends_it_and_loses_nothing() {
    let place = Place::new();
    let child = begun(&place);
    fs::remove_file(place.0.path().join("kazoe.db-wal")).unwrap();
    let ran = wait(child);
    displaced(&ran);
    assert!(ran.stderr.contains("write-ahead log"), "{}", ran.stderr);
    let report = place.report();
    let saved = report["prefix"]["samples"].as_u64().unwrap();
    assert!(saved > 0);
    assert_eq!(report["prefix"]["digest"], serial(saved).digest.to_string());
}

/// Ctrl-C does not say "Saved" of a file that is gone.
#[test]
fn an_interrupted_run_looks_at_its_file_as_well() {
    let place = Place::new();
    let child = begun(&place);
    fs::remove_file(place.0.path().join("kazoe.db")).unwrap();
    interrupt(&child);
    displaced(&wait(child));
}

/// A file that is written over or cut keeps its inode.
#[test]
fn a_file_that_is_cut_under_a_run_ends_it() {
    let place = Place::new();
    let child = begun(&place);
    let file = fs::File::options()
        .write(true)
        .open(place.0.path().join("kazoe.db"));
    file.unwrap().set_len(8192).unwrap();
    let ran = wait(child);
    displaced(&ran);
    assert!(ran.stderr.contains("to 8192 bytes"), "{}", ran.stderr);
}

#[test]
fn a_file_that_is_written_over_under_a_run_is_not_called_stored() {
    let place = Place::new();
    let child = begun(&place);
    let path = place.0.path().join("kazoe.db");
    let length = fs::metadata(&path).unwrap().len();
    let mut file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all(&vec![0xa5; usize::try_from(length).unwrap()])
        .unwrap();
    interrupt(&child);
    let ran = wait(child);
    refused_after_all(&ran);
    assert!(!ran.stderr.contains("Saved: "), "{}", ran.stderr);
}
