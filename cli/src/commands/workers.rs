//! `kazoe workers`, `kazoe drain` and `kazoe reclaim`.

use clap_complete::engine::ArgValueCompleter;
use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::progress::duration;
use kazoe_proto::admin::{self, Worker};
use kazoe_proto::v1;
use serde_json::{Value, json};

use crate::completion::ids;
use crate::coordinator_client::OfficeArgs;
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, JSON_VERSION, Output, tell};
use crate::quantity::counted;
use crate::sqlite_args;

/// List a coordinator's workers: those at work, idle or leaving, and with --all those that are gone.
///
/// One worker a line below a header, separated by tabs. A worker is at work while it holds a lease, and gone
/// when it has left or was silent for the hold of a lease, 30 seconds at least. The name is an unverified label
/// of its machine. Accepted: segments with an accepted tally of this worker. Audited: accepted segments that
/// another owner confirmed. Disagreed: its tallies that a ruling found wrong. Disputed: its tallies in open
/// disputes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe workers --coordinator http://127.0.0.1:7273
  kazoe workers --all
  kazoe workers --json | jq 'select(.disagreed > 0)'")]
pub(super) struct Args {
    /// Include workers that are gone: all that were heard within a day, or that ever held a lease.
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
        sqlite_args::block_on(async {
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
                    "No worker was heard within a day, and no earlier worker held a lease."
                } else {
                    "No worker is present; --all lists the workers that are gone."
                });
            }
            if left_out > 0 {
                tell(format_args!(
                    "{} heard earlier are omitted.",
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
        sqlite_args::block_on(async {
            let mut office = self.office.open()?;
            let request = v1::DrainRequest {
                worker: self.worker.clone(),
            };
            let answer = office.admin.drain(request).await;
            let answer = answer.map_err(|status| office.refused(&status))?;
            if answer.into_inner().gone {
                tell(format_args!("{} is already gone.", self.worker));
            } else {
                tell(format_args!(
                    "{} gets no more leases; it finishes and delivers its current segments, and exits.",
                    self.worker
                ));
            }
            Ok(Ending::Done)
        })
    }
}

/// Revoke leases of a worker that does not compute: their segments are reassigned.
///
/// A lease of a dead worker expires by itself. Use this for other leases: of a worker that hangs and still
/// sends heartbeats, or after a change of the database's clock. A live worker stops computing the revoked
/// segments; a tally that it still delivers is compared with the others. Nothing is deleted, and the audit log
/// names the operator.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe reclaim w-1a2b3c --coordinator http://127.0.0.1:7273
  kazoe reclaim 1234                                       the lease that the log calls lease=1234")]
pub(super) struct Reclaim {
    /// The worker's id, for all its leases; or the number of one lease.
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
        sqlite_args::block_on(async {
            let mut office = self.office.open()?;
            let done = office.admin.reclaim(admin::reclaim_request(&whose)).await;
            let done = done.map_err(|status| office.refused(&status))?.into_inner();
            if done.leases == 0 {
                return Err(Stop::failed(match whose {
                    admin::Reclaim::Worker(worker) => format!("the worker {worker} holds no lease"),
                    admin::Reclaim::Lease(lease) => format!("the lease {lease} has already ended"),
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
