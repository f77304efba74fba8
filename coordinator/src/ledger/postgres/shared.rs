//! What a cluster's ledger has in common with the store of one machine.

use std::ops::Range;

use kazoe_common::census::{Segment, SegmentResult, Witness};
use kazoe_proto::outcome::DeliveryOutcome;

use super::{PostgresLedger, campaign_rows, deliver, owners, read, submit};
use crate::ledger::{
    AcceptedSegment, BuildShare, CampaignRecord, Ledger, LedgerError, Listed, LogEntry, OwnerShare,
    SelfTest, Snapshot, Submission, Submitted, Who,
};

impl Ledger for PostgresLedger {
    async fn submit(
        &self,
        submission: &Submission,
    ) -> Result<(CampaignRecord, Submitted), LedgerError> {
        self.write(|mut tx, _| async move {
            let answer = submit::submit(&mut tx, submission).await?;
            Ok((tx, answer))
        })
        .await
    }

    async fn listed(&self) -> Result<Listed, LedgerError> {
        self.read(|mut tx| async move { campaign_rows::all(&mut tx).await })
            .await
    }

    async fn campaign(&self, id: &str) -> Result<CampaignRecord, LedgerError> {
        self.read(|mut tx| async move { campaign_rows::one(&mut tx, id).await })
            .await
    }

    async fn self_tests(&self, id: &str) -> Result<Vec<SelfTest>, LedgerError> {
        self.read(|mut tx| async move {
            campaign_rows::one(&mut tx, id).await?;
            campaign_rows::self_tests(&mut tx, id).await
        })
        .await
    }

    async fn import(
        &self,
        id: &str,
        who: &Who,
        deliveries: &[SegmentResult],
    ) -> Result<Vec<DeliveryOutcome>, LedgerError> {
        self.write(|mut tx, _| async move {
            let verdicts = deliver::import(&mut tx, id, who, deliveries).await?;
            Ok((tx, verdicts))
        })
        .await
    }

    async fn snapshot(&self, id: &str) -> Result<Snapshot, LedgerError> {
        self.read(|mut tx| async move { read::snapshot(&mut tx, id).await })
            .await
    }

    async fn segments(
        &self,
        id: &str,
        from: Segment,
        limit: u32,
    ) -> Result<Vec<AcceptedSegment>, LedgerError> {
        self.read(|mut tx| async move { read::segments(&mut tx, id, from, limit).await })
            .await
    }

    async fn witnesses(
        &self,
        id: &str,
        segments: Range<Segment>,
    ) -> Result<Vec<Witness>, LedgerError> {
        let segments = &segments;
        self.read(|mut tx| async move { read::witnesses(&mut tx, id, segments.clone()).await })
            .await
    }

    async fn builds(&self, id: &str) -> Result<Vec<BuildShare>, LedgerError> {
        self.read(|mut tx| async move { read::builds(&mut tx, id).await })
            .await
    }

    async fn owners(&self, id: &str) -> Result<Vec<OwnerShare>, LedgerError> {
        self.read(|mut tx| async move { owners::shares(&mut tx, id).await })
            .await
    }

    async fn log(&self, id: &str, segment: Segment) -> Result<Vec<LogEntry>, LedgerError> {
        self.read(|mut tx| async move { read::log(&mut tx, id, segment).await })
            .await
    }
}
