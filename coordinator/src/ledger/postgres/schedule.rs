//! Which campaign is served next, who holds what, and the pace of campaigns.

use std::collections::HashMap;

use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;

use super::audit_log::{Deed, write_deed};
use super::{Memo, PostgresLedger, campaign_rows, note, noted, now};
use crate::leasing::Millis;
use crate::ledger::rows::{self, Failure, from_row};
use crate::ledger::{
    CampaignRecord, CampaignState, LeaseRecord, LedgerError, Market, Overdue, Queued,
};
use kazoe_proto::lease_key::LeaseKey;

/// Sequence, secret, campaign, blocks in a segment, owner, worker, segments.
type LeaseRow = (i64, Vec<u8>, String, i64, String, String, Vec<i64>);

/// How many workers were heard in the last so many milliseconds, those that were told to leave left out.
async fn heard_lately(conn: &mut PgConnection, patience: Millis) -> Result<u64, Failure> {
    let since = now(conn).await? - patience;
    let heard = sqlx::query_scalar::<_, i64>(
        "-- schedule_heard
         SELECT count(*) FROM workers
         WHERE seen_at > $1 AND drained_at IS NULL AND left_at IS NULL",
    )
    .bind(since)
    .fetch_one(conn)
    .await?;
    from_row(heard)
}

