//! Where a worker gets leases and hands in tallies.

use std::future::Future;
use std::time::Duration;

use kazoe_common::census::{BLOCK, Block, Segment, Tally, Witness};

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

/// A segment that is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What it was asked for.
    pub job: Job,
    /// What was counted.
    pub tally: Tally,
    /// What is kept of single samples, ascending by index.
    pub witnesses: Vec<Witness>,
}

/// The answer to a request for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// A lease.
    Lease {
        /// Its number.
        lease: LeaseNumber,
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

/// What became of a tally that was handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    /// It fills its segment.
    Accepted,
    /// It equals what is there.
    Confirmed,
    /// It differs from what is there, or its segment is disputed.
    Disputed,
    /// Its segment was cut anew meanwhile.
    Stale,
}

/// Where a worker gets leases and hands in tallies: a ledger in the same process, or a coordinator.
pub trait Desk {
    /// Why the desk did not do it.
    type Error;

    /// Asks for about so many segments.
    fn claim(&mut self, want: u32) -> impl Future<Output = Result<Offer, Self::Error>>;

    /// Hands in segments of one lease. When it returns they are safe. One receipt a segment, in order.
    fn deliver(
        &mut self,
        lease: LeaseNumber,
        finished: Vec<Finished>,
    ) -> impl Future<Output = Result<Vec<Receipt>, Self::Error>>;

    /// Asks for more time. Returns how long the lease holds from now on; `None` if it is over.
    fn extend(
        &mut self,
        lease: LeaseNumber,
    ) -> impl Future<Output = Result<Option<Duration>, Self::Error>>;

    /// Ends a lease; what was not handed in goes back.
    fn end(&mut self, lease: LeaseNumber) -> impl Future<Output = Result<(), Self::Error>>;
}
