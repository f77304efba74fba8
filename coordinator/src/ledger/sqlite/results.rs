//! Rows of the log: `results` with its cells, depths and witnesses. They are written once.

use kazoe_common::census::{Segment, Tally};
use sqlx::SqliteConnection;

use crate::leasing::{Docket, Millis, Received, Verdict};
use crate::ledger::rows::{self, Failure, from_row, to_row};
use crate::ledger::{Delivery, Who};

/// Under what a tally arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    pub(super) campaign: &'a str,
    pub(super) who: &'a Who,
    pub(super) lease: Option<i64>,
    pub(super) at: Millis,
}

/// Enters a tally into the log and returns its number there.
pub(super) async fn insert(
    conn: &mut SqliteConnection,
    arrival: Arrival<'_>,
    delivery: &Delivery,
    verdict: Verdict,
) -> Result<i64, Failure> {
    let id = sqlx::query_scalar::<_, i64>(
        "-- results_insert
         INSERT INTO results (campaign, segment, samples, digest, lease, owner, worker, operator,
                              build, received_at, verdict, cpu_us)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
         RETURNING id",
    )
    .bind(arrival.campaign)
    .bind(to_row(delivery.segment))
    .bind(to_row(delivery.samples))
    .bind(delivery.tally.digest.0.to_le_bytes().to_vec())
    .bind(arrival.lease)
    .bind(&arrival.who.owner)
    .bind(&arrival.who.worker)
    .bind(arrival.who.operator)
    .bind(&arrival.who.build)
    .bind(arrival.at)
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

type Head = (i64, i64, Vec<u8>, Option<i64>, String, bool);

/// All that the log holds about a segment, and the numbers of those tallies there.
pub(super) async fn docket(
    conn: &mut SqliteConnection,
    campaign: &str,
    segment: Segment,
    samples: u64,
) -> Result<(Docket, Vec<i64>), Failure> {
    let heads = sqlx::query_as::<_, Head>(
        "-- docket_results
         SELECT id, samples, digest, lease, owner, operator
         FROM results WHERE campaign = ?1 AND segment = ?2 ORDER BY id",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .fetch_all(&mut *conn)
    .await?;
    let mut earlier = Vec::with_capacity(heads.len());
    let mut numbers = Vec::with_capacity(heads.len());
    for (id, samples, digest_bytes, lease, owner, operator) in heads {
        numbers.push(id);
        let mut tally = Tally {
            digest: rows::digest(&digest_bytes)?,
            ..Tally::default()
        };
        let cells = sqlx::query_as::<_, (i64, i64)>(
            "-- docket_cells
             SELECT cell, count FROM result_cells WHERE result = ?1",
        )
        .bind(id)
        .fetch_all(&mut *conn)
        .await?;
        for (cell, count) in cells {
            rows::entry(&mut tally.cells, cell, count)?;
        }
        let depths = sqlx::query_as::<_, (i64, i64)>(
            "-- docket_depths
             SELECT depth, count FROM result_depths WHERE result = ?1",
        )
        .bind(id)
        .fetch_all(&mut *conn)
        .await?;
        for (depth, count) in depths {
            rows::entry(&mut tally.depths, depth, count)?;
        }
        earlier.push(Received {
            owner,
            operator,
            lease,
            samples: from_row(samples)?,
            tally,
        });
    }
    let accepted = sqlx::query_scalar::<_, i64>(
        "-- docket_accepted
         SELECT result FROM accepted WHERE campaign = ?1 AND segment = ?2",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .fetch_optional(&mut *conn)
    .await?;
    let disputed = sqlx::query_scalar::<_, i64>(
        "-- docket_dispute
         SELECT count(*) FROM disputes
         WHERE campaign = ?1 AND segment = ?2 AND closed_at IS NULL",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .fetch_one(conn)
    .await?;
    let docket = Docket {
        samples,
        accepted: accepted.and_then(|id| numbers.iter().position(|&number| number == id)),
        earlier,
        disputed: disputed > 0,
    };
    Ok((docket, numbers))
}
