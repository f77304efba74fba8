//! Whether a server may hold a ledger now: it takes writes, and keeps what it commits.

use sqlx::{Error, PgConnection};

use super::sqlstate::storage_error;
use crate::ledger::{Place, StorageError, StorageFault};

/// Checks that the server takes writes and keeps what it commits.
///
/// # Errors
/// [`StorageFault::Standby`], [`StorageFault::ReadOnly`] or [`StorageFault::NotDurable`], or what the server
/// says.
pub(super) async fn check(server: &str, conn: &mut PgConnection) -> Result<(), StorageError> {
    let found = sqlx::query_as::<_, (bool, bool, bool)>(
        "-- fitness_check
         SELECT pg_is_in_recovery(), current_setting('default_transaction_read_only')::boolean,
                current_setting('fsync')::boolean",
    )
    .fetch_one(conn)
    .await;
    let (recovers, reads_only, syncs) =
        found.map_err(|error: Error| storage_error(server, &error))?;
    let unfit = |fault, detail: &str| {
        Err(StorageError {
            place: Place::Server(server.to_owned()),
            fault,
            detail: detail.to_owned(),
        })
    };
    if recovers {
        return unfit(StorageFault::Standby, "pg_is_in_recovery() is true");
    }
    if reads_only {
        return unfit(
            StorageFault::ReadOnly,
            "default_transaction_read_only is on",
        );
    }
    if !syncs {
        return unfit(
            StorageFault::NotDurable { setting: "fsync" },
            "fsync is off",
        );
    }
    Ok(())
}
