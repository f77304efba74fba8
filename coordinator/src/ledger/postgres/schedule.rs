//! Which campaign is served next, who holds what, and the pace of campaigns.

use kazoe_common::census::Cut;

use super::operator::{Deed, write_deed};
use super::{PostgresLedger, campaign_rows, now};
use crate::leasing::Millis;
use crate::ledger::rows::from_row;
use crate::ledger::{CampaignRecord, LeaseRecord, LedgerError, Overdue, Pace, Queued, Token};

impl PostgresLedger {
    /// The running campaigns in the order in which they are served: the highest priority,
    /// then the fewest leased cores, then the oldest.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn queue(&self) -> Result<Vec<Queued>, LedgerError> {
        self.read(|mut tx| async move {
            let queue = sqlx::query_as::<_, (String, i64, i64, i64)>(
                "-- schedule_queue
                 SELECT c.id, c.samples, c.segment_blocks,
                        c.frontier - (SELECT count(*) FROM waiting w WHERE w.campaign = c.id)
                 FROM campaigns c
                 LEFT JOIN (SELECT h.campaign, sum(coalesce(w.threads, 1)) AS cores
                            FROM (SELECT DISTINCT campaign, worker FROM leases
                                  WHERE ended_at IS NULL) h
                            LEFT JOIN workers w ON w.id = h.worker
                            GROUP BY h.campaign) leased ON leased.campaign = c.id
                 WHERE c.state = 'running'
                 ORDER BY c.priority DESC, coalesce(leased.cores, 0), c.submitted_at, c.id",
            )
            .fetch_all(&mut *tx)
            .await?;
            let queue = queue.into_iter().map(|(id, samples, blocks, held)| {
                let cut = Cut::new(from_row(samples)?, from_row(blocks)?)
                    .map_err(|error| LedgerError::Row(format!("campaign {id}: {error}")))?;
                let left = cut.segments().saturating_sub(from_row(held.max(0))?);
                Ok(Queued { id, left })
            });
            queue.collect()
        })
        .await
    }

    /// How many workers were heard in the last so many milliseconds.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn heard_lately(&self, millis: Millis) -> Result<u64, LedgerError> {
        self.read(|mut tx| async move {
            let heard = sqlx::query_scalar::<_, i64>(
                "-- schedule_heard
                 SELECT count(*) FROM workers WHERE seen_at > $1 AND drained_at IS NULL",
            )
            .bind(now(&mut tx).await? - millis)
            .fetch_one(&mut *tx)
            .await?;
            from_row(heard)
        })
        .await
    }

    /// How many workers hold leases of a campaign that still lend something.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn holders(&self, id: &str) -> Result<u32, LedgerError> {
        self.read(|mut tx| async move {
            let holders = sqlx::query_scalar::<_, i64>(
                "-- schedule_holders
                 SELECT count(DISTINCT l.worker) FROM leases l
                 WHERE l.campaign = $1 AND l.ended_at IS NULL AND l.deadline > $2",
            )
            .bind(id)
            .bind(now(&mut tx).await?)
            .fetch_one(&mut *tx)
            .await?;
            Ok(u32::try_from(holders).unwrap_or(u32::MAX))
        })
        .await
    }

    /// What a token names, whether it goes on or not.
    ///
    /// # Errors
    /// [`LedgerError::NotHeld`] if it names nothing.
    pub async fn lease(&self, token: Token) -> Result<LeaseRecord, LedgerError> {
        self.read(|mut tx| async move {
            let row = sqlx::query_as::<_, (String, i64, String, String, Vec<i64>)>(
                "-- schedule_lease
                 SELECT l.campaign, c.segment_blocks, l.owner, l.worker,
                        (SELECT array_agg(o.segment ORDER BY o.segment) FROM loans o
                         WHERE o.lease = l.sequence)
                 FROM leases l JOIN campaigns c ON c.id = l.campaign
                 WHERE l.sequence = $1 AND l.secret = $2",
            )
            .bind(token.sequence)
            .bind(token.secret.to_vec())
            .fetch_optional(&mut *tx)
            .await?;
            let (campaign, blocks, owner, worker, segments) =
                row.ok_or(LedgerError::NotHeld(token))?;
            Ok(LeaseRecord {
                campaign,
                segment_blocks: from_row(blocks)?,
                owner,
                worker,
                segments: segments
                    .into_iter()
                    .map(from_row)
                    .collect::<Result<_, _>>()?,
            })
        })
        .await
    }

    /// The leases whose deadline has passed while they lend something, oldest first.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn overdue(&self) -> Result<Vec<Overdue>, LedgerError> {
        self.read(|mut tx| async move {
            sqlx::query_as::<_, (i64, String, String, String, i64)>(
                "-- schedule_overdue
                 SELECT l.sequence, l.campaign, l.worker, l.owner, count(*)
                 FROM leases l JOIN loans o ON o.lease = l.sequence AND o.closed_at IS NULL
                 WHERE l.ended_at IS NULL AND l.deadline <= $1
                 GROUP BY l.sequence ORDER BY l.sequence",
            )
            .bind(now(&mut tx).await?)
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .map(|(sequence, campaign, worker, owner, open)| {
                Ok(Overdue {
                    sequence,
                    campaign,
                    worker,
                    owner,
                    open: from_row(open)?,
                })
            })
            .collect()
        })
        .await
    }

    /// Changes the pace of a campaign, through the audit log if it is another one.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn set_pace(
        &self,
        id: &str,
        pace: Pace,
        actor: &str,
    ) -> Result<CampaignRecord, LedgerError> {
        self.write(|mut tx, _| async move {
            let found = campaign_rows::lock(&mut tx, id).await?;
            if found.pace == pace {
                return Ok((tx, found));
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
}
