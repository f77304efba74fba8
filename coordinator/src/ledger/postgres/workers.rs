//! Workers: who joined, and what became of their work.

use std::collections::HashSet;

use super::gather::Answer;
use super::operator::{Deed, write_deed};
use super::{PostgresLedger, now};
use crate::leasing::Millis;
use crate::ledger::disagreement::disagrees;
use crate::ledger::rows::{Failure, from_row};
use crate::ledger::{LedgerError, NewWorker, WorkerRecord, WorkerStanding};

/// Id, owner, operator, build, threads, speed, for how long it has been silent, whether it was told to leave.
pub(super) type Row = (
    String,
    String,
    bool,
    String,
    Option<i64>,
    Option<i64>,
    i64,
    bool,
);

pub(super) fn record(row: Row) -> Result<WorkerRecord, Failure> {
    let (id, owner, operator, build, threads, speed, silent, drained) = row;
    Ok(WorkerRecord {
        id,
        owner,
        operator,
        build,
        threads: threads.and_then(|threads| u32::try_from(threads).ok()),
        speed: speed.map(from_row).transpose()?,
        silent: silent.max(0),
        drained,
    })
}

impl PostgresLedger {
    /// Enters a worker under this id. Sent again it changes nothing; returns false if the id is another's.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn join_worker(&self, id: &str, new: &NewWorker) -> Result<bool, LedgerError> {
        let joiner = (id.to_owned(), new.clone());
        let joiners = &self.gathered.joiners;
        self.together(joiners, "", joiner, 1, |ledger, _, joiners| async move {
            ledger.join_workers(&joiners).await
        })
        .await
    }

    async fn join_workers(
        &self,
        joiners: &[(String, NewWorker)],
    ) -> Result<Vec<Answer<bool>>, LedgerError> {
        self.write(|mut tx, again| async move {
            let entered: HashSet<String> = sqlx::query_scalar::<_, String>(
                "-- workers_insert
                 INSERT INTO workers (id, owner, credential, operator, build, joined_at, seen_at)
                 SELECT t.id, t.owner, t.credential, t.operator, t.build, $6, $6
                 FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[])
                      AS t (id, owner, credential, operator, build)
                 ON CONFLICT DO NOTHING RETURNING id",
            )
            .bind(
                joiners
                    .iter()
                    .map(|(id, _)| id.as_str())
                    .collect::<Vec<_>>(),
            )
            .bind(
                joiners
                    .iter()
                    .map(|(_, new)| new.owner.as_str())
                    .collect::<Vec<_>>(),
            )
            .bind(
                joiners
                    .iter()
                    .map(|(_, new)| new.credential.as_deref())
                    .collect::<Vec<_>>(),
            )
            .bind(
                joiners
                    .iter()
                    .map(|(_, new)| new.operator)
                    .collect::<Vec<_>>(),
            )
            .bind(
                joiners
                    .iter()
                    .map(|(_, new)| new.build.as_str())
                    .collect::<Vec<_>>(),
            )
            .bind(now(&mut tx).await?)
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .collect();
            // Ids are drawn at random: one that an earlier attempt may have entered is ours. Two of one turn
            // with the same id are not both.
            let mut told = HashSet::new();
            let answers = joiners.iter().map(|(id, _)| {
                let first = told.insert(id.as_str());
                Ok(first && (entered.contains(id) || again))
            });
            let answers = answers.collect();
            Ok((tx, answers))
        })
        .await
    }

    /// One worker, if there is one of this id.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn worker(&self, id: &str) -> Result<Option<WorkerRecord>, LedgerError> {
        self.read(|mut tx| async move {
            let at = now(&mut tx).await?;
            sqlx::query_as::<_, Row>(
                "-- workers_find
                 SELECT id, owner, operator, build, threads, speed, $2 - seen_at,
                        drained_at IS NOT NULL
                 FROM workers WHERE id = $1",
            )
            .bind(id)
            .bind(at)
            .fetch_optional(&mut *tx)
            .await?
            .map(record)
            .transpose()
        })
        .await
    }

    /// How many leases of workers that joined with a credential go on.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn leases_under(&self, credential: &str) -> Result<u64, LedgerError> {
        self.read(|mut tx| async move {
            let leases = sqlx::query_scalar::<_, i64>(
                "-- workers_leases_under
                 SELECT count(*) FROM leases l JOIN workers w ON w.id = l.worker
                 WHERE w.credential = $1 AND l.ended_at IS NULL AND l.deadline > $2",
            )
            .bind(credential)
            .bind(now(&mut tx).await?)
            .fetch_one(&mut *tx)
            .await?;
            from_row(leases)
        })
        .await
    }

    /// Lends a worker nothing more. Returns false if there is none of this id.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn drain_worker(&self, id: &str, actor: &str) -> Result<bool, LedgerError> {
        self.write(|mut tx, _| async move {
            let at = now(&mut tx).await?;
            let known = sqlx::query_scalar::<_, bool>(
                "-- workers_lock
                 SELECT drained_at IS NOT NULL FROM workers WHERE id = $1 FOR UPDATE",
            )
            .bind(id)
            .fetch_optional(&mut *tx)
            .await?;
            if known != Some(false) {
                return Ok((tx, known.is_some()));
            }
            sqlx::query(
                "-- workers_drain
                 UPDATE workers SET drained_at = $2 WHERE id = $1",
            )
            .bind(id)
            .bind(at)
            .execute(&mut *tx)
            .await?;
            let deed = Deed {
                at,
                campaign: None,
                actor,
                action: "drain",
                note: &format!("worker {id}"),
            };
            write_deed(&mut tx, deed).await?;
            Ok((tx, true))
        })
        .await
    }

    /// The workers heard in the last day that hold nothing, each with its owner and for how many
    /// milliseconds it has been silent.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn present_workers(&self) -> Result<Vec<(String, String, Millis)>, LedgerError> {
        self.read(|mut tx| async move {
            let at = now(&mut tx).await?;
            let workers = sqlx::query_as::<_, (String, String, i64)>(
                "-- workers_present
                 SELECT id, owner, $1 - seen_at FROM workers w
                 WHERE seen_at > $1 - 86400000
                   AND NOT EXISTS (SELECT 1 FROM leases l
                                   WHERE l.worker = w.id AND l.ended_at IS NULL)",
            )
            .bind(at)
            .fetch_all(&mut *tx)
            .await?;
            Ok(workers)
        })
        .await
    }

    /// All workers that hold leases, were heard in the last day, or have a tally in the log; by id.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn workers(&self) -> Result<Vec<WorkerStanding>, LedgerError> {
        self.read(|mut tx| async move {
            let at = now(&mut tx).await?;
            let workers = sqlx::query_as::<_, Row>(
                "-- workers_list
                 SELECT id, owner, operator, build, threads, speed, $1 - seen_at,
                        drained_at IS NOT NULL
                 FROM workers w
                 WHERE seen_at > $1 - 86400000
                    OR EXISTS (SELECT 1 FROM leases l WHERE l.worker = w.id AND l.ended_at IS NULL)
                    OR EXISTS (SELECT 1 FROM results r WHERE r.worker = w.id)
                 ORDER BY id",
            )
            .bind(at)
            .fetch_all(&mut *tx)
            .await?;
            let mut standings = Vec::with_capacity(workers.len());
            for row in workers {
                let worker = record(row)?;
                let (leases, accepted, audited, disagreed) =
                    sqlx::query_as::<_, (i64, i64, i64, i64)>(STANDING)
                        .bind(&worker.id)
                        .fetch_one(&mut *tx)
                        .await?;
                standings.push(WorkerStanding {
                    worker,
                    leases: from_row(leases)?,
                    accepted: from_row(accepted)?,
                    audited: from_row(audited)?,
                    disagreed: from_row(disagreed)?,
                });
            }
            Ok(standings)
        })
        .await
    }
}

/// Of one worker: the leases that it holds, and what became of its tallies.
const STANDING: &str = concat!(
    "-- workers_standing
    SELECT (SELECT count(*) FROM leases WHERE worker = $1 AND ended_at IS NULL),
           (SELECT count(*) FROM results r JOIN accepted a ON a.result = r.id WHERE r.worker = $1),
           (SELECT count(*) FROM results r JOIN accepted a ON a.result = r.id
            WHERE r.worker = $1
              AND EXISTS (SELECT 1 FROM results o
                          WHERE o.campaign = r.campaign AND o.segment = r.segment
                            AND o.verdict = 'audit' AND (o.owner <> r.owner OR o.operator))),
           (SELECT count(*) FROM results r
            WHERE r.worker = $1 AND r.verdict <> 'stale'
              AND EXISTS (SELECT 1 FROM disputes d
                          WHERE d.campaign = r.campaign AND d.segment = r.segment
                            AND (d.closed_at IS NULL OR ",
    disagrees!(),
    ")))"
);
