//! What an arriving tally means.

use kazoe_common::census::Tally;

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
