//! A ledger in this process as the desk that a worker's session goes to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kazoe_common::census::Counter;
use kazoe_coordinator::ledger::{CampaignRecord, Ledger, LedgerError, Snapshot, Token, Who};
use kazoe_worker::desk::{Desk, Finished, Job, LeaseNumber, Offer, Receipt, Wish};

use super::handing_in::{deliveries, receipts};

/// How long a lease holds; the session asks for more time long before.
const HOLD: Duration = Duration::from_secs(600);

/// One campaign of a ledger, and who works on it.
pub(crate) struct LedgerDesk<'a, L> {
    ledger: &'a L,
    campaign: &'a CampaignRecord,
    who: Who,
    counter: Arc<Counter>,
    tokens: BTreeMap<LeaseNumber, Token>,
    claimed: LeaseNumber,
    /// The ledger as it was after the last tallies were handed in.
    snapshot: &'a RefCell<Snapshot>,
}

impl<'a, L: Ledger> LedgerDesk<'a, L> {
    pub(crate) const fn new(
        ledger: &'a L,
        campaign: &'a CampaignRecord,
        who: Who,
        counter: Arc<Counter>,
        snapshot: &'a RefCell<Snapshot>,
    ) -> Self {
        LedgerDesk {
            ledger,
            campaign,
            who,
            counter,
            tokens: BTreeMap::new(),
            claimed: 0,
            snapshot,
        }
    }
}

impl<L: Ledger> Desk for LedgerDesk<'_, L> {
    type Error = LedgerError;
    type Count = Counter;

    async fn claim(&mut self, wish: Wish) -> Result<Offer<Counter>, LedgerError> {
        let claimed = self
            .ledger
            .claim(&self.campaign.id, &self.who, wish.segments, HOLD)
            .await?;
        let Some(claimed) = claimed else {
            return Ok(Offer::Over);
        };
        let lease = self.claimed;
        self.claimed += 1;
        self.tokens.insert(lease, claimed.token);
        let jobs = claimed
            .segments
            .into_iter()
            .map(|lent| Job {
                lease,
                segment: lent.segment,
                first_block: lent.segment * self.campaign.cut.segment_blocks,
                samples: lent.samples,
            })
            .collect();
        Ok(Offer::Lease {
            lease,
            count: Arc::clone(&self.counter),
            jobs,
            hold: HOLD,
        })
    }

    async fn deliver(
        &mut self,
        lease: LeaseNumber,
        finished: Vec<Finished>,
    ) -> Result<Vec<Receipt>, LedgerError> {
        let deliveries = deliveries(finished);
        let verdicts = self
            .ledger
            .deliver(self.tokens[&lease], &deliveries)
            .await?;
        let snapshot = self.ledger.snapshot(&self.campaign.id).await?;
        *self.snapshot.borrow_mut() = snapshot;
        Ok(receipts(verdicts))
    }

    async fn extend(&mut self, lease: LeaseNumber) -> Result<Option<Duration>, LedgerError> {
        match self.ledger.extend(self.tokens[&lease], HOLD).await {
            Ok(_) => Ok(Some(HOLD)),
            Err(LedgerError::NotHeld(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn end(&mut self, lease: LeaseNumber) -> Result<(), LedgerError> {
        match self.tokens.remove(&lease) {
            None => Ok(()),
            Some(token) => match self.ledger.end(token).await {
                Ok(_) | Err(LedgerError::NotHeld(_)) => Ok(()),
                Err(error) => Err(error),
            },
        }
    }
}
