//! `kazoe-load`: measures what one coordinator can hold on this machine.
//!
//! An [`Environment`](environment::Environment) is a throw-away database for [invented](synthetic) tallies. A
//! [`Coordinator`](coordinator::Coordinator) of the program `kazoe` runs on it as a process, and a
//! [`LoadGenerator`](load_generator::LoadGenerator) leads [crowds](crowd), processes of many
//! [simulated workers](simulated_worker) each. The [measurements](measure) follow one after the other: [load_steps],
//! [recovery], [query_latency] with and without a long transaction, and the [audit] of all that was
//! acknowledged. The program is not part of a release.

mod cleanup;
mod coordinator;
mod environment;
mod open_files;
mod postgres;

mod crowd;
mod crowd_report;
mod crowd_state;
mod load_generator;
mod simulated_worker;
mod synthetic;

mod audit;
mod consumption;
mod latency;
mod load_steps;
mod measure;
mod probes;
mod query_latency;
mod recovery;

mod findings;
mod json;
mod text;

use std::fmt::Display;
use std::fs;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{CommandFactory, Parser, error::ErrorKind};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use measure::Plan;

/// The name of this build in the ledger.
const BUILD: &str = concat!("kazoe-load ", env!("CARGO_PKG_VERSION"));

/// Measure what one coordinator can hold: simulated workers against a real coordinator and PostgreSQL.
///
/// It starts a PostgreSQL server, a coordinator of the program 'kazoe', and processes full of simulated workers.
/// Each worker has a connection of its own; it joins, claims, delivers and sends heartbeats as a real one does, and
/// invents its tallies. For each number of workers the program reports leases and results a second, the latency of
/// calls, and what the coordinator and PostgreSQL used. Then it kills the coordinator with -9 and measures the
/// recovery, queries a campaign of many segments, does so while a reader holds a transaction open, and audits the
/// ledger: every acknowledged tally must be there exactly once. If something was refused, lost or wrong, it says so
/// and exits with code 1.
///
/// The database must have no campaign, and is good for nothing else afterwards. Ctrl-C ends everything that was
/// started and removes the database, if the program made it.
#[derive(Debug, Parser)]
#[command(
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  kazoe-load                                     100, 1,000, 5,000 and 10,000 workers: some minutes
  kazoe-load --workers 500 --rate 200 --seconds 60
  kazoe-load --workers 1k --segments 1k --json > load.json
  kazoe-load --kazoe old/kazoe                   another build of kazoe
  kazoe-load --database-url-file empty.url       on a PostgreSQL that is there already

10,000 workers are as many connections: if the limit of open files is too low, it says what to do."
)]
struct Args {
    #[command(subcommand)]
    crowd: Option<Internal>,

    /// The 'kazoe' program whose coordinator is measured [default: the one beside this program].
    #[arg(long, value_name = "FILE")]
    kazoe: Option<PathBuf>,

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
    /// migrate') and no campaign; it is good for nothing else afterwards [default: start a server].
    #[arg(long, value_name = "FILE")]
    database_url_file: Option<PathBuf>,

    /// A setting for the PostgreSQL server that it starts, as in its configuration; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "database_url_file", value_parser = setting)]
    postgres: Vec<String>,

    /// Write one JSON document instead of text.
    #[arg(long)]
    json: bool,
}

/// What the program starts itself as.
#[derive(Debug, clap::Subcommand)]
enum Internal {
    #[command(hide = true)]
    Crowd(crowd::Crowd),
}

/// Reads a count: `500`, `10k`, `1M`.
fn count(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let text = text.trim();
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (least, most) = range.into_inner();
            format!("expected a number from {least} to {most}, as in 500 or 10k")
        })
}

/// More workers than that have more connections than ports.
fn workers(text: &str) -> Result<u64, String> {
    count(text, 1..=200_000)
}

fn rate(text: &str) -> Result<u64, String> {
    count(text, 1..=1_000_000)
}

