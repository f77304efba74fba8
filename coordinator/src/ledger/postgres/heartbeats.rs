//! When workers were heard: as they ask for work, and as they say that they are alive.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::workers::record;
use super::{PostgresLedger, now};
use crate::ledger::rows::{self, from_row, millis, to_row};
use crate::ledger::{AskingWorker, Beat, Heartbeat, LedgerError, WorkerRecord};

/// As [`Row`](super::workers::Row), and how many leases it holds.
type AskingRow = (
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
);

impl PostgresLedger {
    /// Notes that workers asked for work, with their threads and speeds. Answers each with its record, if there is
    /// one of this id, and the number of its leases whose deadline has not passed. Notes nothing for a worker of
    /// another owner.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn asking_workers(
        &self,
        asking: &[AskingWorker],
    ) -> Result<Vec<Option<(WorkerRecord, u64)>>, LedgerError> {
        let ids: &Vec<&str> = &asking.iter().map(|one| one.id.as_str()).collect();
        let found =
            self.write(|mut tx, _| async move {
                let at = now(&mut tx).await?;
                let rows = sqlx::query_as::<_, AskingRow>(
                    "-- workers_of_asking
                 SELECT id, owner, operator, build, name, threads, speed, $2 - seen_at,
                        drained_at IS NOT NULL, left_at IS NOT NULL,
                        (SELECT count(*) FILTER (WHERE l.deadline > $2) FROM leases l
                         WHERE l.worker = w.id AND l.ended_at IS NULL)
                 FROM workers w WHERE id = ANY ($1)",
                )
                .bind(ids)
                .bind(at)
                .fetch_all(&mut *tx)
                .await?;
                let mut found = HashMap::new();
                for row in rows {
                    let (
                        id,
                        owner,
                        operator,
                        build,
                        name,
                        threads,
                        speed,
                        silent,
                        drained,
                        left,
                        held,
                    ) = row;
                    let row = (
                        id, owner, operator, build, name, threads, speed, silent, drained, left,
                    );
                    let worker = record(row)?;
                    found.insert(worker.id.clone(), (worker, from_row(held)?));
                }
                // An owner may be stored in another spelling: the owners are compared here.
                let own = asking.iter().filter(|one| {
                    let worker = found.get(&one.id).map(|(worker, _)| worker);
                    worker.is_some_and(|worker| worker.owner == one.owner && !worker.drained)
                });
                let own: Vec<&AskingWorker> = own.collect();
                // Not the greater of two moments: after the clock ran backwards the later one is wrong.
                sqlx::query(
                    "-- workers_asking
                 UPDATE workers SET seen_at = $4, left_at = NULL,
                                    threads = t.threads, speed = coalesce(t.speed, workers.speed)
                 FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS t (id, threads, speed)
                 WHERE workers.id = t.id",
                )
                .bind(own.iter().map(|one| one.id.as_str()).collect::<Vec<_>>())
                .bind(
                    own.iter()
                        .map(|one| i64::from(one.threads))
                        .collect::<Vec<_>>(),
                )
                .bind(
                    own.iter()
                        .map(|one| one.speed.map(to_row))
                        .collect::<Vec<_>>(),
                )
                .bind(at)
                .execute(&mut *tx)
                .await?;
                Ok((tx, found))
            });
        let found = found.await?;
        let answers = asking.iter().map(|one| found.get(&one.id).cloned());
        Ok(answers.collect())
    }

    /// Takes heartbeats: notes that the workers are alive, moves the deadlines of their leases to `hold` from now,
    /// and answers each with the state of its lease.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn heartbeat(
        &self,
        beats: &[Beat],
        hold: Duration,
    ) -> Result<Vec<Heartbeat>, LedgerError> {
        let sequences: &Vec<i64> = &beats.iter().map(|beat| beat.key.sequence).collect();
        let found = self.write(|mut tx, _| async move {
            let at = now(&mut tx).await?;
            let drained: HashMap<String, bool> = sqlx::query_as::<_, (String, bool)>(
                "-- workers_heard
                 UPDATE workers SET seen_at = $2 WHERE id = ANY ($1)
                 RETURNING id, drained_at IS NOT NULL",
            )
            .bind(
                beats
                    .iter()
                    .map(|beat| beat.worker.as_str())
                    .collect::<Vec<_>>(),
            )
            .bind(at)
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .collect();
            // A cancelled campaign's leases are extended no more.
            let extended = sqlx::query_as::<_, (i64, Vec<u8>)>(
                "-- leases_extend_all
                 UPDATE leases SET deadline = $3 + $4, hold = $4
                 WHERE sequence = ANY (ARRAY(
                     SELECT held.sequence
                     FROM unnest($1::bigint[], $2::bytea[]) AS told (sequence, secret),
                          LATERAL (SELECT l.sequence FROM leases l
                                   WHERE l.sequence = told.sequence AND l.secret = told.secret
                                   OFFSET 0) AS held))
                   AND ending IS NULL
                   AND NOT EXISTS (SELECT 1 FROM campaigns c
                                   WHERE c.id = leases.campaign AND c.state = 'cancelled')
                 RETURNING sequence, secret",
            )
            .bind(sequences)
            .bind(
                beats
                    .iter()
                    .map(|beat| beat.key.secret.to_vec())
                    .collect::<Vec<_>>(),
            )
            .bind(at)
            .bind(millis(hold))
            .fetch_all(&mut *tx)
            .await?;
            let extended = rows::lease_keys(extended)?;
            let cancelled = if extended.len() == beats.len() {
                HashSet::new()
            } else {
                let rows = sqlx::query_as::<_, (i64, Vec<u8>)>(
                    "-- leases_cancelled
                     SELECT l.sequence, l.secret FROM leases l JOIN campaigns c ON c.id = l.campaign
                     WHERE l.sequence = ANY ($1) AND c.state = 'cancelled'",
                )
                .bind(sequences)
                .fetch_all(&mut *tx)
                .await?;
                rows::lease_keys(rows)?
            };
            Ok((tx, (drained, extended, cancelled)))
        });
        let (drained, extended, cancelled) = found.await?;
        let standing = |beat: &Beat| {
            if cancelled.contains(&beat.key) {
                Heartbeat::Cancelled
            } else if !extended.contains(&beat.key) {
                Heartbeat::NotHeld
            } else if drained.get(&beat.worker).copied().unwrap_or(false) {
                Heartbeat::Drained
            } else {
                Heartbeat::Extended
            }
        };
        Ok(beats.iter().map(standing).collect())
    }
}
