//! Reading: snapshots, segments, witnesses, logs.

use std::ops::Range;

use kazoe_common::census::{Segment, Tally, Witness};
use sqlx::PgConnection;

use super::{PostgresLedger, campaign_rows, prefix};
use crate::ledger::rows::{self, Failure, StandingRow, WitnessRow, from_row, to_row};
use crate::ledger::{AcceptedSegment, BuildShare, LedgerError, LogEntry, Snapshot};

pub(super) async fn snapshot(conn: &mut PgConnection, id: &str) -> Result<Snapshot, Failure> {
    let campaign = campaign_rows::one(conn, id).await?;
    let cut = campaign.cut;
    // Before the newest checkpoint every segment is accepted, or set aside: only those from there on are
    // counted.
    let checked = prefix::checked(conn, id).await?;
    let row = sqlx::query_as::<_, StandingRow>(
        "-- snapshot_counts
             SELECT $3 - (SELECT count(*) FROM set_aside WHERE campaign = $1 AND segment < $3)
                    + (SELECT count(*) FROM accepted WHERE campaign = $1 AND segment >= $3),
                    (SELECT count(*) FROM disputes WHERE campaign = $1 AND closed_at IS NULL),
                    (SELECT count(*) FROM set_aside WHERE campaign = $1),
                    (SELECT count(*) FROM loans
                     WHERE campaign = $1 AND purpose = 'fill' AND closed_at IS NULL),
                    (SELECT count(*) FROM waiting WHERE campaign = $1 AND why = 'returned'),
                    (SELECT count(*) FROM waiting WHERE campaign = $1 AND why = 'retracted'),
                    (SELECT count(DISTINCT r.segment) FROM results r
                     JOIN accepted a ON a.campaign = r.campaign AND a.segment = r.segment
                     WHERE r.campaign = $1 AND r.verdict = 'audit'
                       AND NOT EXISTS (SELECT 1 FROM disputes d
                                       WHERE d.campaign = $1 AND d.segment = r.segment
                                         AND d.closed_at IS NULL)),
                    (SELECT count(*) FROM accepted a WHERE a.campaign = $1 AND a.segment = $2
                       AND NOT EXISTS (SELECT 1 FROM disputes d
                                       WHERE d.campaign = $1 AND d.segment = $2
                                         AND d.closed_at IS NULL))",
    )
    .bind(id)
    .bind(to_row(cut.segments() - 1))
    .bind(to_row(checked))
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

type SegmentRow = (i64, i64, i64, Vec<u8>, bool, String, String, String, i64);

pub(super) async fn segments(
    conn: &mut PgConnection,
    id: &str,
    from: Segment,
    limit: u32,
) -> Result<Vec<AcceptedSegment>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, SegmentRow>(
        "-- segments_page
         SELECT a.segment, r.id, r.samples, r.digest,
                EXISTS (SELECT 1 FROM disputes d WHERE d.campaign = a.campaign
                          AND d.segment = a.segment AND d.closed_at IS NULL),
                r.owner, r.worker, r.build, r.received_at
         FROM accepted a JOIN results r ON r.id = a.result
         WHERE a.campaign = $1 AND a.segment >= $2 ORDER BY a.segment LIMIT $3",
    )
    .bind(id)
    .bind(to_row(from))
    .bind(i64::from(limit))
    .fetch_all(&mut *conn)
    .await?;
    let mut page = Vec::with_capacity(rows.len());
    for (segment, result, samples, digest, disputed, owner, worker, build, received_at) in rows {
        let (segment, samples) = (from_row(segment)?, from_row(samples)?);
        let tally = tally(conn, result, &digest).await?;
        rows::check_cells(id, segment, &tally, samples)?;
        page.push(AcceptedSegment {
            segment,
            samples,
            tally,
            disputed,
            owner,
            worker,
            build,
            received_at,
        });
    }
    Ok(page)
}

async fn tally(conn: &mut PgConnection, result: i64, digest: &[u8]) -> Result<Tally, Failure> {
    let mut tally = Tally {
        digest: rows::digest(digest)?,
        ..Tally::default()
    };
    let rows = sqlx::query_as::<_, (bool, i64, i64)>(
        "-- segments_tally
         SELECT false, cell, count FROM result_cells WHERE result = $1
         UNION ALL
         SELECT true, depth, count FROM result_depths WHERE result = $1",
    )
    .bind(result)
    .fetch_all(conn)
    .await?;
    for (is_depth, key, count) in rows {
        let counts = if is_depth {
            &mut tally.depths
        } else {
            &mut tally.cells
        };
        rows::entry(counts, key, count)?;
    }
    Ok(tally)
}

pub(super) async fn witnesses(
    conn: &mut PgConnection,
    id: &str,
    segments: Range<Segment>,
) -> Result<Vec<Witness>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, WitnessRow>(
        "-- witnesses_list
         SELECT w.sample, w.depth, w.length, w.expansions
         FROM accepted a JOIN witnesses w ON w.result = a.result
         WHERE a.campaign = $1 AND a.segment >= $2 AND a.segment < $3
         ORDER BY w.sample, w.kind DESC",
    )
    .bind(id)
    .bind(to_row(segments.start))
    .bind(to_row(segments.end))
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(rows::witness).collect()
}

pub(super) async fn builds(conn: &mut PgConnection, id: &str) -> Result<Vec<BuildShare>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, rows::BuildRow>(
        "-- builds_list
         SELECT r.build, count(*), min(r.received_at), max(r.received_at)
         FROM accepted a JOIN results r ON r.id = a.result
         WHERE a.campaign = $1 GROUP BY r.build ORDER BY r.build",
    );
    let rows = rows.bind(id).fetch_all(conn).await?;
    rows.into_iter().map(rows::build_share).collect()
}

pub(super) async fn log(
    conn: &mut PgConnection,
    id: &str,
    segment: Segment,
) -> Result<Vec<LogEntry>, Failure> {
    campaign_rows::one(conn, id).await?;
    let rows = sqlx::query_as::<_, rows::LogRow>(
        "-- log_list
         SELECT verdict, owner, worker, received_at FROM results
         WHERE campaign = $1 AND segment = $2 ORDER BY id",
    );
    let rows = rows.bind(id).bind(to_row(segment)).fetch_all(conn).await?;
    rows.into_iter()
        .map(|row| rows::log_entry(segment, row))
        .collect()
}

impl PostgresLedger {
    /// Lists the disputed segments, in order.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn disputed(&self, id: &str) -> Result<Vec<Segment>, LedgerError> {
        self.read(|mut tx| async move { disputed(&mut tx, id).await })
            .await
    }
}

async fn disputed(conn: &mut PgConnection, id: &str) -> Result<Vec<Segment>, Failure> {
    campaign_rows::one(conn, id).await?;
    sqlx::query_scalar::<_, i64>(
        "-- disputed_list
         SELECT segment FROM disputes WHERE campaign = $1 AND closed_at IS NULL ORDER BY segment",
    )
    .bind(id)
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(from_row)
    .collect()
}
