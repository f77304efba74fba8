//! `kazoe bench`: how long each stage takes on this machine.

use std::time::Duration;

use kazoe_common::census::Arm;
use kazoe_common::game::Variant;

use crate::bench::{self, Findings, Part, Plan};
use crate::exit::{Ending, Stop};
use crate::output::{FormArgs, Output, tell};
use crate::quantity;
use crate::signals;
use crate::threads::Threads;
use crate::variant;

/// Measure the time of each stage on this machine, and check every result.
///
/// A game's stages run in rounds, one round of each in turn, and each is shown with its minimum, median and
/// maximum. They use 128 blocks of 4,096 samples beyond block 2^20, where a long campaign runs the witness
/// search in one block of 128: so the whole pipeline has the cost of a sample of a long campaign, witnesses
/// included. Stages are timed on one thread in processor time if the system reports it, the verdicts of single
/// positions and runs of many threads in wall time; each line names its clock.
///
/// The funnel and the whole pipeline are measured on the arm in use (see 'kazoe --version --verbose') and
/// on the portable one. All threads against one: the median of five pairs of runs, beside that of a loop
/// of bare arithmetic.
///
/// A wrong result ends the bench with exit code 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe bench                                 both games, about a minute
  kazoe bench shogi --seconds 10
  kazoe bench shogi --only pipeline --arm portable
  kazoe bench --json > bench.json")]
pub(super) struct Args {
    #[arg(help = variant::help(" [default: all]"), value_parser = variant::parse)]
    variant: Option<&'static Variant>,

    /// The time limit of each stage, in seconds; the first round, and the five pairs of all threads against
    /// one, always run to their end.
    #[arg(
        long,
        value_name = "S",
        default_value = "2",
        value_parser = seconds,
        allow_hyphen_values = true
    )]
    seconds: Duration,

    /// Run exactly N rounds of each stage instead, for the same work each time.
    #[arg(
        long,
        value_name = "N",
        value_parser = rounds,
        conflicts_with = "seconds",
        allow_hyphen_values = true
    )]
    rounds: Option<u32>,

    /// The number of threads to compare with one: a number, max, or max-1 [default: max, all that the system
    /// allows].
    #[arg(short = 't', long, value_name = "T", value_parser = Threads::parse, allow_hyphen_values = true)]
    threads: Option<Threads>,

    /// Measure the funnel and the pipeline on this arm alone: portable or avx2+bmi2.
    #[arg(long, value_name = "ARM", value_parser = arm)]
    arm: Option<Arm>,

    /// Measure this part alone; may be given several times.
    #[arg(long, value_name = "PART", value_enum)]
    only: Vec<Part>,

    #[command(flatten)]
    form: FormArgs,
}

/// The longest time of a stage, an hour in seconds.
const LONGEST: f64 = 3600.0;

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text
        .trim()
        .parse()
        .map_err(|_| "expected seconds, as in 2 or 0.5".to_owned())?;
    if seconds > 0.0 && seconds <= LONGEST {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err("the time of a stage must be above 0 and at most 3600 seconds".to_owned())
    }
}

fn rounds(text: &str) -> Result<u32, String> {
    match quantity::parse(text).map_err(|error| error.to_string())? {
        0 => Err("the number of rounds must be at least 1".to_owned()),
        n => u32::try_from(n)
            .ok()
            .filter(|&n| n <= 1_000_000)
            .ok_or_else(|| "more than a million rounds".to_owned()),
    }
}

fn arm(text: &str) -> Result<Arm, String> {
    let here = Arm::available();
    if let Some(&arm) = here.iter().find(|arm| arm.name() == text) {
        return Ok(arm);
    }
    let names: Vec<_> = here.into_iter().map(Arm::name).collect();
    Err(format!(
        "unknown arm; this machine has {}",
        names.join(", ")
    ))
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        signals::leave_at_once()?;
        let plan = self.plan();
        let games = match self.variant {
            Some(variant) => vec![variant],
            None => Variant::ALL.to_vec(),
        };
        let mut findings = Findings {
            arm: plan.arms[0],
            threads: plan.threads,
            time: plan.time,
            rounds: plan.rounds,
            games: Vec::new(),
        };
        for variant in games {
            let (name, arm) = (variant.name, plan.arms[0]);
            tell(format_args!("Measuring {name} on the arm {arm}."));
            let measured = bench::measure(variant, &plan).map_err(Stop::failed)?;
            if !self.form.json() {
                output.text(&bench::render_text(&findings, &measured))?;
                output.flush()?;
            }
            findings.games.push(measured);
        }
        if self.form.json() {
            output.text(&bench::render_json(&findings))?;
        }
        Ok(Ending::Done)
    }

    fn plan(&self) -> Plan {
        let arms = match self.arm {
            Some(arm) => vec![arm],
            None => {
                let mut arms = vec![Arm::detect(), Arm::Portable];
                arms.dedup();
                arms
            }
        };
        Plan {
            parts: self.only.clone(),
            arms,
            threads: self.threads.unwrap_or_default().number(),
            time: self.seconds,
            rounds: self.rounds,
        }
    }
}
