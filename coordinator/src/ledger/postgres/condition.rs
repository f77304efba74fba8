//! The condition of a ledger's database: whether it can serve, as the last look found, and which lasting
//! errors calls met.
//!
//! A coordinator looks once a second ([`Condition::look`]) over a connection of its own, so that neither its
//! callers nor a crowded pool decide what it finds.

use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, Error, PgConnection};
use tokio::sync::{Notify, watch};

use super::connect::CONNECTIONS;
use super::fitness;
use super::sessions::{self, Settings, soon};
use super::sqlstate::storage_error;
use crate::ledger::{Place, StorageError, StorageFault};

/// Connections of one coordinator: those that serve calls, and the one that looks at the database.
pub(super) const WANTED: u32 = CONNECTIONS + 1;

/// How often it is tried whether there is room again for all connections.
const ROOM: Duration = Duration::from_secs(3);

/// Why a database cannot serve.
#[derive(Clone, Debug)]
pub(crate) struct Outage {
    /// The cause.
    pub(crate) cause: StorageError,
    /// When it was found.
    pub(crate) since: Instant,
}

impl Outage {
    /// Whether there are connections for calls, beside the one that looks.
    fn is_partial(&self) -> bool {
        matches!(self.cause.fault, StorageFault::Connections { had: 2.., .. })
    }
}

/// A place in the program that asks something of the database.
pub(super) type Site = &'static Location<'static>;

/// The connection that looks at the database.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    conn: Option<PgConnection>,
    room_tried: Option<Instant>,
}

/// The condition of one ledger's database.
#[derive(Debug)]
pub(crate) struct Condition {
    server: String,
    options: PgConnectOptions,
    settings: Settings,
    outage: watch::Sender<Option<Outage>>,
    /// Sessions that began before this moment are not used again.
    renewed: Mutex<Option<Instant>>,
    /// Connections that serve a call.
    in_use: AtomicU32,
    /// Whether a call got no connection since there was last room for all.
    starved: AtomicBool,
    /// The lasting errors, by what met them last.
    met: Mutex<HashMap<Site, (StorageError, Instant)>>,
    has_met: AtomicBool,
    wake: Notify,
}

/// A connection that serves a call, until this is dropped.
#[derive(Debug)]
pub(super) struct InUse<'a>(&'a Condition);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.in_use.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Condition {
    /// Of a database that has just been found fit.
    pub(super) fn new(server: String, options: PgConnectOptions, settings: Settings) -> Self {
        Condition {
            server,
            options,
            settings,
            outage: watch::Sender::new(None),
            renewed: Mutex::default(),
            in_use: AtomicU32::new(0),
            starved: AtomicBool::new(false),
            met: Mutex::default(),
            has_met: AtomicBool::new(false),
            wake: Notify::new(),
        }
    }

    /// What messages call the database.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// Why the database cannot serve, if so.
    pub(crate) fn outage(&self) -> Option<Outage> {
        self.outage.borrow().clone()
    }

    /// Waits until the database was unable to serve for so long without a break; the cause. With fewer
    /// connections than wanted some calls go well.
    pub(crate) async fn lasting_outage(&self, patience: Duration) -> StorageError {
        let mut outage = self.outage.subscribe();
        loop {
            let now = outage.borrow_and_update().clone();
            let changed = outage.changed();
            let Some(Outage { cause, since }) = now.filter(|outage| !outage.is_partial()) else {
                // The sender lives as long as this does.
                let _ = changed.await;
                continue;
            };
            let rest = patience.saturating_sub(since.elapsed());
            if tokio::time::timeout(rest, changed).await.is_err() {
                // It may have become another meanwhile.
                return self.outage().map_or(cause, |outage| outage.cause);
            }
        }
    }

    /// The cause, where the last look found that commits would be lost.
    pub(super) fn not_durable(&self) -> Option<StorageError> {
        let outage = self.outage.borrow();
        let cause = &outage.as_ref()?.cause;
        matches!(cause.fault, StorageFault::NotDurable { .. }).then(|| cause.clone())
    }

    /// Whether a session of this age may still be used: one from before a failover may be with the server that
    /// has become a standby.
    pub(super) fn trusts(&self, age: Duration) -> bool {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        renewed.is_none_or(|renewed| age < renewed.elapsed())
    }