impl PostgresLedger {
    /// What there is to lend, and how many workers were heard in the last so many milliseconds. Campaigns stand in
    /// the order in which they are served: the highest priority, then the fewest leased cores, then the oldest.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn market(&self, patience: Millis) -> Result<Market, LedgerError> {
        self.read(|mut tx| async move {
            let running = campaign_rows::all(&mut tx).await?.known.into_iter();
            let running: Vec<_> = running
                .filter(|one| one.pace == CampaignState::Running)
                .collect();
            let ids: Vec<&str> = running.iter().map(|one| one.id.as_str()).collect();
            // Where there is one campaign, nothing is to be put in order.
            let queue = sqlx::query_as::<_, (String, i64)>(
                "-- schedule_queue
                 SELECT c.id,
                        c.frontier - (SELECT count(*) FROM waiting w WHERE w.campaign = c.id)
                 FROM campaigns c
                 LEFT JOIN (SELECT h.campaign, sum(coalesce(w.threads, 1)) AS cores
                            FROM (SELECT DISTINCT campaign, worker FROM leases
                                  WHERE ended_at IS NULL AND $2) h
                            LEFT JOIN workers w ON w.id = h.worker
                            GROUP BY h.campaign) leased ON leased.campaign = c.id
                 WHERE c.id = ANY ($1)
                 ORDER BY c.priority DESC, coalesce(leased.cores, 0), c.submitted_at, c.id",
            )
            .bind(&ids)
            .bind(ids.len() > 1)
            .fetch_all(&mut *tx)
            .await?;
            let mut market = Market {
                queue: Vec::with_capacity(queue.len()),
                workers: heard_lately(&mut tx, patience).await?,
            };
            for (id, held) in queue {
                let Some(campaign) = running.iter().find(|one| one.id == id) else {
                    continue;
                };
                let left = campaign
                    .cut
                    .segments()
                    .saturating_sub(from_row(held.max(0))?);
                let campaign = campaign.clone();
                market.queue.push(Queued { campaign, left });
            }
            Ok(market)
        })
        .await
    }

    /// Finds leases by their keys, active or not.
    ///
    /// # Errors
    /// [`LedgerError::Storage`]. For a key: [`LedgerError::NotHeld`] if it is unknown.
    pub async fn leases(
        &self,
        keys: &[LeaseKey],
    ) -> Result<Vec<Result<LeaseRecord, LedgerError>>, LedgerError> {
        let sequences: &Vec<i64> = &keys.iter().map(|key| key.sequence).collect();
        let found = self.read(|mut tx| async move {
            let rows = sqlx::query_as::<_, LeaseRow>(
                "-- schedule_leases
                 SELECT l.sequence, l.secret, l.campaign, c.segment_blocks, l.owner, l.worker,
                        (SELECT array_agg(o.segment ORDER BY o.segment) FROM loans o
                         WHERE o.lease = l.sequence)
                 FROM leases l JOIN campaigns c ON c.id = l.campaign
                 WHERE l.sequence = ANY ($1)",
            )
            .bind(sequences)
            .fetch_all(&mut *tx)
            .await?;
            let mut found = HashMap::new();
            for (sequence, secret, campaign, blocks, owner, worker, segments) in rows {
                let key = LeaseKey {
                    sequence,
                    secret: rows::secret(&secret)?,
                };
                let segments = segments.into_iter().map(from_row);
                let lease = LeaseRecord {
                    campaign,
                    segment_blocks: from_row(blocks)?,
                    owner: stored_owner(owner),
                    worker,
                    segments: segments.collect::<Result<_, _>>()?,
                };
                found.insert(key, lease);
            }
            Ok(found)
        });
        let found = found.await?;
        let answer = |key| found.get(key).cloned().ok_or(LedgerError::NotHeld(*key));
        Ok(keys.iter().map(answer).collect())
    }

    /// The leases whose deadline has passed while they lend something, and those that ended so within the last
    /// minute, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn overdue(&self) -> Result<Vec<Overdue>, LedgerError> {
        self.read(|mut tx| async move {
            sqlx::query_as::<_, (i64, String, String, Option<String>, String, i64)>(
                "-- schedule_overdue
                 SELECT l.sequence, l.campaign, l.worker, w.name, l.owner, count(*)
                 FROM (SELECT * FROM leases WHERE ended_at IS NULL AND deadline <= $1
                       UNION ALL
                       SELECT * FROM leases WHERE ending = 'expired' AND ended_at > $1 - 60000) l
                 JOIN loans o ON o.lease = l.sequence AND (o.closed_at IS NULL OR o.closing = 'expired')
                 LEFT JOIN workers w ON w.id = l.worker
                 GROUP BY l.sequence, l.campaign, l.worker, w.name, l.owner ORDER BY l.sequence",
            )
            .bind(now(&mut tx).await?)
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .map(|(sequence, campaign, worker, name, owner, segments)| {
                Ok(Overdue {
                    sequence,
                    campaign,
                    worker,
                    name,
                    owner,
                    segments: from_row(segments)?,
                })
            })
            .collect()
        })
        .await
    }

    /// Whether every segment of a campaign is accepted and undisputed.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn is_complete(&self, id: &str) -> Result<bool, LedgerError> {
        self.read(|mut tx| async move {
            let campaign = campaign_rows::one(&mut tx, id).await?;
            campaign_rows::is_complete(&mut tx, &campaign).await
        })
        .await
    }

    /// Changes the pace of a campaign, through the audit log if it is another one. A complete campaign is not
    /// cancelled, and a cancelled one is resumed before it is paused.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`], [`LedgerError::Complete`], [`LedgerError::Cancelled`].
    pub async fn set_pace(
        &self,
        id: &str,
        pace: CampaignState,
        actor: &str,
    ) -> Result<CampaignRecord, LedgerError> {
        self.write(|mut tx, _| async move {
            let found = campaign_rows::lock(&mut tx, id).await?;
            if found.pace == pace {
                return Ok((tx, found));
            }
            if pace == CampaignState::Cancelled
                && campaign_rows::is_complete(&mut tx, &found).await?
            {
                return Err(LedgerError::Complete(found.id).into());
            }
            if pace == CampaignState::Paused && found.pace == CampaignState::Cancelled {
                return Err(LedgerError::Cancelled(found.id).into());
            }
            let at = now(&mut tx).await?;
            sqlx::query(
                "-- campaigns_set_pace
                 UPDATE campaigns SET state = $2 WHERE id = $1",
            )
            .bind(id)
            .bind(pace.name())
            .execute(&mut *tx)
            .await?;
            let deed = Deed {
                at,
                campaign: Some(id),
                actor,
                action: pace.name(),
                note: &format!("it was {}", found.pace.name()),
            };
            write_deed(&mut tx, deed).await?;
            let record = campaign_rows::one(&mut tx, id).await?;
            Ok((tx, record))
        })
        .await
    }

    /// Changes the priority of a campaign, through the audit log if it is another one. The next claims heed it.
    /// Returns the campaign, and its priority before.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn set_priority(
        &self,
        id: &str,
        priority: i64,
        actor: &str,
    ) -> Result<(CampaignRecord, i64), LedgerError> {
        let memo = &Memo::default();
        self.write(|mut tx, again| async move {
            let found = campaign_rows::lock(&mut tx, id).await?;
            let before = found.priority.unwrap_or_default();
            if before == priority {
                // It may be that an earlier attempt set it.
                let before = noted(memo).filter(|_| again).unwrap_or(before);
                return Ok((tx, (found, before)));
            }
            note(memo, before);
            let at = now(&mut tx).await?;
            sqlx::query(
                "-- campaigns_set_priority
                 UPDATE campaigns SET priority = $2 WHERE id = $1",
            )
            .bind(id)
            .bind(priority)
            .execute(&mut *tx)
            .await?;
            let deed = Deed {
                at,
                campaign: Some(id),
                actor,
                action: "priority",
                note: &format!("from {before} to {priority}"),
            };
            write_deed(&mut tx, deed).await?;
            let record = campaign_rows::one(&mut tx, id).await?;
            Ok((tx, (record, before)))
        })
        .await
    }
}
