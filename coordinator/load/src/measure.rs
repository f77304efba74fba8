//! The measurements, one after the other.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use crate::coordinator::Coordinator;
use crate::environment::{Environment, words};
use crate::findings::Findings;
use crate::load_generator::LoadGenerator;
use crate::load_steps::{self, Watched};
use crate::{audit, coordinator, open_files, postgres, probes, query_latency, recovery, tell};

/// What is measured.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The `kazoe` program whose coordinator is measured.
    pub(crate) program: PathBuf,
    /// The numbers of workers, ascending, at least one.
    pub(crate) workers: Vec<u64>,
    /// Results a second that all workers together are to hand in.
    pub(crate) rate: u64,
    /// How long each number of workers is measured.
    pub(crate) time: Duration,
    /// How many segments are accepted, at least, when the campaign is looked at.
    pub(crate) segments: u64,
    /// The address of an empty database, if the measurement does not start a server.
    pub(crate) database: Option<String>,
    /// Further settings of the server that it starts, `NAME=VALUE`.
    pub(crate) settings: Vec<String>,
}

/// Returns the time that each worker takes for a segment if all together finish `rate` a second.
pub(crate) fn pace(workers: u64, rate: u64) -> Duration {
    Duration::from_micros(workers.saturating_mul(1_000_000) / rate.max(1))
}

/// Measures everything. Dropped half way, it ends the processes that it started and removes its files.
///
/// # Errors
/// What was refused, lost or wrong, or why it cannot be measured.
pub(crate) async fn measure(plan: &Plan) -> Result<Findings, String> {
    let most = plan.workers.iter().copied().max().unwrap_or(0);
    open_files::check(most, open_files::raise())?;
    let build = coordinator::version(&plan.program)?;
    tell("Preparing a database.");
    let environment = Environment::prepare(plan.database.as_deref(), &plan.settings).await?;
    let postgres = environment.server.as_ref().map(postgres::Server::pid);
    if let Some(server) = &environment.server {
        tell(format_args!("It is {}.", server.runtime_url()));
    }
    let mut coordinator = Coordinator::start(&plan.program, &environment).await?;
    let measured = with(plan, &environment, &mut coordinator, postgres, build).await;
    measured.map_err(|why| {
        let ended = coordinator.has_ended();
        let log = coordinator.log();
        let from = log.lines().count().saturating_sub(5);
        let last: Vec<&str> = log.lines().skip(from).collect();
        let state = if ended { "has ended" } else { "still runs" };
        format!(
            "{why}\nThe coordinator {state}; it logged last:\n{}",
            last.join("\n")
        )
    })
}

async fn with(
    plan: &Plan,
    environment: &Environment,
    coordinator: &mut Coordinator<'_>,
    postgres: Option<u32>,
    build: String,
) -> Result<Findings, String> {
    let url = coordinator.url();
    let mut generator = LoadGenerator::new(&url, &environment.tokens());
    let mut levels = Vec::new();
    for &workers in &plan.workers {
        let watched = Watched {
            coordinator,
            postgres,
        };
        levels.push(load_steps::measure(workers, plan, &mut generator, &watched).await?);
    }
    let rate = levels.last().map_or(0.0, |level| level.load.results);
    let recovery = recovery::measure(&mut generator, coordinator, rate).await?;
    load_steps::fill(
        &generator,
        &environment.ledger,
        &environment.campaign,
        plan.segments,
    )
    .await?;
    let look =
        |when| query_latency::measure(&url, &environment.viewer, &environment.campaign, when);
    let mut looks = vec![look("under load").await?];
    tell("The same with a reader that holds a transaction open.");
    let reader = probes::read_for_long(&environment.url)
        .await
        .map_err(words)?;
    let opened = Instant::now();
    load_steps::load(&generator, plan.time).await?;
    let with_reader = load_steps::load(&generator, plan.time).await?;
    tell(format_args!(
        "{:.0} results a second with it.",
        with_reader.results
    ));
    looks.push(look("under load, with a reader").await?);
    let reader_open = opened.elapsed();
    drop(reader);
    generator.leave().await?;
    looks.push(look("at rest").await?);
    let audit = audit::check(environment, &generator.told().acknowledged).await?;
    Ok(Findings {
        build,
        rate: plan.rate,
        time: plan.time,
        levels,
        recovery,
        looks,
        with_reader,
        reader_open,
        audit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_share_the_rate() {
        assert_eq!(pace(10_000, 2_000), Duration::from_secs(5));
        assert_eq!(pace(100, 2_000), Duration::from_millis(50));
    }
}
