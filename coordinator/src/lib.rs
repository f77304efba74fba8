//! The coordinator's side of Kazoe: which segment is lent to whom, and which tally counts.
//!
//! The modules stand in the order in which a campaign meets them: [`leasing`] decides, [`ledger`]
//! keeps, [`ledger_file`] carries a ledger as one text file, which [`output_file`] writes. [`plain_text`] reads
//! texts as editors save them, [`tally_text`] is how ledger and file write a tally, [`progress`] how people are
//! told how far it is. [`service`] does all that for callers on a network,
//! in the words of [`wire`].
//!
//! ```
//! use kazoe_common::census::{Campaign, Cut, Outcome, SegmentResult, Tally};
//! use kazoe_common::game::Variant;
//! use kazoe_coordinator::ledger::{Ledger, LocalStore, Service, Submission, Submitted, Who};
//! use kazoe_proto::outcome::DeliveryOutcome;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("kazoe.db");
//! # let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
//! # rt.block_on(async {
//! let ledger = LocalStore::open(&path).await?;
//! let submission = Submission {
//!     campaign: Campaign::new(&Variant::MINISHOGI, 1),
//!     cut: Cut::new(10_000, 1).unwrap(),
//!     self_tests: Vec::new(),
//!     build: "doctest".to_owned(),
//!     service: Service::default(),
//! };
//! let (campaign, how) = ledger.submit(&submission).await?;
//! assert_eq!(how, Submitted::New);
//!
//! let who = Who {
//!     owner: "me".to_owned(),
//!     worker: "local".to_owned(),
//!     build: "doctest".to_owned(),
//!     operator: true,
//! };
//! let [missing] = &ledger.missing(&campaign.id).await?[..] else { unreachable!() };
//! let segment = missing.start;
//! let samples = campaign.cut.samples_of(segment);
//! let mut tally = Tally::default();
//! tally.cells.insert(Outcome::Mirrored as u32, samples);
//! let result = SegmentResult {
//!     segment,
//!     samples,
//!     tally,
//!     witnesses: Vec::new(),
//!     cpu: None,
//! };
//! assert_eq!(ledger.import(&campaign.id, &who, &[result]).await?, [DeliveryOutcome::Accepted]);
//! assert_eq!(ledger.snapshot(&campaign.id).await?.prefix.samples, 4096);
//! ledger.close().await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

pub mod leasing;

pub mod plain_text;

pub mod tally_text;

pub mod ledger;

pub mod output_file;

pub mod ledger_file;

pub mod progress;

pub mod wire;

pub mod service;

/// The names of the places at which a test stops a process. The last word says what is done there: `written`
/// has not sent its COMMIT, `committed` has not answered.
#[cfg(feature = "failpoints")]
pub const FAILPOINTS: [&str; 6] = [
    "coordinator.claim.written",
    "coordinator.claim.committed",
    "coordinator.deliver.written",
    "coordinator.deliver.committed",
    "coordinator.end.written",
    "coordinator.end.committed",
];
