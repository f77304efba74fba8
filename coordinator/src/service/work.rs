//! The service Work: joining and claiming. [`deliver`](super::deliver) is the rest of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fail::fail_point;
use kazoe_common::census::{Block, Campaign, Tally};
use kazoe_proto::retry_after::later;
use kazoe_proto::v1::work_server::Work;
use kazoe_proto::v1::{
    ClaimRequest, ClaimResponse, DeliverRequest, DeliverResponse, JoinRequest, JoinResponse,
    LeaveRequest, LeaveResponse,
};
use kazoe_proto::work as messages;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tracing::{debug, info, warn};

use super::auth::{Caller, Right, allowed, random_hex, still_stands};
use super::deliver::converse;
use super::limits::{AGAIN, DELAY};
use super::rejections::count;
use super::status::status;
use super::{Coordinator, chance};
use crate::leasing;
use crate::ledger::{
    self, AskingWorker, Claim, LedgerError, Market, NewWorker, Queued, Role, Who, WorkerRecord,
};
use crate::tally_text;

/// At most so many leases are lent to one worker: the two that it needs, and as many again whose answer
/// may have been lost on its way.
const MOST_LEASES: u64 = 4;

/// The service.
#[derive(Clone, Debug)]
pub(super) struct WorkService(pub(super) Arc<Coordinator>);

#[tonic::async_trait]
impl Work for WorkService {
    async fn join(&self, request: Request<JoinRequest>) -> Result<Response<JoinResponse>, Status> {
        let caller = allowed(&request, Right::Compute)?;
        let join = messages::join(request.into_inner())?;
        if let Err(why) = welcome(&join, &self.0.settings.known) {
            warn!(
                name = join.name,
                owner = caller.owner,
                build = join.build,
                "worker refused: {why}"
            );
            return Err(Status::failed_precondition(why));
        }
        let permit = self.0.claims_in_progress.take(caller.token());
        let _permit =
            permit.ok_or_else(|| later("too many workers join at once", self.0.later()))?;
        let worker = self.0.enter(&caller, &join).await?;
        info!(
            worker,
            name = join.name,
            owner = caller.owner,
            build = join.build,
            "worker joined"
        );
        Ok(Response::new(messages::join_response(&messages::Joined {
            worker,
            heartbeat: self.0.heartbeat(),
            owner: caller.owner,
        })))
    }

    async fn claim(
        &self,
        request: Request<ClaimRequest>,
    ) -> Result<Response<ClaimResponse>, Status> {
        let caller = allowed(&request, Right::Compute)?;
        let claim = messages::claim(request.into_inner())?;
        let offer = match self.0.claims.take(caller.token(), Instant::now()) {
            Ok(()) => match self.0.claims_in_progress.take(caller.token()) {
                Some(_permit) => self.0.offer(&caller, &claim).await?,
                None => self.0.put_off(Duration::ZERO).await,
            },
            Err(wait) => self.0.put_off(wait).await,
        };
        Ok(Response::new(messages::claim_response(&offer)))
    }

    type DeliverStream = ReceiverStream<Result<DeliverResponse, Status>>;

    async fn deliver(
        &self,
        request: Request<Streaming<DeliverRequest>>,
    ) -> Result<Response<Self::DeliverStream>, Status> {
        let caller = allowed(&request, Right::Compute)?;
        let (out, answers) = mpsc::channel(1);
        let coordinator = Arc::clone(&self.0);
        tokio::spawn(converse(coordinator, caller, request.into_inner(), out));
        Ok(Response::new(ReceiverStream::new(answers)))
    }

    async fn leave(
        &self,
        request: Request<LeaveRequest>,
    ) -> Result<Response<LeaveResponse>, Status> {
        let caller = allowed(&request, Right::Compute)?;
        let worker = messages::left(request.into_inner())?;
        let permit = self.0.claims_in_progress.take(caller.token());
        let _permit =
            permit.ok_or_else(|| later("too many workers call at once", self.0.later()))?;
        // The chronicle tells of it, at each coordinator.
        let left = self.0.batches.leaves.ask("", (worker, caller.owner)).await;
        left.map_err(|error| status(&error))?;
        Ok(Response::new(LeaveResponse {}))
    }
}

/// Whether a worker speaks our protocol and counts as we do; if not, why, with both values.
fn welcome(
    join: &messages::Join,
    known: &[(Campaign, BTreeMap<Block, Tally>)],
) -> Result<(), String> {
    if join.protocol != messages::PROTOCOL {
        return Err(format!(
            "the worker's protocol version is {}, the coordinator's {}; use builds of the same \
             release",
            join.protocol,
            messages::PROTOCOL
        ));
    }
    for (campaign, tallies) in known {
        let name = campaign.canonical();
        let shown = join.self_tests.iter().find(|(other, _)| other == campaign);
        let Some((_, shown)) = shown else {
            return Err(format!(
                "the worker sent no self-test of [{name}]; use builds of the same release"
            ));
        };
        for (block, tally) in tallies {
            let theirs = shown.get(block);
            if theirs != Some(tally) {
                return Err(format!(
                    "self-test mismatch: for block {block} of [{name}] the worker computes [{}], the \
                     coordinator [{}]; use builds of the same release; if they are equal, remove \
                     that machine",
                    theirs.map_or_else(|| "nothing".to_owned(), in_words),
                    in_words(tally)
                ));
            }
        }
    }
    Ok(())
}

