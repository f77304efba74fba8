//! The ledger on PostgreSQL: any number of coordinators on one database.
//!
//! Whatever writes to a campaign locks its row first (`FOR NO KEY UPDATE`, decision 8 of the design),
//! so that its decision and the rows it was made from belong together; `READ COMMITTED` is enough then,
//! and two operations on one campaign cannot deadlock. Only [`extend`](Ledger::extend), which is sent
//! often and touches one row, does without. Reading sees one moment (`REPEATABLE READ`).
//!
//! An operation that met a deadlock, a failed serialization or a lost connection is sent again, a bounded
//! number of times. If the connection was lost it is unknown whether it was committed; each operation
//! finds out what its earlier attempt left, and does not happen twice.

mod audit;
mod audits;
mod campaign_rows;
mod claim;
mod clock;
mod connect;
mod credentials;
mod deliver;
mod ending;
mod gather;
mod gathered;
mod heard;
mod losses;
mod measure;
mod migrate;
mod operator;
mod owners;
mod prefix;
mod purge;
mod read;
mod reclaim;
mod results;
mod retry;
mod roster;
mod ruling;
mod schedule;
mod stock;
mod submit;
mod workers;

use std::future::Future;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kazoe_common::census::{Segment, Witness};
#[cfg(doc)]
use kazoe_common::game::Variant;
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

use self::claim::Claimant;
use self::gathered::Gathered;
use self::operator::AuditLine;
use self::retry::{Fate, Tries};
use super::rows::Failure;
use crate::leasing::{Millis, Verdict};
use crate::ledger::{
    AcceptedSegment, AuditEntry, Breach, BuildShare, CampaignRecord, Delivery, Lease, Ledger,
    LedgerError, Listed, LogEntry, OwnerShare, SelfTest, Snapshot, Submission, Submitted, Token,
    Who,
};

pub(crate) use connect::CONNECTIONS;
pub(crate) use gathered::{CLAIMING, KEEPING, TELLING};

pub use connect::ConnectError;
pub use measure::LongReader;

/// How long one attempt at an operation may take: several statements, each bounded by the server. Only a
/// server that is gone without a word, or a network, takes longer.
const ATTEMPT: Duration = Duration::from_secs(120);

type Tx = Transaction<'static, Postgres>;

/// A ledger in a PostgreSQL database. A clone is another handle on the same one.
#[derive(Clone, Debug)]
pub struct PostgresLedger {
    /// Address and name, without any secret.
    server: Arc<str>,
    pool: PgPool,
    attempt: Duration,
    /// Whether its tallies are made up.
    made_up: bool,
    gathered: Arc<Gathered>,
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
    /// If the database cannot be reached, loses commits when the machine fails (`fsync` or
    /// `synchronous_commit` is off), has another schema than this build's, if the role could change what
    /// must stay, or if it holds made-up tallies.
    pub async fn connect(runtime_url: &str) -> Result<Self, ConnectError> {
        Self::open(runtime_url, false).await
    }

    /// Connects to a database for made-up tallies alone: it takes campaigns of [`Variant::MADE_UP`] and no
    /// others, as one of [`connect`](Self::connect) takes all others.
    ///
    /// # Errors
    /// As there, and if it holds a campaign that is counted.
    pub async fn connect_made_up(runtime_url: &str) -> Result<Self, ConnectError> {
        Self::open(runtime_url, true).await
    }

