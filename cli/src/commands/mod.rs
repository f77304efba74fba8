//! The commands, one a file: each has its arguments, with help and examples, and its flow.

mod bench;
mod campaigns;
mod completions;
mod compute;
mod coordinator;
mod export;
mod health;
mod help;
mod import;
mod judge;
mod man;
mod migrate;
mod pause_resume;
mod perft;
mod predecessors;
mod priority;
mod purge_resolve_retry;
mod rank;
mod report;
mod run;
mod sample;
mod size;
mod submit;
mod token;
mod unrank;
mod verify;
mod watch;
mod worker;
mod workers;

use std::env;
use std::env::consts::{ARCH, OS};
use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use kazoe_common::census::Arm;

use crate::exit::{Ending, Stop};
use crate::output::Output;
use crate::settings::{self, Refusal, Settings};

/// What is typed after `kazoe`.
#[derive(Debug, Parser)]
#[command(
    name = "kazoe",
    about = "Counts the reachable positions of shogi-family games by Monte Carlo",
    long_about = "Kazoe counts the positions of shogi-family games that can arise in play: it \
                  draws positions at random from a set of exactly known size, proves for each whether a game \
                  can lead to it, and estimates the number with confidence intervals. Results go to standard \
                  output, all other messages to standard error.",
    after_help = GUIDE_AFTER_HELP,
    disable_version_flag = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// Print the version.
    #[arg(short = 'V', long)]
    version: bool,

    /// With --version: also the kernel in use, and the machine.
    #[arg(long, requires = "version")]
    verbose: bool,

    #[command(subcommand)]
    command: Option<Command>,

    /// Of a command that has a file of settings.
    #[arg(skip)]
    settings: Option<Settings>,
}

const GUIDE_AFTER_HELP: &str = "\
Examples:
  kazoe run
  kazoe run shogi --samples 5M
  kazoe report --format md
  kazoe judge minishogi --explain 'rbsgk/4p/5/P4/KGSBR b - 1'

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted and saved.
'kazoe COMMAND --help', or 'kazoe help COMMAND', has examples of each command; 'kazoe man' the same as manual pages.";

const GUIDE: &str = "\
kazoe counts the reachable positions of shogi-family games.

  kazoe run                    count mini shogi, with 10 million samples
  kazoe report                 the results, beside the published figures
  kazoe size shogi             the exact number of candidate positions
  kazoe unrank minishogi 0     the position of a rank
  kazoe --help                 all commands; the --help of each has examples
";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Report(report::Args),
    Campaigns(campaigns::Args),
    Verify(verify::Args),
    Export(export::Args),
    Compute(compute::Args),
    Import(import::Args),
    Size(size::Args),
    Unrank(unrank::Args),
    Rank(rank::Args),
    Sample(sample::Args),
    Judge(judge::Args),
    Predecessors(predecessors::Args),
    Perft(perft::Args),
    Bench(Box<bench::Args>),
    Coordinator(Box<coordinator::Args>),
    Worker(worker::Args),
    Submit(submit::Args),
    Watch(watch::Args),
    Pause(pause_resume::Pause),
    Resume(pause_resume::Resume),
    Cancel(pause_resume::Cancel),
    Priority(priority::Args),
    Workers(workers::Args),
    Drain(workers::Drain),
    Reclaim(workers::Reclaim),
    Purge(purge_resolve_retry::Purge),
    Resolve(purge_resolve_retry::Resolve),
    Retry(purge_resolve_retry::Retry),
    Token(token::Args),
    Health(health::Args),
    Migrate(migrate::Args),
    Completions(completions::Args),
    Man(man::Args),
    Help(help::Args),
}

impl Cli {
    /// Reads what was typed, and what a file and the environment say below it. Wrong usage, and a wish
    /// for help, end the program.
    ///
    /// # Errors
    /// If a file or the environment has an invalid value.
    pub(crate) fn read() -> Result<Self, Stop> {
        let words: Vec<OsString> = env::args_os().collect();
        let text = |text: OsString| text.to_string_lossy().into_owned();
        let environment = env::vars_os().map(|(name, value)| (text(name), text(value)));
        let read = settings::read(Cli::command(), &words, &environment.collect());
        let read = read.and_then(|(matches, settings)| {
            let cli = Cli::from_arg_matches(&matches)
                .map_err(|error| error.format(&mut Cli::command()))?;
            Ok(Cli { settings, ..cli })
        });
        match read {
            Ok(cli) => Ok(cli),
            Err(Refusal::Said(stop)) => Err(stop),
            Err(Refusal::Typed(error)) => error.exit(),
        }
    }

    fn version(&self, output: &mut Output) -> Result<Ending, Stop> {
        output.line(format_args!("kazoe {}", env!("CARGO_PKG_VERSION")))?;
        if self.verbose {
            let (used, there) = (Arm::detect().name(), Arm::available());
            let there: Vec<_> = there.into_iter().map(Arm::name).collect();
            output.line(format_args!("kernel {used} (here: {})", there.join(", ")))?;
            output.line(format_args!("for {ARCH} {OS}"))?;
        }
        Ok(Ending::Done)
    }

    /// Does what was typed.
    ///
    /// # Errors
    /// If it can't go on.
    pub(crate) fn obey(&self, output: &mut Output) -> Result<Ending, Stop> {
        let settings = self.settings.as_ref();
        if let Some(settings) = settings.filter(|settings| settings.are_to_be_shown()) {
            return settings.show(output);
        }
        match &self.command {
            _ if self.version => self.version(output),
            None => {
                output.text(GUIDE)?;
                Ok(Ending::Done)
            }
            Some(Command::Run(args)) => args.run(output),
            Some(Command::Report(args)) => args.run(output),
            Some(Command::Campaigns(args)) => args.run(output),
            Some(Command::Verify(args)) => args.run(output),
            Some(Command::Export(args)) => args.run(output),
            Some(Command::Compute(args)) => args.run(output),
            Some(Command::Import(args)) => args.run(output),
            Some(Command::Size(args)) => args.run(output),
            Some(Command::Unrank(args)) => args.run(output),
            Some(Command::Rank(args)) => args.run(output),
            Some(Command::Sample(args)) => args.run(output),
            Some(Command::Judge(args)) => args.run(output),
            Some(Command::Predecessors(args)) => args.run(output),
            Some(Command::Perft(args)) => args.run(output),
            Some(Command::Bench(args)) => args.run(output),
            Some(Command::Coordinator(args)) => args.run(settings),
            Some(Command::Worker(args)) => args.run(settings),
            Some(Command::Submit(args)) => args.run(output),
            Some(Command::Watch(args)) => args.run(output),
            Some(Command::Pause(args)) => args.run(output),
            Some(Command::Resume(args)) => args.run(output),
            Some(Command::Cancel(args)) => args.run(output),
            Some(Command::Priority(args)) => args.run(output),
            Some(Command::Workers(args)) => args.run(output),
            Some(Command::Drain(args)) => args.run(output),
            Some(Command::Reclaim(args)) => args.run(output),
            Some(Command::Purge(args)) => args.run(output),
            Some(Command::Resolve(args)) => args.run(output),
            Some(Command::Retry(args)) => args.run(output),
            Some(Command::Token(args)) => args.run(output),
            Some(Command::Health(args)) => args.run(output),
            Some(Command::Migrate(args)) => args.run(output),
            Some(Command::Completions(args)) => args.run(output),
            Some(Command::Man(args)) => args.run(output),
            Some(Command::Help(args)) => args.run(),
        }
    }
}
