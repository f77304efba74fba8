//! The writer's lock, and whether the file is still the one that was locked.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::location::{FileId, Location, check_links};
use super::open_error::OpenError;

/// The byte of the database file that its writer locks. SQLite locks 512 bytes from 2^30 on; no page of a
/// ledger comes near this one.
const BYTE: i64 = APPLICATION << 16;
const APPLICATION: i64 = super::migrate::APPLICATION_ID;

/// Held by the one writer; the operating system releases it when the process ends in any way.
///
/// It has two parts. The lock on the file itself (`F_OFD_SETLK` on one byte) holds under every name of the
/// file: a symbolic link, a hard link, a second mount, a new name after `mv`. The lock on `FILE.lock` beside
/// the file (`flock`) keeps a second writer from making a new file where this one's was removed, names the
/// writer's process, and is the one that earlier builds take. The byte is outside the range that SQLite
/// locks, and the lock belongs to the open file and not to the process, so neither interferes with SQLite,
/// on network file systems included, where `flock` would lock the whole file against SQLite.
#[derive(Debug)]
pub(super) struct WriterLock {
    path: PathBuf,
    real: PathBuf,
    log: PathBuf,
    file: Pinned,
    id: FileId,
    /// The write-ahead log that SQLite has open, once it is known.
    log_id: Mutex<Option<FileId>>,
    /// The file's length as it was seen last. A ledger never becomes shorter.
    length: AtomicU64,
    _beside: File,
    /// The lock's file beside the database, if this process made it.
    made: Option<PathBuf>,
}

/// How a file ceased to be the one that was opened.
#[derive(Debug)]
pub(super) struct Displaced(pub(super) String);

impl WriterLock {
    /// Locks a database for writing, and creates an empty file if there is none.
    ///
    /// # Errors
    /// [`OpenError::InUse`] if another writer has it, [`OpenError::Unreachable`],
    /// [`OpenError::Obstructed`] and [`OpenError::Linked`].
    pub(super) fn take(path: &Path, location: &Location) -> Result<Self, OpenError> {
        let unreachable = |source| OpenError::Unreachable {
            path: path.to_owned(),
            source,
        };
        check_writable(path, location)?;
        let lock_path = location.beside(LOCK);
        let (beside, made) = lock_beside(path, &lock_path)?;
        // Opened once, and before SQLite opens it: see `Pinned`.
        let opened = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            // As SQLite makes it.
            .mode(0o644)
            .custom_flags(libc::O_NONBLOCK)
            .open(&location.real);
        let file = match opened {
            Ok(file) => Pinned(Some(file)),
            Err(source) => {
                if made {
                    let _ = fs::remove_file(&lock_path);
                }
                return Err(unreachable(source));
            }
        };
        if !file.try_lock().map_err(unreachable)? {
            return Err(OpenError::InUse {
                path: path.to_owned(),
                holder: None,
            });
        }
        let meta = file.get().metadata().map_err(unreachable)?;
        check_links(path, &meta)?;
        Ok(WriterLock {
            path: location.given.clone(),
            real: location.real.clone(),
            log: location.beside("-wal"),
            id: FileId::of(&meta),
            log_id: Mutex::new(None),
            length: AtomicU64::new(meta.len()),
            file,
            _beside: beside,
            made: made.then_some(lock_path),
        })
    }

    /// The file's own path.
    pub(super) fn real(&self) -> &Path {
        &self.real
    }

    /// The locked file.
    pub(super) fn file(&self) -> &File {
        self.file.get()
    }

    /// Checks that the path still names the file that was opened, that no other path does, and that its log is
    /// beside it.
    ///
    /// # Errors
    /// [`Displaced`] says what is there instead.
    pub(super) fn check(&self) -> Result<(), Displaced> {
        match fs::metadata(&self.path) {
            Ok(meta) if FileId::of(&meta) == self.id => {
                let before = self.length.load(Ordering::Acquire);
                if meta.len() < before {
                    let now = meta.len();
                    return Err(Displaced(format!(
                        "it was cut from {before} to {now} bytes"
                    )));
                }
                if meta.nlink() > 1 {
                    return Err(Displaced(format!(
                        "it has {} names (hard links) now",
                        meta.nlink()
                    )));
                }
            }
            Ok(_) => return Err(Displaced("another file has its name now".to_owned())),
            Err(error) => return Err(Displaced(error.to_string())),
        }
        // SQLite keeps its log beside the real path, and looks for it there after a crash.
        match fs::canonicalize(&self.path) {
            Ok(real) if real == self.real => {}
            Ok(real) => {
                return Err(Displaced(format!(
                    "its name is a symbolic link to {} now",
                    real.display()
                )));
            }
            Err(error) => return Err(Displaced(error.to_string())),
        }
        let log_id = self.log_id.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = *log_id else {
            return Ok(());
        };
        match fs::metadata(&self.log) {
            Ok(meta) if FileId::of(&meta) == known => Ok(()),
            Ok(_) => Err(Displaced(
                "another file has the name of its write-ahead log".to_owned(),
            )),
            Err(error) => Err(Displaced(format!("its write-ahead log: {error}"))),
        }
    }

