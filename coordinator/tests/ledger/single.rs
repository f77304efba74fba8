//! The operations of a cluster's ledger on one request, as a batch of one.

use std::time::Duration;

use kazoe_coordinator::leasing::Verdict;
use kazoe_coordinator::ledger::{
    AskingWorker, Beat, Claim, Delivery, Heartbeat, Lease, LedgerError, NewWorker, Parcel,
    PostgresLedger, Token, Who, WorkerRecord,
};

type Answers<A> = Result<Vec<Result<A, LedgerError>>, LedgerError>;

/// One request at a time.
pub(crate) trait Single {
    async fn claim_one(
        &self,
        campaign: &str,
        who: &Who,
        want: u32,
        hold: Duration,
    ) -> Result<Option<Lease>, LedgerError>;

    async fn deliver_one(
        &self,
        token: Token,
        deliveries: &[Delivery],
    ) -> Result<Vec<Verdict>, LedgerError>;

    async fn end_one(&self, token: Token) -> Result<u64, LedgerError>;

    async fn beat_one(
        &self,
        token: Token,
        worker: &str,
        hold: Duration,
    ) -> Result<Heartbeat, LedgerError>;

    /// A heartbeat of no worker.
    async fn extend(&self, token: Token, hold: Duration) -> Result<(), LedgerError>;

    async fn join_one(&self, id: &str, new: &NewWorker) -> Result<bool, LedgerError>;

    async fn ask_one(
        &self,
        asking: AskingWorker,
    ) -> Result<Option<(WorkerRecord, u64)>, LedgerError>;
}

impl Single for PostgresLedger {
    async fn claim_one(
        &self,
        campaign: &str,
        who: &Who,
        want: u32,
        hold: Duration,
    ) -> Result<Option<Lease>, LedgerError> {
        let claim = Claim {
            who: who.clone(),
            want,
            hold,
        };
        Ok(self.claim(campaign, &[claim]).await?.remove(0))
    }

    async fn deliver_one(
        &self,
        token: Token,
        deliveries: &[Delivery],
    ) -> Result<Vec<Verdict>, LedgerError> {
        let lease = single(self.leases(&[token]).await)?;
        let parcel = Parcel {
            token,
            deliveries: deliveries.into(),
        };
        single(self.deliver(&lease.campaign, &[parcel]).await)
    }

    async fn end_one(&self, token: Token) -> Result<u64, LedgerError> {
        let lease = single(self.leases(&[token]).await)?;
        single(self.end(&lease.campaign, &[token]).await)
    }

    async fn beat_one(
        &self,
        token: Token,
        worker: &str,
        hold: Duration,
    ) -> Result<Heartbeat, LedgerError> {
        let worker = worker.to_owned();
        let beat = Beat { token, worker };
        Ok(self.heartbeat(&[beat], hold).await?.remove(0))
    }

    async fn extend(&self, token: Token, hold: Duration) -> Result<(), LedgerError> {
        match self.beat_one(token, "", hold).await? {
            Heartbeat::Extended => Ok(()),
            _ => Err(LedgerError::NotHeld(token)),
        }
    }

    async fn join_one(&self, id: &str, new: &NewWorker) -> Result<bool, LedgerError> {
        let joiner = (id.to_owned(), new.clone());
        Ok(self.join_workers(&[joiner]).await?.remove(0))
    }

    async fn ask_one(
        &self,
        asking: AskingWorker,
    ) -> Result<Option<(WorkerRecord, u64)>, LedgerError> {
        Ok(self.asking_workers(&[asking]).await?.remove(0))
    }
}

fn single<A>(answers: Answers<A>) -> Result<A, LedgerError> {
    answers?.remove(0)
}
