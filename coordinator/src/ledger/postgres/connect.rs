//! Connecting to a ledger's database: whether it keeps what it promises, and who may do what.

use std::fmt;
use std::future::Future;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use kazoe_common::game::Variant;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, Error, PgConnection, PgPool};

use super::migrate::{self, Migrated, RUNTIME_ROLE, State};
use crate::ledger::{Place, StorageError, StorageFault};

/// Connections of one coordinator. What writes to one campaign goes one after the other anyway; the
/// services share them out (`service::limits`).
pub(crate) const CONNECTIONS: u32 = 16;

/// How long to wait for a connection: a server that restarts is back by then.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a server that says nothing is waited for on connecting, and how long a connection that was
/// given up may take to show that it still lives.
const ANSWER: Duration = Duration::from_secs(10);

/// Nobody holds up the others for long, whatever happens to it: not by a statement, not by waiting for a
/// lock while holding others, not by going silent within a transaction. And no statement is compiled before it
/// runs, which takes longer than running what we ask. An address that sets one of them itself
/// (`?options[lock_timeout]=2s`) has its way.
const SESSION: [(&str, &str); 4] = [
    ("statement_timeout", "30s"),
    ("lock_timeout", "10s"),
    ("idle_in_transaction_session_timeout", "30s"),
    ("jit", "off"),
];

/// PostgreSQL 15: the first that lets not everybody create tables.
const OLDEST: i32 = 150_000;

/// Why a database could not be used as a ledger. It is as it was.
#[derive(Debug)]
pub enum ConnectError {
    /// The text is not an address of a PostgreSQL database. It may hold a password and is not repeated.
    Address(String),
    /// The server is of a version before 15.
    TooOld {
        /// Which database.
        server: String,
        /// Its version as PostgreSQL numbers them, such as 140,011.
        version: i32,
    },
    /// What is committed there may be lost when the machine fails.
    NotDurable {
        /// Which database.
        server: String,
        /// The setting that is off.
        setting: &'static str,
    },
    /// The cluster has no role for coordinators.
    NoRuntimeRole(String),
    /// The database lacks a migration of this build, or all.
    Behind(String),
    /// The database has a migration of a later build.
    Newer {
        /// Which database.
        server: String,
        /// The migration that this build does not know.
        version: i64,
    },
    /// The role could do what no coordinator may.
    Privileged {
        /// Which database.
        server: String,
        /// What it could do.
        could: String,
    },
    /// It holds tallies that `kazoe bench cluster` made up, and is for nothing else.
    MadeUp(String),
    /// It holds campaigns that somebody counts: no made-up tally may come near them.
    Counted(String),
    /// The database failed.
    Storage(StorageError),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Address(why) => write!(
                f,
                "that is not an address of a PostgreSQL database ({why}); it looks like \
                 postgresql://kazoe_runtime:PASSWORD@HOST:5432/kazoe"
            ),
            ConnectError::TooOld { server, version } => write!(
                f,
                "{server} is PostgreSQL {}; Kazoe needs 15 or later",
                version / 10_000
            ),
            ConnectError::NotDurable { server, setting } => write!(
                f,
                "{server} has {setting} = off: tallies that were acknowledged would be lost when the \
                 machine fails; set it to on"
            ),
            ConnectError::NoRuntimeRole(server) => write!(
                f,
                "{server} has no role {RUNTIME_ROLE}; its administrator makes it with \
                 deploy/postgres/create_roles.sql"
            ),
            ConnectError::Behind(server) => write!(
                f,
                "{server} does not have this build's schema yet; apply the migrations as the \
                 database's owner first"
            ),
            ConnectError::Newer { server, version } => write!(
                f,
                "{server} was written by a later version of Kazoe (its schema has {version}) and was \
                 left as it is; use that version"
            ),
            ConnectError::Privileged { server, could } => write!(
                f,
                "the role could {could} in {server}, which no coordinator may; connect as \
                 {RUNTIME_ROLE}, and not as the owner or a superuser"
            ),
            ConnectError::MadeUp(server) => write!(
                f,
                "{server} holds made-up tallies of `kazoe bench cluster`, which count nothing; use \
                 another database"
            ),
            ConnectError::Counted(server) => write!(
                f,
                "{server} holds campaigns that are counted, and made-up tallies must not come near \
                 them; name a database without any campaign"
            ),
            ConnectError::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ConnectError::Storage(error) => Some(error),
            _ => None,
        }
    }
}