    async fn open(runtime_url: &str, made_up: bool) -> Result<Self, ConnectError> {
        let (server, pool) = connect::runtime(runtime_url, made_up).await?;
        Ok(PostgresLedger {
            server: server.into(),
            pool,
            attempt: ATTEMPT,
            made_up,
            gathered: Arc::new(Gathered::new()),
        })
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

    /// Runs an operation in a transaction and commits it, again if need be. The work is told whether an
    /// earlier attempt may have been committed.
    async fn write<T, F>(
        &self,
        work: impl Fn(Tx, bool) -> F + Send + Sync,
    ) -> Result<T, LedgerError>
    where
        T: Send,
        F: Future<Output = Result<(Tx, T), Failure>> + Send,
    {
        let mut tries = Tries::new();
        loop {
            let attempt = async {
                let tx = self.pool.begin().await?;
                let (tx, answer) = work(tx, tries.maybe_committed()).await?;
                tx.commit().await?;
                Ok(answer)
            };
            let failure = match self.bounded(attempt).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            self.pause_or_fail(&mut tries, failure).await?;
        }
    }

    /// An attempt that is given up when a server goes silent over it. Its connection is dropped then.
    async fn bounded<T>(
        &self,
        attempt: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match tokio::time::timeout(self.attempt, attempt).await {
            Ok(answer) => answer,
            Err(_) => Err(connect::silence().into()),
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
            if operator::is_written(&mut tx, id, noted(memo).filter(|_| again)).await? {
                return Ok((tx, true));
            }
            let (tx, line) = work(tx).await?;
            line.inspect(|&line| note(memo, line));
            Ok((tx, line.is_some()))
        })
        .await
    }

    /// Runs a question in a transaction that sees one moment, again if need be.
    async fn read<T, F>(&self, work: impl Fn(Tx) -> F + Send + Sync) -> Result<T, LedgerError>
    where
        T: Send,
        F: Future<Output = Result<T, Failure>> + Send,
    {
        const BEGIN: &str = "-- read_begin
             BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY";
        let mut tries = Tries::new();
        loop {
            let attempt = async { work(self.pool.begin_with(BEGIN).await?).await };
            let failure = match self.bounded(attempt).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            self.pause_or_fail(&mut tries, failure).await?;
        }
    }

