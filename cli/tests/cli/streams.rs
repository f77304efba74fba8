//! Line by line: order, refusals, closed and full outputs, prompt answers.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use crate::support::{command, kazoe, kazoe_fed, lines, wait};

#[test]
fn a_bad_line_is_reported_with_its_number_and_stops_nothing() {
    let ran = kazoe_fed(
        &["unrank", "minishogi"],
        "0\nx\n\n1\r\n99999999999999999999\n-7\n\u{e9}\n2",
    );
    assert_eq!(
        ran.stdout,
        "0\tKpb2/ksb2/gs3/gr3/pr3 b - 1\n\
         1\tkpb2/Ksb2/gs3/gr3/pr3 b - 1\n\
         2\tkpb2/gsb2/Ks3/gr3/pr3 b - 1\n"
    );
    assert_eq!(
        ran.stderr,
        "error: line 2: expected a decimal digit at character 1\n\
         error: line 3: expected a decimal digit at character 1\n\
         error: line 5: rank 99999999999999999999 is out of range: minishogi has \
         16014219505238849250 candidates, ranks from 0 to one less\n\
         error: line 6: a rank is never negative\n\
         error: line 7: expected a decimal digit at character 1\n\
         error: 5 of 8 lines failed\n"
    );
    assert_eq!(ran.code, Some(1));
    let ran = kazoe_fed(&["judge", "shogi"], b"a\xffb\n");
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str(), ran.code),
        (
            "",
            "error: line 1: byte 2 is not UTF-8\nerror: 1 of 1 line failed\n",
            Some(1)
        )
    );
}

#[test]
fn arguments_are_numbered_where_there_are_several() {
    let ran = kazoe(&["unrank", "minishogi", "x", "0", "y"]);
    assert_eq!(ran.stdout, "0\tKpb2/ksb2/gs3/gr3/pr3 b - 1\n");
    assert_eq!(
        ran.stderr,
        "error: argument 1: expected a decimal digit at character 1\n\
         error: argument 3: expected a decimal digit at character 1\n\
         error: 2 of 3 arguments failed\n"
    );
    assert_eq!(ran.code, Some(1));
    let ran = kazoe(&["unrank", "minishogi", "x"]);
    ran.refused(1, "error: expected a decimal digit at character 1");
}

#[test]
fn an_empty_input_is_answered_with_nothing() {
    assert_eq!(kazoe_fed(&["unrank", "minishogi"], "").silent(), "");
    assert_eq!(kazoe(&["judge", "minishogi"]).silent(), "");
}

#[test]
fn many_lines_stay_in_order_and_come_back() {
    let ranks: Vec<String> = (0..20_000_u64)
        .map(|i| (i * 800_710_975_261).to_string())
        .collect();
    let there = kazoe_fed(&["unrank", "minishogi"], lines(&ranks)).silent();
    let back = there.lines().map(|line| line.split_once('\t').unwrap().1);
    let again = kazoe_fed(&["rank", "minishogi"], lines(back)).silent();
    assert_eq!(there, again);
    assert!(
        there
            .lines()
            .map(|line| line.split_once('\t').unwrap().0)
            .eq(&ranks)
    );
}

#[test]
fn each_line_of_a_slow_pipe_is_answered_at_once() {
    let mut child = command(&["unrank", "minishogi"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for rank in ["0", "1"] {
        writeln!(stdin, "{rank}").unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("{rank}\t")), "{answer}");
    }
    drop(stdin);
    assert_eq!(wait(child).code, Some(0));
}

#[test]
fn a_reader_that_closes_standard_output_is_no_error() {
    for arguments in [
        &["sample", "minishogi", "--count", "1M"][..],
        &["unrank", "minishogi"],
        &["perft", "minishogi", "4", "--divide"],
        &["size", "shogi"],
        &["predecessors", "minishogi", "rbsgk/4p/P4/5/KGSBR w - 1"],
        &["--help"],
        &[],
    ] {
        let mut child = command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stdin = child.stdin.take().unwrap();
        // It may have gone before it was fed.
        let _ = stdin.write_all(&b"0\n1\n2\n".repeat(100_000));
        drop(stdin);
        let ran = wait(child);
        assert_eq!(
            (ran.stderr.as_str(), ran.code),
            ("", Some(0)),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_reader_that_stops_early_gets_what_it_read() {
    let mut child = command(&["sample", "minishogi", "--count", "1M"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut head = [0; 22];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"0\t10540203479009103412");
    drop(stdout);
    let ran = wait(child);
    assert_eq!((ran.stderr.as_str(), ran.code), ("", Some(0)));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ran = command(&["size", "minishogi"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(ran.stderr).unwrap(),
        "error: writing to standard output: No space left on device (os error 28)\n"
    );
    assert_eq!(ran.status.code(), Some(1));
}

#[test]
#[cfg(target_os = "linux")]
fn an_unreadable_standard_input_is_an_error() {
    let folder = File::open("/").unwrap();
    let ran = command(&["unrank", "minishogi"])
        .stdin(folder)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(ran.stderr).unwrap(),
        "error: reading standard input: Is a directory (os error 21)\n"
    );
    assert_eq!(ran.status.code(), Some(1));
}
