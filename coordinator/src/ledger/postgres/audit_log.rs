//! The audit log: each act of an operator or the coordinator that moved a segment or a pointer.

use kazoe_common::census::Segment;
use sqlx::PgConnection;

use super::{PostgresLedger, campaign_rows, now, prefix};
use crate::leasing::Millis;
use crate::ledger::rows::{Failure, from_row, to_row};
use crate::ledger::{AuditEntry, LedgerError};

impl PostgresLedger {
    /// Lists the first `limit` lines of a campaign's audit log after the line `after`.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn audit_log(
        &self,
        id: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, LedgerError> {
        self.read(|mut tx| async move { page(&mut tx, id, after, limit).await })
            .await
    }
}

type AuditRow = (
    i64,
    i64,
    Option<i64>,
    String,
    String,
    Option<i64>,
    Option<i64>,
    String,
);

async fn page(
    conn: &mut PgConnection,
    id: &str,
    after: i64,
    limit: u32,
) -> Result<Vec<AuditEntry>, Failure> {
    campaign_rows::one(conn, id).await?;
    sqlx::query_as::<_, AuditRow>(
        "-- audit_log_page
         SELECT id, at, segment, actor, action, from_result, to_result, note FROM audit_log
         WHERE campaign = $1 AND id > $2 ORDER BY id LIMIT $3",
    )
    .bind(id)
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(
        |(id, at, segment, actor, action, from_result, to_result, note)| {
            Ok(AuditEntry {
                id,
                at,
                segment: segment.map(from_row).transpose()?,
                actor,
                action,
                from_result,
                to_result,
                note,
            })
        },
    )
    .collect()
}

/// A line of the audit log: its number, which a crash of the server may give out twice, and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuditLine {
    id: i64,
    at: Millis,
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

/// An act on a segment: its actor and reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retraction<'a> {
    pub(super) campaign: &'a str,
    pub(super) segment: Segment,
    pub(super) actor: &'a str,
    pub(super) action: &'static str,
    pub(super) why: &'a str,
}

/// Writes the line of an act that moves no pointer.
pub(super) async fn record(
    conn: &mut PgConnection,
    entry: &Retraction<'_>,
) -> Result<AuditLine, Failure> {
    let nothing = Move {
        at: now(conn).await?,
        from: None,
        to: None,
    };
    let line = write_audit(conn, entry, nothing).await?;
    prefix::bump_revision(conn, entry.campaign, 1).await?;
    Ok(line)
}

/// An operator's act on no single segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deed<'a> {
    pub(super) at: Millis,
    pub(super) campaign: Option<&'a str>,
    pub(super) actor: &'a str,
    pub(super) action: &'a str,
    pub(super) note: &'a str,
}

/// Writes the line of a deed, which moves no pointer.
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

/// Writes the line of a move of a segment's accepted pointer.
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
