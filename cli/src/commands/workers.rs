//! `kazoe workers`, `kazoe drain` and `kazoe reclaim`.

use clap_complete::engine::ArgValueCompleter;
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::progress::duration;
use kazoe_proto::admin::{self, Worker};
use kazoe_proto::v1;
use serde_json::{Value, json};

use crate::completion::ids;
use crate::ending::{Ending, Stop};
use crate::office::OfficeArgs;
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::quantity::counted;
use crate::store;

/// List a coordinator's workers: those at work, idle or leaving, and with --all those that are gone.
///
/// One a line below a header, between tabs. A worker is at work as long as it holds a lease, and gone when it said
/// that it left, or was silent for as long as a lease holds, 30 seconds at least. The name is what people call its
/// machine. Accepted are the segments that count with its tally; audited those of them that another owner got as
/// well; disagreed its tallies that a ruling found to differ from what counts; disputed those of which it is not
/// known yet who is right.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe workers --coordinator http://127.0.0.1:7273
  kazoe workers --all
  kazoe workers --json | jq 'select(.disagreed > 0)'")]
pub(super) struct Args {
    /// Also those that are gone: all that were heard within a day, or that ever held a lease.
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    office: OfficeArgs,

    #[command(flatten)]
    form: FormArgs,
}

const HEADER: &str = "worker\tname\towner\tbuild\tthreads\tsamples/s\tleases\taccepted\taudited\tdisagreed\t\
                      disputed\theard\tstate";

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        store::block_on(async {
            let mut office = self.office.open()?;
            let request = v1::WorkersRequest { all: self.all };
            let listed = office.admin.workers(request).await;
            let listed = listed.map_err(|status| office.refused(&status))?;
            let listed = listed.into_inner();
            let left_out = listed.left_out;
            let workers = admin::workers(listed).map_err(|odd| office.odd(&odd))?;
            if self.form.json() {
                for one in &workers {
                    output.json(&document(one))?;
                }
            } else if !workers.is_empty() {
                output.line(HEADER)?;
                for one in &workers {
                    output.line(line(one))?;
                }
            }
            if workers.is_empty() {
                tell(if self.all {
                    "No worker has joined within a day, and none before that held a lease."
                } else {
                    "No worker is here; with --all those that are gone are listed."
                });
            }
            if left_out > 0 {
                tell(format_args!(
                    "{} that were heard earlier are left out.",
                    counted(left_out, "worker")
                ));
            }
            Ok(Ending::Done)
        })
    }
}

fn document(one: &Worker) -> Value {
    json!({
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
        "state": one.presence.name(),
        "name": one.name,
        "disputed": one.disputed,
    })
}

fn line(one: &Worker) -> String {
    let speed = one.samples_per_second;
    format!(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{} ago\t{}",
        one.worker,
        one.name.as_deref().unwrap_or("-"),
        one.owner,
        one.build,
        one.threads,
        speed.map_or_else(|| "-".to_owned(), grouped),
        one.leases,
        one.accepted,
        one.audited,
        one.disagreed,
        one.disputed,
        duration(one.silent.as_secs()),
        one.presence.name(),
    )
}

/// Drain a worker: it gets no more leases, delivers what it has begun, and exits.
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
            let told = told.map_err(|status| office.refused(&status))?;
            if told.into_inner().gone {
                tell(format_args!("{} is gone already.", self.worker));
            } else {
                tell(format_args!(
                    "{} is lent nothing more, and leaves when what it has begun is done.",
                    self.worker
                ));
            }
            Ok(Ending::Done)
        })
    }
}

/// Take leases back from a worker that holds them and does not compute: others get their segments.
///
/// A lease of a dead worker expires by itself. This is for what does not: a worker that hangs and still says that
/// it is alive, or a database whose clock was set. If the worker lives it stops computing what was taken back; a
/// tally that it still delivers is compared with the others. Nothing is deleted, and the audit log says who
/// did it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe reclaim w-1a2b3c --coordinator http://127.0.0.1:7273
  kazoe reclaim 1234                                       the lease that the log calls lease=1234")]
pub(super) struct Reclaim {
    /// The worker's id, for all leases that it holds; or the number of one lease.
    #[arg(value_name = "WORKER|LEASE", add = ArgValueCompleter::new(ids::workers))]
    whose: String,

    #[command(flatten)]
    office: OfficeArgs,
}

impl Reclaim {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let whose = match self.whose.parse() {
            Ok(lease) => admin::Reclaim::Lease(lease),
            Err(_) => admin::Reclaim::Worker(self.whose.clone()),
        };
        store::block_on(async {
            let mut office = self.office.open()?;
            let done = office.admin.reclaim(admin::reclaim_request(&whose)).await;
            let done = done.map_err(|status| office.refused(&status))?.into_inner();
            if done.leases == 0 {
                return Err(Stop::failed(match whose {
                    admin::Reclaim::Worker(worker) => format!("the worker {worker} holds no lease"),
                    admin::Reclaim::Lease(lease) => format!("the lease {lease} has ended already"),
                }));
            }
            output.line(format_args!(
                "{}\t{} taken back\t{} for others",
                self.whose,
                counted(done.leases, "lease"),
                counted(done.segments, "segment")
            ))?;
            Ok(Ending::Done)
        })
    }
}
