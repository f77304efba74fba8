//! Ending leases.
//!
//! Leases and their loans are looked up by numbers, also by a planner that knows nothing of the tables yet: it
//! would rather go through all that are open (`ended_at IS NULL` and `closed_at IS NULL`, for which there are
//! indexes, say the same as `ending IS NULL` and `closing IS NULL`), or through all there are where many are
//! meant (of `ARRAY(SELECT ...)` it does not know how many that are).

use std::collections::{HashMap, HashSet};

use fail::fail_point;
use sqlx::PgConnection;

use super::{PostgresLedger, campaign_rows, now};
use crate::leasing::Millis;
use crate::ledger::LedgerError;
use crate::ledger::rows::{self, Failure, from_row};
use kazoe_proto::lease_key::LeaseKey;

impl PostgresLedger {
    /// Ends leases of a campaign in one transaction; their undelivered segments go back. Answers each key with
    /// the number of those segments.
    ///
    /// # Errors
    /// [`LedgerError::UnknownCampaign`]. For a key: [`LedgerError::NotHeld`] if its lease has ended, is of
    /// another campaign or is unknown.
    pub async fn end(
        &self,
        campaign: &str,
        keys: &[LeaseKey],
    ) -> Result<Vec<Result<u64, LedgerError>>, LedgerError> {
        self.write(|mut tx, again| async move {
            let returned = end(&mut tx, campaign, keys, again).await?;
            fail_point!("coordinator.end.written");
            Ok((tx, returned))
        })
        .await
    }

    /// Ends all leases of a worker that is known to be gone. Returns how many segments go back.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn forfeit(&self, worker: &str) -> Result<u64, LedgerError> {
        self.write(|mut tx, _| async move {
            let returned = forfeit(&mut tx, worker).await?;
            Ok((tx, returned))
        })
        .await
    }
}

/// Ends leases. `again` says that an earlier attempt may have ended them; its answers are repeated then.
async fn end(
    conn: &mut PgConnection,
    campaign: &str,
    keys: &[LeaseKey],
    again: bool,
) -> Result<Vec<Result<u64, LedgerError>>, Failure> {
    campaign_rows::lock_any(conn, campaign).await?;
    let at = now(conn).await?;
    let sequences: Vec<i64> = keys.iter().map(|key| key.sequence).collect();
    let secrets: Vec<Vec<u8>> = keys.iter().map(|key| key.secret.to_vec()).collect();
    let ended = sqlx::query_as::<_, (i64, Vec<u8>)>(
        "-- leases_end
         UPDATE leases SET ended_at = $4, ending = 'ended'
         WHERE sequence = ANY (ARRAY(
             SELECT held.sequence
             FROM unnest($2::bigint[], $3::bytea[]) AS told (sequence, secret),
                  LATERAL (SELECT l.sequence FROM leases l
                           WHERE l.sequence = told.sequence AND l.secret = told.secret
                             AND l.campaign = $1 OFFSET 0) AS held))
           AND ending IS NULL
         RETURNING sequence, secret",
    )
    .bind(campaign)
    .bind(sequences)
    .bind(secrets)
    .bind(at)
    .fetch_all(&mut *conn)
    .await?;
    let ended = rows::lease_keys(ended)?;
    let leases: HashSet<i64> = ended.iter().map(|key| key.sequence).collect();
    let returned = give_back(conn, &leases, "returned", at).await?;
    let mut answered = HashSet::new();
    let mut answers = Vec::with_capacity(keys.len());
    for &key in keys {
        answers.push(if ended.contains(&key) && answered.insert(key) {
            Ok(returned.get(&key.sequence).copied().unwrap_or(0))
        } else {
            let before = if again {
                find_ended(conn, key).await?
            } else {
                None
            };
            before.ok_or(LedgerError::NotHeld(key))
        });
    }
    Ok(answers)
}

/// How many segments a lease gave back that was ended before.
async fn find_ended(conn: &mut PgConnection, key: LeaseKey) -> Result<Option<u64>, Failure> {
    let returned = sqlx::query_scalar::<_, i64>(
        "-- end_find_returned
         SELECT (SELECT count(*) FROM loans WHERE lease = leases.sequence AND closing = 'returned')
         FROM leases WHERE sequence = $1 AND secret = $2 AND ending = 'ended'",
    )
    .bind(key.sequence)
    .bind(key.secret.to_vec())
    .fetch_optional(conn)
    .await?;
    returned.map(from_row).transpose()
}

/// Ends all leases of a worker. Sent again it finds none, and says so.
async fn forfeit(conn: &mut PgConnection, worker: &str) -> Result<u64, Failure> {
    let campaigns = sqlx::query_scalar::<_, String>(
        "-- forfeit_find_campaigns
         SELECT DISTINCT campaign FROM leases
         WHERE worker = $1 AND ended_at IS NULL ORDER BY campaign",
    )
    .bind(worker)
    .fetch_all(&mut *conn)
    .await?;
    let mut returned = 0;
    // Locks are taken in the order of the ids, by whoever needs several.
    for campaign in campaigns {
        campaign_rows::lock_any(conn, &campaign).await?;
        let at = now(conn).await?;
        let leases = sqlx::query_scalar::<_, i64>(
            "-- leases_forfeit
             UPDATE leases SET ended_at = $3, ending = 'forfeited'
             WHERE worker = $1 AND campaign = $2 AND ended_at IS NULL RETURNING sequence",
        )
        .bind(worker)
        .bind(&campaign)
        .bind(at)
        .fetch_all(&mut *conn)
        .await?;
        let leases: HashSet<i64> = leases.into_iter().collect();
        let given_back = give_back(conn, &leases, "forfeited", at).await?;
        returned += given_back.values().sum::<u64>();
    }
    Ok(returned)
}

/// Closes what leases still lend, and tells how many segments that is of each; those that were to be filled
/// wait for the next claim.
pub(super) async fn give_back(
    conn: &mut PgConnection,
    leases: &HashSet<i64>,
    closing: &str,
    at: Millis,
) -> Result<HashMap<i64, u64>, Failure> {
    let leases: Vec<i64> = leases.iter().copied().collect();
    let closed = sqlx::query_scalar::<_, i64>(
        "-- give_back
         WITH closed AS (
             UPDATE loans SET closed_at = $2, closing = $3
             WHERE lease = ANY (ARRAY(SELECT unnest($1::bigint[]))) AND closing IS NULL
             RETURNING lease, campaign, segment, purpose),
         waits AS (
             INSERT INTO waiting (campaign, segment, why)
             SELECT campaign, segment, 'returned' FROM closed WHERE purpose = 'fill')
         SELECT lease FROM closed",
    )
    .bind(leases)
    .bind(at)
    .bind(closing)
    .fetch_all(conn)
    .await?;
    let mut returned = HashMap::new();
    for lease in closed {
        *returned.entry(lease).or_default() += 1;
    }
    Ok(returned)
}
