//! `kazoe purge`, `resolve`, `retry`: what an operator does about single tallies and segments.

use std::sync::Arc;

use clap::ArgGroup;
use clap_complete::engine::ArgValueCompleter;
use kazoe_common::census::SegmentResult;
use kazoe_common::census::{Counter, Segment};
use kazoe_common::estimate::numerals::grouped;
use kazoe_proto::admin::{self, Purge as Purged, Whose};
use kazoe_worker::compute::Engine;
use kazoe_worker::stop::Stop as StopRequest;
use kazoe_worker::work_source::Job;

use crate::completion::ids;
use crate::coordinator_client::OfficeArgs;
use crate::exit::{Ending, Stop};
use crate::output::{Output, tell};
use crate::quantity::{self, counted};
use crate::{local, sqlite_args};

/// Retract untrusted tallies; their segments are computed again.
///
/// It retracts the tallies of a worker, an owner or a build in a campaign that no other owner confirmed; the
/// estimate's prefix becomes shorter. Nothing is deleted: the audit log has the operator and the reason. To
/// exclude the owner, revoke its tokens first.
#[derive(Debug, clap::Args)]
#[command(
    group(ArgGroup::new("whose").required(true).args(["worker", "owner", "build", "segment"])),
    after_help = "\
Examples:
  kazoe purge shogi --worker w-1a2b3c --why 'its memory is broken'
  kazoe purge shogi --owner 'Some Lab' --why 'moved counts' --coordinator http://127.0.0.1:7273
  kazoe purge 3f2a --build 'kazoe 0.1.0' --why 'a fault in that build'
  kazoe purge 3f2a --segment 17 --why 'to be computed again'"
)]
pub(super) struct Purge {
    /// The campaign: its id or the beginning of it, or a game, of which it is the newest.
    #[arg(add = ArgValueCompleter::new(ids::campaigns))]
    campaign: String,

    /// The tallies of this worker.
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(ids::workers))]
    worker: Option<String>,

    /// The tallies of all workers of this owner.
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,

    /// The tallies of this build.
    #[arg(long, value_name = "NAME")]
    build: Option<String>,

    /// The tally of this segment, confirmed or not.
    #[arg(long, value_name = "N", value_parser = quantity::parse)]
    segment: Option<Segment>,

    /// The reason, for the audit log.
    #[arg(long, value_name = "REASON")]
    why: String,

    #[command(flatten)]
    office: OfficeArgs,
}

impl Purge {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let whose = self
            .worker
            .clone()
            .map(Whose::Worker)
            .or_else(|| self.owner.clone().map(Whose::Owner))
            .or_else(|| self.build.clone().map(Whose::Build))
            .or_else(|| self.segment.map(Whose::Segment))
            .ok_or_else(|| {
                Stop::usage("no tallies selected: name --worker, --owner, --build or --segment")
            })?;
        sqlite_args::block_on(async {
            let mut office = self.office.open()?;
            let campaign = office.find(Some(&self.campaign)).await?.id;
            let why = self.why.clone();
            let purge = Purged {
                campaign,
                whose,
                why,
            };
            let done = office.admin.purge(admin::purge_request(&purge)).await;
            let done = done.map_err(|status| office.refused(&status))?.into_inner();
            output.line(format_args!(
                "{}\t{} retracted",
                purge.campaign,
                counted(done.segments, "segment")
            ))?;
            Ok(Ending::Done)
        })
    }
}

/// Decide a disputed segment: compute it here and deliver the tally, which is accepted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe resolve shogi 17 --coordinator http://127.0.0.1:7273
  kazoe resolve 3f2a 17")]
pub(super) struct Resolve {
    /// The campaign: its id or the beginning of it, or a game, of which it is the newest.
    #[arg(add = ArgValueCompleter::new(ids::campaigns))]
    campaign: String,

    /// The segment.
    #[arg(value_parser = quantity::parse)]
    segment: Segment,

    #[command(flatten)]
    office: OfficeArgs,
}

impl Resolve {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        sqlite_args::block_on(async {
            let mut office = self.office.open()?;
            let record = office.find(Some(&self.campaign)).await?;
            let (segment, cut) = (self.segment, record.cut);
            if segment >= cut.segments() {
                return Err(Stop::usage(format_args!(
                    "campaign {} has the segments 0 to {}",
                    record.id,
                    cut.segments() - 1
                )));
            }
            let job = Job {
                lease: 0,
                segment,
                first_block: segment * cut.segment_blocks,
                samples: cut.samples_of(segment),
            };
            tell(format_args!(
                "Computing segment {segment} of campaign {}: {} samples.",
                record.id,
                grouped(job.samples)
            ));
            let counter = Counter::new(&record.campaign).map_err(Stop::failed)?;
            let finished = compute(counter, job).await?;
            let request = admin::resolve_request(&record.id, &finished);
            let done = office.admin.resolve(request).await;
            done.map_err(|status| office.refused(&status))?;
            output.line(format_args!(
                "{}\tsegment {segment}\t{}",
                record.id, finished.tally.digest
            ))?;
            Ok(Ending::Done)
        })
    }
}

/// Computes one segment on all cores.
async fn compute(counter: Counter, job: Job) -> Result<SegmentResult, Stop> {
    let stop = Arc::new(StopRequest::new());
    let (engine, mut finished) = Engine::start(local::cores(), stop).map_err(Stop::failed)?;
    engine.push(&Arc::new(counter), [job]);
    engine.close();
    let computed = finished.recv().await;
    let (_, result) =
        computed.ok_or_else(|| Stop::failed("the threads ended before they were done"))?;
    Ok(result)
}

/// Retry a segment that was set aside.
///
/// A segment is set aside after three workers that leased it alone were lost; it then counts as undecided, and
/// the rest of the campaign continues.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe retry shogi 17 --coordinator http://127.0.0.1:7273
  kazoe retry 3f2a 17")]
pub(super) struct Retry {
    /// The campaign: its id or the beginning of it, or a game, of which it is the newest.
    #[arg(add = ArgValueCompleter::new(ids::campaigns))]
    campaign: String,

    /// The segment.
    #[arg(value_parser = quantity::parse)]
    segment: Segment,

    #[command(flatten)]
    office: OfficeArgs,
}

impl Retry {
    pub(super) fn run(&self, _: &mut Output) -> Result<Ending, Stop> {
        sqlite_args::block_on(async {
            let mut office = self.office.open()?;
            let id = office.find(Some(&self.campaign)).await?.id;
            let request = admin::retry_request(&id, self.segment);
            let done = office.admin.retry(request).await;
            let done = done.map_err(|status| office.refused(&status))?.into_inner();
            if done.was_set_aside {
                tell(format_args!("Segment {} will be retried.", self.segment));
                return Ok(Ending::Done);
            }
            Err(Stop::failed(format_args!(
                "segment {} of campaign {id} is not set aside",
                self.segment
            )))
        })
    }
}
