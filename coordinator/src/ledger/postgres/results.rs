//! Rows of the log: `results` with its cells, depths and witnesses. They are written once.

use std::collections::BTreeMap;

use kazoe_common::census::{Segment, Tally, Witness};
use sqlx::PgConnection;

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
    conn: &mut PgConnection,
    arrival: Arrival<'_>,
    delivery: &Delivery,
    verdict: Verdict,
) -> Result<i64, Failure> {
    let (cells, cell_counts) = columns(&delivery.tally.cells);
    let (depths, depth_counts) = columns(&delivery.tally.depths);
    let id = sqlx::query_scalar::<_, i64>(
        "-- results_insert
         WITH entered AS (
             INSERT INTO results (campaign, segment, samples, digest, lease, owner, worker, operator,
                                  build, received_at, verdict, cpu_us)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $16)
             RETURNING id),
         cells AS (
             INSERT INTO result_cells (result, cell, count)
             SELECT entered.id, given.*
             FROM entered, unnest($12::bigint[], $13::bigint[]) AS given),
         depths AS (
             INSERT INTO result_depths (result, depth, count)
             SELECT entered.id, given.*
             FROM entered, unnest($14::bigint[], $15::bigint[]) AS given)
         SELECT id FROM entered",
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
    .bind(cells)
    .bind(cell_counts)
    .bind(depths)
    .bind(depth_counts)
    .bind(delivery.cpu.map(rows::micros))
    .fetch_one(&mut *conn)
    .await?;
    insert_witnesses(conn, id, &delivery.witnesses).await?;
    Ok(id)
}

/// A histogram as two columns.
fn columns(histogram: &BTreeMap<u32, u64>) -> (Vec<i64>, Vec<i64>) {
    histogram
        .iter()
        .map(|(&key, &count)| (i64::from(key), to_row(count)))
        .unzip()
}

async fn insert_witnesses(
    conn: &mut PgConnection,
    result: i64,
    witnesses: &[Witness],
) -> Result<(), Failure> {
    if witnesses.is_empty() {
        return Ok(());
    }
    let samples: Vec<i64> = witnesses
        .iter()
        .map(|witness| to_row(witness.index()))
        .collect();
    let mut kinds = Vec::with_capacity(witnesses.len());
    let mut depths = Vec::with_capacity(witnesses.len());
    let mut lengths = Vec::with_capacity(witnesses.len());
    let mut all_expansions = Vec::with_capacity(witnesses.len());
    for (kind, depth, length, expansions) in witnesses.iter().map(rows::witness_columns) {
        kinds.push(kind);
        depths.push(depth);
        lengths.push(length);
        all_expansions.push(expansions);
    }
    sqlx::query(
        "-- witnesses_insert
         INSERT INTO witnesses (result, sample, kind, depth, length, expansions)
         SELECT $1, given.*
         FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS given",
    )
    .bind(result)
    .bind(samples)
    .bind(kinds)
    .bind(depths)
    .bind(lengths)
    .bind(all_expansions)
    .execute(conn)
    .await?;
    Ok(())
}

type Head = (i64, i64, Vec<u8>, Option<i64>, String, bool);

/// All that the log holds about a segment, and the numbers of those tallies there.
pub(super) async fn docket(
    conn: &mut PgConnection,
    campaign: &str,
    segment: Segment,
    samples: u64,
) -> Result<(Docket, Vec<i64>), Failure> {
    let heads = sqlx::query_as::<_, Head>(
        "-- docket_results
         SELECT id, samples, digest, lease, owner, operator
         FROM results WHERE campaign = $1 AND segment = $2 ORDER BY id",
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
             SELECT cell, count FROM result_cells WHERE result = $1",
        )
        .bind(id)
        .fetch_all(&mut *conn)
        .await?;
        for (cell, count) in cells {
            rows::entry(&mut tally.cells, cell, count)?;
        }
        let depths = sqlx::query_as::<_, (i64, i64)>(
            "-- docket_depths
             SELECT depth, count FROM result_depths WHERE result = $1",
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
    let (accepted, disputed) = sqlx::query_as::<_, (Option<i64>, bool)>(
        "-- docket_standing
         SELECT (SELECT result FROM accepted WHERE campaign = $1 AND segment = $2),
                EXISTS (SELECT 1 FROM disputes
                        WHERE campaign = $1 AND segment = $2 AND closed_at IS NULL)",
    )
    .bind(campaign)
    .bind(to_row(segment))
    .fetch_one(conn)
    .await?;
    let docket = Docket {
        samples,
        accepted: accepted.and_then(|id| numbers.iter().position(|&number| number == id)),
        earlier,
        disputed,
    };
    Ok((docket, numbers))
}
