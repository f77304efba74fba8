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
    /// Another session holds a lock for too long, or all connections are in use.
    Busy,
    /// It may be read, not written.
    ReadOnly,
    /// Its file was removed, moved or replaced while it was open.
    Displaced,
    /// It does not answer: a permission, a folder, a device, a network, a server that does not run.
    Unreachable,
    /// The server refuses the role, its password, or the name of the database.
    Login,
    /// The server gives fewer connections than are needed.
    Connections {
        /// The connections that it gave.
        had: u32,
        /// The connections that are needed.
        wanted: u32,
    },
    /// The server is a hot standby.
    Standby,
    /// A commit may be lost when the server's machine fails.
    NotDurable {
        /// The setting that is off.
        setting: &'static str,
    },
    /// A table, column or function that this build needs is missing, or hidden by `search_path`.
    Schema,
    /// The role lacks a right.
    Rights,
    /// A connection pooler refuses an option.
    PoolerOption,
    /// A connection pooler gives a session to several clients by turns.
    PoolerMode,
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
                        "no space left to write {path}: free some disk space and run the same \
                         command again; no saved result is lost"
                    ),
                    StorageFault::Corrupt => write!(
                        f,
                        "{path} is damaged: restore it from a backup, or move it away and import \
                         an exported ledger into a new database"
                    ),
                    StorageFault::Busy => write!(
                        f,
                        "{path} is locked by another program: end that program, or wait, and run \
                         the same command again"
                    ),
                    StorageFault::ReadOnly => write!(
                        f,
                        "{path} is not writable: change its permissions or those of its folder, or \
                         choose another with --db"
                    ),
                    StorageFault::Displaced => write!(
                        f,
                        "{path} was removed, moved or replaced while it was written: put the file \
                         back, or restore a backup, and run the same command again; the saved \
                         results are in the file that was opened, at its present path"
                    ),
                    StorageFault::Unreachable => write!(
                        f,
                        "opening {path} failed: check that its folder exists and its permissions, or \
                         choose another with --db"
                    ),
                    // The others are a server's.
                    _ => write!(f, "the database {path} failed"),
                }
            }
            Place::Server(server) => write_server_fault(f, server, self.fault),
        }?;
        write!(f, " ({})", self.detail)
    }
}

/// Writes what happened to a database on a server, and what its administrator does about it.
fn write_server_fault(
    f: &mut fmt::Formatter<'_>,
    server: &str,
    fault: StorageFault,
) -> fmt::Result {
    match fault {
        StorageFault::Full => write!(
            f,
            "the database {server} has no room left: free some disk space there; no saved result \
             is lost"
        ),
        StorageFault::Corrupt => write!(
            f,
            "the database {server} is damaged: restore it from a backup, or import an exported \
             ledger into a new database"
        ),
        StorageFault::Busy => write!(
            f,
            "the database {server} did not answer in time: find the session that holds its locks, \
             and retry"
        ),
        StorageFault::ReadOnly => write!(
            f,
            "the database {server} is read-only: set default_transaction_read_only = off for the \
             server, the database and the role"
        ),
        StorageFault::Unreachable => write!(
            f,
            "the database {server} is unreachable: check the address, and that the server runs"
        ),
        StorageFault::Login => write!(
            f,
            "the database {server} refuses the login: check the role's name and password, the name \
             of the database, and the server's pg_hba.conf"
        ),
        StorageFault::Connections { had, wanted } => write!(
            f,
            "the database {server} gives only {had} of the {wanted} connections that are needed: \
             raise max_connections or the CONNECTION LIMIT of the role, the database or the pooler, \
             or end other sessions"
        ),
        StorageFault::Standby => write!(
            f,
            "the database {server} is a standby and accepts no writes: name its primary in the \
             address, or promote it"
        ),
        StorageFault::NotDurable { setting } => write!(
            f,
            "the database {server} has {setting} = off: a crash of its machine would lose \
             acknowledged tallies; set it to on"
        ),
        StorageFault::Schema => write!(
            f,
            "the database {server} lacks what this build needs: check that its schema was changed \
             by `kazoe migrate` alone, and that search_path names the schema with the tables"
        ),
        StorageFault::Rights => write!(
            f,
            "the role lacks a right in the database {server}: connect as kazoe_runtime, and grant \
             to it again what the migrations granted"
        ),
        StorageFault::PoolerOption => write!(
            f,
            "a connection pooler before the database {server} refuses an option: remove it from the \
             address, or let the pooler pass it (ignore_startup_parameters of PgBouncer)"
        ),
        StorageFault::PoolerMode => write!(
            f,
            "a connection pooler before the database {server} shares its sessions among clients: \
             set pool_mode = session for this database, or name the server itself in the address"
        ),
        StorageFault::Displaced | StorageFault::Other => {
            write!(f, "the database {server} failed")
        }
    }
}

impl std::error::Error for StorageError {}
