//! Leases: who holds which segments until when.

use std::sync::Arc;
use std::time::Duration;

use kazoe_common::census::{Cut, Segment, SegmentResult, Witness};
use kazoe_proto::lease_key::LeaseKey;

use super::LedgerError;
use crate::leasing::{Millis, Purpose};

/// Who acts, by its credential and never by what a message says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    /// The person or laboratory that answers for the worker.
    pub owner: String,
    /// The worker's id.
    pub worker: String,
    /// The build it runs.
    pub build: String,
    /// Whether it acts as the operator, who settles disputes alone.
    pub operator: bool,
}

/// A request for segments of a campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The worker that asks.
    pub who: Who,
    /// The most segments that it wants.
    pub want: u32,
    /// How long the lease holds.
    pub hold: Duration,
}

/// One segment of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    /// The segment.
    pub segment: Segment,
    /// How many samples it had when it was lent.
    pub samples: u64,
    /// What it is lent for.
    pub purpose: Purpose,
}

/// Segments lent to one worker until a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The key that extends or ends it and under which results arrive.
    pub key: LeaseKey,
    /// The campaign's id.
    pub campaign: String,
    /// What is lent, at least one segment.
    pub segments: Vec<Lent>,
    /// When it was claimed, by the database's clock.
    pub claimed_at: Millis,
    /// Until when it holds, by the database's clock.
    pub deadline: Millis,
}

/// Results that arrive under the key of one lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The lease's key.
    pub key: LeaseKey,
    /// The results, each of another segment.
    pub results: Arc<[SegmentResult]>,
}

impl Delivery {
    /// Returns about how many rows it becomes.
    pub(crate) fn rows(&self) -> usize {
        let rows = self
            .results
            .iter()
            .map(|one| 8 + one.tally.cells.len() + one.tally.depths.len() + one.witnesses.len());
        rows.sum()
    }
}

/// Checks what can be checked of a result by itself: the identities of its tally, and that its witnesses lie in
/// its segment.
///
/// # Errors
/// [`LedgerError::Samples`], [`LedgerError::Tally`] or [`LedgerError::Witness`].
pub(super) fn check(result: &SegmentResult, cut: &Cut) -> Result<(), LedgerError> {
    let &SegmentResult {
        segment, samples, ..
    } = result;
    let broken = |broken| LedgerError::Tally { segment, broken };
    let most = cut.segment_samples();
    if !(1..=most).contains(&samples) {
        return Err(LedgerError::Samples {
            segment,
            samples,
            most,
        });
    }
    result.tally.check(samples).map_err(broken)?;
    let first = segment.saturating_mul(cut.segment_samples());
    let inside = first..first.saturating_add(samples);
    let mut last = None;
    for witness in &result.witnesses {
        let key = (witness.index(), matches!(witness, Witness::Path { .. }));
        let possible = match *witness {
            Witness::Unreachable { depth, .. } => depth >= 1,
            Witness::Path { length, .. } => length >= 1,
        };
        if !possible || !inside.contains(&key.0) || last.is_some_and(|last| last >= key) {
            return Err(LedgerError::Witness {
                segment,
                index: key.0,
            });
        }
        last = Some(key);
    }
    Ok(())
}
