//! How many leases go on under each token, as of a moment ago.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::ledger::{LedgerError, PostgresLedger};

/// For how long a count is believed: counting anew for each claim would cost more than the claim.
const FRESH: Duration = Duration::from_secs(1);

/// The counts by credential.
#[derive(Debug, Default)]
pub(super) struct LeaseQuota(Mutex<HashMap<String, Count>>);

#[derive(Clone, Copy, Debug)]
struct Count {
    leases: u64,
    at: Instant,
}

impl LeaseQuota {
    fn counts(&self) -> MutexGuard<'_, HashMap<String, Count>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many go on under a credential.
    ///
    /// # Errors
    /// What the ledger says.
    pub(super) async fn under(
        &self,
        ledger: &PostgresLedger,
        credential: &str,
    ) -> Result<u64, LedgerError> {
        let at = Instant::now();
        {
            let mut counts = self.counts();
            match counts.get_mut(credential) {
                Some(count) if count.at.elapsed() < FRESH => return Ok(count.leases),
                // One counts. Whoever asks meanwhile is told the last count.
                Some(count) => count.at = at,
                None => {
                    counts.insert(credential.to_owned(), Count { leases: 0, at });
                }
            }
        }
        let leases = ledger.leases_under(credential).await?;
        let count = Count { leases, at };
        self.counts().insert(credential.to_owned(), count);
        Ok(leases)
    }

    /// One more was lent under it.
    pub(super) fn add(&self, credential: &str) {
        if let Some(count) = self.counts().get_mut(credential) {
            count.leases += 1;
        }
    }
}
