//! `kazoe completions`: what a shell needs to complete commands, flags and ids.

use clap_complete::Shell;

use crate::completion;
use crate::ending::{Ending, Stop};
use crate::output::Output;

/// Print a script that lets the shell complete commands, flags, their values, and ids.
///
/// Ids of campaigns, workers and tokens are those of the database or the coordinator that the words typed
/// so far name, or the environment. One that does not answer within a second offers none. The script only
/// asks this program: let the shell read it afresh, or print it again after an upgrade.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kazoe completions bash > ~/.local/share/bash-completion/completions/kazoe
  kazoe completions zsh > ~/.zfunc/_kazoe
  kazoe completions fish > ~/.config/fish/completions/kazoe.fish
  echo 'source <(kazoe completions bash)' >> ~/.bashrc")]
pub(super) struct Args {
    /// Which shell.
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
