//! A part of a campaign as the desk that a worker's session goes to: nobody else works on it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use kazoe_common::census::{Counter, Segment};
use kazoe_coordinator::ledger::{CampaignRecord, Ledger, LedgerError, Who};
use kazoe_worker::desk::{Desk, Finished, Job, LeaseNumber, Offer, Receipt, Wish};

use super::handing_in::{deliveries, receipts};

/// Nobody takes a segment back here.
const HOLD: Duration = Duration::from_secs(3600);

/// The segments of a range that a ledger has not yet.
pub(crate) struct PartDesk<'a, L> {
    ledger: &'a L,
    campaign: &'a CampaignRecord,
    who: Who,
    counter: Arc<Counter>,
    /// What was not looked at yet.
    ahead: Range<Segment>,
    claimed: LeaseNumber,
}

impl<'a, L: Ledger> PartDesk<'a, L> {
    pub(crate) const fn new(
        ledger: &'a L,
        campaign: &'a CampaignRecord,
        who: Who,
        counter: Arc<Counter>,
        segments: Range<Segment>,
    ) -> Self {
        PartDesk {
            ledger,
            campaign,
            who,
            counter,
            ahead: segments,
            claimed: 0,
        }
    }

    /// The next missing segments, at most so many; none if there are no more.
    async fn missing(&mut self, want: u32) -> Result<Vec<Segment>, LedgerError> {
        let mut missing = Vec::new();
        while missing.is_empty() && !self.ahead.is_empty() {
            let from = self.ahead.start;
            let to = self.ahead.end.min(from + u64::from(want));
            let there = self.ledger.segments(&self.campaign.id, from, want).await?;
            let there: BTreeSet<Segment> = there.into_iter().map(|one| one.segment).collect();
            missing.extend((from..to).filter(|segment| !there.contains(segment)));
            self.ahead.start = to;
        }
        Ok(missing)
    }
}

impl<L: Ledger> Desk for PartDesk<'_, L> {
    type Error = LedgerError;
    type Count = Counter;

    async fn claim(&mut self, wish: Wish) -> Result<Offer<Counter>, LedgerError> {
        let missing = self.missing(wish.segments.max(1)).await?;
        if missing.is_empty() {
            return Ok(Offer::Over);
        }
        let lease = self.claimed;
        self.claimed += 1;
        let cut = self.campaign.cut;
        let jobs = missing.into_iter().map(|segment| Job {
            lease,
            segment,
            first_block: segment * cut.segment_blocks,
            samples: cut.samples_of(segment),
        });
        Ok(Offer::Lease {
            lease,
            count: Arc::clone(&self.counter),
            jobs: jobs.collect(),
            hold: HOLD,
        })
    }

    async fn deliver(
        &mut self,
        _: LeaseNumber,
        finished: Vec<Finished>,
    ) -> Result<Vec<Receipt>, LedgerError> {
        let deliveries = deliveries(finished);
        let id = &self.campaign.id;
        let verdicts = self.ledger.import(id, &self.who, &deliveries).await?;
        Ok(receipts(verdicts))
    }

    async fn extend(&mut self, _: LeaseNumber) -> Result<Option<Duration>, LedgerError> {
        Ok(Some(HOLD))
    }

    async fn end(&mut self, _: LeaseNumber) -> Result<(), LedgerError> {
        Ok(())
    }
}
