//! `kazoe campaigns`: what a database holds.

use kazoe_common::census::Outcome;
use kazoe_coordinator::ledger::{CampaignRecord, Ledger, Snapshot};
use serde_json::json;

use crate::ending::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output};
use crate::place::PlaceArgs;
use crate::store;

/// List the campaigns, oldest first.
///
/// One a line: id, variant, seed, cap, samples there, samples wanted, state; between tabs. The state is
/// complete, or at a coordinator running, paused or cancelled, and in a database file unfinished: `kazoe
/// run` goes on with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe campaigns
  kazoe campaigns --db other.db --json
  kazoe campaigns --coordinator http://127.0.0.1:7273")]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        store::block_on(async {
            for (record, snapshot) in self.all().await? {
                let campaign = &record.campaign;
                let state = if snapshot.is_complete() {
                    "complete"
                } else if self.place.office.is_named() {
                    record.pace.name()
                } else {
                    "unfinished"
                };
                if self.form.json() {
                    output.json(&json!({
                        "version": JSON_VERSION,
                        "campaign": record.id,
                        "variant": campaign.variant.id,
                        "population": campaign.population.name(),
                        "design": campaign.design.name(),
                        "seed": campaign.seed.to_string(),
                        "cap": campaign.cap,
                        "wanted_samples": record.cut.samples,
                        "accepted_samples": snapshot.accepted_samples,
                        "reachable": snapshot.prefix.tally.of(Outcome::Reachable),
                        "digest": snapshot.prefix.tally.digest.to_string(),
                        "state": state,
                    }))?;
                } else {
                    output.line(format_args!(
                        "{}\t{}\t{}\t{}\t{}\t{}\t{state}",
                        record.id,
                        campaign.variant.id,
                        campaign.seed,
                        campaign
                            .cap
                            .map_or_else(|| "none".to_owned(), |cap| cap.to_string()),
                        snapshot.accepted_samples,
                        record.cut.samples,
                    ))?;
                }
            }
            Ok(Ending::Done)
        })
    }

    /// All campaigns of the database, or of the coordinator if one was named.
    async fn all(&self) -> Result<Vec<(CampaignRecord, Snapshot)>, Stop> {
        if self.place.office.is_named() {
            let mut all = Vec::new();
            let mut office = self.place.office.open()?;
            for record in office.list().await? {
                let (snapshot, _) = office.snapshot(&record.id).await?;
                all.push((record, snapshot));
            }
            return Ok(all);
        }
        let read = self.place.store.read(async |ledger| {
            let mut all = Vec::new();
            for record in ledger.campaigns().await.map_err(Stop::failed)? {
                let snapshot = ledger.snapshot(&record.id).await;
                all.push((record, snapshot.map_err(Stop::failed)?));
            }
            Ok(all)
        });
        read.await
    }
}
