//! Workers: who joined, when they were heard, what became of their work.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::gather::Answer;
use super::operator::{Deed, write_deed};
use super::{PostgresLedger, now};
use crate::leasing::Millis;
use crate::ledger::rows::{Failure, from_row, millis, to_row};
use crate::ledger::{
    AskingWorker, Heartbeat, LedgerError, NewWorker, Token, WorkerRecord, WorkerStanding,
};

/// A worker that says that it is alive.
#[derive(Clone, Debug)]
pub(super) struct Beat {
    token: Token,
    worker: String,
}

/// As [`Row`], and how many leases it holds.
type AskingRow = (
    String,
    String,
    bool,
    String,
    Option<i64>,
    Option<i64>,
    i64,
    bool,
    i64,
);

type Row = (
    String,
    String,
    bool,
    String,
    Option<i64>,
    Option<i64>,
    i64,
    bool,
);

fn record(row: Row) -> Result<WorkerRecord, Failure> {
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

    /// Notes that an owner's worker was heard, as it asks for work, and what it told of itself. Returns what is
    /// known of it, if there is one of this id, and how many leases it holds whose deadline has not passed. Of
    /// another owner's worker nothing is noted.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn asking_worker(
        &self,
        asking: AskingWorker,
    ) -> Result<Option<(WorkerRecord, u64)>, LedgerError> {
        let all = &self.gathered.asking;
        self.together(all, "", asking, 1, |ledger, _, asking| async move {
            ledger.asking_workers(&asking).await
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

    async fn asking_workers(
        &self,
        asking: &[AskingWorker],
    ) -> Result<Vec<Answer<Option<(WorkerRecord, u64)>>>, LedgerError> {
        let ids: &Vec<&str> = &asking.iter().map(|one| one.id.as_str()).collect();
        let found = self.write(|mut tx, _| async move {
            let at = now(&mut tx).await?;
            sqlx::query(
                "-- workers_asking
                 UPDATE workers SET seen_at = greatest(seen_at, $5),
                                    threads = t.threads, speed = coalesce(t.speed, workers.speed)
                 FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
                      AS t (id, owner, threads, speed)
                 WHERE workers.id = t.id AND workers.owner = t.owner AND workers.drained_at IS NULL",
            )
            .bind(ids)
            .bind(asking.iter().map(|one| one.owner.as_str()).collect::<Vec<_>>())
            .bind(asking.iter().map(|one| i64::from(one.threads)).collect::<Vec<_>>())
            .bind(asking.iter().map(|one| one.speed.map(to_row)).collect::<Vec<_>>())
            .bind(at)
            .execute(&mut *tx)
            .await?;
            let rows = sqlx::query_as::<_, AskingRow>(
                "-- workers_of_asking
                 SELECT id, owner, operator, build, threads, speed, $2 - seen_at,
                        drained_at IS NOT NULL,
                        (SELECT count(*) FILTER (WHERE l.deadline > $2) FROM leases l
                         WHERE l.worker = w.id AND l.ended_at IS NULL)
                 FROM workers w WHERE id = ANY ($1)",
            )
            .bind(ids)
            .bind(at)
            .fetch_all(&mut *tx)
            .await?;
            let mut found = HashMap::new();
            for (id, owner, operator, build, threads, speed, silent, drained, held) in rows {
                let row = (id, owner, operator, build, threads, speed, silent, drained);
                let worker = record(row)?;
                found.insert(worker.id.clone(), (worker, from_row(held)?));
            }
            Ok((tx, found))
        });
        let found = found.await?;
        let answers = asking.iter().map(|one| Ok(found.get(&one.id).cloned()));
        Ok(answers.collect())
    }

    /// A worker says that it is alive and needs a lease: notes that it was heard, moves the deadline to `hold`
    /// from now, and tells how the lease stands.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn heartbeat(
        &self,
        token: Token,
        worker: &str,
        hold: Duration,
    ) -> Result<Heartbeat, LedgerError> {
        let beat = Beat {
            token,
            worker: worker.to_owned(),
        };
        let (beats, about) = (&self.gathered.beats, hold.as_millis().to_string());
        self.together(beats, &about, beat, 1, move |ledger, _, beats| async move {
            ledger.heartbeats(&beats, hold).await
        })
        .await
    }

    async fn heartbeats(
        &self,
        beats: &[Beat],
        hold: Duration,
    ) -> Result<Vec<Answer<Heartbeat>>, LedgerError> {
        let sequences: &Vec<i64> = &beats.iter().map(|beat| beat.token.sequence).collect();
        let found = self.write(|mut tx, _| async move {
            let at = now(&mut tx).await?;
            let drained: HashMap<String, bool> = sqlx::query_as::<_, (String, bool)>(
                "-- workers_heard
                 UPDATE workers SET seen_at = greatest(seen_at, $2) WHERE id = ANY ($1)
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
            let extended: HashSet<i64> = sqlx::query_scalar::<_, i64>(
                "-- leases_extend_all
                 UPDATE leases SET deadline = $3
                 WHERE sequence = ANY (ARRAY(
                     SELECT held.sequence
                     FROM unnest($1::bigint[], $2::bytea[]) AS told (sequence, secret),
                          LATERAL (SELECT l.sequence FROM leases l
                                   WHERE l.sequence = told.sequence AND l.secret = told.secret
                                   OFFSET 0) AS held))
                   AND ending IS NULL
                   AND NOT EXISTS (SELECT 1 FROM campaigns c
                                   WHERE c.id = leases.campaign AND c.state = 'cancelled')
                 RETURNING sequence",
            )
            .bind(sequences)
            .bind(
                beats
                    .iter()
                    .map(|beat| beat.token.secret.to_vec())
                    .collect::<Vec<_>>(),
            )
            .bind(at.saturating_add(millis(hold)))
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .collect();
            let cancelled: HashSet<i64> = if extended.len() == beats.len() {
                HashSet::new()
            } else {
                sqlx::query_scalar::<_, i64>(
                    "-- leases_cancelled
                     SELECT l.sequence FROM leases l JOIN campaigns c ON c.id = l.campaign
                     WHERE l.sequence = ANY ($1) AND c.state = 'cancelled'",
                )
                .bind(sequences)
                .fetch_all(&mut *tx)
                .await?
                .into_iter()
                .collect()
            };
            Ok((tx, (drained, extended, cancelled)))
        });
        let (drained, extended, cancelled) = found.await?;
        let standing = |beat: &Beat| {
            let sequence = beat.token.sequence;
            if cancelled.contains(&sequence) {
                Heartbeat::Cancelled
            } else if !extended.contains(&sequence) {
                Heartbeat::NotHeld
            } else if drained.get(&beat.worker).copied().unwrap_or(false) {
                Heartbeat::Drained
            } else {
                Heartbeat::Extended
            }
        };
        Ok(beats.iter().map(|beat| Ok(standing(beat))).collect())
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

/// Tallies are compared whole. As the keys of one are distinct and the counts of both have the same sum,
/// it is enough to look for an entry of one that the other lacks.
const STANDING: &str = "-- workers_standing
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
                            AND (d.closed_at IS NULL OR EXISTS (
                                SELECT 1 FROM accepted a JOIN results t ON t.id = a.result
                                WHERE a.campaign = r.campaign AND a.segment = r.segment
                                  AND t.samples = r.samples
                                  AND (t.digest <> r.digest
                                       OR EXISTS (SELECT cell, count FROM result_cells WHERE result = r.id
                                                  EXCEPT
                                                  SELECT cell, count FROM result_cells WHERE result = t.id)
                                       OR EXISTS (SELECT depth, count FROM result_depths WHERE result = r.id
                                                  EXCEPT
                                                  SELECT depth, count FROM result_depths
                                                  WHERE result = t.id))))))";
