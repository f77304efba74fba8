//! `kazoe worker`: computes for a coordinator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kazoe_common::estimate::numerals::grouped;
use kazoe_coordinator::progress::duration;
use kazoe_proto::name::label;
use kazoe_worker::remote::{Habits, RemoteSource};
use kazoe_worker::self_test;
use kazoe_worker::session::{Pattern, Progress, SessionError, work};
use kazoe_worker::stop::{Order, Stop as StopRequest};
use tracing::{error, info};

use crate::coordinator_client::OfficeArgs;
use crate::exit::{Ending, Stop};
use crate::logging::LogArgs;
use crate::settings::{Settings, SettingsArgs};
use crate::threads::Threads;
use crate::{duration_arg, local, rlimits, signals, sqlite_args};

/// How often the log shows what was done.
const RHYTHM: Duration = Duration::from_secs(60);

/// Compute for a coordinator until stopped.
///
/// It claims segments, computes them on its threads and delivers the tallies. It writes nothing to disk, runs
/// no code from the network, and connects to the coordinator alone. While the coordinator is unavailable it
/// retries for hours. On SIGTERM or Ctrl-C it finishes and delivers the segments that are nearly done, returns
/// the rest and exits within seconds; on a second signal at once. The coordinator reassigns undelivered
/// segments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe worker --coordinator http://127.0.0.1:7273
  kazoe worker --coordinator https://kazoe.example:7273 --token-file worker.token --threads max-1
  kazoe worker --nice 10 --max-load 2 --hours 8            on a machine that is lent for the night
  kazoe worker --name rack-7                               a label for 'kazoe workers'
  kazoe worker --idle-exit 10m                             in a batch system
  kazoe worker --proxy http://proxy.lab:3128               through a proxy
  kazoe worker --config worker.toml                        settings from a file; see --print-config

Memory: some 60 MB with two threads, a few MB for each further one, and the tallies of at most two leases.")]
pub(super) struct Args {
    #[command(flatten)]
    office: OfficeArgs,

    /// The number of threads: a number, max, or max-1 [default: max, all that the system allows].
    #[arg(short = 't', long, value_name = "T", value_parser = Threads::parse, allow_hyphen_values = true)]
    threads: Option<Threads>,

    /// A name for this machine: an unverified label in the coordinator's lists and logs [default: the host's
    /// name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Exit after one lease.
    #[arg(long)]
    once: bool,

    /// Exit after this time without work; with code 1 if the coordinator was never reached.
    #[arg(long, value_name = "TIME", value_parser = duration_arg::parse)]
    idle_exit: Option<Duration>,

    /// Exit after N hours.
    #[arg(long, value_name = "H", value_parser = duration_arg::hours)]
    hours: Option<Duration>,

    /// The timeout of the coordinator's answers, after which the worker reconnects; at least 3s.
    #[arg(long, value_name = "TIME", default_value = "1m", value_parser = duration_arg::parse)]
    silence: Duration,

    /// The nice value, which lowers the priority: 0 to 19.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..=19))]
    nice: Option<i32>,

    /// Claim nothing while the machine's load, without the worker's own threads, is above this.
    #[arg(long, value_name = "LOAD")]
    max_load: Option<f64>,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    settings: SettingsArgs,
}

impl Args {
    pub(super) fn run(&self, settings: Option<&Settings>) -> Result<Ending, Stop> {
        if self.silence < Duration::from_secs(3) {
            return Err(Stop::usage("--silence must be at least 3s"));
        }
        self.log.begin(settings);
        let mut link = self.office.link()?;
        link.silence = self.silence;
        if let Some(nice) = self.nice {
            rlimits::be_nice(nice).map_err(|error| {
                Stop::failed(format_args!("raising the nice value failed: {error}"))
            })?;
        }
        let threads = self.threads.unwrap_or_default().number();
        rlimits::leave_cpu_time_to_stop(threads);
        let stop = Arc::new(StopRequest::new());
        signals::obey(Arc::clone(&stop))?;
        let habits = Habits {
            build: local::build(),
            name: label(self.name.as_deref().unwrap_or(&local::host())),
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            once: self.once,
            idle_exit: self.idle_exit,
            most_load: self.max_load,
        };
        let proof = self_test::known().map_err(Stop::failed)?;
        sqlite_args::block_on(async {
            // It holds a channel, which belongs to a runtime.
            let desk = RemoteSource::new(&link, habits, proof, Arc::clone(&stop));
            let desk = desk.map_err(Stop::usage)?;
            self.work(desk, threads, stop).await
        })
    }

    async fn work(
        &self,
        mut desk: RemoteSource,
        threads: usize,
        stop: Arc<StopRequest>,
    ) -> Result<Ending, Stop> {
        let tale = desk.stats();
        let over = Arc::new(AtomicBool::new(false));
        if let Some(hours) = self.hours {
            let (stop, over) = (Arc::clone(&stop), Arc::clone(&over));
            tokio::spawn(async move {
                tokio::time::sleep(hours).await;
                info!("the time limit is reached; exiting");
                over.store(true, Ordering::Release);
                stop.request();
            });
        }
        let mut logged = Instant::now();
        let tell = |progress: &Progress| {
            if logged.elapsed() >= RHYTHM {
                logged = Instant::now();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a rate for people, at least 0"
                )]
                let rate = grouped(progress.rate as u64);
                info!("{rate} samples a second; {tale}");
            }
        };
        let done = work(&mut desk, Pattern::new(threads), Arc::clone(&stop), tell).await;
        desk.leave().await;
        match done {
            Ok(summary) => {
                let by_itself = stop.order() == Order::Run || over.load(Ordering::Acquire);
                if let Some(why) = desk.never_reached().filter(|_| by_itself) {
                    error!(
                        "the coordinator {} was never reached ({why}): check the address, and that it runs",
                        self.office.shown()
                    );
                    return Ok(Ending::Failed);
                }
                info!(
                    "exiting after {}: {} samples; {tale}",
                    duration(summary.progress.elapsed.as_secs()),
                    grouped(summary.progress.delivered)
                );
                Ok(Ending::Done)
            }
            Err(why) => {
                match (&why, self.office.token_file()) {
                    (SessionError::Source(refused), Some(file)) if refused.is_of_the_token() => {
                        error!("{why} (the token is from {})", file.display());
                    }
                    _ => error!("{why}"),
                }
                info!("undelivered segments will be reassigned; {tale}");
                Ok(Ending::Failed)
            }
        }
    }
}
