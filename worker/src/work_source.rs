//! Where a worker gets leases and hands in tallies.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kazoe_common::census::{BLOCK, Block, Segment, SegmentResult};
use kazoe_proto::outcome::DeliveryOutcome;

use crate::count::Count;

/// The desk's own number for a lease.
pub type LeaseNumber = u64;

/// One segment to be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Under which lease.
    pub lease: LeaseNumber,
    /// The segment.
    pub segment: Segment,
    /// Its first block.
    pub first_block: Block,
    /// How many samples it has, at least 1.
    pub samples: u64,
}

impl Job {
    /// How many blocks it has.
    #[must_use]
    pub const fn blocks(&self) -> u64 {
        self.samples.div_ceil(BLOCK)
    }

    /// How many samples its `number`-th block has, counted from 0.
    #[must_use]
    pub fn samples_in(&self, number: u64) -> u64 {
        self.samples.saturating_sub(number * BLOCK).min(BLOCK)
    }
}

/// How much work is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// About so many segments, if they are like the last ones.
    pub segments: u32,
    /// Samples a second that all threads together compute of late, if that is known.
    pub samples_per_second: Option<u64>,
}

/// The answer to a request for work.
#[derive(Debug)]
pub enum Offer<C> {
    /// A lease.
    Lease {
        /// Its number.
        lease: LeaseNumber,
        /// What counts its blocks.
        count: Arc<C>,
        /// Its segments, at least one, all under that number.
        jobs: Vec<Job>,
        /// How long it holds from now on.
        hold: Duration,
    },
    /// Nothing now; ask again after a while.
    Later(Duration),
    /// There will be nothing more.
    Over,
}

/// Where a worker gets leases and hands in tallies: a ledger in the same process, or a coordinator.
pub trait WorkSource {
    /// Why the desk did not do it.
    type Error;

    /// What counts its blocks.
    type Count: Count;

    /// Asks for work.
    fn claim(
        &mut self,
        wish: Wish,
    ) -> impl Future<Output = Result<Offer<Self::Count>, Self::Error>>;

    /// Hands in segments of one lease. When it returns they are safe. Returns one outcome a segment, in order.
    fn deliver(
        &mut self,
        lease: LeaseNumber,
        results: Vec<SegmentResult>,
    ) -> impl Future<Output = Result<Vec<DeliveryOutcome>, Self::Error>>;

    /// Asks for more time. Returns how long the lease holds from now on; `None` if it is over, and nothing
    /// more of it is wanted than what is begun.
    fn extend(
        &mut self,
        lease: LeaseNumber,
    ) -> impl Future<Output = Result<Option<Duration>, Self::Error>>;

    /// Ends a lease; what was not handed in goes back.
    fn end(&mut self, lease: LeaseNumber) -> impl Future<Output = Result<(), Self::Error>>;
}
