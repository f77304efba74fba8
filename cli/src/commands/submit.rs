//! `kazoe submit`: hands a campaign to a coordinator.

use kazoe_common::census::{Campaign, Counter, Cut};
use kazoe_common::estimate::numerals::grouped;
use kazoe_common::game::Variant;
use kazoe_coordinator::ledger::{CampaignState, Submitted};
use kazoe_proto::campaigns::{Submission, Target};
use kazoe_worker::self_test;
use serde_json::json;

use super::watch;
use crate::coordinator_client::{Answer, OfficeArgs};
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::quantity::{self, counted};
use crate::report::ReportForm;
use crate::{local, signals, sqlite_args, variant};

/// Submit a campaign to a coordinator, whose workers count it.
///
/// Prints the campaign's id. An existing campaign keeps its state, also if paused or cancelled; more samples
/// extend it and reuse its finished segments. The command names the requested values that do not apply to it
/// (another segment size or priority, fewer samples). With --wait it shows the progress and prints the report
/// at the end; it does not wait for a cancelled campaign.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe submit minishogi --samples 100M --coordinator http://127.0.0.1:7273
  kazoe submit shogi --samples 5G --priority 1
  kazoe submit shogi --samples 20M --wait --json > report.json")]
pub(super) struct Args {
    #[arg(help = variant::help(""), value_parser = variant::parse)]
    variant: &'static Variant,

    /// The number of samples: 10M, 5e9, 1_000_000.
    #[arg(short = 'n', long, value_name = "N", value_parser = quantity::parse, allow_hyphen_values = true)]
    samples: u64,

    /// The campaign's seed, 0 to 2^64 - 1.
    #[arg(long, value_name = "S", default_value = "1", value_parser = quantity::parse, allow_hyphen_values = true)]
    seed: u64,

    /// Blocks of 4,096 samples in a segment; fixed when a campaign begins [default: 256].
    #[arg(long, value_name = "BLOCKS", value_parser = quantity::parse, allow_hyphen_values = true)]
    segment: Option<u64>,

    /// The most positions that one search may expand; the cap is part of the campaign's identity [default:
    /// none].
    #[arg(long, value_name = "N", value_parser = quantity::parse, allow_hyphen_values = true)]
    cap: Option<u64>,

    /// Higher priorities are served first; `kazoe priority` changes it later [default: 0].
    #[arg(long, value_name = "P", value_parser = quantity::signed, allow_hyphen_values = true)]
    priority: Option<i64>,

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
        let segment_blocks = self.segment.unwrap_or(Cut::SEGMENT_BLOCKS);
        Cut::new(self.samples, segment_blocks).map_err(Stop::usage)?;
        let campaign = Campaign {
            cap: self.cap,
            ..Campaign::new(self.variant, self.seed)
        };
        let counter = Counter::new(&campaign).map_err(Stop::failed)?;
        let submission = Submission {
            target: Target::Samples(self.samples),
            segment_blocks,
            priority: self.priority.unwrap_or(0),
            self_tests: self_test::tallies(&counter),
            build: local::build(),
            campaign,
        };
        sqlite_args::block_on(self.submit(&submission, output))
    }

    async fn submit(&self, submission: &Submission, output: &mut Output) -> Result<Ending, Stop> {
        let mut office = self.office.open()?;
        let answer = office.submit(submission).await?;
        let id = answer.record.id.as_str();
        let not_taken = NotTaken::of(&answer, self.segment, self.priority);
        say(&answer, &not_taken);
        if self.wait {
            signals::leave_at_once()?;
            tell(format_args!("Campaign {id}."));
            watch::follow(&mut office, id, |_, _| Ok(())).await?;
            let form = if self.form.json() {
                ReportForm::Json
            } else {
                ReportForm::Text
            };
            output.text(&office.findings(id).await?.render(form))?;
        } else if self.form.json() {
            output.json(&document(&answer, &not_taken))?;
        } else {
            output.line(id)?;
        }
        Ok(Ending::Done)
    }
}

/// What a submission asked for that a campaign which is there already does not take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NotTaken {
    samples: Option<u64>,
    segment_blocks: Option<u64>,
    priority: Option<i64>,
}

impl NotTaken {
    /// By the coordinator's answer, where segment size and priority were asked for. One that does not report its
    /// priorities takes that of a new campaign alone.
    fn of(answer: &Answer, segment_blocks: Option<u64>, priority: Option<i64>) -> Self {
        let Answer { record, how, .. } = answer;
        NotTaken {
            samples: match *how {
                Submitted::Fewer { asked } => Some(asked),
                Submitted::New | Submitted::Existing | Submitted::Extended { .. } => None,
            },
            segment_blocks: segment_blocks.filter(|&asked| asked != record.cut.segment_blocks),
            priority: priority
                .filter(|_| *how != Submitted::New)
                .filter(|&asked| record.priority != Some(asked)),
        }
    }
}

/// Says what the submission did, how the campaign stands, and which command changes that.
fn say(answer: &Answer, not_taken: &NotTaken) {
    let Answer { record, how, .. } = answer;
    let (id, name) = (&record.id, record.campaign.variant.name);
    let wanted = grouped(record.cut.samples);
    let complete = answer.complete == Some(true);
    tell(match *how {
        Submitted::New => format!("New campaign of {name} with {wanted} samples."),
        Submitted::Existing if complete => {
            format!("The campaign of {name} with {wanted} samples is complete.")
        }
        Submitted::Existing => {
            format!("The campaign of {name} with {wanted} samples exists already.")
        }
        Submitted::Extended { from } => {
            format!(
                "Extended from {} to {wanted} samples of {name}.",
                grouped(from)
            )
        }
        Submitted::Fewer { asked } => format!(
            "The campaign of {name} has more samples, {wanted}, than the requested {}; they stay{}.",
            grouped(asked),
            if complete { ", and it is complete" } else { "" }
        ),
    });
    if !complete && record.pace != CampaignState::Running {
        tell(format_args!(
            "It is {}, so its segments are not computed; `kazoe resume {id}` resumes it.",
            record.pace.name()
        ));
    }
    if let Some(asked) = not_taken.segment_blocks {
        tell(format_args!(
            "Its segments have {}, not {}; that was fixed when it began.",
            counted(record.cut.segment_blocks, "block"),
            grouped(asked)
        ));
    }
    if let Some(asked) = not_taken.priority {
        let now = record
            .priority
            .map_or_else(String::new, |priority| format!(" {priority}"));
        tell(format_args!(
            "Its priority stays{now}, not {asked}; `kazoe priority {id} {asked}` changes it."
        ));
    }
}

fn document(answer: &Answer, not_taken: &NotTaken) -> serde_json::Value {
    let Answer {
        record,
        how,
        complete,
    } = answer;
    let mut missed = serde_json::Map::new();
    if let Some(samples) = not_taken.samples {
        missed.insert("samples".to_owned(), samples.into());
    }
    if let Some(blocks) = not_taken.segment_blocks {
        missed.insert("segment_blocks".to_owned(), blocks.into());
    }
    if let Some(priority) = not_taken.priority {
        missed.insert("priority".to_owned(), priority.into());
    }
    json!({
        "version": JSON_VERSION,
        "campaign": record.id,
        "wanted_samples": record.cut.samples,
        "segment_blocks": record.cut.segment_blocks,
        "submission": how.name(),
        "state": record.state(*complete == Some(true)),
        "priority": record.priority,
        "not_taken": missed,
    })
}
