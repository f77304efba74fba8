//! Opening a ledger's file, for its one writer or for a reader.

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqliteOwnedBuf, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, SqliteConnection, SqlitePool};
use tempfile::NamedTempFile;

use super::image::{self, Image};
use super::location::Location;
use super::migrate::{self, APPLICATION_ID, Schema};
use super::open_error::OpenError;
use super::writer_lock::{Displaced, WriterLock};
use super::{displaced, storage_error};
use crate::ledger::{LedgerError, Place, StorageError, StorageFault};

/// Opens for writing and locks; creates what is missing or empty.
pub(super) async fn writer(path: &Path) -> Result<(SqlitePool, WriterLock), OpenError> {
    let location = Location::find(path)?;
    let lock = WriterLock::take(path, &location)?;
    match open_locked(path, &location, &lock).await {
        Ok(pool) => Ok((pool, lock)),
        Err(error) => {
            if matches!(error, OpenError::NotSqlite(_) | OpenError::Foreign(_)) {
                lock.discard();
            }
            Err(error)
        }
    }
}

async fn open_locked(
    path: &Path,
    location: &Location,
    lock: &WriterLock,
) -> Result<SqlitePool, OpenError> {
    let mut head = Vec::new();
    let length = lock
        .file()
        .take(HEAD as u64)
        .read_to_end(&mut head)
        .and_then(|_| Ok(lock.file().metadata()?.len()))
        .map_err(|source| unreachable(path, source))?;
    // SQLite makes a ledger of an empty file.
    if !head.is_empty() {
        check_owner(path, &head)?;
        let log = fs::metadata(location.beside("-wal"));
        // What is missing at the end may stand in the log.
        if !log.is_ok_and(|log| log.len() > 0) {
            check_pages(path, length, &head)?;
        }
    }
    let options = options(&location.real);
    let mut conn = connect(path, &options).await?;
    check_sound(path, &mut conn).await?;
    migrate(path, &mut conn).await?;
    let mode = sqlx::query_scalar::<_, String>(
        "-- open_set_wal
         PRAGMA journal_mode = WAL",
    )
    .fetch_one(&mut conn)
    .await
    .map_err(|error| storage(path, &error))?;
    close(conn).await;
    if mode != "wal" {
        return Err(OpenError::NoWal(path.to_owned()));
    }
    let pool = pool(path, options).await?;
    if let Err(Displaced(detail)) = lock.check() {
        return Err(OpenError::Storage(displaced(path, detail)));
    }
    Ok(pool)
}

/// Opens for reading: a copy, as the database is now, with this build's schema. Returns also the copy's file, if
/// it has one.
///
/// The process must not write to the same file meanwhile: see [`WriterLock`].
pub(super) async fn reader(
    path: &Path,
    in_memory: u64,
) -> Result<(SqlitePool, Option<NamedTempFile>), OpenError> {
    let location = Location::find(path)?;
    if !location.exists {
        return Err(OpenError::Missing(path.to_owned()));
    }
    let image = image::copy(path, &location, in_memory)?;
    let mut head = vec![0; HEAD];
    let read = image.read(&mut head);
    if !read.map_err(|source| unreachable(path, source))? {
        return Err(OpenError::NotSqlite(path.to_owned()));
    }
    check_owner(path, &head)?;
    let length = image.len().map_err(|source| unreachable(path, source))?;
    check_pages(path, length, &head)?;
    match image {
        Image::Memory(bytes) => Ok((in_memory_pool(path, &bytes).await?, None)),
        Image::File(file) => {
            let writable = options(file.path())
                .journal_mode(SqliteJournalMode::Memory)
                .synchronous(SqliteSynchronous::Off);
            let mut conn = connect(path, &writable).await?;
            migrate(path, &mut conn).await?;
            close(conn).await;
            let readable = options(file.path()).immutable(true).read_only(true);
            Ok((pool(path, readable).await?, Some(file)))
        }
    }
}

/// A pool whose connection has a database of its own in memory, which is only read.
async fn in_memory_pool(path: &Path, bytes: &[u8]) -> Result<SqlitePool, OpenError> {
    let failed = |error: sqlx::Error| storage(path, &error);
    let copy = SqliteOwnedBuf::try_from(bytes).map_err(failed)?;
    let pool = pool(path, options(Path::new(":memory:"))).await?;
    let mut conn = pool.acquire().await.map_err(failed)?;
    conn.deserialize(None, copy, false).await.map_err(failed)?;
    migrate(path, &mut conn).await?;
    let query_only = sqlx::query(
        "-- open_read_only
         PRAGMA query_only = ON",
    );
    query_only.execute(&mut *conn).await.map_err(failed)?;
    drop(conn);
    Ok(pool)
}