    /// Remembers how long the file is, and which log SQLite has open if that is not known yet.
    pub(super) fn remember(&self) {
        if let Ok(meta) = self.file().metadata() {
            self.length.fetch_max(meta.len(), Ordering::AcqRel);
        }
        let mut log_id = self.log_id.lock().unwrap_or_else(PoisonError::into_inner);
        if log_id.is_none() {
            *log_id = fs::metadata(&self.log).ok().as_ref().map(FileId::of);
        }
    }

    /// Forgets the log: SQLite closes the file, and makes a new log when it opens it again.
    pub(super) fn forget_log(&self) {
        *self.log_id.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Releases the lock and removes its file if this process made it: the database is no ledger.
    pub(super) fn discard(self) {
        if let Some(made) = &self.made {
            let _ = fs::remove_file(made);
        }
    }

    /// Releases the lock and closes the file. SQLite must have closed it before.
    pub(super) fn release(mut self) {
        drop(self.file.0.take());
    }
}

/// What the lock beside a database is called.
pub(super) const LOCK: &str = ".lock";

/// An open database file that SQLite has open too.
///
/// POSIX drops all record locks of a process on a file when the process closes any descriptor of it, and
/// SQLite's locks are record locks. Only [`WriterLock::release`] closes this one. A drop, after which SQLite
/// may take a moment to close the file, unlocks it and leaves the descriptor open until the process ends.
#[derive(Debug)]
struct Pinned(Option<File>);

impl Pinned {
    fn get(&self) -> &File {
        self.0.as_ref().expect("present until it is released")
    }

    /// Locks the writer's byte; `false` if another process has it.
    fn try_lock(&self) -> io::Result<bool> {
        match fcntl(self.get(), FcntlArg::F_OFD_SETLK(&byte(libc::F_WRLCK))) {
            Ok(_) => Ok(true),
            Err(Errno::EAGAIN | Errno::EACCES) => Ok(false),
            // The file system knows no such locks. The lock beside the file and the refusal of hard links
            // remain.
            Err(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let _ = fcntl(&file, FcntlArg::F_OFD_SETLK(&byte(libc::F_UNLCK)));
            std::mem::forget(file);
        }
    }
}

fn byte(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: BYTE,
        l_len: 1,
        l_pid: 0,
    }
}

/// Checks, before anything is made, that the database and what SQLite keeps beside it may be written.
fn check_writable(path: &Path, location: &Location) -> Result<(), OpenError> {
    use rustix::fs::{Access, access};
    if location.exists {
        access(&location.real, Access::READ_OK | Access::WRITE_OK).map_err(|error| {
            OpenError::Unreachable {
                path: path.to_owned(),
                source: error.into(),
            }
        })?;
    }
    for suffix in ["-wal", "-shm", "-journal"] {
        let left = location.beside(suffix);
        match access(&left, Access::READ_OK | Access::WRITE_OK) {
            Ok(()) => {}
            Err(error) if io::Error::from(error).kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(OpenError::Obstructed {
                    path: path.to_owned(),
                    left,
                    source: error.into(),
                });
            }
        }
    }
    Ok(())
}

/// Takes the lock beside a database. Says also whether the lock's file is new.
fn lock_beside(path: &Path, beside: &Path) -> Result<(File, bool), OpenError> {
    let unreachable = |path: &Path, source| OpenError::Unreachable {
        path: path.to_owned(),
        source,
    };
    let made = !beside.exists();
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(libc::O_NONBLOCK)
        .open(beside);
    let mut file = match opened {
        // Another user's run left it: reading is enough to lock it.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && !made => {
            File::open(beside).map_err(|source| unreachable(beside, source))?
        }
        opened => opened.map_err(|source| match source.kind() {
            ErrorKind::NotFound => unreachable(path, source),
            _ => unreachable(beside, source),
        })?,
    };
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
        Err(TryLockError::Error(source)) => return Err(unreachable(beside, source)),
    }
    // The number serves the message of a refused writer; a full disk does without it.
    let _ = file.set_len(0);
    let _ = writeln!(file, "{}", std::process::id());
    Ok((file, made))
}
