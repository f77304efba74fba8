//! What became of a segment's result.

use crate::invalid::variant;
use crate::{Invalid, v1};

/// What became of a segment's result that a worker handed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryOutcome {
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

impl DeliveryOutcome {
    /// The word in the database and on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DeliveryOutcome::Accepted => "accepted",
            DeliveryOutcome::Repeat => "repeat",
            DeliveryOutcome::Audit => "audit",
            DeliveryOutcome::Disputed => "disputed",
            DeliveryOutcome::Stale => "stale",
        }
    }

    /// Returns the outcome with this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<DeliveryOutcome> {
        [
            DeliveryOutcome::Accepted,
            DeliveryOutcome::Repeat,
            DeliveryOutcome::Audit,
            DeliveryOutcome::Disputed,
            DeliveryOutcome::Stale,
        ]
        .into_iter()
        .find(|outcome| outcome.name() == name)
    }
}

pub(crate) fn message(outcome: DeliveryOutcome) -> i32 {
    let outcome = match outcome {
        DeliveryOutcome::Accepted => v1::Verdict::Accepted,
        DeliveryOutcome::Repeat => v1::Verdict::Repeat,
        DeliveryOutcome::Audit => v1::Verdict::Audit,
        DeliveryOutcome::Disputed => v1::Verdict::Disputed,
        DeliveryOutcome::Stale => v1::Verdict::Stale,
    };
    outcome.into()
}

pub(crate) fn outcome(field: &str, number: i32) -> Result<DeliveryOutcome, Invalid> {
    variant(field, number, |outcome| match outcome {
        v1::Verdict::Unspecified => None,
        v1::Verdict::Accepted => Some(DeliveryOutcome::Accepted),
        v1::Verdict::Repeat => Some(DeliveryOutcome::Repeat),
        v1::Verdict::Audit => Some(DeliveryOutcome::Audit),
        v1::Verdict::Disputed => Some(DeliveryOutcome::Disputed),
        v1::Verdict::Stale => Some(DeliveryOutcome::Stale),
    })
}
