//! The missing segments of a campaign in a local store, as the desk that a worker's session asks for work.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use kazoe_common::census::{Counter, Segment, SegmentResult};
use kazoe_coordinator::ledger::{CampaignRecord, Ledger, LedgerError, LocalStore, Snapshot};
use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_worker::work_source::{Job, LeaseNumber, Offer, Wish, WorkSource};

use super::who;

/// No other process waits for a segment, so a lease need not end. The session asks for leases that hold.
const HOLD: Duration = Duration::from_secs(3600);

/// The segments of a range that a store does not have, in ascending order.
pub(super) struct Queue<'a> {
    store: &'a LocalStore,
    campaign: &'a CampaignRecord,
    counter: Arc<Counter>,
    missing: VecDeque<Range<Segment>>,
    claims: LeaseNumber,
    /// The store after the last tallies were saved.
    snapshot: &'a RefCell<Snapshot>,
}

impl<'a> Queue<'a> {
    pub(super) async fn new(
        store: &'a LocalStore,
        campaign: &'a CampaignRecord,
        counter: Arc<Counter>,
        segments: Range<Segment>,
        snapshot: &'a RefCell<Snapshot>,
    ) -> Result<Self, LedgerError> {
        let missing = store.missing(&campaign.id).await?.into_iter();
        let inside =
            missing.map(|range| range.start.max(segments.start)..range.end.min(segments.end));
        Ok(Queue {
            store,
            campaign,
            counter,
            missing: inside.filter(|range| !range.is_empty()).collect(),
            claims: 0,
            snapshot,
        })
    }

    /// Takes the next segment from the queue.
    fn next(&mut self) -> Option<Segment> {
        let segment = self.missing.front_mut()?.next()?;
        if self.missing[0].is_empty() {
            self.missing.pop_front();
        }
        Some(segment)
    }
}

impl WorkSource for Queue<'_> {
    type Error = LedgerError;
    type Count = Counter;

    async fn claim(&mut self, wish: Wish) -> Result<Offer<Counter>, LedgerError> {
        let cut = self.campaign.cut;
        let lease = self.claims;
        let segments = (0..wish.segments.max(1)).map_while(|_| self.next());
        let jobs: Vec<Job> = segments
            .map(|segment| Job {
                lease,
                segment,
                first_block: segment * cut.segment_blocks,
                samples: cut.samples_of(segment),
            })
            .collect();
        if jobs.is_empty() {
            return Ok(Offer::Over);
        }
        self.claims += 1;
        Ok(Offer::Lease {
            lease,
            count: Arc::clone(&self.counter),
            jobs,
            hold: HOLD,
        })
    }

    async fn deliver(
        &mut self,
        _: LeaseNumber,
        results: Vec<SegmentResult>,
    ) -> Result<Vec<DeliveryOutcome>, LedgerError> {
        let id = &self.campaign.id;
        let outcomes = self.store.import(id, &who(), &results).await?;
        *self.snapshot.borrow_mut() = self.store.snapshot(id).await?;
        Ok(outcomes)
    }

    async fn extend(&mut self, _: LeaseNumber) -> Result<Option<Duration>, LedgerError> {
        Ok(Some(HOLD))
    }

    async fn end(&mut self, _: LeaseNumber) -> Result<(), LedgerError> {
        Ok(())
    }
}
