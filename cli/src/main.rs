//! `kazoe`: counts the reachable positions of shogi-family games by Monte Carlo.
//!
//! This crate composes the others and holds no logic of its own. The flow of every command stands in
//! one function of its file in `commands`; results go to standard output, all else to standard error.

mod commands;

mod position;
mod quantity;
mod span;
mod variant;

mod explain;

mod bench;
mod local;
mod store;

mod database;
mod descriptors;
mod office;
mod place;

#[cfg(feature = "failpoints")]
mod failpoints;
mod logging;
mod progress;
mod signals;

mod report;

mod ending;
mod lines;
mod output;

use std::process::ExitCode;

use clap::Parser;

use commands::Cli;
use output::Output;

fn main() -> ExitCode {
    #[cfg(feature = "failpoints")]
    failpoints::obey();
    let cli = Cli::parse();
    let mut output = Output::new();
    let ending = cli
        .obey(&mut output)
        .and_then(|ending| output.flush().map(|()| ending));
    ending::exit_code(ending)
}
