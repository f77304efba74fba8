//! `kazoe run` from the outside: counted, stopped, killed, resumed, extended, always the same tally.

use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use kazoe_common::census::{Campaign, Counter, Cut, Outcome, Tally};
use kazoe_common::game::Variant;
use kazoe_coordinator::ledger::{Ledger, LocalStore};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, command, wait};

const BLOCK: u64 = 4096;

/// A folder with a database in it, and `kazoe` run there.
pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Place(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.current_dir(self.0.path());
        command
    }

    pub(crate) fn kazoe(&self, arguments: &[&str]) -> Ran {
        self.command(arguments)
            .output()
            .expect("kazoe starts")
            .into()
    }

    /// Runs a command line as it would be typed.
    pub(crate) fn typed(&self, line: &str) -> Ran {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "kazoe");
        self.kazoe(&words[1..])
    }

    /// The newest campaign's report.
    pub(crate) fn report(&self) -> Value {
        let ran = self.kazoe(&["report", "--json"]);
        serde_json::from_str(&ran.silent()).expect("a JSON report")
    }

    /// Starts a run whose segments are single blocks, and waits until some of it is saved, or it has
    /// ended.
    fn begun(&self, samples: u64) -> Child {
        let samples = samples.to_string();
        self.begin(self.command(&["run", "--samples", &samples, "--segment", "1"]))
    }

    /// Starts a command that runs in this way, and waits until some of it is saved, or it has ended.
    pub(crate) fn begin(&self, mut run: Command) -> Child {
        let mut child = run
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kazoe starts");
        let saved = || {
            let ran = self.kazoe(&["campaigns"]);
            let saved = ran.stdout.split('\t').nth(4).unwrap_or("0");
            saved.parse::<u64>().expect("a number")
        };
        while saved() == 0 && child.try_wait().expect("a child").is_none() {
            thread::sleep(Duration::from_millis(20));
        }
        child
    }

    /// How many samples the newest campaign has.
    pub(crate) fn saved(&self) -> u64 {
        self.report()["accepted_samples"]
            .as_u64()
            .expect("a number")
    }

    /// Asserts I1, I2, I3 and I6 by the ledger's own audit of its rows, and I4 against a serial run.
    pub(crate) fn assert_sound_and_equal_to(&self, expected: &Tally) {
        let report = self.report();
        assert_eq!(report["complete"], true);
        assert_eq!(tally_of(&report), counts(expected));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let path = self.0.path().join("kazoe.db");
            let ledger = LocalStore::open_reader(&path).await.unwrap();
            let campaign = ledger.campaigns().await.unwrap().pop().unwrap();
            assert!(ledger.missing(&campaign.id).await.unwrap().is_empty());
            let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
            assert_eq!(snapshot.prefix.tally, *expected);
        });
    }
}

/// The tally of one thread that counts block after block.
pub(crate) fn serial(samples: u64) -> Tally {
    let counter = Counter::new(&Campaign::new(&Variant::MINISHOGI, 1)).unwrap();
    let cut = Cut::new(samples, 1).unwrap();
    let mut tally = Tally::default();
    for block in 0..samples.div_ceil(BLOCK) {
        tally.merge(&counter.block(block, cut.samples_in(block)).tally);
    }
    tally
}

/// What a report says of a tally: samples, rejected and passed by stage, digest.
fn tally_of(report: &Value) -> (u64, Vec<u64>, String) {
    let prefix = &report["prefix"];
    let funnel = report["funnel"].as_array().unwrap();
    let mut counts: Vec<u64> = funnel
        .iter()
        .map(|row| row["rejected"].as_u64().unwrap())
        .collect();
    counts.push(funnel[4]["passed"].as_u64().unwrap());
    let digest = prefix["digest"].as_str().unwrap().to_owned();
    (prefix["samples"].as_u64().unwrap(), counts, digest)
}

fn counts(tally: &Tally) -> (u64, Vec<u64>, String) {
    let outcomes = &Outcome::ALL[..6];
    let counts = outcomes.iter().map(|&outcome| tally.of(outcome)).collect();
    (tally.samples(), counts, tally.digest.to_string())
}

/// Ctrl-C; a child that has ended already does not mind.
pub(crate) fn interrupt(child: &Child) {
    let ran = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .stderr(Stdio::null())
        .status();
    ran.expect("a shell");
}

/// The command that a run names to go on with.
pub(crate) fn to_go_on(ran: &Ran) -> String {
    let mark = "To resume: ";
    let line = ran.stderr.lines().find_map(|line| line.split_once(mark));
    line.unwrap_or_else(|| panic!("{}", ran.stderr))
        .1
        .to_owned()
}

