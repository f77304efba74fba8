//! What the repository publishes: README's example, the ledgers of docs/results, and the bytes of both.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use kazoe_coordinator::ledger_file::LedgerFile;

use crate::runs::Place;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap()
}

/// The lines of a text that begin with one of these words, without blanks around them.
fn lines<'a>(text: &'a str, words: &[&str]) -> Vec<&'a str> {
    let begins = |line: &&str| words.contains(&line.split_whitespace().next().unwrap_or_default());
    text.lines().map(str::trim).filter(begins).collect()
}

/// README's first command ends with README's digest and fingerprint.
#[test]
fn readme_s_digest_and_fingerprint_are_those_of_its_command() {
    let readme = text("README.md");
    let promised = lines(&readme, &["digest", "fingerprint"]);
    assert_eq!(promised.len(), 2, "{promised:?}");
    let ran = Place::new().kazoe(&["run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(lines(&ran.stdout, &["digest", "fingerprint"]), promised);
}

/// Each published ledger adds up to the digest and the fingerprint that stand in its report and on the page of
/// results.
#[test]
fn published_ledgers_have_the_published_fingerprints() {
    let page = text("docs/results/README.md");
    for name in ["minishogi-1e9", "shogi-5e9"] {
        let path = repository().join(format!("docs/results/{name}.ledger.tsv"));
        let file = BufReader::new(fs::File::open(path).unwrap());
        let mut file = LedgerFile::open(file).unwrap();
        assert!(file.by_ref().all(|entry| entry.is_ok()), "{name}");
        let digest = file.sums().digest();
        let fingerprint = file.sums().fingerprint(&file.header().campaign);
        let report = text(&format!("docs/results/{name}.md"));
        for said in [
            format!("\n- digest: `{digest}`\n"),
            format!("\n- fingerprint: `{fingerprint}`\n"),
        ] {
            assert!(report.contains(&said), "{name}: {said}");
        }
        for said in [format!("`{digest}`"), format!("`{fingerprint}`")] {
            assert!(page.contains(&said), "{name}: {said}");
        }
    }
}

/// A clone on a system whose line ends are carriage return and line feed has the same bytes.
#[test]
fn ledgers_and_test_data_keep_their_bytes_in_every_clone() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let ran = Command::new("git")
            .args(["-c", "core.autocrlf=true", "-c", "core.eol=crlf"])
            .args(["-c", "user.name=test", "-c", "user.email=test@localhost"])
            .args(arguments)
            .current_dir(folder.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("GIT_DIR")
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .output()
            .expect("git starts");
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let exact = [
        "docs/results/minishogi-1e9.ledger.tsv",
        "elsewhere/part.ledger.tsv",
        "common/tests/data/block-digests.tsv",
        "cli/tests/cli/golden/report.csv",
        "migrations/sqlite/20261130000000_create_ledger.sql",
        "docs/recheck.py",
        ".ci/test",
        ".ci/scenario/newcomer",
        "deploy/slurm/import-parts",
    ];
    let converted = "notes.txt";
    for name in exact.iter().chain([&converted]) {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "one\ttwo\nthree\n").unwrap();
    }
    let attributes = folder.path().join(".gitattributes");
    fs::copy(repository().join(".gitattributes"), attributes).unwrap();
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "Add files"]);
    for name in exact.iter().chain([&converted]) {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    git(&["checkout", "--quiet", "--", "."]);
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(
        read(converted),
        "one\ttwo\r\nthree\r\n",
        "Git converts here"
    );
    for name in exact {
        assert_eq!(read(name), "one\ttwo\nthree\n", "{name}");
    }
    // A changed ledger is one line in a diff.
    let ledger = "elsewhere/part.ledger.tsv";
    fs::write(folder.path().join(ledger), "other\n").unwrap();
    let difference = git(&["diff", "--", ledger]);
    assert!(difference.contains("Binary files "), "{difference}");
}
