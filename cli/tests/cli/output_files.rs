//! What `--output` may name: links, pipes, devices, files with permissions, full disks.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use crate::runs::{Place, interrupt};
use crate::support::{Ran, wait};

/// A place with a campaign of 10 segments, and the text of its export.
fn exported() -> (Place, String) {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--samples", "40_000", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = place.kazoe(&["export", "--output", "-"]).silent();
    assert!(text.starts_with("kazoe-ledger/1\n") && text.contains("\nend\t10\t40000\t"));
    fs::write(place.0.path().join("campaign.tsv"), &text).unwrap();
    (place, text)
}

/// The commands that write a file, and how much of the campaign each of them computes.
const WRITERS: [&[&str]; 2] = [
    &["export", "--output"],
    &["compute", "campaign.tsv", "--segments", "0..10", "--output"],
];

fn write_to(place: &Place, writer: &[&str], path: &str) -> Ran {
    place.kazoe(&[writer, &[path]].concat())
}

#[track_caller]
fn written(ran: &Ran, path: &str) {
    assert_eq!(
        (ran.stdout.as_str(), ran.code),
        (format!("{path}\n").as_str(), Some(0)),
        "{}",
        ran.stderr
    );
}

/// The segments and witnesses of a ledger file; the builds and the dates may differ.
fn segments(text: &str) -> Vec<String> {
    assert!(text.contains("\nend\t"), "{text}");
    let lines = text.lines();
    lines
        .filter(|line| ["segment", "witness", "end"].contains(&line.split('\t').next().unwrap()))
        .map(str::to_owned)
        .collect()
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// No temporary file is left.
#[track_caller]
fn assert_tidy(folder: &Path) {
    for file in fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(
            !name.ends_with(".part") && !name.ends_with(".unfinished"),
            "{name}"
        );
    }
}

#[test]
fn a_pipe_is_written_and_stays() {
    let (place, text) = exported();
    let path = place.0.path().join("pipe");
    pipe(&path);
    for writer in WRITERS {
        let reader = thread::spawn({
            let path = path.clone();
            move || fs::read_to_string(path).unwrap()
        });
        written(&write_to(&place, writer, "pipe"), "pipe");
        assert_eq!(
            segments(&reader.join().unwrap()),
            segments(&text),
            "{writer:?}"
        );
        assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
    }
    // By way of a link too; and of a shell's.
    symlink("pipe", place.0.path().join("link")).unwrap();
    let reader = thread::spawn(move || fs::read_to_string(path).unwrap());
    written(&write_to(&place, WRITERS[0], "link"), "link");
    assert_eq!(reader.join().unwrap(), text);
    let kazoe = env!("CARGO_BIN_EXE_kazoe");
    let line = format!("{kazoe} export --output >(cat > substituted); wait $!");
    let mut shell = Command::new("bash");
    shell.args(["-c", &line]).current_dir(place.0.path());
    let ran: Ran = shell.output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        fs::read_to_string(place.0.path().join("substituted")).unwrap(),
        text
    );
    assert_tidy(place.0.path());
}

#[test]
fn a_reader_that_leaves_a_pipe_is_an_error() {
    let (place, _) = exported();
    let path = place.0.path().join("pipe");
    pipe(&path);
    // More than a pipe holds.
    let ran = place.kazoe(&["run", "--samples", "6M", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let reader = thread::spawn(move || {
        let mut some = [0; 10];
        File::open(path).unwrap().read_exact(&mut some).unwrap();
    });
    let ran = write_to(&place, WRITERS[0], "pipe");
    reader.join().unwrap();
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)));
    assert!(ran.stderr.contains("pipe: Broken pipe"), "{}", ran.stderr);
}

#[test]
fn devices_are_written_and_stay() {
    let (place, _) = exported();
    for writer in WRITERS {
        written(&write_to(&place, writer, "/dev/null"), "/dev/null");
        let null = fs::symlink_metadata("/dev/null").unwrap();
        assert!(null.file_type().is_char_device());
        let ran = write_to(&place, writer, "/dev/full");
        assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)));
        assert!(
            ran.stderr.contains("/dev/full: No space left on device"),
            "{}",
            ran.stderr
        );
    }
    // What could not be written is not lost: what was computed is taken up again.
    let again = write_to(&place, WRITERS[1], "whole.tsv");
    written(&again, "whole.tsv");
    let folder = fs::read_dir("/dev").unwrap();
    for file in folder {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(
            !name.contains("unfinished") && !name.ends_with(".part"),
            "{name}"
        );
    }
}

