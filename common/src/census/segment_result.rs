//! What was counted of one segment: what a worker hands in, and what a ledger keeps.

use std::time::Duration;

use super::{Segment, Tally, Witness};

/// The result of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentResult {
    /// The segment.
    pub segment: Segment,
    /// How many samples were counted: those that the segment had when it was leased.
    pub samples: u64,
    /// What was counted.
    pub tally: Tally,
    /// What is kept of single samples: ascending by index, an unreachable one before a path.
    pub witnesses: Vec<Witness>,
    /// How much CPU time it took, as the worker says; `None` where its system does not measure it. Nothing is
    /// compared with it.
    pub cpu: Option<Duration>,
}
