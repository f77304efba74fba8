//! A worker that reaches no coordinator, and the files that it is given.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::runs::Place;

/// An address without a listener.
const NOWHERE: &str = "http://127.0.0.1:1";

#[test]
fn a_worker_that_never_reached_its_coordinator_fails() {
    let place = Place::new();
    for by_itself in [["--idle-exit", "1s"], ["--hours", "0.0003"]] {
        let ran = place.kazoe(&[&["worker", "--coordinator", NOWHERE], &by_itself[..]].concat());
        assert_eq!(ran.code, Some(1), "{by_itself:?}: {}", ran.stderr);
        let said = format!("the coordinator {NOWHERE} was never reached");
        assert!(ran.stderr.contains(&said), "{by_itself:?}: {}", ran.stderr);
    }
}

#[test]
fn an_error_of_a_token_names_its_file() {
    let place = Place::new();
    let file = place.0.path().join("my.token");
    for (content, why) in [
        (&b""[..], "its first line is empty"),
        (b"\n\n", "its first line is empty"),
        (b"t-1\x07.x\n", "malformed API token"),
        (b"t-1\xff\n", "UTF-8"),
    ] {
        fs::write(&file, content).unwrap();
        for command in ["campaigns", "worker"] {
            let asked = [
                command,
                "--coordinator",
                NOWHERE,
                "--token-file",
                "my.token",
            ];
            let ran = place.kazoe(&asked);
            assert!(matches!(ran.code, Some(1 | 2)), "{ran:?}");
            assert!(ran.stderr.contains("my.token: "), "{content:?}: {ran:?}");
            assert!(ran.stderr.contains(why), "{content:?}: {ran:?}");
        }
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let ran = place.kazoe(&[
        "campaigns",
        "--coordinator",
        NOWHERE,
        "--token-file",
        "my.token",
    ]);
    assert!(ran.stderr.contains("my.token: Is a directory"), "{ran:?}");
}

#[test]
fn a_secret_that_others_can_read_gets_a_warning() {
    let place = Place::new();
    let file = place.0.path().join("my worker.token");
    fs::write(&file, "t-1.x\n").unwrap();
    let asked = ["--coordinator", NOWHERE, "--token-file", "my worker.token"];
    let can_read = "all users of this machine can read the secret in my worker.token";
    for (mode, warns) in [(0o644, true), (0o604, true), (0o600, false), (0o400, false)] {
        fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let ran = place.kazoe(&[&["campaigns"], &asked[..]].concat());
        let warned =
            format!("warning: {can_read} (mode {mode:04o}): `chmod 600 'my worker.token'`\n");
        assert_eq!(
            ran.stderr.contains(&warned),
            warns,
            "{mode:o}: {}",
            ran.stderr
        );
        // A service logs it, once.
        let format = ["--log-format", "json", "--idle-exit", "1s"];
        let ran = place.kazoe(&[&["worker"], &asked[..], &format].concat());
        let lines = ran.stderr.lines().filter(|line| line.contains(can_read));
        assert_eq!(
            lines.count(),
            usize::from(warns),
            "{mode:o}: {}",
            ran.stderr
        );
        assert!(
            ran.stderr.lines().all(|line| line.starts_with('{')),
            "{}",
            ran.stderr
        );
    }
}