#[test]
fn a_database_is_not_overwritten() {
    let (place, _) = exported();
    let database = place.0.path().join("kazoe.db");
    symlink(&database, place.0.path().join("link")).unwrap();
    let before = fs::read(&database).unwrap();
    for writer in WRITERS {
        for path in ["kazoe.db", "link"] {
            let ran = write_to(&place, writer, path);
            assert_eq!(ran.code, Some(1), "{}", ran.stderr);
            assert!(ran.stderr.contains("SQLite database"), "{}", ran.stderr);
            assert_eq!(fs::read(&database).unwrap(), before);
        }
    }
}

#[test]
fn links_are_followed() {
    let (place, text) = exported();
    let path = |name: &str| place.0.path().join(name);
    fs::create_dir(path("folder")).unwrap();
    fs::write(path("folder/real"), "").unwrap();
    symlink("folder/real", path("link")).unwrap();
    symlink("link", path("chain")).unwrap();
    symlink("folder/new", path("dangling")).unwrap();
    symlink("none/new", path("astray")).unwrap();
    symlink("round", path("round")).unwrap();
    for (name, real) in [
        ("link", "folder/real"),
        ("chain", "folder/real"),
        ("dangling", "folder/new"),
    ] {
        fs::write(path("folder/real"), "").unwrap();
        written(&write_to(&place, WRITERS[0], name), name);
        assert_eq!(fs::read_to_string(path(real)).unwrap(), text);
        written(&write_to(&place, WRITERS[1], name), name);
        let links = fs::symlink_metadata(path(name)).unwrap();
        assert!(links.file_type().is_symlink(), "{name}");
    }
    for writer in WRITERS {
        for (name, said) in [
            ("astray", "its folder does not exist"),
            ("round", "symbolic link"),
        ] {
            let ran = write_to(&place, writer, name);
            assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)), "{name}");
            assert!(ran.stderr.contains(said), "{}", ran.stderr);
        }
    }
    assert_tidy(place.0.path());
    assert_tidy(&path("folder"));
}

#[test]
fn what_takes_no_file_is_refused() {
    let (place, _) = exported();
    let path = |name: &str| place.0.path().join(name);
    fs::create_dir(path("folder")).unwrap();
    let _socket = UnixListener::bind(path("socket")).unwrap();
    for writer in WRITERS {
        for (name, said) in [
            ("folder", "folder: it is a folder; name a file in it"),
            (".", "it is a folder"),
            ("new/", "new/: it is the name of a folder"),
            ("socket", "socket: it is a socket"),
            ("none/new", "none/new: its folder does not exist"),
            ("campaign.tsv/new", "Not a directory"),
        ] {
            let ran = write_to(&place, writer, name);
            assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)), "{name}");
            assert!(ran.stderr.contains(said), "{}", ran.stderr);
        }
    }
    assert_tidy(place.0.path());
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_keeps_its_permissions_and_its_owner() {
    let (place, text) = exported();
    let path = place.0.path().join("file.tsv");
    for permissions in [0o600, 0o640, 0o664, 0o606] {
        fs::write(&path, "").unwrap();
        set_mode(&path, permissions);
        if rustix::process::geteuid().is_root() {
            chown(&path, Some(4_001), Some(4_002)).unwrap();
        }
        written(&write_to(&place, WRITERS[0], "file.tsv"), "file.tsv");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(mode(&path), permissions);
        if rustix::process::geteuid().is_root() {
            let meta = fs::metadata(&path).unwrap();
            assert_eq!((meta.uid(), meta.gid()), (4_001, 4_002));
        }
        written(&write_to(&place, WRITERS[1], "file.tsv"), "file.tsv");
        assert_eq!(mode(&path), permissions);
    }
    // A new file is as any program's.
    let mut shell = Command::new("sh");
    let kazoe = env!("CARGO_BIN_EXE_kazoe");
    let line = format!("umask 027 && {kazoe} export --output new.tsv");
    shell.args(["-c", &line]).current_dir(place.0.path());
    assert!(shell.output().unwrap().status.success());
    assert_eq!(mode(&place.0.path().join("new.tsv")), 0o640);
}

