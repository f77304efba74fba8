//! What each owner contributed to a campaign.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use kazoe_common::census::Outcome;
use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;

use super::campaign_rows;
use crate::ledger::OwnerShare;
use crate::ledger::mismatch_sql::disagrees;
use crate::ledger::rows::{Failure, from_row};

/// By owner. The few tallies that were audited or disagreed are found first, from the audits and the disputes.
/// A tally disagrees by a ruling alone: as long as a dispute is open, who is right is not known.
const SHARES: &str = concat!(
    "-- owners_list
    WITH audited (result) AS (
        SELECT DISTINCT r.id
        FROM results o
        JOIN accepted a ON a.campaign = o.campaign AND a.segment = o.segment
        JOIN results r ON r.id = a.result
        WHERE o.campaign = $1 AND o.verdict = 'audit' AND (o.owner <> r.owner OR o.operator)),
    disagreeing (result) AS (
        SELECT DISTINCT r.id
        FROM disputes d
        JOIN results r ON r.campaign = d.campaign AND r.segment = d.segment
        WHERE d.campaign = $1
          AND d.closed_at IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM disputes e
                          WHERE e.campaign = d.campaign AND e.segment = d.segment AND e.closed_at IS NULL)
          AND ",
    disagrees!(),
    "),
    disputed (result) AS (
        SELECT r.id
        FROM disputes d
        JOIN results r ON r.campaign = d.campaign AND r.segment = d.segment
        WHERE d.campaign = $1 AND d.closed_at IS NULL)
    SELECT r.owner, count(a.result),
           CAST(coalesce(sum(r.samples) FILTER (WHERE a.result IS NOT NULL), 0) AS bigint),
           CAST(coalesce(sum(c.count) FILTER (WHERE a.result IS NOT NULL), 0) AS bigint),
           count(audited.result), count(disagreeing.result), count(disputed.result),
           CASE WHEN count(a.result)
                     = count(coalesce(r.cpu_us, w.speed)) FILTER (WHERE a.result IS NOT NULL) THEN
               CAST(ceil(coalesce(sum(coalesce(
                        CAST(r.cpu_us AS double precision) / 1000000,
                        CAST(r.samples AS double precision) * w.threads / w.speed))
                    FILTER (WHERE a.result IS NOT NULL), 0)) AS bigint)
           END,
           count(a.result) FILTER (WHERE r.cpu_us IS NULL)
    FROM results r
    LEFT JOIN accepted a ON a.result = r.id
    LEFT JOIN result_cells c ON c.result = r.id AND c.cell = $2
    LEFT JOIN workers w ON w.id = r.worker AND a.result IS NOT NULL
    LEFT JOIN audited ON audited.result = r.id
    LEFT JOIN disagreeing ON disagreeing.result = r.id
    LEFT JOIN disputed ON disputed.result = r.id
    WHERE r.campaign = $1 AND r.verdict <> 'stale'
    GROUP BY r.owner ORDER BY r.owner"
);

/// Owner, segments, samples, reachable, audited, disagreed, disputed, core seconds, estimated.
type Row = (String, i64, i64, i64, i64, i64, i64, Option<i64>, i64);

pub(super) async fn shares(conn: &mut PgConnection, id: &str) -> Result<Vec<OwnerShare>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, Row>(SHARES)
        .bind(id)
        .bind(i64::from(Outcome::Reachable as u32))
        .fetch_all(conn)
        .await?;
    let shares = rows.into_iter().map(
        |(
            owner,
            segments,
            samples,
            reachable,
            audited,
            disagreed,
            disputed,
            core_seconds,
            estimated,
        )| {
            Ok(OwnerShare {
                owner: stored_owner(owner),
                segments: from_row(segments)?,
                samples: from_row(samples)?,
                reachable: from_row(reachable)?,
                audited: from_row(audited)?,
                disagreed: from_row(disagreed)?,
                disputed: from_row(disputed)?,
                core_seconds: core_seconds.map(from_row).transpose()?,
                estimated: from_row(estimated)?,
            })
        },
    );
    Ok(one_each(shares.collect::<Result<_, Failure>>()?))
}

/// The shares by owner, those of several stored spellings of one owner taken together.
fn one_each(shares: Vec<OwnerShare>) -> Vec<OwnerShare> {
    let mut owners: BTreeMap<String, OwnerShare> = BTreeMap::new();
    for share in shares {
        match owners.entry(share.owner.clone()) {
            Entry::Vacant(place) => {
                place.insert(share);
            }
            Entry::Occupied(mut place) => {
                let all = place.get_mut();
                all.segments += share.segments;
                all.samples += share.samples;
                all.reachable += share.reachable;
                all.audited += share.audited;
                all.disagreed += share.disagreed;
                all.disputed += share.disputed;
                let both = all.core_seconds.zip(share.core_seconds);
                all.core_seconds = both.map(|(one, other)| one + other);
                all.estimated += share.estimated;
            }
        }
    }
    owners.into_values().collect()
}
