//! One machine and no network: a local store and a worker in one process.
//!
//! [`begin`] submits, resumes or extends a campaign. [`run`] counts its missing segments until all are there or
//! it is stopped. [`verify::Checker`] computes segments again and compares.

mod queue;
pub(crate) mod verify;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use kazoe_common::census::{Campaign, Counter, Cut, Segment};
use kazoe_coordinator::ledger::{
    CampaignRecord, Ledger, LedgerError, LocalStore, SelfTest, Service, Snapshot, Submission,
    Submitted, Who,
};
use kazoe_worker::self_test;
use kazoe_worker::session::{Pattern, Progress, SessionError, Summary, work};
use kazoe_worker::stop::Stop;

use queue::Queue;

#[cfg(test)]
mod tests;

/// Blocks in a segment of a campaign that begins here: about a quarter of a second to a few seconds of
/// one core's work, which is what `kill -9` may lose.
pub(crate) const SEGMENT_BLOCKS: u64 = 64;

/// This build, as it stands in ledgers.
pub(crate) fn build() -> String {
    format!("kazoe {}", env!("CARGO_PKG_VERSION"))
}

/// The machine's host name; empty where the system has none.
pub(crate) fn host() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

/// How many threads this process may use: of the machine's cores those that its control group allows,
/// or what a batch system gave it.
pub(crate) fn cores() -> usize {
    let given = std::env::var("SLURM_CPUS_PER_TASK").ok();
    given
        .and_then(|given| given.parse().ok())
        .filter(|&given| given > 0)
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The author of what this process counts.
pub(crate) fn who() -> Who {
    Who {
        owner: "local".to_owned(),
        worker: "local".to_owned(),
        build: build(),
        operator: true,
    }
}

/// What this build computes for the campaign's first blocks.
pub(crate) fn self_tests(counter: &Counter) -> Vec<SelfTest> {
    let tallies = self_test::tallies(counter).into_iter();
    tallies
        .map(|(block, tally)| SelfTest { block, tally })
        .collect()
}

/// Submits, resumes or extends a campaign.
pub(crate) async fn begin(
    store: &LocalStore,
    campaign: Campaign,
    cut: Cut,
    counter: &Counter,
) -> Result<(CampaignRecord, Submitted), LedgerError> {
    let submission = Submission {
        campaign,
        cut,
        self_tests: self_tests(counter),
        build: build(),
        service: Service::default(),
    };
    store.submit(&submission).await
}

/// Counts the segments of a range that the store does not have, until all are there or `stop` is requested.
/// What is finished is saved. Several times a second `report` gets the session's progress and the store's last
/// snapshot: `snapshot.accepted_samples + progress.computed - progress.delivered` samples are computed.
pub(crate) async fn run(
    store: &LocalStore,
    campaign: &CampaignRecord,
    counter: Arc<Counter>,
    segments: Range<Segment>,
    threads: usize,
    stop: Arc<Stop>,
    mut report: impl FnMut(&Progress, &Snapshot),
) -> Result<(Summary, Snapshot), SessionError<LedgerError>> {
    let first = store.snapshot(&campaign.id).await;
    let snapshot = RefCell::new(first.map_err(SessionError::Source)?);
    let queue = Queue::new(store, campaign, counter, segments, &snapshot).await;
    let mut queue = queue.map_err(SessionError::Source)?;
    let report = |progress: &Progress| report(progress, &snapshot.borrow());
    let summary = work(&mut queue, Pattern::new(threads), stop, report).await?;
    Ok((summary, snapshot.into_inner()))
}
