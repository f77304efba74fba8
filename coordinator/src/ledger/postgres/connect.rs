//! Connecting to a ledger's database: whether it keeps what it promises, and who may do what.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, Error, PgConnection, PgPool};

use super::address::{name, parse};
use super::condition::{Condition, WANTED};
use super::fitness;
use super::migrate::{self, Migrated, RUNTIME_ROLE, State};
use super::sessions::{self, Settings, soon};
use super::sqlstate::storage_error;
use crate::ledger::{StorageError, StorageFault};

/// Connections of one coordinator. What writes to one campaign goes one after the other anyway; the
/// services share them out (`service::limits`).
pub(crate) const CONNECTIONS: u32 = 16;

/// How long to wait for a connection: a server that restarts is back by then.
const PATIENCE: Duration = Duration::from_secs(10);

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
    /// The role may not apply migrations.
    NoOwner {
        /// Which database.
        server: String,
        /// What PostgreSQL says.
        detail: String,
    },
    /// The database lacks a migration of this build, or all.
    Behind(String),
    /// The tables are in a schema that the role's `search_path` does not name.
    Hidden {
        /// Which database.
        server: String,
        /// The schema with the tables.
        schema: String,
    },
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
    /// The database failed.
    Storage(StorageError),
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConnectError::Address(why) => write!(
                f,
                "invalid address of a PostgreSQL database ({why}); it has the form \
                 postgresql://kazoe_runtime:PASSWORD@HOST:5432/kazoe"
            ),
            ConnectError::TooOld { server, version } => write!(
                f,
                "{server} is PostgreSQL {}; Kazoe needs 15 or later",
                version / 10_000
            ),
            ConnectError::NotDurable { server, setting } => write!(
                f,
                "{server} has {setting} = off: a crash of its machine would lose acknowledged \
                 tallies; set it to on"
            ),
            ConnectError::NoRuntimeRole(server) => write!(
                f,
                "{server} has no role {RUNTIME_ROLE}; its administrator creates it with \
                 deploy/postgres/create_roles.sql"
            ),
            ConnectError::NoOwner { server, detail } => write!(
                f,
                "the role may not apply migrations in {server}: connect as kazoe_owner, which must own the \
                 database ({detail})"
            ),
            ConnectError::Behind(server) => write!(
                f,
                "{server} does not have this build's schema yet; apply the migrations as the \
                 database's owner first: `kazoe migrate --database-url-file OWNER_URL_FILE`"
            ),
            ConnectError::Hidden { server, schema } => write!(
                f,
                "the tables in {server} are in the schema {schema:?}, which the role's search_path \
                 does not name: set search_path to it for the role, or in the address \
                 (?options[search_path]=...)"
            ),
            ConnectError::Newer { server, version } => write!(
                f,
                "{server} was written by a later version of Kazoe (its schema has {version}) and \
                 stays unchanged; use that version"
            ),
            ConnectError::Privileged { server, could } => write!(
                f,
                "the role can {could} in {server}, which a coordinator must not; connect as \
                 {RUNTIME_ROLE}, and not as the owner or a superuser"
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
    let options = parse(owner_url)?;
    let server = name(&options);
    let failed = |error: Error| storage(&server, &error);
    let mut conn = first(&server, &options).await?;
    check_server(&server, &mut conn).await?;
    let settings = Settings::of_migration(&options);
    settings.make(&mut conn).await.map_err(failed)?;
    let migrated =
        migrate::migrate(&mut conn)
            .await
            .map_err(|error| match storage(&server, &error) {
                ConnectError::Storage(failure) if failure.fault == StorageFault::Rights => {
                    ConnectError::NoOwner {
                        server: server.clone(),
                        detail: failure.detail,
                    }
                }
                other => other,
            })?;
    // What was committed is committed; the end of the connection tidies up only.
    let _ = conn.close().await;
    match migrated {
        Migrated::Done => Ok(()),
        Migrated::NoRuntimeRole => Err(ConnectError::NoRuntimeRole(server)),
        Migrated::Newer(version) => Err(ConnectError::Newer { server, version }),
    }
}

/// Connects as the runtime role.
pub(super) async fn runtime(runtime_url: &str) -> Result<(PgPool, Arc<Condition>), ConnectError> {
    let options = parse(runtime_url)?;
    let server = name(&options);
    let failed = |error: Error| storage(&server, &error);
    let mut conn = first(&server, &options).await?;
    check_server(&server, &mut conn).await?;
    let settings = Settings::of_runtime(&options);
    settings.make(&mut conn).await.map_err(failed)?;
    match migrate::inspect(&mut conn).await.map_err(failed)? {
        State::Known => {}
        State::Behind => return Err(ConnectError::Behind(server)),
        State::Hidden(schema) => return Err(ConnectError::Hidden { server, schema }),
        State::Newer(version) => return Err(ConnectError::Newer { server, version }),
    }
    if let Some(could) = excess(&mut conn).await.map_err(failed)? {
        return Err(ConnectError::Privileged { server, could });
    }
    // It has served its purpose whether it ends well or not.
    let _ = conn.close().await;
    let condition = Arc::new(Condition::new(server, options.clone(), settings.clone()));
    Ok((pool(options, settings, &condition), condition))
}

