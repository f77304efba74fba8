//! `kazoe completions`: what a shell needs to complete commands, flags and ids.

use clap_complete::Shell;

use crate::completion;
use crate::exit::{Ending, Stop};
use crate::output::Output;

/// Print a script that lets the shell complete commands, flags, their values, and ids.
///
/// The ids of campaigns, workers and tokens come from the database or the coordinator in the command line or
/// the environment; there are none if it does not answer within a second. The script calls this program: print
/// it again after an upgrade.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe completions bash > ~/.local/share/bash-completion/completions/kazoe
  kazoe completions zsh > ~/.zfunc/_kazoe
  kazoe completions fish > ~/.config/fish/completions/kazoe.fish
  echo 'source <(kazoe completions bash)' >> ~/.bashrc")]
pub(super) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        let script = completion::script(&self.shell.to_string()).map_err(Stop::failed)?;
        output.text(&String::from_utf8_lossy(&script))?;
        Ok(Ending::Done)
    }
}
