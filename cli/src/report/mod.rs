//! What a campaign found, for every kind of reader.

mod audits;
mod csv;
mod json;
mod machines;
mod markdown;
pub(crate) mod next_command;
mod published;
mod tables;
mod text;

use std::fmt;

use clap::ValueEnum;
use kazoe_common::census::{Campaign, Fingerprint, Witness};
use kazoe_common::estimate::{AGREES_BELOW, Report, two_proportion_z};
use kazoe_common::population::Candidates;
use kazoe_coordinator::ledger::{
    BuildShare, CampaignRecord, CampaignState, Ledger, LocalStore, OwnerShare, Snapshot,
};

pub(crate) use machines::Machines;

use crate::exit::Stop;
use crate::sqlite_args::StoreArgs;

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

    /// The command that counts this number of samples of a campaign.
    fn command(&self, campaign: &Campaign, samples: Option<u64>) -> String {
        match self {
            Home::Database(store) => next_command::run(campaign, samples, store),
            Home::Coordinator(url) => next_command::submit(campaign, samples, url),
        }
    }
}

impl Findings {
    /// Reads what the ledger holds of a campaign.
    ///
    /// # Errors
    /// If the ledger fails.
    pub(crate) async fn gather(
        ledger: &LocalStore,
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
    /// If the population has no numbering.
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
        } else if let (Home::Coordinator(url), CampaignState::Paused | CampaignState::Cancelled) =
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

/// Whether the stages and depths agree with the figures of others.
struct Agreement {
    /// The least and the most that the greatest |z| can be.
    judged: Option<[f64; 2]>,
    /// Whether any figure has another beside it.
    compared: bool,
    /// Whether all samples wanted are there.
    complete: bool,
}

impl Agreement {
    fn of(findings: &Findings) -> Self {
        Agreement {
            judged: findings.report.judged_z(),
            compared: findings.report.greatest_z().is_some(),
            complete: findings.snapshot.is_complete(),
        }
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some([least, most]) = self.judged else {
            return f.write_str(if self.compared {
                "there are too few samples to compare with the figures of others"
            } else {
                "there are no published figures to compare with"
            });
        };
        if !self.complete {
            write!(
                f,
                "judged when the campaign is complete: the greatest |z| so far is {most:.2}"
            )
        } else if most < AGREES_BELOW {
            write!(
                f,
                "agrees with the figures of others: the greatest |z| is {most:.2}, below {AGREES_BELOW}"
            )
        } else if least < AGREES_BELOW {
            write!(
                f,
                "depends on the undecided samples: the greatest |z| is {least:.2} to {most:.2}"
            )
        } else {
            write!(
                f,
                "DOES NOT AGREE with the figures of others: the greatest |z| is {most:.2}, not below \
                 {AGREES_BELOW}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Agreement;

    #[test]
    fn only_a_complete_campaign_without_doubt_agrees_or_does_not() {
        let say = |judged, compared, complete| {
            let agreement = Agreement {
                judged,
                compared,
                complete,
            };
            agreement.to_string()
        };
        assert_eq!(
            [
                say(None, false, true),
                say(None, true, true),
                say(Some([4.0, 4.0]), true, false),
                say(Some([1.0, 2.5]), true, true),
                say(Some([1.0, 4.0]), true, true),
                say(Some([3.5, 4.0]), true, true),
            ],
            [
                "there are no published figures to compare with",
                "there are too few samples to compare with the figures of others",
                "judged when the campaign is complete: the greatest |z| so far is 4.00",
                "agrees with the figures of others: the greatest |z| is 2.50, below 3",
                "depends on the undecided samples: the greatest |z| is 1.00 to 4.00",
                "DOES NOT AGREE with the figures of others: the greatest |z| is 4.00, not below 3",
            ]
        );
    }
}
