//! `kazoe run`: count on this machine.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kazoe_common::census::{BLOCK, Campaign, Counter, Cut};
use kazoe_common::estimate::numerals::grouped;
use kazoe_common::game::Variant;
use kazoe_common::population::Candidates;
use kazoe_coordinator::ledger::{CampaignRecord, Ledger, LocalStore, Snapshot, Submitted};
use kazoe_coordinator::progress::{self, took};
use kazoe_worker::session::Progress as Session;
use kazoe_worker::stop::Stop as StopRequest;

use crate::exit::{Ending, Stop};
use crate::local::{self, SEGMENT_BLOCKS};
use crate::output::{FormArgs, Output, tell};
use crate::progress::Progress;
use crate::quantity::{self, counted};
use crate::report::{Findings, ReportForm, next_command};
use crate::rlimits;
use crate::signals;
use crate::sqlite_args::{self, StoreArgs};
use crate::threads::Threads;
use crate::variant;

/// Samples of a campaign without `--samples`.
const SAMPLES: u64 = 10_000_000;

/// How often the running estimate is made.
const LOOK: Duration = Duration::from_secs(1);

/// Count a game's reachable positions on this machine.
///
/// Begins a campaign, resumes it, or extends it to more samples: the database has every finished segment.
/// Ctrl-C saves and stops; the same command resumes. It ends with the report (see 'kazoe report --help').
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe run                                   mini shogi, 10 million samples
  kazoe run shogi --samples 5M --threads max-1
  kazoe run minishogi --samples 100M          extends the campaign of 10 million
  kazoe run shogi --seed 2 --db second.db --json > report.json")]
pub(super) struct Args {
    #[arg(help = variant::help(""), default_value = "minishogi", value_parser = variant::parse)]
    variant: &'static Variant,

    /// The number of samples: 10M, 5e9, 1_000_000 [default: those of the campaign, or 10M].
    #[arg(short = 'n', long, value_name = "N", value_parser = quantity::parse, allow_hyphen_values = true)]
    samples: Option<u64>,

    /// The campaign's seed, 0 to 2^64 - 1.
    #[arg(long, value_name = "S", default_value = "1", value_parser = quantity::parse, allow_hyphen_values = true)]
    seed: u64,

    /// The number of threads: a number, max, or max-1 [default: max, all that the system allows].
    #[arg(short = 't', long, value_name = "T", value_parser = Threads::parse, allow_hyphen_values = true)]
    threads: Option<Threads>,

    /// Blocks of 4,096 samples in a segment; fixed when a campaign begins [default: 64].
    #[arg(long, value_name = "BLOCKS", value_parser = quantity::parse, allow_hyphen_values = true)]
    segment: Option<u64>,

    /// The most positions that one search may expand; the cap is part of the campaign's identity [default:
    /// none].
    #[arg(long, value_name = "N", value_parser = quantity::parse, allow_hyphen_values = true)]
    cap: Option<u64>,

