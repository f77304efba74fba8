//! Signals: which ones save and stop, which ones end at once, and which ones stay ignored.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use crate::runs::{Place, Stopped, serial, stopped, to_go_on};
use crate::support::{Ran, command, wait};

const BLOCK: u64 = 4096;

fn signal(child: &Child, name: &str) {
    let ran = Command::new("sh")
        .args(["-c", &format!("kill -s {name} {}", child.id())])
        .stderr(Stdio::null())
        .status();
    ran.expect("a shell");
}

/// A command that a shell starts after some words of its own.
fn after(words: &str, place: &Place, arguments: &[&str]) -> Command {
    let kazoe = command::<&str>(&[]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{words} \"$0\" \"$@\"")])
        .arg(kazoe.get_program())
        .args(arguments)
        .env_remove("KAZOE_DB")
        .current_dir(place.0.path())
        .stdin(Stdio::null());
    shell
}

/// Sends signals to a run that a shell started after some words, while it computes; what it left behind.
fn signalled(words: &str, signals: &[&str]) -> (Place, u64, Ran) {
    let mut samples = 400 * BLOCK + 1;
    loop {
        let place = Place::new();
        let run = ["run", "--samples", &samples.to_string(), "--segment", "1"];
        let mut child = place.begin(after(words, &place, &run));
        for name in signals {
            signal(&child, name);
        }
        // One that has ended was perhaps too quick for the signals.
        let computes = child.try_wait().unwrap().is_none();
        let ran = wait(child);
        if computes || ran.code != Some(0) {
            return (place, samples, ran);
        }
        samples = 4 * samples - 3;
        assert!(samples < 1 << 30, "{}", ran.stderr);
    }
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let words = "trap '' HUP INT TERM USR1 USR2 ALRM XCPU QUIT; exec";
    let signals = ["HUP", "INT", "TERM", "USR1", "USR2", "ALRM", "XCPU", "QUIT"];
    let (place, samples, ran) = signalled(words, &signals);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Stopping"), "{}", ran.stderr);
    place.assert_sound_and_equal_to(&serial(samples));
}

#[test]
fn under_nohup_the_end_of_the_terminal_ends_nothing_and_other_signals_do() {
    let (place, samples, ran) = signalled("exec nohup", &["HUP", "HUP"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    place.assert_sound_and_equal_to(&serial(samples));
    let (_, _, ran) = signalled("exec nohup", &["HUP", "TERM"]);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("Stopping (SIGTERM)"), "{}", ran.stderr);
}

/// A shell without job control ignores SIGINT and SIGQUIT for what it starts with `&`.
#[test]
fn ctrl_c_does_not_stop_a_background_job_of_a_shell() {
    let (_, _, ran) = signalled("trap '' INT QUIT; exec", &["INT", "TERM"]);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("Stopping (SIGTERM)"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Exiting at once"), "{}", ran.stderr);
}

#[test]
fn what_batch_systems_send_saves_and_stops() {
    for name in [
        "USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "XCPU", "HUP",
    ] {
        let Stopped {
            place,
            samples,
            ran,
        } = stopped(|child| signal(child, name));
        assert_eq!(ran.code, Some(130), "{name}: {}", ran.stderr);
        let said = format!("Stopping (SIG{name}");
        assert!(ran.stderr.contains(&said), "{name}: {}", ran.stderr);
        let saved = place.saved();
        assert!(saved > 0 && saved < samples, "{name}: {saved}");
        assert_eq!(place.report()["segments"]["leased"], 0, "{name}");
        if name == "USR1" {
            let ran = place.typed(&to_go_on(&ran));
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
            place.assert_sound_and_equal_to(&serial(samples));
        }
    }
}

/// `timeout` signals its child and then the child's group: the child gets both.
#[test]
fn a_signal_that_arrives_twice_at_once_is_one_request() {
    let Stopped { ran, .. } = stopped(|child| {
        signal(child, "TERM");
        signal(child, "TERM");
    });
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("Saved: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("Exiting at once"), "{}", ran.stderr);
}

#[test]
fn a_signal_that_dumps_core_says_a_last_word() {
    for (name, number) in [("ABRT", 6), ("QUIT", 3)] {
        let mut samples = 400 * BLOCK;
        loop {
            let place = Place::new();
            let run = ["run", "--samples", &samples.to_string(), "--segment", "1"];
            let child = place.begin(after("ulimit -c 0; exec", &place, &run));
            signal(&child, name);
            let ran = child.wait_with_output().unwrap();
            if ran.status.success() {
                samples *= 4;
                continue;
            }
            assert_eq!(ran.status.signal(), Some(number), "{ran:?}");
            let said = String::from_utf8(ran.stderr).unwrap();
            assert!(
                said.contains(&format!("SIG{name}: exiting at once")),
                "{said}"
            );
            break;
        }
    }
}
