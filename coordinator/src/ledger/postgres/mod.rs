//! The ledger on PostgreSQL: any number of coordinators on one database.
//!
//! Whatever writes to a campaign locks its row first (`FOR NO KEY UPDATE`, decision 8 of the design),
//! so that its decision and the rows it was made from belong together; `READ COMMITTED` is enough then,
//! and two operations on one campaign cannot deadlock. Only [`heartbeat`](PostgresLedger::heartbeat), which is
//! sent often and touches one row of each lease, does without. Reading sees one moment (`REPEATABLE READ`).
//!
//! An operation that met a deadlock, a failed serialization or a lost connection is sent again, a bounded
//! number of times. If the connection was lost it is unknown whether it was committed; each operation
//! finds out what its earlier attempt left, and does not happen twice.

mod address;
mod apply_outcome;
mod audit_log;
mod campaign_rows;
mod claim;
mod claimable;
mod clock;
mod condition;
mod connect;
mod credentials;
mod deliver;
mod fitness;
mod heartbeats;
mod invariants;
mod lease_end;
mod losses;
mod migrate;
mod operator;
mod owners;
mod pending_audits;
mod prefix;
mod purge;
mod read;
mod reclaim;
mod results;
mod roster;
mod schedule;
mod sessions;
mod shared;
mod sqlstate;
mod submit;
mod tx_retry;
mod workers;

use std::future::Future;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::{Connection, PgConnection, PgPool, Postgres, Transaction};

use self::audit_log::AuditLine;
use self::condition::{Condition, Site};
use self::tx_retry::{Fate, Tries};
use super::rows::Failure;
use crate::leasing::Millis;
use crate::ledger::{LedgerError, StorageError, StorageFault};

pub(crate) use condition::Probe;
pub(crate) use connect::CONNECTIONS;

pub use connect::ConnectError;

/// How long one attempt at an operation may take: several statements, each bounded by the server. Only a
/// server that is gone without a word, or a network, takes longer.
const ATTEMPT: Duration = Duration::from_secs(120);

type Tx = Transaction<'static, Postgres>;

/// A ledger in a PostgreSQL database. A clone is another handle on the same one.
#[derive(Clone, Debug)]
pub struct PostgresLedger {
    pool: PgPool,
    condition: Arc<Condition>,
    attempt: Duration,
}

impl PostgresLedger {
    /// Brings the schema of a database up to this build's, as the role that owns it (`kazoe_owner`).
    /// Any number of processes may do so at once: an advisory lock lets one at a time. The lock belongs
    /// to a session, so the connection must be a direct one, not one through a pooler.
    ///
    /// # Errors
    /// If the database cannot be reached, is too old or not durable, or was written by a later build.
    /// Its schema is as it was then.
    pub async fn migrate(owner_url: &str) -> Result<(), ConnectError> {
        connect::migrate(owner_url).await
    }

    /// Connects to a database that has the schema, as a role that may only read and add rows
    /// (`kazoe_runtime`).
    ///
    /// # Errors
    /// If the database cannot be reached, takes no writes, loses commits when the machine fails (`fsync`
    /// is off, or the address turns `synchronous_commit` off), has another schema than this build's, or if
    /// the role could change what must stay.
    pub async fn connect(runtime_url: &str) -> Result<Self, ConnectError> {
        let (pool, condition) = connect::runtime(runtime_url).await?;
        Ok(PostgresLedger {
            pool,
            condition,
            attempt: ATTEMPT,
        })
    }

    /// Connects as a coordinator does, and opens all connections that it needs.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and if the server gives fewer connections.
    pub async fn connect_to_serve(runtime_url: &str) -> Result<Self, ConnectError> {
        let ledger = Self::connect(runtime_url).await;
        let ledger = ledger.map_err(connect::for_all_connections)?;
        connect::fill(&ledger.pool, &ledger.condition).await?;
        Ok(ledger)
    }

    /// With another bound on how long one attempt at an operation may take (two minutes): then its
    /// connection is given up, and the operation sent again on another.
    #[must_use]
    pub const fn giving_up_after(mut self, attempt: Duration) -> Self {
        self.attempt = attempt;
        self
    }

    /// Ends all connections; dropping does as much, later.
    pub async fn close(self) {
        self.pool.close().await;
    }

    /// The condition of the database.
    pub(crate) fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Looks at the database, and returns why it cannot serve, if so.
    pub(crate) async fn look(&self, probe: &mut Probe) -> Option<StorageError> {
        if !self.condition.is_in_doubt() && self.condition.look(probe, self.live()).await.is_none()
        {
            return None;
        }
        // Not before the lost connections are counted out.
        self.drop_dead_connections().await;
        self.condition.look(probe, self.live()).await
    }

