//! `kazoe`: counts the reachable positions of shogi-family games by Monte Carlo.
//!
//! This crate composes the others and holds no logic of its own. The flow of every command stands in
//! one function of its file in `commands`; results go to standard output, all else to standard error.

mod commands;
mod completion;

mod address;
mod duration_arg;
mod pasted;
mod quantity;
mod quoting;
mod text_file;
mod variant;

mod bench;
mod local;
mod sqlite_args;

mod campaign_source;
mod coordinator_client;
mod fd_limit;
mod postgres_args;

#[cfg(feature = "failpoints")]
mod failpoints;
mod limits;
mod logging;
mod progress;
mod rlimits;
mod secrets;
mod settings;
mod signals;
mod static_nss;
mod threads;

mod report;

mod batch_io;
mod exit;
mod output;

use std::process::ExitCode;

use commands::Cli;
use output::Output;

fn main() -> ExitCode {
    static_nss::stand_alone();
    rlimits::survive_large_files();
    fd_limit::raise();
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
    exit::exit_code(ending)
}
