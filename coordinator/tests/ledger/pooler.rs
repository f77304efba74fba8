//! PgBouncer before a database: a pool mode that gives each connection a session of its own serves, the
//! others are refused by name.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use kazoe_coordinator::ledger::{ConnectError, Ledger, PostgresLedger, StorageFault};
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tempfile::TempDir;

use crate::made_up::{assert_sound, deliveries, owner, submission};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::{Database, Server, as_server_user};

const LONG: Duration = Duration::from_secs(3600);

/// A PgBouncer that listens on a socket in a folder of its own; ends when it is dropped.
struct Pooler<'a> {
    folder: TempDir,
    database: &'a Database<'a>,
}

impl<'a> Pooler<'a> {
    /// Starts it in this mode.
    async fn before(database: &'a Database<'a>, mode: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let pooler = Pooler { folder, database };
        let path = |name: &str| pooler.folder.path().join(name);
        let sockets = database.socket().parent().unwrap().display().to_string();
        let (here, name) = (pooler.folder.path().display(), &database.name);
        let settings = format!(
            "[databases]\n{name} = host={sockets} port=5432 dbname={name}\n\
             [pgbouncer]\nunix_socket_dir = {here}\nlisten_addr =\nlisten_port = 5432\n\
             auth_type = trust\nauth_file = {users}\npool_mode = {mode}\ndefault_pool_size = 30\n\
             logfile = {log}\npidfile = {pid}\n",
            users = path("users").display(),
            log = path("log").display(),
            pid = path("pid").display(),
        );
        fs::write(path("ini"), settings).unwrap();
        fs::write(
            path("users"),
            "\"kazoe_runtime\" \"\"\n\"kazoe_owner\" \"\"\n",
        )
        .unwrap();
        let mut start = as_server_user(program(), pooler.folder.path());
        let started = start
            .arg("-d")
            .arg(path("ini"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(
            started.unwrap().success(),
            "PgBouncer; .ci/prepare installs it"
        );
        for _ in 0..600 {
            let options = PgConnectOptions::from_str(&pooler.url("kazoe_runtime")).unwrap();
            if options.extra_float_digits(None).connect().await.is_ok() {
                return pooler;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("PgBouncer: {}", fs::read_to_string(path("log")).unwrap());
    }

    fn url(&self, role: &str) -> String {
        self.database.url_by_way_of(self.folder.path(), role)
    }

    fn pid(&self) -> PathBuf {
        self.folder.path().join("pid")
    }
}

/// Debian keeps it where only root's PATH leads.
fn program() -> PathBuf {
    let debian = PathBuf::from("/usr/sbin/pgbouncer");
    if debian.exists() {
        debian
    } else {
        "pgbouncer".into()
    }
}

impl Drop for Pooler<'_> {
    fn drop(&mut self) {
        if let Ok(pid) = fs::read_to_string(self.pid()) {
            let _ = Command::new("kill").arg(pid.trim()).status();
        }
    }
}

#[tokio::test]
async fn a_pooler_that_keeps_sessions_serves() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let pooler = Pooler::before(&database, "session").await;
    PostgresLedger::migrate(&pooler.url("kazoe_owner"))
        .await
        .unwrap();
    let url = pooler.url("kazoe_runtime");
    let ledger = PostgresLedger::connect_to_serve(&url).await.unwrap();
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let lease = ledger.claim_one(&campaign.id, &owner("a"), 4, LONG).await;
    let lease = lease.unwrap().unwrap();
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    ledger.end_one(lease.key).await.unwrap();
    assert!(ledger.snapshot(&campaign.id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;

    let refused = PostgresLedger::connect(&format!("{url}&options[lock_timeout]=2s")).await;
    assert_fault(refused, StorageFault::PoolerOption);
}

#[tokio::test]
async fn a_pooler_that_shares_sessions_is_refused_by_name() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    for mode in ["transaction", "statement"] {
        let pooler = Pooler::before(&database, mode).await;
        // The second time the prepared statements of the first are there.
        for _ in 0..2 {
            let refused = PostgresLedger::connect(&pooler.url("kazoe_runtime")).await;
            assert_fault(refused, StorageFault::PoolerMode);
        }
        let refused = PostgresLedger::migrate(&pooler.url("kazoe_owner")).await;
        assert_fault(refused, StorageFault::PoolerMode);
    }
}

#[track_caller]
fn assert_fault<T: std::fmt::Debug>(refused: Result<T, ConnectError>, fault: StorageFault) {
    assert!(
        matches!(&refused, Err(ConnectError::Storage(error)) if error.fault == fault),
        "{refused:?}"
    );
}
