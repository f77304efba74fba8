//! `kazoe bench cluster`: what one coordinator can hold on this machine.

use std::path::PathBuf;
use std::time::Duration;

use super::seconds;
use crate::bench::cluster::{Plan, measure, render_json, render_text};
use crate::database::first_line;
use crate::ending::{Ending, Stop};
use crate::output::{FormArgs, Output, tell};
use crate::{quantity, signals, store};

/// Measure what one coordinator can hold: simulated workers against a real coordinator and PostgreSQL.
///
/// It starts a PostgreSQL server of its own, a coordinator, and processes full of workers that join, claim,
/// deliver and say that they are alive over a connection each, and make their tallies up. For each number of
/// workers it tells how many leases and results a second there were, how long calls took, and what the
/// coordinator and PostgreSQL used. Then it kills the coordinator with -9 and tells how long recovery took,
/// looks at a campaign of many segments, does so while a reader holds a transaction open, and audits the
/// ledger: every tally that was acknowledged must be there exactly once. If something was refused, lost or
/// wrong it says so, with exit code 1.
///
/// Made-up tallies have a variant of their own, which no ledger of counted campaigns takes. Ctrl-C ends
/// everything that was started and removes the database, if the bench made it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe bench cluster                                     100, 1,000, 5,000 and 10,000 workers: some minutes
  kazoe bench cluster --workers 500 --rate 200 --seconds 60
  kazoe bench cluster --workers 1k --segments 1k --json > cluster.json
  kazoe bench cluster --database-url-file empty.url       on a PostgreSQL that is there already

10,000 workers are as many connections: if the limit of open files is too low, it says what to do.")]
pub(in crate::commands) struct Args {
    /// How many workers, one number after the other, each greater than the last.
    #[arg(
        long,
        value_name = "N,N,...",
        value_delimiter = ',',
        default_value = "100,1k,5k,10k",
        value_parser = workers
    )]
    workers: Vec<u64>,

    /// How many results a second all workers together are to hand in; far more than can be, to see how many
    /// can be.
    #[arg(long, value_name = "N", default_value = "2k", value_parser = rate)]
    rate: u64,

    /// How long each number of workers is measured, in seconds. They hand in once a second, so less than ten
    /// tells little.
    #[arg(long, value_name = "S", default_value = "30", value_parser = seconds)]
    seconds: Duration,

    /// How many segments are accepted, at least, when the campaign is looked at. Getting there takes as many
    /// seconds as this divided by the rate.
    #[arg(long, value_name = "N", default_value = "100k", value_parser = segments)]
    segments: u64,

    /// A file with the address of a database on PostgreSQL, for coordinators, that has the schema ('kazoe
    /// migrate') and no campaign; it is good for nothing else afterwards [default: a server of our own].
    #[arg(long, value_name = "FILE")]
    database_url_file: Option<PathBuf>,

    /// A setting for a PostgreSQL server of our own, as in its configuration; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "database_url_file", value_parser = setting)]
    postgres: Vec<String>,

    #[command(flatten)]
    form: FormArgs,
}

/// More workers than that have more connections than ports.
const MOST_WORKERS: u64 = 200_000;

fn workers(text: &str) -> Result<u64, String> {
    let workers = quantity::parse(text).map_err(|error| error.to_string())?;
    if (1..=MOST_WORKERS).contains(&workers) {
        Ok(workers)
    } else {
        Err(format!("there are 1 to {MOST_WORKERS} workers"))
    }
}

fn rate(text: &str) -> Result<u64, String> {
    match quantity::parse(text).map_err(|error| error.to_string())? {
        rate @ 1..=1_000_000 => Ok(rate),
        _ => Err("1 to a million results a second".to_owned()),
    }
}

fn segments(text: &str) -> Result<u64, String> {
    match quantity::parse(text).map_err(|error| error.to_string())? {
        segments @ 0..=100_000_000 => Ok(segments),
        _ => Err("at most a hundred million segments".to_owned()),
    }
}

/// What the bench settles itself, to find its server.
const SETTLED: [&str; 4] = [
    "data_directory",
    "listen_addresses",
    "port",
    "unix_socket_directories",
];

fn setting(text: &str) -> Result<String, String> {
    let name = text.split_once('=').map(|(name, _)| name.trim());
    match name {
        None | Some("") => Err("a setting is NAME=VALUE, as in shared_buffers=1GB".to_owned()),
        Some(name) if SETTLED.contains(&name.to_lowercase().as_str()) => {
            Err(format!("the bench settles {name} itself"))
        }
        Some(_) => Ok(text.to_owned()),
    }
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let interrupted = signals::hear()?;
        let plan = self.plan()?;
        let measured = store::block_on(async {
            tokio::select! {
                measured = measure(&plan) => Ok(Some(measured.map_err(Stop::failed)?)),
                () = interrupted.wait() => Ok(None),
            }
        })?;
        let Some(findings) = measured else {
            tell(match self.database_url_file {
                None => "Interrupted: what was started is ended, and nothing is left.",
                Some(_) => {
                    "Interrupted: what was started is ended. The database may have a made-up campaign now, and is \
                     good for nothing else then."
                }
            });
            return Ok(Ending::Interrupted);
        };
        output.text(&if self.form.json() {
            render_json(&findings)
        } else {
            render_text(&findings)
        })?;
        Ok(Ending::Done)
    }

    fn plan(&self) -> Result<Plan, Stop> {
        if let Some(pair) = self.workers.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(Stop::usage(format_args!(
                "--workers: {} comes before {}; each number is greater than the last",
                pair[0], pair[1]
            )));
        }
        Ok(Plan {
            workers: self.workers.clone(),
            rate: self.rate,
            time: self.seconds,
            segments: self.segments,
            database: self
                .database_url_file
                .as_deref()
                .map(first_line)
                .transpose()?,
            settings: self.postgres.clone(),
        })
    }
}
