//! A coordinator and its workers, as processes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use kazoe_coordinator::ledger::Ledger;
use serde_json::Value;
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

use crate::postgres_server::{Database, Server};

/// How often something is looked at that must come true sooner or later; the test's runner names a test
/// that takes too long.
const LOOK: Duration = Duration::from_millis(50);

/// A process that is killed when it is dropped, and its log.
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// As `kill -9` does.
    pub fn kill_9(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its number.
    pub fn id(&self) -> String {
        self.child.id().to_string()
    }

    /// Sends a signal, as `kill` spells it.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.id()]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end; the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Its log.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until its log says so.
    pub fn wait_for(&mut self, words: &str) {
        until(|| {
            let ended = self.has_ended();
            let said = self.log().contains(words);
            assert!(said || !ended, "it ended: {}", self.log());
            said
        });
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the path of a program of this workspace: it is built into the folder above that of the tests.
///
/// # Panics
/// If it is not built.
pub fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let program = folder.join(name);
    assert!(program.exists(), "{} is not built", program.display());
    program
}

/// Waits until something is so.
pub fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        thread::sleep(LOOK);
    }
}

/// A database with an empty ledger, a folder for logs and tokens, and a port for the coordinator.
pub struct TestCluster<'a> {
    /// Its database.
    pub database: Rc<Database<'a>>,
    /// A folder for logs, tokens and files.
    pub folder: TempDir,
    /// The coordinator's address as a URL.
    pub url: String,
    /// The address that the coordinator listens on.
    pub listen: String,
    /// What processes that are started from now on find in their environment.
    pub environment: Vec<(&'static str, OsString)>,
    /// What a shell does before it becomes a process that is started from now on.
    pub words: &'static str,
    flags: Vec<&'static str>,
}

