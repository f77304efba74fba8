//! Reading: snapshots, segments, witnesses, shares, the log.

use std::ops::Range;

use kazoe_common::census::{Outcome, Segment, Witness};
use sqlx::SqliteConnection;

use super::{campaign_rows, prefix, results};
use crate::ledger::rows::{self, Failure, StandingRow, WitnessRow, from_row, to_row};
use crate::ledger::{AcceptedSegment, BuildShare, LogEntry, OwnerShare, Snapshot};

pub(super) async fn snapshot(conn: &mut SqliteConnection, id: &str) -> Result<Snapshot, Failure> {
    let campaign = campaign_rows::one(conn, id).await?;
    let cut = campaign.cut;
    let row = sqlx::query_as::<_, StandingRow>(
        "-- snapshot_counts
         SELECT (SELECT count(*) FROM accepted WHERE campaign = ?1), 0, 0, 0, 0, 0,
                (SELECT count(DISTINCT r.segment) FROM results r
                 JOIN accepted a ON a.campaign = r.campaign AND a.segment = r.segment
                 WHERE r.campaign = ?1 AND r.verdict = 'audit'),
                (SELECT count(*) FROM accepted WHERE campaign = ?1 AND segment = ?2)",
    )
    .bind(id)
    .bind(to_row(cut.segments() - 1))
    .fetch_one(&mut *conn)
    .await?;
    let standing = rows::standing(&cut, row)?;
    Ok(Snapshot {
        campaign: id.to_owned(),
        cut,
        pace: Some(campaign.pace),
        revision: campaign.revision,
        prefix: prefix::prefix(conn, id, &cut).await?,
        counts: standing.counts,
        accepted_samples: standing.accepted_samples,
        audited: standing.audited,
    })
}

/// The segments of a campaign that have no accepted tally, as ascending ranges.
pub(super) async fn missing(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<Vec<Range<Segment>>, Failure> {
    let segments = campaign_rows::one(conn, id).await?.cut.segments();
    let accepted = sqlx::query_scalar::<_, i64>(
        "-- missing_list_accepted
         SELECT segment FROM accepted WHERE campaign = ?1 ORDER BY segment",
    )
    .bind(id)
    .fetch_all(conn)
    .await?;
    let mut missing = Vec::new();
    let mut next = 0;
    for segment in accepted {
        let segment = from_row(segment)?;
        missing.push(next..segment);
        next = segment + 1;
    }
    missing.push(next..segments);
    missing.retain(|range| !range.is_empty());
    Ok(missing)
}

type SegmentRow = (i64, i64, i64, Vec<u8>, String, String, String, i64);

pub(super) async fn segments(
    conn: &mut SqliteConnection,
    id: &str,
    from: Segment,
    limit: u32,
) -> Result<Vec<AcceptedSegment>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, SegmentRow>(
        "-- segments_page
         SELECT a.segment, r.id, r.samples, r.digest, r.owner, r.worker, r.build, r.received_at
         FROM accepted a JOIN results r ON r.id = a.result
         WHERE a.campaign = ?1 AND a.segment >= ?2 ORDER BY a.segment LIMIT ?3",
    )
    .bind(id)
    .bind(to_row(from))
    .bind(i64::from(limit))
    .fetch_all(&mut *conn)
    .await?;
    let mut page = Vec::with_capacity(rows.len());
    for (segment, result, samples, digest, owner, worker, build, received_at) in rows {
        let (segment, samples) = (from_row(segment)?, from_row(samples)?);
        let tally = results::tally(conn, result, &digest).await?;
        rows::check_cells(id, segment, &tally, samples)?;
        page.push(AcceptedSegment {
            segment,
            samples,
            tally,
            disputed: false,
            owner,
            worker,
            build,
            received_at,
        });
    }
    Ok(page)
}

pub(super) async fn witnesses(
    conn: &mut SqliteConnection,
    id: &str,
    segments: Range<Segment>,
) -> Result<Vec<Witness>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, WitnessRow>(
        "-- witnesses_list
         SELECT w.sample, w.depth, w.length, w.expansions
         FROM accepted a JOIN witnesses w ON w.result = a.result
         WHERE a.campaign = ?1 AND a.segment >= ?2 AND a.segment < ?3
         ORDER BY w.sample, w.kind DESC",
    )
    .bind(id)
    .bind(to_row(segments.start))
    .bind(to_row(segments.end))
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(rows::witness).collect()
}

pub(super) async fn builds(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<Vec<BuildShare>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, rows::BuildRow>(
        "-- builds_list
         SELECT r.build, count(*), min(r.received_at), max(r.received_at)
         FROM accepted a JOIN results r ON r.id = a.result
         WHERE a.campaign = ?1 GROUP BY r.build ORDER BY r.build",
    );
    let rows = rows.bind(id).fetch_all(conn).await?;
    rows.into_iter().map(rows::build_share).collect()
}

/// Owner, segments, samples, reachable, audited, CPU microseconds, segments without a CPU time.
type OwnerRow = (String, i64, i64, i64, i64, i64, i64);

pub(super) async fn owners(
    conn: &mut SqliteConnection,
    id: &str,
) -> Result<Vec<OwnerShare>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, OwnerRow>(
        "-- owners_list
         SELECT r.owner, count(a.result),
                CAST(coalesce(sum(r.samples) FILTER (WHERE a.result IS NOT NULL), 0) AS INTEGER),
                CAST(coalesce(sum(c.count) FILTER (WHERE a.result IS NOT NULL), 0) AS INTEGER),
                count(a.result) FILTER (WHERE EXISTS (
                    SELECT 1 FROM results o WHERE o.campaign = r.campaign AND o.segment = r.segment
                      AND o.verdict = 'audit' AND o.owner <> r.owner)),
                coalesce(sum(r.cpu_us) FILTER (WHERE a.result IS NOT NULL), 0),
                count(a.result) FILTER (WHERE r.cpu_us IS NULL)
         FROM results r
         LEFT JOIN accepted a ON a.result = r.id
         LEFT JOIN result_cells c ON c.result = r.id AND c.cell = ?2
         WHERE r.campaign = ?1 AND r.verdict <> 'stale'
         GROUP BY r.owner ORDER BY r.owner",
    )
    .bind(id)
    .bind(i64::from(Outcome::Reachable as u32))
    .fetch_all(conn)
    .await?;
    let shares = rows.into_iter().map(
        |(owner, segments, samples, reachable, audited, micros, untimed)| {
            Ok(OwnerShare {
                owner,
                segments: from_row(segments)?,
                samples: from_row(samples)?,
                reachable: from_row(reachable)?,
                audited: from_row(audited)?,
                disagreed: 0,
                disputed: 0,
                core_seconds: match untimed {
                    0 => Some(from_row(micros)?.div_ceil(1_000_000)),
                    _ => None,
                },
                estimated: from_row(untimed)?,
            })
        },
    );
    shares.collect()
}

pub(super) async fn log(
    conn: &mut SqliteConnection,
    id: &str,
    segment: Segment,
) -> Result<Vec<LogEntry>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, rows::LogRow>(
        "-- log_list
         SELECT verdict, owner, worker, received_at FROM results
         WHERE campaign = ?1 AND segment = ?2 ORDER BY id",
    );
    let rows = rows.bind(id).bind(to_row(segment)).fetch_all(conn).await?;
    rows.into_iter()
        .map(|row| rows::log_entry(segment, row))
        .collect()
}
