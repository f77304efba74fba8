//! What a terminal shows: on a pseudo-terminal, through `script` of util-linux.

use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::{Ran, kazoe, kazoe_fed};

const START: &str = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";

/// Runs the binary on a terminal with the given columns, in a folder; `more` is appended to the shell's command.
fn on_terminal(folder: &TempDir, columns: u32, arguments: &[&str], more: &str) -> Ran {
    let quoted: Vec<_> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let binary = env!("CARGO_BIN_EXE_kazoe");
    let line = format!(
        "stty cols {columns} rows 24; '{binary}' {} {more}",
        quoted.join(" ")
    );
    let ran = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(folder.path())
        .env_remove("KAZOE_DB")
        .env_remove("KAZOE_COORDINATOR")
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null())
        .output();
    let ran = Ran::from(ran.expect("script of util-linux is there"));
    Ran {
        stdout: ran.stdout.replace("\r\n", "\n"),
        ..ran
    }
}

#[track_caller]
fn judged(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let ran = on_terminal(&folder, 120, &[&["judge"], arguments].concat(), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[test]
fn judge_says_first_whether_a_position_can_occur() {
    let said = judged(&["shogi", START]);
    assert!(said.starts_with("reachable"), "{said}");
    assert!(said.contains("A game can lead to it."), "{said}");
    // The rule of the count comes second.
    let image = "lnsgkgsnl/1b5r1/ppppppppp/9/9/9/PPPPPPPPP/1R5B1/LNSGKGSNL b - 1";
    let second = said.lines().nth(2).unwrap();
    assert!(
        second.contains("mirrored") && second.contains(image),
        "{said}"
    );
    for (sfen, words) in [
        (
            "Kpb2/ksb2/gs3/gr3/pr3 b - 1",
            ["unreachable", "no move on any board", "immobile"],
        ),
        (
            "2+s1s/1p2+r/K3+B/g1+r1g/1p1k+B b - 1",
            ["unreachable", "two unpromoted Pawns", "two_pawns"],
        ),
        (
            "K1S2/g3s/3+p+B/RR1+Pg/2+bk1 b - 1",
            ["unreachable", "is attacked", "in_check"],
        ),
    ] {
        let said = judged(&["minishogi", sfen]);
        assert!(
            said.starts_with(&format!("{}  {sfen}\n", words[0])),
            "{said}"
        );
        assert!(said.contains(words[1]) && said.contains(words[2]), "{said}");
    }
}

#[test]
fn a_mirrored_position_is_searched_itself_on_a_terminal() {
    // The published sample 2: its image is unreachable or reachable, and so is it.
    let sfen = "1+SG1+P/2k1S/+R+P3/+bbr2/2KG1 b - 1";
    let piped = kazoe(&["judge", "minishogi", sfen]).silent();
    assert_eq!(piped, format!("{sfen}\tmirrored\t\n"));
    let own = kazoe(&["judge", "minishogi", "--no-mirror", sfen]).silent();
    let outcome = own.split('\t').nth(1).unwrap();
    let said = judged(&["minishogi", sfen]);
    let can = outcome == "reachable";
    assert!(
        said.starts_with(if can { "reachable  " } else { "unreachable  " }),
        "{own} {said}"
    );
    assert!(said.contains("mirrored"), "{said}");
    // A path leads to the position itself.
    let said = judged(&["shogi", "--explain", START]);
    assert!(said.starts_with("reachable  "), "{said}");
    assert!(said.contains("legal moves lead here"), "{said}");
    assert!(said.contains("mirrored"), "{said}");
}

#[test]
fn what_a_program_reads_of_judge_is_as_it_was() {
    let expected = format!("{START}\tmirrored\t\n");
    assert_eq!(kazoe(&["judge", "shogi", START]).silent(), expected);
    assert_eq!(kazoe_fed(&["judge", "shogi"], START).silent(), expected);
    // Into a file from a terminal.
    let folder = tempfile::tempdir().unwrap();
    let ran = on_terminal(&folder, 80, &["judge", "shogi", START], "> out");
    assert_eq!((ran.stdout.as_str(), ran.code), ("", Some(0)));
    let file = std::fs::read_to_string(folder.path().join("out")).unwrap();
    assert_eq!(file, expected);
    // And JSON, wherever it goes.
    let json = judged(&["shogi", "--json", START]);
    assert!(json.contains("\"outcome\":\"mirrored\""), "{json}");
}

#[test]
fn the_boards_size_identifies_the_variant() {
    let mini = "rbsgk/4p/5/P4/KGSBR b - 1";
    for command in ["judge", "predecessors"] {
        for (variant, sfen) in [("shogi", START), ("minishogi", mini)] {
            let with = kazoe(&[command, variant, sfen]).silent();
            assert_eq!(kazoe(&[command, sfen]).silent(), with);
        }
    }
    let both = kazoe_fed(&["judge"], format!("{mini}\n{START}\n")).silent();
    assert_eq!(both, format!("{mini}\treachable\t\n{START}\tmirrored\t\n"));
    let candidate = "Kpb2/ksb2/gs3/gr3/pr3 b - 1";
    assert_eq!(
        kazoe(&["rank", candidate]).silent(),
        format!("0\t{candidate}\n")
    );
    assert_eq!(kazoe(&["judge", mini, START]).silent(), both);
    assert_eq!(
        kazoe(&["judge", "sfen rbsgk/4p/5/P4/KGSBR b - 1"]).silent(),
        format!("{mini}\treachable\t\n")
    );
    kazoe(&["judge", "3k/4/4/K3 b - 1"]).refused(
        1,
        "error: no known game has a board of 4 ranks and 4 files: shogi has 9 and 9, minishogi has 5 and 5",
    );
    // A wrong row is said of the board that is meant.
    kazoe(&["judge", "rbsgk/4p/6/P4/KGSBR b - 1"])
        .refused(1, "error: rank 3 holds 6 squares, expected 5");
}

/// The text on a terminal with the given columns between movements of its cursor, in rows: a text wraps
/// where it is longer.
fn rows(text: &str, columns: usize) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            rest.by_ref().find(char::is_ascii_alphabetic);
            plain.push('\n');
        } else {
            plain.push(c);
        }
    }
    let mut rows = Vec::new();
    for line in plain.split(['\n', '\r']) {
        let line: Vec<char> = line.chars().collect();
        rows.extend(
            line.chunks(columns)
                .map(|row| row.iter().collect::<String>()),
        );
    }
    rows
}

#[test]
fn progress_fits_the_terminal() {
    for columns in [20, 32, 40, 60, 80, 120] {
        let folder = tempfile::tempdir().unwrap();
        let run = ["run", "--samples", "100k", "--segment", "1"];
        let ran = on_terminal(&folder, columns, &run, "> report");
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let columns = columns as usize;
        // Between the lines that say what begins and what was done.
        let (_, progress) = ran.stdout.split_once('\n').unwrap();
        let (progress, _) = progress.split_once("100,000 samples computed").unwrap();
        let shown = rows(progress, columns);
        assert!(
            shown.iter().any(|row| row.contains("100%")),
            "{columns}: {ran:?}"
        );
        for row in &shown {
            // A line that fits leaves the last column free: then none goes on in the next row.
            let last = row.chars().nth(columns - 1);
            assert!(last.is_none_or(|c| c == ' '), "{columns} columns: {row:?}");
        }
        // With room it says how many.
        let says_how_many = shown
            .iter()
            .any(|row| row.contains("100,000 of 100,000 samples"));
        assert!(says_how_many || columns < 80, "{columns}: {shown:?}");
    }
}
