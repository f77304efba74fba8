//! Criterion's benches of the census, stage by stage: `cargo bench -p kazoe-common`.
//!
//! They work on the first block that `tests/data/block-digests.tsv` has of each game, and every answer is
//! compared with that table before it is timed. `kazoe bench` measures the same stages on a stretch that
//! stands for a long campaign; these are for watching one function while one works on it.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kazoe_common::census::{
    Arm, BLOCK, Campaign, Counter, Funnel, Judge, Outcome, Verdict, published_search,
};
use kazoe_common::game::{Bits, Position, Rules, Variant};
use kazoe_common::population::{Candidates, Sampler};
use kazoe_testkit::tables;

/// A block with its known outcomes and digest.
struct Known {
    variant: &'static Variant,
    seed: u64,
    block: u64,
    outcomes: [u64; 7],
    digest: String,
}

impl Known {
    fn of(variant: &'static Variant) -> Self {
        let rows = tables::table("block-digests.tsv");
        let row = rows
            .iter()
            .find(|row| row[0] == variant.id && row[3] == BLOCK.to_string())
            .expect("a whole block of every game");
        let number = |field: &String| field.parse().expect("a number");
        Known {
            variant,
            seed: number(&row[1]),
            block: number(&row[2]),
            outcomes: std::array::from_fn(|i| number(&row[4 + i])),
            digest: row[11].clone(),
        }
    }

    fn count(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }
}

/// The block's positions that come to each stage.
struct Positions<B> {
    before_kings: Vec<Position<B>>,
    passed: Vec<Position<B>>,
    reachable: Vec<Position<B>>,
}

fn stages(criterion: &mut Criterion) {
    for variant in Variant::ALL {
        let known = Known::of(variant);
        if variant.squares() <= u64::CAPACITY {
            stages_of::<u64>(criterion, &known);
        } else {
            stages_of::<u128>(criterion, &known);
        }
    }
}

fn stages_of<B: Bits>(criterion: &mut Criterion, known: &Known) {
    let candidates = Candidates::new(known.variant).expect("a population");
    let sampler = Sampler::new(&candidates, known.seed);
    samples::<B>(criterion, known, &candidates, &sampler);
    let rules = Rules::new(known.variant);
    let positions = draw::<B>(&rules, known, &candidates, &sampler);
    single_positions(criterion, known, &rules, &positions);
}

/// What every sample of the block takes.
fn samples<B: Bits>(
    criterion: &mut Criterion,
    known: &Known,
    candidates: &Candidates,
    sampler: &Sampler,
) {
    let mut group = criterion.benchmark_group(format!("{}/sample", known.variant.id));
    group.throughput(Throughput::Elements(BLOCK));
    let first = sampler.ranks_of(known.block).take(BLOCK as usize);
    let sum = first.fold(0, |sum: u64, rank| sum.wrapping_add(rank.limbs()[0]));
    group.bench_function("draws", |bencher| {
        bencher.iter(|| {
            let mut draws = sampler.ranks_of(black_box(known.block));
            let (mut found, mut left) = (0_u64, BLOCK as usize);
            while left > 0 {
                let ranks = draws.next_batch();
                let ranks = &ranks[..ranks.len().min(left)];
                found = ranks
                    .iter()
                    .fold(found, |sum, rank| sum.wrapping_add(rank.limbs()[0]));
                left -= ranks.len();
            }
            assert_eq!(found, sum);
        });
    });
    let passed = known.count(Outcome::Unreachable) + known.count(Outcome::Reachable);
    let campaign = Campaign::new(known.variant, known.seed);
    for arm in Arm::available() {
        let rules = Rules::<B>::new(known.variant);
        let funnel = Funnel::with_arm(rules, candidates.clone(), arm);
        group.bench_function(format!("funnel/{arm}"), |bencher| {
            let mut outcomes = [0; BLOCK as usize];
            bencher.iter(|| {
                let mut found = 0;
                let pass = |_, position: &Position<B>| {
                    black_box(position);
                    found += 1;
                    Outcome::Undecided
                };
                funnel.block(sampler, black_box(known.block), &mut outcomes, pass);
                assert_eq!(found, passed);
            });
        });
        let counter = Counter::with_arm(&campaign, arm).expect("tables");
        let counted = counter.block(known.block, BLOCK).tally;
        assert_eq!(counted.digest.to_string(), known.digest, "arm {arm}");
        group.bench_function(format!("pipeline/{arm}"), |bencher| {
            bencher.iter(|| {
                let again = counter.block(black_box(known.block), BLOCK).tally;
                assert_eq!(again.digest, counted.digest);
            });
        });
    }
    group.finish();
}

/// What one position takes, in the mean over those that come to the stage.
fn single_positions<B: Bits>(
    criterion: &mut Criterion,
    known: &Known,
    rules: &Rules<B>,
    positions: &Positions<B>,
) {
    let mut group = criterion.benchmark_group(format!("{}/position", known.variant.id));
    let mut bench =
        |name: &str, positions: &[Position<B>], known: Option<u64>, holds: &Holds<B>| {
            let count = || {
                let holding = positions
                    .iter()
                    .filter(|position| holds(black_box(position)));
                holding.count() as u64
            };
            let answer = known.unwrap_or_else(count);
            group.throughput(Throughput::Elements(positions.len() as u64));
            group.bench_function(name, |bencher| {
                bencher.iter(|| assert_eq!(count(), answer));
            });
        };
    let judge = Judge::new(rules);
    bench(
        "king_filter",
        &positions.before_kings,
        Some(known.count(Outcome::InCheck)),
        &|position| rules.in_check(position, position.turn().other()),
    );
    let depth_0 = positions
        .passed
        .iter()
        .filter(|position| judge.verdict(position, None) == Verdict::Unreachable { depth: 0 })
        .count();
    bench(
        "has_predecessor",
        &positions.passed,
        Some((positions.passed.len() - depth_0) as u64),
        &|position| rules.has_predecessor(position),
    );
    bench(
        "verdict",
        &positions.passed,
        Some(known.count(Outcome::Reachable)),
        &|position| judge.verdict(position, None) == Verdict::Reachable,
    );
    let some = &positions.reachable[..positions.reachable.len().min(8)];
    bench("search", some, Some(some.len() as u64), &|position| {
        published_search(rules, position, None).verdict == Verdict::Reachable
    });
    group.finish();
}

/// A question to a position.
type Holds<'a, B> = dyn Fn(&Position<B>) -> bool + 'a;

/// The block's positions, the plain way.
fn draw<B: Bits>(
    rules: &Rules<B>,
    known: &Known,
    candidates: &Candidates,
    sampler: &Sampler,
) -> Positions<B> {
    let judge = Judge::new(rules);
    let ranks = sampler.ranks_of(known.block).take(BLOCK as usize);
    let judged: Vec<(Outcome, Position<B>)> = ranks
        .map(|rank| candidates.unrank(rank).expect("a block's rank"))
        .map(|position| (judge.rule(&position, None).outcome, position))
        .collect();
    let from = |least: Outcome| {
        let some = judged.iter().filter(|(outcome, _)| *outcome >= least);
        some.map(|&(_, position)| position).collect()
    };
    Positions {
        before_kings: from(Outcome::InCheck),
        passed: from(Outcome::Unreachable),
        reachable: from(Outcome::Reachable),
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = stages
}
criterion_main!(benches);