/// Brings the schema up to this build's.
async fn migrate(path: &Path, conn: &mut SqliteConnection) -> Result<(), OpenError> {
    match migrate::migrate(conn).await {
        Ok(Schema::Known) => Ok(()),
        Ok(Schema::Newer(version)) => Err(OpenError::Newer {
            path: path.to_owned(),
            version,
        }),
        Err(error) => Err(storage(path, &error)),
    }
}

/// How many results were ever logged.
pub(super) async fn revision(conn: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "-- open_read_revision
         SELECT coalesce(max(id), 0) FROM results",
    )
    .fetch_one(conn)
    .await
}

/// Checks that a closed file holds what was written to it: another program may have written over it.
pub(super) async fn read_back(
    path: &Path,
    lock: &WriterLock,
    expected: i64,
) -> Result<(), LedgerError> {
    let wrong = |detail| LedgerError::from(displaced(path, detail));
    lock.check().map_err(|Displaced(detail)| wrong(detail))?;
    let failed = |error: &sqlx::Error| LedgerError::from(storage_error(path, error));
    let mut conn = options(lock.real())
        .connect()
        .await
        .map_err(|error| failed(&error))?;
    let read = async {
        match check_sound(path, &mut conn).await {
            Ok(()) => {}
            Err(OpenError::Storage(error)) => return Err(error.into()),
            Err(other) => return Err(wrong(other.to_string())),
        }
        let found = revision(&mut conn).await.map_err(|error| failed(&error))?;
        if found != expected {
            return Err(wrong(format!("it has revision {found} and not {expected}")));
        }
        Ok(())
    };
    let read = read.await;
    close(conn).await;
    read
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5))
        .disable_statement_logging()
}

async fn connect(
    path: &Path,
    options: &SqliteConnectOptions,
) -> Result<SqliteConnection, OpenError> {
    options
        .connect()
        .await
        .map_err(|error| storage(path, &error))
}

async fn close(conn: SqliteConnection) {
    // Closing tidies up only; what was written is written.
    let _ = conn.close().await;
}

/// One connection, for as long as the ledger is open.
async fn pool(path: &Path, options: SqliteConnectOptions) -> Result<SqlitePool, OpenError> {
    SqlitePoolOptions::new()
        .max_connections(1)
        .min_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(options)
        .await
        .map_err(|error| storage(path, &error))
}

fn storage(path: &Path, error: &sqlx::Error) -> OpenError {
    const NOT_A_DATABASE: u32 = 26;
    if super::code_of(error).is_some_and(|code| code & 0xff == NOT_A_DATABASE) {
        return OpenError::NotSqlite(path.to_owned());
    }
    OpenError::Storage(storage_error(path, error))
}

fn unreachable(path: &Path, source: io::Error) -> OpenError {
    OpenError::Unreachable {
        path: path.to_owned(),
        source,
    }
}

/// Bytes of the head that every SQLite file has (sqlite.org/fileformat.html).
const HEAD: usize = 100;

/// Checks by the head of a file that it is ours.
fn check_owner(path: &Path, head: &[u8]) -> Result<(), OpenError> {
    if head.len() < HEAD || !head.starts_with(b"SQLite format 3\0") {
        return Err(OpenError::NotSqlite(path.to_owned()));
    }
    let application = u32::from_be_bytes([head[68], head[69], head[70], head[71]]);
    if i64::from(application) != APPLICATION_ID {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    Ok(())
}

/// Checks that a database has whole pages. SQLite takes a cut last page for a whole one.
fn check_pages(path: &Path, length: u64, head: &[u8]) -> Result<(), OpenError> {
    let page = match u16::from_be_bytes([head[16], head[17]]) {
        // 65,536 does not fit, and is written as 1.
        1 => 1 << 16,
        page => u64::from(page),
    };
    if page == 0 || length.is_multiple_of(page) {
        return Ok(());
    }
    let detail = format!("its {length} bytes are not whole pages of {page}");
    Err(image::damaged(path, &detail))
}

/// Reads the whole database once: damage is told now and not in the middle of a run.
async fn check_sound(path: &Path, conn: &mut SqliteConnection) -> Result<(), OpenError> {
    let word = sqlx::query_scalar::<_, String>(
        "-- open_check
         PRAGMA quick_check(1)",
    )
    .fetch_one(conn)
    .await
    .map_err(|error| storage(path, &error))?;
    if word == "ok" {
        return Ok(());
    }
    Err(OpenError::Storage(StorageError {
        place: Place::File(path.to_owned()),
        fault: StorageFault::Corrupt,
        detail: word,
    }))
}
