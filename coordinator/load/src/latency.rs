//! How long calls took.

use std::time::Duration;

use hdrhistogram::Histogram;

/// A call that a worker makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// It joins.
    Join,
    /// It asks for segments.
    Claim,
    /// It hands in finished segments: until they are safe.
    Deliver,
    /// It says that it is alive.
    Heartbeat,
    /// It needs a lease no more.
    Done,
}

impl Call {
    /// All, in the order in which a worker makes them.
    pub(crate) const ALL: [Call; 5] = [
        Call::Join,
        Call::Claim,
        Call::Deliver,
        Call::Heartbeat,
        Call::Done,
    ];

    /// The word in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Call::Join => "join",
            Call::Claim => "claim",
            Call::Deliver => "deliver",
            Call::Heartbeat => "heartbeat",
            Call::Done => "done",
        }
    }
}

/// How long calls of one kind took, to a part in a thousand; from a microsecond to an hour.
#[derive(Clone, Debug)]
pub(crate) struct Latencies(Histogram<u64>);

impl Latencies {
    const LONGEST: u64 = 3_600_000_000;

    pub(crate) fn new() -> Self {
        // These bounds are ones that it accepts.
        #[expect(clippy::expect_used, reason = "constants")]
        let empty = Histogram::new_with_bounds(1, Self::LONGEST, 3).expect("lawful bounds");
        Latencies(empty)
    }

    /// Enters one call.
    pub(crate) fn add(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.put(micros, 1);
    }

    /// Enters calls that took so many microseconds.
    pub(crate) fn put(&mut self, micros: u64, calls: u64) {
        self.0
            .saturating_record_n(micros.clamp(1, Self::LONGEST), calls);
    }

    /// How many calls there were.
    pub(crate) fn calls(&self) -> u64 {
        self.0.len()
    }

    /// Within which time so large a share of them was over; nothing if there were none.
    pub(crate) fn quantile(&self, share: f64) -> Option<Duration> {
        (!self.0.is_empty()).then(|| Duration::from_micros(self.0.value_at_quantile(share)))
    }

    /// The longest.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.quantile(1.0)
    }

    /// All that was entered: microseconds with the number of calls.
    pub(crate) fn entries(&self) -> Vec<(u64, u64)> {
        let recorded = self.0.iter_recorded();
        recorded
            .map(|one| (one.value_iterated_to(), one.count_at_value()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_calls() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.quantile(0.5), None);
        for millis in 1..=1000 {
            latencies.add(Duration::from_millis(millis));
        }
        let close = |share, millis: u64| {
            let found = latencies.quantile(share).unwrap().as_secs_f64() * 1e3;
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let error = (found / millis as f64 - 1.0).abs();
            assert!(error < 0.002, "{share}: {found}");
        };
        close(0.5, 500);
        close(0.99, 990);
        assert_eq!(latencies.calls(), 1000);
        assert!(latencies.longest().unwrap() >= Duration::from_secs(1));
    }

    #[test]
    fn what_is_told_of_one_can_be_put_into_another() {
        let mut one = Latencies::new();
        for micros in [0, 3, 3, 700, 80_000, u64::MAX] {
            one.add(Duration::from_micros(micros));
        }
        let mut other = Latencies::new();
        for (micros, calls) in one.entries() {
            other.put(micros, calls);
        }
        assert_eq!(one.entries(), other.entries());
        assert_eq!(one.longest(), other.longest());
        assert_eq!(other.calls(), 6);
    }
}
