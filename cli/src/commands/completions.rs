//! `kazoe completions`: what a shell needs to complete commands and flags.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::Cli;
use crate::ending::{Ending, Stop};
use crate::output::Output;

/// Print a script that lets the shell complete commands, flags and their values.
///
/// Ids of campaigns and workers are not completed: any beginning of a campaign's id that is its own, or
/// the name of a game, does instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe completions bash > ~/.local/share/bash-completion/completions/kazoe
  kazoe completions zsh > ~/.zfunc/_kazoe
  kazoe completions fish > ~/.config/fish/completions/kazoe.fish")]
pub(super) struct Args {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        // It panics where it can't write: into memory it can.
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "kazoe", &mut script);
        output.text(&String::from_utf8_lossy(&script))?;
        Ok(Ending::Done)
    }
}
