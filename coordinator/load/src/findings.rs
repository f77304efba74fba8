//! What was measured, before anyone knows how it is shown.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::latency::{Call, Latencies};

/// All that was measured.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// The program that was measured.
    pub(crate) build: String,
    /// How many results a second the workers were to hand in.
    pub(crate) rate: u64,
    /// How long each number of workers was measured.
    pub(crate) time: Duration,
    /// One for each number of workers.
    pub(crate) levels: Vec<LoadStep>,
    /// After `kill -9` of the coordinator under the last level's load.
    pub(crate) recovery: Recovery,
    /// What looking at the campaign takes.
    pub(crate) looks: Vec<QueryLatency>,
    /// The workers' calls while a reader held a transaction open.
    pub(crate) with_reader: Load,
    /// For how long it had been open at the end.
    pub(crate) reader_open: Duration,
    /// The end.
    pub(crate) audit: Audit,
}

/// What workers did in a stretch of time.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// How long it was measured.
    pub(crate) time: Duration,
    /// Tallies acknowledged a second.
    pub(crate) results: f64,
    /// Leases got a second.
    pub(crate) leases: f64,
    /// How often a worker was told to ask again, a second.
    pub(crate) later: f64,
    /// How long each call took, in the order of [`Call::ALL`].
    pub(crate) calls: Vec<(Call, Latencies)>,
    /// Calls that failed and were made again, by code.
    pub(crate) failed: BTreeMap<String, u64>,
}

/// So many workers.
#[derive(Clone, Debug)]
pub(crate) struct LoadStep {
    /// How many were to be held.
    pub(crate) workers: u64,
    /// How many had joined at the end.
    pub(crate) joined: u64,
    /// How many were heard in the time that a worker has to say that it is alive.
    pub(crate) heard: u64,
    /// How long it took until all had joined, and how long their calls took meanwhile.
    pub(crate) joining: (Duration, Latencies),
    /// What they did.
    pub(crate) load: Load,
    /// What the coordinator, PostgreSQL and the workers themselves used: bytes at the end, and processor
    /// time in seconds a second; `None` where that cannot be seen.
    pub(crate) coordinator: Option<Use>,
    /// See above.
    pub(crate) postgres: Option<Use>,
    /// See above.
    pub(crate) crowds: Option<Use>,
}

/// What processes used in a stretch of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// Bytes of memory at the end.
    pub(crate) memory: u64,
    /// Processor time in seconds a second.
    pub(crate) processor: f64,
}

/// How a coordinator that was killed came back; times from its end on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    /// Results a second before.
    pub(crate) rate: f64,
    /// Until another listened.
    pub(crate) listening: Duration,
    /// Until results flowed at nine tenths of that rate again, for a second.
    pub(crate) flowing: Duration,
    /// Until every worker had an answer.
    pub(crate) heard: Duration,
}

/// What it took to look at the campaign, some times each.
#[derive(Clone, Debug)]
pub(crate) struct QueryLatency {
    /// Under which circumstances.
    pub(crate) when: &'static str,
    /// How many segments were accepted.
    pub(crate) segments: u64,
    /// Until the first snapshot of Watch.
    pub(crate) watch: Latencies,
    /// Until the answer to Report.
    pub(crate) report: Latencies,
}

/// What the ledger holds at the end.
#[derive(Clone, Debug)]
pub(crate) struct Audit {
    /// Tallies that were acknowledged, each of which is there once.
    pub(crate) acknowledged: u64,
    /// Segments accepted.
    pub(crate) accepted: u64,
    /// Segments of the prefix, whose sums are those of a serial run.
    pub(crate) prefix: u64,
    /// Bytes of the database.
    pub(crate) bytes: u64,
}
