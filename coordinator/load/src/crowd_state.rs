//! What the workers of one crowd share: what they are told, and what they did.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use kazoe_common::census::{Cut, Segment};
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;

use tokio::sync::Notify;
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::crowd_report::CrowdReport;
use crate::latency::Call;

/// The fastest that a worker may say it is: what the protocol has room for.
const FASTEST: u64 = 1 << 50;

/// Orders for the workers of one crowd, and their deeds.
pub(crate) struct CrowdState {
    told: RefCell<CrowdReport>,
    /// How long a worker takes for a segment.
    pace: Cell<Duration>,
    /// Samples of a segment, once a lease told.
    segment_samples: Cell<Option<u64>>,
    epoch: Cell<u64>,
    stopping: Cell<bool>,
    /// Wakes whoever rests.
    news: Notify,
}

impl CrowdState {
    pub(crate) fn new(pace: Duration) -> Self {
        CrowdState {
            told: RefCell::new(CrowdReport::new()),
            pace: Cell::new(pace),
            segment_samples: Cell::new(None),
            epoch: Cell::new(0),
            stopping: Cell::new(false),
            news: Notify::new(),
        }
    }

    /// What is new since it was asked last.
    pub(crate) fn take(&self) -> CrowdReport {
        let mut told = self.told.borrow_mut();
        let rest = CrowdReport {
            joined: told.joined,
            heard: told.heard,
            epoch: self.epoch.get(),
            ..CrowdReport::new()
        };
        let mut new = std::mem::replace(&mut *told, rest);
        new.epoch = self.epoch.get();
        new
    }

    pub(crate) fn pace(&self) -> Duration {
        self.pace.get()
    }

    pub(crate) fn set_pace(&self, pace: Duration) {
        self.pace.set(pace);
        self.news.notify_waiters();
    }

    /// From now on only answers of now count as heard.
    pub(crate) fn begin_epoch(&self, epoch: u64) {
        self.epoch.set(epoch);
        self.told.borrow_mut().heard = 0;
    }

    pub(crate) fn stop(&self) {
        self.stopping.set(true);
        self.news.notify_waiters();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Waits, but no longer than until there are other orders.
    pub(crate) async fn rest(&self, wait: Duration) {
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = self.news.notified() => {}
        }
    }

    /// Samples a second at the present pace, once that is known.
    pub(crate) fn speed(&self) -> Option<u64> {
        let samples = u128::from(self.segment_samples.get()?);
        let micros = self.pace.get().as_micros().max(1);
        let speed = u64::try_from(samples * 1_000_000 / micros).unwrap_or(FASTEST);
        Some(speed.clamp(1, FASTEST))
    }

    pub(crate) fn time(&self, call: Call, begun: Instant) {
        if let Some(latencies) = self.told.borrow_mut().calls.get_mut(call as usize) {
            latencies.add(begun.elapsed());
        }
    }

    pub(crate) fn join(&self) {
        self.told.borrow_mut().joined += 1;
    }

    /// A worker has gone; whether it had joined.
    pub(crate) fn left(&self, joined: bool) {
        self.told.borrow_mut().joined -= u64::from(joined);
    }

    /// A worker had an answer: in this epoch, where it notes that.
    pub(crate) fn hear(&self, epoch: &mut Option<u64>) {
        if epoch.replace(self.epoch.get()) != Some(self.epoch.get()) {
            self.told.borrow_mut().heard += 1;
        }
    }

    pub(crate) fn lease(&self, cut: Cut) {
        self.segment_samples.set(Some(cut.segment_samples()));
        self.told.borrow_mut().leases += 1;
    }

    pub(crate) fn later(&self) {
        self.told.borrow_mut().later += 1;
    }

    pub(crate) fn fail(&self, code: Code) {
        let mut told = self.told.borrow_mut();
        *told.failed.entry(format!("{code:?}")).or_default() += 1;
    }

    pub(crate) fn refuse(&self, status: &Status) {
        let why = format!("{:?}: {}", status.code(), status.message());
        self.told.borrow_mut().refused.push(why);
    }

    /// Tallies are safe, says the coordinator.
    ///
    /// # Errors
    /// If one of them is disputed or stale: all tallies of a segment are the same here.
    pub(crate) fn acknowledge(
        &self,
        key: &LeaseKey,
        receipts: &[(Segment, DeliveryOutcome)],
    ) -> Result<(), Status> {
        for &(segment, verdict) in receipts {
            match verdict {
                DeliveryOutcome::Accepted | DeliveryOutcome::Audit | DeliveryOutcome::Repeat => {
                    self.told
                        .borrow_mut()
                        .acknowledged
                        .push((key.sequence, segment));
                }
                DeliveryOutcome::Disputed | DeliveryOutcome::Stale => {
                    return Err(Status::failed_precondition(format!(
                        "the tally of segment {segment} is said to be {verdict:?}"
                    )));
                }
            }
        }
        Ok(())
    }
}
