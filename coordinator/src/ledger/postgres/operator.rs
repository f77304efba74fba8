//! What an operator does to a segment: retract its tally, set it aside, try it again.

use kazoe_common::census::Segment;
use sqlx::PgConnection;

use super::audit_log::{AuditLine, Move, Retraction, record, write_audit};
use super::{PostgresLedger, campaign_rows, now, pending_audits, prefix};
use crate::ledger::LedgerError;
use crate::ledger::rows::{Failure, to_row};

impl PostgresLedger {
    /// Takes the accepted tally of a segment back, which is computed again. Returns false if it has none.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn retract(
        &self,
        id: &str,
        segment: Segment,
        actor: &str,
        why: &str,
    ) -> Result<bool, LedgerError> {
        self.act(id, |mut tx| async move {
            let line = retract(&mut tx, id, segment, actor, why).await?;
            Ok((tx, line))
        })
        .await
    }

    /// Sets a segment aside that has no accepted tally: it is leased no more and all its samples count as
    /// undecided. Returns false if it has one or is set aside already.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn set_aside(
        &self,
        id: &str,
        segment: Segment,
        actor: &str,
        why: &str,
    ) -> Result<bool, LedgerError> {
        self.act(id, |mut tx| async move {
            let line = set_aside(&mut tx, id, segment, actor, why).await?;
            Ok((tx, line))
        })
        .await
    }

    /// Brings a segment back that was set aside. Returns false if it is not.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn retry(
        &self,
        id: &str,
        segment: Segment,
        actor: &str,
    ) -> Result<bool, LedgerError> {
        self.act(id, |mut tx| async move {
            let line = retry(&mut tx, id, segment, actor).await?;
            Ok((tx, line))
        })
        .await
    }
}

async fn retract(
    conn: &mut PgConnection,
    id: &str,
    segment: Segment,
    actor: &str,
    why: &str,
) -> Result<Option<AuditLine>, Failure> {
    campaign_rows::lock(conn, id).await?;
    let retraction = Retraction {
        campaign: id,
        segment,
        actor,
        action: "retract",
        why,
    };
    let line = take_back(conn, &retraction).await?;
    if line.is_some() {
        prefix::drop_checkpoints(conn, id, segment).await?;
        prefix::bump_revision(conn, id, 1).await?;
    }
    Ok(line)
}

