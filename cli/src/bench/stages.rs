//! The stages, each with the work of one round and the check of its answer.

use std::hint::black_box;
use std::time::Instant;

use kazoe_common::census::{Arm, BLOCK, Outcome, Tally, Verdict, published_search};
use kazoe_common::game::{Bits, Position};

use super::clock::{self, nanoseconds, timed};
use super::findings::Label;
use super::inputs::Inputs;
use super::interleave::{Spread, Stage, quantile};
use super::reference_answers::{BLOCKS, expect};
use super::{Part, Plan};

/// The stages that the plan wants, in order.
///
/// # Errors
/// If building tables fails.
pub(super) fn chosen<'a, B: Bits>(
    inputs: &'a Inputs<B>,
    plan: &Plan,
) -> Result<Vec<Stage<'a>>, String> {
    let mut stages = Vec::new();
    if plan.wants(Part::Draws) {
        stages.push(draws(inputs));
    }
    if plan.wants(Part::Funnel) {
        stages.extend(plan.arms.iter().map(|&arm| funnel(inputs, arm)));
    }
    if plan.wants(Part::Pipeline) {
        for &arm in &plan.arms {
            stages.push(pipeline(inputs, arm)?);
        }
    }
    if plan.wants(Part::KingFilter) {
        stages.push(king_filter(inputs));
    }
    if plan.wants(Part::HasPredecessor) {
        stages.push(has_predecessor(inputs));
    }
    if plan.wants(Part::Verdict) {
        stages.push(verdict(inputs));
    }
    if plan.wants(Part::Search) {
        stages.push(search(inputs));
    }
    Ok(stages)
}

/// A label of the thread's own time.
const fn label(name: &'static str, words: &'static str, per: &'static str) -> Label {
    Label {
        name,
        words,
        arm: None,
        per,
        clock: clock::NAME,
    }
}

/// A count as the number of things that a time is divided by.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn over(time: f64, count: u64) -> Vec<f64> {
    vec![time / count as f64]
}

fn draws<B: Bits>(inputs: &Inputs<B>) -> Stage<'_> {
    Stage {
        labels: vec![label("draws", "draw of a rank", "sample")],
        round: Box::new(|| {
            let (sum, time) = timed(|| {
                let mut sum = 0_u64;
                for number in 0..BLOCKS {
                    let block = inputs.known.first_block + number;
                    let mut draws = inputs.sampler.ranks_of(block);
                    let mut left = BLOCK as usize;
                    while left > 0 {
                        let ranks = draws.next_batch();
                        let ranks = &ranks[..ranks.len().min(left)];
                        for rank in ranks {
                            sum = sum.wrapping_add(rank.limbs()[0]);
                        }
                        left -= ranks.len();
                    }
                }
                sum
            });
            expect("sum of ranks", &sum, &inputs.known.ranks)?;
            Ok(over(time, BLOCKS * BLOCK))
        }),
    }
}

fn funnel<B: Bits>(inputs: &Inputs<B>, arm: Arm) -> Stage<'_> {
    let funnel = inputs.funnel(arm);
    Stage {
        labels: vec![Label {
            arm: Some(arm),
            ..label("funnel", "draw and funnel, no verdict", "sample")
        }],
        round: Box::new(move || {
            let known = inputs.known;
            let mut counts = [0_u64; 7];
            let mut passed = 0;
            let mut outcomes = [0; BLOCK as usize];
            let ((), time) = timed(|| {
                for number in 0..BLOCKS {
                    let block = known.first_block + number;
                    let pass = |_, position: &Position<B>| {
                        black_box(position);
                        passed += 1;
                        Outcome::Undecided
                    };
                    funnel.block(&inputs.sampler, block, &mut outcomes, pass);
                    for &outcome in &outcomes {
                        counts[usize::from(outcome)] += 1;
                    }
                }
            });
            let mut expected = [0; 7];
            expected[..4].copy_from_slice(&known.outcomes[..4]);
            expected[Outcome::Undecided as usize] = known.passed();
            expect("filtered samples", &counts, &expected)?;
            expect("samples that pass", &passed, &known.passed())?;
            Ok(over(time, BLOCKS * BLOCK))
        }),
    }
}

fn pipeline<B: Bits>(inputs: &Inputs<B>, arm: Arm) -> Result<Stage<'_>, String> {
    let counter = inputs.counter(arm)?;
    Ok(Stage {
        labels: vec![Label {
            arm: Some(arm),
            ..label("pipeline", "whole pipeline, witnesses included", "sample")
        }],
        round: Box::new(move || {
            let ((tally, witnesses), time) = timed(|| {
                let mut tally = Tally::default();
                let mut witnesses = Vec::new();
                for number in 0..BLOCKS {
                    let counted = counter.block(inputs.known.first_block + number, BLOCK);
                    tally.merge(&counted.tally);
                    witnesses.extend(counted.witnesses);
                }
                (tally, witnesses)
            });
            inputs
                .known
                .check(&tally, &witnesses)
                .map_err(|wrong| format!("arm {arm}: {wrong}"))?;
            Ok(over(time, BLOCKS * BLOCK))
        }),
    })
}