/// A tally as it is told and logged: no more of it than an honest one has.
fn in_words(tally: &Tally) -> String {
    const MOST: usize = 2_000;
    let text = tally_text::write(tally);
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

impl Coordinator {
    /// Gives a worker an id.
    async fn enter(&self, caller: &Caller, join: &messages::Join) -> Result<String, Status> {
        let new = NewWorker {
            owner: caller.owner.clone(),
            credential: caller.credential.clone(),
            operator: caller.role == Role::Operator,
            build: join.build.clone(),
            name: join.name.clone(),
        };
        loop {
            let random = random_hex::<3>().map_err(|error| Status::internal(error.to_string()))?;
            let id = format!("w-{random}");
            let entered = self.batches.joins.ask("", (id.clone(), new.clone())).await;
            if entered.map_err(|error| status(&error))? {
                return Ok(id);
            }
        }
    }

    async fn offer(
        &self,
        caller: &Caller,
        claim: &messages::Claim,
    ) -> Result<messages::Offer, Status> {
        let asking = AskingWorker {
            id: claim.worker.clone(),
            owner: caller.owner.clone(),
            threads: claim.threads,
            speed: claim.samples_per_second,
        };
        let worker = self.batches.asking.ask("", asking).await;
        let found = worker.map_err(|error| status(&error))?;
        let (worker, held) = found.ok_or_else(|| {
            Status::not_found(format!("unknown worker `{}`; join again", claim.worker))
        })?;
        if worker.owner != caller.owner {
            return Err(Status::permission_denied(format!(
                "the worker {} does not belong to {}",
                worker.id, caller.owner
            )));
        }
        if worker.drained {
            return Ok(messages::Offer::Leave);
        }
        if self.is_leaving() || held >= MOST_LEASES || self.has_its_share(caller).await? {
            return Ok(messages::Offer::Later(self.later()));
        }
        let lease = self.lend(worker, claim.samples_per_second).await;
        let lease = lease.map_err(|error| status(&error))?;
        if let Some((_, lease)) = &lease
            && let Err(revoked) = still_stands(&self.batches, caller).await
        {
            // Its token was revoked meanwhile, and maybe before this lease could be found.
            let ended = self.batches.ends.ask(&lease.campaign, lease.key).await;
            debug!(?ended, "a lease to a revoked token");
            return Err(revoked);
        }
        Ok(match lease {
            Some((campaign, lease)) => {
                self.lent.add(caller.token());
                messages::Offer::Lease(messages::Lease {
                    key: lease.key,
                    cut: campaign.cut,
                    campaign: campaign.campaign,
                    segments: lease.segments.iter().map(|lent| lent.segment).collect(),
                    hold: self.settings.hold,
                })
            }
            None => messages::Offer::Later(self.later()),
        })
    }

    /// What a worker is told for which there is no time now. It is told with a delay: one that would not
    /// listen and asks at once gains nothing.
    async fn put_off(&self, wait: Duration) -> messages::Offer {
        count(&self.turned_away.later);
        tokio::time::sleep(DELAY).await;
        messages::Offer::Later(self.later() + wait)
    }

    /// Whether as many leases go on under a caller's token as may.
    async fn has_its_share(&self, caller: &Caller) -> Result<bool, Status> {
        let Some(credential) = &caller.credential else {
            return Ok(false);
        };
        let lent = self.lent.under(&self.ledger, credential).await;
        Ok(lent.map_err(|error| status(&error))? >= self.settings.limits.leases_per_token)
    }

    /// When to ask again: what a lost worker held is found by whoever asks, so not long after its deadline;
    /// and not all at once.
    fn later(&self) -> Duration {
        AGAIN.min(self.heartbeat()).mul_f64(1.0 + chance())
    }

    /// Lends segments of the first campaign that has any for this worker.
    async fn lend(
        &self,
        worker: WorkerRecord,
        speed: Option<u64>,
    ) -> Result<Option<(ledger::CampaignRecord, ledger::Lease)>, LedgerError> {
        let who = Who {
            owner: worker.owner,
            worker: worker.id,
            build: worker.build,
            operator: worker.operator,
        };
        let Market { queue, workers } = self.batches.market.ask("", ()).await?;
        for Queued { campaign, left } in queue {
            let id = campaign.id.clone();
            let samples = campaign.cut.segment_samples();
            let want = leasing::size(speed, samples, self.settings.lease, left, workers);
            let claim = Claim {
                who: who.clone(),
                want,
                hold: self.settings.hold,
            };
            let lease = match self.batches.claims.ask(&id, claim).await {
                Err(error) if error.is_of_one_campaign() => {
                    if self.barred.add(&id, campaign.revision) {
                        warn!(campaign = id, "its segments are not leased: {error}");
                    }
                    continue;
                }
                lease => lease?,
            };
            if let Some(lease) = lease {
                fail_point!("coordinator.claim.committed");
                debug!(
                    campaign = id,
                    worker = who.worker,
                    lease = lease.key.sequence,
                    segments = lease.segments.len(),
                    "lent"
                );
                return Ok(Some((campaign, lease)));
            }
        }
        Ok(None)
    }
}
