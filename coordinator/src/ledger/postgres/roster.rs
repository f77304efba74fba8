//! Which workers there are, and what became of their work.

use kazoe_proto::name::stored_owner;

use super::workers::{Row, record};
use super::{PostgresLedger, now};
use crate::leasing::{Millis, SKEW, Sighting};
use crate::ledger::mismatch_sql::disagrees;
use crate::ledger::rows::{Failure, from_row};
use crate::ledger::{Holder, LedgerError, PresentWorker, Roll, WorkerShare, WorkerStanding};

/// As [`Row`], then leases, accepted, audited, disagreed, disputed, and how many workers are listed in all.
type StandingRow = (
    String,
    String,
    bool,
    String,
    Option<String>,
    Option<i64>,
    Option<i64>,
    i64,
    bool,
    bool,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
);

fn standing(row: StandingRow) -> Result<WorkerStanding, Failure> {
    let (id, owner, operator, build, name, threads, speed, silent, drained, left, ..) = row;
    let (.., leases, accepted, audited, disagreed, disputed, _) = row;
    let worker: Row = (
        id, owner, operator, build, name, threads, speed, silent, drained, left,
    );
    Ok(WorkerStanding {
        worker: record(worker)?,
        leases: from_row(leases)?,
        accepted: from_row(accepted)?,
        audited: from_row(audited)?,
        disagreed: from_row(disagreed)?,
        disputed: from_row(disputed)?,
    })
}

/// Each sort of tally is counted for all listed workers at once, so that the query costs what it finds and no
/// query a worker. A tally disagrees by a ruling alone: as long as a dispute is open, who is right is not known.
const ROSTER: &str = concat!(
    "-- workers_list
    WITH held AS MATERIALIZED (
        SELECT worker, count(*) AS leases FROM leases
        WHERE ended_at IS NULL AND deadline > $1 GROUP BY worker),
    listed AS MATERIALIZED (
        SELECT w.*, coalesce(held.leases, 0) AS leases, count(*) OVER () AS listed,
               CASE WHEN w.seen_at > $1 - 3600000 THEN 0 ELSE $1 - w.seen_at END AS long_ago
        FROM workers w LEFT JOIN held ON held.worker = w.id
        WHERE held.leases > 0
           OR (w.left_at IS NULL AND w.seen_at > $1 - $2 AND w.seen_at <= $1 + $3)
           OR ($4 AND (w.seen_at > $1 - 86400000
                       OR w.id IN (SELECT worker FROM leases)
                       OR w.id IN (SELECT worker FROM results)))
        ORDER BY long_ago, w.id LIMIT $5),
    accepted_of AS (
        SELECT r.worker, count(*) AS tallies
        FROM listed JOIN results r ON r.worker = listed.id JOIN accepted a ON a.result = r.id
        GROUP BY r.worker),
    audited_of AS (
        SELECT r.worker, count(DISTINCT r.id) AS tallies
        FROM results o
        JOIN accepted a ON a.campaign = o.campaign AND a.segment = o.segment
        JOIN results r ON r.id = a.result
        WHERE o.verdict = 'audit' AND (o.owner <> r.owner OR o.operator)
        GROUP BY r.worker),
    open AS (
        SELECT campaign, segment FROM disputes WHERE closed_at IS NULL),
    disputed_of AS (
        SELECT r.worker, count(*) AS tallies
        FROM open JOIN results r ON r.campaign = open.campaign AND r.segment = open.segment
        WHERE r.verdict <> 'stale' GROUP BY r.worker),
    ruled AS (
        SELECT campaign, segment FROM disputes WHERE closed_at IS NOT NULL
        EXCEPT SELECT campaign, segment FROM open),
    disagreed_of AS (
        SELECT r.worker, count(*) AS tallies
        FROM ruled JOIN results r ON r.campaign = ruled.campaign AND r.segment = ruled.segment
        WHERE r.verdict <> 'stale' AND ",
    disagrees!(),
    "
        GROUP BY r.worker)
    SELECT w.id, w.owner, w.operator, w.build, w.name, w.threads, w.speed, $1 - w.seen_at AS silent,
           w.drained_at IS NOT NULL AS drained, w.left_at IS NOT NULL AS gone, w.leases,
           coalesce(accepted_of.tallies, 0) AS accepted, coalesce(audited_of.tallies, 0) AS audited,
           coalesce(disagreed_of.tallies, 0) AS disagreed,
           coalesce(disputed_of.tallies, 0) AS disputed, w.listed
    FROM listed w
    LEFT JOIN accepted_of ON accepted_of.worker = w.id
    LEFT JOIN audited_of ON audited_of.worker = w.id
    LEFT JOIN disagreed_of ON disagreed_of.worker = w.id
    LEFT JOIN disputed_of ON disputed_of.worker = w.id
    ORDER BY w.long_ago, w.id"
);

