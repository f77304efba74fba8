//! Completions: of every shell, and what bash makes of them.

use std::path::Path;
use std::process::Command;

use crate::support::kazoe;

#[test]
fn every_shell_has_a_script_that_asks_the_program() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = kazoe(&["completions", shell]).silent();
        for word in ["KAZOE_COMPLETE", "kazoe"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let unknown = kazoe(&["completions", "tcsh"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
}

/// What bash offers for the last of these words, in a folder.
fn offered(folder: &Path, words: &[&str]) -> Vec<String> {
    let script = "source <(kazoe completions bash)\n\
                  COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
                  _clap_complete_kazoe kazoe \"${COMP_WORDS[$COMP_CWORD]}\"\n\
                  printf '%s\\n' \"${COMPREPLY[@]}\"";
    let program = Path::new(env!("CARGO_BIN_EXE_kazoe")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let ran = Command::new("bash")
        .args(["-c", script, "bash"])
        .args(words)
        .env("PATH", format!("{}:{path}", program.display()))
        .env_remove("KAZOE_DB")
        .env_remove("KAZOE_COORDINATOR")
        .current_dir(folder)
        .output();
    let ran = ran.expect("bash, as the checks need it too");
    assert_eq!(String::from_utf8(ran.stderr).unwrap(), "");
    let said = String::from_utf8(ran.stdout).unwrap();
    said.lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn commands_flags_and_values_are_offered() {
    let folder = tempfile::tempdir().unwrap();
    let offered = |words: &[&str]| offered(folder.path(), words);
    assert_eq!(offered(&["kazoe", "comp"]), ["compute", "completions"]);
    assert_eq!(offered(&["kazoe", "worker", "--max"]), ["--max-load"]);
    assert_eq!(offered(&["kazoe", "worker", "--log-format", "j"]), ["json"]);
}

#[test]
fn ids_are_those_of_the_database_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    let path = path.to_str().unwrap();
    let run = |seed: &str| {
        let run = [
            "run",
            "--samples",
            "4096",
            "--seed",
            seed,
            "--db",
            path,
            "--json",
        ];
        let report = kazoe(&run);
        let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
        report["campaign"].as_str().unwrap().to_owned()
    };
    let ids = [run("1"), run("2")];
    let offered = |words: &[&str]| offered(folder.path(), words);
    assert_eq!(
        offered(&["kazoe", "report", "--db", "other.db", ""])[..2],
        ids
    );
    let begun = &ids[1][..4];
    assert_eq!(
        offered(&["kazoe", "report", "--db", "other.db", begun]),
        ids[1..]
    );
    let verified = offered(&["kazoe", "verify", "--db", "other.db", begun]);
    assert_eq!(verified, ids[1..]);
    assert_eq!(
        offered(&["kazoe", "verify", "other"]),
        ["other.db", "other.db.lock"]
    );
    // There is no ./kazoe.db, and completion creates none.
    assert!(offered(&["kazoe", "report", begun]).is_empty());
    assert!(!folder.path().join("kazoe.db").exists());
    // A coordinator that is away offers nothing, and says nothing.
    let away = [
        "kazoe",
        "watch",
        "--coordinator",
        "http",
        ":",
        "//127.0.0.1",
        ":",
        "1",
        "",
    ];
    assert!(!offered(&away).contains(&ids[0]));
}
