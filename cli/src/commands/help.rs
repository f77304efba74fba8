//! `kazoe help`: the help of a command.

use clap::CommandFactory;

use super::Cli;
use crate::exit::{Ending, Stop};
use crate::settings;

/// Print the help of a command, as its --help does.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe help
  kazoe help run
  kazoe help token create")]
pub(super) struct Args {
    /// The command [default: a list of all commands].
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

impl Args {
    pub(super) fn run(&self) -> Result<Ending, Stop> {
        let words = self.words.iter().map(String::as_str);
        let words = ["kazoe"].into_iter().chain(words).chain(["--help"]);
        match settings::with_variables(Cli::command()).try_get_matches_from(words) {
            // The help itself, or that there is no such command.
            Err(shown) => shown.exit(),
            Ok(_) => Ok(Ending::Done),
        }
    }
}
