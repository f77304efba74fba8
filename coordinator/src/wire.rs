//! The ledger's values as [`kazoe_proto`] says them, and back. Nothing is decided here, and nothing is
//! lost: `proto` checked what comes in.

use kazoe_common::census::Cut;
use kazoe_proto::campaigns;

use crate::ledger::{
    BuildShare, CampaignRecord, Counts, ForeignCampaign, Holder, Listed, OwnerShare, Pace, Prefix,
    SelfTest, Service, Snapshot, Submission, Submitted, WorkerShare,
};

/// A submission, of which `audit_millionths` of the segments are computed twice.
///
/// # Errors
/// If samples and segment size make no cut.
pub fn submission(
    from: campaigns::Submission,
    audit_millionths: u32,
) -> Result<Submission, kazoe_proto::Invalid> {
    let campaigns::Target::Samples(samples) = from.target;
    let cut = Cut::new(samples, from.segment_blocks)
        .map_err(|error| kazoe_proto::Invalid::new("samples", error.to_string()))?;
    let self_tests = from.self_tests.into_iter();
    Ok(Submission {
        campaign: from.campaign,
        cut,
        self_tests: self_tests
            .map(|(block, tally)| SelfTest { block, tally })
            .collect(),
        build: from.build,
        service: Service {
            priority: from.priority,
            audit_millionths,
        },
    })
}

/// What a submission did.
#[must_use]
pub const fn submitted(from: Submitted) -> campaigns::Submitted {
    match from {
        Submitted::New => campaigns::Submitted::New,
        Submitted::Existing => campaigns::Submitted::Existing,
        Submitted::Extended { from } => campaigns::Submitted::Extended { from },
        Submitted::Fewer { asked } => campaigns::Submitted::Fewer { asked },
    }
}

/// A campaign's record.
#[must_use]
pub fn record(from: &CampaignRecord) -> campaigns::Record {
    campaigns::Record {
        campaign: from.campaign.clone(),
        cut: from.cut,
        pace: pace(from.pace),
        build: from.build.clone(),
        submitted_at: from.submitted_at,
        revision: from.revision,
        priority: from.priority,
    }
}

/// Whether a campaign is worked on.
pub(crate) const fn pace(from: Pace) -> campaigns::Pace {
    match from {
        Pace::Running => campaigns::Pace::Running,
        Pace::Paused => campaigns::Pace::Paused,
        Pace::Cancelled => campaigns::Pace::Cancelled,
    }
}

/// Whether a campaign is worked on, back.
const fn pace_back(from: campaigns::Pace) -> Pace {
    match from {
        campaigns::Pace::Running => Pace::Running,
        campaigns::Pace::Paused => Pace::Paused,
        campaigns::Pace::Cancelled => Pace::Cancelled,
    }
}

/// A ledger's campaigns.
#[must_use]
pub fn listed(from: Listed) -> campaigns::Listed {
    let foreign = from.foreign.into_iter();
    campaigns::Listed {
        known: from.known.iter().map(record).collect(),
        foreign: foreign
            .map(|one| campaigns::ForeignCampaign {
                id: one.id,
                variant: one.variant,
                population: one.population,
                design: one.design,
                seed: one.seed,
                cap: one.cap,
                samples: one.samples,
                state: one.state,
                priority: one.priority,
                build: one.build,
                submitted_at: one.submitted_at,
                why: one.why,
            })
            .collect(),
    }
}

/// A ledger's campaigns, back.
#[must_use]
pub fn listed_back(from: campaigns::Listed) -> Listed {
    let foreign = from.foreign.into_iter();
    Listed {
        known: from.known.into_iter().map(record_back).collect(),
        foreign: foreign
            .map(|one| ForeignCampaign {
                id: one.id,
                variant: one.variant,
                population: one.population,
                design: one.design,
                seed: one.seed,
                cap: one.cap,
                samples: one.samples,
                state: one.state,
                priority: one.priority,
                build: one.build,
                submitted_at: one.submitted_at,
                why: one.why,
            })
            .collect(),
    }
}

/// A campaign's record, back.
#[must_use]
pub fn record_back(from: campaigns::Record) -> CampaignRecord {
    CampaignRecord {
        id: from.campaign.id(),
        campaign: from.campaign,
        cut: from.cut,
        pace: pace_back(from.pace),
        priority: from.priority,
        build: from.build,
        submitted_at: from.submitted_at,
        revision: from.revision,
    }
}

