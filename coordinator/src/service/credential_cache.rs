//! All credentials, as the database had them a moment ago: a call costs no query, whatever token it shows.
//!
//! They are read twice a second, and at once when somebody shows a token that is not among them, ten
//! times a second at most: whoever tries tokens waits for readings that happen anyway. A token that was
//! revoked at this coordinator is refused from the next message on ([`CredentialCache::reread`]); one that was
//! revoked elsewhere, by the next reading. Nothing older than [`STALE`] is believed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use tokio::time::timeout;
use tonic::Status;

use super::status;
use crate::ledger::{Credential, PostgresLedger};

/// How often the credentials are read.
const READ: Duration = Duration::from_millis(500);

/// How long after a reading the next one begins at the earliest.
const PAUSE: Duration = Duration::from_millis(100);

/// For how long a reading is believed when the next one does not come.
const STALE: Duration = Duration::from_secs(2);

/// How long somebody waits for a reading.
const PATIENCE: Duration = Duration::from_secs(10);

/// The credentials by their ids.
#[derive(Debug, Default)]
pub(super) struct CredentialCache {
    pages: Mutex<Pages>,
    wanted: Notify,
    /// The number of the last reading that ended.
    ended: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Pages {
    credentials: Arc<HashMap<String, Credential>>,
    /// When the last good reading began.
    read: Option<Instant>,
    /// How many readings began.
    begun: u64,
    /// Why the last one failed, if it did.
    failure: Option<Status>,
}

impl Pages {
    fn are_fresh(&self) -> bool {
        self.read.is_some_and(|read| read.elapsed() < STALE)
    }
}

impl CredentialCache {
    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads for as long as it is polled.
    pub(super) async fn keep(&self, ledger: &PostgresLedger) {
        loop {
            self.read(ledger).await;
            tokio::time::sleep(PAUSE).await;
            // Whoever wanted one waits until it has ended.
            let _ = timeout(READ, self.wanted.notified()).await;
        }
    }

    async fn read(&self, ledger: &PostgresLedger) {
        let began = Instant::now();
        let number = {
            let mut pages = self.pages();
            pages.begun += 1;
            pages.begun
        };
        let credentials = ledger.credentials().await;
        {
            let mut pages = self.pages();
            match credentials {
                Ok(credentials) => {
                    let by_id = credentials.into_iter().map(|one| (one.id.clone(), one));
                    pages.credentials = Arc::new(by_id.collect());
                    pages.read = Some(began);
                    pages.failure = None;
                }
                Err(error) => pages.failure = Some(status::status(&error)),
            }
        }
        self.ended.send_replace(number);
    }

    /// Waits for a reading that begins from now on.
    ///
    /// # Errors
    /// What the ledger said, or `Unavailable`.
    pub(super) async fn reread(&self) -> Result<(), Status> {
        let after = self.pages().begun;
        let mut ended = self.ended.subscribe();
        self.wanted.notify_one();
        let reading = ended.wait_for(|&ended| ended > after);
        let came = timeout(PATIENCE, reading).await.is_ok();
        match self.pages().failure.clone() {
            Some(failure) => Err(failure),
            None if came => Ok(()),
            None => Err(Status::unavailable(
                "the database has not answered for 10 s; the log of the coordinator has the cause",
            )),
        }
    }

    /// The credential of this id, if there is one.
    ///
    /// # Errors
    /// If the database does not say.
    pub(super) async fn find(&self, id: &str) -> Result<Option<Credential>, Status> {
        if let Some(found) = self.look(id) {
            return Ok(Some(found));
        }
        self.reread().await?;
        Ok(self.pages().credentials.get(id).cloned())
    }

    /// What a fresh reading says of this id.
    fn look(&self, id: &str) -> Option<Credential> {
        let pages = self.pages();
        let credentials = pages.are_fresh().then_some(&pages.credentials)?;
        credentials.get(id).cloned()
    }
}
