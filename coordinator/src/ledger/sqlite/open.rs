//! Opening a ledger's file: whose it is, whether it is sound, and who may write.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection, SqlitePool};

use super::migrate::{self, APPLICATION_ID, Schema};
use super::storage_error;
use crate::ledger::{Place, StorageError, StorageFault};

/// Why a file could not be opened as a ledger. It is as it was.
#[derive(Debug)]
pub enum OpenError {
    /// There is no such file.
    Missing(PathBuf),
    /// It cannot be reached: a permission, a folder, a device.
    Unreachable {
        /// The file, or the lock beside it.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is not an SQLite database.
    NotSqlite(PathBuf),
    /// It is an SQLite database of another program.
    Foreign(PathBuf),
    /// A later build wrote it.
    Newer {
        /// The file.
        path: PathBuf,
        /// The migration that this build does not know.
        version: i64,
    },
    /// Another process writes to it.
    InUse {
        /// The file.
        path: PathBuf,
        /// The other process's number, where it said so.
        holder: Option<u32>,
    },
    /// It lies where SQLite cannot keep its write-ahead log.
    NoWal(PathBuf),
    /// The database failed.
    Storage(StorageError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Missing(path) => write!(
                f,
                "there is no database {}; `kazoe run` makes one, --db names another",
                path.display()
            ),
            // Whoever would write makes a file that is missing, so it is its folder that is.
            OpenError::Unreachable { path, source } if source.kind() == io::ErrorKind::NotFound => {
                write!(
                    f,
                    "cannot make {}: its folder does not exist; make that first, or name another \
                     file with --db",
                    path.display()
                )
            }
            OpenError::Unreachable { path, source } => {
                write!(f, "cannot open {}: {source}", path.display())
            }
            OpenError::NotSqlite(path) => write!(
                f,
                "{} is not a Kazoe database and was left as it is; name another file with --db \
                 (a ledger file is read with `kazoe import`)",
                path.display()
            ),
            OpenError::Foreign(path) => write!(
                f,
                "{} is the database of another program and was left as it is; name another file \
                 with --db",
                path.display()
            ),
            OpenError::Newer { path, version } => write!(
                f,
                "{} was written by a later version of Kazoe (its schema has {version}) and was left \
                 as it is; use that version, or name another file with --db",
                path.display()
            ),
            OpenError::InUse { path, holder } => {
                write!(f, "another kazoe")?;
                if let Some(process) = holder {
                    write!(f, " (process {process})")?;
                }
                write!(
                    f,
                    " is writing to {}; wait until it has ended, or name another file with --db",
                    path.display()
                )
            }
            OpenError::NoWal(path) => write!(
                f,
                "{} lies on a file system that cannot hold a write-ahead log (a network share?); \
                 name a file on a local disk with --db",
                path.display()
            ),
            OpenError::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Unreachable { source, .. } => Some(source),
            OpenError::Storage(error) => Some(error),
            _ => None,
        }
    }
}

/// Opens for writing and locks; creates what is missing or empty.
pub(super) async fn writer(path: &Path) -> Result<(SqlitePool, File), OpenError> {
    // Before SQLite has the file open: closing a second handle later would drop SQLite's own locks.
    let before = look(path)?;
    let (lock, made) = lock(path)?;
    let opened = async {
        check_owner(path, before)?;
        let options = options(path).create_if_missing(true);
        let mut conn = connect(path, &options).await?;
        check_sound(path, &mut conn).await?;
        let schema = migrate::migrate(&mut conn).await;
        if let Schema::Newer(version) = schema.map_err(|error| storage(path, &error))? {
            return Err(OpenError::Newer {
                path: path.to_owned(),
                version,
            });
        }
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
        pool(path, options).await
    };
    match opened.await {
        Ok(pool) => Ok((pool, lock)),
        Err(error) => {
            let not_ours = matches!(error, OpenError::NotSqlite(_) | OpenError::Foreign(_));
            if made && not_ours {
                let _ = fs::remove_file(lock_path(path));
            }
            Err(error)
        }
    }
}

