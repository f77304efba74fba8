//! Stopping in two stages.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

const RUN: u8 = 0;
const FINISH: u8 = 1;
const LEAVE: u8 = 2;

/// How long segments at hand may go on after the first request.
pub const GRACE: Duration = Duration::from_secs(5);

/// The request to stop, shared by whoever makes it and whoever obeys.
///
/// ```
/// use kazoe_worker::stop::{Order, Stop};
/// let stop = Stop::new();
/// assert_eq!(stop.order(), Order::Run);
/// stop.request();
/// assert_eq!(stop.order(), Order::Finish);
/// stop.request();
/// assert_eq!(stop.order(), Order::Leave);
/// ```
#[derive(Debug, Default)]
pub struct Stop {
    stage: AtomicU8,
    since: OnceLock<Instant>,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Go on.
    Run,
    /// Finish the segments that are begun, hand in, give back the rest.
    Finish,
    /// Finish nothing more; hand in what is finished, give back the rest.
    Leave,
}

impl Stop {
    /// Nobody asked to stop yet.
    #[must_use]
    pub const fn new() -> Self {
        Stop {
            stage: AtomicU8::new(RUN),
            since: OnceLock::new(),
        }
    }

    /// Asks to stop; asked a second time, to leave now.
    pub fn request(&self) {
        let asked = self
            .stage
            .compare_exchange(RUN, FINISH, Ordering::AcqRel, Ordering::Acquire);
        if asked.is_ok() {
            self.since.get_or_init(Instant::now);
        } else {
            self.stage.store(LEAVE, Ordering::Release);
        }
    }

    /// What to do now. Finishing becomes leaving after [`GRACE`].
    #[must_use]
    pub fn order(&self) -> Order {
        match self.stage.load(Ordering::Acquire) {
            RUN => Order::Run,
            FINISH if self.since.get().is_none_or(|since| since.elapsed() < GRACE) => Order::Finish,
            _ => Order::Leave,
        }
    }
}
