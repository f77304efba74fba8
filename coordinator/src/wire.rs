//! The ledger's values as [`kazoe_proto`] says them, and back. Nothing is decided here, and nothing is
//! lost: `proto` checked what comes in.

use kazoe_common::census::Cut;
use kazoe_proto::campaigns;

use crate::ledger::{Holder, Prefix, SelfTest, Service, Snapshot, Submission};

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

/// A snapshot, how many workers hold leases of the campaign, and some of them.
#[must_use]
pub fn snapshot(from: &Snapshot, workers: u32, holders: Vec<Holder>) -> campaigns::Snapshot {
    campaigns::Snapshot {
        campaign: from.campaign.clone(),
        cut: from.cut,
        revision: from.revision,
        prefix_segments: from.prefix.segments,
        set_aside_samples: from.prefix.set_aside_samples,
        tally: from.prefix.tally.clone(),
        counts: from.counts,
        accepted_samples: from.accepted_samples,
        audited: from.audited,
        workers,
        pace: from.pace,
        holders,
    }
}

/// A snapshot, back.
#[must_use]
pub fn snapshot_back(from: campaigns::Snapshot) -> Snapshot {
    let cut = from.cut;
    Snapshot {
        campaign: from.campaign,
        cut,
        pace: from.pace,
        revision: from.revision,
        prefix: Prefix {
            segments: from.prefix_segments,
            samples: cut
                .samples
                .min(from.prefix_segments * cut.segment_samples()),
            set_aside_samples: from.set_aside_samples,
            tally: from.tally,
        },
        counts: from.counts,
        accepted_samples: from.accepted_samples,
        audited: from.audited,
    }
}
