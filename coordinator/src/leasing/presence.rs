//! Whether a worker is here.

use std::time::Duration;

use super::Millis;

/// How a worker was last seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// How many leases it holds whose deadline has not passed.
    pub leases: u64,
    /// How many milliseconds ago it was last heard, by the database's clock. Negative after that ran backwards.
    pub silent: Millis,
    /// Whether it was told to leave.
    pub drained: bool,
    /// Whether it said that it left, and was not heard since.
    pub left: bool,
}

/// What a worker does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It holds leases.
    AtWork,
    /// It holds none, and was heard lately.
    Idle,
    /// It is here and was told to leave.
    Leaving,
    /// It said that it left, or was not heard for long.
    Gone,
}

/// Returns for how long a worker without a lease may be silent before it is gone, where leases hold so long: much
/// longer than between two of its claims, and no shorter than a worker that died at work keeps its leases.
#[must_use]
pub fn patience(hold: Duration) -> Millis {
    const LEAST: Duration = Duration::from_secs(30);
    Millis::try_from(hold.max(LEAST).as_millis()).unwrap_or(Millis::MAX)
}

/// By how many milliseconds a moment may lie in the future, because it was read by another transaction. What lies
/// further off was written before the clock ran backwards, and tells nothing.
pub const SKEW: Millis = 1_000;

/// Decides what a worker does now.
#[must_use]
pub fn presence(seen: Sighting, patience: Millis) -> Presence {
    let heard = (-SKEW..patience).contains(&seen.silent);
    if seen.left || (seen.leases == 0 && !heard) {
        Presence::Gone
    } else if seen.drained {
        Presence::Leaving
    } else if seen.leases > 0 {
        Presence::AtWork
    } else {
        Presence::Idle
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Presence, Sighting, patience, presence};

    #[test]
    fn a_worker_is_gone_when_it_said_so_or_was_silent_for_too_long() {
        let patience = patience(Duration::from_secs(60));
        let seen = |leases, silent, drained, left| Sighting {
            leases,
            silent,
            drained,
            left,
        };
        for (sighting, now) in [
            (seen(0, 0, false, false), Presence::Idle),
            (seen(0, 59_999, false, false), Presence::Idle),
            (seen(0, 60_000, false, false), Presence::Gone),
            (seen(2, 59_999, false, false), Presence::AtWork),
            (seen(2, 3_600_000, false, false), Presence::AtWork),
            (seen(2, 0, true, false), Presence::Leaving),
            (seen(0, 0, true, false), Presence::Leaving),
            (seen(0, 60_000, true, false), Presence::Gone),
            (seen(0, 0, false, true), Presence::Gone),
            (seen(1, 0, true, true), Presence::Gone),
            // Heard by another transaction that read the clock a moment later.
            (seen(0, -10, false, false), Presence::Idle),
            // Heard before the clock ran backwards by an hour.
            (seen(0, -3_600_000, false, false), Presence::Gone),
        ] {
            assert_eq!(presence(sighting, patience), now, "{sighting:?}");
        }
    }
}