    /// Counts a connection that serves a call.
    pub(super) fn using(&self) -> InUse<'_> {
        self.in_use.fetch_add(1, Ordering::AcqRel);
        InUse(self)
    }

    /// Connections that serve a call.
    pub(super) fn in_use(&self) -> u32 {
        self.in_use.load(Ordering::Acquire)
    }

    fn met(&self) -> MutexGuard<'_, HashMap<Site, (StorageError, Instant)>> {
        self.met.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the error that ended a call.
    pub(super) fn meet(&self, site: Site, error: &StorageError) {
        match error.fault {
            StorageFault::Busy => return,
            StorageFault::Connections { .. } => self.starved.store(true, Ordering::Release),
            // The next look finds the cause.
            StorageFault::Unreachable | StorageFault::Login => {}
            _ => {
                self.met().insert(site, (error.clone(), Instant::now()));
                self.has_met.store(true, Ordering::Release);
            }
        }
        self.wake.notify_one();
    }

    /// Whether connections may be lost: the database cannot serve, or a call got no connection.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.starved.load(Ordering::Acquire) || self.outage.borrow().is_some()
    }

    /// Notes that what is asked at this place was answered.
    pub(super) fn answered(&self, site: Site) {
        if self.has_met.load(Ordering::Acquire) {
            let mut met = self.met();
            if met.remove(site).is_some() {
                self.wake.notify_one();
            }
            self.has_met.store(!met.is_empty(), Ordering::Release);
        }
    }

    /// The lasting errors that calls met and that the same calls have not outlived, and when last.
    pub(crate) fn lasting_errors(&self) -> Vec<(StorageError, Instant)> {
        self.met().values().cloned().collect()
    }

    /// Waits until a call has met an error, or has outlived it.
    pub(crate) async fn changed(&self) {
        self.wake.notified().await;
    }

    /// Begins a session past the pool.
    ///
    /// # Errors
    /// What the server says.
    pub(super) async fn connect(&self) -> Result<PgConnection, Error> {
        sessions::begin(&self.options, &self.settings).await
    }

    /// Returns the error of a call that got no connection, as far as it is known why.
    pub(super) async fn why_unconnected(&self, error: &Error, live: u32) -> StorageError {
        if let Some(outage) = self.outage() {
            return outage.cause;
        }
        if !matches!(error, Error::PoolTimedOut) {
            return storage_error(&self.server, error);
        }
        // The pool does not say why it waited.
        match self.connect().await {
            Err(error) => self.shortage(&error, live),
            Ok(conn) => {
                let _ = conn.close().await;
                StorageError {
                    place: Place::Server(self.server.clone()),
                    fault: StorageFault::Busy,
                    detail: format!("all {live} connections were in use"),
                }
            }
        }
    }

    /// An error of connecting, with the number of connections that there are.
    pub(super) fn shortage(&self, error: &Error, had: u32) -> StorageError {
        let mut error = storage_error(&self.server, error);
        if let StorageFault::Connections { .. } = error.fault {
            error.fault = StorageFault::Connections {
                had,
                wanted: WANTED,
            };
        }
        error
    }

    /// Looks at the database, of whose connections so many live, and returns why it cannot serve, if so.
    pub(crate) async fn look(&self, probe: &mut Probe, live: u32) -> Option<StorageError> {
        let found = match self.check(probe, live).await {
            Ok(()) if self.starved.load(Ordering::Acquire) => self.check_room(probe, live).await,
            found => found,
        };
        let found = found.err();
        let stale =
            |fault: StorageFault| matches!(fault, StorageFault::Standby | StorageFault::ReadOnly);
        let before = self.outage();
        let was_stale = before
            .as_ref()
            .is_some_and(|outage| stale(outage.cause.fault));
        let is_stale = found.as_ref().is_some_and(|cause| stale(cause.fault));
        if is_stale {
            // The address may lead to another server the next time.
            probe.conn = None;
        }
        if was_stale != is_stale {
            self.renew();
        }
        if before.is_some() && found.is_none() {
            // What calls met meanwhile had the same cause; what lasts they meet again.
            self.forget(|_| true);
        }
        let since = before.map_or_else(Instant::now, |outage| outage.since);
        let outage = found.clone().map(|cause| Outage { cause, since });
        self.outage.send_if_modified(|last| {
            let faults = |outage: &Option<Outage>| outage.as_ref().map(|one| one.cause.fault);
            let changed = faults(last) != faults(&outage);
            *last = outage;
            changed
        });
        found
    }

    /// Uses no session any more that is there now.
    fn renew(&self) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Forgets the lasting errors of these faults.
    fn forget(&self, which: impl Fn(StorageFault) -> bool) {
        let mut met = self.met();
        met.retain(|_, (error, _)| !which(error.fault));
        self.has_met.store(!met.is_empty(), Ordering::Release);
    }

    async fn check(&self, probe: &mut Probe, live: u32) -> Result<(), StorageError> {
        let is_read_only = |fault| fault == StorageFault::ReadOnly;
        let met = self.lasting_errors();
        if met.iter().any(|(error, _)| is_read_only(error.fault)) {
            // New sessions may differ from those that are there, for better or worse: a default of the
            // database or the role is a session's from its beginning.
            probe.conn = None;
            self.renew();
            self.forget(is_read_only);
        }
        if let Some(mut conn) = probe.conn.take()
            && let Ok(found) =
                tokio::time::timeout(sessions::ANSWER, fitness::check(&self.server, &mut conn))
                    .await
            && !found
                .as_ref()
                .is_err_and(|error| is_of_connection(error.fault))
        {
            probe.conn = Some(conn);
            return found;
        }
        let conn = self.connect().await;
        let mut conn = conn.map_err(|error| self.shortage(&error, live))?;
        let found = soon(async { Ok(fitness::check(&self.server, &mut conn).await) }).await;
        let found = found.map_err(|error| storage_error(&self.server, &error))?;
        probe.conn = Some(conn);
        found
    }

    /// Tries whether there is room for the connections that are missing.
    async fn check_room(&self, probe: &mut Probe, live: u32) -> Result<(), StorageError> {
        let last = self.outage().map(|outage| outage.cause);
        if let Some(cause) = last
            && probe.room_tried.is_some_and(|tried| tried.elapsed() < ROOM)
        {
            return Err(cause);
        }
        probe.room_tried = Some(Instant::now());
        let mut opened = Vec::new();
        let mut found = Ok(());
        // One after the other: where there is room for none, none is taken from anything else.
        for _ in live..CONNECTIONS {
            match self.connect().await {
                Ok(conn) => opened.push(conn),
                Err(error) => {
                    let had = u32::try_from(opened.len() + 1).unwrap_or(u32::MAX);
                    found = Err(self.shortage(&error, live.saturating_add(had)));
                    break;
                }
            }
        }
        for conn in opened {
            let _ = conn.close().await;
        }
        if found.is_ok() {
            self.starved.store(false, Ordering::Release);
        }
        found
    }
}

/// Whether a fault is of the connection, and another connection may do.
const fn is_of_connection(fault: StorageFault) -> bool {
    matches!(
        fault,
        StorageFault::Unreachable | StorageFault::PoolerMode | StorageFault::Connections { .. }
    )
}
