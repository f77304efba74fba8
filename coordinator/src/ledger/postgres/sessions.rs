//! Sessions of a database: what each is set to, and whether it belongs to one client.
//!
//! The settings are made when the session has begun, and not as options of the connection: a pooler that gives
//! each client a session of its own (`pool_mode = session` of PgBouncer) passes the statements on, and refuses
//! the options.

use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Error, Executor, PgConnection};

use crate::ledger::{Place, StorageError, StorageFault};

/// How long the server may take to answer when a session begins, and when a session that was given up is
/// tested.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// No session holds up the others for long: not by a statement, not by waiting for a lock while holding
/// others, not by going silent within a transaction. And no statement is compiled before it runs, which takes
/// longer than running what Kazoe asks. An address that sets one of them itself
/// (`?options[lock_timeout]=2s`) has its way.
const RUNTIME: [(&str, &str); 4] = [
    ("statement_timeout", "30s"),
    ("lock_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "30s"),
    ("jit", "off"),
];

/// A migration may wait longer for the locks of a coordinator that still runs.
const MIGRATION: [(&str, &str); 1] = [("lock_timeout", "60s")];

/// A commit waits until it is on the disk, whatever the default of the server, the database or the role is
/// or becomes. A value that makes it wait for standbys as well stays.
const DURABLE: &str = "SELECT set_config('synchronous_commit',
     CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
          ELSE current_setting('synchronous_commit') END, false)";

/// The statements that begin a session.
#[derive(Clone, Debug)]
pub(super) struct Settings(String);

impl Settings {
    /// For sessions of coordinators.
    pub(super) fn of_runtime(options: &PgConnectOptions) -> Self {
        Settings::new(options, &RUNTIME)
    }

    /// For a session that changes the schema.
    pub(super) fn of_migration(options: &PgConnectOptions) -> Self {
        Settings::new(options, &MIGRATION)
    }

    fn new(options: &PgConnectOptions, settings: &[(&str, &str)]) -> Self {
        let own = options.get_options().unwrap_or_default();
        let is_free = |(setting, _): &&(&str, &str)| !own.contains(&format!("{setting}="));
        let set: String = settings
            .iter()
            .filter(is_free)
            .map(|(setting, value)| format!("SET {setting} = '{value}';\n"))
            .collect();
        Settings(format!("-- session_begin\n{set}{DURABLE}"))
    }

    /// Makes the settings in a session that has just begun.
    ///
    /// # Errors
    /// What the server says.
    pub(super) async fn make(&self, conn: &mut PgConnection) -> Result<(), Error> {
        conn.execute(AssertSqlSafe(self.0.clone())).await?;
        Ok(())
    }
}

/// Begins a session with these settings, or gives up on a server that does not answer.
///
/// # Errors
/// What the server says.
pub(super) async fn begin(
    options: &PgConnectOptions,
    settings: &Settings,
) -> Result<PgConnection, Error> {
    soon(async {
        let mut conn = options.connect().await?;
        settings.make(&mut conn).await?;
        Ok(conn)
    })
    .await
}

/// Waits for an answer, and gives it up when it does not come.
///
/// # Errors
/// [`silence`], or what the server says.
pub(super) async fn soon<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(silence()),
    }
}

/// Returns the error of a server that does not answer: whether it did what it was asked is not known.
pub(super) fn silence() -> Error {
    Error::Io(io::Error::new(
        io::ErrorKind::TimedOut,
        "the server does not answer",
    ))
}

/// Checks that each of these connections has a session of its own: a pooler that gives a session to several
/// clients by turns loses the settings and the prepared statements of each.
///
/// # Errors
/// [`StorageFault::PoolerMode`], or what the server says.
pub(super) async fn check_own<'c>(
    server: &str,
    conns: impl IntoIterator<Item = &'c mut PgConnection>,
) -> Result<(), StorageError> {
    let mut processes = BTreeSet::new();
    for conn in conns {
        // Outside of a transaction such a pooler takes the session back after each statement. Asked twice: it
        // may have several, and give another the next time.
        let first = process(conn).await;
        let second = process(conn).await;
        let of_error = |error: &Error| super::sqlstate::storage_error(server, error);
        let (first, second) = (
            first.map_err(|error| of_error(&error))?,
            second.map_err(|error| of_error(&error))?,
        );
        if first != second || !processes.insert(first) {
            return Err(StorageError {
                place: Place::Server(server.to_owned()),
                fault: StorageFault::PoolerMode,
                detail: format!("several connections have the session of process {first}"),
            });
        }
    }
    Ok(())
}

/// The server's process that serves a connection now; asked without a prepared statement.
async fn process(conn: &mut PgConnection) -> Result<i32, Error> {
    use sqlx::Row;
    let question = "-- session_process\nSELECT pg_backend_pid()";
    let row = soon(conn.fetch_one(sqlx::raw_sql(question))).await?;
    row.try_get(0)
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use sqlx::postgres::PgConnectOptions;

    use super::Settings;

    #[test]
    fn an_address_may_set_what_it_likes() {
        let url = "postgresql://x@h/d?options[lock_timeout]=2s";
        let options = PgConnectOptions::from_str(url).unwrap();
        let Settings(set) = Settings::of_runtime(&options);
        assert!(!set.contains("lock_timeout"), "{set}");
        assert!(set.contains("SET statement_timeout = '30s'"), "{set}");
        assert!(set.contains("synchronous_commit"), "{set}");
    }
}
