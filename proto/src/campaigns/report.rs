//! What a report is made from.

use kazoe_common::census::{BLOCK, Cut, Witness};

use super::{BUILD, CampaignRecord, Snapshot, record, record_message, snapshot, snapshot_message};
use crate::admin::OWNER;
use crate::census;
use crate::invalid::{length, text, within};
use crate::{Invalid, name, v1};

/// What one build contributed to the accepted segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildShare {
    /// The build.
    pub build: String,
    /// How many accepted segments it computed.
    pub segments: u64,
    /// When the first of them arrived, in milliseconds since 1970 by the ledger's clock.
    pub first_at: i64,
    /// When the last of them arrived.
    pub last_at: i64,
}

/// What one owner contributed, from the rows of the ledger's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerShare {
    /// Who answers for it.
    pub owner: String,
    /// How many segments count with a tally of its.
    pub segments: u64,
    /// How many samples those have.
    pub samples: u64,
    /// How many of those samples are reachable.
    pub reachable: u64,
    /// How many of those segments another owner, or the operator, got as well.
    pub audited: u64,
    /// How many of its tallies differ from what counts now, by a ruling.
    pub disagreed: u64,
    /// How many of its tallies belong to an open dispute: the honest side's as well.
    pub disputed: u64,
    /// How many seconds of CPU time those segments took: as its workers told it, or about, by the speed that
    /// they measured last; `None` where neither is known of all.
    pub core_seconds: Option<u64>,
    /// Of how many of those segments nobody told it.
    pub estimated: u64,
}

/// What one worker contributed to the accepted segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerShare {
    /// Its id.
    pub worker: String,
    /// What people call its machine.
    pub name: Option<String>,
    /// Who answers for it.
    pub owner: String,
    /// How many segments count with a tally of its.
    pub segments: u64,
}

/// The most workers in a report.
pub const MOST_WORKERS: usize = 100;

/// What a report is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Findings {
    /// The campaign.
    pub record: CampaignRecord,
    /// Where it stands.
    pub snapshot: Snapshot,
    /// Who computed it.
    pub builds: Vec<BuildShare>,
    /// Who answers for it.
    pub owners: Vec<OwnerShare>,
    /// On which machines it was computed, the most first.
    pub workers: Vec<WorkerShare>,
    /// How many more workers have accepted segments.
    pub more_workers: u64,
    /// The prefix's paths, ascending by index, each of another block.
    pub paths: Vec<Witness>,
}

/// What a report is made from, as a message.
#[must_use]
pub fn report_response(findings: &Findings) -> v1::ReportResponse {
    let builds = findings
        .builds
        .iter()
        .map(|share| v1::report_response::BuildShare {
            build: share.build.clone(),
            segments: share.segments,
            first_at_ms: share.first_at,
            last_at_ms: share.last_at,
        });
    v1::ReportResponse {
        campaign: Some(record_message(&findings.record)),
        snapshot: Some(snapshot_message(&findings.snapshot)),
        builds: builds.collect(),
        owners: findings.owners.iter().map(owner_share_message).collect(),
        workers: findings.workers.iter().map(worker_share_message).collect(),
        more_workers: findings.more_workers,
        paths: findings.paths.iter().map(census::witness_message).collect(),
    }
}

/// What a report is made from, as a message says it.
///
/// # Errors
/// The first field that cannot be.
pub fn findings(message: v1::ReportResponse) -> Result<Findings, Invalid> {
    let record = record("campaign", message.campaign)?;
    let snapshot = snapshot("snapshot", message.snapshot)?;
    if snapshot.campaign != record.campaign.id() {
        return Err(Invalid::new(
            "snapshot.campaign",
            "it is another campaign's",
        ));
    }
    length("builds", &message.builds, 0..=1 << 16)?;
    let builds = message.builds.into_iter().enumerate();
    let builds = builds.map(|(place, share)| {
        let at = |name: &str| format!("builds[{place}].{name}");
        let first_at = share.first_at_ms;
        Ok(BuildShare {
            build: text(&at("build"), share.build, 0..=BUILD)?,
            segments: within(&at("segments"), share.segments, 1..=record.cut.segments())?,
            first_at,
            last_at: within(&at("last_at_ms"), share.last_at_ms, first_at..=i64::MAX)?,
        })
    });
    Ok(Findings {
        builds: builds.collect::<Result<_, Invalid>>()?,
        owners: owners(&record.cut, message.owners)?,
        workers: workers(&record.cut, message.workers)?,
        more_workers: message.more_workers,
        paths: paths(&snapshot, message.paths)?,
        snapshot,
        record,
    })
}