/// The first connection, on a server that gives each connection a session of its own.
async fn first(server: &str, options: &PgConnectOptions) -> Result<PgConnection, ConnectError> {
    let mut conn = soon(options.connect())
        .await
        .map_err(|error| storage(server, &error))?;
    // Where there is none for a second, how many there are is looked at elsewhere.
    if let Ok(mut second) = soon(options.connect()).await {
        sessions::check_own(server, [&mut conn, &mut second])
            .await
            .map_err(ConnectError::Storage)?;
        let _ = second.close().await;
    }
    Ok(conn)
}

/// The connections of one ledger; they are made when they are needed, and kept.
fn pool(options: PgConnectOptions, settings: Settings, condition: &Arc<Condition>) -> PgPool {
    let settings = Arc::new(settings);
    let condition = Arc::clone(condition);
    PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(PATIENCE)
        // Another program may take the place of one that is given back.
        .idle_timeout(None)
        .after_connect(move |conn, _| {
            let settings = Arc::clone(&settings);
            Box::pin(async move { soon(settings.make(conn)).await })
        })
        .before_acquire(move |_, session| {
            let good = condition.trusts(session.age);
            Box::pin(async move { Ok(good) })
        })
        // The pool itself would wait for ever for a silent connection to come to rest, and keep its place.
        .after_release(|conn, _| Box::pin(async move { soon(conn.ping()).await.map(|()| true) }))
        .connect_lazy_with(options)
}

/// The error of the first connection, where many are needed.
pub(super) fn for_all_connections(error: ConnectError) -> ConnectError {
    match error {
        ConnectError::Storage(mut error) => {
            if let StorageFault::Connections { wanted, .. } = &mut error.fault {
                *wanted = WANTED;
            }
            ConnectError::Storage(error)
        }
        error => error,
    }
}

/// Opens all connections of a coordinator at once, so that it does not start with fewer than it needs.
pub(super) async fn fill(pool: &PgPool, condition: &Condition) -> Result<(), ConnectError> {
    let mut all = Vec::new();
    let asked = (0..CONNECTIONS).map(|_| {
        let pool = pool.clone();
        tokio::spawn(async move { pool.acquire().await })
    });
    // All are asked for before the first is waited for.
    let asked: Vec<_> = asked.collect();
    let mut failure = None;
    for one in asked {
        match one.await {
            Ok(Ok(conn)) => all.push(conn),
            Ok(Err(error)) => failure = Some(error),
            Err(_) => failure = Some(Error::WorkerCrashed),
        }
    }
    // And the one that looks at the database; its error says why, where the pool's says that it waited.
    let look = condition.connect().await;
    let had = u32::try_from(all.len() + usize::from(look.is_ok())).unwrap_or(u32::MAX);
    let failure = match look {
        Ok(look) => {
            // The coordinator opens it again when it looks.
            let _ = look.close().await;
            failure
        }
        Err(error) => Some(error),
    };
    if let Some(failure) = failure {
        return Err(ConnectError::Storage(condition.shortage(&failure, had)));
    }
    sessions::check_own(condition.server(), all.iter_mut().map(|conn| &mut **conn))
        .await
        .map_err(ConnectError::Storage)
}

/// Checks that the server is new enough, takes writes, and keeps what it committed.
async fn check_server(server: &str, conn: &mut PgConnection) -> Result<(), ConnectError> {
    let failed = |error: Error| storage(server, &error);
    let (version, asked_off) = sqlx::query_as::<_, (i32, bool)>(
        "-- connect_settings
         SELECT current_setting('server_version_num')::integer,
                EXISTS (SELECT 1 FROM pg_settings
                        WHERE name = 'synchronous_commit' AND setting = 'off' AND source = 'client')",
    )
    .fetch_one(&mut *conn)
    .await
    .map_err(failed)?;
    if version < OLDEST {
        return Err(ConnectError::TooOld {
            server: server.to_owned(),
            version,
        });
    }
    // The session overrules a default of the server's, and not what the address asks for.
    if asked_off {
        return Err(ConnectError::NotDurable {
            server: server.to_owned(),
            setting: "synchronous_commit",
        });
    }
    fitness::check(server, conn)
        .await
        .map_err(|error| match error.fault {
            StorageFault::NotDurable { setting } => ConnectError::NotDurable {
                server: server.to_owned(),
                setting,
            },
            _ => ConnectError::Storage(error),
        })
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
