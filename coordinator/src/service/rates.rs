//! How often something is done under one token: buckets that fill by the clock and are emptied by calls.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::limits::Rate;

/// A bucket for each token.
#[derive(Debug)]
pub(super) struct Rates {
    rate: Rate,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    level: f64,
    at: Instant,
}

impl Rates {
    pub(super) fn new(rate: Rate) -> Self {
        Rates {
            rate,
            buckets: Mutex::default(),
        }
    }

    /// Takes one out of a token's bucket.
    ///
    /// # Errors
    /// After how long there will be one, if there is none now.
    pub(super) fn take(&self, token: &str, now: Instant) -> Result<(), Duration> {
        self.with(token, now, |bucket, rate| {
            if bucket.level < 1.0 {
                return Err(seconds((1.0 - bucket.level) / rate));
            }
            bucket.level -= 1.0;
            Ok(())
        })
    }

    /// Takes one out of a token's bucket even if there is none; how long to wait before using it. Who
    /// waits owes no more than the calls that wait.
    pub(super) fn owe(&self, token: &str, now: Instant) -> Duration {
        self.with(token, now, |bucket, rate| {
            bucket.level -= 1.0;
            seconds(-bucket.level / rate)
        })
    }

    fn with<T>(&self, token: &str, now: Instant, act: impl FnOnce(&mut Bucket, f64) -> T) -> T {
        let Rate { each_second, burst } = self.rate;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let full = Bucket {
            level: burst,
            at: now,
        };
        // Only good tokens get here, so there are no more buckets than those.
        let bucket = match buckets.get_mut(token) {
            Some(bucket) => bucket,
            None => buckets.entry(token.to_owned()).or_insert(full),
        };
        let filled = now.saturating_duration_since(bucket.at).as_secs_f64() * each_second;
        bucket.level = (bucket.level + filled).min(burst);
        bucket.at = bucket.at.max(now);
        act(bucket, each_second)
    }
}

fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate {
        each_second: 10.0,
        burst: 3.0,
    };

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let rates = Rates::new(RATE);
        let now = Instant::now();
        for _ in 0..3 {
            rates.take("a", now).unwrap();
        }
        let wait = rates.take("a", now).unwrap_err();
        assert_eq!(wait.as_millis(), 100);
        // Another token's is another.
        rates.take("b", now).unwrap();
        rates.take("a", now + wait).unwrap();
        rates.take("a", now + wait).unwrap_err();
        // It never holds more than its burst.
        let much_later = now + Duration::from_secs(60);
        let taken = (0..9).filter(|_| rates.take("a", much_later).is_ok());
        assert_eq!(taken.count(), 3);
    }

    #[test]
    fn what_is_owed_is_waited_for() {
        let rates = Rates::new(RATE);
        let now = Instant::now();
        let waits = [(); 5].map(|()| rates.owe("a", now).as_millis());
        assert_eq!(waits, [0, 0, 0, 100, 200]);
        assert_eq!(rates.owe("a", now + Duration::from_secs(9)), Duration::ZERO);
    }
}
