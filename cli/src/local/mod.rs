//! One machine and no network: a ledger and a worker in one process.
//!
//! [`begin`] submits, resumes or extends a campaign, [`run`] works on it until it is complete or told to
//! stop, [`compute`] on a part of it, [`verify::Checker`] computes segments again and compares. They join
//! the crates and decide nothing: what is lent and what counts the ledger says, when to claim and to hand
//! in the worker's session.

mod desk;
mod handing_in;
mod part;
pub(crate) mod verify;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use kazoe_common::census::{Campaign, Counter, Cut, Segment};
use kazoe_coordinator::ledger::{
    CampaignRecord, Ledger, LedgerError, SelfTest, Service, Snapshot, Submission, Submitted, Who,
};
use kazoe_worker::proof;
use kazoe_worker::session::{Pattern, Progress, SessionError, Summary, work};
use kazoe_worker::stop::Stop;

use desk::LedgerDesk;
use part::PartDesk;

#[cfg(test)]
mod tests;

/// Blocks in a segment of a campaign that begins here: about a quarter of a second to a few seconds of
/// one core's work, which is what `kill -9` may lose.
pub(crate) const SEGMENT_BLOCKS: u64 = 64;

/// This build, as it stands in ledgers.
pub(crate) fn build() -> String {
    format!("kazoe {}", env!("CARGO_PKG_VERSION"))
}

/// What the system calls this machine; empty where it tells nothing.
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

/// Who works here: the one who owns the ledger, and so settles its disputes.
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
    let tallies = proof::tallies(counter).into_iter();
    tallies
        .map(|(block, tally)| SelfTest { block, tally })
        .collect()
}

/// Submits, resumes or extends a campaign. Leases that an earlier process left here go back at once:
/// the ledger has one writer, so whoever held them is gone.
pub(crate) async fn begin<L: Ledger>(
    ledger: &L,
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
    let begun = ledger.submit(&submission).await?;
    ledger.forfeit(&who().worker).await?;
    Ok(begun)
}

/// Works on a campaign until there is nothing more to do or it is told to stop. `tell` hears several
/// times a second how this session stands, and the ledger's last snapshot: of the campaign's samples
/// `snapshot.accepted_samples + progress.computed - progress.delivered` are computed.
pub(crate) async fn run<L: Ledger>(
    ledger: &L,
    campaign: &CampaignRecord,
    counter: Arc<Counter>,
    threads: usize,
    stop: Arc<Stop>,
    mut tell: impl FnMut(&Progress, &Snapshot),
) -> Result<(Summary, Snapshot), SessionError<LedgerError>> {
    let first = ledger.snapshot(&campaign.id).await;
    let snapshot = RefCell::new(first.map_err(SessionError::Desk)?);
    let mut desk = LedgerDesk::new(ledger, campaign, who(), counter, &snapshot);
    let tell = |progress: &Progress| tell(progress, &snapshot.borrow());
    let summary = work(&mut desk, Pattern::new(threads), stop, tell).await?;
    let last = ledger.snapshot(&campaign.id).await;
    Ok((summary, last.map_err(SessionError::Desk)?))
}

/// Computes those of a campaign's segments that the ledger has not yet, until all of the range are there
/// or it is told to stop. Whatever is finished is in the ledger.
pub(crate) async fn compute<L: Ledger>(
    ledger: &L,
    campaign: &CampaignRecord,
    counter: Arc<Counter>,
    segments: Range<Segment>,
    threads: usize,
    stop: Arc<Stop>,
    tell: impl FnMut(&Progress),
) -> Result<Summary, SessionError<LedgerError>> {
    let mut desk = PartDesk::new(ledger, campaign, who(), counter, segments);
    work(&mut desk, Pattern::new(threads), stop, tell).await
}
