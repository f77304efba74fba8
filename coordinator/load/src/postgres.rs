//! A PostgreSQL server for one measurement, in a folder that is removed with it.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use kazoe_coordinator::ledger::PostgresLedger;
use kazoe_coordinator_testkit::postgres_server::{ADMIN, command, give, programs};
use rustix::process::{Pid, Signal, kill_process};
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::cleanup::Cleanup;

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
        if programs().is_none() {
            return Err(
                "PostgreSQL's programs (initdb, postgres) are not on this machine: install them (Debian: \
                 apt-get install postgresql), or name an empty database by --database-url-file"
                    .to_owned(),
            );
        }
        let folder = tempfile::Builder::new()
            .prefix("kazoe-load-")
            .tempdir()
            .map_err(|error| format!("no temporary folder: {error}"))?;
        give(folder.path());
        let data = folder.path().join("data");
        let made = command(&[], "initdb")
            .process_group(0)
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
        let mut postgres = command(&[], "postgres");
        // In a group of its own: this program ends it after Ctrl-C.
        postgres
            .process_group(0)
            .arg("-D")
            .arg(&data)
            .args(["-c", &sockets]);
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
