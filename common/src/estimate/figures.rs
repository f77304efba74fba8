//! The rows of a report: the funnel, the depths, the paths.

use std::collections::BTreeSet;

use num_rational::Ratio;

use super::agreement::{Comparison, enough_for_z};
use super::counts::Counts;
use super::intervals::{Share, clopper_pearson};
use super::published::Published;
use crate::census::{Outcome, Tally, Witness};

/// A stage of the funnel, in its order; a sample passes a stage if it passed all before and is not
/// rejected here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stage {
    /// Not greater than its left-right mirror image.
    Canonical,
    /// No two unpromoted Pawns of one side on a file.
    NoTwoPawns,
    /// No piece that can never move. Published tables of shogi join this stage with the one
    /// before.
    NoImmobilePiece,
    /// The King of the side not to move is not attacked.
    KingFilter,
    /// Some sequence of legal moves leads here.
    Reachable,
}

impl Stage {
    /// All, in the funnel's order.
    pub const ALL: [Stage; 5] = [
        Stage::Canonical,
        Stage::NoTwoPawns,
        Stage::NoImmobilePiece,
        Stage::KingFilter,
        Stage::Reachable,
    ];

    /// The name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Canonical => "canonical",
            Stage::NoTwoPawns => "no_two_pawns",
            Stage::NoImmobilePiece => "no_immobile_piece",
            Stage::KingFilter => "king_filter",
            Stage::Reachable => "reachable",
        }
    }

    /// What passes, for people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Stage::Canonical => "canonical under left-right mirror",
            Stage::NoTwoPawns => "no two pawns on a file",
            Stage::NoImmobilePiece => "no immobile piece",
            Stage::KingFilter => "king of the side not to move is not attacked",
            Stage::Reachable => "reachable",
        }
    }

    /// How the samples rejected at this stage end.
    #[must_use]
    pub const fn rejected(self) -> Outcome {
        match self {
            Stage::Canonical => Outcome::Mirrored,
            Stage::NoTwoPawns => Outcome::TwoPawns,
            Stage::NoImmobilePiece => Outcome::Immobile,
            Stage::KingFilter => Outcome::InCheck,
            Stage::Reachable => Outcome::Unreachable,
        }
    }
}

/// One stage of the funnel.
#[derive(Clone, Debug, PartialEq)]
pub struct FunnelRow {
    /// The stage.
    pub stage: Stage,
    /// How many samples passed it and all before; undecided ones do not pass the last.
    pub passed: u64,
    /// How many were rejected here; undecided ones are not.
    pub rejected: u64,
    /// All samples, so that the share passed is `passed` of `samples`.
    pub samples: u64,
    /// The Clopper-Pearson interval for the share that passes this stage and all before, at the
    /// level [`LEVEL`](super::LEVEL) for this stage alone. The undecided samples of the last stage
    /// widen it upward.
    pub interval: Share,
    /// The figure of others beside it, where there is one.
    pub comparison: Option<Comparison>,
}

impl FunnelRow {
    /// The five rows of a tally.
    pub(super) fn all(tally: &Tally, published: &Published) -> Vec<FunnelRow> {
        let samples = tally.samples();
        let undecided = tally.of(Outcome::Undecided);
        let mut passed = samples;
        let mut rows = Vec::with_capacity(Stage::ALL.len());
        for stage in Stage::ALL {
            let rejected = tally.of(stage.rejected());
            passed -= rejected;
            let last = stage == Stage::Reachable;
            if last {
                passed -= undecided;
            }
            let counts = Counts {
                samples,
                reachable: passed,
                undecided: if last { undecided } else { 0 },
            };
            let comparison = published
                .stage(stage)
                .map(|(other, count)| Comparison::of_reachable(&counts, other, count));
            rows.push(FunnelRow {
                stage,
                passed,
                rejected,
                samples,
                interval: clopper_pearson(&counts),
                comparison,
            });
        }
        rows
    }
}

