//! A private copy of a database for reading.
//!
//! A reader of an SQLite file in WAL mode writes: it makes or changes the log's index, and may move the log
//! into the file. A reader of a ledger needs only the right to read, and changes nothing, so it copies the
//! file and what is committed in the log, without SQLite, and opens the copy.
//!
//! Why a copy is never torn. Let a *generation* be the time between two resets of the log; each has a salt of
//! its own in the log's header, and the header is the first thing that a generation writes.
//! - *The log has a valid header, and the same one before and after the copy.* Then no generation ended
//!   meanwhile. A page changes in the file only when a checkpoint moves it there from a commit in the log.
//!   The file is copied first and the log is read second, so each commit that changed the file during the
//!   copy is in the log as read, and its pages replace those of the file. Frames are only appended, and the
//!   chain of checksums ends at the last whole commit. The result is the database after that commit.
//! - *The log is missing, empty or invalid, before and after.* Then the file is the database, and its length
//!   and times must be the same before and after.
//! - Anything else, or a rollback journal that is in use, is a change during the copy: it is made again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::libc;
use tempfile::NamedTempFile;

use super::location::{FileId, Location, check_links};
use super::open_error::OpenError;
use super::wal::{self, Committed};
use crate::ledger::{Place, StorageError, StorageFault};

/// How long, and how often at least, to try for a copy during which nothing changed.
const PATIENCE: Duration = Duration::from_secs(5);
const ATTEMPTS: u32 = 10;

/// The longest database that is copied into memory; a longer one is copied into a temporary file.
pub(super) const IN_MEMORY: u64 = 256 << 20;

/// Bytes that are copied at a time.
const PIECE: usize = 1 << 20;

/// A copy of a database at one moment, its log included.
#[derive(Debug)]
pub(super) enum Image {
    Memory(Vec<u8>),
    File(NamedTempFile),
}

/// Copies a database for reading, into memory if it has at most `in_memory` bytes.
///
/// # Errors
/// [`OpenError::Unreachable`], [`OpenError::Uncopied`], and [`StorageFault::Busy`] if the database changed
/// during every attempt.
pub(super) fn copy(path: &Path, location: &Location, in_memory: u64) -> Result<Image, OpenError> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(2);
    for attempts in 1.. {
        if let Some(image) = attempt(path, location, in_memory)? {
            return Ok(image);
        }
        if attempts >= ATTEMPTS && begun.elapsed() > PATIENCE {
            break;
        }
        sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(200));
    }
    Err(OpenError::Storage(StorageError {
        place: Place::File(path.to_owned()),
        fault: StorageFault::Busy,
        detail: "it changed during each attempt to read it".to_owned(),
    }))
}

/// What tells whether a file changed.
type Stamp = (FileId, u64, i64, i64, i64, i64);

fn stamp(meta: &fs::Metadata) -> Stamp {
    (
        FileId::of(meta),
        meta.len(),
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
    )
}

/// A log as it was found: the file and the beginning of it, up to the length of a header.
type Log = Option<(File, FileId, Vec<u8>)>;

