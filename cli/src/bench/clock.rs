//! How much time the calling thread spends on a computation.

use std::time::Duration;

/// What is counted: processor time where the system counts it for each thread, else time on the wall.
pub(super) const NAME: &str = if cfg!(unix) { "cpu" } else { "wall" };

/// Does the work; with its result, the thread's time in nanoseconds.
pub(super) fn timed<R>(work: impl FnOnce() -> R) -> (R, f64) {
    let start = now();
    let result = work();
    (result, nanoseconds(now().saturating_sub(start)))
}

/// A time in nanoseconds.
pub(super) fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

#[cfg(unix)]
fn now() -> Duration {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    time.expect("a system that counts a thread's time").into()
}

#[cfg(not(unix))]
fn now() -> Duration {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_sleep_takes_none() {
        let (sum, time) =
            timed(|| (0..10_000_000_u64).fold(0, |sum, n| std::hint::black_box(sum ^ n)));
        assert!(time > 0.0, "{sum}: {time}");
        if NAME == "cpu" {
            let ((), asleep) = timed(|| std::thread::sleep(Duration::from_millis(300)));
            assert!(asleep < 3e8, "{asleep}");
        }
    }
}
