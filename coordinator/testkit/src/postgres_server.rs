//! A PostgreSQL server for the tests: one for all tests of a run, a fresh database for each test.
//!
//! `cargo nextest` runs each test in a process of its own. The first that needs the server starts it,
//! under a lock, and the others find it by the number of the run. A watcher ends the server and removes
//! its files as soon as the process is gone that the run belongs to, however it ended. PostgreSQL keeps
//! its real settings for what it promises (`fsync` and all); it listens on a socket in its own folder.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kazoe_coordinator::ledger::PostgresLedger;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// Who may do everything, what no role of ours may as well.
pub const ADMIN: &str = "admin";

/// What a socket of PostgreSQL's is called.
pub const SOCKET: &str = ".s.PGSQL.5432";

/// A server, running or about to.
#[derive(Debug)]
pub struct Server {
    /// The folder of the server's data, log and socket.
    pub folder: PathBuf,
}

/// A database of a server.
#[derive(Debug)]
pub struct Database<'a> {
    server: &'a Server,
    /// Its name.
    pub name: String,
}

impl Server {
    /// The server of this run.
    pub async fn shared() -> Self {
        let (run, keeper) = match std::env::var("NEXTEST_RUN_ID") {
            Ok(run) => (run, std::os::unix::process::parent_id()),
            Err(_) => (std::process::id().to_string(), std::process::id()),
        };
        let short: String = run.chars().take(13).collect();
        let server = Server {
            folder: std::env::temp_dir().join(format!("kazoe-pg-{short}")),
        };
        let lock = File::create(server.folder.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        let ready = server.folder.join("ready");
        if !ready.exists() {
            server.create(keeper).await;
            File::create(ready).unwrap();
        }
        server
    }

    /// A server of this process alone, to be treated badly.
    pub async fn private() -> Self {
        let process = std::process::id();
        let server = Server {
            folder: std::env::temp_dir().join(format!("kazoe-pg-own-{process}")),
        };
        server.create(process).await;
        server
    }

    async fn create(&self, keeper: u32) {
        fs::create_dir(&self.folder).unwrap();
        give(&self.folder);
        self.watch(keeper);
        let made = command(&[], "initdb")
            .args(["--no-sync", "--no-instructions", "--wal-segsize=1"])
            .args(["--auth=trust", "--locale=C", "--encoding=UTF8"])
            .args(["--username", ADMIN, "--pgdata"])
            .arg(self.data())
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "initdb: {}",
            String::from_utf8_lossy(&made.stderr)
        );
        self.start(&[]).await;
        let mut admin = self.admin("postgres").await;
        let roles = include_str!("../../../deploy/postgres/create_roles.sql");
        sqlx::raw_sql(roles).execute(&mut admin).await.unwrap();
        let template = self.database("template_ledger", "template1").await;
        PostgresLedger::migrate(&template.url("kazoe_owner"))
            .await
            .unwrap();
    }

    /// Starts PostgreSQL, with further settings, and waits until it answers.
    pub async fn start(&self, settings: &[&str]) {
        let folder = self.folder.display();
        let sockets = format!("unix_socket_directories={folder}");
        let all = [
            "listen_addresses=",
            "port=5432",
            &sockets,
            "wal_level=minimal",
            "max_wal_senders=0",
            "max_connections=200",
            "shared_buffers=16MB",
            "autovacuum=off",
            "deadlock_timeout=200ms",
            // After a crash: the whole file system in one call, not file by file.
            "recovery_init_sync_method=syncfs",
        ];
        let mut postgres = command(&DETACHED, "postgres");
        postgres.arg("-D").arg(self.data());
        for setting in all.iter().chain(settings) {
            postgres.args(["-c", setting]);
        }
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("log"))
            .unwrap();
        let begun = postgres
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .status();
        assert!(begun.unwrap().success());
        for _ in 0..600 {
            let url = self.url(ADMIN, "postgres");
            if PgConnection::connect(&url).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("PostgreSQL does not answer:\n{}", self.log());
    }

