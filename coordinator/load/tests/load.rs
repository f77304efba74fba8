//! `kazoe-load`: its processes work, its ledger passes the audit, and nothing of it is left. No test asserts how
//! fast it was. They measure the program `kazoe` of the same target folder, which a build of the workspace makes.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use kazoe_coordinator_testkit::postgres_server::Server;
use kazoe_coordinator_testkit::test_cluster::{TestCluster, until};

/// A folder for temporary files, which PostgreSQL's account may pass through.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn load(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kazoe-load"));
    command
        .args(arguments)
        .env("TMPDIR", folder.path())
        // What is configured for another coordinator is none of its business.
        .env("KAZOE_COORDINATOR", "http://127.0.0.1:1")
        .stdin(Stdio::null());
    command
}

/// Returns the files in the folder, and the command lines of processes that name it.
fn left(folder: &TempDir) -> Vec<String> {
    let name = folder.path().display().to_string();
    let files = fs::read_dir(folder.path()).unwrap().flatten();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    files
        .map(|file| file.path().display().to_string())
        .chain(processes.filter_map(|one| fs::read_to_string(one.path().join("cmdline")).ok()))
        .filter(|found| found.contains(&name))
        .collect()
}

/// Nothing is left: no file, and no process that has one open there.
fn assert_nothing_left(folder: &TempDir) {
    let left = left(folder);
    assert!(left.is_empty(), "{left:?}");
}

fn signal(process: u32, signal: &str) {
    let mut kill = Command::new("kill");
    let sent = kill.args([signal, &process.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[track_caller]
fn document(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_small_crowd_is_held_audited_and_gone() {
    let folder = folder();
    let small = [
        "--workers",
        "5,20",
        "--rate",
        "40",
        "--seconds",
        "2",
        "--segments",
        "60",
    ];
    let ran = load(&folder, &[&small[..], &["--json"]].concat()).output();
    let found = document(&ran.unwrap());
    assert_eq!(found["version"], 1);
    let levels = found["levels"].as_array().unwrap();
    assert_eq!(levels.len(), 2);
    for (level, workers) in levels.iter().zip([5, 20]) {
        for field in ["workers", "joined", "heard"] {
            assert_eq!(level[field], workers, "{field}: {level}");
        }
        assert!(level["joining"]["join"]["calls"].as_u64().unwrap() > 0);
        assert!(level["load"]["calls"]["deliver"]["calls"].as_u64().unwrap() > 0);
        assert_eq!(level["load"]["failed"], serde_json::json!({}));
        for who in ["coordinator", "postgres", "simulated_workers"] {
            assert!(level[who]["memory"].as_u64().unwrap() > 1_000_000, "{who}");
        }
    }
    let recovery = &found["recovery"];
    let listening = recovery["listening"].as_f64().unwrap();
    for later in ["results_flow", "every_worker_heard"] {
        assert!(recovery[later].as_f64().unwrap() >= listening, "{recovery}");
    }
    let looks = found["looks"].as_array().unwrap();
    assert_eq!(looks.len(), 3);
    for look in looks {
        assert!(look["segments"].as_u64().unwrap() >= 60);
        assert_eq!(
            (&look["watch"]["calls"], &look["report"]["calls"]),
            (&10.into(), &10.into())
        );
    }
    let audit = &found["audit"];
    let count = |field: &str| audit[field].as_u64().unwrap();
    assert!(count("acknowledged") >= count("accepted"), "{audit}");
    assert!(
        count("accepted") >= count("prefix") && count("accepted") >= 60,
        "{audit}"
    );
    assert_nothing_left(&folder);
}

/// Starts a measurement that takes long and waits until it measures; returns the rest of its lines.
fn measuring(folder: &TempDir) -> (Child, Lines<BufReader<ChildStderr>>) {
    let long = ["--workers", "5", "--rate", "10", "--seconds", "600"];
    let mut running = load(folder, &long)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    let measuring = lines.any(|line| line.unwrap().contains("measuring"));
    assert!(measuring, "it ended");
    (running, lines)
}

#[test]
fn an_interrupt_ends_what_it_started() {
    let folder = folder();
    let (mut running, lines) = measuring(&folder);
    signal(running.id(), "-INT");
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(running.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.last().unwrap().starts_with("Interrupted"), "{rest:?}");
    assert_nothing_left(&folder);
}

/// As a script's background has it: without SIGQUIT, also for PostgreSQL until it has come so far.
fn without_quit(folder: &TempDir, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#"trap "" QUIT; exec "$@""#, "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .env("TMPDIR", folder.path())
        .stdin(Stdio::null());
    shell
}

#[test]
fn an_early_interrupt_ends_what_it_started() {
    let folder = folder();
    let has_a_server = || {
        let folders = fs::read_dir(folder.path()).unwrap().flatten();
        folders
            .into_iter()
            .any(|one| one.path().join("log").exists())
    };
    for millis in [0, 50, 200] {
        let mut running = without_quit(&folder, &load(&folder, &["--workers", "5"]))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until(has_a_server);
        std::thread::sleep(Duration::from_millis(millis));
        signal(running.id(), "-INT");
        assert_eq!(running.wait().unwrap().code(), Some(130));
        assert_nothing_left(&folder);
    }
}

/// After a kill the cleanup processes remove everything a moment later.
#[test]
fn what_is_killed_is_cleaned_up() {
    let folder = folder();
    let (mut running, _lines) = measuring(&folder);
    signal(running.id(), "-KILL");
    running.wait().unwrap();
    until(|| left(&folder).is_empty());
}

/// It invents tallies on an empty database alone.
#[tokio::test]
async fn a_database_with_a_campaign_is_refused() {
    let server = Server::shared().await;
    let cluster = TestCluster::new(&server).await;
    let coordinator = cluster.coordinator();
    cluster.ask(&["submit", "minishogi", "--samples", "4096"]);
    drop(coordinator);
    let url = cluster.path("runtime.url");
    let on_it = ["--database-url-file", url.to_str().unwrap()];
    let small = [
        "--workers",
        "2",
        "--rate",
        "10",
        "--seconds",
        "1",
        "--segments",
        "1",
    ];
    let folder = folder();
    let refused = load(&folder, &on_it).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("has a campaign already"), "{said}");

    let empty = TestCluster::new(&server).await;
    let url = empty.path("runtime.url");
    let on_it = ["--database-url-file", url.to_str().unwrap()];
    let found = document(
        &load(&folder, &[&small[..], &on_it, &["--json"]].concat())
            .output()
            .unwrap(),
    );
    assert_eq!(
        found["levels"][0]["postgres"],
        Value::Null,
        "its server is another's"
    );
    assert_nothing_left(&folder);
    let again = load(&folder, &on_it).output().unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(said.contains("has a campaign already"), "{said}");
}
