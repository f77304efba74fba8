//! Limits that the system sets (`ulimit`), and outputs without a reader.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use crate::runs::{Place, serial};
use crate::support::{Ran, command};

/// Runs the binary in a folder after these words of a shell.
fn limited(words: &str, place: &Place, arguments: &str) -> Ran {
    let kazoe = command::<&str>(&[]);
    let ran = Command::new("bash")
        .args(["-c", &format!("{words}; exec \"$0\" {arguments}")])
        .arg(kazoe.get_program())
        .env_remove("KAZOE_DB")
        .current_dir(place.0.path())
        .stdin(Stdio::null())
        .output();
    ran.expect("bash starts").into()
}

#[test]
fn a_small_stack_is_large_enough() {
    for kilobytes in [64, 128, 1024] {
        let place = Place::new();
        let limit = format!("ulimit -s {kilobytes}");
        let ran = limited(&limit, &place, "run --samples 20k --threads 2");
        assert_eq!(ran.code, Some(0), "{limit}: {}", ran.stderr);
        place.assert_sound_and_equal_to(&serial(20_000));
        for arguments in [
            "judge minishogi --explain 'rbsgk/4p/5/P4/KGSBR b - 1'",
            "perft shogi 2",
            "sample shogi --count 100",
            "export --output out.tsv",
            "verify --share 100%",
            "run --help",
        ] {
            let ran = limited(&limit, &place, arguments);
            assert_eq!(ran.code, Some(0), "{limit}, {arguments}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_file_that_may_not_grow_is_an_error_that_says_the_limit() {
    let place = Place::new();
    // In blocks of 1,024 bytes.
    let run = "run --samples 3M --segment 1";
    let ran = limited("ulimit -f 300", &place, run);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("kazoe.db"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("307200 bytes") && ran.stderr.contains("`ulimit -f`"),
        "{}",
        ran.stderr
    );
    let ran = limited("true", &place, run);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    place.assert_sound_and_equal_to(&serial(3_000_000));
    for arguments in ["sample minishogi --count 100k > out", "export > out"] {
        let ran = limited("ulimit -f 1", &place, arguments);
        assert_eq!(ran.code, Some(1), "{arguments}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("1024 bytes"),
            "{arguments}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_limit_on_cpu_time_saves_before_the_kernel_kills() {
    let place = Place::new();
    let ran = limited("ulimit -t 10", &place, "run --samples 10G --segment 1");
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("`ulimit -t`"), "{}", ran.stderr);
    assert!(place.saved() > 0);
}

#[test]
fn too_few_open_files_are_named_as_the_reason() {
    for files in [5, 8] {
        let place = Place::new();
        let limit = format!("ulimit -n {files}");
        let ran = limited(&limit, &place, "run --samples 20k");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let said = format!("{files} open files (`ulimit -n`)");
        assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    }
    // A soft limit is raised.
    let ran = limited("ulimit -S -n 8", &Place::new(), "run --samples 20k");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[test]
fn too_little_memory_for_threads_is_an_error_and_no_panic() {
    let place = Place::new();
    let ran = limited(
        "ulimit -v 300000",
        &place,
        "run --samples 20k --threads 512",
    );
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("reduce --threads"), "{}", ran.stderr);
    let words = "export RAYON_NUM_THREADS=512; ulimit -v 300000";
    for arguments in [
        "unrank minishogi 0 1",
        "perft minishogi 2",
        "sample minishogi",
    ] {
        let ran = limited(words, &place, arguments);
        assert_eq!(ran.code, Some(1), "{arguments}: {}", ran.stderr);
        let said = "error: cannot start threads";
        assert!(ran.stderr.starts_with(said), "{arguments}: {}", ran.stderr);
    }
}

#[test]
fn a_log_without_a_reader_does_not_stop_a_run() {
    let worker = [
        "worker",
        "--coordinator",
        "http://127.0.0.1:1",
        "--idle-exit",
        "1s",
    ];
    let place = Place::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ran = place.command(&worker).stderr(full).status().unwrap();
    assert_eq!(ran.code(), Some(1));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = place.command(&worker).stderr(writer).status().unwrap();
    assert_eq!(ran.code(), Some(1));
    let short = place.0.path().join("log");
    let ran = limited(
        "ulimit -f 0",
        &place,
        &format!("{} 2> log", worker.join(" ")),
    );
    assert_eq!((ran.code, fs::read(short).unwrap().len()), (Some(1), 0));
}

#[test]
fn threads_are_a_number_or_max() {
    for (text, place) in ["max", "MAX", "max-1", "max-1000", "3"].map(|text| (text, Place::new())) {
        let ran = place.kazoe(&["run", "--samples", "20k", "--threads", text]);
        assert_eq!(ran.code, Some(0), "{text}: {}", ran.stderr);
        place.assert_sound_and_equal_to(&serial(20_000));
    }
    for command in ["run", "worker", "bench"] {
        for (text, why) in [
            ("0", "at least one thread is required"),
            ("4097", "more than 4096 threads"),
            ("max-", "expected a number, max, or max-1"),
            ("all", "expected a number, max, or max-1"),
            ("-1", "the number is negative"),
        ] {
            let ran = Place::new().kazoe(&[command, "--threads", text]);
            assert_eq!(ran.code, Some(2), "{command} {text}: {}", ran.stderr);
            assert!(ran.stderr.contains(why), "{command} {text}: {}", ran.stderr);
        }
    }
}
