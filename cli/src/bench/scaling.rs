//! All threads against one: the whole pipeline as a worker runs it, and beside it a loop of bare
//! arithmetic, which measures the cores' limit.
//!
//! Five times in turn: the pipeline on one thread and on all, the loop on one thread and on all. A run on
//! all threads has as many times the work as there are threads. Times are on the wall.

use std::hint::black_box;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use kazoe_common::census::{BLOCK, Counter};
use kazoe_common::game::Bits;
use kazoe_worker::compute::Engine;
use kazoe_worker::stop::Stop;
use kazoe_worker::work_source::Job;

use super::Plan;
use super::inputs::Inputs;
use super::interleave::Spread;
use super::reference_answers::{BLOCKS, expect};
use crate::progress::Steps;

/// How many pairs of runs, unless the plan says how many rounds.
const PAIRS: u32 = 5;

/// What progress shows.
const WORDS: &str = "all threads against one";

/// Runs of one pair.
const RUNS: u32 = 4;

/// One thread against all.
#[derive(Debug)]
pub(super) struct Scaling {
    /// All.
    pub(super) threads: usize,
    /// Samples a second on one thread.
    pub(super) one: Spread,
    /// Samples a second on all.
    pub(super) all: Spread,
    /// How many times as many on all, pair by pair.
    pub(super) ratio: Spread,
    /// The same of the loop.
    pub(super) loop_ratio: Spread,
}

/// Measures both on the arm in use.
///
/// # Errors
/// If an answer is wrong, or the system gives no threads.
pub(super) fn measure<B: Bits>(
    inputs: &Inputs<B>,
    plan: &Plan,
    steps: &mut Steps,
) -> Result<Scaling, String> {
    let counter = Arc::new(inputs.counter(plan.arms[0])?);
    let threads = plan.threads;
    let share = plan.time / (PAIRS * RUNS);
    let (pairs, each, rounds) = match plan.rounds {
        Some(pairs) => (pairs, 1, 1),
        None => {
            // The first runs say how much one thread does in its share of the time, and warm up.
            steps.begin(WORDS);
            let stretch = stretches(inputs, &counter, 1, 1)?;
            let round = arithmetic(1, ROUND)?;
            (PAIRS, fitting(share, stretch), fitting(share, round))
        }
    };
    let mut rates = [Vec::new(), Vec::new()];
    let mut ratios = [Vec::new(), Vec::new()];
    for _ in 0..pairs {
        steps.begin(WORDS);
        let [one, all] = [1, threads].map(|threads| {
            let time = stretches(inputs, &counter, threads, each)?;
            Ok::<_, String>(rate(each * threads as u64 * BLOCKS * BLOCK, time))
        });
        let (one, all) = (one?, all?);
        rates[0].push(one);
        rates[1].push(all);
        ratios[0].push(all / one);
        let [one, all] = [1, threads].map(|threads| {
            let time = arithmetic(threads, rounds * ROUND)?;
            Ok::<_, String>(rate(rounds * threads as u64, time))
        });
        ratios[1].push(all? / one?);
    }
    let [one, all] = rates.map(Spread::of);
    let [ratio, loop_ratio] = ratios.map(Spread::of);
    Ok(Scaling {
        threads,
        one,
        all,
        ratio,
        loop_ratio,
    })
}

/// How often something fits into a time, at least once.
fn fitting(time: Duration, once: Duration) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    let times = (time.as_secs_f64() / once.as_secs_f64().max(1e-9)) as u64;
    times.max(1)
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Lets a worker's threads compute the stretch `each` times for every thread, and checks every time.
fn stretches<B: Bits>(
    inputs: &Inputs<B>,
    counter: &Arc<Counter>,
    threads: usize,
    each: u64,
) -> Result<Duration, String> {
    let known = inputs.known;
    let (engine, mut finished) =
        Engine::start(threads, Arc::new(Stop::new())).map_err(|error| error.to_string())?;
    let wanted = each * threads as u64;
    let start = Instant::now();
    let job = |segment| Job {
        lease: 0,
        segment,
        first_block: known.first_block,
        samples: BLOCKS * BLOCK,
    };
    engine.push(counter, (0..wanted).map(job));
    engine.close();
    let mut done = Vec::new();
    while let Some((_, result)) = finished.blocking_recv() {
        done.push(result);
    }
    let time = start.elapsed();
    expect("finished stretches", &(done.len() as u64), &wanted)?;
    for result in &done {
        known
            .check(&result.tally, &result.witnesses)
            .map_err(|wrong| format!("{threads} threads: {wrong}"))?;
    }
    Ok(time)
}

/// Steps of the loop in one go; some milliseconds.
const ROUND: u64 = 1 << 22;

/// What the loop makes of 1 in one go, computed by a plain Python program.
const AFTER_ROUND: u64 = 0xa261_9785_a6f3_69d5;

/// Lets each thread make this number of steps, a multiple of [`ROUND`].
fn arithmetic(threads: usize, steps: u64) -> Result<Duration, String> {
    let work = move || {
        let mut last = 0;
        for _ in 0..steps / ROUND {
            last = scramble(black_box(1));
        }
        last
    };
    let start = Instant::now();
    let results: Vec<u64> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let results = running.into_iter().map(|thread| thread.join());
        results.collect::<Result<_, _>>()
    })
    .map_err(|_| "a thread of the arithmetic loop panicked".to_owned())?;
    let time = start.elapsed();
    for result in results {
        expect("arithmetic loop", &result, &AFTER_ROUND)?;
    }
    Ok(time)
}

/// One go of the loop: Marsaglia's xorshift, then a product that the next step depends on.
fn scramble(mut word: u64) -> u64 {
    for _ in 0..ROUND {
        word ^= word >> 12;
        word ^= word << 25;
        word ^= word >> 27;
        word = word.wrapping_mul(0x2545_f491_4f6c_dd1d);
    }
    word
}
