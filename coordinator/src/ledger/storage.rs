//! A database that fails.

use std::fmt;
use std::path::PathBuf;

/// The database failed; what was acknowledged before is safe.
#[derive(Clone, Debug)]
pub struct StorageError {
    /// Where it lives.
    pub place: Place,
    /// What happened.
    pub fault: StorageFault,
    /// In the database's own words.
    pub detail: String,
}

/// Where a database lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// On a server: its address and the database's name, without any secret.
    Server(String),
}

/// How a database fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageFault {
    /// No room is left.
    Full,
    /// It is damaged.
    Corrupt,
    /// Someone else holds a lock for too long.
    Busy,
    /// It may be read, not written.
    ReadOnly,
    /// Its file was removed, moved or replaced while it was open.
    Displaced,
    /// It cannot be reached: a permission, a folder, a device, a network, a password.
    Unreachable,
    /// Anything else.
    Other,
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File(path) => {
                let path = path.display();
                match self.fault {
                    StorageFault::Full => write!(
                        f,
                        "no room left to write {path}: free some disk space and run the same command \
                         again; nothing that was saved is lost"
                    ),
                    StorageFault::Corrupt => write!(
                        f,
                        "{path} is damaged: restore it from a backup, or keep it aside and import an \
                         exported ledger into a new database"
                    ),
                    StorageFault::Busy => write!(
                        f,
                        "{path} is locked by another program: end that one, or wait, and run the same \
                         command again"
                    ),
                    StorageFault::ReadOnly => write!(
                        f,
                        "{path} cannot be written: change its permissions or those of its folder, or \
                         choose another with --db"
                    ),
                    StorageFault::Displaced => write!(
                        f,
                        "{path} was removed, moved or replaced while it was written: put the file back, or \
                         restore a backup, and run the same command again; what was saved is in the file \
                         that was opened, wherever it is now"
                    ),
                    StorageFault::Unreachable => write!(
                        f,
                        "{path} cannot be opened: check that its folder exists and its permissions, or \
                         choose another with --db"
                    ),
                    StorageFault::Other => write!(f, "the database {path} failed"),
                }
            }
            Place::Server(server) => match self.fault {
                StorageFault::Full => write!(
                    f,
                    "the database {server} has no room left: free some disk space there; nothing that \
                     was saved is lost"
                ),
                StorageFault::Corrupt => write!(
                    f,
                    "the database {server} is damaged: restore it from a backup, or import an exported \
                     ledger into a new database"
                ),
                StorageFault::Busy => write!(
                    f,
                    "the database {server} was too busy to answer in time: look for what holds its \
                     locks, and try again"
                ),
                StorageFault::ReadOnly => write!(
                    f,
                    "the database {server} takes no writes from us: is it a standby, or does the role \
                     lack the rights that the migrations grant?"
                ),
                StorageFault::Unreachable => write!(
                    f,
                    "the database {server} cannot be reached: check the address, that the server runs, \
                     and the role's name and password"
                ),
                StorageFault::Displaced | StorageFault::Other => {
                    write!(f, "the database {server} failed")
                }
            },
        }?;
        write!(f, " ({})", self.detail)
    }
}

impl std::error::Error for StorageError {}