fn owner_share_message(share: &OwnerShare) -> v1::report_response::OwnerShare {
    v1::report_response::OwnerShare {
        owner: share.owner.clone(),
        segments: share.segments,
        samples: share.samples,
        reachable: share.reachable,
        audited: share.audited,
        disagreed: share.disagreed,
        disputed: share.disputed,
        core_seconds: share.core_seconds,
        estimated: share.estimated,
    }
}

fn worker_share_message(share: &WorkerShare) -> v1::report_response::WorkerShare {
    v1::report_response::WorkerShare {
        worker: share.worker.clone(),
        name: share.name.clone().unwrap_or_default(),
        owner: share.owner.clone(),
        segments: share.segments,
    }
}

/// The workers of a campaign that messages say.
fn workers(
    cut: &Cut,
    messages: Vec<v1::report_response::WorkerShare>,
) -> Result<Vec<WorkerShare>, Invalid> {
    length("workers", &messages, 0..=MOST_WORKERS)?;
    let workers = messages.into_iter().enumerate().map(|(place, share)| {
        let at = |name: &str| format!("workers[{place}].{name}");
        Ok(WorkerShare {
            worker: text(&at("worker"), share.worker, 1..=64)?,
            name: name::label(&share.name),
            owner: text(&at("owner"), share.owner, 1..=OWNER)?,
            segments: within(&at("segments"), share.segments, 1..=cut.segments())?,
        })
    });
    workers.collect()
}

/// The owners of a campaign that messages say; all together they have no more than there is.
fn owners(
    cut: &Cut,
    messages: Vec<v1::report_response::OwnerShare>,
) -> Result<Vec<OwnerShare>, Invalid> {
    length("owners", &messages, 0..=1 << 16)?;
    let (mut segments, mut samples) = (cut.segments(), cut.samples);
    let owners = messages.into_iter().enumerate().map(|(place, share)| {
        let at = |name: &str| format!("owners[{place}].{name}");
        segments -= within(&at("segments"), share.segments, 0..=segments)?;
        samples -= within(&at("samples"), share.samples, 0..=samples)?;
        Ok(OwnerShare {
            owner: text(&at("owner"), share.owner, 1..=OWNER)?,
            segments: share.segments,
            samples: share.samples,
            reachable: within(&at("reachable"), share.reachable, 0..=share.samples)?,
            audited: within(&at("audited"), share.audited, 0..=share.segments)?,
            disagreed: share.disagreed,
            disputed: share.disputed,
            core_seconds: share.core_seconds,
            estimated: within(&at("estimated"), share.estimated, 0..=share.segments)?,
        })
    });
    owners.collect()
}

/// The paths of a snapshot's prefix that messages say.
fn paths(snapshot: &Snapshot, messages: Vec<v1::Witness>) -> Result<Vec<Witness>, Invalid> {
    let cut = &snapshot.cut;
    let samples = cut
        .samples
        .min(snapshot.prefix_segments * cut.segment_samples());
    let mut paths: Vec<Witness> = Vec::with_capacity(messages.len());
    for (place, message) in messages.into_iter().enumerate() {
        let field = format!("paths[{place}]");
        let path = census::witness(&field, message)?;
        let wrong = if !matches!(path, Witness::Path { .. }) {
            "it is no path"
        } else if path.index() >= samples {
            "it lies behind the prefix"
        } else if paths
            .last()
            .is_some_and(|last| last.index() / BLOCK >= path.index() / BLOCK)
        {
            "paths ascend, each of another block"
        } else {
            paths.push(path);
            continue;
        };
        return Err(Invalid::new(field, wrong));
    }
    Ok(paths)
}