    /// Removes the idle connections from the pool that are lost; it would find them one by one, and take
    /// them for living until then.
    async fn drop_dead_connections(&self) {
        let idle: Vec<_> = std::iter::from_fn(|| self.pool.try_acquire()).collect();
        let tests = idle.into_iter().map(|mut conn| {
            tokio::spawn(async move {
                if sessions::soon(conn.ping()).await.is_err() {
                    // The server may be gone without a word.
                    let _ = sessions::soon(conn.close()).await;
                }
            })
        });
        // All are tested at once.
        for test in tests.collect::<Vec<_>>() {
            let _ = test.await;
        }
    }

    /// Connections that live.
    fn live(&self) -> u32 {
        let idle = u32::try_from(self.pool.num_idle()).unwrap_or(u32::MAX);
        self.condition.in_use().saturating_add(idle)
    }

    /// Runs an operation in a transaction and commits it, again if need be. The work is told whether an
    /// earlier attempt may have been committed.
    #[track_caller]
    fn write<T, F>(
        &self,
        work: impl Fn(Tx, bool) -> F + Send + Sync,
    ) -> impl Future<Output = Result<T, LedgerError>> + Send
    where
        T: Send,
        F: Future<Output = Result<(Tx, T), Failure>> + Send,
    {
        let site = Location::caller();
        async move {
            let mut tries = Tries::new();
            loop {
                if let Some(lossy) = self.condition.not_durable() {
                    return Err(lossy.into());
                }
                let attempt = async {
                    let tx = self.pool.begin().await?;
                    let _in_use = self.condition.using();
                    let (tx, answer) = work(tx, tries.maybe_committed()).await?;
                    tx.commit().await?;
                    Ok(answer)
                };
                let failure = match self.bounded(attempt).await {
                    Ok(answer) => {
                        self.condition.answered(site);
                        return Ok(answer);
                    }
                    Err(failure) => failure,
                };
                self.pause_or_fail(&mut tries, failure, site).await?;
            }
        }
    }

    /// An attempt that is given up when a server goes silent over it. Its connection is dropped then.
    async fn bounded<T>(
        &self,
        attempt: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout(self.attempt, attempt).await {
            Ok(answer) => answer,
            Err(_) => Err(sessions::silence().into()),
        }
    }

    /// An act of the operator, which leaves a line in the audit log if it changes anything; whether it did.
    async fn act<F>(
        &self,
        id: &str,
        work: impl Fn(Tx) -> F + Send + Sync,
    ) -> Result<bool, LedgerError>
    where
        F: Future<Output = Result<(Tx, Option<AuditLine>), Failure>> + Send,
    {
        let (memo, work) = (&Memo::default(), &work);
        self.write(|mut tx, again| async move {
            if audit_log::is_written(&mut tx, id, noted(memo).filter(|_| again)).await? {
                return Ok((tx, true));
            }
            let (tx, line) = work(tx).await?;
            line.inspect(|&line| note(memo, line));
            Ok((tx, line.is_some()))
        })
        .await
    }

    /// Runs a question in a transaction that sees one moment, again if need be.
    #[track_caller]
    fn read<T, F>(
        &self,
        work: impl Fn(Tx) -> F + Send + Sync,
    ) -> impl Future<Output = Result<T, LedgerError>> + Send
    where
        T: Send,
        F: Future<Output = Result<T, Failure>> + Send,
    {
        const BEGIN: &str = "-- read_begin
             BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
        let site = Location::caller();
        async move {
            let mut tries = Tries::new();
            loop {
                let attempt = async {
                    let tx = self.pool.begin_with(BEGIN).await?;
                    let _in_use = self.condition.using();
                    work(tx).await
                };
                let failure = match self.bounded(attempt).await {
                    Ok(answer) => {
                        self.condition.answered(site);
                        return Ok(answer);
                    }
                    Err(failure) => failure,
                };
                self.pause_or_fail(&mut tries, failure, site).await?;
            }
        }
    }

    async fn pause_or_fail(
        &self,
        tries: &mut Tries,
        failure: Failure,
        site: Site,
    ) -> Result<(), LedgerError> {
        let error = match failure {
            Failure::Ledger(error) => {
                self.condition.answered(site);
                return Err(error);
            }
            Failure::Database(error) => error,
        };
        if let Some(pause) = tries.next(Fate::of(&error)) {
            tokio::time::sleep(pause).await;
            return Ok(());
        }
        let mut storage = sqlstate::storage_error(self.condition.server(), &error);
        if storage.fault == StorageFault::Unreachable {
            storage = self.condition.why_unconnected(&error, self.live()).await;
        }
        self.condition.meet(site, &storage);
        Err(storage.into())
    }
}

/// The database's clock, not that of the transaction's beginning: it may have waited for a lock since.
async fn now(conn: &mut PgConnection) -> Result<Millis, Failure> {
    let now = sqlx::query_scalar::<_, i64>(
        "-- clock_now
         SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint",
    )
    .fetch_one(conn)
    .await?;
    Ok(now)
}

/// What an attempt wrote, for the next one to look for.
type Memo<T> = Mutex<Option<T>>;

fn note<T>(memo: &Memo<T>, what: T) {
    *memo.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
}

fn noted<T: Clone>(memo: &Memo<T>) -> Option<T> {
    memo.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
