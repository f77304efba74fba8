//! The coordinator on a network: three services over one ledger.
//!
//! [`Coordinator`] is what they share; none of it matters if it is lost (decision 8 of the design): kill
//! the process whenever you like, or run two on one database. `campaigns` and `work` and `admin` answer,
//! [`credential_import`] lets in whom others named, `event_log` logs what happens and how far it is, `database` logs why
//! the database cannot serve and keeps the health.
//!
//! Between them and the network stands what peers may mean ill with: [`serve`] listens, over [`tls`] if
//! told to; `connection` is one peer's, which is a stranger or a guest (`connections`); `admission` lets a call in
//! or not, by who calls ([`auth`], `credential_cache`), how often (`rates`), and how much is in progress or unread
//! (`quota`); `body_limit` and `stalled_reads` are its two directions; `batcher` serves what workers ask in `batches`, and
//! `fair_queue` what operators and viewers ask. [`limits`] has all the bounds, `rejections` counts.

mod admin;
mod admission;
pub mod auth;
mod barred;
mod batcher;
mod batches;
mod body_limit;
mod campaigns;
mod clock;
mod connection;
mod connections;
mod credential_cache;
pub mod credential_import;
mod database;
mod deliver;
mod event_log;
mod fair_queue;
mod lease_quota;
pub mod limits;
mod quota;
mod rates;
mod rejections;
pub mod serve;
mod stalled_reads;
mod status;
pub mod tls;
mod work;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kazoe_common::census::{Block, Campaign, Tally};
use tokio::sync::watch;

use crate::leasing::{self, Millis};
use crate::ledger::PostgresLedger;
use auth::Door;
use barred::Barred;
use batches::Batches;
use body_limit::Room;
use credential_cache::CredentialCache;
use fair_queue::FairQueue;
use lease_quota::LeaseQuota;
use limits::{
    ASKING, BEATS, CALLS, CLAIMS, DELIVERIES, HEARTBEATS, JOINS, Limits, PATIENCE, QUESTIONS,
    UNREAD,
};
use quota::Quota;
use rates::Rates;
use rejections::Rejections;

/// What a coordinator is told when it begins.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a lease holds; its worker asks for more time four times as often.
    pub hold: Duration,
    /// How long a lease should take its worker.
    pub lease: Duration,
    /// Which share of new campaigns' segments is computed twice, in millionths.
    pub audit_millionths: u32,
    /// How often a line is logged for each running campaign.
    pub rhythm: Duration,
    /// The whole tallies of known blocks, which workers must get as well before they compute.
    pub known: Vec<(Campaign, BTreeMap<Block, Tally>)>,
    /// What it takes upon itself.
    pub limits: Limits,
}

/// What the services share.
#[derive(Debug)]
pub struct Coordinator {
    ledger: PostgresLedger,
    door: Door,
    settings: Settings,
    keyring: CredentialCache,
    joins: Rates,
    claims: Rates,
    tallies: Rates,
    beats: Rates,
    calls: Rates,
    claims_in_progress: Arc<Quota>,
    tallies_in_progress: Arc<Quota>,
    beats_in_progress: Arc<Quota>,
    batches: Batches,
    questions: FairQueue,
    unread: Arc<Quota>,
    open_unread: Arc<Quota>,
    room: Room,
    lent: LeaseQuota,
    turned_away: Rejections,
    /// Campaigns of which nothing can be lent.
    barred: Barred,
    /// Whether it is about to leave: nothing is lent any more.
    leaving: watch::Sender<bool>,
}

impl Coordinator {
    /// For how long a worker without a lease may be silent before it is gone.
    fn patience(&self) -> Millis {
        leasing::patience(self.settings.hold)
    }

    /// Over this ledger, for whom the door lets in.
    #[must_use]
    pub fn new(ledger: PostgresLedger, door: Door, settings: Settings) -> Self {
        let work = settings.limits.work_rate();
        let batches = Batches::new(&ledger, &settings);
        Coordinator {
            ledger,
            door,
            keyring: CredentialCache::default(),
            joins: Rates::new(JOINS),
            claims: Rates::new(work),
            tallies: Rates::new(work),
            beats: Rates::new(BEATS),
            calls: Rates::new(CALLS),
            claims_in_progress: Arc::new(Quota::new(CLAIMS)),
            tallies_in_progress: Arc::new(Quota::new(DELIVERIES)),
            beats_in_progress: Arc::new(Quota::new(HEARTBEATS)),
            batches,
            questions: FairQueue::new(QUESTIONS, ASKING, PATIENCE),
            unread: Arc::new(Quota::new(UNREAD)),
            open_unread: Arc::new(Quota::new(UNREAD)),
            room: Room::new(),
            lent: LeaseQuota::default(),
            turned_away: Rejections::default(),
            barred: Barred::default(),
            settings,
            leaving: watch::Sender::new(false),
        }
    }

    /// How often a worker should say that it is alive.
    fn heartbeat(&self) -> Duration {
        (self.settings.hold / 4).clamp(Duration::from_millis(100), Duration::from_secs(3600))
    }

    /// Lends nothing from now on, and ends what would go on for ever.
    fn leave(&self) {
        self.leaving.send_replace(true);
    }

    fn is_leaving(&self) -> bool {
        *self.leaving.borrow()
    }
}

/// Returns a random number from 0 to 1; 0 where the system has no random numbers.
fn chance() -> f64 {
    getrandom::u32().map_or(0.0, |bits| f64::from(bits) / f64::from(u32::MAX))
}

/// Waits until the coordinator leaves.
async fn left(mut leaving: watch::Receiver<bool>) {
    // It fails only if the coordinator is gone altogether.
    let _ = leaving.wait_for(|leaving| *leaving).await;
}
