//! The operations of a cluster's ledger on one request, as a batch of one.

use std::time::Duration;

use kazoe_common::census::SegmentResult;
use kazoe_coordinator::ledger::{
    AskingWorker, Beat, Claim, Delivery, Heartbeat, Lease, LedgerError, NewWorker, PostgresLedger,
    Who, WorkerRecord,
};
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;

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
        key: LeaseKey,
        results: &[SegmentResult],
    ) -> Result<Vec<DeliveryOutcome>, LedgerError>;

    async fn end_one(&self, key: LeaseKey) -> Result<u64, LedgerError>;

    async fn beat_one(
        &self,
        key: LeaseKey,
        worker: &str,
        hold: Duration,
    ) -> Result<Heartbeat, LedgerError>;

    /// A heartbeat of no worker.
    async fn extend(&self, key: LeaseKey, hold: Duration) -> Result<(), LedgerError>;

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
        key: LeaseKey,
        results: &[SegmentResult],
    ) -> Result<Vec<DeliveryOutcome>, LedgerError> {
        let lease = single(self.leases(&[key]).await)?;
        let delivery = Delivery {
            key,
            results: results.into(),
        };
        single(self.deliver(&lease.campaign, &[delivery]).await)
    }

    async fn end_one(&self, key: LeaseKey) -> Result<u64, LedgerError> {
        let lease = single(self.leases(&[key]).await)?;
        single(self.end(&lease.campaign, &[key]).await)
    }

    async fn beat_one(
        &self,
        key: LeaseKey,
        worker: &str,
        hold: Duration,
    ) -> Result<Heartbeat, LedgerError> {
        let worker = worker.to_owned();
        let beat = Beat { key, worker };
        Ok(self.heartbeat(&[beat], hold).await?.remove(0))
    }

    async fn extend(&self, key: LeaseKey, hold: Duration) -> Result<(), LedgerError> {
        match self.beat_one(key, "", hold).await? {
            Heartbeat::Extended => Ok(()),
            _ => Err(LedgerError::NotHeld(key)),
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
