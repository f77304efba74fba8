//! The shell's request for completions: it runs the program with what is typed, and the program
//! answers with what may come next.

mod bash;
pub(crate) mod ids;
mod words;

use std::io;

use clap::CommandFactory;
use clap_complete::env::{CompleteEnv, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};

use crate::commands::Cli;

/// The variable by which a shell asks.
pub(crate) const VARIABLE: &str = "KAZOE_COMPLETE";

const SHELLS: [&dyn EnvCompleter; 5] = [&bash::Bash, &Elvish, &Fish, &Powershell, &Zsh];

/// Answers and ends the program, if it is a shell that asks.
pub(crate) fn answer() {
    CompleteEnv::with_factory(Cli::command)
        .var(VARIABLE)
        .shells(Shells(&SHELLS))
        .complete();
}

/// The script that makes a shell ask this program.
///
/// # Errors
/// If there is no such shell.
pub(crate) fn script(shell: &str) -> io::Result<Vec<u8>> {
    let shells = Shells(&SHELLS);
    let shell = shells.completer(shell).ok_or(io::ErrorKind::NotFound)?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "kazoe", "kazoe", "kazoe", &mut script)?;
    Ok(script)
}
