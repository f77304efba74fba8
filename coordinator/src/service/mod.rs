//! The coordinator on a network: three services over one ledger.
//!
//! [`Coordinator`] is what they share; none of it matters if it is lost (decision 8 of the design): kill
//! the process whenever you like, or run two on one database. [`door`] tells who calls, [`adoption`] lets
//! in whom others named, `campaigns` and `work` and `admin` answer, `chronicle` logs what happens and how
//! far it is, [`serve`] listens.

mod admin;
pub mod adoption;
mod campaigns;
mod chronicle;
mod deliver;
pub mod door;
mod refusal;
pub mod serve;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use kazoe_common::census::{Block, Campaign, Tally};
use tokio::sync::watch;

use crate::ledger::PostgresLedger;
use door::Door;

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
}

/// What the services share.
#[derive(Debug)]
pub struct Coordinator {
    ledger: PostgresLedger,
    door: Door,
    settings: Settings,
    /// Whether it is about to leave: nothing is lent any more.
    leaving: watch::Sender<bool>,
}

impl Coordinator {
    /// Over this ledger, for whom the door lets in.
    #[must_use]
    pub fn new(ledger: PostgresLedger, door: Door, settings: Settings) -> Self {
        Coordinator {
            ledger,
            door,
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

/// Waits until the coordinator leaves.
async fn left(mut leaving: watch::Receiver<bool>) {
    // It fails only if the coordinator is gone altogether.
    let _ = leaving.wait_for(|leaving| *leaving).await;
}
