//! `kazoe priority`: which campaign is served first.

use clap_complete::engine::ArgValueCompleter;
use kazoe_coordinator::ledger::{CampaignRecord, CampaignState};
use kazoe_proto::admin;
use serde_json::json;

use crate::completion::ids;
use crate::coordinator_client::OfficeArgs;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::{quantity, sqlite_args};

/// Change a campaign's priority: workers get leases of the campaign with the highest priority.
///
/// Existing leases stay. Prints id, state and priority, separated by tabs. `kazoe campaigns` shows the
/// priorities.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe priority shogi 5 --coordinator http://127.0.0.1:7273
  kazoe priority 3f2a -1
  kazoe priority 3f2a 0 --json | jq .priority_before")]
pub(super) struct Args {
    /// The campaign: its id or the beginning of it, or a game, of which it is the newest.
    #[arg(add = ArgValueCompleter::new(ids::campaigns))]
    campaign: String,

    /// The priority, -2^63 to 2^63 - 1; the default of a submission is 0.
    #[arg(value_name = "N", value_parser = quantity::signed, allow_negative_numbers = true)]
    priority: i64,

    #[command(flatten)]
    office: OfficeArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        sqlite_args::block_on(async {
            let mut office = self.office.open()?;
            let id = office.find(Some(&self.campaign)).await?.id;
            let request = admin::set_priority_request(&id, self.priority);
            let set = office.admin.set_priority(request).await;
            let set = set.map_err(|status| office.refused(&status))?.into_inner();
            let (record, before) = admin::priority_set(set).map_err(|odd| office.odd(&odd))?;
            let complete = office.is_complete(&id).await?;
            let state = record.state(complete);
            tell(words(&record, complete, before, self.priority));
            if self.form.json() {
                output.json(&json!({
                    "version": JSON_VERSION,
                    "campaign": id,
                    "state": state,
                    "priority": self.priority,
                    "priority_before": before,
                }))?;
            } else {
                output.line(format_args!("{id}\t{state}\t{}", self.priority))?;
            }
            Ok(Ending::Done)
        })
    }
}

/// What changed, and from when on it counts.
fn words(record: &CampaignRecord, complete: bool, before: i64, now: i64) -> String {
    let id = &record.id;
    if before == now {
        return format!("The priority of campaign {id} was already {now}.");
    }
    let changed = format!("The priority of campaign {id} is changed from {before} to {now}");
    match record.pace {
        _ if complete => format!("{changed}; it is complete, and only its audits are leased."),
        CampaignState::Running => format!("{changed}; it applies from the next lease on."),
        CampaignState::Paused | CampaignState::Cancelled => format!(
            "{changed}; it is {}, and `kazoe resume {id}` resumes it.",
            record.pace.name()
        ),
    }
}
