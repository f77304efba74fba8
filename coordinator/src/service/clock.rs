//! Whether the database's clock runs backwards.

use std::time::{Duration, Instant};

use crate::leasing::Millis;

/// By how much the clock may fall behind between two looks: a reading takes its time, and clocks are slewed.
const SLACK: Duration = Duration::from_secs(2);

/// The database's clock beside this machine's steady one, which nobody sets.
#[derive(Debug, Default)]
pub(super) struct Clock {
    last: Option<(Instant, Millis)>,
}

impl Clock {
    /// Takes a reading of the database's clock. Returns by how much it ran backwards since the last one, if it did.
    pub(super) fn read(&mut self, steady: Instant, at: Millis) -> Option<Duration> {
        let (then, before) = self.last.replace((steady, at))?;
        let passed = Millis::try_from(steady.duration_since(then).as_millis()).ok()?;
        let behind = before.saturating_add(passed).saturating_sub(at);
        let behind = Duration::from_millis(u64::try_from(behind).ok()?);
        (behind > SLACK).then_some(behind)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::Clock;

    #[test]
    fn a_clock_that_runs_backwards_is_found_once() {
        let start = Instant::now();
        let mut clock = Clock::default();
        for (seconds, at, behind) in [
            (0, 1_000_000, None),
            (1, 1_001_000, None),
            // Slewed, read late, or set forward: not backwards.
            (2, 1_001_500, None),
            (3, 1_002_400, None),
            (4, 9_000_000, None),
            (5, 9_001_000 - 3_600_000, Some(3_600_000)),
            (6, 9_002_000 - 3_600_000, None),
            // The database was away for a minute.
            (66, 9_062_000 - 3_600_000, None),
            // It stepped by less than the time between two looks.
            (126, 9_062_000 - 3_600_000 + 30_000, Some(30_000)),
        ] {
            let found = clock.read(start + Duration::from_secs(seconds), at);
            let behind = behind.map(Duration::from_millis);
            assert_eq!(found, behind, "after {seconds} s");
        }
    }
}
