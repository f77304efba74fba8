//! What the ledger says at one moment.

use kazoe_common::census::{Cell, Cut, Outcome, Segment, Tally};

use super::{CampaignState, Counts};
use crate::leasing::Millis;
use kazoe_proto::outcome::DeliveryOutcome;

/// A campaign at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The campaign's id.
    pub campaign: String,
    /// How many samples are wanted, and how they are cut.
    pub cut: Cut,
    /// Whether it is worked on; `None` where an older coordinator does not report it.
    pub pace: Option<CampaignState>,
    /// The ledger's revision that this was read at.
    pub revision: u64,
    /// The prefix: what estimates are made from.
    pub prefix: Prefix,
    /// How many segments stand where.
    pub counts: Counts,
    /// Samples of all accepted and undisputed segments, in the prefix or not.
    pub accepted_samples: u64,
    /// Accepted and undisputed segments of which an audit arrived.
    pub audited: u64,
}

impl Snapshot {
    /// Whether every segment is accepted and undisputed.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.counts.accepted == self.cut.segments()
    }
}

/// The segments from 0 on, without a gap, that are accepted and undisputed, or set aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix {
    /// How many segments it has.
    pub segments: u64,
    /// How many samples, those set aside included.
    pub samples: u64,
    /// How many samples are set aside.
    pub set_aside_samples: u64,
    /// The sum of the accepted tallies; its digest is the prefix's.
    pub tally: Tally,
}

impl Prefix {
    /// The tally with all samples set aside counted as undecided, as an estimate wants it.
    #[must_use]
    pub fn counted(&self) -> Tally {
        let mut tally = self.tally.clone();
        if self.set_aside_samples > 0 {
            *tally
                .cells
                .entry(Cell::from(Outcome::Undecided as u8))
                .or_default() += self.set_aside_samples;
        }
        tally
    }
}

/// An accepted segment with its provenance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedSegment {
    /// The segment.
    pub segment: Segment,
    /// How many samples it has.
    pub samples: u64,
    /// Its tally.
    pub tally: Tally,
    /// Whether it is disputed at present.
    pub disputed: bool,
    /// Who answers for it.
    pub owner: String,
    /// Which worker sent it.
    pub worker: String,
    /// The build that computed it.
    pub build: String,
    /// When it arrived.
    pub received_at: Millis,
}

/// One tally of the log, without its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The segment.
    pub segment: Segment,
    /// What the tally was when it arrived.
    pub verdict: DeliveryOutcome,
    /// Who answers for it.
    pub owner: String,
    /// Which worker sent it.
    pub worker: String,
    /// When it arrived.
    pub received_at: Millis,
}

/// One line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number; they grow.
    pub id: i64,
    /// When.
    pub at: Millis,
    /// Which segment, where it is about one.
    pub segment: Option<Segment>,
    /// Who did it.
    pub actor: String,
    /// What: `recut`, `retract`, `settle`, `set_aside`, `retry`.
    pub action: String,
    /// The result that was accepted before.
    pub from_result: Option<i64>,
    /// The result that is accepted now.
    pub to_result: Option<i64>,
    /// Why, in words.
    pub note: String,
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// `I1`, `I2`, `I3` or `I6`.
    pub invariant: String,
    /// Which segment, where it is about one.
    pub segment: Option<Segment>,
    /// What is wrong.
    pub detail: String,
}