/// Runs as a user that is not root: as another one, or, where the tests do not run as root, as the same.
fn by_user(place: &Place, arguments: &[&str]) -> Ran {
    let mut command = place.command(arguments);
    if rustix::process::geteuid().is_root() {
        command.uid(4_001).gid(4_001);
    }
    command.output().unwrap().into()
}

#[test]
fn a_file_in_a_folder_that_takes_none_is_written_where_it_is() {
    let (place, text) = exported();
    let path = place.0.path().join("file.tsv");
    let protected = place.0.path().join("protected.tsv");
    fs::write(&path, "longer than nothing".repeat(10_000)).unwrap();
    fs::write(&protected, "protected").unwrap();
    set_mode(&path, 0o666);
    set_mode(&protected, 0o444);
    set_mode(place.0.path(), 0o555);
    let ran = by_user(&place, &["export", "--output", "file.tsv"]);
    written(&ran, "file.tsv");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    for name in ["protected.tsv", "new.tsv"] {
        let ran = by_user(&place, &["export", "--output", name]);
        assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(1)));
        let said = ran.stderr.to_lowercase();
        assert!(
            said.contains(name) && said.contains("permission denied"),
            "{said}"
        );
    }
    // A folder that takes files takes none in place of one that is protected.
    set_mode(place.0.path(), 0o777);
    let ran = by_user(&place, &["export", "--output", "protected.tsv"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&protected).unwrap(), "protected");
    // A file of another user keeps its owner.
    let owner = fs::metadata(&path).unwrap().uid();
    written(
        &by_user(&place, &["export", "--output", "file.tsv"]),
        "file.tsv",
    );
    assert_eq!(fs::metadata(&path).unwrap().uid(), owner);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_tidy(place.0.path());
}

#[test]
fn standard_output_by_another_name_gets_the_file_alone() {
    let (place, text) = exported();
    assert_eq!(write_to(&place, WRITERS[0], "/dev/stdout").silent(), text);
    assert_eq!(write_to(&place, WRITERS[0], "/dev/fd/1").silent(), text);
    let path = place.0.path().join("out.tsv");
    let mut command = place.command(&["export", "--output", "/dev/stdout"]);
    command.stdout(File::create(&path).unwrap());
    assert!(command.status().unwrap().success());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    // What a shell appends to keeps what it has.
    let kazoe = env!("CARGO_BIN_EXE_kazoe");
    let line =
        format!("exec 7>> log; echo before >&7; {kazoe} export -o /dev/fd/7; echo after >&7");
    let mut shell = Command::new("bash");
    shell.args(["-c", &line]).current_dir(place.0.path());
    assert!(shell.output().unwrap().status.success());
    let log = fs::read_to_string(place.0.path().join("log")).unwrap();
    assert_eq!(log, format!("before\n{text}after\n"));
    let ran = write_to(&place, WRITERS[1], "/dev/stdout");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

/// A part that goes into a pipe and is interrupted goes on.
#[test]
fn an_interrupted_part_for_a_pipe_goes_on() {
    let place = Place::new();
    let ran = place.kazoe(&["run", "--samples", "4096", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let small = place.kazoe(&["export", "-o", "-"]).silent();
    let large = small.replace("\nsamples\t4096\n", "\nsamples\t4096000000\n");
    fs::write(place.0.path().join("campaign.tsv"), large).unwrap();
    let arguments = ["compute", "campaign.tsv", "-s", "0..1M", "-o", "/dev/null"];
    let mut child = place
        .command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let unfinished = || {
        let files = fs::read_dir(place.0.path()).unwrap().map(Result::unwrap);
        let mut names = files.map(|file| file.file_name().into_string().unwrap());
        names.find(|name| name.ends_with(".unfinished"))
    };
    let finished = || {
        let Some(folder) = unfinished() else { return 0 };
        let ran = place.kazoe(&["campaigns", "--db", &format!("{folder}/kazoe.db")]);
        let saved = ran.stdout.split('\t').nth(4).unwrap_or("0");
        saved.parse::<u64>().unwrap()
    };
    while finished() == 0 {
        assert_eq!(child.try_wait().unwrap(), None);
        thread::sleep(std::time::Duration::from_millis(20));
    }
    interrupt(&child);
    let ran = wait(child);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(finished() > 0, "{}", ran.stderr);
}
