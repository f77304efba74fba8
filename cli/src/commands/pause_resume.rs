//! `kazoe pause`, `resume`, `cancel`: whether a campaign is worked on.

use clap_complete::engine::ArgValueCompleter;
use kazoe_proto::campaigns;
use serde_json::json;

use crate::completion::ids;
use crate::coordinator_client::OfficeArgs;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::sqlite_args;

/// Pause a campaign: no new leases; tallies of existing leases are still accepted.
///
/// For a complete campaign it pauses the audits. A cancelled campaign must be resumed first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe pause shogi --coordinator http://127.0.0.1:7273
  kazoe pause 3f2a")]
pub(super) struct Pause {
    #[command(flatten)]
    which: Which,
}

/// Resume a paused or cancelled campaign.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe resume shogi --coordinator http://127.0.0.1:7273
  kazoe resume 3f2a")]
pub(super) struct Resume {
    #[command(flatten)]
    which: Which,
}

/// Cancel a campaign: no more leases, and workers drop its segments; the results stay.
///
/// `kazoe resume` resumes it. A complete campaign is refused: there is nothing to cancel.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe cancel shogi --coordinator http://127.0.0.1:7273
  kazoe cancel 3f2a")]
pub(super) struct Cancel {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The campaign: its id or the beginning of it, or a game, of which it is the newest.
    #[arg(add = ArgValueCompleter::new(ids::campaigns))]
    campaign: String,

    #[command(flatten)]
    office: OfficeArgs,

    #[command(flatten)]
    form: FormArgs,
}

#[derive(Clone, Copy)]
enum Order {
    Pause,
    Resume,
    Cancel,
}

impl Pause {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        self.which.order(Order::Pause, output)
    }
}

impl Resume {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        self.which.order(Order::Resume, output)
    }
}

impl Cancel {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        self.which.order(Order::Cancel, output)
    }
}

impl Which {
    fn order(&self, order: Order, output: &mut Output) -> Result<Ending, Stop> {
        sqlite_args::block_on(async {
            let mut office = self.office.open()?;
            let before = office.find(Some(&self.campaign)).await?;
            let id = before.id;
            let named = campaigns::campaign_ref(&id);
            let client = &mut office.campaigns;
            let done = match order {
                Order::Pause => client.pause(named).await,
                Order::Resume => client.resume(named).await,
                Order::Cancel => client.cancel(named).await,
            };
            let done = done.map_err(|status| office.refused(&status))?.into_inner();
            let record = campaigns::record("campaign", Some(done));
            let record = record.map_err(|odd| office.odd(&odd))?;
            let state = record.pace.name();
            if record.pace == before.pace {
                tell(format_args!("Campaign {id} was already {state}."));
            } else if office.is_complete(&id).await? {
                tell(format_args!(
                    "Campaign {id} is complete: its audits are {state} now."
                ));
            }
            if self.form.json() {
                output.json(&json!({
                    "version": JSON_VERSION,
                    "campaign": id,
                    "state": state,
                }))?;
            } else {
                output.line(format_args!("{id}\t{state}"))?;
            }
            Ok(Ending::Done)
        })
    }
}
