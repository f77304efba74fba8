//! A PostgreSQL server for one measurement, in a folder that is removed with it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kazoe_coordinator::ledger::PostgresLedger;
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::cleanup::Cleanup;

/// Who may do everything.
const ADMIN: &str = "admin";

/// The roles of a ledger, as an administrator makes them.
const ROLES: &str = include_str!("../../../deploy/postgres/create_roles.sql");

/// How long a server may take to begin or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// What PostgreSQL is told. Where nothing is said it has its defaults: what is committed is on the disk.
const SETTINGS: [&str; 5] = [
    "listen_addresses=",
    "port=5432",
    "max_connections=100",
    "shared_buffers=256MB",
    "max_wal_size=4GB",
];

/// How often a server that is to end is told so, a tenth of a second apart. One that has just been started may not
/// listen yet.
const FAREWELLS: u32 = 50;

/// A server that runs, and its folder. Dropping it ends it and removes everything.
pub(crate) struct Server {
    child: Child,
    folder: TempDir,
    _cleanup: Cleanup,
}

impl Server {
    /// Makes a cluster of databases and starts a server for it, with an empty ledger.
    ///
    /// # Errors
    /// If PostgreSQL's programs are not there, or do not do it.
    pub(crate) async fn start(settings: &[String]) -> Result<Self, String> {
        let programs = programs().ok_or(
            "PostgreSQL's programs (initdb, postgres) are not on this machine: install them (Debian: \
             apt-get install postgresql), or name an empty database by --database-url-file",
        )?;
        let folder = tempfile::Builder::new()
            .prefix("kazoe-load-")
            .tempdir()
            .map_err(|error| format!("no temporary folder: {error}"))?;
        let account = Account::to_run_as()?;
        account.own(folder.path())?;
        let data = folder.path().join("data");
        let made = account
            .command(&programs.join("initdb"))
            .args(["--no-instructions", "--auth=trust", "--locale=C"])
            .args(["--encoding=UTF8", "--username", ADMIN, "--pgdata"])
            .arg(&data)
            .output()
            .map_err(|error| format!("initdb: {error}"))?;
        if !made.status.success() {
            let said = String::from_utf8_lossy(&made.stderr);
            return Err(format!("initdb failed: {}", said.trim()));
        }
        let log = File::create(folder.path().join("log"))
            .map_err(|error| format!("PostgreSQL's log: {error}"))?;
        let sockets = format!("unix_socket_directories={}", folder.path().display());
        let mut postgres = account.command(&programs.join("postgres"));
        postgres.arg("-D").arg(&data).args(["-c", &sockets]);
        for setting in SETTINGS
            .into_iter()
            .chain(settings.iter().map(String::as_str))
        {
            postgres.args(["-c", setting]);
        }
        let child = postgres
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("postgres: {error}"))?;
        let cleanup = Cleanup::of(folder.path());
        cleanup.ends("QUIT", child.id());
        let mut server = Server {
            child,
            folder,
            _cleanup: cleanup,
        };
        server.prepare().await?;
        Ok(server)
    }

    /// The roles, a database, the schema.
    async fn prepare(&mut self) -> Result<(), String> {
        let mut admin = self.answer().await?;
        let failed = |error: sqlx::Error| format!("preparing the database: {error}");
        sqlx::raw_sql(ROLES)
            .execute(&mut admin)
            .await
            .map_err(failed)?;
        for statement in [
            "CREATE DATABASE kazoe_load OWNER kazoe_owner",
            "COMMENT ON DATABASE kazoe_load IS 'invented tallies of kazoe-load'",
        ] {
            sqlx::query(statement)
                .execute(&mut admin)
                .await
                .map_err(failed)?;
        }
        PostgresLedger::migrate(&self.url("kazoe_owner", "kazoe_load"))
            .await
            .map_err(|error| error.to_string())
    }

    /// Waits until it answers.
    async fn answer(&mut self) -> Result<PgConnection, String> {
        let begun = Instant::now();
        loop {
            let url = self.url(ADMIN, "postgres");
            let error = match PgConnection::connect(&url).await {
                Ok(admin) => return Ok(admin),
                Err(error) => error,
            };
            let ended = self.child.try_wait().is_ok_and(|ended| ended.is_some());
            if ended || begun.elapsed() > PATIENCE {
                let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                let log = log.trim();
                return Err(if ended {
                    format!("PostgreSQL does not start (is a setting of --postgres wrong?): {log}")
                } else {
                    format!("PostgreSQL does not answer ({error}): {log}")
                });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The database's address for a coordinator.
    pub(crate) fn runtime_url(&self) -> String {
        self.url("kazoe_runtime", "kazoe_load")
    }

    fn url(&self, role: &str, database: &str) -> String {
        let sockets = self.folder.path().display();
        format!("postgresql://{role}@localhost:5432/{database}?host={sockets}")
    }

    /// The process that all others of the server belong to.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// At once: what it would still write down is thrown away.
    fn end(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        for _ in 0..FAREWELLS {
            if let Some(pid) = pid {
                let _ = kill_process(pid, Signal::QUIT);
            }
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
        // Backends may take a moment longer than their parent.
        for _ in 0..10 {
            if fs::remove_dir_all(self.folder.path()).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Whom PostgreSQL runs as: it refuses root.
struct Account(Option<(u32, u32)>);

impl Account {
    fn to_run_as() -> Result<Self, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Account(None));
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = ["postgres:", "nobody:"].iter().find_map(|name| {
            let line = users.lines().find(|line| line.starts_with(name))?;
            let mut ids = line.split(':').skip(2).map(str::parse::<u32>);
            Some((ids.next()?.ok()?, ids.next()?.ok()?))
        });
        let ids = found.ok_or(
            "PostgreSQL does not run as root, and there is no user `postgres` or `nobody`: run this \
             as another user",
        )?;
        Ok(Account(Some(ids)))
    }

    fn own(&self, folder: &Path) -> Result<(), String> {
        let Some((user, group)) = self.0 else {
            return Ok(());
        };
        std::os::unix::fs::chown(folder, Some(user), Some(group))
            .map_err(|error| format!("{}: {error}", folder.display()))
    }

    /// A program, in a group of its own: this program ends it after Ctrl-C.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = self.0 {
            command.uid(user).gid(group);
        }
        command.current_dir("/").process_group(0);
        command
    }
}

/// Where PostgreSQL's programs are, the newest: Debian keeps them out of the way, a folder for each version.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let newest = versions
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, folder)| folder.join("initdb").exists())
        .max();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    newest
        .map(|(_, folder)| folder)
        .or_else(|| std::env::split_paths(&paths).find(|folder| folder.join("initdb").exists()))
}
