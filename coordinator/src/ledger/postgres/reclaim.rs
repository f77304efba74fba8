//! Taking leases back from workers that do not end them.

use std::collections::HashSet;

use sqlx::PgConnection;

use super::audit_log::{Deed, write_deed};
use super::lease_end::give_back;
use super::{Memo, PostgresLedger, campaign_rows, note, noted, now, prefix};
use crate::ledger::rows::{Failure, from_row};
use crate::ledger::{LedgerError, Reclaim, Reclaimed};

impl PostgresLedger {
    /// Ends leases by an operator's word, through the audit log. What they still lend waits for the next claim, and
    /// no loss is counted: whether the worker died over a segment is not known. Returns `None` if there is no such
    /// worker or lease.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn reclaim(
        &self,
        what: &Reclaim,
        actor: &str,
    ) -> Result<Option<Reclaimed>, LedgerError> {
        let memo: &Memo<Reclaimed> = &Memo::default();
        self.write(|mut tx, again| async move {
            let Some(held) = held(&mut tx, what).await? else {
                return Ok((tx, None));
            };
            let mut all = Reclaimed::default();
            for campaign in held {
                let one = take_back(&mut tx, &campaign, what, actor).await?;
                all.leases += one.leases;
                all.segments += one.segments;
            }
            // An earlier attempt of the same operation may have done it.
            if let Some(before) = noted(memo).filter(|_| again && all.leases == 0) {
                return Ok((tx, Some(before)));
            }
            note(memo, all);
            Ok((tx, Some(all)))
        })
        .await
    }
}

/// The campaigns of the leases that are meant and go on, in the order in which campaigns are locked; nothing if
/// what is named is unknown.
async fn held(conn: &mut PgConnection, what: &Reclaim) -> Result<Option<Vec<String>>, Failure> {
    let (worker, lease) = sides(what);
    let known = sqlx::query_scalar::<_, bool>(
        "-- reclaim_known
         SELECT EXISTS (SELECT 1 FROM workers WHERE id = $1)
             OR EXISTS (SELECT 1 FROM leases WHERE sequence = $2)",
    )
    .bind(worker)
    .bind(lease)
    .fetch_one(&mut *conn)
    .await?;
    if !known {
        return Ok(None);
    }
    let campaigns = sqlx::query_scalar::<_, String>(
        "-- reclaim_campaigns
         SELECT DISTINCT campaign FROM leases
         WHERE (worker = $1 OR sequence = $2) AND ended_at IS NULL ORDER BY campaign",
    )
    .bind(worker)
    .bind(lease)
    .fetch_all(conn)
    .await?;
    Ok(Some(campaigns))
}

const fn sides(what: &Reclaim) -> (Option<&String>, Option<i64>) {
    match what {
        Reclaim::Worker(worker) => (Some(worker), None),
        Reclaim::Lease(lease) => (None, Some(*lease)),
    }
}

async fn take_back(
    conn: &mut PgConnection,
    campaign: &str,
    what: &Reclaim,
    actor: &str,
) -> Result<Reclaimed, Failure> {
    campaign_rows::lock_any(conn, campaign).await?;
    let at = now(conn).await?;
    let (worker, lease) = sides(what);
    let ended = sqlx::query_as::<_, (i64, String)>(
        "-- leases_reclaim
         UPDATE leases SET ended_at = $4, ending = 'ended'
         WHERE (worker = $1 OR sequence = $2) AND campaign = $3 AND ended_at IS NULL
         RETURNING sequence, worker",
    )
    .bind(worker)
    .bind(lease)
    .bind(campaign)
    .bind(at)
    .fetch_all(&mut *conn)
    .await?;
    let leases: HashSet<i64> = ended.iter().map(|&(lease, _)| lease).collect();
    let returned = give_back(conn, &leases, "returned", at).await?;
    for (lease, worker) in &ended {
        let segments = returned.get(lease).copied().unwrap_or(0);
        let deed = Deed {
            at,
            campaign: Some(campaign),
            actor,
            action: "reclaim",
            note: &format!("lease {lease} of worker {worker}, which lent {segments} segments"),
        };
        write_deed(conn, deed).await?;
    }
    if !ended.is_empty() {
        prefix::bump_revision(conn, campaign, 1).await?;
    }
    Ok(Reclaimed {
        leases: from_row(i64::try_from(ended.len()).unwrap_or(i64::MAX))?,
        segments: returned.values().sum(),
    })
}
