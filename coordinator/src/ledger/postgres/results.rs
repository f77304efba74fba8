//! Rows of the log: `results` with its cells, depths and witnesses. They are written once.

use std::collections::{BTreeMap, HashSet};

use kazoe_common::census::{Segment, Tally, Witness};
use kazoe_proto::name::stored_owner;
use sqlx::PgConnection;

use crate::leasing::{LoggedTally, Millis, SegmentLog};
use crate::ledger::Who;
use crate::ledger::rows::{self, Failure, from_row, to_row};
use kazoe_common::census::SegmentResult;
use kazoe_proto::outcome::DeliveryOutcome;

/// Under what a tally arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Provenance<'a> {
    pub(super) campaign: &'a str,
    pub(super) who: &'a Who,
    pub(super) lease: Option<i64>,
    pub(super) at: Millis,
}

/// Enters a tally into the log and returns its number there.
pub(super) async fn insert(
    conn: &mut PgConnection,
    arrival: Provenance<'_>,
    result: &SegmentResult,
    verdict: DeliveryOutcome,
) -> Result<i64, Failure> {
    let (cells, cell_counts) = columns(&result.tally.cells);
    let (depths, depth_counts) = columns(&result.tally.depths);
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
    .bind(to_row(result.segment))
    .bind(to_row(result.samples))
    .bind(result.tally.digest.0.to_le_bytes().to_vec())
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
    .bind(result.cpu.map(rows::micros))
    .fetch_one(&mut *conn)
    .await?;
    insert_witnesses(conn, id, &result.witnesses).await?;
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

/// Which of these segments the log has a tally of.
pub(super) async fn known(
    conn: &mut PgConnection,
    campaign: &str,
    segments: impl Iterator<Item = Segment>,
) -> Result<HashSet<Segment>, Failure> {
    let segments: Vec<i64> = segments.map(to_row).collect();
    sqlx::query_scalar::<_, i64>(
        "-- results_known
         SELECT segment FROM (
             SELECT told.segment, (SELECT true FROM results r
                                   WHERE r.campaign = $1 AND r.segment = told.segment LIMIT 1) AS known
             FROM unnest($2::bigint[]) AS told (segment)) all_told
         WHERE known",
    )
    .bind(campaign)
    .bind(segments)
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(from_row)
    .collect()
}

/// Enters tallies of segments that the log has none of, each of another segment, and lets them fill their
/// segments, which stand nowhere else from now on. Returns the first of those that had been set aside.
pub(super) async fn accept_all(
    conn: &mut PgConnection,
    campaign: &str,
    tallies: &[(Provenance<'_>, &SegmentResult)],
) -> Result<Option<Segment>, Failure> {
    let mut rows = Columns::default();
    for &(arrival, result) in tallies {
        rows.add(arrival, result);
    }
    let aside = sqlx::query_scalar::<_, Option<i64>>(ACCEPT_ALL)
        .bind(campaign)
        .bind(&rows.segment)
        .bind(&rows.samples)
        .bind(&rows.digest)
        .bind(&rows.lease)
        .bind(&rows.owner)
        .bind(&rows.worker)
        .bind(&rows.operator)
        .bind(&rows.build)
        .bind(&rows.at)
        .bind(&rows.cells.segment)
        .bind(&rows.cells.key)
        .bind(&rows.cells.count)
        .bind(&rows.depths.segment)
        .bind(&rows.depths.key)
        .bind(&rows.depths.count)
        .bind(&rows.witnesses.segment)
        .bind(&rows.witnesses.sample)
        .bind(&rows.witnesses.kind)
        .bind(&rows.witnesses.depth)
        .bind(&rows.witnesses.length)
        .bind(&rows.witnesses.expansions)
        .bind(&rows.cpu)
        .fetch_one(conn)
        .await?;
    aside.map(from_row).transpose()
}

/// Open loans are looked up one by one (`OFFSET 0` keeps it so): the planner, which takes a table of which it knows
/// nothing yet for a small one, would rather go through all of them for each segment.
const ACCEPT_ALL: &str = "-- accept_all
    WITH given AS (
        SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::text[],
                             $7::text[], $8::boolean[], $9::text[], $10::bigint[], $23::bigint[])
            AS t (segment, samples, digest, lease, owner, worker, operator, build, at, cpu)),
    entered AS (
        INSERT INTO results (campaign, segment, samples, digest, lease, owner, worker, operator,
                             build, received_at, verdict, cpu_us)
        SELECT $1, segment, samples, digest, lease, owner, worker, operator, build, at, 'accepted', cpu
        FROM given
        RETURNING id, segment),
    cells AS (
        INSERT INTO result_cells (result, cell, count)
        SELECT entered.id, t.cell, t.count
        FROM unnest($11::bigint[], $12::bigint[], $13::bigint[]) AS t (segment, cell, count)
        JOIN entered USING (segment)),
    depths AS (
        INSERT INTO result_depths (result, depth, count)
        SELECT entered.id, t.depth, t.count
        FROM unnest($14::bigint[], $15::bigint[], $16::bigint[]) AS t (segment, depth, count)
        JOIN entered USING (segment)),
    witnessed AS (
        INSERT INTO witnesses (result, sample, kind, depth, length, expansions)
        SELECT entered.id, t.sample, t.kind, t.depth, t.length, t.expansions
        FROM unnest($17::bigint[], $18::bigint[], $19::text[], $20::bigint[], $21::bigint[], $22::bigint[])
            AS t (segment, sample, kind, depth, length, expansions)
        JOIN entered USING (segment)),
    pointer AS (
        INSERT INTO accepted (campaign, segment, result) SELECT $1, segment, id FROM entered),
    lent AS (
        UPDATE loans SET closed_at = given.at,
                         closing = CASE WHEN loans.lease = given.lease THEN 'delivered'
                                        ELSE 'superseded' END
        FROM given, (VALUES ('fill'), ('resolve'), ('audit')) AS p (purpose),
             LATERAL (SELECT o.lease FROM loans o
                      WHERE o.campaign = $1 AND o.purpose = p.purpose AND o.segment = given.segment
                        AND o.closed_at IS NULL OFFSET 0) AS open
        WHERE loans.lease = open.lease AND loans.segment = given.segment),
    waited AS (
        DELETE FROM waiting USING given
        WHERE waiting.campaign = $1 AND waiting.segment = given.segment),
    aside AS (
        DELETE FROM set_aside USING given
        WHERE set_aside.campaign = $1 AND set_aside.segment = given.segment
        RETURNING set_aside.segment)
    SELECT min(segment) FROM aside";

/// Tallies as columns.
#[derive(Default)]
struct Columns<'a> {
    segment: Vec<i64>,
    samples: Vec<i64>,
    digest: Vec<Vec<u8>>,
    lease: Vec<Option<i64>>,
    owner: Vec<&'a str>,
    worker: Vec<&'a str>,
    operator: Vec<bool>,
    build: Vec<&'a str>,
    at: Vec<i64>,
    cpu: Vec<Option<i64>>,
    cells: Counts,
    depths: Counts,
    witnesses: Witnesses,
}

/// Entries of histograms as columns.
#[derive(Default)]
struct Counts {
    segment: Vec<i64>,
    key: Vec<i64>,
    count: Vec<i64>,
}

/// Witnesses as columns.
#[derive(Default)]
struct Witnesses {
    segment: Vec<i64>,
    sample: Vec<i64>,
    kind: Vec<&'static str>,
    depth: Vec<Option<i64>>,
    length: Vec<Option<i64>>,
    expansions: Vec<Option<i64>>,
}

impl<'a> Columns<'a> {
    fn add(&mut self, arrival: Provenance<'a>, result: &SegmentResult) {
        let segment = to_row(result.segment);
        let who = arrival.who;
        self.segment.push(segment);
        self.samples.push(to_row(result.samples));
        let digest = result.tally.digest.0.to_le_bytes();
        self.digest.push(digest.to_vec());
        self.lease.push(arrival.lease);
        self.owner.push(&who.owner);
        self.worker.push(&who.worker);
        self.operator.push(who.operator);
        self.build.push(&who.build);
        self.at.push(arrival.at);
        self.cpu.push(result.cpu.map(rows::micros));
        self.cells.add(segment, &result.tally.cells);
        self.depths.add(segment, &result.tally.depths);
        for witness in &result.witnesses {
            self.witnesses.add(segment, witness);
        }
    }
}

impl Counts {
    fn add(&mut self, segment: i64, counts: &BTreeMap<u32, u64>) {
        for (&key, &count) in counts {
            self.segment.push(segment);
            self.key.push(i64::from(key));
            self.count.push(to_row(count));
        }
    }
}

impl Witnesses {
    fn add(&mut self, segment: i64, witness: &Witness) {
        let (kind, depth, length, expansions) = rows::witness_columns(witness);
        self.segment.push(segment);
        self.sample.push(to_row(witness.index()));
        self.kind.push(kind);
        self.depth.push(depth);
        self.length.push(length);
        self.expansions.push(expansions);
    }
}

type Head = (i64, i64, Vec<u8>, Option<i64>, String, bool);

/// All that the log holds about a segment, and the numbers of those tallies there.
pub(super) async fn docket(
    conn: &mut PgConnection,
    campaign: &str,
    segment: Segment,
    samples: u64,
) -> Result<(SegmentLog, Vec<i64>), Failure> {
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
        earlier.push(LoggedTally {
            owner: stored_owner(owner),
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
    let segment_log = SegmentLog {
        samples,
        accepted: accepted.and_then(|id| numbers.iter().position(|&number| number == id)),
        earlier,
        disputed,
    };
    Ok((segment_log, numbers))
}