impl PostgresLedger {
    /// Returns at most `limit` workers, and how many more there are. Those heard within the last hour come first,
    /// by id, then the others, the last heard first. A worker that holds no lease is here as long as it was heard
    /// within `patience` and did not say that it left.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn workers(
        &self,
        listed: Roll,
        patience: Millis,
        limit: u32,
    ) -> Result<(Vec<WorkerStanding>, u64), LedgerError> {
        self.read(|mut tx| async move {
            let rows = sqlx::query_as::<_, StandingRow>(ROSTER)
                .bind(now(&mut tx).await?)
                .bind(patience)
                .bind(SKEW)
                .bind(listed == Roll::All)
                .bind(i64::from(limit))
                .fetch_all(&mut *tx)
                .await?;
            let all: u64 = rows.first().map_or(Ok(0), |row| from_row(row.15))?;
            let standings = rows.into_iter().map(standing);
            let standings = standings.collect::<Result<Vec<_>, Failure>>()?;
            let left_out = all.saturating_sub(standings.len() as u64);
            Ok((standings, left_out))
        })
        .await
    }

    /// Returns the workers that were heard within a day.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn present_workers(&self) -> Result<Vec<PresentWorker>, LedgerError> {
        self.read(|mut tx| async move {
            let rows = sqlx::query_as::<_, (String, Option<String>, String, i64, bool, bool, i64)>(
                "-- workers_present
                 SELECT w.id, w.name, w.owner, $1 - w.seen_at, w.drained_at IS NOT NULL,
                        w.left_at IS NOT NULL,
                        (SELECT count(*) FROM leases l
                         WHERE l.worker = w.id AND l.ended_at IS NULL AND l.deadline > $1)
                 FROM workers w WHERE w.seen_at > $1 - 86400000",
            )
            .bind(now(&mut tx).await?)
            .fetch_all(&mut *tx)
            .await?;
            let workers =
                rows.into_iter()
                    .map(|(worker, name, owner, silent, drained, left, leases)| {
                        Ok(PresentWorker {
                            worker,
                            name,
                            owner: stored_owner(owner),
                            seen: Sighting {
                                leases: from_row(leases)?,
                                silent,
                                drained,
                                left,
                            },
                        })
                    });
            workers.collect::<Result<_, Failure>>()
        })
        .await
    }

    /// Returns how many workers hold leases of a campaign whose deadline has not passed, and the first `limit` of
    /// them by id.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn holders(&self, id: &str, limit: u32) -> Result<(u32, Vec<Holder>), LedgerError> {
        self.read(|mut tx| async move {
            let rows = sqlx::query_as::<_, (String, Option<String>, i64)>(
                "-- schedule_holders
                 SELECT held.worker, w.name, held.holders
                 FROM (SELECT l.worker, count(*) OVER () AS holders FROM leases l
                       WHERE l.campaign = $1 AND l.ended_at IS NULL AND l.deadline > $2
                       GROUP BY l.worker ORDER BY l.worker LIMIT $3) held
                 LEFT JOIN workers w ON w.id = held.worker ORDER BY held.worker",
            )
            .bind(id)
            .bind(now(&mut tx).await?)
            .bind(i64::from(limit))
            .fetch_all(&mut *tx)
            .await?;
            let all = rows.first().map_or(0, |&(_, _, all)| all);
            let holders = rows
                .into_iter()
                .map(|(worker, name, _)| Holder { worker, name });
            Ok((u32::try_from(all).unwrap_or(u32::MAX), holders.collect()))
        })
        .await
    }

    /// Returns what each worker contributed to the accepted segments of a campaign, those with the most segments
    /// first, at most `limit` of them; and how many more there are.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn worker_shares(
        &self,
        id: &str,
        limit: u32,
    ) -> Result<(Vec<WorkerShare>, u64), LedgerError> {
        self.read(|mut tx| async move {
            let rows = sqlx::query_as::<_, (String, Option<String>, String, i64, i64)>(
                "-- workers_shares
                 SELECT share.worker, w.name, share.owner, share.segments, share.workers
                 FROM (SELECT r.worker, r.owner, count(*) AS segments, count(*) OVER () AS workers
                       FROM accepted a JOIN results r ON r.id = a.result
                       WHERE a.campaign = $1 GROUP BY r.worker, r.owner
                       ORDER BY segments DESC, r.worker, r.owner LIMIT $2) share
                 LEFT JOIN workers w ON w.id = share.worker
                 ORDER BY share.segments DESC, share.worker, share.owner",
            )
            .bind(id)
            .bind(i64::from(limit))
            .fetch_all(&mut *tx)
            .await?;
            let all: u64 = rows.first().map_or(Ok(0), |row| from_row(row.4))?;
            let left_out = all.saturating_sub(rows.len() as u64);
            let shares = rows.into_iter().map(|(worker, name, owner, segments, _)| {
                Ok(WorkerShare {
                    worker,
                    name,
                    owner: stored_owner(owner),
                    segments: from_row(segments)?,
                })
            });
            Ok((shares.collect::<Result<_, Failure>>()?, left_out))
        })
        .await
    }
}