/// Applies the migrations over one connection of the owner's.
pub(super) async fn migrate(owner_url: &str) -> Result<(), ConnectError> {
    let options = parse(owner_url)?.options([("lock_timeout", "60s")]);
    let server = name(&options);
    let failed = |error: Error| storage(&server, &error);
    let mut conn = soon(options.connect()).await.map_err(failed)?;
    check_server(&server, &mut conn).await?;
    let migrated = migrate::migrate(&mut conn).await.map_err(failed)?;
    // What was committed is committed; the end of the connection tidies up only.
    let _ = conn.close().await;
    match migrated {
        Migrated::Done => Ok(()),
        Migrated::NoRuntimeRole => Err(ConnectError::NoRuntimeRole(server)),
        Migrated::Newer(version) => Err(ConnectError::Newer { server, version }),
    }
}

/// Connects as the runtime role to a database of counted campaigns, or of made-up ones. Returns also what
/// it is called in messages.
pub(super) async fn runtime(
    runtime_url: &str,
    made_up: bool,
) -> Result<(String, PgPool), ConnectError> {
    let options = with_settings(parse(runtime_url)?);
    let server = name(&options);
    let failed = |error: Error| storage(&server, &error);
    let mut conn = soon(options.connect()).await.map_err(failed)?;
    check_server(&server, &mut conn).await?;
    match migrate::inspect(&mut conn).await.map_err(failed)? {
        State::Known => {}
        State::Behind => return Err(ConnectError::Behind(server)),
        State::Newer(version) => return Err(ConnectError::Newer { server, version }),
    }
    if let Some(could) = excess(&mut conn).await.map_err(failed)? {
        return Err(ConnectError::Privileged { server, could });
    }
    if holds_others(&mut conn, made_up).await.map_err(failed)? {
        return Err(if made_up {
            ConnectError::Counted(server)
        } else {
            ConnectError::MadeUp(server)
        });
    }
    // It has served its purpose whether it ends well or not.
    let _ = conn.close().await;
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(PATIENCE)
        // The pool itself would wait for ever for a silent connection to come to rest, and keep its place.
        .after_release(|conn, _| Box::pin(async move { soon(conn.ping()).await.map(|()| true) }))
        .connect_with(options)
        .await
        .map_err(failed)?;
    Ok((server, pool))
}

/// An answer that is given up when it does not come.
async fn soon<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(silence()),
    }
}

/// A server that does not answer: whether it did what it was asked is not known.
pub(super) fn silence() -> Error {
    Error::Io(io::Error::new(
        io::ErrorKind::TimedOut,
        "the server does not answer",
    ))
}

fn with_settings(options: PgConnectOptions) -> PgConnectOptions {
    let own = options.get_options().unwrap_or_default().to_owned();
    let is_set = |setting: &str| own.contains(&format!("{setting}="));
    options.options(SESSION.into_iter().filter(|(setting, _)| !is_set(setting)))
}

fn parse(url: &str) -> Result<PgConnectOptions, ConnectError> {
    if !url.starts_with("postgresql://") && !url.starts_with("postgres://") {
        return Err(ConnectError::Address("it names another scheme".to_owned()));
    }
    if let Some(setting) = unknown_setting(url) {
        return Err(ConnectError::Address(format!(
            "it has a setting `{setting}` that means nothing"
        )));
    }
    let options = PgConnectOptions::from_str(url)
        // The error itself may repeat a value, of which nobody knows whether it is secret.
        .map_err(|_| {
            ConnectError::Address(
                "a part of it, such as its port or a setting's value, makes no sense".to_owned(),
            )
        })?;
    Ok(options
        .application_name("kazoe")
        .disable_statement_logging())
}

/// What sqlx knows in an address's query. It would log what it does not know, with the value.
const SETTINGS: [&str; 18] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
    "options",
];

/// The name of the first setting in an address that is not known, as far as it can be shown.
fn unknown_setting(url: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let names = query.split('&').filter(|setting| !setting.is_empty());
    names
        .map(|setting| setting.split('=').next().unwrap_or_default())
        .find(|name| !SETTINGS.contains(name) && !is_option(name))
        .map(|name| {
            name.chars()
                .filter(char::is_ascii_graphic)
                .take(40)
                .collect()
        })
}

/// `options[NAME]`, also with its brackets escaped.
fn is_option(name: &str) -> bool {
    let name = name
        .to_ascii_lowercase()
        .replace("%5b", "[")
        .replace("%5d", "]");
    name.starts_with("options[") && name.ends_with(']')
}

fn name(options: &PgConnectOptions) -> String {
    let host = options.get_socket().map_or_else(
        || options.get_host().to_owned(),
        |socket| socket.display().to_string(),
    );
    let database = options
        .get_database()
        .unwrap_or_else(|| options.get_username());
    format!("{host}:{}/{database}", options.get_port())
}

