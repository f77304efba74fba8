//! What was measured, before anyone knows how it is shown.

use std::collections::BTreeMap;
use std::time::Duration;

use super::latency::{Call, Latencies};

/// All that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// How many results a second the workers were to hand in.
    pub(super) rate: u64,
    /// How long each number of workers was measured.
    pub(super) time: Duration,
    /// One for each number of workers.
    pub(super) levels: Vec<Level>,
    /// After `kill -9` of the coordinator under the last level's load.
    pub(super) recovery: Recovery,
    /// What looking at the campaign takes.
    pub(super) looks: Vec<Looks>,
    /// The workers' calls while a reader held a transaction open.
    pub(super) with_reader: Load,
    /// For how long it had been open at the end.
    pub(super) reader_open: Duration,
    /// The end.
    pub(super) audit: Audit,
}

/// What workers did in a stretch of time.
#[derive(Clone, Debug)]
pub(super) struct Load {
    /// How long it was measured.
    pub(super) time: Duration,
    /// Tallies acknowledged a second.
    pub(super) results: f64,
    /// Leases got a second.
    pub(super) leases: f64,
    /// How often a worker was told to ask again, a second.
    pub(super) later: f64,
    /// How long each call took, in the order of [`Call::ALL`].
    pub(super) calls: Vec<(Call, Latencies)>,
    /// Calls that failed and were made again, by code.
    pub(super) failed: BTreeMap<String, u64>,
}

/// So many workers.
#[derive(Clone, Debug)]
pub(super) struct Level {
    /// How many were to be held.
    pub(super) workers: u64,
    /// How many had joined at the end.
    pub(super) joined: u64,
    /// How many were heard in the time that a worker has to say that it is alive.
    pub(super) heard: u64,
    /// How long it took until all had joined, and how long their calls took meanwhile.
    pub(super) joining: (Duration, Latencies),
    /// What they did.
    pub(super) load: Load,
    /// What the coordinator, PostgreSQL and the workers themselves used: bytes at the end, and processor
    /// time in seconds a second; `None` where that cannot be seen.
    pub(super) coordinator: Option<Use>,
    /// See above.
    pub(super) postgres: Option<Use>,
    /// See above.
    pub(super) crowds: Option<Use>,
}

/// What processes used in a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    /// Bytes of memory at the end.
    pub(super) memory: u64,
    /// Processor time in seconds a second.
    pub(super) processor: f64,
}

/// How a coordinator that was killed came back; times from its end on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    /// Results a second before.
    pub(super) rate: f64,
    /// Until another listened.
    pub(super) listening: Duration,
    /// Until results flowed at nine tenths of that rate again, for a second.
    pub(super) flowing: Duration,
    /// Until every worker had an answer.
    pub(super) heard: Duration,
}

/// What it took to look at the campaign, some times each.
#[derive(Clone, Debug)]
pub(super) struct Looks {
    /// Under which circumstances.
    pub(super) when: &'static str,
    /// How many segments were accepted.
    pub(super) segments: u64,
    /// Until the first snapshot of Watch.
    pub(super) watch: Latencies,
    /// Until the answer to Report.
    pub(super) report: Latencies,
}

/// What the ledger holds at the end.
#[derive(Clone, Debug)]
pub(super) struct Audit {
    /// Tallies that were acknowledged, each of which is there once.
    pub(super) acknowledged: u64,
    /// Segments accepted.
    pub(super) accepted: u64,
    /// Segments of the prefix, whose sums are those of a serial run.
    pub(super) prefix: u64,
    /// Bytes of the database.
    pub(super) bytes: u64,
}
