//! So many workers under load: what they get, what it takes.

use std::time::Duration;

use kazoe_coordinator::ledger::PostgresLedger;
use tokio::time::Instant;

use super::company::Company;
use super::consumption::{self, Consumption};
use super::coordinator::Coordinator;
use super::findings::{Level, Load, Use};
use super::latency::{Call, Latencies};
use super::told::Told;
use super::{Plan, pace};
use crate::output::tell;

/// For how long workers that have all joined get into their stride, at most: their first leases are small.
const SETTLE: Duration = Duration::from_secs(20);

/// And at least: each hands in once a second.
const SETTLE_AT_LEAST: Duration = Duration::from_secs(3);

/// Which processes are looked at.
pub(super) struct Watched<'a> {
    pub(super) coordinator: &'a Coordinator,
    pub(super) postgres: Option<u32>,
}

/// Has so many workers, and measures.
///
/// # Errors
/// If something is refused, or nothing goes on.
pub(super) async fn measure(
    workers: u64,
    plan: &Plan,
    company: &mut Company,
    watched: &Watched<'_>,
) -> Result<Level, String> {
    tell(format_args!("{workers} workers: joining."));
    let begun = Instant::now();
    company.begin_window();
    company.grow(workers, pace(workers, plan.rate))?;
    company
        .until("joining", |company| company.joined() >= workers)
        .await?;
    let took = begun.elapsed();
    let joining = latencies(&company.told(), Call::Join);
    tokio::time::sleep(plan.time.clamp(SETTLE_AT_LEAST, SETTLE)).await;
    tell(format_args!(
        "{workers} workers: measuring for {} s.",
        plan.time.as_secs_f64()
    ));
    let before = Sight::of(watched, company);
    company.begin_epoch();
    let load = load(company, plan.time).await?;
    let after = Sight::of(watched, company);
    let joined = company.joined();
    // Each says that it is alive within a heartbeat, or more often as it works.
    let mut heard = 0;
    company
        .until("hearing every worker", |company| {
            heard = company.heard();
            heard >= joined
        })
        .await?;
    let level = Level {
        workers,
        joined,
        heard,
        joining: (took, joining),
        coordinator: used(before.coordinator, after.coordinator, load.time),
        postgres: used(before.postgres, after.postgres, load.time),
        crowds: used(before.crowds, after.crowds, load.time),
        load,
    };
    tell(format_args!(
        "{workers} workers: {:.0} results a second, {:.0} leases a second.",
        level.load.results, level.load.leases
    ));
    Ok(level)
}

/// What the workers do for some time.
///
/// # Errors
/// If something is refused.
pub(super) async fn load(company: &Company, time: Duration) -> Result<Load, String> {
    let results = company.results();
    company.begin_window();
    let begun = Instant::now();
    tokio::time::sleep(time).await;
    let told = company.told();
    let time = begun.elapsed();
    company.check()?;
    let a_second = |count: u64| per_second(count, time);
    let new = told.acknowledged.len().saturating_sub(results);
    Ok(Load {
        time,
        results: a_second(u64::try_from(new).unwrap_or(u64::MAX)),
        leases: a_second(told.leases),
        later: a_second(told.later),
        calls: Call::ALL
            .into_iter()
            .map(|call| (call, latencies(&told, call)))
            .collect(),
        failed: told.failed,
    })
}

/// So many in that time, a second.
#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
pub(super) fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}

fn latencies(told: &Told, call: Call) -> Latencies {
    told.calls
        .get(call as usize)
        .cloned()
        .unwrap_or_else(Latencies::new)
}

/// What everybody uses at one moment.
struct Sight {
    coordinator: Option<Consumption>,
    postgres: Option<Consumption>,
    crowds: Option<Consumption>,
}

impl Sight {
    fn of(watched: &Watched<'_>, company: &Company) -> Self {
        let crowds = company.pids().into_iter().map(consumption::of_process);
        let crowds = crowds.collect::<Option<Vec<_>>>();
        Sight {
            coordinator: consumption::of_process(watched.coordinator.pid()),
            postgres: watched.postgres.and_then(consumption::of_family),
            crowds: crowds.map(|all| {
                all.iter()
                    .fold(Consumption::default(), |sum, one| Consumption {
                        memory: sum.memory + one.memory,
                        time: sum.time + one.time,
                    })
            }),
        }
    }
}

fn used(before: Option<Consumption>, after: Option<Consumption>, time: Duration) -> Option<Use> {
    let (before, after) = (before?, after?);
    let spent = after.time.saturating_sub(before.time);
    Some(Use {
        memory: after.memory,
        processor: spent.as_secs_f64() / time.as_secs_f64().max(1e-9),
    })
}

/// Goes on until so many segments are accepted.
///
/// # Errors
/// If something is refused, or nothing goes on.
pub(super) async fn fill(
    company: &Company,
    ledger: &PostgresLedger,
    campaign: &str,
    segments: u64,
) -> Result<(), String> {
    use kazoe_coordinator::ledger::Ledger;
    let mut told = None;
    loop {
        let snapshot = ledger.snapshot(campaign).await;
        let accepted = snapshot.map_err(super::site::words)?.counts.accepted;
        if accepted >= segments {
            return Ok(());
        }
        if told.is_none_or(|at: Instant| at.elapsed() > Duration::from_secs(15)) {
            told = Some(Instant::now());
            tell(format_args!(
                "{accepted} of {segments} segments accepted; going on until all are."
            ));
        }
        let results = company.results();
        company
            .until("filling", |company| company.results() > results)
            .await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
