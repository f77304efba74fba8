//! `kazoe`: counts the reachable positions of shogi-family games by Monte Carlo.
//!
//! This crate composes the others and holds no logic of its own. The flow of every command stands in
//! one function of its file in `commands`; results go to standard output, all else to standard error.

mod commands;
mod completion;

mod address;
mod pasted;
mod position;
mod quantity;
mod span;
mod text_file;
mod variant;

mod bench;
mod local;
mod store;

mod database;
mod descriptors;
mod office;
mod place;

#[cfg(feature = "failpoints")]
mod failpoints;
mod limits;
mod logging;
mod names;
mod progress;
mod rlimits;
mod secrets;
mod settings;
mod signals;
mod threads;

mod report;

mod ending;
mod lines;
mod output;

use std::process::ExitCode;

use commands::Cli;
use output::Output;

fn main() -> ExitCode {
    names::stand_alone();
    rlimits::survive_large_files();
    descriptors::raise();
    rlimits::on_a_large_stack(command)
}

fn command() -> ExitCode {
    #[cfg(feature = "failpoints")]
    failpoints::obey();
    completion::answer();
    let mut output = Output::new();
    let ending = Cli::read()
        .and_then(|cli| cli.obey(&mut output))
        .and_then(|ending| output.flush().map(|()| ending));
    ending::exit_code(ending)
}
