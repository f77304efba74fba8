//! What each owner contributed to a campaign.

use std::collections::BTreeMap;

use kazoe_common::census::Outcome;
use sqlx::SqliteConnection;

use super::campaign_rows;
use crate::ledger::OwnerShare;
use crate::ledger::disagreement::disagrees;
use crate::ledger::rows::{Failure, from_row};

/// By owner.
const SHARES: &str = concat!(
    "-- owners_list
    SELECT r.owner, count(a.result),
           CAST(coalesce(sum(r.samples) FILTER (WHERE a.result IS NOT NULL), 0) AS INTEGER),
           CAST(coalesce(sum(c.count) FILTER (WHERE a.result IS NOT NULL), 0) AS INTEGER),
           count(a.result) FILTER (WHERE EXISTS (
               SELECT 1 FROM results o
               WHERE o.campaign = r.campaign AND o.segment = r.segment
                 AND o.verdict = 'audit' AND (o.owner <> r.owner OR o.operator))),
           count(*) FILTER (WHERE EXISTS (
               SELECT 1 FROM disputes d
               WHERE d.campaign = r.campaign AND d.segment = r.segment AND d.closed_at IS NOT NULL)
               AND NOT EXISTS (
               SELECT 1 FROM disputes d
               WHERE d.campaign = r.campaign AND d.segment = r.segment AND d.closed_at IS NULL)
               AND ",
    disagrees!(),
    "),
           count(*) FILTER (WHERE EXISTS (
               SELECT 1 FROM disputes d
               WHERE d.campaign = r.campaign AND d.segment = r.segment AND d.closed_at IS NULL))
    FROM results r
    LEFT JOIN accepted a ON a.result = r.id
    LEFT JOIN result_cells c ON c.result = r.id AND c.cell = ?2
    WHERE r.campaign = ?1 AND r.verdict <> 'stale'
    GROUP BY r.owner ORDER BY r.owner"
);

/// Owner, segments, samples, reachable, audited, disagreed, disputed.
type Row = (String, i64, i64, i64, i64, i64, i64);

/// By owner: the CPU time of the segments that count with a tally of its, in microseconds, and of how many
/// of them nobody told it.
const TIMES: &str = "-- owners_times
    SELECT r.owner, coalesce(sum(r.cpu_us), 0), count(*) FILTER (WHERE r.cpu_us IS NULL)
    FROM results r JOIN accepted a ON a.result = r.id
    WHERE r.campaign = ?1 GROUP BY r.owner";

pub(super) async fn shares(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<Vec<OwnerShare>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, Row>(SHARES)
        .bind(id)
        .bind(i64::from(Outcome::Reachable as u32))
        .fetch_all(&mut *conn)
        .await?;
    let times = times(conn, id).await?;
    let shares = rows.into_iter().map(
        |(owner, segments, samples, reachable, audited, disagreed, disputed)| {
            // Here nobody measures a speed to estimate it by.
            let (micros, untold) = times.get(&owner).copied().unwrap_or((0, segments));
            let micros: u64 = from_row(micros)?;
            Ok(OwnerShare {
                owner,
                segments: from_row(segments)?,
                samples: from_row(samples)?,
                reachable: from_row(reachable)?,
                audited: from_row(audited)?,
                disagreed: from_row(disagreed)?,
                disputed: from_row(disputed)?,
                core_seconds: (untold == 0).then(|| micros.div_ceil(1_000_000)),
                estimated: from_row(untold)?,
            })
        },
    );
    shares.collect()
}

/// The times by owner; none in a file of the first release, which has no place for them.
async fn times(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<BTreeMap<String, (i64, i64)>, Failure> {
    let has_times = sqlx::query_scalar::<_, bool>(
        "-- owners_find_times
         SELECT EXISTS (SELECT 1 FROM pragma_table_info('results') WHERE name = 'cpu_us')",
    );
    if !has_times.fetch_one(&mut *conn).await? {
        return Ok(BTreeMap::new());
    }
    let rows = sqlx::query_as::<_, (String, i64, i64)>(TIMES).bind(id);
    let rows = rows.fetch_all(conn).await?.into_iter();
    Ok(rows
        .map(|(owner, micros, untold)| (owner, (micros, untold)))
        .collect())
}