/// The unreachable samples of one depth.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthRow {
    /// The most plies that can be traced back.
    pub depth: u32,
    /// How many samples.
    pub count: u64,
    /// The Clopper-Pearson interval for their share, at the level [`LEVEL`](super::LEVEL) for this
    /// depth alone. Every undecided sample may be of this depth.
    pub interval: Share,
    /// The figure of others beside it, where there is one; its z only where both experiments would
    /// be expected to have at least 10 such samples, as the normal approximation means
    /// little below.
    pub comparison: Option<Comparison>,
}

impl DepthRow {
    /// A row for every depth met here or in the experiment compared with.
    pub(super) fn all(tally: &Tally, published: &Published) -> Vec<DepthRow> {
        let samples = tally.samples();
        let undecided = tally.of(Outcome::Undecided);
        let other = published.depths();
        let known = other.map_or(&[][..], |experiment| experiment.depths);
        let depths: BTreeSet<u32> = tally
            .depths
            .keys()
            .copied()
            .chain(0..known.len() as u32)
            .collect();
        depths
            .into_iter()
            .map(|depth| {
                let count = tally.depths.get(&depth).copied().unwrap_or(0);
                let comparison = other.map(|experiment| {
                    let other_count = known.get(depth as usize).copied().unwrap_or(0);
                    let mut comparison = Comparison::new(count, samples, experiment, other_count);
                    let other_figures = (other_count, experiment.samples);
                    if !enough_for_z((count, samples), other_figures) {
                        comparison.z = None;
                    }
                    comparison
                });
                let counts = Counts {
                    samples,
                    reachable: count,
                    undecided,
                };
                DepthRow {
                    depth,
                    count,
                    interval: clopper_pearson(&counts),
                    comparison,
                }
            })
            .collect()
    }
}

/// L and E of the published search over the witnesses: L the positions on the path found, both ends
/// included, E those taken from the open list.
///
/// Every figure is one that was observed: the quantile q of k values is the ceil(q k)-th in
/// ascending order, so the median of an even number is the lower of the two in the middle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFigures {
    /// How many paths.
    pub count: u64,
    /// The shortest L.
    pub length_min: u32,
    /// The median L.
    pub length_median: u32,
    /// The longest L.
    pub length_max: u32,
    /// The median of E/L.
    pub ratio_median: Ratio<u64>,
    /// The 95th percentile of E/L.
    pub ratio_p95: Ratio<u64>,
    /// The greatest E/L.
    pub ratio_max: Ratio<u64>,
}

impl PathFigures {
    /// The figures of the [`Witness::Path`]s whose index is below `samples`; `None` if there are
    /// none.
    pub(super) fn of(witnesses: &[Witness], samples: u64) -> Option<Self> {
        let (mut lengths, mut ratios): (Vec<u32>, Vec<Ratio<u64>>) = witnesses
            .iter()
            .filter_map(|witness| match *witness {
                Witness::Path {
                    index,
                    length,
                    expansions,
                } if index < samples && length > 0 => {
                    Some((length, Ratio::new(expansions.into(), length.into())))
                }
                Witness::Path { .. } | Witness::Unreachable { .. } => None,
            })
            .unzip();
        lengths.sort_unstable();
        ratios.sort_unstable();
        Some(PathFigures {
            count: lengths.len() as u64,
            length_min: *lengths.first()?,
            length_median: quantile(&lengths, 50)?,
            length_max: *lengths.last()?,
            ratio_median: quantile(&ratios, 50)?,
            ratio_p95: quantile(&ratios, 95)?,
            ratio_max: *ratios.last()?,
        })
    }
}

/// The ceil(k percent / 100)-th of k ascending values; `None` if there are none.
fn quantile<T: Copy>(ascending: &[T], percent: usize) -> Option<T> {
    let place = (ascending.len() * percent).div_ceil(100);
    ascending.get(place.saturating_sub(1)).copied()
}
