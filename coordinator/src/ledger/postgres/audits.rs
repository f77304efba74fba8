//! Accepted segments that another owner computes as well.

use kazoe_common::census::Segment;
use sqlx::PgConnection;

use crate::leasing::{DisputedSegment, Millis, is_audited};
use crate::ledger::LedgerError;
use crate::ledger::rows::{Failure, from_row, to_row};

/// How a campaign's audits are chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    salt: [u8; 16],
    millionths: u32,
}

/// How a campaign's audits are chosen.
pub(super) async fn choice(conn: &mut PgConnection, id: &str) -> Result<Choice, Failure> {
    let (salt, millionths) = sqlx::query_as::<_, (Vec<u8>, i64)>(
        "-- audits_choice
         SELECT salt, audit_millionths FROM campaigns WHERE id = $1",
    )
    .bind(id)
    .fetch_one(conn)
    .await?;
    let odd = || LedgerError::Row(format!("campaign {id}: how its audits are chosen"));
    Ok(Choice {
        salt: salt.as_slice().try_into().map_err(|_| odd())?,
        millionths: u32::try_from(millionths).map_err(|_| odd())?,
    })
}

/// Segments that were just accepted are to be audited, those of them that are chosen.
pub(super) async fn want(
    conn: &mut PgConnection,
    id: &str,
    segments: impl Iterator<Item = Segment>,
    choice: Choice,
) -> Result<(), Failure> {
    let chosen: Vec<i64> = segments
        .filter(|&segment| is_audited(&choice.salt, segment, choice.millionths))
        .map(to_row)
        .collect();
    if chosen.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "-- audits_want
         INSERT INTO audits_due (campaign, segment)
         SELECT $1, unnest($2::bigint[]) ON CONFLICT DO NOTHING",
    )
    .bind(id)
    .bind(chosen)
    .execute(conn)
    .await?;
    Ok(())
}

/// No audit of a segment is wanted any more: it came, or what it would confirm is not accepted any more.
pub(super) async fn forget(
    conn: &mut PgConnection,
    id: &str,
    segment: Segment,
) -> Result<(), Failure> {
    sqlx::query(
        "-- audits_forget
         DELETE FROM audits_due WHERE campaign = $1 AND segment = $2",
    )
    .bind(id)
    .bind(to_row(segment))
    .execute(conn)
    .await?;
    Ok(())
}

/// The first audits that this owner could do.
pub(super) async fn due(
    conn: &mut PgConnection,
    id: &str,
    owner: &str,
    at: Millis,
    want: u32,
) -> Result<Vec<DisputedSegment>, Failure> {
    sqlx::query_as::<_, (i64, Vec<String>, Option<i64>)>(
        "-- audits_due
         SELECT u.segment,
                (SELECT array_agg(DISTINCT r.owner) FROM results r
                 WHERE r.campaign = u.campaign AND r.segment = u.segment AND r.verdict <> 'stale'),
                (SELECT max(l.deadline) FROM loans o JOIN leases l ON l.sequence = o.lease
                 WHERE o.campaign = u.campaign AND o.purpose = 'audit'
                   AND o.segment = u.segment AND o.closed_at IS NULL)
         FROM audits_due u
         WHERE u.campaign = $1
           AND NOT EXISTS (SELECT 1 FROM results r
                           WHERE r.campaign = u.campaign AND r.segment = u.segment
                             AND r.owner = $2 AND r.verdict <> 'stale')
           AND NOT EXISTS (SELECT 1 FROM loans o JOIN leases l ON l.sequence = o.lease
                           WHERE o.campaign = u.campaign AND o.purpose = 'audit'
                             AND o.segment = u.segment AND o.closed_at IS NULL AND l.deadline > $4)
         ORDER BY u.segment LIMIT $3",
    )
    .bind(id)
    .bind(owner)
    .bind(i64::from(want))
    .bind(at)
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|(segment, owners, lent_until)| {
        Ok(DisputedSegment {
            segment: from_row(segment)?,
            owners,
            lent_until,
        })
    })
    .collect()
}