/// Opens for reading.
pub(super) async fn reader(path: &Path) -> Result<SqlitePool, OpenError> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::Missing(path.to_owned()));
        }
        Err(source) => return Err(unreachable(path, source)),
        Ok(meta) if meta.is_dir() => {
            return Err(unreachable(path, io::ErrorKind::IsADirectory.into()));
        }
        Ok(meta) if meta.len() < HEAD => return Err(OpenError::NotSqlite(path.to_owned())),
        Ok(_) => {}
    }
    check_owner(path, look(path)?)?;
    // As one who may write and does not: SQLite lets only such a one remove the log and its index when
    // nobody has the file open any more. Where the file may not be written it takes what it gets.
    let shared = options(path).pragma("query_only", "ON");
    match inspect(path, &shared).await {
        // On a medium that takes no writes SQLite cannot keep the index of its log; where nobody can
        // write it needs none.
        Err(OpenError::Storage(error))
            if error.fault == StorageFault::Unreachable && !has_log(path) =>
        {
            let still = shared.immutable(true);
            inspect(path, &still).await?;
            pool(path, still).await
        }
        Err(error) => Err(error),
        Ok(()) => pool(path, shared).await,
    }
}

/// Checks that a file is a ledger that this build can read.
async fn inspect(path: &Path, options: &SqliteConnectOptions) -> Result<(), OpenError> {
    let mut conn = connect(path, options).await?;
    let id = sqlx::query_scalar::<_, i64>(
        "-- open_read_application
         PRAGMA application_id",
    )
    .fetch_one(&mut conn)
    .await
    .map_err(|error| storage(path, &error))?;
    if id != APPLICATION_ID {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    let schema = migrate::inspect(&mut conn).await;
    if let Schema::Newer(version) = schema.map_err(|error| storage(path, &error))? {
        return Err(OpenError::Newer {
            path: path.to_owned(),
            version,
        });
    }
    close(conn).await;
    Ok(())
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
const HEAD: u64 = 100;

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Nobody,
    Kazoe,
    OtherProgram,
    NotSqlite,
}

/// Reads the head of a file.
fn look(path: &Path) -> Result<Owner, OpenError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Owner::Nobody),
        Err(source) => return Err(unreachable(path, source)),
    };
    let mut head = Vec::new();
    (&file)
        .take(HEAD)
        .read_to_end(&mut head)
        .map_err(|source| unreachable(path, source))?;
    if head.is_empty() {
        return Ok(Owner::Nobody);
    }
    let whole = head.len() as u64 == HEAD;
    if !whole || !head.starts_with(b"SQLite format 3\0") {
        return Ok(Owner::NotSqlite);
    }
    let application = u32::from_be_bytes([head[68], head[69], head[70], head[71]]);
    if i64::from(application) != APPLICATION_ID {
        return Ok(Owner::OtherProgram);
    }
    let length = file
        .metadata()
        .map_err(|source| unreachable(path, source))?;
    check_pages(path, length.len(), u16::from_be_bytes([head[16], head[17]]))?;
    Ok(Owner::Kazoe)
}

/// A file has whole pages, unless what is missing stands in the log beside it. SQLite itself takes a
/// cut last page for a whole one.
fn check_pages(path: &Path, length: u64, page: u16) -> Result<(), OpenError> {
    // 65,536 does not fit, and is written as 1.
    let page = if page == 1 { 1 << 16 } else { u64::from(page) };
    if has_log(path) || page == 0 || length.is_multiple_of(page) {
        return Ok(());
    }
    Err(OpenError::Storage(StorageError {
        place: Place::File(path.to_owned()),
        fault: StorageFault::Corrupt,
        detail: format!("its {length} bytes are not whole pages of {page}"),
    }))
}

/// Whether commits stand in the write-ahead log that are not in the file yet.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(PathBuf::from(log)).is_ok_and(|log| log.len() > 0)
}

fn check_owner(path: &Path, owner: Owner) -> Result<(), OpenError> {
    match owner {
        Owner::Nobody | Owner::Kazoe => Ok(()),
        Owner::OtherProgram => Err(OpenError::Foreign(path.to_owned())),
        Owner::NotSqlite => Err(OpenError::NotSqlite(path.to_owned())),
    }
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

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// Takes the writer's lock, on a file of its own beside the database: SQLite's locks come and go with
/// each transaction, this one stays for the session. Tells also whether the file is new.
fn lock(path: &Path) -> Result<(File, bool), OpenError> {
    let beside = lock_path(path);
    let made = !beside.exists();
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&beside)
        .map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => unreachable(path, source),
            _ => unreachable(&beside, source),
        })?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = file.take(20).read_to_string(&mut holder);
            return Err(OpenError::InUse {
                path: path.to_owned(),
                holder: holder.trim().parse().ok(),
            });
        }
        Err(TryLockError::Error(source)) => return Err(unreachable(&beside, source)),
    }
    // The number serves the message of whoever is refused; on a full disk it does without.
    let _ = file.set_len(0);
    let _ = writeln!(file, "{}", std::process::id());
    Ok((file, made))
}