#[test]
fn a_run_counts_what_a_serial_run_counts_and_says_so_once_more() {
    let place = Place::new();
    let arguments = [
        "run",
        "minishogi",
        "--samples",
        "30_001",
        "--json",
        "--segment",
        "2",
    ];
    let first = place.kazoe(&arguments);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(
        first
            .stderr
            .starts_with("Counting mini shogi with 30,001 samples, seed 1: campaign "),
        "{}",
        first.stderr
    );
    place.assert_sound_and_equal_to(&serial(30_001));
    let again = place.kazoe(&arguments);
    assert_eq!((again.code, &again.stdout), (Some(0), &first.stdout));
    assert!(
        again.stderr.ends_with("is complete: 30,001 samples.\n"),
        "{}",
        again.stderr
    );
    // Without a number it is the same campaign; on one thread, in other segments, the same tally.
    assert_eq!(place.kazoe(&["run", "--json"]).stdout, first.stdout);
    let other = Place::new();
    let ran = other.kazoe(&["run", "-n", "30001", "--threads", "1", "--segment", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(tally_of(&other.report()), tally_of(&place.report()));
}

#[test]
fn more_samples_extend_and_fewer_are_among_those_that_are_there() {
    let place = Place::new();
    assert_eq!(
        place
            .kazoe(&["run", "--samples", "10k", "--segment", "1"])
            .code,
        Some(0)
    );
    let more = place.kazoe(&["run", "--samples", "30k"]);
    assert_eq!(more.code, Some(0), "{}", more.stderr);
    let said = " from 10,000 to 30,000 samples: 8,192 are finished, and the last segment, which was cut \
                short, is counted again whole.\n";
    assert!(
        more.stderr.starts_with("Extending campaign ") && more.stderr.contains(said),
        "{}",
        more.stderr
    );
    place.assert_sound_and_equal_to(&serial(30_000));
    let fewer = place.kazoe(&["run", "--samples", "5k"]);
    assert_eq!(fewer.code, Some(0));
    assert!(
        fewer
            .stderr
            .ends_with("It has more samples than the requested 5,000; they stay.\n"),
        "{}",
        fewer.stderr
    );
    place.assert_sound_and_equal_to(&serial(30_000));
    let other = place.kazoe(&["run", "--samples", "5k", "--segment", "7"]);
    assert!(
        other
            .stderr
            .ends_with("Its segments have 1 block, not 7; that was fixed when it began.\n"),
        "{}",
        other.stderr
    );
    // Another seed, another cap: other campaigns beside it.
    for more in [["--seed", "2"], ["--cap", "100k"]] {
        let ran = place.kazoe(&[&["run", "--samples", "1k"], &more[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(
            ran.stderr
                .starts_with("Counting mini shogi with 1,000 samples")
        );
    }
    let list = place.kazoe(&["campaigns"]).silent();
    let columns: Vec<Vec<&str>> = list
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    let expected = [
        ["minishogi", "1", "none", "30000", "30000", "complete"],
        ["minishogi", "2", "none", "1000", "1000", "complete"],
        ["minishogi", "1", "100000", "1000", "1000", "complete"],
    ];
    assert_eq!(columns.len(), expected.len());
    for (columns, expected) in columns.iter().zip(expected) {
        assert_eq!(columns[1..], expected);
    }
}

/// A run that was stopped in the middle, by whatever `stop` does to it.
pub(crate) struct Stopped {
    pub(crate) place: Place,
    pub(crate) samples: u64,
    pub(crate) ran: Ran,
}

/// Stops a run before it is complete; one that was too quick for that is tried again, four times as
/// large.
pub(crate) fn stopped(stop: impl Fn(&mut Child)) -> Stopped {
    let mut samples = 100 * BLOCK + 1;
    loop {
        let place = Place::new();
        let mut child = place.begun(samples);
        stop(&mut child);
        let ran = wait(child);
        if ran.code != Some(0) {
            return Stopped {
                place,
                samples,
                ran,
            };
        }
        samples = 4 * samples - 3;
        assert!(samples < 1 << 30, "{}", ran.stderr);
    }
}

#[test]
fn killed_in_the_middle_it_goes_on_and_loses_nothing_that_was_saved() {
    let Stopped {
        place,
        samples,
        ran,
    } = stopped(|child| child.kill().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (None, ""));
    let saved = place.saved();
    assert!(saved > 0 && saved < samples, "{saved}");
    let ran = place.kazoe(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stderr.starts_with("Resuming campaign "),
        "{}",
        ran.stderr
    );
    let computed = ran
        .stderr
        .lines()
        .find_map(|line| line.split_once(" samples computed"));
    let computed: u64 = computed.unwrap().0.replace(',', "").parse().unwrap();
    assert_eq!(computed, samples - saved);
    place.assert_sound_and_equal_to(&serial(samples));
}

#[test]
fn interrupted_once_it_saves_and_says_how_to_go_on() {
    let Stopped {
        place,
        samples,
        ran,
    } = stopped(|child| interrupt(child));
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(130), ""),
        "{}",
        ran.stderr
    );
    let said = "\nStopping: finishing and saving the segments that are nearly done.";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let saved = place.saved();
    assert!(saved > 0 && saved < samples, "{saved}");
    // Everything is handed in or given back.
    assert_eq!(place.report()["segments"]["leased"], 0);
    let next = to_go_on(&ran);
    assert_eq!(next, format!("kazoe run minishogi --samples {samples}"));
    let ran = place.typed(&next);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    place.assert_sound_and_equal_to(&serial(samples));
}

#[test]
fn interrupted_twice_it_leaves_and_can_be_resumed() {
    let Stopped {
        place,
        samples,
        ran,
    } = stopped(|child| {
        interrupt(child);
        interrupt(child);
    });
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    let ran = place.kazoe(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    place.assert_sound_and_equal_to(&serial(samples));
}

#[test]
fn a_closed_standard_output_loses_nothing() {
    let place = Place::new();
    let mut child = place
        .command(&["run", "--samples", "20k"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(wait(child).code, Some(0));
    place.assert_sound_and_equal_to(&serial(20_000));
}

#[test]
fn a_full_standard_output_fails_and_loses_nothing() {
    let place = Place::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ran: Ran = place
        .command(&["run", "--samples", "20k"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.ends_with(
            "error: writing to standard output: No space left on device (os error 28)\n"
        ),
        "{}",
        ran.stderr
    );
    place.assert_sound_and_equal_to(&serial(20_000));
}