/// Moves an accepted segment to the retracted ones, through the audit log; a dispute about it is over.
/// Returns the line of the log, if it was accepted.
pub(super) async fn take_back(
    conn: &mut PgConnection,
    retraction: &Retraction<'_>,
) -> Result<Option<AuditLine>, Failure> {
    let Retraction {
        campaign, segment, ..
    } = *retraction;
    let result = sqlx::query_scalar::<_, i64>(
        "-- retract_pointer
         DELETE FROM accepted WHERE campaign = $1 AND segment = $2 RETURNING result",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .fetch_optional(&mut *conn)
    .await?;
    let Some(result) = result else {
        return Ok(None);
    };
    let at = now(conn).await?;
    sqlx::query(
        "-- retract_close_dispute
         UPDATE disputes SET closed_at = $3, closing = 'superseded'
         WHERE campaign = $1 AND segment = $2 AND closed_at IS NULL",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .bind(at)
    .execute(&mut *conn)
    .await?;
    close_loans(conn, campaign, segment).await?;
    pending_audits::forget(conn, campaign, segment).await?;
    wait(conn, campaign, segment, "retracted").await?;
    let move_of_pointer = Move {
        at,
        from: Some(result),
        to: None,
    };
    let line = write_audit(conn, retraction, move_of_pointer).await?;
    Ok(Some(line))
}

/// Takes a segment out of the loans that are to fill it; it waits as retracted.
pub(super) async fn recall_loans(
    conn: &mut PgConnection,
    campaign: &str,
    segment: Segment,
) -> Result<(), Failure> {
    if close_loans(conn, campaign, segment).await? > 0 {
        wait(conn, campaign, segment, "retracted").await?;
    }
    Ok(())
}

/// Closes all open loans of a segment; what they computed is not asked for any more.
pub(super) async fn close_loans(
    conn: &mut PgConnection,
    campaign: &str,
    segment: Segment,
) -> Result<u64, Failure> {
    let at = now(conn).await?;
    let closed = sqlx::query(
        "-- loans_supersede
         UPDATE loans SET closed_at = $3, closing = 'superseded'
         WHERE campaign = $1 AND segment = $2 AND closed_at IS NULL",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .bind(at)
    .execute(conn)
    .await?;
    Ok(closed.rows_affected())
}

async fn wait(
    conn: &mut PgConnection,
    campaign: &str,
    segment: Segment,
    why: &str,
) -> Result<(), Failure> {
    sqlx::query(
        "-- waiting_insert
         INSERT INTO waiting (campaign, segment, why) VALUES ($1, $2, $3)",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .bind(why)
    .execute(conn)
    .await?;
    Ok(())
}

/// A segment that waits for nobody any more.
pub(super) async fn stop_waiting(
    conn: &mut PgConnection,
    campaign: &str,
    segment: Segment,
) -> Result<(), Failure> {
    sqlx::query(
        "-- waiting_delete
         DELETE FROM waiting WHERE campaign = $1 AND segment = $2",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn set_aside(
    conn: &mut PgConnection,
    id: &str,
    segment: Segment,
    actor: &str,
    why: &str,
) -> Result<Option<AuditLine>, Failure> {
    let campaign = campaign_rows::lock(conn, id).await?;
    let settled = sqlx::query_scalar::<_, i64>(
        "-- set_aside_check
         SELECT (SELECT count(*) FROM accepted WHERE campaign = $1 AND segment = $2)
              + (SELECT count(*) FROM set_aside WHERE campaign = $1 AND segment = $2)",
    )
    .bind(id)
    .bind(to_row(segment))
    .fetch_one(&mut *conn)
    .await?;
    if settled > 0 || segment >= campaign.cut.segments() {
        return Ok(None);
    }
    close_loans(conn, id, segment).await?;
    stop_waiting(conn, id, segment).await?;
    sqlx::query(
        "-- set_aside_insert
         INSERT INTO set_aside (campaign, segment, why) VALUES ($1, $2, $3)",
    )
    .bind(id)
    .bind(to_row(segment))
    .bind(why)
    .execute(&mut *conn)
    .await?;
    let entry = Retraction {
        campaign: id,
        segment,
        actor,
        action: "set_aside",
        why,
    };
    Ok(Some(record(conn, &entry).await?))
}

async fn retry(
    conn: &mut PgConnection,
    id: &str,
    segment: Segment,
    actor: &str,
) -> Result<Option<AuditLine>, Failure> {
    campaign_rows::lock(conn, id).await?;
    if !leave_aside(conn, id, segment).await? {
        return Ok(None);
    }
    wait(conn, id, segment, "returned").await?;
    let entry = Retraction {
        campaign: id,
        segment,
        actor,
        action: "retry",
        why: "to be tried again",
    };
    Ok(Some(record(conn, &entry).await?))
}

/// Takes a segment from those set aside, if it is one; the caller puts it elsewhere.
pub(super) async fn leave_aside(
    conn: &mut PgConnection,
    id: &str,
    segment: Segment,
) -> Result<bool, Failure> {
    let left = sqlx::query(
        "-- set_aside_delete
         DELETE FROM set_aside WHERE campaign = $1 AND segment = $2",
    )
    .bind(id)
    .bind(to_row(segment))
    .execute(&mut *conn)
    .await?;
    let left = left.rows_affected() > 0;
    if left {
        prefix::drop_checkpoints(conn, id, segment).await?;
    }
    Ok(left)
}
