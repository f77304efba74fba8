//! The service Campaigns.

use std::sync::Arc;
use std::time::Duration;

use kazoe_common::census::{Cut, Witness};
use kazoe_proto::campaigns as messages;
use kazoe_proto::retry_after::later;
use kazoe_proto::v1::campaigns_server::Campaigns;
use kazoe_proto::v1::{
    CampaignRecord, CampaignRef, ExportChunk, ListRequest, ListResponse, ReportResponse, Snapshot,
    SubmitRequest, SubmitResponse,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use tracing::info;

use super::auth::{Caller, Right, allowed};
use super::fair_queue::Turn;
use super::limits::AGAIN;
use super::status::status;
use super::{Coordinator, left};
use crate::ledger::{self, CampaignState, Ledger, LedgerError};
use crate::ledger_file::{ExportError, Pages};
use crate::wire;

/// How often a watched campaign is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Segments whose witnesses are read at a time for a report.
const PAGE: u64 = 256;

/// The service.
#[derive(Clone, Debug)]
pub(super) struct CampaignsService(pub(super) Arc<Coordinator>);

impl CampaignsService {
    async fn named(
        &self,
        request: Request<CampaignRef>,
        right: Right,
    ) -> Result<(String, Caller, Turn), Status> {
        let caller = allowed(&request, right)?;
        let id = messages::named(request.into_inner())?;
        let turn = self.0.question_turn(caller.token()).await?;
        Ok((id, caller, turn))
    }

    async fn set_pace(
        &self,
        request: Request<CampaignRef>,
        pace: CampaignState,
    ) -> Result<Response<CampaignRecord>, Status> {
        let (id, caller, _turn) = self.named(request, Right::Operate).await?;
        let owner = caller.owner;
        let record = self.0.ledger.set_pace(&id, pace, &owner).await;
        let record = record.map_err(|error| status(&error))?;
        info!(campaign = id, by = owner, "campaign {}", pace.name());
        Ok(Response::new(messages::record_message(&record)))
    }
}

/// What a watcher saw last; another snapshot is sent when one of these has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    revision: u64,
    cut: Cut,
    pace: Option<messages::CampaignState>,
    /// Those that died change nothing else.
    workers: u32,
}

impl Coordinator {
    /// A turn for what operators and viewers ask.
    ///
    /// # Errors
    /// That they should ask again later.
    pub(super) async fn question_turn(&self, token: &str) -> Result<Turn, Status> {
        let turn = self.questions.take(token).await;
        turn.ok_or_else(|| later("the coordinator is overloaded", AGAIN))
    }

    /// A campaign's snapshot as it goes out.
    pub(super) async fn snapshot(&self, id: &str) -> Result<messages::Snapshot, LedgerError> {
        let snapshot = self.ledger.snapshot(id).await?;
        let (workers, holders) = self.holders(id).await?;
        Ok(wire::snapshot(&snapshot, workers, holders))
    }

    /// How many workers hold leases of a campaign, and some of them.
    async fn holders(&self, id: &str) -> Result<(u32, Vec<ledger::Holder>), LedgerError> {
        let most = u32::try_from(messages::MOST_HOLDERS).unwrap_or(u32::MAX);
        self.ledger.holders(id, most).await
    }

    /// A campaign's snapshot, unless it is the one that was seen already, with as many workers: those that died
    /// change nothing else.
    async fn news(
        &self,
        id: &str,
        seen: Option<Seen>,
    ) -> Result<Option<messages::Snapshot>, LedgerError> {
        let record = self.ledger.campaign(id).await?;
        let now = Seen {
            revision: record.revision,
            cut: record.cut,
            pace: Some(record.pace),
            workers: self.holders(id).await?.0,
        };
        if seen == Some(now) {
            return Ok(None);
        }
        self.snapshot(id).await.map(Some)
    }

    /// The paths among the witnesses of the first segments.
    pub(super) async fn paths(&self, id: &str, segments: u64) -> Result<Vec<Witness>, LedgerError> {
        let mut paths = Vec::new();
        let mut from = 0;
        while from < segments {
            let to = segments.min(from + PAGE);
            let witnesses = self.ledger.witnesses(id, from..to).await?;
            let is_path = |witness: &Witness| matches!(witness, Witness::Path { .. });
            paths.extend(witnesses.into_iter().filter(is_path));
            from = to;
        }
        Ok(paths)
    }
}

type Answers<T> = ReceiverStream<Result<T, Status>>;

#[tonic::async_trait]
impl Campaigns for CampaignsService {
    async fn submit(
        &self,
        request: Request<SubmitRequest>,
    ) -> Result<Response<SubmitResponse>, Status> {
        let Coordinator {
            ledger, settings, ..
        } = &*self.0;
        let caller = allowed(&request, Right::Operate)?;
        let submission = messages::submission(request.into_inner())?;
        let submission = wire::submission(submission, settings.audit_millionths)?;
        let _turn = self.0.question_turn(caller.token()).await?;
        let (record, how) = ledger
            .submit(&submission)
            .await
            .map_err(|error| status(&error))?;
        let complete = ledger.is_complete(&record.id).await;
        let complete = complete.map_err(|error| status(&error))?;
        info!(
            campaign = record.id,
            by = caller.owner,
            samples = record.cut.samples,
            "campaign submitted: {}",
            how.name()
        );
        Ok(Response::new(messages::submit_response(
            &messages::SubmitAnswer {
                record,
                how,
                complete: Some(complete),
            },
        )))
    }

