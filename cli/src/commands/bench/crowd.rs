//! `kazoe bench crowd`: the simulated workers of `kazoe bench cluster`, which starts it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::bench::cluster::Crowd;
use crate::descriptors;
use crate::ending::{Ending, Stop};
use crate::output::Output;
use crate::text_file;

/// Many simulated workers in one process, as 'kazoe bench cluster' starts them.
#[derive(Debug, clap::Args)]
pub(in crate::commands) struct Args {
    /// The coordinator's address.
    #[arg(long, value_name = "URL")]
    coordinator: String,

    /// Which of our addresses they connect from.
    #[arg(long, value_name = "ADDRESS")]
    from: IpAddr,

    /// How many workers.
    #[arg(long, value_name = "N")]
    workers: u32,

    /// How long a worker takes for a segment, in microseconds.
    #[arg(long, value_name = "MICROSECONDS")]
    pace: u64,

    /// A file with tokens, a line each.
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
}

impl Args {
    pub(super) fn run(&self, output: &mut Output) -> Result<Ending, Stop> {
        descriptors::raise();
        let tokens = text_file::read(&self.tokens)?;
        let crowd = Crowd {
            url: self.coordinator.clone(),
            from: self.from,
            workers: self.workers,
            tokens: tokens.lines().map(str::to_owned).collect(),
            pace: Duration::from_micros(self.pace),
        };
        crowd.work(output)
    }
}
