//! The prefix and its sums: rows added up, with checkpoints of closed prefixes that make it cheap.

use kazoe_common::census::{Cut, Segment, Tally};
use sqlx::SqliteConnection;

use crate::ledger::rows::{self, Failure, from_row, to_row};
use crate::ledger::{LedgerError, Prefix};
use crate::tally_text;

/// A checkpoint stands at every multiple of so many segments.
const STEP: u64 = 512;

/// The prefix at this moment.
pub(super) async fn prefix(
    conn: &mut SqliteConnection,
    id: &str,
    cut: &Cut,
) -> Result<Prefix, Failure> {
    let base = newest_checkpoint(conn, id).await?;
    let end = walk(conn, id, base.segments).await?;
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
    let mut base = newest_checkpoint(conn, id).await?;
    let end = walk(conn, id, base.segments).await?;
    while base.segments + STEP <= end {
        let to = base.segments + STEP;
        base = sum(conn, id, cut, base, to).await?;
        // The cut last segment may grow later, and is in no checkpoint.
        if base.samples != base.segments * cut.segment_samples() {
            break;
        }
        // What this build cannot read is in none either: it is found again whenever the prefix is read.
        if rows::check_prefix(id, &base).is_err() {
            break;
        }
        sqlx::query(
            "-- checkpoints_insert
             INSERT INTO checkpoints (campaign, prefix, tally, set_aside_samples)
             VALUES (?1, ?2, ?3, ?4)",
        )
        .bind(id)
        .bind(to_row(base.segments))
        .bind(tally_text::write(&base.tally))
        .bind(to_row(base.set_aside_samples))
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

pub(super) async fn bump_revision(
    conn: &mut SqliteConnection,
    id: &str,
    by: i64,
) -> Result<(), Failure> {
    sqlx::query(
        "-- campaigns_bump
         UPDATE campaigns SET revision = revision + ?2 WHERE id = ?1",
    )
    .bind(id)
    .bind(by)
    .execute(conn)
    .await?;
    Ok(())
}

async fn newest_checkpoint(conn: &mut SqliteConnection, id: &str) -> Result<Prefix, Failure> {
    let row = sqlx::query_as::<_, (i64, String, i64, i64)>(
        "-- checkpoints_newest
         SELECT p.prefix, p.tally, p.set_aside_samples, c.segment_blocks
         FROM checkpoints p JOIN campaigns c ON c.id = p.campaign
         WHERE p.campaign = ?1 ORDER BY p.prefix DESC LIMIT 1",
    )
    .bind(id)
    .fetch_optional(conn)
    .await?;
    let Some((segments, tally, set_aside, blocks)) = row else {
        return Ok(Prefix::default());
    };
    let segments = from_row(segments)?;
    Ok(Prefix {
        segments,
        samples: segments * from_row(blocks)? * kazoe_common::census::BLOCK,
        set_aside_samples: from_row(set_aside)?,
        tally: tally_text::parse(&tally)
            .map_err(|error| LedgerError::Row(format!("a checkpoint of campaign {id}: {error}")))?,
    })
}

/// The first segment from `from` on that is neither accepted and undisputed nor set aside.
async fn walk(conn: &mut SqliteConnection, id: &str, from: Segment) -> Result<Segment, Failure> {
    let end = sqlx::query_scalar::<_, i64>(
        "-- prefix_walk
         WITH RECURSIVE walk (segment) AS (
             SELECT ?2
             UNION ALL
             SELECT segment + 1 FROM walk
             WHERE (EXISTS (SELECT 1 FROM accepted a
                            WHERE a.campaign = ?1 AND a.segment = walk.segment)
                    AND NOT EXISTS (SELECT 1 FROM disputes d
                                    WHERE d.campaign = ?1 AND d.segment = walk.segment
                                      AND d.closed_at IS NULL))
                OR EXISTS (SELECT 1 FROM set_aside x
                           WHERE x.campaign = ?1 AND x.segment = walk.segment)
         )
         SELECT max(segment) FROM walk",
    )
    .bind(id)
    .bind(to_row(from))
    .fetch_one(conn)
    .await?;
    from_row(end)
}

/// The sum of `base` and the segments from its end to `end`, all of which are in the prefix.
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
    let cells = sqlx::query_as::<_, (i64, i64)>(
        "-- prefix_cells
         SELECT c.cell, sum(c.count) FROM accepted a JOIN result_cells c ON c.result = a.result
         WHERE a.campaign = ?1 AND a.segment >= ?2 AND a.segment < ?3 GROUP BY c.cell",
    )
    .bind(id)
    .bind(first)
    .bind(last)
    .fetch_all(&mut *conn)
    .await?;
    for (cell, count) in cells {
        rows::entry(&mut added.cells, cell, count)?;
    }
    let depths = sqlx::query_as::<_, (i64, i64)>(
        "-- prefix_depths
         SELECT c.depth, sum(c.count) FROM accepted a JOIN result_depths c ON c.result = a.result
         WHERE a.campaign = ?1 AND a.segment >= ?2 AND a.segment < ?3 GROUP BY c.depth",
    )
    .bind(id)
    .bind(first)
    .bind(last)
    .fetch_all(&mut *conn)
    .await?;
    for (depth, count) in depths {
        rows::entry(&mut added.depths, depth, count)?;
    }
    let aside = sqlx::query_scalar::<_, i64>(
        "-- prefix_set_aside
         SELECT segment FROM set_aside WHERE campaign = ?1 AND segment >= ?2 AND segment < ?3",
    )
    .bind(id)
    .bind(first)
    .bind(last)
    .fetch_all(conn)
    .await?;
    let mut sum = base;
    for segment in aside {
        sum.set_aside_samples += cut.samples_of(from_row(segment)?);
    }
    sum.tally.merge(&added);
    sum.segments = end;
    sum.samples = cut.samples.min(end * cut.segment_samples());
    Ok(sum)
}