/// Copies once; `None` if the database changed meanwhile.
fn attempt(path: &Path, location: &Location, in_memory: u64) -> Result<Option<Image>, OpenError> {
    let unreachable = |path: &Path| {
        let path = path.to_owned();
        move |source| OpenError::Unreachable { path, source }
    };
    let uncopied = |bytes| {
        move |source| OpenError::Uncopied {
            path: path.to_owned(),
            bytes,
            source,
        }
    };
    let log_path = location.beside("-wal");
    let open_log = || find_log(&log_path).map_err(unreachable(&log_path));

    let file = open(&location.real).map_err(unreachable(path))?;
    let before = file.metadata().map_err(unreachable(path))?;
    check_links(path, &before)?;
    if is_changing(location)? {
        return Ok(None);
    }
    let log = open_log()?;
    let mut image = Image::new(before.len(), in_memory).map_err(uncopied(before.len()))?;
    image.take(&file).map_err(uncopied(before.len()))?;
    let mut committed = Committed::default();
    let mut whole = true;
    if let Some((log, _, header)) = &log {
        committed = wal::committed(log, header).map_err(unreachable(&log_path))?;
        whole = match image.apply(log, &committed) {
            // The log was cut while it was read.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            applied => applied.map_err(uncopied(before.len()))?,
        };
    }
    // Nothing of the log was read after this.
    let same_log = match (&log, &open_log()?) {
        (None, None) => true,
        (Some((_, id, header)), Some((_, id_after, header_after))) => {
            id == id_after && header == header_after
        }
        _ => false,
    };
    if !same_log || is_changing(location)? {
        return Ok(None);
    }
    let after = fs::metadata(&location.real).map_err(unreachable(path))?;
    let same_file = if committed.pages > 0 {
        FileId::of(&after) == FileId::of(&before)
    } else {
        stamp(&after) == stamp(&before)
    };
    if !same_file {
        return Ok(None);
    }
    if !whole {
        return Err(damaged(path, "it is shorter than its log says"));
    }
    image.leave_log().map_err(uncopied(before.len()))?;
    Ok(Some(image))
}

/// Opens a file for reading, without waiting for a writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
}

fn find_log(path: &Path) -> io::Result<Log> {
    let log = match open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        log => log?,
    };
    let id = FileId::of(&log.metadata()?);
    let mut header = Vec::new();
    (&log).take(wal::HEADER as u64).read_to_end(&mut header)?;
    Ok(Some((log, id, header)))
}

/// Whether a rollback journal is in use: the database is new, and SQLite makes its first pages.
fn is_changing(location: &Location) -> Result<bool, OpenError> {
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let path = location.beside("-journal");
    let mut head = Vec::new();
    let read = match open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => Err(error),
        Ok(journal) => journal.take(8).read_to_end(&mut head),
    };
    read.map_err(|source| OpenError::Unreachable { path, source })?;
    Ok(head == MAGIC)
}

pub(super) fn damaged(path: &Path, detail: &str) -> OpenError {
    OpenError::Storage(StorageError {
        place: Place::File(path.to_owned()),
        fault: StorageFault::Corrupt,
        detail: detail.to_owned(),
    })
}

impl Image {
    fn new(length: u64, in_memory: u64) -> io::Result<Self> {
        if length > in_memory {
            return NamedTempFile::with_prefix("kazoe-").map(Image::File);
        }
        let mut bytes = Vec::new();
        let room = usize::try_from(length).map_err(io::Error::other)?;
        bytes
            .try_reserve_exact(room)
            .map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
        Ok(Image::Memory(bytes))
    }

    /// Copies a whole file.
    fn take(&mut self, file: &File) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        loop {
            let read = match file.read_at(&mut piece, at) {
                Ok(0) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            self.write(&piece[..read], at)?;
            at += read as u64;
        }
    }

    /// Puts the committed pages of a log in their places. Returns `false` if a page is missing.
    fn apply(&mut self, log: &File, committed: &Committed) -> io::Result<bool> {
        if committed.pages == 0 {
            return Ok(true);
        }
        let size = committed.page_size;
        let there = self.len()?.div_ceil(size);
        let length = u64::from(committed.pages) * size;
        let missing = (there + 1..=u64::from(committed.pages))
            .any(|page| u32::try_from(page).is_ok_and(|page| !committed.at.contains_key(&page)));
        if missing {
            return Ok(false);
        }
        self.set_len(length)?;
        let mut page_bytes = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        for (&page, &at) in committed.at.range(..=committed.pages) {
            log.read_exact_at(&mut page_bytes, at)?;
            self.write(&page_bytes, u64::from(page - 1) * size)?;
        }
        Ok(true)
    }

    /// Marks the copy as a database without a log.
    fn leave_log(&mut self) -> io::Result<()> {
        let mut head = [0; 20];
        if self.read(&mut head)? && head.starts_with(b"SQLite format 3\0") {
            self.write(&[1, 1], 18)?;
        }
        Ok(())
    }

