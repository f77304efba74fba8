//! What a caller is told when the ledger does not do what was asked.

use tonic::Status;

use crate::ledger::{LedgerError, StorageFault};

/// The ledger's error on the wire. What a worker may send again later is `Unavailable`.
pub(super) fn status(error: &LedgerError) -> Status {
    let words = error.to_string();
    match error {
        LedgerError::UnknownCampaign(_) | LedgerError::NotHeld(_) => Status::not_found(words),
        LedgerError::SelfTest { .. }
        | LedgerError::Differs { .. }
        | LedgerError::Foreign(_)
        | LedgerError::Row(_)
        | LedgerError::Complete(_)
        | LedgerError::Cancelled(_) => Status::failed_precondition(words),
        LedgerError::NotLent(_)
        | LedgerError::Samples { .. }
        | LedgerError::Tally { .. }
        | LedgerError::Witness { .. } => Status::invalid_argument(words),
        LedgerError::Storage(storage) if storage.fault == StorageFault::Corrupt => {
            Status::data_loss(words)
        }
        LedgerError::Abandoned | LedgerError::Storage(_) => Status::unavailable(words),
    }
}