    /// Kills the server and all of its processes as a power cut would, but for the disk.
    pub fn kill_9(&self) {
        self.signal("-9");
        // A dead process keeps its number until its parent asks after it; the next server would take
        // it for a living one.
        for left in ["data/postmaster.pid", ".s.PGSQL.5432.lock"] {
            let removed = fs::remove_file(self.folder.join(left));
            assert!(removed.is_ok() || !self.folder.join(left).exists());
        }
    }

    /// Kills the server and starts it with further settings.
    pub async fn restart(&self, settings: &[&str]) {
        self.kill_9();
        self.start(settings).await;
    }

    /// Starts the server again as a hot standby that waits for a primary. It must have run with
    /// `wal_level=replica` before.
    pub async fn restart_as_standby(&self) {
        self.kill_9();
        fs::write(self.data().join("standby.signal"), "").unwrap();
        self.start(&["wal_level=replica"]).await;
    }

    /// Changes a setting of the running server, or takes the change back.
    pub async fn set(&self, setting: &str, value: Option<&str>) {
        let change = value.map_or_else(
            || format!("RESET {setting}"),
            |value| format!("SET {setting} = {value}"),
        );
        // ALTER SYSTEM runs outside of transactions, and a read-only default does not stop it.
        let mut admin = self.admin("postgres").await;
        for statement in [
            format!("ALTER SYSTEM {change}"),
            "SELECT pg_reload_conf()".to_owned(),
        ] {
            sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(&mut admin)
                .await
                .unwrap();
        }
    }

    /// Sends a signal to the server and all of its processes, if it has not ended by itself.
    pub fn signal(&self, signal: &str) {
        let Ok(pids) = fs::read_to_string(self.data().join("postmaster.pid")) else {
            return;
        };
        let postmaster = pids.lines().next().unwrap();
        let children = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = fs::read_to_string(children).unwrap_or_default();
        let sent = Command::new("kill")
            .arg(signal)
            .arg(postmaster)
            .args(children.split_whitespace())
            .stderr(Stdio::null())
            .status();
        sent.unwrap();
    }

    /// A new database that belongs to the owner role.
    async fn database(&self, name: &str, template: &str) -> Database<'_> {
        let mut admin = self.admin("postgres").await;
        let create = format!("CREATE DATABASE {name} TEMPLATE {template} OWNER kazoe_owner");
        sqlx::query(AssertSqlSafe(create))
            .execute(&mut admin)
            .await
            .unwrap();
        Database {
            server: self,
            name: name.to_owned(),
        }
    }

    fn fresh_name() -> String {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        format!("test_{}_{number}", std::process::id())
    }

    /// An empty database.
    pub async fn empty_database(&self) -> Database<'_> {
        self.database(&Self::fresh_name(), "template1").await
    }

    /// A database with an empty ledger.
    pub async fn fresh(&self) -> Database<'_> {
        self.database(&Self::fresh_name(), "template_ledger").await
    }

    /// A copy of a database that nobody is connected to.
    pub async fn copy_of(&self, original: &Database<'_>) -> Database<'_> {
        self.database(&Self::fresh_name(), &original.name).await
    }

    /// What the server wrote into its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }

    /// Where PostgreSQL keeps everything.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn url(&self, role: &str, database: &str) -> String {
        url(&self.folder, role, database)
    }

    /// A connection that may do everything.
    pub async fn admin(&self, database: &str) -> PgConnection {
        PgConnection::connect(&self.url(ADMIN, database))
            .await
            .unwrap()
    }

    /// Ends the server and removes its folder when the process `keeper` is gone.
    fn watch(&self, keeper: u32) {
        const SCRIPT: &str = r#"
            while kill -0 "$1" 2>/dev/null; do sleep 0.2; done
            postmaster=$(head -n 1 "$2/data/postmaster.pid" 2>/dev/null)
            # At once: what it would still write down is thrown away.
            [ -n "$postmaster" ] && kill -QUIT "$postmaster" 2>/dev/null
            # As long as one of its processes writes, the folder may not be empty.
            for _ in $(seq 100); do rm -rf "$2" "$2.lock" 2>/dev/null && break; sleep 0.2; done
        "#;
        let begun = Command::new(DETACHED[0])
            .arg(DETACHED[1])
            .args(["sh", "-c", SCRIPT, "watcher", &keeper.to_string()])
            .arg(&self.folder)
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(begun.unwrap().success());
    }
}

