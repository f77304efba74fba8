//! One conversation under a lease: tallies and heartbeats in, acknowledgements and deadlines out.
//!
//! Each message is answered before the next is read, so what a worker may have in flight is bounded, and
//! an answer says that what it answers is safe. Everything may be sent again on another stream.

use std::sync::Arc;
use std::time::Duration;

use fail::fail_point;
use kazoe_common::census::{Segment, SegmentResult};
use kazoe_proto::retry_after::later;
use kazoe_proto::v1::{DeliverRequest, DeliverResponse};
use kazoe_proto::work::{self as messages, Held, Notice, Report, StopReason};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tonic::{Status, Streaming};
use tracing::{Instrument, debug, info_span, warn};

use super::auth::{Caller, still_admits};
use super::limits::AGAIN;
use super::quota::Permit;
use super::status::status;
use super::{Coordinator, chance, left};
use crate::ledger::{Beat, Delivery, Heartbeat, LeaseRecord, LedgerError};
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;

/// How long a coordinator that leaves still takes what arrives.
const LAST: Duration = Duration::from_secs(2);

type Out = mpsc::Sender<Result<DeliverResponse, Status>>;

/// Answers until the worker is done, goes, says what cannot be, or the coordinator leaves.
pub(super) async fn converse(
    coordinator: Arc<Coordinator>,
    caller: Caller,
    mut inbound: Streaming<DeliverRequest>,
    out: Out,
) {
    let leaving = left(coordinator.leaving.subscribe());
    tokio::pin!(leaving);
    let mut last = None;
    let mut lease = None;
    loop {
        let message = tokio::select! {
            message = inbound.message() => message,
            () = &mut leaving, if last.is_none() => {
                last = Some(Instant::now() + LAST);
                continue;
            }
            () = until(last) => {
                let away = Status::unavailable("the coordinator is shutting down; reconnect");
                let _ = out.send(Err(away)).await;
                return;
            }
        };
        let answered = match message {
            Ok(Some(message)) => {
                let permit = tokio::select! {
                    permit = coordinator.permit(&caller, messages::has_tallies(&message)) => permit,
                    // The worker is gone meanwhile; what it said it will say again.
                    () = out.closed() => return,
                };
                match permit {
                    Ok(_permit) => {
                        let within = coordinator.settings.limits.call;
                        let answer = coordinator.answer(&caller, &mut lease, message);
                        let answer = coordinator.in_time(within, answer).await;
                        answer.and_then(|answer| answer)
                    }
                    Err(later) => Err(later),
                }
            }
            // The worker is gone, or has nothing more to say; its lease goes on until its deadline.
            Ok(None) => return,
            // No message: too large, or none at all.
            Err(refused) => Err(refused),
        };
        let answer = match answered {
            Ok(Some(notice)) => Ok(messages::deliver_response(&notice)),
            Ok(None) => return,
            Err(refused) => Err(refused),
        };
        let over = answer.is_err();
        if out.send(answer).await.is_err() || over {
            return;
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// The lease of a conversation.
#[derive(Debug)]
struct Current {
    held: Held,
    lease: LeaseRecord,
}

impl Coordinator {
    /// What to say to a message; nothing where the worker is done.
    async fn answer(
        &self,
        caller: &Caller,
        current: &mut Option<Current>,
        message: DeliverRequest,
    ) -> Result<Option<Notice>, Status> {
        let key = messages::key_of(&message)?;
        if current.as_ref().is_none_or(|one| one.held.key != key) {
            *current = Some(self.find(caller, key).await?);
        } else {
            still_admits(&self.keyring, caller).await?;
        }
        let Some(Current { held, lease }) = current.as_ref() else {
            return Err(Status::internal("a lease that was just found"));
        };
        let span = info_span!(
            "lease",
            lease = key.sequence,
            campaign = lease.campaign,
            worker = lease.worker
        );
        let answered = match messages::report(message, held)? {
            Report::Finished(finished) => {
                let taken = self.take(lease, key, finished);
                Some(taken.instrument(span).await?)
            }
            Report::Heartbeat => Some(self.extend(lease, key).instrument(span).await?),
            Report::Done => {
                self.end(lease, key).instrument(span).await?;
                None
            }
        };
        Ok(answered)
    }

    /// Waits as the rate of the caller's token demands, and takes the permit to work on its message. Heartbeats
    /// have a rate and a quota of their own, so that no lease is lost because others deliver or claim.
    async fn permit(&self, caller: &Caller, has_tallies: bool) -> Result<Permit, Status> {
        let (rates, in_progress) = if has_tallies {
            (&self.tallies, &self.tallies_in_progress)
        } else {
            (&self.beats, &self.beats_in_progress)
        };
        let wait = rates.owe(caller.token(), std::time::Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        in_progress.take(caller.token()).ok_or_else(|| {
            let wait = AGAIN.mul_f64(1.0 + chance());
            later("the coordinator is overloaded", wait)
        })
    }

    /// Finds the lease of a key, if it is the caller's.
    async fn find(&self, caller: &Caller, key: LeaseKey) -> Result<Current, Status> {
        let lease = self.batches.leases.ask("", key).await;
        let lease = lease.map_err(|error| status(&error))?;
        if lease.owner != caller.owner {
            return Err(Status::permission_denied(
                "the lease belongs to another owner",
            ));
        }
        let held = Held {
            key,
            segment_blocks: lease.segment_blocks,
            segments: lease.segments.iter().copied().collect(),
        };
        Ok(Current { held, lease })
    }

    async fn take(
        &self,
        lease: &LeaseRecord,
        key: LeaseKey,
        results: Vec<SegmentResult>,
    ) -> Result<Notice, Status> {
        let segments: Vec<Segment> = results.iter().map(|one| one.segment).collect();
        let delivery = Delivery {
            key,
            results: results.into(),
        };
        let outcomes = self.batches.deliveries.ask(&lease.campaign, delivery);
        let outcomes = match outcomes.await {
            // Another coordinator, of the campaign's build, lent it and will lend it again.
            Err(LedgerError::Foreign(campaign)) => {
                warn!("{campaign}");
                return Ok(Notice::Stop(StopReason::NotHeld));
            }
            outcomes => outcomes.map_err(|error| status(&error))?,
        };
        fail_point!("coordinator.deliver.committed");
        let receipts: Vec<_> = segments.into_iter().zip(outcomes).collect();
        for &(segment, outcome) in &receipts {
            if outcome == DeliveryOutcome::Disputed {
                warn!(
                    segment,
                    owner = lease.owner,
                    "a tally differs: the segment is disputed"
                );
            } else {
                debug!(segment, verdict = outcome.name(), "tally");
            }
        }
        Ok(Notice::Acknowledged(receipts))
    }

    async fn extend(&self, lease: &LeaseRecord, key: LeaseKey) -> Result<Notice, Status> {
        let hold = self.settings.hold;
        let beat = Beat {
            key,
            worker: lease.worker.clone(),
        };
        let state = self.batches.heartbeats.ask("", beat).await;
        Ok(match state.map_err(|error| status(&error))? {
            Heartbeat::Extended => Notice::Extended(hold),
            // What a drained worker has begun is still its own.
            Heartbeat::Drained => Notice::Stop(StopReason::Drained),
            Heartbeat::NotHeld => Notice::Stop(StopReason::NotHeld),
            Heartbeat::Cancelled => Notice::Stop(StopReason::Cancelled),
        })
    }

    async fn end(&self, lease: &LeaseRecord, key: LeaseKey) -> Result<(), Status> {
        let ended = self.batches.ends.ask(&lease.campaign, key).await;
        fail_point!("coordinator.end.committed");
        match ended {
            Ok(0) | Err(LedgerError::NotHeld(_)) => Ok(()),
            Ok(returned) => {
                tracing::info!(returned, owner = lease.owner, "segments given back");
                Ok(())
            }
            Err(error) => Err(status(&error)),
        }
    }
}