/// Whether the server is new enough, and keeps what it committed.
async fn check_server(server: &str, conn: &mut PgConnection) -> Result<(), ConnectError> {
    let (version, fsync, synchronous_commit) = sqlx::query_as::<_, (i32, String, String)>(
        "-- connect_settings
         SELECT current_setting('server_version_num')::integer, current_setting('fsync'),
                current_setting('synchronous_commit')",
    )
    .fetch_one(conn)
    .await
    .map_err(|error| storage(server, &error))?;
    let server = server.to_owned();
    if version < OLDEST {
        return Err(ConnectError::TooOld { server, version });
    }
    for (setting, value) in [("fsync", fsync), ("synchronous_commit", synchronous_commit)] {
        if value == "off" {
            return Err(ConnectError::NotDurable { server, setting });
        }
    }
    Ok(())
}

/// Whether it holds a campaign of the other kind: made up, or counted.
async fn holds_others(conn: &mut PgConnection, made_up: bool) -> Result<bool, Error> {
    sqlx::query_scalar::<_, bool>(
        "-- connect_holds_others
         SELECT EXISTS (SELECT 1 FROM campaigns WHERE (variant = $1) <> $2)",
    )
    .bind(Variant::MADE_UP.id)
    .bind(made_up)
    .fetch_one(conn)
    .await
}

/// What the role could do that no coordinator may, if anything.
async fn excess(conn: &mut PgConnection) -> Result<Option<String>, Error> {
    sqlx::query_scalar::<_, String>(
        "-- connect_excess
         SELECT may.what
         FROM (VALUES ('change or delete results',
                       has_any_column_privilege('results', 'UPDATE')
                       OR has_table_privilege('results', 'DELETE, TRUNCATE')),
                      ('change or delete the audit log',
                       has_any_column_privilege('audit_log', 'UPDATE')
                       OR has_table_privilege('audit_log', 'DELETE, TRUNCATE')),
                      ('create tables', has_schema_privilege(current_schema(), 'CREATE')))
              AS may (what, so)
         WHERE may.so LIMIT 1",
    )
    .fetch_optional(conn)
    .await
}

fn storage(server: &str, error: &Error) -> ConnectError {
    ConnectError::Storage(storage_error(server, error))
}

/// The error in words, by PostgreSQL's SQLSTATE (its manual, appendix A).
pub(super) fn storage_error(server: &str, error: &Error) -> StorageError {
    let state = error.as_database_error().and_then(|error| error.code());
    let fault = match (state.as_deref(), error) {
        (Some("53100"), _) => StorageFault::Full,
        (Some("XX001" | "XX002"), _) => StorageFault::Corrupt,
        // Failed serialization, deadlock, lock and statement timeouts, too many connections.
        (Some("40001" | "40P01" | "55P03" | "57014" | "53300"), _) => StorageFault::Busy,
        (Some("25006" | "42501"), _) => StorageFault::ReadOnly,
        // Connections, logins, a database that is not there, a server that starts or stops.
        (Some(state), _) if ["08", "28", "3D", "57"].contains(&&state[..2]) => {
            StorageFault::Unreachable
        }
        (None, Error::Io(_) | Error::Tls(_) | Error::PoolTimedOut | Error::Protocol(_)) => {
            StorageFault::Unreachable
        }
        _ => StorageFault::Other,
    };
    StorageError {
        place: Place::Server(server.to_owned()),
        fault,
        detail: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectError, name, parse, with_settings};

    #[test]
    fn an_address_may_set_what_it_likes() {
        let url = "postgresql://x@h/d?options[lock_timeout]=2s";
        let options = with_settings(parse(url).unwrap());
        let set = options.get_options().unwrap();
        assert_eq!(set.matches("lock_timeout=").count(), 1, "{set}");
        assert!(set.contains("lock_timeout=2s"), "{set}");
        assert!(set.contains("statement_timeout=30s"), "{set}");
    }

    #[test]
    fn a_setting_that_means_nothing_is_refused_without_its_value() {
        let known = "postgresql://x@h/d?host=/run&options[lock_timeout]=2s&options%5Bgeqo%5D=on";
        parse(known).unwrap();
        for url in [
            "postgresql://x@h/d?sslpassword=hush",
            "postgresql://x@h/d?host=/run&passwd=hush&port=1",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(
                error.contains("passw") && !error.contains("hush"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_makes_no_sense_is_not_repeated() {
        for url in [
            "postgresql://x:hush@h:hush/d",
            "postgresql://x@h/d?sslmode=hush",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }

    #[test]
    fn a_database_s_name_holds_no_secret() {
        let url = "postgresql://kazoe_runtime:hush@db.example:5433/kazoe";
        assert_eq!(name(&parse(url).unwrap()), "db.example:5433/kazoe");
        let error = parse("sqlite://hush@x").map(|_| ()).unwrap_err();
        assert!(matches!(error, ConnectError::Address(_)), "{error:?}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}