/// A command that a shell becomes after some words of its own.
pub fn after(words: &str, command: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("{words}; exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

impl<'a> TestCluster<'a> {
    /// With tokens of an operator and of the owners `a`, `b` and `c`.
    pub async fn new(server: &'a Server) -> Self {
        let cluster = TestCluster::on(Rc::new(server.fresh().await));
        cluster.mint("operator", "operator");
        for owner in ["a", "b", "c"] {
            cluster.mint(owner, "worker");
        }
        cluster
    }

    /// Another coordinator's on the same database, with the same tokens and flags.
    pub fn beside(other: &Self) -> Self {
        let mut cluster = TestCluster::on(Rc::clone(&other.database));
        for owner in ["operator", "a", "b", "c"] {
            let name = format!("{owner}.token");
            fs::copy(other.path(&name), cluster.path(&name)).unwrap();
        }
        cluster.flags.clone_from(&other.flags);
        cluster
    }

    fn on(database: Rc<Database<'a>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = folder.path().join("runtime.url");
        fs::write(&url, database.url("kazoe_runtime")).unwrap();
        fs::set_permissions(&url, PermissionsExt::from_mode(0o600)).unwrap();
        // The port is free at the moment, and seldom taken by another before the coordinator listens.
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let listen = port.local_addr().unwrap().to_string();
        TestCluster {
            database,
            folder,
            url: format!("http://{listen}"),
            listen,
            environment: Vec::new(),
            words: ":",
            flags: Vec::new(),
        }
    }

    /// With further flags for the coordinator.
    pub fn with(mut self, flags: &[&'static str]) -> Self {
        self.flags.extend_from_slice(flags);
        self
    }

    /// Returns the path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a token past the coordinator, and a file `OWNER.token` with it.
    pub fn mint(&self, owner: &str, role: &str) {
        let file = self.path(&format!("{owner}.token"));
        let _ = fs::remove_file(&file);
        let made = self
            .command(&["token", "create", "--owner", owner, "--role", role])
            .arg("--output")
            .arg(file)
            .arg("--database-url-file")
            .arg(self.path("runtime.url"))
            .env_remove("KAZOE_COORDINATOR")
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
    }

    /// The binary with these arguments and the operator's token.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program("kazoe"));
        command
            .args(arguments)
            .env_remove("KAZOE_DB")
            .env("KAZOE_COORDINATOR", &self.url)
            .env("KAZOE_TOKEN_FILE", self.path("operator.token"))
            .env_remove("KAZOE_CA_FILE")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        for proxy in ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] {
            command.env_remove(proxy);
        }
        command
    }

    /// Runs the binary to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What the binary prints when all goes well.
    #[track_caller]
    pub fn ask(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the binary says when it refuses.
    #[track_caller]
    pub fn refusal(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// What the binary prints as JSON.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let text = self.ask(&[arguments, &["--json"]].concat());
        let documents = serde_json::Deserializer::from_str(&text).into_iter();
        documents.collect::<Result<_, _>>().unwrap()
    }

    /// The binary in the background, with its log in a file of this name.
    pub fn start(&self, name: &str, arguments: &[&str], token: &str) -> Process {
        let log = self.path(name);
        let file = File::options().create(true).append(true).open(&log);
        let child = after(self.words, &self.command(arguments))
            .env("KAZOE_TOKEN_FILE", self.path(token))
            .envs(self.environment.clone())
            .stdout(Stdio::null())
            .stderr(file.unwrap())
            .spawn()
            .unwrap();
        Process { child, log }
    }

    /// A coordinator that listens.
    pub fn coordinator(&self) -> Process {
        let url = self.path("runtime.url");
        let mut arguments = vec!["coordinator", "--listen", &self.listen, "--rhythm", "1s"];
        arguments.extend(["--database-url-file", url.to_str().unwrap()]);
        arguments.extend(&self.flags);
        let log = self.path("coordinator.log");
        let before =
            fs::read_to_string(&log).map_or(0, |log| log.matches("coordinator ready").count());
        let mut process = self.start("coordinator.log", &arguments, "operator.token");
        until(|| {
            let ended = process.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", process.log());
            process.log().matches("coordinator ready").count() > before
        });
        process
    }

    /// A worker of this owner on one thread.
    pub fn worker(&self, owner: &str, flags: &[&str]) -> Process {
        let arguments = [&["worker", "--threads", "1"], flags].concat();
        let logs = fs::read_dir(self.folder.path()).unwrap().count();
        let log = format!("worker-{owner}-{logs}.log");
        self.start(&log, &arguments, &format!("{owner}.token"))
    }

    /// A connection past the ledger.
    pub async fn connection(&self) -> PgConnection {
        PgConnection::connect(&self.database.url("kazoe_runtime"))
            .await
            .unwrap()
    }

    /// Moves the deadlines of all leases into the past: however slow the machine is, they have passed now, and
    /// those of later leases have not.
    pub async fn let_deadlines_pass(&self) {
        let mut owner = self.database.connection("kazoe_owner").await;
        sqlx::query("UPDATE leases SET deadline = claimed_at WHERE ended_at IS NULL")
            .execute(&mut owner)
            .await
            .unwrap();
    }

    /// The numbers of the tallies that are committed: none that was acknowledged may ever be missing (I5).
    pub async fn results(&self) -> BTreeSet<i64> {
        let mut conn = self.connection().await;
        let results = sqlx::query_scalar("SELECT id FROM results").fetch_all(&mut conn);
        results.await.unwrap().into_iter().collect()
    }

    /// The digest that one process gets.
    pub fn digest_of_run(&self, arguments: &[&str]) -> String {
        let report = self
            .command(&["run"])
            .args(arguments)
            .args(["--db", "alone.db", "--json"])
            .output()
            .unwrap();
        assert!(report.status.success(), "{report:?}");
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        report["prefix"]["digest"].as_str().unwrap().to_owned()
    }

    /// The end of every test: the campaign is complete, its rows are lawful (I1, I2, I3, I6), and its
    /// digest is the one that one process gets (I4).
    pub async fn assert_counted(&self, campaign: &str, run: &[&str]) {
        let report = self.json(&["report", campaign]).remove(0);
        assert_eq!(report["prefix"]["digest"], self.digest_of_run(run).as_str());
        let ledger = self.database.ledger().await;
        assert!(ledger.snapshot(campaign).await.unwrap().is_complete());
        self.assert_lawful(campaign).await;
    }

    /// Whatever is there is lawful (I1, I2, I3, I6).
    pub async fn assert_lawful(&self, campaign: &str) {
        let ledger = self.database.ledger().await;
        let breaches = ledger.check_invariants(campaign).await.unwrap();
        assert!(breaches.is_empty(), "{breaches:?}");
    }
}

/// The samples of a campaign that are there.
pub fn accepted(cluster: &TestCluster<'_>) -> u64 {
    let campaigns = cluster.json(&["campaigns"]);
    campaigns[0]["accepted_samples"].as_u64().unwrap()
}

/// Whether a file is there.
pub fn is_there(path: &Path) -> bool {
    path.exists()
}
