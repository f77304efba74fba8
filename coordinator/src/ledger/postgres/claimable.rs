//! What a campaign has to lend.

use std::collections::{BTreeSet, HashSet};

use kazoe_common::census::{Cut, Segment};
use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;

use super::pending_audits;
use crate::leasing::{DisputedSegment, Millis, Stock};
use crate::ledger::Claim;
use crate::ledger::rows::{Failure, from_row, to_row};

/// What there is to lend, of each sort no more than all want together.
pub(super) async fn stock(
    conn: &mut PgConnection,
    id: &str,
    cut: &Cut,
    claims: &[Claim],
    at: Millis,
    frontier: Segment,
) -> Result<Stock, Failure> {
    let want = claims
        .iter()
        .fold(0_u32, |all, claim| all.saturating_add(claim.want));
    let owners = claims.iter().map(|claim| &*claim.who.owner);
    let owners: Vec<&str> = owners.collect::<BTreeSet<_>>().into_iter().collect();
    Ok(Stock {
        retracted: waiting(conn, id, "retracted", want).await?,
        disputed: disputed(conn, id).await?,
        returned: waiting(conn, id, "returned", want).await?,
        lent: expired(conn, id, at, want).await?,
        unleased: unleased(conn, id, cut, frontier, want).await?,
        audits: pending_audits::due(conn, id, &owners, at, want).await?,
        ..Stock::default()
    })
}

async fn waiting(
    conn: &mut PgConnection,
    id: &str,
    why: &str,
    want: u32,
) -> Result<Vec<Segment>, Failure> {
    sqlx::query_scalar::<_, i64>(
        "-- claim_waiting
         SELECT segment FROM waiting WHERE campaign = $1 AND why = $2 ORDER BY segment LIMIT $3",
    )
    .bind(id)
    .bind(why)
    .bind(i64::from(want))
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(from_row)
    .collect()
}

/// All disputed segments: there are few, or something is very wrong.
async fn disputed(conn: &mut PgConnection, id: &str) -> Result<Vec<DisputedSegment>, Failure> {
    let rows = sqlx::query_as::<_, (i64, Option<i64>)>(
        "-- claim_disputed
         SELECT d.segment,
                (SELECT max(l.deadline) FROM loans o JOIN leases l ON l.sequence = o.lease
                 WHERE o.campaign = d.campaign AND o.purpose = 'resolve'
                   AND o.segment = d.segment AND o.closed_at IS NULL)
         FROM disputes d WHERE d.campaign = $1 AND d.closed_at IS NULL ORDER BY d.segment",
    )
    .bind(id)
    .fetch_all(&mut *conn)
    .await?;
    let mut all = Vec::with_capacity(rows.len());
    for (segment, lent_until) in rows {
        let owners = sqlx::query_scalar::<_, String>(
            "-- claim_disputed_owners
             SELECT DISTINCT owner FROM results
             WHERE campaign = $1 AND segment = $2 AND verdict <> 'stale'",
        )
        .bind(id)
        .bind(segment)
        .fetch_all(&mut *conn)
        .await?;
        all.push(DisputedSegment {
            segment: from_row(segment)?,
            owners: owners.into_iter().map(stored_owner).collect(),
            lent_until,
        });
    }
    Ok(all)
}

/// Open loans of leases that go on by themselves no more. Every open loan is of a lease that has not ended.
async fn expired(
    conn: &mut PgConnection,
    id: &str,
    at: Millis,
    want: u32,
) -> Result<Vec<(Segment, Millis)>, Failure> {
    sqlx::query_as::<_, (i64, i64)>(
        "-- claim_expired
         SELECT o.segment, l.deadline
         FROM leases l, LATERAL (SELECT segment FROM loans
                                 WHERE lease = l.sequence AND purpose = 'fill'
                                   AND closed_at IS NULL OFFSET 0) AS o
         WHERE l.campaign = $1 AND l.ended_at IS NULL AND l.deadline <= $2
         ORDER BY o.segment LIMIT $3",
    )
    .bind(id)
    .bind(at)
    .bind(i64::from(want))
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|(segment, deadline)| Ok((from_row(segment)?, deadline)))
    .collect()
}

/// From the frontier on, leaving out what an import or an operator put elsewhere. It looks ahead as far as is
/// wanted, and twice as far each time that was not enough: it costs what it skips and no more.
async fn unleased(
    conn: &mut PgConnection,
    id: &str,
    cut: &Cut,
    frontier: Segment,
    want: u32,
) -> Result<Vec<Segment>, Failure> {
    let want = usize::try_from(want).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut from = frontier;
    let mut window = want as u64;
    while found.len() < want && from < cut.segments() {
        let to = from.saturating_add(window).min(cut.segments());
        let elsewhere = elsewhere(conn, id, from, to).await?;
        let free = (from..to).filter(|segment| !elsewhere.contains(segment));
        found.extend(free.take(want - found.len()));
        from = to;
        window = window.saturating_mul(2);
    }
    Ok(found)
}

/// Which of these segments stand somewhere.
async fn elsewhere(
    conn: &mut PgConnection,
    id: &str,
    from: Segment,
    to: Segment,
) -> Result<HashSet<Segment>, Failure> {
    sqlx::query_scalar::<_, i64>(
        "-- claim_elsewhere
         SELECT segment FROM accepted WHERE campaign = $1 AND segment >= $2 AND segment < $3
         UNION ALL
         SELECT segment FROM set_aside WHERE campaign = $1 AND segment >= $2 AND segment < $3
         UNION ALL
         SELECT segment FROM waiting WHERE campaign = $1 AND segment >= $2 AND segment < $3
         UNION ALL
         SELECT segment FROM loans
         WHERE campaign = $1 AND purpose = 'fill' AND segment >= $2 AND segment < $3
           AND closed_at IS NULL",
    )
    .bind(id)
    .bind(to_row(from))
    .bind(to_row(to))
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(from_row)
    .collect()
}
