//! A whole file in one transaction.

use sqlx::{Sqlite, Transaction};

use super::{LocalStore, results, submit};
use crate::ledger::{CampaignRecord, LedgerError, Submission, Submitted, Who};
use kazoe_common::census::SegmentResult;
use kazoe_proto::outcome::DeliveryOutcome;

/// A submission and tallies that are taken together: wholly by [`commit`](Self::commit), or not at all if it
/// is dropped, or the process ends, before.
#[derive(Debug)]
pub struct WholeImport<'a> {
    ledger: &'a LocalStore,
    transaction: Transaction<'static, Sqlite>,
}

impl LocalStore {
    /// Begins an import in one transaction; nothing else is written until it ends.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn begin_import(&self) -> Result<WholeImport<'_>, LedgerError> {
        let transaction = self.at_home(self.writing().await)?;
        Ok(WholeImport {
            ledger: self,
            transaction,
        })
    }
}

impl WholeImport<'_> {
    /// Submits, resumes or extends the campaign, as [`Ledger::submit`](crate::ledger::Ledger::submit).
    ///
    /// # Errors
    /// As there.
    pub async fn submit(
        &mut self,
        submission: &Submission,
    ) -> Result<(CampaignRecord, Submitted), LedgerError> {
        let submitted = submit::submit(&mut self.transaction, submission).await;
        self.ledger.at_home(submitted)
    }

    /// Takes tallies, as [`Ledger::import`](crate::ledger::Ledger::import).
    ///
    /// # Errors
    /// As there.
    pub async fn import(
        &mut self,
        id: &str,
        who: &Who,
        deliveries: &[SegmentResult],
    ) -> Result<Vec<DeliveryOutcome>, LedgerError> {
        let verdicts = results::import(&mut self.transaction, id, who, deliveries).await;
        self.ledger.at_home(verdicts)
    }

    /// Takes all of it.
    ///
    /// # Errors
    /// [`LedgerError::Storage`]; nothing was taken then.
    pub async fn commit(self) -> Result<(), LedgerError> {
        let committed = self.transaction.commit().await;
        self.ledger.at_home(committed.map_err(Into::into))
    }
}