    async fn get(&self, request: Request<CampaignRef>) -> Result<Response<CampaignRecord>, Status> {
        let (id, _, _turn) = self.named(request, Right::Look).await?;
        let record = self.0.ledger.campaign(&id).await;
        let record = record.map_err(|error| status(&error))?;
        Ok(Response::new(messages::record_message(&record)))
    }

    async fn list(&self, request: Request<ListRequest>) -> Result<Response<ListResponse>, Status> {
        let ledger = &self.0.ledger;
        let caller = allowed(&request, Right::Look)?;
        let _turn = self.0.question_turn(caller.token()).await?;
        let listed = ledger.listed().await.map_err(|error| status(&error))?;
        Ok(Response::new(messages::list_response(&listed)))
    }

    async fn pause(
        &self,
        request: Request<CampaignRef>,
    ) -> Result<Response<CampaignRecord>, Status> {
        self.set_pace(request, CampaignState::Paused).await
    }

    async fn resume(
        &self,
        request: Request<CampaignRef>,
    ) -> Result<Response<CampaignRecord>, Status> {
        self.set_pace(request, CampaignState::Running).await
    }

    async fn cancel(
        &self,
        request: Request<CampaignRef>,
    ) -> Result<Response<CampaignRecord>, Status> {
        self.set_pace(request, CampaignState::Cancelled).await
    }

    type WatchStream = Answers<Snapshot>;

    async fn watch(
        &self,
        request: Request<CampaignRef>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let (id, caller, _turn) = self.named(request, Right::Look).await?;
        let (out, answers) = mpsc::channel(1);
        let coordinator = Arc::clone(&self.0);
        tokio::spawn(async move {
            if let Err(error) = watch(&coordinator, &id, caller.token(), &out).await {
                // Nobody listening is no matter.
                let _ = out.send(Err(error)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(answers)))
    }

    async fn report(
        &self,
        request: Request<CampaignRef>,
    ) -> Result<Response<ReportResponse>, Status> {
        let (id, _, _turn) = self.named(request, Right::Look).await?;
        let findings = async {
            let snapshot = self.0.snapshot(&id).await?;
            let builds = self.0.ledger.builds(&id).await?;
            let owners = self.0.ledger.owners(&id).await?;
            let most = u32::try_from(messages::MOST_WORKERS).unwrap_or(u32::MAX);
            let (workers, more_workers) = self.0.ledger.worker_shares(&id, most).await?;
            Ok(messages::Findings {
                record: self.0.ledger.campaign(&id).await?,
                paths: self.0.paths(&id, snapshot.prefix_segments).await?,
                builds,
                owners,
                workers,
                more_workers,
                snapshot,
            })
        };
        let findings = findings
            .await
            .map_err(|error: ledger::LedgerError| status(&error))?;
        Ok(Response::new(messages::report_response(&findings)))
    }

    type ExportStream = Answers<ExportChunk>;

    async fn export(
        &self,
        request: Request<CampaignRef>,
    ) -> Result<Response<Self::ExportStream>, Status> {
        let (id, caller, _turn) = self.named(request, Right::Look).await?;
        let (out, answers) = mpsc::channel(1);
        let coordinator = Arc::clone(&self.0);
        tokio::spawn(async move {
            if let Err(error) = export(&coordinator, &id, caller.token(), &out).await {
                // Nobody listening is no matter.
                let _ = out.send(Err(error)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(answers)))
    }
}

/// Sends snapshots until the campaign is complete, nobody listens, or the coordinator leaves.
async fn watch(
    coordinator: &Coordinator,
    id: &str,
    token: &str,
    out: &mpsc::Sender<Result<Snapshot, Status>>,
) -> Result<(), Status> {
    let leaving = left(coordinator.leaving.subscribe());
    tokio::pin!(leaving);
    let mut seen = None;
    loop {
        // Where others ask too much, it is looked at less often.
        let turn = coordinator.questions.take(token).await;
        let news = match turn {
            Some(_turn) => coordinator.news(id, seen).await,
            None => Ok(None),
        };
        if let Some(snapshot) = news.map_err(|error| status(&error))? {
            seen = Some(Seen {
                revision: snapshot.revision,
                cut: snapshot.cut,
                pace: snapshot.pace,
                workers: snapshot.workers,
            });
            let complete = snapshot.counts.accepted == snapshot.cut.segments();
            let message = messages::snapshot_message(&snapshot);
            if out.send(Ok(message)).await.is_err() || complete {
                return Ok(());
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = out.closed() => return Ok(()),
            () = &mut leaving => {
                return Err(Status::unavailable("the coordinator is shutting down; watch again"));
            }
        }
    }
}

/// Sends a ledger file in pieces.
async fn export(
    coordinator: &Coordinator,
    id: &str,
    token: &str,
    out: &mpsc::Sender<Result<ExportChunk, Status>>,
) -> Result<(), Status> {
    let failed = |error: ExportError| match error {
        ExportError::Ledger(error) => status(&error),
        other => Status::internal(other.to_string()),
    };
    let pages = Pages::of(&coordinator.ledger, id).await;
    let mut pages = pages.map_err(|error| status(&error))?;
    loop {
        let turn = coordinator.question_turn(token).await?;
        let Some(page) = pages.next().await.map_err(failed)? else {
            return Ok(());
        };
        // Not while somebody reads.
        drop(turn);
        for text in page.chunks(messages::EXPORT_CHUNK) {
            let text = text.to_vec();
            if out.send(Ok(ExportChunk { text })).await.is_err() {
                return Ok(());
            }
        }
    }
}
