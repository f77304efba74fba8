//! Accepted segments that another owner computes as well.

use kazoe_common::census::Segment;
use kazoe_proto::name::stored_owner;
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

/// Segments that were just accepted, each with whose tally that is, are to be audited, those of them that are
/// chosen.
pub(super) async fn want<'a>(
    conn: &mut PgConnection,
    id: &str,
    accepted: impl Iterator<Item = (Segment, &'a str)>,
    choice: Choice,
) -> Result<(), Failure> {
    let (segments, owners): (Vec<i64>, Vec<&str>) = accepted
        .filter(|&(segment, _)| is_audited(&choice.salt, segment, choice.millionths))
        .map(|(segment, owner)| (to_row(segment), owner))
        .unzip();
    if segments.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "-- audits_want
         INSERT INTO audits_due (campaign, segment, owner)
         SELECT $1, chosen.* FROM unnest($2::bigint[], $3::text[]) AS chosen ON CONFLICT DO NOTHING",
    )
    .bind(id)
    .bind(segments)
    .bind(owners)
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

/// The first audits of each owner's tallies that some of these owners could do now.
pub(super) async fn due(
    conn: &mut PgConnection,
    id: &str,
    owners: &[&str],
    at: Millis,
    want: u32,
) -> Result<Vec<DisputedSegment>, Failure> {
    sqlx::query_as::<_, (i64, Vec<String>)>(DUE)
        .bind(id)
        .bind(owners)
        .bind(i64::from(want))
        .bind(at)
        .fetch_all(conn)
        .await?
        .into_iter()
        .map(|(segment, owners)| {
            Ok(DisputedSegment {
                segment: from_row(segment)?,
                owners: owners.into_iter().map(stored_owner).collect(),
                lent_until: None,
            })
        })
        .collect()
}

/// It goes from one owner of due audits to the next by the index, past those whose audits nobody here could do,
/// and of the others' audits past those that are lent.
const DUE: &str = "-- audits_due
    WITH RECURSIVE audited (owner) AS (
        (SELECT owner FROM audits_due WHERE campaign = $1 ORDER BY owner LIMIT 1)
        UNION ALL
        SELECT (SELECT u.owner FROM audits_due u WHERE u.campaign = $1 AND u.owner > audited.owner
                ORDER BY u.owner LIMIT 1)
        FROM audited WHERE audited.owner IS NOT NULL),
    others (owner) AS MATERIALIZED (
        SELECT owner FROM audited
        WHERE EXISTS (SELECT 1 FROM unnest($2::text[]) AS asking (owner)
                      WHERE asking.owner <> audited.owner)),
    due AS (
        SELECT first.segment
        FROM others,
             LATERAL (
                 SELECT u.segment FROM audits_due u
                 WHERE u.campaign = $1 AND u.owner = others.owner
                   AND (SELECT l.deadline FROM loans o JOIN leases l ON l.sequence = o.lease
                        WHERE o.campaign = $1 AND o.purpose = 'audit' AND o.segment = u.segment
                          AND o.closed_at IS NULL AND l.deadline > $4 LIMIT 1) IS NULL
                   AND EXISTS (SELECT 1 FROM unnest($2::text[]) AS asking (owner)
                               WHERE NOT EXISTS (SELECT 1 FROM results r
                                                 WHERE r.campaign = $1 AND r.segment = u.segment
                                                   AND r.owner = asking.owner AND r.verdict <> 'stale'))
                 ORDER BY u.segment LIMIT $3) AS first)
    SELECT due.segment,
           (SELECT array_agg(DISTINCT r.owner) FROM results r
            WHERE r.campaign = $1 AND r.segment = due.segment AND r.verdict <> 'stale')
    FROM due ORDER BY due.segment";
