//! What one coordinator can hold: simulated workers against a real coordinator and a real PostgreSQL.
//!
//! A [`Site`] is a database for [made-up](made_up) tallies and nothing else. On it a
//! [`Coordinator`] is started as a process, and a [`Company`] of [crowds](crowd), processes of many
//! [simulated workers](simulated) each. Then, one after the other: [levels], [recovery], [looks] with and
//! without a reader that holds a transaction open, and the [audit] of everything that was acknowledged.

mod audit;
mod book;
mod company;
mod consumption;
mod coordinator;
mod crowd;
mod findings;
mod json;
mod latency;
mod levels;
mod looks;
mod made_up;
mod recovery;
mod server;
mod simulated;
mod site;
mod text;
mod told;
mod watcher;

pub(crate) use crowd::Crowd;
pub(crate) use findings::Findings;
pub(crate) use json::render as render_json;
pub(crate) use text::render as render_text;

use std::time::Duration;

use tokio::time::Instant;

use crate::descriptors;
use crate::output::tell;
use company::Company;
use coordinator::Coordinator;
use levels::Watched;
use site::Site;

/// What is measured.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The numbers of workers, ascending, at least one.
    pub(crate) workers: Vec<u64>,
    /// Results a second that all workers together are to hand in.
    pub(crate) rate: u64,
    /// How long each number of workers is measured.
    pub(crate) time: Duration,
    /// How many segments are accepted, at least, when the campaign is looked at.
    pub(crate) segments: u64,
    /// The address of an empty database, if the bench is not to have a server of its own.
    pub(crate) database: Option<String>,
    /// Further settings of a server of its own, `NAME=VALUE`.
    pub(crate) settings: Vec<String>,
}

/// How long each of so many workers takes for a segment, for all together to finish so many a second.
fn pace(workers: u64, rate: u64) -> Duration {
    Duration::from_micros(workers.saturating_mul(1_000_000) / rate.max(1))
}

/// Measures everything. Dropped half way it ends what it started, and removes what it made.
///
/// # Errors
/// What was refused, lost or wrong, or why it cannot be measured.
pub(crate) async fn measure(plan: &Plan) -> Result<Findings, String> {
    let most = plan.workers.iter().copied().max().unwrap_or(0);
    descriptors::raise_for(most).map_err(|shortage| shortage.to_string())?;
    tell("Preparing a database.");
    let site = Site::prepare(plan.database.as_deref(), &plan.settings).await?;
    let postgres = site.server.as_ref().map(server::Server::pid);
    if let Some(server) = &site.server {
        tell(format_args!("It is {}.", server.runtime_url()));
    }
    let mut coordinator = Coordinator::start(site.folder(), &site.database()).await?;
    let measured = with(plan, &site, &mut coordinator, postgres).await;
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
    site: &Site,
    coordinator: &mut Coordinator,
    postgres: Option<u32>,
) -> Result<Findings, String> {
    let url = coordinator.url();
    let mut company = Company::new(&url, &site.tokens());
    let mut levels = Vec::new();
    for &workers in &plan.workers {
        let watched = Watched {
            coordinator,
            postgres,
        };
        levels.push(levels::measure(workers, plan, &mut company, &watched).await?);
    }
    let rate = levels.last().map_or(0.0, |level| level.load.results);
    let recovery = recovery::measure(&mut company, coordinator, rate).await?;
    levels::fill(&company, &site.ledger, &site.campaign, plan.segments).await?;
    let look = |when| looks::measure(&url, &site.viewer, &site.campaign, when);
    let mut looks = vec![look("under load").await?];
    tell("The same with a reader that holds a transaction open.");
    let reader = site.ledger.read_for_long().await.map_err(site::words)?;
    let opened = Instant::now();
    levels::load(&company, plan.time).await?;
    let with_reader = levels::load(&company, plan.time).await?;
    tell(format_args!(
        "{:.0} results a second with it.",
        with_reader.results
    ));
    looks.push(look("under load, with a reader").await?);
    let reader_open = opened.elapsed();
    drop(reader);
    company.leave().await?;
    looks.push(look("at rest").await?);
    let audit = audit::check(site, &company.told().acknowledged).await?;
    Ok(Findings {
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
