//! Deadlines that lie further off than a lease holds: the database's clock ran backwards since they were written.

use std::time::Duration;

use sqlx::PgConnection;

use super::{PostgresLedger, campaign_rows, now};
use crate::leasing::{Millis, SKEW};
use crate::ledger::LedgerError;
use crate::ledger::rows::{Failure, from_row, millis};

/// Moves such deadlines of a campaign's leases to now, so that they have passed. A worker that lives has them again
/// with its next heartbeat, unless its segments were lent to others meanwhile. Returns how many leases it is.
///
/// Of leases that hold longer by another coordinator's word nothing changes before that time is over, too.
pub(super) async fn pull_back(
    conn: &mut PgConnection,
    campaign: &str,
    at: Millis,
    hold: Duration,
) -> Result<u64, Failure> {
    let pulled = sqlx::query(
        "-- leases_pull_back
         UPDATE leases SET deadline = $2
         WHERE campaign = $1 AND ended_at IS NULL AND deadline > $2 + $3 + $4
           AND deadline > $2 + coalesce(hold, $3) + $4",
    )
    .bind(campaign)
    .bind(at)
    .bind(millis(hold))
    .bind(SKEW)
    .execute(conn)
    .await?;
    Ok(pulled.rows_affected())
}

impl PostgresLedger {
    /// Returns the database's clock, and how many leases have a deadline that lies further off than they hold.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn clock(&self, hold: Duration) -> Result<(Millis, u64), LedgerError> {
        self.read(|mut tx| async move {
            let at = now(&mut tx).await?;
            let misdated = sqlx::query_scalar::<_, i64>(
                "-- clock_misdated
                 SELECT count(*) FROM campaigns c, LATERAL (
                     SELECT 1 FROM leases l
                     WHERE l.campaign = c.id AND l.ended_at IS NULL AND l.deadline > $1 + $2 + $3
                       AND l.deadline > $1 + coalesce(l.hold, $2) + $3) AS misdated",
            )
            .bind(at)
            .bind(millis(hold))
            .bind(SKEW)
            .fetch_one(&mut *tx)
            .await?;
            Ok((at, from_row(misdated)?))
        })
        .await
    }

    /// Expires the leases whose deadline lies further off than they hold. Returns how many it is.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn expire_misdated(&self, hold: Duration) -> Result<u64, LedgerError> {
        let mut expired = 0;
        let campaigns = self.read(|mut tx| async move {
            let campaigns = sqlx::query_scalar::<_, String>(
                "-- clock_campaigns
                 SELECT id FROM campaigns ORDER BY id",
            );
            Ok(campaigns.fetch_all(&mut *tx).await?)
        });
        for campaign in &campaigns.await? {
            expired += self
                .write(|mut tx, _| async move {
                    // Whatever changes several leases of a campaign locks its row first.
                    campaign_rows::lock_any(&mut tx, campaign).await?;
                    let at = now(&mut tx).await?;
                    let pulled = pull_back(&mut tx, campaign, at, hold).await?;
                    Ok((tx, pulled))
                })
                .await?;
        }
        Ok(expired)
    }
}
