//! The lease decisions without a database: what a claim gets (`lending`), what a tally means (`judging`),
//! and whatever the interleaving (`interleavings`), each segment is accepted at most once (I1), stands in
//! one place (I6), and the campaign ends.

mod interleavings;
mod judging;
mod lending;

use kazoe_common::census::{Digest, Tally};
use kazoe_coordinator::leasing::LoggedTally;

/// A tally with the value 0 (the true one) or another.
fn tally(value: u8) -> Tally {
    Tally {
        digest: Digest(u128::from(value)),
        ..Tally::default()
    }
}

fn received(owner: &str, lease: Option<i64>, value: u8) -> LoggedTally {
    LoggedTally {
        owner: owner.to_owned(),
        operator: false,
        lease,
        samples: 10,
        tally: tally(value),
    }
}
