//! Lease decisions, pure: which segments a claim gets, and what an arriving tally means.
//!
//! Both are functions of what the ledger holds at that moment and of the database's clock; they do no
//! IO and know no database. The ledger loads their input inside a transaction, asks, and carries out
//! the answer in the same transaction.
//!
//! Each segment of a campaign is at any moment in exactly one [`State`] (invariant I6), and an answer
//! moves it to exactly one other.

mod allocate;
mod compare;
mod presence;
mod quarantine;

pub use allocate::{DisputedSegment, Stock, choose, is_audited, size};
pub use compare::{Comparison, Effect, LoggedTally, SegmentLog, compare};
pub use presence::{Presence, SKEW, Sighting, patience, presence};
pub use quarantine::{HOPELESS, Loss, hopeless};

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