    async fn pause_or_fail(&self, tries: &mut Tries, failure: Failure) -> Result<(), LedgerError> {
        let error = match failure {
            Failure::Ledger(error) => return Err(error),
            Failure::Database(error) => error,
        };
        match tries.next(Fate::of(&error)) {
            Some(pause) => {
                tokio::time::sleep(pause).await;
                Ok(())
            }
            None => Err(connect::storage_error(&self.server, &error).into()),
        }
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

impl Ledger for PostgresLedger {
    async fn submit(
        &self,
        submission: &Submission,
    ) -> Result<(CampaignRecord, Submitted), LedgerError> {
        if submission.campaign.variant.is_made_up() != self.made_up {
            return Err(LedgerError::MadeUp(submission.campaign.id()));
        }
        self.write(|mut tx, _| async move {
            let answer = submit::submit(&mut tx, submission).await?;
            Ok((tx, answer))
        })
        .await
    }

    async fn listed(&self) -> Result<Listed, LedgerError> {
        self.read(|mut tx| async move { campaign_rows::all(&mut tx).await })
            .await
    }

    async fn campaign(&self, id: &str) -> Result<CampaignRecord, LedgerError> {
        self.read(|mut tx| async move { campaign_rows::one(&mut tx, id).await })
            .await
    }

    async fn self_tests(&self, id: &str) -> Result<Vec<SelfTest>, LedgerError> {
        self.read(|mut tx| async move {
            campaign_rows::one(&mut tx, id).await?;
            campaign_rows::self_tests(&mut tx, id).await
        })
        .await
    }

    async fn claim(
        &self,
        id: &str,
        who: &Who,
        want: u32,
        hold: Duration,
    ) -> Result<Option<Lease>, LedgerError> {
        let claimant = Claimant {
            who: who.clone(),
            want,
            hold,
        };
        self.claim_of(id, claimant).await
    }

    async fn deliver(
        &self,
        token: Token,
        deliveries: &[Delivery],
    ) -> Result<Vec<Verdict>, LedgerError> {
        let campaign = self.campaign_of(token).await?;
        self.deliver_to(&campaign, token, deliveries).await
    }

    async fn extend(&self, token: Token, hold: Duration) -> Result<Millis, LedgerError> {
        self.write(|mut tx, _| async move {
            let deadline = ending::extend(&mut tx, token, hold).await?;
            Ok((tx, deadline))
        })
        .await
    }

    async fn end(&self, token: Token) -> Result<u64, LedgerError> {
        let campaign = self.campaign_of(token).await?;
        self.end_of(&campaign, token).await
    }

    async fn forfeit(&self, worker: &str) -> Result<u64, LedgerError> {
        self.write(|mut tx, _| async move {
            let returned = ending::forfeit(&mut tx, worker).await?;
            Ok((tx, returned))
        })
        .await
    }

    async fn import(
        &self,
        id: &str,
        who: &Who,
        deliveries: &[Delivery],
    ) -> Result<Vec<Verdict>, LedgerError> {
        self.write(|mut tx, _| async move {
            let verdicts = deliver::import(&mut tx, id, who, deliveries).await?;
            Ok((tx, verdicts))
        })
        .await
    }

    async fn retract(
        &self,
        id: &str,
        segment: Segment,
        actor: &str,
        why: &str,
    ) -> Result<bool, LedgerError> {
        self.act(id, |mut tx| async move {
            let line = operator::retract(&mut tx, id, segment, actor, why).await?;
            Ok((tx, line))
        })
        .await
    }

    async fn set_aside(
        &self,
        id: &str,
        segment: Segment,
        actor: &str,
        why: &str,
    ) -> Result<bool, LedgerError> {
        self.act(id, |mut tx| async move {
            let line = operator::set_aside(&mut tx, id, segment, actor, why).await?;
            Ok((tx, line))
        })
        .await
    }

    async fn retry(&self, id: &str, segment: Segment, actor: &str) -> Result<bool, LedgerError> {
        self.act(id, |mut tx| async move {
            let line = operator::retry(&mut tx, id, segment, actor).await?;
            Ok((tx, line))
        })
        .await
    }

    async fn snapshot(&self, id: &str) -> Result<Snapshot, LedgerError> {
        self.read(|mut tx| async move { read::snapshot(&mut tx, id).await })
            .await
    }

    async fn segments(
        &self,
        id: &str,
        from: Segment,
        limit: u32,
    ) -> Result<Vec<AcceptedSegment>, LedgerError> {
        self.read(|mut tx| async move { read::segments(&mut tx, id, from, limit).await })
            .await
    }

    async fn witnesses(
        &self,
        id: &str,
        segments: Range<Segment>,
    ) -> Result<Vec<Witness>, LedgerError> {
        let segments = &segments;
        self.read(|mut tx| async move { read::witnesses(&mut tx, id, segments.clone()).await })
            .await
    }

    async fn builds(&self, id: &str) -> Result<Vec<BuildShare>, LedgerError> {
        self.read(|mut tx| async move { read::builds(&mut tx, id).await })
            .await
    }

    async fn owners(&self, id: &str) -> Result<Vec<OwnerShare>, LedgerError> {
        self.read(|mut tx| async move { owners::shares(&mut tx, id).await })
            .await
    }

    async fn log(&self, id: &str, segment: Segment) -> Result<Vec<LogEntry>, LedgerError> {
        self.read(|mut tx| async move { read::log(&mut tx, id, segment).await })
            .await
    }

    async fn disputed(&self, id: &str) -> Result<Vec<Segment>, LedgerError> {
        self.read(|mut tx| async move { read::disputed(&mut tx, id).await })
            .await
    }

    async fn audit_log(
        &self,
        id: &str,
        after: i64,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, LedgerError> {
        self.read(|mut tx| async move { read::audit_log(&mut tx, id, after, limit).await })
            .await
    }

    async fn check_invariants(&self, id: &str) -> Result<Vec<Breach>, LedgerError> {
        self.read(|mut tx| async move { audit::check_invariants(&mut tx, id).await })
            .await
    }
}