fn segments(text: &str) -> Result<u64, String> {
    count(text, 0..=100_000_000)
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 3600.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected seconds, more than 0 and at most 3600, as in 2 or 0.5".to_owned()),
    }
}

/// The settings by which it finds its server.
const RESERVED: [&str; 4] = [
    "data_directory",
    "listen_addresses",
    "port",
    "unix_socket_directories",
];

fn setting(text: &str) -> Result<String, String> {
    let name = text.split_once('=').map(|(name, _)| name.trim());
    match name {
        None | Some("") => Err("a setting is NAME=VALUE, as in shared_buffers=1GB".to_owned()),
        Some(name) if RESERVED.contains(&name.to_lowercase().as_str()) => {
            Err(format!("{name} is set by kazoe-load itself"))
        }
        Some(_) => Ok(text.to_owned()),
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let ran = match &args.crowd {
        Some(Internal::Crowd(crowd)) => crowd.work().map(|()| ExitCode::SUCCESS),
        None => args.run(),
    };
    ran.unwrap_or_else(|why| {
        tell(format_args!("error: {why}"));
        ExitCode::FAILURE
    })
}

impl Args {
    /// Measures and prints; leaves at the first signal.
    fn run(&self) -> Result<ExitCode, String> {
        let plan = self.plan()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        let measured = runtime.block_on(async {
            let interrupted = interruption().map_err(|error| format!("signals: {error}"))?;
            tokio::select! {
                measured = measure::measure(&plan) => measured.map(Some),
                () = interrupted => Ok(None),
            }
        })?;
        let Some(findings) = measured else {
            tell(match self.database_url_file {
                None => "Interrupted: everything that was started is ended and removed.",
                Some(_) => {
                    "Interrupted: everything that was started is ended. The database may have the campaign of \
                     this measurement now, and is good for nothing else then."
                }
            });
            return Ok(ExitCode::from(130));
        };
        let text = if self.json {
            json::render(&findings)
        } else {
            text::render(&findings)
        };
        io::stdout()
            .write_all(text.as_bytes())
            .map_err(|error| format!("standard output: {error}"))?;
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> Result<Plan, String> {
        if let Some(pair) = self.workers.windows(2).find(|pair| pair[0] >= pair[1]) {
            let why = format!(
                "--workers: {} comes before {}; each number is greater than the last",
                pair[0], pair[1]
            );
            Args::command()
                .error(ErrorKind::ValueValidation, why)
                .exit();
        }
        let program = match &self.kazoe {
            Some(program) => program.clone(),
            None => std::env::current_exe()
                .map_err(|error| format!("this program: {error}"))?
                .with_file_name("kazoe"),
        };
        Ok(Plan {
            program,
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

/// Returns the first line of a file.
fn first_line(path: &Path) -> Result<String, String> {
    let name = path.display();
    let text = fs::read_to_string(path).map_err(|error| format!("{name}: {error}"))?;
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(format!("{name}: its first line is empty")),
    }
}

/// Listens for SIGINT, SIGTERM and SIGHUP. The future ends at the first one; the second one ends the process at
/// once, and the cleanup processes then do their work.
fn interruption() -> io::Result<impl Future<Output = ()>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))?;
        flag::register(signal, Arc::clone(&asked))?;
    }
    Ok(async move {
        while !asked.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
}

/// Writes a line to standard error; a reader that is gone stops nothing.
fn tell(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_units_and_bounds() {
        assert_eq!(workers("500"), Ok(500));
        assert_eq!(workers(" 10k"), Ok(10_000));
        assert_eq!(rate("1M"), Ok(1_000_000));
        for wrong in ["", "k", "-1", "0", "201k", "1.5k", "99999999999999999999"] {
            assert!(workers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
        assert!(setting("shared_buffers=1GB").is_ok());
        assert!(setting("Port=1").is_err());
        assert!(setting("port").is_err());
    }
}
