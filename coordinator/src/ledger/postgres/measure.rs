//! What a measurement asks of the database and nobody else does.

use kazoe_common::census::Segment;

use super::{PostgresLedger, Tx};
use crate::ledger::LedgerError;
use crate::ledger::rows::{Failure, from_row, to_row};

/// A transaction that goes on seeing one moment: until it is dropped, no row that it might still read can
/// be cleared away.
#[derive(Debug)]
pub struct LongReader {
    /// Its connection belongs to it as long as it lives.
    _tx: Tx,
}

impl PostgresLedger {
    /// Opens a transaction that reads and then stays, as somebody's forgotten `psql` does.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn read_for_long(&self) -> Result<LongReader, LedgerError> {
        self.read(|mut tx| async move {
            sqlx::query(
                "-- measure_stay_idle
                 SET LOCAL idle_in_transaction_session_timeout = 0",
            )
            .execute(&mut *tx)
            .await?;
            sqlx::query_scalar::<_, i64>(
                "-- measure_look
                 SELECT count(*) FROM campaigns",
            )
            .fetch_one(&mut *tx)
            .await?;
            Ok(LongReader { _tx: tx })
        })
        .await
    }

    /// How many bytes the database takes on disk, its indexes included.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn bytes(&self) -> Result<u64, LedgerError> {
        self.read(|mut tx| async move {
            let bytes = sqlx::query_scalar::<_, i64>(
                "-- measure_bytes
                 SELECT pg_database_size(current_database())",
            )
            .fetch_one(&mut *tx)
            .await?;
            from_row(bytes)
        })
        .await
    }

    /// Of these tallies, each named by the number half of its token and its segment, those that do not stand in
    /// the log exactly once, each with how often it does; and those whose segment has no accepted tally, as 0.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn not_logged_once(
        &self,
        id: &str,
        tallies: &[(i64, Segment)],
    ) -> Result<Vec<(i64, Segment, u64)>, LedgerError> {
        let (leases, segments): (Vec<i64>, Vec<i64>) = tallies
            .iter()
            .map(|&(lease, segment)| (lease, to_row(segment)))
            .unzip();
        let (leases, segments) = (&leases, &segments);
        self.read(|mut tx| async move {
            sqlx::query_as::<_, (i64, i64, i64)>(
                "-- measure_not_logged_once
                 WITH told AS (SELECT DISTINCT * FROM unnest($2::bigint[], $3::bigint[]) AS t (lease, segment)),
                 found AS (SELECT t.lease, t.segment,
                                  (SELECT count(*) FROM results r
                                   WHERE r.campaign = $1 AND r.segment = t.segment AND r.lease = t.lease)
                                  * (SELECT count(*) FROM accepted a
                                     WHERE a.campaign = $1 AND a.segment = t.segment) AS times
                           FROM told t)
                 SELECT lease, segment, times FROM found WHERE times <> 1 ORDER BY segment, lease",
            )
            .bind(id)
            .bind(leases)
            .bind(segments)
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .map(|(lease, segment, times)| Ok((lease, from_row(segment)?, from_row(times)?)))
            .collect::<Result<Vec<_>, Failure>>()
        })
        .await
    }
}
