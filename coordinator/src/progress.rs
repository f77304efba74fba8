//! How far a campaign is, in words for people.

use std::time::{Duration, Instant};

use kazoe_common::census::{Campaign, Tally};
use kazoe_common::estimate::Running;
use kazoe_common::estimate::numerals::{self, grouped, percent};
use num_bigint::BigUint;

use crate::ledger::Snapshot;

/// The running estimate with its interval, or that there is none yet.
#[must_use]
pub fn estimate(campaign: &Campaign, size: &BigUint, prefix: &Tally) -> String {
    match Running::new(campaign, size, prefix) {
        None => "no estimate yet".to_owned(),
        Some(now) => {
            let digits = numerals::significant_digits(&now.interval, 2);
            format!(
                "so far {}, anytime-valid 99.73% interval {}",
                numerals::nearest(&now.estimate, digits),
                numerals::interval(&now.interval, 2)
            )
        }
    }
}

/// A time in two units: `2 h 05 min`.
#[must_use]
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
        _ => format!("{} d {:02} h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// How long something took that is over.
#[must_use]
pub fn took(time: std::time::Duration) -> String {
    match time.as_secs() {
        0 => "less than a second".to_owned(),
        seconds => duration(seconds),
    }
}

/// Rate and time left of so many samples, each behind a comma, once they are known.
#[must_use]
pub fn speed(left: u64, rate: f64) -> String {
    if rate < 1.0 {
        return String::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let seconds = left as f64 / rate;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate for people, at least 1; a time of at most 2^62 seconds"
    )]
    let (rate, seconds) = (rate as u64, seconds.ceil() as u64);
    format!(", {} a second, {} left", grouped(rate), duration(seconds))
}

/// How many samples of how many, with the share.
#[must_use]
pub fn share(done: u64, all: u64) -> String {
    format!(
        "{} of {} samples ({})",
        grouped(done),
        grouped(all),
        percent(done, all, 3)
    )
}

/// What a snapshot says of trust: the audited share of the accepted segments, and what is not settled.
#[must_use]
pub fn trust(snapshot: &Snapshot) -> String {
    let counts = &snapshot.counts;
    let audited = if counts.accepted == 0 {
        "0%".to_owned()
    } else {
        percent(snapshot.audited, counts.accepted, 2)
    };
    let mut words = format!("{audited} audited, {} disputed", counts.disputed);
    if counts.set_aside > 0 {
        words += &format!(", {} set aside", counts.set_aside);
    }
    words
}

/// The rate at which samples arrive, from what was there at two moments.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    at: Instant,
    samples: u64,
    rate: f64,
}

impl Pulse {
    /// From now on; so many samples are there already.
    #[must_use]
    pub fn from_now(samples: u64) -> Self {
        Pulse {
            at: Instant::now(),
            samples,
            rate: 0.0,
        }
    }

    /// Samples a second of late, now that so many are there; 0 until that is known. What was taken back
    /// counts as no progress.
    pub fn beat(&mut self, samples: u64) -> f64 {
        /// Tallies come in batches: a rate over less says little.
        const LEAST: Duration = Duration::from_secs(2);
        /// Over how long the rate is an average, about.
        const MEMORY: f64 = 30.0;
        let elapsed = self.at.elapsed();
        if elapsed < LEAST {
            return self.rate;
        }
        let seconds = elapsed.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a speed for people")]
        let fresh = samples.saturating_sub(self.samples) as f64 / seconds;
        let weight = if self.rate > 0.0 {
            (seconds / MEMORY).min(1.0)
        } else {
            1.0
        };
        *self = Pulse {
            at: Instant::now(),
            samples,
            rate: self.rate + (fresh - self.rate) * weight,
        };
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_two_units() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (61, "1 min 01 s"),
            (3599, "59 min 59 s"),
            (7500, "2 h 05 min"),
            (90_000, "1 d 01 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
    }

    #[test]
    fn a_rate_is_told_with_the_time_that_is_left() {
        assert_eq!(speed(100, 0.0), "");
        assert_eq!(speed(100_000, 1000.0), ", 1,000 a second, 1 min 40 s left");
        assert_eq!(share(5, 10), "5 of 10 samples (50.0%)");
    }
}
