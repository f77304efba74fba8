//! Workers: who joined, who left, and who is to leave.

use std::collections::HashSet;

use kazoe_proto::name::stored_owner;

use super::audit_log::{Deed, write_deed};
use super::{PostgresLedger, now};
use crate::leasing::{Millis, Presence, Sighting, presence};
use crate::ledger::rows::{Failure, from_row};
use crate::ledger::{Drained, LedgerError, NewWorker, WorkerRecord};

/// Id, owner, operator, build, name, threads, speed, for how long it has been silent, whether it was told to
/// leave, whether it said that it left.
pub(super) type Row = (
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
);

pub(super) fn record(row: Row) -> Result<WorkerRecord, Failure> {
    let (id, owner, operator, build, name, threads, speed, silent, drained, left) = row;
    Ok(WorkerRecord {
        id,
        owner: stored_owner(owner),
        operator,
        build,
        name,
        threads: threads.and_then(|threads| u32::try_from(threads).ok()),
        speed: speed.map(from_row).transpose()?,
        silent,
        drained,
        left,
    })
}

impl PostgresLedger {
    /// Inserts workers under their ids. A repeated request changes nothing; answers false if the id is another's.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn join_workers(
        &self,
        joiners: &[(String, NewWorker)],
    ) -> Result<Vec<bool>, LedgerError> {
        self.write(|mut tx, again| async move {
            let entered: HashSet<String> = sqlx::query_scalar::<_, String>(
                "-- workers_insert
                 INSERT INTO workers (id, owner, credential, operator, build, joined_at, seen_at, name)
                 SELECT t.id, t.owner, t.credential, t.operator, t.build, $6, $6, t.name
                 FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[], $7::text[])
                      AS t (id, owner, credential, operator, build, name)
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
            .bind(
                joiners
                    .iter()
                    .map(|(_, new)| new.name.as_deref())
                    .collect::<Vec<_>>(),
            )
            .fetch_all(&mut *tx)
            .await?
            .into_iter()
            .collect();
            // Ids are drawn at random: one that an earlier attempt may have entered is ours. Two of one turn
            // with the same id are not both.
            let mut told = HashSet::new();
            let answers = joiners.iter().map(|(id, _)| {
                let first = told.insert(id.as_str());
                first && (entered.contains(id) || again)
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
                 SELECT id, owner, operator, build, name, threads, speed, $2 - seen_at,
                        drained_at IS NOT NULL, left_at IS NOT NULL
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

    /// Notes that workers left, each by its id and owner. Notes nothing for a worker of another owner.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn workers_left(&self, left: &[(String, String)]) -> Result<(), LedgerError> {
        let ids: Vec<&str> = left.iter().map(|(id, _)| id.as_str()).collect();
        let ids = &ids;
        self.write(|mut tx, _| async move {
            let owners = sqlx::query_as::<_, (String, String)>(
                "-- workers_leaving
                 SELECT id, owner FROM workers WHERE id = ANY ($1)",
            )
            .bind(ids)
            .fetch_all(&mut *tx)
            .await?;
            // An owner may be stored in another spelling: the owners are compared here.
            let found = owners.into_iter();
            let found: HashSet<_> = found.map(|(id, owner)| (id, stored_owner(owner))).collect();
            let own = left.iter().filter(|one| found.contains(one));
            sqlx::query(
                "-- workers_left
                 UPDATE workers SET left_at = $2, seen_at = $2 WHERE id = ANY ($1)",
            )
            .bind(own.map(|(id, _)| id.as_str()).collect::<Vec<_>>())
            .bind(now(&mut tx).await?)
            .execute(&mut *tx)
            .await?;
            Ok((tx, ()))
        })
        .await
    }

    /// Lends a worker nothing more, where one without a lease is gone after `patience`.
    ///
    /// # Errors
    /// [`LedgerError::Storage`].
    pub async fn drain_worker(
        &self,
        id: &str,
        actor: &str,
        patience: Millis,
    ) -> Result<Drained, LedgerError> {
        self.write(|mut tx, _| async move {
            let at = now(&mut tx).await?;
            let known = sqlx::query_as::<_, (bool, bool, i64, i64)>(
                "-- workers_lock
                 SELECT drained_at IS NOT NULL, left_at IS NOT NULL, $2 - seen_at,
                        (SELECT count(*) FROM leases l
                         WHERE l.worker = w.id AND l.ended_at IS NULL AND l.deadline > $2)
                 FROM workers w WHERE id = $1 FOR UPDATE OF w",
            )
            .bind(id)
            .bind(at)
            .fetch_optional(&mut *tx)
            .await?;
            let Some((drained, left, silent, leases)) = known else {
                return Ok((tx, Drained::Unknown));
            };
            let seen = Sighting {
                leases: from_row(leases)?,
                silent,
                drained,
                left,
            };
            let answer = match presence(seen, patience) {
                Presence::Gone => Drained::Gone,
                _ => Drained::Told,
            };
            if drained {
                return Ok((tx, answer));
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
            Ok((tx, answer))
        })
        .await
    }
}
