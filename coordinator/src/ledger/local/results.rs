//! Tallies that arrive: each fills its segment or equals what fills it.

use kazoe_common::census::{Segment, Tally};
use sqlx::SqliteConnection;

use super::{campaign_rows, now, prefix};
use crate::leasing::Millis;
use crate::ledger::lease::check;
use crate::ledger::rows::{self, Failure, to_row};
use crate::ledger::{LedgerError, Who};
use kazoe_common::census::SegmentResult;
use kazoe_proto::outcome::DeliveryOutcome;

/// Takes tallies, all of them or none.
pub(super) async fn import(
    conn: &mut SqliteConnection,
    id: &str,
    who: &Who,
    deliveries: &[SegmentResult],
) -> Result<Vec<DeliveryOutcome>, Failure> {
    let cut = campaign_rows::one(conn, id).await?.cut;
    let at = now(conn).await?;
    let mut verdicts = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        if delivery.segment >= cut.segments() {
            return Err(LedgerError::NotLent(delivery.segment).into());
        }
        check(delivery, &cut)?;
        let samples = cut.samples_of(delivery.segment);
        let verdict = verdict(conn, id, who, samples, delivery).await?;
        if verdict == DeliveryOutcome::Accepted {
            let result = insert(conn, id, who, at, delivery, verdict).await?;
            accept(conn, id, delivery.segment, result).await?;
        } else if !is_known(conn, id, who, delivery).await? {
            insert(conn, id, who, at, delivery, verdict).await?;
        }
        verdicts.push(verdict);
    }
    let accepted = verdicts
        .iter()
        .filter(|&&verdict| verdict == DeliveryOutcome::Accepted);
    let accepted = to_row(accepted.count() as u64);
    if accepted > 0 {
        sqlx::query(
            "-- campaigns_bump
             UPDATE campaigns SET revision = revision + ?2 WHERE id = ?1",
        )
        .bind(id)
        .bind(accepted)
        .execute(&mut *conn)
        .await?;
        prefix::advance_checkpoints(conn, id, &cut).await?;
    }
    Ok(verdicts)
}

/// What an arriving tally is to its segment of `samples` samples.
async fn verdict(
    conn: &mut SqliteConnection,
    id: &str,
    who: &Who,
    samples: u64,
    delivery: &SegmentResult,
) -> Result<DeliveryOutcome, Failure> {
    let segment = delivery.segment;
    if delivery.samples != samples {
        return Ok(DeliveryOutcome::Stale);
    }
    let stored = sqlx::query_as::<_, (i64, String, Vec<u8>)>(
        "-- accepted_find
         SELECT r.id, r.owner, r.digest FROM accepted a JOIN results r ON r.id = a.result
         WHERE a.campaign = ?1 AND a.segment = ?2",
    )
    .bind(id)
    .bind(to_row(segment))
    .fetch_optional(&mut *conn)
    .await?;
    let Some((result, owner, digest)) = stored else {
        return Ok(DeliveryOutcome::Accepted);
    };
    let stored = tally(conn, result, &digest).await?;
    if stored != delivery.tally {
        let campaign = id.to_owned();
        return Err(LedgerError::Differs {
            campaign,
            segment,
            stored: Box::new(stored),
            arrived: Box::new(delivery.tally.clone()),
        }
        .into());
    }
    Ok(match owner == who.owner {
        true => DeliveryOutcome::Repeat,
        false => DeliveryOutcome::Audit,
    })
}

/// Whether the log has an equal tally of this owner already.
async fn is_known(
    conn: &mut SqliteConnection,
    id: &str,
    who: &Who,
    delivery: &SegmentResult,
) -> Result<bool, Failure> {
    let known = sqlx::query_scalar::<_, bool>(
        "-- results_find
         SELECT EXISTS (SELECT 1 FROM results WHERE campaign = ?1 AND segment = ?2 AND samples = ?3
                          AND digest = ?4 AND owner = ?5)",
    )
    .bind(id)
    .bind(to_row(delivery.segment))
    .bind(to_row(delivery.samples))
    .bind(delivery.tally.digest.0.to_le_bytes().to_vec())
    .bind(&who.owner)
    .fetch_one(conn)
    .await?;
    Ok(known)
}

async fn accept(
    conn: &mut SqliteConnection,
    id: &str,
    segment: Segment,
    result: i64,
) -> Result<(), Failure> {
    sqlx::query(
        "-- accepted_insert
         INSERT INTO accepted (campaign, segment, result) VALUES (?1, ?2, ?3)",
    )
    .bind(id)
    .bind(to_row(segment))
    .bind(result)
    .execute(conn)
    .await?;
    Ok(())
}

/// Enters a tally into the log and returns its number there.
async fn insert(
    conn: &mut SqliteConnection,
    campaign: &str,
    who: &Who,
    at: Millis,
    delivery: &SegmentResult,
    verdict: DeliveryOutcome,
) -> Result<i64, Failure> {
    let id = sqlx::query_scalar::<_, i64>(
        "-- results_insert
         INSERT INTO results (campaign, segment, samples, digest, owner, worker, build, received_at,
                              verdict, cpu_us)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         RETURNING id",
    )
    .bind(campaign)
    .bind(to_row(delivery.segment))
    .bind(to_row(delivery.samples))
    .bind(delivery.tally.digest.0.to_le_bytes().to_vec())
    .bind(&who.owner)
    .bind(&who.worker)
    .bind(&who.build)
    .bind(at)
    .bind(verdict.name())
    .bind(delivery.cpu.map(rows::micros))
    .fetch_one(&mut *conn)
    .await?;
    for (&cell, &count) in &delivery.tally.cells {
        sqlx::query(
            "-- result_cells_insert
             INSERT INTO result_cells (result, cell, count) VALUES (?1, ?2, ?3)",
        )
        .bind(id)
        .bind(i64::from(cell))
        .bind(to_row(count))
        .execute(&mut *conn)
        .await?;
    }
    for (&depth, &count) in &delivery.tally.depths {
        sqlx::query(
            "-- result_depths_insert
             INSERT INTO result_depths (result, depth, count) VALUES (?1, ?2, ?3)",
        )
        .bind(id)
        .bind(i64::from(depth))
        .bind(to_row(count))
        .execute(&mut *conn)
        .await?;
    }
    for witness in &delivery.witnesses {
        let (kind, depth, length, expansions) = rows::witness_columns(witness);
        sqlx::query(
            "-- witnesses_insert
             INSERT INTO witnesses (result, sample, kind, depth, length, expansions)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .bind(id)
        .bind(to_row(witness.index()))
        .bind(kind)
        .bind(depth)
        .bind(length)
        .bind(expansions)
        .execute(&mut *conn)
        .await?;
    }
    Ok(id)
}

/// Reads the tally of one result.
pub(super) async fn tally(
    conn: &mut SqliteConnection,
    result: i64,
    digest: &[u8],
) -> Result<Tally, Failure> {
    let mut tally = Tally {
        digest: rows::digest(digest)?,
        ..Tally::default()
    };
    let rows = sqlx::query_as::<_, (bool, i64, i64)>(
        "-- results_tally
         SELECT 0, cell, count FROM result_cells WHERE result = ?1
         UNION ALL
         SELECT 1, depth, count FROM result_depths WHERE result = ?1",
    )
    .bind(result)
    .fetch_all(conn)
    .await?;
    for (is_depth, key, count) in rows {
        let counts = match is_depth {
            true => &mut tally.depths,
            false => &mut tally.cells,
        };
        rows::entry(counts, key, count)?;
    }
    Ok(tally)
}
