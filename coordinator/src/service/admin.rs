//! The service Admin.

use std::sync::Arc;
use std::time::Duration;

use kazoe_proto::admin as messages;
use kazoe_proto::v1::admin_server::Admin;
use kazoe_proto::v1::{
    CreateTokenRequest, CreateTokenResponse, DrainRequest, DrainResponse, ImportRequest,
    ImportResponse, ListTokensRequest, ListTokensResponse, PurgeRequest, PurgeResponse,
    ReclaimRequest, ReclaimResponse, ResolveRequest, ResolveResponse, RetryRequest, RetryResponse,
    RevokeTokenRequest, RevokeTokenResponse, SetPriorityRequest, SetPriorityResponse,
    WorkersRequest, WorkersResponse,
};
use tonic::{Request, Response, Status};
use tracing::info;

use super::Coordinator;
use super::auth::{Caller, MintError, Right, allowed, mint};
use super::fair_queue::Turn;
use super::status::status;
use crate::leasing::{Millis, Presence};
use crate::ledger::{Drained, Ledger, Reclaim, Reclaimed, Role, Roll, Who, Whose, WorkerStanding};
use kazoe_proto::outcome::DeliveryOutcome;

/// The service.
#[derive(Clone, Debug)]
pub(super) struct AdminService(pub(super) Arc<Coordinator>);

impl AdminService {
    /// Who calls, and a turn.
    async fn admit<T>(&self, request: &Request<T>, right: Right) -> Result<(Caller, Turn), Status> {
        let caller = allowed(request, right)?;
        let turn = self.0.question_turn(caller.token()).await?;
        Ok((caller, turn))
    }
}

#[tonic::async_trait]
impl Admin for AdminService {
    async fn workers(
        &self,
        request: Request<WorkersRequest>,
    ) -> Result<Response<WorkersResponse>, Status> {
        let (_, _turn) = self.admit(&request, Right::Look).await?;
        let listed = if request.get_ref().all {
            Roll::All
        } else {
            Roll::Here
        };
        let patience = self.0.patience();
        let ledger = &self.0.ledger;
        let workers = ledger.workers(listed, patience, messages::MOST_WORKERS);
        let (workers, left_out) = workers.await.map_err(|error| status(&error))?;
        let workers: Vec<_> = workers.iter().map(|one| worker(one, patience)).collect();
        let answer = messages::workers_response(&workers, left_out);
        Ok(Response::new(answer))
    }