    #[command(flatten)]
    store: StoreArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        // What can't be is refused before a file is made.
        Cut::new(
            self.samples.unwrap_or(SAMPLES),
            self.segment.unwrap_or(SEGMENT_BLOCKS),
        )
        .map_err(Stop::usage)?;
        sqlite_args::block_on(self.count(output))
    }

    async fn count(&self, output: &mut Output) -> Result<Ending, Stop> {
        let campaign = Campaign {
            cap: self.cap,
            ..Campaign::new(self.variant, self.seed)
        };
        let stop = Arc::new(StopRequest::new());
        let counter = Arc::new(Counter::new(&campaign).map_err(Stop::failed)?);
        let ledger = self.store.write().await?;
        signals::ask(Arc::clone(&stop))?;
        let (record, before) = self.begin(&ledger, &campaign, &counter).await?;
        if !before.is_complete() {
            self.compute(&ledger, &record, &before, counter, &stop)
                .await?;
        }
        let after = ledger.snapshot(&record.id).await.map_err(Stop::failed)?;
        if !after.is_complete() {
            ledger.close().await.map_err(Stop::failed)?;
            return Ok(self.unfinished(&record, &after));
        }
        let findings = Findings::gather(&ledger, record, &self.store).await?;
        // The report says where the campaign is stored.
        ledger.close().await.map_err(Stop::failed)?;
        let form = if self.form.json() {
            ReportForm::Json
        } else {
            ReportForm::Text
        };
        output.text(&findings.render(form))?;
        Ok(Ending::Done)
    }

    /// Submits, resumes or extends the campaign, and says which.
    async fn begin(
        &self,
        ledger: &LocalStore,
        campaign: &Campaign,
        counter: &Counter,
    ) -> Result<(CampaignRecord, Snapshot), Stop> {
        let known = ledger.campaigns().await.map_err(Stop::failed)?;
        let known = known.iter().find(|record| record.campaign == *campaign);
        let samples = self
            .samples
            .or(known.map(|record| record.cut.samples))
            .unwrap_or(SAMPLES);
        let blocks = self
            .segment
            .or(known.map(|record| record.cut.segment_blocks))
            .unwrap_or(SEGMENT_BLOCKS);
        let cut = Cut::new(samples, blocks).map_err(Stop::usage)?;
        let (record, how) = local::begin(ledger, campaign.clone(), cut, counter)
            .await
            .map_err(Stop::failed)?;
        let snapshot = ledger.snapshot(&record.id).await.map_err(Stop::failed)?;
        let (name, id) = (campaign.variant.name, &record.id);
        let (wanted, there) = (
            grouped(record.cut.samples),
            grouped(snapshot.accepted_samples),
        );
        let path = self.store.path.display();
        tell(match how {
            Submitted::New => format!(
                "Counting {name} with {wanted} samples, seed {}: campaign {id} in {path}.",
                campaign.seed
            ),
            Submitted::Extended { from } => format!(
                "Extending campaign {id} of {name} in {path} from {} to {wanted} samples: {there} \
                 are finished{}.",
                grouped(from),
                if from % (record.cut.segment_blocks * BLOCK) == 0 {
                    ""
                } else {
                    ", and the last segment, which was cut short, is counted again whole"
                }
            ),
            Submitted::Existing | Submitted::Fewer { .. } if snapshot.is_complete() => {
                format!("Campaign {id} of {name} in {path} is complete: {wanted} samples.")
            }
            Submitted::Existing | Submitted::Fewer { .. } => format!(
                "Resuming campaign {id} of {name} in {path}: {there} of {wanted} samples are finished."
            ),
        });
        if let Submitted::Fewer { asked } = how {
            tell(format_args!(
                "It has more samples than the requested {}; they stay.",
                grouped(asked)
            ));
        }
        if record.cut.segment_blocks != blocks {
            tell(format_args!(
                "Its segments have {}, not {}; that was fixed when it began.",
                counted(record.cut.segment_blocks, "block"),
                grouped(blocks)
            ));
        }
        Ok((record, snapshot))
    }

    /// Works until the campaign is complete or a stop is requested.
    async fn compute(
        &self,
        ledger: &LocalStore,
        record: &CampaignRecord,
        before: &Snapshot,
        counter: Arc<Counter>,
        stop: &Arc<StopRequest>,
    ) -> Result<(), Stop> {
        let threads = self.threads.unwrap_or_default().number();
        rlimits::leave_cpu_time_to_stop(threads);
        let campaign = &record.campaign;
        let candidates = Candidates::new(campaign.variant).map_err(Stop::failed)?;
        let estimate =
            |at: &Snapshot| progress::estimate(campaign, candidates.size(), &at.prefix.counted());
        let mut progress = Progress::new(record.cut.samples, before.accepted_samples);
        progress.set_estimate(estimate(before));
        let mut looked = Instant::now();
        let show = |session: &Session, at: &Snapshot| {
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                progress.set_estimate(estimate(at));
            }
            let begun = session.computed.saturating_sub(session.delivered);
            progress.set(at.accepted_samples + begun, session.rate);
        };
        let all = 0..record.cut.segments();
        let worked = local::run(
            ledger,
            record,
            counter,
            all,
            threads,
            Arc::clone(stop),
            show,
        )
        .await;
        progress.end();
        let (summary, _) = worked.map_err(Stop::failed)?;
        tell(format_args!(
            "{} computed in {} on {}.",
            counted(summary.progress.delivered, "sample"),
            took(summary.progress.elapsed),
            counted(threads as u64, "thread")
        ));
        Ok(())
    }

    /// Says how to go on.
    fn unfinished(&self, record: &CampaignRecord, after: &Snapshot) -> Ending {
        let (there, wanted) = (grouped(after.accepted_samples), grouped(record.cut.samples));
        tell(format_args!(
            "Saved: {there} of {wanted} samples. To resume: {}",
            next_command::run(&record.campaign, Some(record.cut.samples), &self.store)
        ));
        Ending::Interrupted
    }
}
