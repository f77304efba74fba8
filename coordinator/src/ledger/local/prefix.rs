//! The prefix and its sums: rows added up, with checkpoints of closed prefixes that make it cheap.

use kazoe_common::census::{Cut, Segment, Tally};
use sqlx::SqliteConnection;

use crate::ledger::rows::{self, Failure, from_row, to_row};
use crate::ledger::{LedgerError, Prefix};
use crate::tally_text;

/// Segments between two checkpoints.
const STEP: u64 = 512;

/// The prefix at this moment.
pub(super) async fn prefix(
    conn: &mut SqliteConnection,
    id: &str,
    cut: &Cut,
) -> Result<Prefix, Failure> {
    let base = newest_checkpoint(conn, id, cut).await?;
    let end = first_gap(conn, id, base.segments).await?;
    let prefix = sum(conn, id, cut, base, end).await?;
    rows::check_prefix(id, &prefix)?;
    Ok(prefix)
}

/// Writes the checkpoints that the prefix has reached.
pub(super) async fn advance_checkpoints(
    conn: &mut SqliteConnection,
    id: &str,
    cut: &Cut,
) -> Result<(), Failure> {
    let mut base = newest_checkpoint(conn, id, cut).await?;
    let end = first_gap(conn, id, base.segments).await?;
    while base.segments + STEP <= end {
        let to = base.segments + STEP;
        base = sum(conn, id, cut, base, to).await?;
        // The cut last segment may grow later, and is in no checkpoint. Neither are rows that this build
        // does not understand: every reading of the prefix reports them.
        if base.samples != base.segments * cut.segment_samples()
            || rows::check_prefix(id, &base).is_err()
        {
            break;
        }
        sqlx::query(
            "-- checkpoints_insert
             INSERT INTO checkpoints (campaign, prefix, tally) VALUES (?1, ?2, ?3)",
        )
        .bind(id)
        .bind(to_row(base.segments))
        .bind(tally_text::write(&base.tally))
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Drops the checkpoints that contain a segment.
pub(super) async fn drop_checkpoints(
    conn: &mut SqliteConnection,
    id: &str,
    segment: Segment,
) -> Result<(), Failure> {
    sqlx::query(
        "-- checkpoints_drop
         DELETE FROM checkpoints WHERE campaign = ?1 AND prefix > ?2",
    )
    .bind(id)
    .bind(to_row(segment))
    .execute(conn)
    .await?;
    Ok(())
}

async fn newest_checkpoint(
    conn: &mut SqliteConnection,
    id: &str,
    cut: &Cut,
) -> Result<Prefix, Failure> {
    let row = sqlx::query_as::<_, (i64, String)>(
        "-- checkpoints_newest
         SELECT prefix, tally FROM checkpoints
         WHERE campaign = ?1 ORDER BY prefix DESC LIMIT 1",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?;
    let Some((segments, tally)) = row else {
        return Ok(Prefix::default());
    };
    let segments = from_row(segments)?;
    Ok(Prefix {
        segments,
        samples: segments * cut.segment_samples(),
        set_aside_samples: 0,
        tally: tally_text::parse(&tally)
            .map_err(|error| LedgerError::Row(format!("a checkpoint of campaign {id}: {error}")))?,
    })
}

/// The first segment from `from` on that has no accepted tally.
async fn first_gap(
    conn: &mut SqliteConnection,
    id: &str,
    from: Segment,
) -> Result<Segment, Failure> {
    let gap = sqlx::query_scalar::<_, i64>(
        "-- prefix_first_gap
         WITH RECURSIVE walk (segment) AS (
             SELECT ?2
             UNION ALL
             SELECT segment + 1 FROM walk
             WHERE EXISTS (SELECT 1 FROM accepted a
                           WHERE a.campaign = ?1 AND a.segment = walk.segment))
         SELECT max(segment) FROM walk",
    )
    .bind(id)
    .bind(to_row(from))
    .fetch_one(conn)
    .await?;
    from_row(gap)
}

/// The sum of `base` and the segments from its end to `end`, all of which are accepted.
async fn sum(
    conn: &mut SqliteConnection,
    id: &str,
    cut: &Cut,
    base: Prefix,
    end: Segment,
) -> Result<Prefix, Failure> {
    let (first, last) = (to_row(base.segments), to_row(end));
    let mut added = Tally::default();
    let digests = sqlx::query_scalar::<_, Vec<u8>>(
        "-- prefix_digests
         SELECT r.digest FROM accepted a JOIN results r ON r.id = a.result
         WHERE a.campaign = ?1 AND a.segment >= ?2 AND a.segment < ?3",
    )
    .bind(id)
    .bind(first)
    .bind(last)
    .fetch_all(&mut *conn)
    .await?;
    for bytes in digests {
        added.digest = added.digest.plus(rows::digest(&bytes)?);
    }
    let counts = sqlx::query_as::<_, (bool, i64, i64)>(
        "-- prefix_counts
         SELECT 0, c.cell, sum(c.count) FROM accepted a JOIN result_cells c ON c.result = a.result
         WHERE a.campaign = ?1 AND a.segment >= ?2 AND a.segment < ?3 GROUP BY c.cell
         UNION ALL
         SELECT 1, c.depth, sum(c.count) FROM accepted a JOIN result_depths c ON c.result = a.result
         WHERE a.campaign = ?1 AND a.segment >= ?2 AND a.segment < ?3 GROUP BY c.depth",
    )
    .bind(id)
    .bind(first)
    .bind(last)
    .fetch_all(conn)
    .await?;
    for (is_depth, key, count) in counts {
        let counts = match is_depth {
            true => &mut added.depths,
            false => &mut added.cells,
        };
        rows::entry(counts, key, count)?;
    }
    let mut sum = base;
    sum.tally.merge(&added);
    sum.segments = end;
    sum.samples = cut.samples.min(end * cut.segment_samples());
    Ok(sum)
}
