//! The audit of the invariants, on the rows themselves and in one statement.

use kazoe_common::census::{BLOCK, Outcome};
use sqlx::PgConnection;

use super::{PostgresLedger, campaign_rows};
use crate::ledger::rows::{Failure, from_row, to_row};
use crate::ledger::{Breach, LedgerError};

impl PostgresLedger {
    /// Checks the invariants I1, I2, I3 and I6 of a campaign on the rows themselves. Returns what is broken.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`].
    pub async fn check_invariants(&self, id: &str) -> Result<Vec<Breach>, LedgerError> {
        self.read(|mut tx| async move { check_invariants(&mut tx, id).await })
            .await
    }
}

/// I1: a segment has one accepted pointer, to a result of its own (the primary key and the foreign key
/// say so; the audit reads it again). I2: what is accepted has the samples that the cut gives it. I3:
/// outcomes add up to the samples, depths to the unreachable. I6: each segment stands in one place, and
/// below the frontier none stands nowhere.
async fn check_invariants(conn: &mut PgConnection, id: &str) -> Result<Vec<Breach>, Failure> {
    let cut = campaign_rows::one(conn, id).await?.cut;
    sqlx::query_as::<_, (String, Option<i64>, String)>(
        "-- check_invariants
         WITH
         one AS (SELECT accepted.segment, results.id, results.samples,
                        results.campaign AS its_campaign, results.segment AS its_segment
                 FROM accepted LEFT JOIN results ON results.id = accepted.result
                 WHERE accepted.campaign = $1),
         expected AS (SELECT segment,
                             least($2 * $3, greatest(0, $4 - segment * $2 * $3)) AS samples FROM one),
         state (segment, place) AS (
             SELECT segment, 'accepted' FROM one
             UNION ALL SELECT segment, 'set aside' FROM set_aside WHERE campaign = $1
             UNION ALL SELECT segment, why FROM waiting WHERE campaign = $1
             UNION ALL SELECT segment, 'leased' FROM loans
                       WHERE campaign = $1 AND purpose = 'fill' AND closed_at IS NULL),
         below (segment) AS (
             SELECT generate_series(0, frontier - 1) FROM campaigns WHERE id = $1)
         SELECT 'I1', segment, 'accepted ' || count(*) || ' times'
             FROM accepted WHERE campaign = $1 GROUP BY segment HAVING count(*) > 1
         UNION ALL
         SELECT 'I1', segment, 'its accepted result is of segment ' || coalesce(its_segment::text, 'none')
             FROM one WHERE its_campaign IS DISTINCT FROM $1 OR its_segment IS DISTINCT FROM segment
         UNION ALL
         SELECT 'I2', one.segment, one.samples || ' samples are accepted, ' || expected.samples
                                   || ' belong to it'
             FROM one JOIN expected USING (segment)
             WHERE one.samples IS DISTINCT FROM expected.samples
         UNION ALL
         SELECT 'I3', segment, 'its outcomes do not add up to its ' || samples || ' samples'
             FROM one
             WHERE samples IS DISTINCT FROM (SELECT sum(count) FROM result_cells WHERE result = one.id)
         UNION ALL
         SELECT 'I3', segment, 'its depths do not add up to its unreachable'
             FROM one
             WHERE (SELECT coalesce(sum(count), 0) FROM result_depths WHERE result = one.id)
                IS DISTINCT FROM (SELECT coalesce(sum(count), 0) FROM result_cells
                                  WHERE result = one.id AND cell = $5)
         UNION ALL
         SELECT 'I6', segment, 'stands in several places: ' || string_agg(place, ', ')
             FROM state GROUP BY segment HAVING count(*) > 1
         UNION ALL
         SELECT 'I6', segment, 'disputed without an accepted tally'
             FROM disputes WHERE campaign = $1 AND closed_at IS NULL
              AND NOT EXISTS (SELECT 1 FROM one WHERE one.segment = disputes.segment)
         UNION ALL
         SELECT 'I6', segment, 'lies behind the campaign''s end'
             FROM state WHERE segment * $2 * $3 >= $4
         UNION ALL
         SELECT 'I6', segment, 'lies before the frontier and stands nowhere'
             FROM below WHERE NOT EXISTS (SELECT 1 FROM state WHERE state.segment = below.segment)",
    )
    .bind(id)
    .bind(to_row(cut.segment_blocks))
    .bind(to_row(BLOCK))
    .bind(to_row(cut.samples))
    .bind(i64::from(Outcome::Unreachable as u8))
    .fetch_all(conn)
    .await?
    .into_iter()
    .map(|(invariant, segment, detail)| {
        Ok(Breach {
            invariant,
            segment: segment.map(from_row).transpose()?,
            detail,
        })
    })
    .collect()
}
