//! Everything that a report says, and nothing about how it looks.

use num_bigint::BigUint;
use num_rational::Ratio;

use super::agreement::{Beside, Comparison};
use super::counts::{Counts, Interval, scaled, unfolded};
use super::figures::{DepthRow, FunnelRow, PathFigures};
use super::intervals::{Method, Share, anytime_valid, clopper_pearson, normal};
use super::published::{Published, centre};
use crate::census::{Campaign, Digest, Tally, Witness};

/// What a campaign's prefix shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The campaign.
    pub campaign: Campaign,
    /// The population's size.
    pub size: BigUint,
    /// How many members of the population are their own mirror image: the most by which twice the
    /// folded number exceeds the unfolded one.
    pub self_mirrored: BigUint,
    /// How many samples the prefix holds.
    pub samples: u64,
    /// How many of them are undecided.
    pub undecided: u64,
    /// The prefix's digest.
    pub digest: Digest,
    /// The funnel, stage by stage.
    pub funnel: Vec<FunnelRow>,
    /// The unreachable samples by depth.
    pub depths: Vec<DepthRow>,
    /// L and E of the published search; `None` without a witness of it.
    pub paths: Option<PathFigures>,
    /// What others found.
    pub published: Published,
    /// The published estimate beside this one; `None` where no estimate is published.
    pub beside: Option<Beside>,
    /// The estimates; `None` without samples.
    pub estimates: Option<Estimates>,
}

/// The estimates of a prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimates {
    /// p = r / n: reachable of all samples.
    pub share: Ratio<u64>,
    /// The estimate's standard error over the estimate; `None` if no sample is reachable.
    pub relative_standard_error: Option<f64>,
    /// The three intervals for p, in the order of [`Method::ALL`].
    pub share_intervals: [(Method, Share); 3],
    /// The number wanted: positions with Black to move, a position and its left-right mirror image
    /// counted once.
    pub folded: Folding,
    /// The number with mirror images counted separately. Its estimate is twice the folded one,
    /// which is too large by at most [`Report::self_mirrored`]; its intervals allow for that.
    pub unfolded: Folding,
}

/// An estimate under one convention, with its intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folding {
    /// The estimate, exact.
    pub estimate: Ratio<BigUint>,
    /// Its three intervals, in the order of [`Method::ALL`].
    pub intervals: [(Method, Interval); 3],
}

impl Folding {
    /// The interval made by this method.
    #[must_use]
    pub fn interval(&self, method: Method) -> &Interval {
        &self.intervals[method as usize].1
    }
}

impl Report {
    /// From a campaign's prefix.
    ///
    /// `size` is the population's size and `self_mirrored` the number of its members that are their
    /// own mirror image; `prefix` is the merged tally of the segments from 0 on without a gap, a
    /// segment set aside being counted wholly as undecided; `witnesses` may hold more than the
    /// prefix's, which are left out.
    #[must_use]
    pub fn new(
        campaign: &Campaign,
        size: &BigUint,
        self_mirrored: &BigUint,
        prefix: &Tally,
        witnesses: &[Witness],
    ) -> Self {
        let published = Published::of(campaign.variant);
        let counts = Counts::of(prefix);
        Report {
            campaign: campaign.clone(),
            size: size.clone(),
            self_mirrored: self_mirrored.clone(),
            samples: counts.samples,
            undecided: counts.undecided,
            digest: prefix.digest,
            funnel: FunnelRow::all(prefix, &published),
            depths: DepthRow::all(prefix, &published),
            paths: PathFigures::of(witnesses, counts.samples),
            beside: Beside::new(&counts, &published),
            published,
            estimates: Estimates::new(&counts, centre(campaign.variant), size, self_mirrored),
        }
    }

    /// The greatest |z| among the report's comparisons; `None` without one.
    ///
    /// Below 3 the prefix agrees with what others found. With k comparisons that are nearly
    /// independent, chance alone exceeds 3 about once in 370/k reports.
    #[must_use]
    pub fn greatest_z(&self) -> Option<f64> {
        self.comparisons()
            .filter_map(Comparison::greatest)
            .reduce(f64::max)
    }

    /// The greatest |z| among the comparisons that can be judged ([`Comparison::enough`]): the least
    /// that the undecided samples leave possible, and the most. `None` without such a comparison.
    #[must_use]
    pub fn judged_z(&self) -> Option<[f64; 2]> {
        let judged = || self.comparisons().filter(|comparison| comparison.enough);
        let least = judged().filter_map(Comparison::least).reduce(f64::max)?;
        let most = judged().filter_map(Comparison::greatest).reduce(f64::max)?;
        Some([least, most])
    }

    fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        let rows = self.funnel.iter().map(|row| &row.comparison);
        let depths = self.depths.iter().map(|row| &row.comparison);
        rows.chain(depths).flatten()
    }
}

impl Estimates {
    /// From the counts and the constants; `None` without samples.
    fn new(
        counts: &Counts,
        centre: (u64, u64),
        size: &BigUint,
        self_mirrored: &BigUint,
    ) -> Option<Self> {
        let estimate = counts.estimate(size)?;
        let share_intervals = Method::ALL.map(|method| {
            let share = match method {
                Method::Normal => normal(counts),
                Method::ClopperPearson => clopper_pearson(counts),
                Method::AnytimeValid => anytime_valid(counts, centre),
            };
            (method, share)
        });
        let folded = share_intervals.map(|(method, share)| (method, scaled(&share, size)));
        let both = folded
            .clone()
            .map(|(method, interval)| (method, unfolded(&interval, self_mirrored)));
        Some(Estimates {
            share: Ratio::new(counts.reachable, counts.samples),
            relative_standard_error: counts.relative_standard_error(),
            share_intervals,
            unfolded: Folding {
                estimate: &estimate * BigUint::from(2u8),
                intervals: both,
            },
            folded: Folding {
                estimate,
                intervals: folded,
            },
        })
    }
}