    /// The length in bytes.
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Image::Memory(bytes) => Ok(bytes.len() as u64),
            Image::File(file) => Ok(file.as_file().metadata()?.len()),
        }
    }

    /// Reads the beginning; `false` if the copy is shorter.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<bool> {
        match self {
            Image::Memory(bytes) => {
                let Some(head) = bytes.get(..buffer.len()) else {
                    return Ok(false);
                };
                buffer.copy_from_slice(head);
                Ok(true)
            }
            Image::File(file) => {
                let long = file.as_file().metadata()?.len() >= buffer.len() as u64;
                if long {
                    file.as_file().read_exact_at(buffer, 0)?;
                }
                Ok(long)
            }
        }
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        match self {
            Image::Memory(bytes) => {
                let length = usize::try_from(length).map_err(io::Error::other)?;
                let more = length.saturating_sub(bytes.len());
                bytes
                    .try_reserve_exact(more)
                    .map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
                bytes.resize(length, 0);
                Ok(())
            }
            Image::File(file) => file.as_file().set_len(length),
        }
    }

    /// Writes at a place within the copy, or at its end.
    fn write(&mut self, piece: &[u8], at: u64) -> io::Result<()> {
        match self {
            Image::Memory(bytes) => {
                let at = usize::try_from(at).map_err(io::Error::other)?;
                let end = at + piece.len();
                if end > bytes.len() {
                    self.set_len(end as u64)?;
                    return self.write(piece, at as u64);
                }
                bytes[at..end].copy_from_slice(piece);
                Ok(())
            }
            Image::File(file) => file.as_file().write_all_at(piece, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use sqlx::sqlite::SqliteConnectOptions;
    use sqlx::{AssertSqlSafe, ConnectOptions, Connection};

    use super::*;

    /// The copy's bytes.
    fn bytes(image: Image) -> Vec<u8> {
        match image {
            Image::Memory(bytes) => bytes,
            Image::File(file) => fs::read(file.path()).unwrap(),
        }
    }

    #[tokio::test]
    async fn a_copy_is_what_sqlite_itself_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true);
        for page_size in [512, 4096, 65_536] {
            let mut conn = options.connect().await.unwrap();
            let statements = [
                &format!("PRAGMA page_size = {page_size}"),
                "PRAGMA journal_mode = WAL",
                "PRAGMA wal_autocheckpoint = 0",
                "CREATE TABLE t (id INTEGER PRIMARY KEY, x BLOB)",
                "INSERT INTO t (x) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
                 SELECT randomblob(700) FROM n",
                "PRAGMA wal_checkpoint(TRUNCATE)",
                "UPDATE t SET x = randomblob(900) WHERE id % 7 = 0",
                "PRAGMA wal_checkpoint(PASSIVE)",
                // The log begins again, with what is left of the older one behind.
                "INSERT INTO t (x) VALUES (randomblob(5000))",
                "DELETE FROM t WHERE id % 3 = 0",
                "VACUUM",
            ];
            for statement in statements {
                let statement = statement.to_owned();
                sqlx::query(AssertSqlSafe(statement.clone()))
                    .execute(&mut conn)
                    .await
                    .unwrap();
                if !path.exists() || fs::metadata(&path).unwrap().len() == 0 {
                    continue;
                }
                // SQLite's own copy, taken through its log and marked as having none.
                let mut twin = conn.serialize(None).await.unwrap().to_vec();
                twin[18..20].fill(1);
                for in_memory in [u64::MAX, 0] {
                    let location = Location::find(&path).unwrap();
                    let image = copy(&path, &location, in_memory).unwrap();
                    assert_eq!(matches!(image, Image::File(_)), in_memory == 0);
                    assert!(bytes(image) == twin, "{page_size}: {statement}");
                }
            }
            conn.close().await.unwrap();
            fs::remove_file(&path).unwrap();
        }
    }
}
