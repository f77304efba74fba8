//! Lease decisions, pure: which segments a claim gets, and what an arriving tally means.
//!
//! Both are functions of what the ledger holds at that moment and of the database's clock; they do no
//! IO and know no database. The ledger loads their input inside a transaction, asks, and carries out
//! the answer in the same transaction.
//!
//! Each segment of a campaign is at any moment in exactly one [`State`] (invariant I6), and an answer
//! moves it to exactly one other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kazoe_common::census::{Segment, Tally};

/// Milliseconds since 1970 by the database's clock.
pub type Millis = i64;

/// Where a segment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Nobody ever held it.
    Unleased,
    /// Lent, its tally not yet here; the deadline may have passed.
    Leased,
    /// Given back by whoever held it.
    Returned,
    /// Its accepted tally was taken back, or it was cut anew.
    Retracted,
    /// Two tallies differ.
    Disputed,
    /// One tally counts, and none that arrived differs.
    Accepted,
    /// Given up for now: it counts wholly as undecided.
    SetAside,
}

/// What a segment is lent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// It has no accepted tally yet.
    Fill,
    /// Its tallies differ.
    Resolve,
    /// It has an accepted tally that another owner is to confirm.
    Audit,
}

impl Purpose {
    /// The word in the database.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Purpose::Fill => "fill",
            Purpose::Resolve => "resolve",
            Purpose::Audit => "audit",
        }
    }

    /// The purpose with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Purpose> {
        [Purpose::Fill, Purpose::Resolve, Purpose::Audit]
            .into_iter()
            .find(|purpose| purpose.name() == name)
    }
}

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

/// The loss of a segment: it was lent to be filled, and its worker was not heard again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The segment.
    pub segment: Segment,
    /// The worker.
    pub worker: String,
    /// Whether it was lent alone.
    pub alone: bool,
}

/// How many workers must be lost over a segment, each while it was lent to it alone, before it is given
/// up for now.
pub const HOPELESS: usize = 3;

/// The segments over which so many workers were lost that they are to be set aside, each with those
/// workers. The losses stand oldest first. The first one of a segment is anybody's bad luck, one worker
/// that is lost again and again proves nothing, nor does a segment that was lent among others.
#[must_use]
pub fn hopeless(losses: &[Loss]) -> BTreeMap<Segment, BTreeSet<String>> {
    let mut lost = BTreeSet::new();
    let mut workers: BTreeMap<Segment, BTreeSet<String>> = BTreeMap::new();
    for loss in losses {
        let again = !lost.insert(loss.segment);
        if again && loss.alone {
            let of_segment = workers.entry(loss.segment).or_default();
            of_segment.insert(loss.worker.clone());
        }
    }
    workers.retain(|_, lost| lost.len() >= HOPELESS);
    workers
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

/// A tally with whoever sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
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
pub struct Docket {
    /// How many samples the segment has at present.
    pub samples: u64,
    /// Every earlier tally of it that is in the log, oldest first.
    pub earlier: Vec<Received>,
    /// Which of [`earlier`](Self::earlier) is accepted.
    pub accepted: Option<usize>,
    /// Whether tallies of it differ and that is not settled.
    pub disputed: bool,
}

/// What an arriving tally is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It fills its segment.
    Accepted,
    /// It equals the accepted one and comes from the same owner.
    Repeat,
    /// It equals the accepted one and comes from another owner, or from the operator.
    Audit,
    /// It differs, or its segment is disputed.
    Disputed,
    /// It counts another number of samples than its segment has now.
    Stale,
}

impl Verdict {
    /// The word in the database and on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Accepted => "accepted",
            Verdict::Repeat => "repeat",
            Verdict::Audit => "audit",
            Verdict::Disputed => "disputed",
            Verdict::Stale => "stale",
        }
    }

    /// The verdict with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Verdict> {
        [
            Verdict::Accepted,
            Verdict::Repeat,
            Verdict::Audit,
            Verdict::Disputed,
            Verdict::Stale,
        ]
        .into_iter()
        .find(|verdict| verdict.name() == name)
    }
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
    /// [`Docket::earlier`], or the arriving tally where it is `earlier.len()`.
    Settle {
        /// The tally that stands.
        stands: usize,
        /// Whether the operator decided it, and not the agreement of two owners.
        by_operator: bool,
    },
}

/// The answer to an arriving tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// What the tally is.
    pub verdict: Verdict,
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
pub fn judge(docket: &Docket, arriving: &Received) -> Ruling {
    let known = docket.earlier.iter().any(|earlier| {
        (earlier.lease, &earlier.owner, earlier.samples)
            == (arriving.lease, &arriving.owner, arriving.samples)
            && earlier.tally == arriving.tally
    });
    let ruling = |verdict, effect| Ruling {
        verdict,
        log: !known,
        effect,
    };
    if arriving.samples != docket.samples {
        return ruling(Verdict::Stale, Effect::None);
    }
    let Some(accepted) = docket.accepted.map(|index| &docket.earlier[index]) else {
        return Ruling {
            verdict: Verdict::Accepted,
            log: true,
            effect: Effect::Accept,
        };
    };
    if docket.disputed || accepted.tally != arriving.tally {
        let effect = match settle(docket, arriving) {
            Some(stands) => Effect::Settle {
                stands,
                by_operator: arriving.operator,
            },
            None if docket.disputed => Effect::None,
            None => Effect::Dispute,
        };
        // What lost a settled dispute does not open it again by being sent again.
        let effect = if known && !docket.disputed {
            Effect::None
        } else {
            effect
        };
        return ruling(Verdict::Disputed, effect);
    }
    let other = accepted.owner != arriving.owner || (arriving.operator && !accepted.operator);
    let verdict = if other {
        Verdict::Audit
    } else {
        Verdict::Repeat
    };
    ruling(verdict, Effect::None)
}

/// Which tally settles a dispute, if one does: the first in the log that says what is decided.
fn settle(docket: &Docket, arriving: &Received) -> Option<usize> {
    let all = || {
        docket
            .earlier
            .iter()
            .chain([arriving])
            .enumerate()
            .filter(|(_, one)| one.samples == docket.samples)
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
