//! The ledger of one process that counts on one machine: an SQLite file with one writer and any number of
//! readers. It has no leases: the process that counts asks for the [missing](LocalStore::missing) segments.
//!
//! WAL and `synchronous=FULL`: a commit that returned is on the disk. All writing goes through one
//! connection, each operation in one `BEGIN IMMEDIATE` transaction.

mod campaign_rows;
mod image;
mod import;
mod location;
mod migrate;
mod open;
mod open_error;
mod prefix;
mod read;
mod results;
mod submit;
#[cfg(test)]
mod tests;
mod wal;
mod writer_lock;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use kazoe_common::census::{Segment, Witness};
use sqlx::{Sqlite, SqliteConnection, SqlitePool, Transaction};
use tempfile::NamedTempFile;

use super::rows::Failure;
use crate::leasing::Millis;
use crate::ledger::{
    AcceptedSegment, BuildShare, CampaignRecord, Ledger, LedgerError, Listed, LogEntry, OwnerShare,
    Place, SelfTest, Snapshot, StorageError, StorageFault, Submission, Submitted, Who,
};
use kazoe_common::census::SegmentResult;
use kazoe_proto::outcome::DeliveryOutcome;

use writer_lock::{Displaced, WriterLock};

pub use import::WholeImport;
pub use open_error::OpenError;

/// A ledger in an SQLite file.
///
/// A writer has the file open; a reader has a copy of it, made when it was opened.
#[derive(Debug)]
pub struct LocalStore {
    path: PathBuf,
    pool: SqlitePool,
    /// Whether the connection met a failure of the database. SQLite ends a transaction by itself on a
    /// full disk, and sqlx does not learn of it: such a connection is not used again.
    suspect: AtomicBool,
    /// Held by the one writer.
    lock: Option<WriterLock>,
    /// The copy that a reader reads, if it is too long for memory; removed with the ledger.
    _copy: Option<NamedTempFile>,
}

impl LocalStore {
    /// Opens the file for writing, and creates it if it is missing or empty. A second writer is
    /// refused, in this process and in any other, under this name of the file or another.
    ///
    /// # Errors
    /// Each way in which the file is not a ledger that can be written; it is unchanged then.
    pub async fn open(path: &Path) -> Result<Self, OpenError> {
        let (pool, lock) = open::writer(path).await?;
        Ok(LocalStore {
            path: path.to_owned(),
            pool,
            suspect: AtomicBool::new(false),
            lock: Some(lock),
            _copy: None,
        })
    }

    /// Reads the file as it is now, while another process may write. Needs the right to read the file and
    /// the log beside it, changes nothing, and makes no file there: a copy is read, in memory, or in a
    /// temporary file if it is longer than 256 MiB.
    ///
    /// # Errors
    /// Each way in which the file is not a ledger that can be read.
    pub async fn open_reader(path: &Path) -> Result<Self, OpenError> {
        Self::open_copy(path, image::IN_MEMORY).await
    }

    async fn open_copy(path: &Path, in_memory: u64) -> Result<Self, OpenError> {
        let (pool, copy) = open::reader(path, in_memory).await?;
        Ok(LocalStore {
            path: path.to_owned(),
            pool,
            suspect: AtomicBool::new(false),
            lock: None,
            _copy: copy,
        })
    }

    /// Where it lives.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lists the segments of a campaign that have no accepted tally, as ascending ranges.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn missing(&self, id: &str) -> Result<Vec<Range<Segment>>, LedgerError> {
        self.read(async |conn| read::missing(conn, id).await).await
    }

    /// Closes the file, and reads it once more: what was saved is in it. Dropping closes as well, later, and
    /// checks nothing.
    ///
    /// # Errors
    /// [`StorageFault::Displaced`] if the path does not name the file any more that was written, or the file
    /// does not hold what was written, [`StorageFault::Corrupt`] if it is damaged.
    pub async fn close(self) -> Result<(), LedgerError> {
        let checked = self.check_in_place().await;
        let revision = self.revision().await;
        self.pool.close().await;
        let Some(lock) = self.lock else {
            return Ok(());
        };
        // Closing removes the log.
        lock.forget_log();
        let closed = match (checked, revision) {
            (Ok(()), Ok(revision)) => open::read_back(&self.path, &lock, revision).await,
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        lock.release();
        closed
    }

    /// How many results were ever logged.
    async fn revision(&self) -> Result<i64, LedgerError> {
        let mut conn = self.pool.acquire().await;
        let revision = match &mut conn {
            Ok(conn) => open::revision(conn).await,
            Err(_) => return Ok(0),
        };
        revision.map_err(|error| storage_error(&self.path, &error).into())
    }

    /// Checks that the path still names the file that this process writes. If not, everything that was
    /// saved is moved from the log into the file, wherever that is: another file may have the log's
    /// name as its own.
    async fn check_in_place(&self) -> Result<(), LedgerError> {
        let Some(Err(Displaced(detail))) = self.lock.as_ref().map(WriterLock::check) else {
            return Ok(());
        };
        let moved = sqlx::query(
            "-- displaced_empty_log
             PRAGMA wal_checkpoint(TRUNCATE)",
        )
        .execute(&self.pool)
        .await;
        let detail = match moved {
            Ok(_) => detail,
            Err(error) => format!("{detail}; its log could not be moved into it: {error}"),
        };
        Err(displaced(&self.path, detail).into())
    }

    async fn writing(&self) -> Result<Transaction<'static, Sqlite>, Failure> {
        self.replace_suspect().await?;
        self.check_in_place().await?;
        let tx = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        if let Some(lock) = &self.lock {
            lock.remember();
        }
        Ok(tx)
    }

    /// Reads in one transaction.
    async fn read<T>(
        &self,
        look: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, Failure>,
    ) -> Result<T, LedgerError> {
        let read = async {
            self.replace_suspect().await?;
            let mut tx = self.pool.begin().await?;
            look(&mut tx).await
        };
        self.at_home(read.await)
    }

    async fn replace_suspect(&self) -> Result<(), Failure> {
        let Some(lock) = &self.lock else {
            // A reader's connection holds the copy.
            return Ok(());
        };
        if self.suspect.swap(false, Ordering::AcqRel) {
            // Its end may fail as it did; the next one is opened in any case.
            lock.forget_log();
            let _ = self.pool.acquire().await?.close().await;
        }
        Ok(())
    }

    fn at_home<T>(&self, result: Result<T, Failure>) -> Result<T, LedgerError> {
        result.map_err(|failure| match failure {
            Failure::Ledger(error) => error,
            Failure::Database(error) => {
                self.suspect.store(true, Ordering::Release);
                storage_error(&self.path, &error).into()
            }
        })
    }
}

