//! Which refusals pass, and how long to wait: a coordinator may be away for hours, or have too much to do
//! and say when to ask again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kazoe_proto::retry_after::pushback;
use tonic::{Code, Status};
use tracing::{info, warn};

use crate::stop::{Order, Stop};

/// The longest wait after the first failure; it doubles up to [`LONGEST`]. Each wait is a random part of
/// it, so that many workers do not come back at once.
const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);

/// After how many times the wait of somebody who is told when to ask again grows no more: at 4 s.
const TOLD: u32 = 3;

/// How often somebody who waits looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Whether the same request may go well later.
#[must_use]
pub fn passes(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Cancelled
            | Code::Unknown
            | Code::Internal
            | Code::ResourceExhausted
            | Code::Aborted
    )
}

/// Waits between the attempts of one worker.
#[derive(Debug)]
pub struct Backoff {
    stop: Arc<Stop>,
    /// Since when the coordinator has been away, and how often it was tried.
    away: Option<(Instant, u32)>,
}

impl Backoff {
    /// Of a worker that leaves when it is told to.
    #[must_use]
    pub const fn new(stop: Arc<Stop>) -> Self {
        Backoff { stop, away: None }
    }

    /// Tells that an attempt went well.
    pub fn succeed(&mut self) {
        if let Some((since, _)) = self.away.take() {
            let seconds = since.elapsed().as_secs();
            info!(seconds, "the coordinator answers again");
        }
    }

    /// Waits after an attempt that failed.
    ///
    /// # Errors
    /// The status, if trying again would change nothing, or nobody may wait any more.
    pub async fn wait(&mut self, status: Status) -> Result<(), Status> {
        if !passes(&status) || self.stop.order() == Order::Leave {
            return Err(status);
        }
        let (since, tries) = self.away.unwrap_or((Instant::now(), 0));
        if tries == 0 {
            let why = status.message();
            match pushback(&status) {
                Some(_) => warn!(
                    why,
                    "the coordinator is overloaded; retrying after its delay"
                ),
                None => warn!(why, "the coordinator does not answer; retrying"),
            }
        }
        self.away = Some((since, tries.saturating_add(1)));
        let until = Instant::now() + pause(&status, tries);
        let before = self.stop.order();
        while Instant::now() < until && self.stop.order() == before {
            tokio::time::sleep(LOOK).await;
        }
        if self.stop.order() == Order::Leave {
            return Err(status);
        }
        Ok(())
    }
}

/// How long to wait: as long as one was told and a random part more, so that not all who were sent away
/// together come back together. That part soon stops growing: whoever says when to ask again knows how busy it
/// is, and who has waited for long must not fall behind those who come anew.
#[must_use]
pub fn pause(status: &Status, tries: u32) -> Duration {
    match pushback(status) {
        Some(told) => told + jittered(tries.min(TOLD)),
        None => jittered(tries),
    }
}

/// A random part of the longest wait after so many failures, a tenth at least.
#[must_use]
pub fn jittered(tries: u32) -> Duration {
    let most = FIRST
        .saturating_mul(2_u32.saturating_pow(tries.min(16)))
        .min(LONGEST);
    // Without random numbers of the system it is the shortest.
    let tenths = 1 + getrandom::u32().unwrap_or(0) % 10;
    most * tenths / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_are_bounded() {
        for tries in 0..40 {
            let most = FIRST.saturating_mul(1 << tries.min(12)).min(LONGEST);
            let wait = jittered(tries);
            assert!(wait <= most && wait >= most / 10, "{tries}: {wait:?}");
        }
    }

    #[test]
    fn who_is_told_when_to_ask_again_waits_at_least_so_long() {
        let status = kazoe_proto::retry_after::later("busy", Duration::from_secs(7));
        assert!(passes(&status));
        for tries in 0..40 {
            let wait = pause(&status, tries);
            assert!(wait > Duration::from_secs(7) && wait <= Duration::from_secs(7 + 4));
        }
    }

    #[tokio::test]
    async fn what_does_not_pass_is_not_waited_for() {
        let stop = Arc::new(Stop::new());
        let mut patience = Backoff::new(Arc::clone(&stop));
        let refused = Status::permission_denied("no");
        assert_eq!(
            patience.wait(refused).await.unwrap_err().code(),
            Code::PermissionDenied
        );
        patience.wait(Status::unavailable("away")).await.unwrap();
        stop.request();
        stop.request();
        assert!(patience.wait(Status::unavailable("away")).await.is_err());
    }
}