/// A snapshot, how many workers hold leases of the campaign, and some of them.
#[must_use]
pub fn snapshot(from: &Snapshot, workers: u32, holders: Vec<Holder>) -> campaigns::Snapshot {
    let counts = &from.counts;
    campaigns::Snapshot {
        campaign: from.campaign.clone(),
        cut: from.cut,
        revision: from.revision,
        prefix_segments: from.prefix.segments,
        set_aside_samples: from.prefix.set_aside_samples,
        tally: from.prefix.tally.clone(),
        counts: campaigns::Counts {
            accepted: counts.accepted,
            disputed: counts.disputed,
            set_aside: counts.set_aside,
            leased: counts.leased,
            returned: counts.returned,
            retracted: counts.retracted,
            unleased: counts.unleased,
        },
        accepted_samples: from.accepted_samples,
        audited: from.audited,
        workers,
        pace: from.pace.map(pace),
        holders: holders
            .into_iter()
            .map(|holder| campaigns::Holder {
                worker: holder.worker,
                name: holder.name,
            })
            .collect(),
    }
}

/// A snapshot, back.
#[must_use]
pub fn snapshot_back(from: campaigns::Snapshot) -> Snapshot {
    let cut = from.cut;
    let counts = from.counts;
    Snapshot {
        campaign: from.campaign,
        cut,
        pace: from.pace.map(pace_back),
        revision: from.revision,
        prefix: Prefix {
            segments: from.prefix_segments,
            samples: cut
                .samples
                .min(from.prefix_segments * cut.segment_samples()),
            set_aside_samples: from.set_aside_samples,
            tally: from.tally,
        },
        counts: Counts {
            accepted: counts.accepted,
            disputed: counts.disputed,
            set_aside: counts.set_aside,
            leased: counts.leased,
            returned: counts.returned,
            retracted: counts.retracted,
            unleased: counts.unleased,
        },
        accepted_samples: from.accepted_samples,
        audited: from.audited,
    }
}

/// What a build contributed.
#[must_use]
pub fn build_share(from: &BuildShare) -> campaigns::BuildShare {
    campaigns::BuildShare {
        build: from.build.clone(),
        segments: from.segments,
        first_at: from.first_at,
        last_at: from.last_at,
    }
}

/// What a build contributed, back.
#[must_use]
pub fn build_share_back(from: campaigns::BuildShare) -> BuildShare {
    BuildShare {
        build: from.build,
        segments: from.segments,
        first_at: from.first_at,
        last_at: from.last_at,
    }
}

/// What an owner contributed.
#[must_use]
pub fn owner_share(from: OwnerShare) -> campaigns::OwnerShare {
    campaigns::OwnerShare {
        owner: from.owner,
        segments: from.segments,
        samples: from.samples,
        reachable: from.reachable,
        audited: from.audited,
        disagreed: from.disagreed,
        disputed: from.disputed,
        core_seconds: from.core_seconds,
        estimated: from.estimated,
    }
}

/// What an owner contributed, back.
#[must_use]
pub fn owner_share_back(from: campaigns::OwnerShare) -> OwnerShare {
    OwnerShare {
        owner: from.owner,
        segments: from.segments,
        samples: from.samples,
        reachable: from.reachable,
        audited: from.audited,
        disagreed: from.disagreed,
        disputed: from.disputed,
        core_seconds: from.core_seconds,
        estimated: from.estimated,
    }
}

/// What a worker contributed.
#[must_use]
pub fn worker_share(from: WorkerShare) -> campaigns::WorkerShare {
    campaigns::WorkerShare {
        worker: from.worker,
        name: from.name,
        owner: from.owner,
        segments: from.segments,
    }
}

/// What a worker contributed, back.
#[must_use]
pub fn worker_share_back(from: campaigns::WorkerShare) -> WorkerShare {
    WorkerShare {
        worker: from.worker,
        name: from.name,
        owner: from.owner,
        segments: from.segments,
    }
}

/// What a submission did, back.
#[must_use]
pub const fn submitted_back(from: campaigns::Submitted) -> Submitted {
    match from {
        campaigns::Submitted::New => Submitted::New,
        campaigns::Submitted::Existing => Submitted::Existing,
        campaigns::Submitted::Extended { from } => Submitted::Extended { from },
        campaigns::Submitted::Fewer { asked } => Submitted::Fewer { asked },
    }
}
