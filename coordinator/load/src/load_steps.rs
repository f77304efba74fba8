//! So many workers under load: what they get, what it takes.

use std::time::Duration;

use kazoe_coordinator::ledger::PostgresLedger;
use tokio::time::Instant;

use crate::consumption::{self, Consumption};
use crate::coordinator::Coordinator;
use crate::crowd_report::CrowdReport;
use crate::findings::{Load, LoadStep, Use};
use crate::latency::{Call, Latencies};
use crate::load_generator::LoadGenerator;
use crate::measure::{Plan, pace};
use crate::tell;

/// For how long workers that have all joined get into their stride, at most: their first leases are small.
const SETTLE: Duration = Duration::from_secs(20);

/// And at least: each hands in once a second.
const SETTLE_AT_LEAST: Duration = Duration::from_secs(3);

/// Which processes are looked at.
pub(crate) struct Watched<'a> {
    pub(crate) coordinator: &'a Coordinator<'a>,
    pub(crate) postgres: Option<u32>,
}

/// Has so many workers, and measures.
///
/// # Errors
/// If something is refused, or nothing goes on.
pub(crate) async fn measure(
    workers: u64,
    plan: &Plan,
    generator: &mut LoadGenerator,
    watched: &Watched<'_>,
) -> Result<LoadStep, String> {
    tell(format_args!("{workers} workers: joining."));
    let begun = Instant::now();
    generator.begin_window();
    generator.grow(workers, pace(workers, plan.rate))?;
    generator
        .until("joining", |generator| generator.joined() >= workers)
        .await?;
    let took = begun.elapsed();
    let joining = latencies(&generator.told(), Call::Join);
    tokio::time::sleep(plan.time.clamp(SETTLE_AT_LEAST, SETTLE)).await;
    tell(format_args!(
        "{workers} workers: measuring for {} s.",
        plan.time.as_secs_f64()
    ));
    let before = Sight::of(watched, generator);
    generator.begin_epoch();
    let load = load(generator, plan.time).await?;
    let after = Sight::of(watched, generator);
    let joined = generator.joined();
    // Each says that it is alive within a heartbeat, or more often as it works.
    let mut heard = 0;
    generator
        .until("hearing every worker", |generator| {
            heard = generator.heard();
            heard >= joined
        })
        .await?;
    let level = LoadStep {
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
pub(crate) async fn load(generator: &LoadGenerator, time: Duration) -> Result<Load, String> {
    let results = generator.results();
    generator.begin_window();
    let begun = Instant::now();
    tokio::time::sleep(time).await;
    let told = generator.told();
    let time = begun.elapsed();
    generator.check()?;
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
pub(crate) fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}

fn latencies(told: &CrowdReport, call: Call) -> Latencies {
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
    fn of(watched: &Watched<'_>, generator: &LoadGenerator) -> Self {
        let crowds = generator.pids().into_iter().map(consumption::of_process);
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
pub(crate) async fn fill(
    generator: &LoadGenerator,
    ledger: &PostgresLedger,
    campaign: &str,
    segments: u64,
) -> Result<(), String> {
    use kazoe_coordinator::ledger::Ledger;
    let mut told = None;
    loop {
        let snapshot = ledger.snapshot(campaign).await;
        let accepted = snapshot.map_err(crate::environment::words)?.counts.accepted;
        if accepted >= segments {
            return Ok(());
        }
        if told.is_none_or(|at: Instant| at.elapsed() > Duration::from_secs(15)) {
            told = Some(Instant::now());
            tell(format_args!(
                "{accepted} of {segments} segments accepted; going on until all are."
            ));
        }
        let results = generator.results();
        generator
            .until("filling", |generator| generator.results() > results)
            .await?;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
