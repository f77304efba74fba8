//! What became of what a worker handed in.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use kazoe_proto::outcome::DeliveryOutcome;

/// What became of the segments that a worker handed in.
#[derive(Debug, Default)]
pub struct DeliveryStats {
    accepted: AtomicU64,
    confirmed: AtomicU64,
    disputed: AtomicU64,
    other: AtomicU64,
}

impl DeliveryStats {
    pub(super) fn add(&self, outcome: DeliveryOutcome) {
        let count = match outcome {
            DeliveryOutcome::Accepted => &self.accepted,
            DeliveryOutcome::Audit => &self.confirmed,
            DeliveryOutcome::Disputed => &self.disputed,
            DeliveryOutcome::Repeat | DeliveryOutcome::Stale => &self.other,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// `12 segments accepted, 1 confirmed another's, 0 disputed`.
impl fmt::Display for DeliveryStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        write!(
            f,
            "{} segments accepted, {} audits, {} disputed",
            of(&self.accepted),
            of(&self.confirmed),
            of(&self.disputed)
        )?;
        match of(&self.other) {
            0 => Ok(()),
            n => write!(f, ", {n} repeated"),
        }
    }
}
