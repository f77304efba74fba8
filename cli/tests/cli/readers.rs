//! Reading needs the right to read, nothing else, and changes nothing: as another user, in a folder that
//! takes no writes, beside a run and after a killed one.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::runs::{Place, serial};
use crate::support::{Ran, wait};

/// Users of the tests that are not the one who runs them, where that is root.
const OWNER: u32 = 4_001;
const STRANGER: u32 = 4_002;

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes the command another user's. Only root may do that; else the folder's permissions alone stand in
/// the way.
fn by(user: u32, mut command: Command) -> Command {
    if is_root() {
        command.uid(user).gid(user);
    }
    command
}

fn by_owner(place: &Place, arguments: &[&str]) -> Ran {
    let ran = by(OWNER, place.command(arguments)).output();
    ran.unwrap().into()
}

fn by_stranger(place: &Place, arguments: &[&str]) -> Ran {
    let mut command = by(STRANGER, place.command(arguments));
    // There is no other place in which to write either.
    command.env("TMPDIR", "/nowhere");
    command.output().unwrap().into()
}

/// A place that belongs to the owner.
fn owned() -> Place {
    let place = Place::new();
    set_mode(place.0.path(), 0o755);
    if is_root() {
        chown(place.0.path(), Some(OWNER), Some(OWNER)).unwrap();
    }
    place
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What a file is: its name, owner, permissions, times and content.
type Seen = (String, u32, u32, (i64, i64), (i64, i64), Vec<u8>);

/// All files of a place as they are.
fn seen(place: &Place) -> Vec<Seen> {
    let mut seen: Vec<Seen> = fs::read_dir(place.0.path())
        .unwrap()
        .map(|file| {
            let file = file.unwrap();
            let meta = file.metadata().unwrap();
            (
                file.file_name().into_string().unwrap(),
                meta.uid(),
                meta.mode(),
                (meta.mtime(), meta.mtime_nsec()),
                (meta.ctime(), meta.ctime_nsec()),
                fs::read(file.path()).unwrap(),
            )
        })
        .collect();
    seen.sort();
    seen
}

/// Reads in every way; the export goes to standard output.
#[track_caller]
fn reads(place: &Place) {
    for arguments in [
        &["report"][..],
        &["campaigns"],
        &["verify", "--share", "1%"],
        &["export", "--output", "-"],
    ] {
        let ran = by_stranger(place, arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn another_user_reads_and_leaves_nothing() {
    // As in a folder that is shared, where every user may make files; and as in one that is not.
    for mode in [0o777, 0o555] {
        let place = owned();
        let ran = by_owner(&place, &["run", "--samples", "40k", "--segment", "1"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let database = place.0.path().join("kazoe.db");
        set_mode(&database, 0o444);
        set_mode(place.0.path(), mode);
        let before = seen(&place);
        reads(&place);
        assert_eq!(seen(&place), before, "{mode:o}");
        set_mode(&database, 0o644);
        set_mode(place.0.path(), 0o755);
        let ran = by_owner(&place, &["run", "--samples", "80k"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let digest = serial(80_000).digest.to_string();
        assert!(ran.stdout.contains(&digest), "{}", ran.stdout);
    }
}

/// Starts the owner's long run, and waits until some of it is saved.
fn begun(place: &Place) -> Child {
    let arguments = ["run", "--samples", "4G", "--segment", "1"];
    let mut child = by(OWNER, place.command(&arguments))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while saved(place) == 0 {
        assert_eq!(child.try_wait().unwrap(), None);
        thread::sleep(Duration::from_millis(20));
    }
    child
}

/// How much a stranger sees.
fn saved(place: &Place) -> u64 {
    let ran = by_stranger(place, &["campaigns"]);
    let saved = ran.stdout.split('\t').nth(4).unwrap_or("0");
    saved.parse().unwrap()
}

#[test]
fn another_user_reads_beside_a_run() {
    let place = owned();
    let mut child = begun(&place);
    for _ in 0..5 {
        reads(&place);
        assert_eq!(child.try_wait().unwrap(), None);
    }
    let files = fs::read_dir(place.0.path()).unwrap();
    for file in files.map(Result::unwrap) {
        let user = file.metadata().unwrap().uid();
        assert!(!is_root() || user == OWNER, "{file:?}: {user}");
    }
    child.kill().unwrap();
    let _ = wait(child);
}

#[test]
fn another_user_reads_what_a_killed_run_left() {
    let place = owned();
    let mut child = begun(&place);
    child.kill().unwrap();
    let _ = wait(child);
    assert!(place.0.path().join("kazoe.db-wal").exists());
    set_mode(place.0.path(), 0o555);
    let there = saved(&place);
    assert!(there > 0);
    for index in [true, false] {
        if !index {
            set_mode(place.0.path(), 0o755);
            fs::remove_file(place.0.path().join("kazoe.db-shm")).unwrap();
            set_mode(place.0.path(), 0o555);
        }
        let before = seen(&place);
        reads(&place);
        assert_eq!(saved(&place), there);
        assert_eq!(seen(&place), before);
    }
    set_mode(place.0.path(), 0o755);
    let total = (there + 4096).to_string();
    let ran = by_owner(&place, &["run", "--samples", &total, "--seed", "2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(saved(&place), there);
}

/// A database in a file that may not be read, or whose log may not, is not half read.
#[test]
fn a_reader_without_the_right_to_read_is_refused() {
    if !is_root() {
        // The owner of a file without permissions is refused as well.
        let place = owned();
        let ran = by_owner(&place, &["run", "--samples", "1k"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        set_mode(&place.0.path().join("kazoe.db"), 0o000);
        assert_eq!(by_stranger(&place, &["report"]).code, Some(1));
        return;
    }
    let place = owned();
    let mut child = begun(&place);
    child.kill().unwrap();
    let _ = wait(child);
    for name in ["kazoe.db-wal", "kazoe.db"] {
        let path = place.0.path().join(name);
        set_mode(&path, 0o600);
        let ran = by_stranger(&place, &["report"]);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)));
        let said = format!("{name}: Permission denied");
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
        set_mode(&path, 0o644);
    }
}

#[test]
fn what_another_user_left_beside_a_database_is_named_before_a_run_computes() {
    let place = owned();
    let ran = by_owner(&place, &["run", "--samples", "1k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for suffix in ["-wal", "-shm", "-journal"] {
        let left = place.0.path().join(format!("kazoe.db{suffix}"));
        fs::write(&left, "").unwrap();
        set_mode(&left, 0o444);
        let before = seen(&place);
        let ran = by_owner(&place, &["run", "--samples", "2k"]);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)));
        let said = format!("kazoe.db{suffix}, which belongs to another user, beside ./kazoe.db");
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
        assert_eq!(seen(&place), before);
        by_stranger(&place, &["report"]).silent();
        fs::remove_file(&left).unwrap();
    }
    // The lock of another user's run, which has ended, stands in no writer's way.
    let lock = place.0.path().join("kazoe.db.lock");
    set_mode(&lock, 0o444);
    if is_root() {
        chown(&lock, Some(STRANGER), Some(STRANGER)).unwrap();
    }
    let ran = by_owner(&place, &["run", "--samples", "2k"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}
