//! How much CPU time the calling thread has had, where the system tells it.

use std::time::Duration;

/// Since the thread began.
#[cfg(unix)]
pub(crate) fn of_thread() -> Option<Duration> {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(time.into())
}

/// Not told.
#[cfg(not(unix))]
pub(crate) fn of_thread() -> Option<Duration> {
    None
}