    async fn purge(
        &self,
        request: Request<PurgeRequest>,
    ) -> Result<Response<PurgeResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let purge = messages::purge(request.into_inner())?;
        let whose = match purge.whose {
            messages::Whose::Worker(worker) => Whose::Worker(worker),
            messages::Whose::Owner(owner) => Whose::Owner(owner),
            messages::Whose::Build(build) => Whose::Build(build),
            messages::Whose::Segment(segment) => Whose::Segment(segment),
        };
        let ledger = &self.0.ledger;
        let segments = ledger
            .purge(&purge.campaign, &whose, &caller.owner, &purge.why)
            .await
            .map_err(|error| status(&error))?;
        info!(
            campaign = purge.campaign,
            by = caller.owner,
            segments,
            "purged"
        );
        Ok(Response::new(PurgeResponse { segments }))
    }

    async fn resolve(
        &self,
        request: Request<ResolveRequest>,
    ) -> Result<Response<ResolveResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let message = request.into_inner();
        let id = messages::resolved_campaign(&message)?;
        let ledger = &self.0.ledger;
        let campaign = ledger.campaign(&id).await;
        let campaign = campaign.map_err(|error| status(&error))?;
        let finished = messages::resolution(message, campaign.cut.segment_blocks)?;
        let segment = finished.segment;
        let who = Who {
            owner: caller.owner,
            worker: "operator".to_owned(),
            build: campaign.build,
            operator: true,
        };
        let outcomes = ledger.import(&id, &who, &[finished]).await;
        let outcomes = outcomes.map_err(|error| status(&error))?;
        if outcomes.contains(&DeliveryOutcome::Stale) {
            return Err(Status::invalid_argument(
                "field `finished.samples`: the segment has another number of samples now",
            ));
        }
        info!(
            campaign = id,
            segment,
            by = who.owner,
            "resolved by the operator"
        );
        Ok(Response::new(ResolveResponse {}))
    }

    async fn import(
        &self,
        request: Request<ImportRequest>,
    ) -> Result<Response<ImportResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let import = messages::import(request.into_inner())?;
        let id = &import.campaign;
        let ledger = &self.0.ledger;
        let campaign = ledger.campaign(id).await;
        let blocks = campaign.map_err(|error| status(&error))?.cut.segment_blocks;
        if import.segment_blocks != blocks {
            return Err(Status::invalid_argument(format!(
                "field `segment_blocks`: the campaign's segments have {blocks} blocks, these {}",
                import.segment_blocks
            )));
        }
        let who = Who {
            owner: caller.owner,
            worker: "import".to_owned(),
            build: import.build,
            operator: false,
        };
        let outcomes = ledger.import(id, &who, &import.segments).await;
        let outcomes = outcomes.map_err(|error| status(&error))?;
        info!(
            campaign = id,
            by = who.owner,
            segments = outcomes.len(),
            "tallies imported"
        );
        Ok(Response::new(messages::import_response(&outcomes)))
    }

    async fn retry(
        &self,
        request: Request<RetryRequest>,
    ) -> Result<Response<RetryResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let (id, segment) = messages::retry(request.into_inner())?;
        let was_set_aside = self.0.ledger.retry(&id, segment, &caller.owner).await;
        let was_set_aside = was_set_aside.map_err(|error| status(&error))?;
        Ok(Response::new(RetryResponse { was_set_aside }))
    }

    async fn set_priority(
        &self,
        request: Request<SetPriorityRequest>,
    ) -> Result<Response<SetPriorityResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let (id, priority) = messages::new_priority(request.into_inner())?;
        let ledger = &self.0.ledger;
        let set = ledger.set_priority(&id, priority, &caller.owner).await;
        let (record, before) = set.map_err(|error| status(&error))?;
        info!(
            campaign = id,
            by = caller.owner,
            "campaign's priority: from {before} to {priority}"
        );
        Ok(Response::new(messages::set_priority_response(
            &record, before,
        )))
    }

    async fn drain(
        &self,
        request: Request<DrainRequest>,
    ) -> Result<Response<DrainResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let worker = messages::drained(request.into_inner())?;
        let patience = self.0.patience();
        let ledger = &self.0.ledger;
        let drained = ledger.drain_worker(&worker, &caller.owner, patience);
        let gone = match drained.await.map_err(|error| status(&error))? {
            Drained::Unknown => return Err(unknown_worker(&worker)),
            Drained::Told => false,
            Drained::Gone => true,
        };
        info!(worker, gone, by = caller.owner, "worker drained");
        Ok(Response::new(DrainResponse { gone }))
    }

    async fn reclaim(
        &self,
        request: Request<ReclaimRequest>,
    ) -> Result<Response<ReclaimResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let what = match messages::reclaim(request.into_inner())? {
            messages::Reclaim::Worker(worker) => Reclaim::Worker(worker),
            messages::Reclaim::Lease(lease) => Reclaim::Lease(lease),
        };
        let reclaimed = self.0.ledger.reclaim(&what, &caller.owner).await;
        let reclaimed = reclaimed.map_err(|error| status(&error))?;
        let Some(Reclaimed { leases, segments }) = reclaimed else {
            return Err(match what {
                Reclaim::Worker(worker) => unknown_worker(&worker),
                Reclaim::Lease(lease) => Status::not_found(format!(
                    "no lease {lease}; the coordinator's log has the numbers of leases"
                )),
            });
        };
        info!(
            ?what,
            leases,
            segments,
            by = caller.owner,
            "leases taken back"
        );
        Ok(Response::new(ReclaimResponse { leases, segments }))
    }

    async fn create_token(
        &self,
        request: Request<CreateTokenRequest>,
    ) -> Result<Response<CreateTokenResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let (owner, role) = messages::new_token(request.into_inner())?;
        let role = match role {
            messages::Role::Viewer => Role::Viewer,
            messages::Role::Worker => Role::Worker,
            messages::Role::Operator => Role::Operator,
        };
        let minted = mint(&self.0.ledger, &owner, role, &caller.owner).await;
        let minted = minted.map_err(|error| match error {
            MintError::Random(error) => Status::internal(error.to_string()),
            MintError::Ledger(error) => status(&error),
        })?;
        info!(
            token = minted.id,
            owner,
            role = role.name(),
            by = caller.owner,
            "token made"
        );
        let new = messages::NewCredential {
            id: minted.id,
            secret: minted.token,
        };
        Ok(Response::new(messages::create_token_response(&new)))
    }

    async fn list_tokens(
        &self,
        request: Request<ListTokensRequest>,
    ) -> Result<Response<ListTokensResponse>, Status> {
        let (_, _turn) = self.admit(&request, Right::Operate).await?;
        let credentials = self.0.ledger.credentials().await;
        let credentials = credentials.map_err(|error| status(&error))?;
        let credentials = credentials.into_iter().map(|one| messages::Credential {
            id: one.id,
            owner: one.owner,
            role: match one.role {
                Role::Viewer => messages::Role::Viewer,
                Role::Worker => messages::Role::Worker,
                Role::Operator => messages::Role::Operator,
            },
            created_at: one.created_at,
            revoked: one.revoked,
        });
        let credentials: Vec<_> = credentials.collect();
        Ok(Response::new(messages::list_tokens_response(&credentials)))
    }

    async fn revoke_token(
        &self,
        request: Request<RevokeTokenRequest>,
    ) -> Result<Response<RevokeTokenResponse>, Status> {
        let (caller, _turn) = self.admit(&request, Right::Operate).await?;
        let id = messages::revoked(request.into_inner())?;
        let revoked = self.0.ledger.revoke_credential(&id, &caller.owner).await;
        if !revoked.map_err(|error| status(&error))? {
            return Err(Status::not_found(format!(
                "no active token `{id}`; `kazoe token list` lists the tokens"
            )));
        }
        // It is good for nothing from the next message on.
        self.0.keyring.reread().await?;
        info!(token = id, by = caller.owner, "token revoked");
        Ok(Response::new(RevokeTokenResponse {}))
    }
}

fn unknown_worker(worker: &str) -> Status {
    let words = format!("no worker `{worker}`; `kazoe workers --all` lists the workers");
    Status::not_found(words)
}

fn worker(from: &WorkerStanding, patience: Millis) -> messages::Worker {
    let worker = &from.worker;
    messages::Worker {
        worker: worker.id.clone(),
        owner: worker.owner.clone(),
        name: worker.name.clone(),
        build: worker.build.clone(),
        threads: worker.threads.unwrap_or(1),
        samples_per_second: worker.speed,
        leases: u32::try_from(from.leases).unwrap_or(u32::MAX),
        silent: Duration::from_millis(u64::try_from(worker.silent).unwrap_or(0)),
        drained: worker.drained,
        presence: match from.presence(patience) {
            Presence::AtWork => messages::Presence::AtWork,
            Presence::Idle => messages::Presence::Idle,
            Presence::Leaving => messages::Presence::Leaving,
            Presence::Gone => messages::Presence::Gone,
        },
        accepted: from.accepted,
        audited: from.audited,
        disagreed: from.disagreed,
        disputed: from.disputed,
    }
}
