//! Why a file could not be opened as a ledger.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::ledger::StorageError;

/// Why a file could not be opened as a ledger. The file is unchanged.
#[derive(Debug)]
pub enum OpenError {
    /// There is no such file.
    Missing(PathBuf),
    /// The path does not name a file.
    NoFile {
        /// The path as it was given.
        path: PathBuf,
        /// What it names: "a folder".
        what: String,
    },
    /// The file has several names (hard links).
    Linked {
        /// The name that was given.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },
    /// It cannot be reached: a permission, a missing folder.
    Unreachable {
        /// The file, or one of those beside it.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another user's program left a file beside the database that this process may not write.
    Obstructed {
        /// The database.
        path: PathBuf,
        /// The file beside it.
        left: PathBuf,
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
        /// The other process's number, if it is known.
        holder: Option<u32>,
    },
    /// It lies where SQLite cannot keep its write-ahead log.
    NoWal(PathBuf),
    /// It cannot be copied for reading.
    Uncopied {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        bytes: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The database failed.
    Storage(StorageError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Missing(path) => write!(
                f,
                "there is no database {}; `kazoe run` creates one, --db names another",
                path.display()
            ),
            OpenError::NoFile { path, what } => write!(
                f,
                "`{}` is {what}: a database is a file on a disk; name one with --db, as in \
                 --db ./kazoe.db",
                path.display().to_string().escape_debug()
            ),
            OpenError::Linked { path, links } => write!(
                f,
                "{} has {links} names (hard links), and each would get a write-ahead log of its \
                 own: remove the other names, or copy the file (`cp`) and name the copy with --db",
                path.display()
            ),
            // A writer makes a missing file, so its folder is missing.
            OpenError::Unreachable { path, source } if source.kind() == io::ErrorKind::NotFound => {
                write!(
                    f,
                    "cannot create {}: its folder does not exist; create the folder, or name \
                     another file with --db",
                    path.display()
                )
            }
            OpenError::Unreachable { path, source } => {
                write!(f, "cannot open {}: {source}", path.display())
            }
            OpenError::Obstructed { path, left, source } => write!(
                f,
                "cannot write {}, which belongs to another user, beside {} ({source}): end that \
                 user's program, and give the file to the database's owner (chown)",
                left.display(),
                path.display()
            ),
            OpenError::NotSqlite(path) => write!(
                f,
                "{} is not a Kazoe database and stays unchanged; name another file with --db \
                 (a ledger file is read with `kazoe import`)",
                path.display()
            ),
            OpenError::Foreign(path) => write!(
                f,
                "{} is the database of another program and stays unchanged; name another file \
                 with --db",
                path.display()
            ),
            OpenError::Newer { path, version } => write!(
                f,
                "{} was written by a later version of Kazoe (its schema has {version}) and stays \
                 unchanged; use that version, or name another file with --db",
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
                "{} is on a file system without support for a write-ahead log (a network share?); \
                 name a file on a local disk with --db",
                path.display()
            ),
            OpenError::Uncopied {
                path,
                bytes,
                source,
            } => write!(
                f,
                "cannot copy the {bytes} bytes of {} for reading: {source}; a large database is copied \
                 into the folder {}, and TMPDIR names another",
                path.display(),
                std::env::temp_dir().display()
            ),
            OpenError::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Unreachable { source, .. }
            | OpenError::Obstructed { source, .. }
            | OpenError::Uncopied { source, .. } => Some(source),
            OpenError::Storage(error) => Some(error),
            _ => None,
        }
    }
}