fn king_filter<B: Bits>(inputs: &Inputs<B>) -> Stage<'_> {
    let positions = &inputs.positions().before_kings;
    Stage {
        labels: vec![label("king_filter", "King filter", "position")],
        round: Box::new(|| {
            let (found, time) = timed(|| {
                count_near(positions, |position| {
                    inputs.rules.in_check(position, position.turn().other())
                })
            });
            let known = PASSES * inputs.known.head.in_check;
            expect("Kings in check", &found, &known)?;
            Ok(over(time, PASSES * positions.len() as u64))
        }),
    }
}

fn has_predecessor<B: Bits>(inputs: &Inputs<B>) -> Stage<'_> {
    let positions = &inputs.positions().passed;
    Stage {
        labels: vec![label(
            "has_predecessor",
            "has a predecessor",
            "position that passes",
        )],
        round: Box::new(|| {
            let (found, time) = timed(|| {
                count_near(positions, |position| {
                    !inputs.rules.has_predecessor(position)
                })
            });
            let known = PASSES * inputs.known.head.without_predecessor;
            expect("positions without a predecessor", &found, &known)?;
            Ok(over(time, PASSES * positions.len() as u64))
        }),
    }
}

/// The verdicts: their mean, and apart from it the spread over positions. One position is too short for
/// the thread's own clock, so each is timed on the wall, less what looking at that clock takes.
fn verdict<B: Bits>(inputs: &Inputs<B>) -> Stage<'_> {
    let positions = &inputs.positions().passed;
    let per = "position that passes";
    let on_the_wall = |name, words| Label {
        clock: "wall",
        ..label(name, words, per)
    };
    Stage {
        labels: vec![
            label("verdict", "verdict, mean", per),
            on_the_wall("verdict_median", "verdict, median over positions"),
            on_the_wall("verdict_p99", "verdict, p99 over positions"),
        ],
        round: Box::new(|| {
            let is_reachable =
                |position: &Position<B>| inputs.judge.verdict(position, None) == Verdict::Reachable;
            let (found, time) = timed(|| count(positions, is_reachable));
            expect("reachable positions", &found, &inputs.known.head.reachable)?;
            let known = inputs.known.head.reachable + inputs.known.head.unreachable;
            expect("judged positions", &(positions.len() as u64), &known)?;
            let mut figures = over(time, known);

            let idle = Spread::of(positions.iter().map(|_| wall(|| ())).collect()).median;
            let mut singles: Vec<f64> = positions
                .iter()
                .map(|position| wall(|| is_reachable(black_box(position))) - idle)
                .collect();
            singles.sort_by(f64::total_cmp);
            figures.extend([quantile(&singles, 0.5), quantile(&singles, 0.99)]);
            Ok(figures)
        }),
    }
}

fn search<B: Bits>(inputs: &Inputs<B>) -> Stage<'_> {
    let positions = &inputs.positions().searched;
    Stage {
        labels: vec![label("search", "published search", "reachable position")],
        round: Box::new(|| {
            let (found, time) = timed(|| {
                positions
                    .iter()
                    .fold((0, 0), |(lengths, expansions), position| {
                        let search = published_search(&inputs.rules, position, None);
                        (lengths + search.length(), expansions + search.expansions)
                    })
            });
            expect("searches (L, E)", &found, &inputs.known.searches)?;
            Ok(over(time, positions.len() as u64))
        }),
    }
}

fn count<B>(positions: &[Position<B>], mut holds: impl FnMut(&Position<B>) -> bool) -> u64 {
    positions
        .iter()
        .filter(|&position| holds(black_box(position)))
        .count() as u64
}

/// How often [`count_near`] looks at each position.
const PASSES: u64 = 8;

/// Counts some positions, which a processor's second cache holds, several times before it goes on to the
/// next: the census asks its short questions when a position has just been made.
fn count_near<B>(positions: &[Position<B>], mut holds: impl FnMut(&Position<B>) -> bool) -> u64 {
    const NEAR: usize = 1024;
    let mut found = 0;
    for near in positions.chunks(NEAR) {
        for _ in 0..PASSES {
            found += count(near, &mut holds);
        }
    }
    found
}

/// Time on the wall, in nanoseconds.
fn wall<R>(work: impl FnOnce() -> R) -> f64 {
    let start = Instant::now();
    black_box(work());
    nanoseconds(start.elapsed())
}
