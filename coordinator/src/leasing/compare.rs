//! What an arriving tally means.

use kazoe_common::census::Tally;
use kazoe_proto::outcome::DeliveryOutcome;

/// A tally with whoever sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedTally {
    /// The owner by the sender's credential.
    pub owner: String,
    /// Whether the sender acts as the operator.
    pub operator: bool,
    /// The sequence half of the token it came under; `None` for an imported one.
    pub lease: Option<i64>,
    /// How many samples it counts.
    pub samples: u64,
    /// What it says.
    pub tally: Tally,
}

/// What the ledger holds about a segment when a tally of it arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentLog {
    /// How many samples the segment has at present.
    pub samples: u64,
    /// Every earlier tally of it that is in the log, oldest first.
    pub earlier: Vec<LoggedTally>,
    /// Which of [`earlier`](Self::earlier) is accepted.
    pub accepted: Option<usize>,
    /// Whether tallies of it differ and that is not settled.
    pub disputed: bool,
}

/// What becomes of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// The arriving tally becomes the accepted one.
    Accept,
    /// The segment becomes disputed.
    Dispute,
    /// The dispute ends, be it open or just begun; the accepted one is henceforth this, an index into
    /// [`SegmentLog::earlier`], or the arriving tally where it is `earlier.len()`.
    Settle {
        /// The tally that stands.
        stands: usize,
        /// Whether the operator decided it, and not the agreement of two owners.
        by_operator: bool,
    },
}

/// The answer to an arriving tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What the tally is.
    pub verdict: DeliveryOutcome,
    /// Whether it enters the log; one that is there already under the same token does not again.
    pub log: bool,
    /// What becomes of the segment.
    pub effect: Effect,
}

/// Judges a tally that arrives. Its identities are checked already.
///
/// Tallies are compared whole. A dispute is settled by the operator's tally, or as soon as the tallies
/// of two different owners agree and no other value has as many owners behind it.
#[must_use]
pub fn compare(segment_log: &SegmentLog, arriving: &LoggedTally) -> Comparison {
    let known = segment_log.earlier.iter().any(|earlier| {
        (earlier.lease, &earlier.owner, earlier.samples)
            == (arriving.lease, &arriving.owner, arriving.samples)
            && earlier.tally == arriving.tally
    });
    let comparison = |verdict, effect| Comparison {
        verdict,
        log: !known,
        effect,
    };
    if arriving.samples != segment_log.samples {
        return comparison(DeliveryOutcome::Stale, Effect::None);
    }
    let Some(accepted) = segment_log
        .accepted
        .map(|index| &segment_log.earlier[index])
    else {
        return Comparison {
            verdict: DeliveryOutcome::Accepted,
            log: true,
            effect: Effect::Accept,
        };
    };
    if segment_log.disputed || accepted.tally != arriving.tally {
        let effect = match settle(segment_log, arriving) {
            Some(stands) => Effect::Settle {
                stands,
                by_operator: arriving.operator,
            },
            None if segment_log.disputed => Effect::None,
            None => Effect::Dispute,
        };
        // What lost a settled dispute does not open it again by being sent again.
        let effect = if known && !segment_log.disputed {
            Effect::None
        } else {
            effect
        };
        return comparison(DeliveryOutcome::Disputed, effect);
    }
    let other = accepted.owner != arriving.owner || (arriving.operator && !accepted.operator);
    let verdict = if other {
        DeliveryOutcome::Audit
    } else {
        DeliveryOutcome::Repeat
    };
    comparison(verdict, Effect::None)
}

/// Which tally settles a dispute, if one does: the first in the log that says what is decided.
fn settle(segment_log: &SegmentLog, arriving: &LoggedTally) -> Option<usize> {
    let all = || {
        segment_log
            .earlier
            .iter()
            .chain([arriving])
            .enumerate()
            .filter(|(_, one)| one.samples == segment_log.samples)
    };
    let first_saying = |tally: &Tally| {
        all()
            .find(|(_, one)| one.tally == *tally)
            .map(|(index, _)| index)
    };
    if arriving.operator {
        return first_saying(&arriving.tally);
    }
    let owners_of = |tally: &Tally| {
        let mut owners: Vec<&str> = all()
            .filter(|(_, one)| one.tally == *tally)
            .map(|(_, one)| one.owner.as_str())
            .collect();
        owners.sort_unstable();
        owners.dedup();
        owners.len()
    };
    let mut values: Vec<&Tally> = Vec::new();
    for (_, one) in all() {
        if !values.contains(&&one.tally) {
            values.push(&one.tally);
        }
    }
    let mut ranked: Vec<(usize, &Tally)> = values
        .into_iter()
        .map(|tally| (owners_of(tally), tally))
        .collect();
    ranked.sort_by_key(|&(owners, _)| std::cmp::Reverse(owners));
    match *ranked.as_slice() {
        [(owners, tally)] if owners >= 2 => first_saying(tally),
        [(owners, tally), (next, _), ..] if owners >= 2 && owners > next => first_saying(tally),
        _ => None,
    }
}
