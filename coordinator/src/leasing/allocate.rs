//! What a claim gets.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kazoe_common::census::Segment;

use super::{Millis, Purpose};

/// A disputed segment, or one that is to be audited, as a claim sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisputedSegment {
    /// The segment.
    pub segment: Segment,
    /// The owners whose tallies of it are in the log.
    pub owners: Vec<String>,
    /// When the loan that is to resolve or to audit it runs out, if there is one.
    pub lent_until: Option<Millis>,
}

impl DisputedSegment {
    /// Whether it may be lent to this owner now: another one's tally is wanted, and from one at a time.
    fn is_for(&self, owner: &str, operator: bool, now: Millis) -> bool {
        let stranger = operator || self.owners.iter().all(|other| other != owner);
        stranger && self.lent_until.is_none_or(|until| until <= now)
    }
}

/// Whether an accepted segment is to be computed by another owner as well: so many in a million, by a
/// hash that nobody can know without the campaign's salt.
#[must_use]
pub fn is_audited(salt: &[u8; 16], segment: Segment, millionths: u32) -> bool {
    let mut hasher = blake3::Hasher::new();
    hasher.update(salt);
    hasher.update(&segment.to_le_bytes());
    let mut head = [0; 8];
    head.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    u64::from_le_bytes(head) % 1_000_000 < u64::from(millionths)
}

/// What a campaign has to lend.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    /// Retracted segments.
    pub retracted: Vec<Segment>,
    /// Disputed segments.
    pub disputed: Vec<DisputedSegment>,
    /// Returned segments.
    pub returned: Vec<Segment>,
    /// Segments lent to be filled, each with its deadline.
    pub lent: Vec<(Segment, Millis)>,
    /// Segments from the frontier on that are still unleased.
    pub unleased: Vec<Segment>,
    /// Accepted segments that are to be audited.
    pub audits: Vec<DisputedSegment>,
    /// Those of the segments above that were lost since they were last brought back: each of them is
    /// lent alone.
    pub lost: BTreeSet<Segment>,
}

impl Stock {
    /// Leaves segments out that are lent no more.
    pub fn leave_out(&mut self, segments: &BTreeMap<Segment, BTreeSet<String>>) {
        let stays = |segment: &Segment| !segments.contains_key(segment);
        self.retracted.retain(stays);
        self.returned.retain(stays);
        self.lent.retain(|(segment, _)| stays(segment));
    }

    /// What was chosen for somebody until a deadline is there no more for the next.
    pub fn lend(&mut self, chosen: &[(Segment, Purpose)], deadline: Millis) {
        let of = |wanted| {
            let chosen = chosen.iter().filter(move |(_, purpose)| *purpose == wanted);
            chosen.map(|&(segment, _)| segment).collect::<BTreeSet<_>>()
        };
        let fill = of(Purpose::Fill);
        if !fill.is_empty() {
            let stays = |segment: &Segment| !fill.contains(segment);
            self.retracted.retain(stays);
            self.returned.retain(stays);
            self.lent.retain(|(segment, _)| stays(segment));
            self.unleased.retain(stays);
        }
        for (some, purpose) in [
            (&mut self.disputed, Purpose::Resolve),
            (&mut self.audits, Purpose::Audit),
        ] {
            let lent = of(purpose);
            for one in some.iter_mut().filter(|one| lent.contains(&one.segment)) {
                one.lent_until = Some(deadline);
            }
        }
    }
}

/// Chooses at most `want` segments for `owner` at the moment `now`: retracted, disputed and returned
/// ones first, then those whose deadline has passed, then the frontier. A disputed segment goes to an
/// owner who has no tally of it in the log, or to the operator, and to one at a time; so do audits, of
/// which a lease of several segments has a tenth, and more where there is nothing else to do. A segment
/// that was lost is lent alone.
#[must_use]
pub fn choose(
    stock: &Stock,
    owner: &str,
    operator: bool,
    now: Millis,
    want: usize,
) -> Vec<(Segment, Purpose)> {
    let fill = |&segment: &Segment| (segment, Purpose::Fill);
    let fits = |one: &&DisputedSegment| one.is_for(owner, operator, now);
    let disputed = stock.disputed.iter().filter(fits);
    let expired = stock.lent.iter().filter(|&&(_, deadline)| deadline <= now);
    let audits: Vec<_> = stock.audits.iter().filter(fits).take(want).collect();
    let soon = want.div_ceil(10).min(want / 2).min(audits.len());
    let audit = |one: &&DisputedSegment| (one.segment, Purpose::Audit);
    let all = stock
        .retracted
        .iter()
        .map(fill)
        .chain(disputed.map(|disputed| (disputed.segment, Purpose::Resolve)))
        .chain(stock.returned.iter().map(fill))
        .chain(expired.map(|(segment, _)| fill(segment)))
        .chain(audits[..soon].iter().map(audit))
        .chain(stock.unleased.iter().map(fill))
        .chain(audits[soon..].iter().map(audit));
    let mut chosen = Vec::new();
    for (segment, purpose) in all {
        if purpose == Purpose::Fill && stock.lost.contains(&segment) {
            if chosen.is_empty() && want > 0 {
                return vec![(segment, purpose)];
            }
            continue;
        }
        if chosen.len() >= want {
            break;
        }
        chosen.push((segment, purpose));
    }
    chosen
}

/// How many segments of `segment_samples` samples take a worker of this speed as long as a lease should;
/// two if its speed is not known yet. Toward the end, where `left` segments wait for so many
/// workers, half a fair share of them, so that all have something to do to the last: at least one.
#[must_use]
pub fn size(
    samples_per_second: Option<u64>,
    segment_samples: u64,
    lease: Duration,
    left: u64,
    workers: u64,
) -> u32 {
    const FIRST: u128 = 2;
    const MOST: u128 = 4096;
    let wanted = samples_per_second.map_or(FIRST, |speed| {
        let samples = u128::from(speed) * lease.as_millis() / 1000;
        samples / u128::from(segment_samples.max(1))
    });
    let share = u128::from(left / (2 * workers.max(1)));
    let segments = wanted.min(share).clamp(1, MOST);
    u32::try_from(segments).unwrap_or(u32::MAX)
}
