//! Campaigns as the ledger keeps them.

use std::cmp::Ordering;

use kazoe_common::census::{Block, Campaign, Cut, Segment, Tally};

use super::{CampaignRecord, LedgerError, Submitted};

/// The whole tally of one whole block, as a build computes it. A few of them prove that two builds
/// count alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTest {
    /// The block, all 4,096 samples of it.
    pub block: Block,
    /// Its tally.
    pub tally: Tally,
}

/// What is handed in to be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// What is counted; it makes the campaign's identity.
    pub campaign: Campaign,
    /// How many samples are wanted, and the segment size, which counts at the first submission alone.
    pub cut: Cut,
    /// What this build computes for a few blocks.
    pub self_tests: Vec<SelfTest>,
    /// This build, in a word for people: `kazoe 0.1.0 (1a2b3c4)`.
    pub build: String,
    /// How it is served among others; it counts at the first submission alone.
    pub service: Service,
}

/// How a campaign is served where there are several workers and campaigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Higher ones are served first.
    pub priority: i64,
    /// Which share of the segments another owner computes as well, in millionths, at most all.
    pub audit_millionths: u32,
}

impl Service {
    /// All segments.
    pub const ALL: u32 = 1_000_000;
}

/// As all others, and one segment in a hundred audited.
impl Default for Service {
    fn default() -> Self {
        Service {
            priority: 0,
            audit_millionths: Service::ALL / 100,
        }
    }
}

/// A build goes on with a campaign only if it computes the same self-tests, all of them.
fn compare_self_tests(
    campaign: &str,
    stored: &[SelfTest],
    computed: &[SelfTest],
) -> Result<(), LedgerError> {
    let of = |tests: &[SelfTest], block| {
        let test = tests.iter().find(|test| test.block == block);
        test.map(|test| Box::new(test.tally.clone()))
    };
    let odd = stored
        .iter()
        .chain(computed)
        .map(|test| test.block)
        .find(|&block| of(stored, block) != of(computed, block));
    odd.map_or(Ok(()), |block| {
        Err(LedgerError::SelfTest {
            campaign: campaign.to_owned(),
            block,
            stored: of(stored, block),
            computed: of(computed, block),
        })
    })
}

/// What a submission does to a campaign that the ledger has.
pub(super) enum Plan {
    /// Nothing: the campaign stays as it is.
    Keep(Submitted),
    /// The campaign gets more samples.
    Extend {
        /// How many samples it had.
        from: u64,
        /// The cut last segment, which grows and is counted again, and the reason for the audit log.
        recut: Option<(Segment, String)>,
    },
}

/// Compares the self-tests, then the number of samples that is asked for with the one that is there. Segments
/// never move; the last one grows if it was cut.
pub(super) fn plan(
    found: &CampaignRecord,
    stored: &[SelfTest],
    submission: &Submission,
) -> Result<Plan, LedgerError> {
    compare_self_tests(&found.id, stored, &submission.self_tests)?;
    let (from, asked) = (found.cut.samples, submission.cut.samples);
    match asked.cmp(&from) {
        Ordering::Equal => return Ok(Plan::Keep(Submitted::Existing)),
        Ordering::Less => return Ok(Plan::Keep(Submitted::Fewer { asked })),
        Ordering::Greater => {}
    }
    let last = found.cut.segments() - 1;
    let old = found.cut.samples_of(last);
    let new = Cut {
        samples: asked,
        ..found.cut
    }
    .samples_of(last);
    let recut = (old != new).then(|| {
        let why = format!(
            "extended from {from} to {asked} samples: the segment has {new} instead of {old}"
        );
        (last, why)
    });
    Ok(Plan::Extend { from, recut })
}
