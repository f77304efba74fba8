//! `kazoe workers` and `kazoe drain`.

use clap_complete::engine::ArgValueCompleter;
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::progress::duration;
use kazoe_proto::{admin, v1};
use serde_json::json;

use crate::completion::ids;
use crate::ending::{Ending, Stop};
use crate::office::OfficeArgs;
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::store;

/// List a coordinator's workers.
///
/// One a line: id, owner, build, threads, samples a second, leases, accepted, audited, disagreed, heard
/// how long ago, state; between tabs. Accepted are the segments that count with its tally; audited those
/// of them that another owner got as well; disagreed its tallies that differ from what counts, or are
/// disputed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe workers --coordinator http://127.0.0.1:7273
  kazoe workers --json | jq 'select(.disagreed > 0)'")]
pub(super) struct Args {
    #[command(flatten)]
    office: OfficeArgs,

    #[command(flatten)]
    form: FormArgs,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        store::block_on(async {
            let mut office = self.office.open()?;
            let listed = office.admin.workers(v1::WorkersRequest {}).await;
            let listed = listed.map_err(|status| office.refused(&status))?;
            let workers = admin::workers(listed.into_inner()).map_err(|odd| office.odd(&odd))?;
            for one in workers {
                let state = if one.drained {
                    "leaving"
                } else if one.leases > 0 {
                    "at work"
                } else {
                    "idle"
                };
                if self.form.json() {
                    output.json(&json!({
                        "version": JSON_VERSION,
                        "worker": one.worker,
                        "owner": one.owner,
                        "build": one.build,
                        "threads": one.threads,
                        "samples_per_second": one.samples_per_second,
                        "leases": one.leases,
                        "accepted": one.accepted,
                        "audited": one.audited,
                        "disagreed": one.disagreed,
                        "silent_ms": u64::try_from(one.silent.as_millis()).unwrap_or(u64::MAX),
                        "state": state,
                    }))?;
                } else {
                    output.line(format_args!(
                        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{state}",
                        one.worker,
                        one.owner,
                        one.build,
                        one.threads,
                        one.samples_per_second
                            .map_or_else(|| "-".to_owned(), grouped),
                        one.leases,
                        one.accepted,
                        one.audited,
                        one.disagreed,
                        duration(one.silent.as_secs()),
                    ))?;
                }
            }
            Ok(Ending::Done)
        })
    }
}

/// Tell a worker to leave: it is lent nothing more, hands in what it has begun, and ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe drain w-1a2b3c --coordinator http://127.0.0.1:7273
  kazoe workers | grep 'Tanaka Lab' | cut -f1 | xargs -n1 kazoe drain")]
pub(super) struct Drain {
    /// The worker's id.
    #[arg(add = ArgValueCompleter::new(ids::workers))]
    worker: String,

    #[command(flatten)]
    office: OfficeArgs,
}

impl Drain {
    pub(super) fn run(&self, _: &mut Output) -> Result<Ending, Stop> {
        store::block_on(async {
            let mut office = self.office.open()?;
            let request = v1::DrainRequest {
                worker: self.worker.clone(),
            };
            let told = office.admin.drain(request).await;
            told.map_err(|status| office.refused(&status))?;
            tell(format_args!(
                "{} is lent nothing more, and leaves when what it has begun is done.",
                self.worker
            ));
            Ok(Ending::Done)
        })
    }
}
