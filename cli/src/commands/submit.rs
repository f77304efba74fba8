//! `kazoe submit`: hands a campaign to a coordinator.

use kazoe_common::census::{Campaign, Counter, Cut};
use kazoe_common::estimate::numerals::grouped;
use kazoe_common::game::Variant;
use kazoe_coordinator::ledger::Submitted;
use kazoe_proto::campaigns::{Submission, Target};
use kazoe_worker::proof;
use serde_json::json;

use super::watch;
use crate::ending::{Ending, Stop};
use crate::office::OfficeArgs;
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::report::ReportForm;
use crate::{local, quantity, signals, store, variant};

/// Hand a campaign to a coordinator, whose workers count it.
///
/// Prints the campaign's id. A campaign that is there already goes on; more samples extend it, and
/// whatever is finished is reused. With --wait the progress is shown, and at the end the report printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe submit minishogi --samples 100M --coordinator http://127.0.0.1:7273
  kazoe submit shogi --samples 5G --priority 1
  kazoe submit shogi --samples 20M --wait --json > report.json")]
pub(super) struct Args {
    /// The game: shogi or minishogi.
    #[arg(value_parser = variant::parse)]
    variant: &'static Variant,

    /// How many samples: 10M, 5e9, 1_000_000.
    #[arg(short = 'n', long, value_name = "N", value_parser = quantity::parse, allow_hyphen_values = true)]
    samples: u64,

    /// The campaign's seed, 0 to 2^64 - 1.
    #[arg(long, value_name = "S", default_value = "1", value_parser = quantity::parse, allow_hyphen_values = true)]
    seed: u64,

    /// Blocks of 4,096 samples in a segment; fixed when a campaign begins.
    #[arg(long, value_name = "BLOCKS", default_value = "256", value_parser = quantity::parse, allow_hyphen_values = true)]
    segment: u64,

    /// The most positions that one search may expand; such a campaign is another one [default: none].
    #[arg(long, value_name = "N", value_parser = quantity::parse, allow_hyphen_values = true)]
    cap: Option<u64>,

    /// Higher ones are served first; it counts when a campaign begins.
    #[arg(
        long,
        value_name = "P",
        default_value = "0",
        allow_hyphen_values = true
    )]
    priority: i64,

    /// Wait until it is complete, and print the report.
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    office: OfficeArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        Cut::new(self.samples, self.segment).map_err(Stop::usage)?;
        let campaign = Campaign {
            cap: self.cap,
            ..Campaign::new(self.variant, self.seed)
        };
        let counter = Counter::new(&campaign).map_err(Stop::failed)?;
        let submission = Submission {
            target: Target::Samples(self.samples),
            segment_blocks: self.segment,
            priority: self.priority,
            self_tests: proof::tallies(&counter),
            build: local::build(),
            campaign,
        };
        store::block_on(self.submit(&submission, output))
    }

    async fn submit(&self, submission: &Submission, output: &mut Output) -> Result<Ending, Stop> {
        let mut office = self.office.open()?;
        let (record, how) = office.submit(submission).await?;
        let id = record.campaign.id();
        let name = submission.campaign.variant.name;
        let wanted = grouped(record.cut.samples);
        tell(match how {
            Submitted::New => format!("New campaign of {name} with {wanted} samples."),
            Submitted::Existing => {
                format!("The campaign of {name} with {wanted} samples is there already.")
            }
            Submitted::Extended { from } => {
                format!(
                    "Extended from {} to {wanted} samples of {name}.",
                    grouped(from)
                )
            }
            Submitted::Fewer { asked } => format!(
                "The campaign of {name} has more samples, {wanted}, than the {} asked for now; they stay.",
                grouped(asked)
            ),
        });
        if self.wait {
            signals::leave_at_once()?;
            tell(format_args!("Campaign {id}."));
            watch::follow(&mut office, &id, |_, _| Ok(())).await?;
            let form = if self.form.json() {
                ReportForm::Json
            } else {
                ReportForm::Text
            };
            output.text(&office.findings(&id).await?.render(form))?;
        } else if self.form.json() {
            output.json(&json!({
                "version": JSON_VERSION,
                "campaign": id,
                "wanted_samples": record.cut.samples,
                "segment_blocks": record.cut.segment_blocks,
                "submission": match how {
                    Submitted::New => "new",
                    Submitted::Existing => "existing",
                    Submitted::Extended { .. } => "extended",
                    Submitted::Fewer { .. } => "fewer",
                },
            }))?;
        } else {
            output.line(id)?;
        }
        Ok(Ending::Done)
    }
}