/// SQLite's primary result code, if the error is SQLite's.
fn code_of(error: &sqlx::Error) -> Option<u32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<u32>().ok()
}

/// The error of a file that is no longer where it was opened.
fn displaced(path: &Path, detail: String) -> StorageError {
    StorageError {
        place: Place::File(path.to_owned()),
        fault: StorageFault::Displaced,
        detail,
    }
}

/// The error in words, by SQLite's result codes (sqlite.org/rescode.html).
fn storage_error(path: &Path, error: &sqlx::Error) -> StorageError {
    const IOERR_SHMSIZE: u32 = 4874;
    let fault = match code_of(error) {
        Some(IOERR_SHMSIZE) => StorageFault::Full,
        Some(code) => match code & 0xff {
            5 | 6 => StorageFault::Busy,
            8 => StorageFault::ReadOnly,
            11 | 26 => StorageFault::Corrupt,
            13 => StorageFault::Full,
            14 | 23 => StorageFault::Unreachable,
            _ => StorageFault::Other,
        },
        None => StorageFault::Other,
    };
    StorageError {
        place: Place::File(path.to_owned()),
        fault,
        detail: error.to_string(),
    }
}

/// The database's clock.
async fn now(conn: &mut SqliteConnection) -> Result<Millis, Failure> {
    let now = sqlx::query_scalar::<_, i64>(
        "-- clock_now
         SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER)",
    )
    .fetch_one(conn)
    .await?;
    Ok(now)
}

/// Each operation is one transaction, rolled back unless it succeeds.
impl Ledger for LocalStore {
    async fn submit(
        &self,
        submission: &Submission,
    ) -> Result<(CampaignRecord, Submitted), LedgerError> {
        let mut import = self.begin_import().await?;
        let answer = import.submit(submission).await?;
        import.commit().await?;
        Ok(answer)
    }

    async fn import(
        &self,
        id: &str,
        who: &Who,
        deliveries: &[SegmentResult],
    ) -> Result<Vec<DeliveryOutcome>, LedgerError> {
        let mut import = self.begin_import().await?;
        let verdicts = import.import(id, who, deliveries).await?;
        import.commit().await?;
        Ok(verdicts)
    }

    async fn listed(&self) -> Result<Listed, LedgerError> {
        self.read(async |conn| campaign_rows::all(conn).await).await
    }

    async fn campaign(&self, id: &str) -> Result<CampaignRecord, LedgerError> {
        self.read(async |conn| campaign_rows::one(conn, id).await)
            .await
    }

    async fn self_tests(&self, id: &str) -> Result<Vec<SelfTest>, LedgerError> {
        self.read(async |conn| {
            campaign_rows::one(conn, id).await?;
            campaign_rows::self_tests(conn, id).await
        })
        .await
    }

    async fn snapshot(&self, id: &str) -> Result<Snapshot, LedgerError> {
        self.read(async |conn| read::snapshot(conn, id).await).await
    }

    async fn segments(
        &self,
        id: &str,
        from: Segment,
        limit: u32,
    ) -> Result<Vec<AcceptedSegment>, LedgerError> {
        self.read(async |conn| read::segments(conn, id, from, limit).await)
            .await
    }

    async fn witnesses(
        &self,
        id: &str,
        segments: Range<Segment>,
    ) -> Result<Vec<Witness>, LedgerError> {
        self.read(async |conn| read::witnesses(conn, id, segments).await)
            .await
    }

    async fn builds(&self, id: &str) -> Result<Vec<BuildShare>, LedgerError> {
        self.read(async |conn| read::builds(conn, id).await).await
    }

    async fn owners(&self, id: &str) -> Result<Vec<OwnerShare>, LedgerError> {
        self.read(async |conn| read::owners(conn, id).await).await
    }

    async fn log(&self, id: &str, segment: Segment) -> Result<Vec<LogEntry>, LedgerError> {
        self.read(async |conn| read::log(conn, id, segment).await)
            .await
    }
}
