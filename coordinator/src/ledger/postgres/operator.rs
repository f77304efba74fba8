//! What moves a segment without a tally: taking back, setting aside, trying again.

use kazoe_common::census::Segment;
use sqlx::PgConnection;

use super::{audits, campaign_rows, now, prefix};
use crate::leasing::Millis;
use crate::ledger::rows::{Failure, to_row};

/// Who takes a segment's tally back, and why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retraction<'a> {
    pub(super) campaign: &'a str,
    pub(super) segment: Segment,
    pub(super) actor: &'a str,
    pub(super) action: &'static str,
    pub(super) why: &'a str,
}

/// Whether an earlier attempt of the same operation wrote this line, and so was committed.
pub(super) async fn is_written(
    conn: &mut PgConnection,
    id: &str,
    line: Option<AuditLine>,
) -> Result<bool, Failure> {
    let Some(AuditLine { id: number, at }) = line else {
        return Ok(false);
    };
    // The earlier attempt may be about to be committed: then it holds the lock until it is.
    campaign_rows::lock(conn, id).await?;
    let written = sqlx::query_scalar::<_, i64>(
        "-- audit_log_find
         SELECT count(*) FROM audit_log WHERE id = $1 AND at = $2 AND campaign = $3",
    )
    .bind(number)
    .bind(at)
    .bind(id)
    .fetch_one(conn)
    .await?;
    Ok(written > 0)
}

/// A line of the audit log: its number, which a crash of the server may give out twice, and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditLine {
    id: i64,
    at: Millis,
}

pub(super) async fn retract(
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
    audits::forget(conn, campaign, segment).await?;
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

pub(super) async fn retry(
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

/// Writes down what was done to a segment without a move of its pointer.
async fn record(conn: &mut PgConnection, entry: &Retraction<'_>) -> Result<AuditLine, Failure> {
    let nothing = Move {
        at: now(conn).await?,
        from: None,
        to: None,
    };
    let line = write_audit(conn, entry, nothing).await?;
    prefix::bump_revision(conn, entry.campaign, 1).await?;
    Ok(line)
}

/// What somebody did to no segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deed<'a> {
    pub(super) at: Millis,
    pub(super) campaign: Option<&'a str>,
    pub(super) actor: &'a str,
    pub(super) action: &'a str,
    pub(super) note: &'a str,
}

/// Writes down a deed, which moves no pointer.
pub(super) async fn write_deed(conn: &mut PgConnection, deed: Deed<'_>) -> Result<(), Failure> {
    sqlx::query(
        "-- audit_log_deed
         INSERT INTO audit_log (at, campaign, actor, action, note) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(deed.at)
    .bind(deed.campaign)
    .bind(deed.actor)
    .bind(deed.action)
    .bind(deed.note)
    .execute(conn)
    .await?;
    Ok(())
}

/// A move of an accepted pointer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) at: Millis,
    pub(super) from: Option<i64>,
    pub(super) to: Option<i64>,
}

pub(super) async fn write_audit(
    conn: &mut PgConnection,
    entry: &Retraction<'_>,
    pointer: Move,
) -> Result<AuditLine, Failure> {
    let id = sqlx::query_scalar::<_, i64>(
        "-- audit_log_insert
         INSERT INTO audit_log (at, campaign, segment, actor, action, from_result, to_result, note)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         RETURNING id",
    )
    .bind(pointer.at)
    .bind(entry.campaign)
    .bind(to_row(entry.segment))
    .bind(entry.actor)
    .bind(entry.action)
    .bind(pointer.from)
    .bind(pointer.to)
    .bind(entry.why)
    .fetch_one(conn)
    .await?;
    Ok(AuditLine { id, at: pointer.at })
}