fn url(sockets: &Path, role: &str, database: &str) -> String {
    let sockets = sockets.display();
    format!("postgresql://{role}@localhost:5432/{database}?host={sockets}")
}

/// A program of this path as the user that PostgreSQL runs as; a folder of ours becomes that user's.
pub fn as_server_user(program: PathBuf, folder: &Path) -> Command {
    give(folder);
    command_of(&[], program)
}

/// Makes a folder that of the user that PostgreSQL runs as.
pub fn give(folder: &Path) {
    if let Some((uid, gid)) = other_user() {
        std::os::unix::fs::chown(folder, Some(uid), Some(gid)).unwrap();
    }
}

/// In a session of its own, without waiting for its end.
const DETACHED: [&str; 2] = ["setsid", "--fork"];

/// One of PostgreSQL's programs behind these words, as another user than root.
pub fn command(launcher: &[&str], program: &str) -> Command {
    let programs = programs().expect("PostgreSQL's initdb; .ci/prepare installs it");
    command_of(launcher, programs.join(program))
}

fn command_of(launcher: &[&str], program: PathBuf) -> Command {
    let mut words: Vec<String> = launcher.iter().map(|&word| word.to_owned()).collect();
    if let Some((uid, gid)) = other_user() {
        words.extend(["setpriv", "--clear-groups"].map(str::to_owned));
        words.extend([format!("--reuid={uid}"), format!("--regid={gid}")]);
    }
    words.push(program.into_os_string().into_string().unwrap());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir("/");
    command
}

impl Database<'_> {
    /// Its address for a role.
    pub fn url(&self, role: &str) -> String {
        self.server.url(role, &self.name)
    }

    /// Its address for a role, by way of another folder with a socket.
    pub fn url_by_way_of(&self, sockets: &Path, role: &str) -> String {
        url(sockets, role, &self.name)
    }

    /// The socket that its server listens on.
    pub fn socket(&self) -> PathBuf {
        self.server.folder.join(SOCKET)
    }

    /// A coordinator's ledger.
    pub async fn ledger(&self) -> PostgresLedger {
        PostgresLedger::connect(&self.url("kazoe_runtime"))
            .await
            .unwrap()
    }

    /// A connection past the ledger.
    pub async fn connection(&self, role: &str) -> PgConnection {
        PgConnection::connect(&self.url(role)).await.unwrap()
    }

    /// A connection that may do everything, what no role of ours may as well.
    pub async fn admin(&self) -> PgConnection {
        self.server.admin(&self.name).await
    }
}

/// Whom PostgreSQL runs as where we are root, whom it refuses.
fn other_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let ids = ["postgres:", "nobody:"].iter().find_map(|name| {
        let line = users.lines().find(|line| line.starts_with(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse::<u32>);
        Some((fields.next()?.ok()?, fields.next()?.ok()?))
    });
    Some(ids.expect("a user `postgres` or `nobody`"))
}

/// Returns the folder of PostgreSQL's programs, the newest: Debian keeps them out of the way, one folder for each
/// version.
pub fn programs() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, path)| path.join("initdb").exists())
        .collect();
    found.sort();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    found
        .pop()
        .map(|(_, path)| path)
        .or_else(|| std::env::split_paths(&paths).find(|path| has_initdb(path)))
}

fn has_initdb(folder: &Path) -> bool {
    folder.join("initdb").exists()
}
