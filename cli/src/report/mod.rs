//! What a campaign found, for every kind of reader.

mod csv;
mod json;
mod machines;
mod markdown;
mod tables;
mod text;
pub(crate) mod typed;

use std::fmt;

use clap::ValueEnum;
use kazoe_common::census::{Campaign, Fingerprint, Witness};
use kazoe_common::estimate::{Report, two_proportion_z};
use kazoe_common::population::Candidates;
use kazoe_coordinator::ledger::{
    BuildShare, CampaignRecord, Ledger, OwnerShare, Pace, Snapshot, SqliteLedger,
};

pub(crate) use machines::Machines;

use crate::ending::Stop;
use crate::store::StoreArgs;

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportForm {
    /// Tables for a terminal.
    #[default]
    Text,
    /// Markdown.
    Md,
    /// One JSON document with a version.
    Json,
    /// One figure a line: section, item, figure, value.
    Csv,
}

/// A campaign's report with where it comes from.
pub(crate) struct Findings {
    record: CampaignRecord,
    snapshot: Snapshot,
    fingerprint: Fingerprint,
    report: Report,
    builds: Vec<BuildShare>,
    owners: Vec<OwnerShare>,
    machines: Machines,
    home: Home,
}

/// Where a campaign is kept.
#[derive(Clone, Debug)]
pub(crate) enum Home {
    /// In a file.
    Database(StoreArgs),
    /// With a coordinator at this address.
    Coordinator(String),
}

impl Home {
    /// In a word.
    fn name(&self) -> String {
        match self {
            Home::Database(store) => store.path.display().to_string(),
            Home::Coordinator(url) => url.clone(),
        }
    }

    /// The command that counts so many samples of a campaign.
    fn command(&self, campaign: &Campaign, samples: Option<u64>) -> String {
        match self {
            Home::Database(store) => typed::run(campaign, samples, store),
            Home::Coordinator(url) => typed::submit(campaign, samples, url),
        }
    }
}

impl Findings {
    /// Reads what the ledger holds of a campaign.
    ///
    /// # Errors
    /// If the ledger fails.
    pub(crate) async fn gather(
        ledger: &SqliteLedger,
        record: CampaignRecord,
        store: &StoreArgs,
    ) -> Result<Self, Stop> {
        let snapshot = ledger.snapshot(&record.id).await.map_err(Stop::failed)?;
        let witnesses = ledger
            .witnesses(&record.id, 0..snapshot.prefix.segments)
            .await
            .map_err(Stop::failed)?;
        let builds = ledger.builds(&record.id).await.map_err(Stop::failed)?;
        let owners = ledger.owners(&record.id).await.map_err(Stop::failed)?;
        let home = Home::Database(store.clone());
        Findings::new(record, snapshot, &witnesses, builds, owners, home)
    }

    /// Makes the report of what was found; of the witnesses the paths are enough.
    ///
    /// # Errors
    /// If the population cannot be numbered.
    pub(crate) fn new(
        record: CampaignRecord,
        snapshot: Snapshot,
        witnesses: &[Witness],
        builds: Vec<BuildShare>,
        owners: Vec<OwnerShare>,
        home: Home,
    ) -> Result<Self, Stop> {
        let candidates = Candidates::new(record.campaign.variant).map_err(Stop::failed)?;
        let report = Report::new(
            &record.campaign,
            candidates.size(),
            &candidates.self_mirrored(),
            &snapshot.prefix.counted(),
            witnesses,
        );
        let fingerprint = Fingerprint::of(&record.campaign, &snapshot.prefix.tally);
        Ok(Findings {
            record,
            snapshot,
            fingerprint,
            report,
            builds,
            owners,
            machines: Machines::default(),
            home,
        })
    }

    /// With the machines on which it was computed.
    pub(crate) fn computed_on(mut self, machines: Machines) -> Self {
        self.machines = machines;
        self
    }

    /// The report as a text that ends with a newline.
    pub(crate) fn render(&self, form: ReportForm) -> String {
        match form {
            ReportForm::Text => text::render(self),
            ReportForm::Md => markdown::render(self),
            ReportForm::Json => json::render(self),
            ReportForm::Csv => csv::render(self),
        }
    }

    /// The command that goes on from here.
    fn next_command(&self) -> String {
        let campaign = &self.record.campaign;
        if self.snapshot.is_complete() {
            let more = self.record.cut.samples.checked_mul(10);
            self.home.command(campaign, more)
        } else if let (Home::Coordinator(url), Pace::Paused | Pace::Cancelled) =
            (&self.home, self.record.pace)
        {
            format!("kazoe resume {} --coordinator {url}", self.record.id)
        } else {
            self.home.command(campaign, Some(self.record.cut.samples))
        }
    }
}

/// How far an owner's share of reachable samples lies from that of all others together; nothing where one
/// of them has none.
fn z_against_the_rest(owner: &OwnerShare, owners: &[OwnerShare]) -> Option<f64> {
    let samples: u64 = owners.iter().map(|one| one.samples).sum();
    let reachable: u64 = owners.iter().map(|one| one.reachable).sum();
    let rest = (reachable - owner.reachable, samples - owner.samples);
    two_proportion_z((owner.reachable, owner.samples), rest)
}

/// Which positions are counted, for people.
fn convention(folded: bool) -> &'static str {
    if folded {
        "folded: Black to move, a position and its left-right mirror image counted once"
    } else {
        "unfolded: Black to move, mirror images counted apart"
    }
}

/// Whether the figures agree with those of others.
struct Agreement<'a>(&'a Report);

impl fmt::Display for Agreement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.greatest_z() {
            None => write!(f, "there is nothing to compare with"),
            Some(z) if z < 3.0 => write!(
                f,
                "agrees with the figures of others: the greatest |z| is {z:.2}, below 3"
            ),
            Some(z) => write!(
                f,
                "DOES NOT AGREE with the figures of others: the greatest |z| is {z:.2}, not below 3"
            ),
        }
    }
}
