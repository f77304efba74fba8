//! The estimate shown while the work goes on.

use num_bigint::BigUint;
use num_rational::Ratio;

use super::counts::{Counts, Interval, scaled};
use super::intervals::anytime_valid;
use super::published::centre;
use crate::census::{Campaign, Tally};

/// The folded estimate over a prefix and its anytime-valid interval: what may be shown at any
/// moment, and acted upon. Made in a fraction of a millisecond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The estimate, exact; folded, Black to move.
    pub estimate: Ratio<BigUint>,
    /// Its anytime-valid interval.
    pub interval: Interval,
}

impl Running {
    /// From the tally of a campaign's prefix and the population's size; `None` without samples.
    ///
    /// `prefix` must be the finished segments from 0 on without a gap. All that is finished so far
    /// leans toward what is quick to decide, and neither the estimate nor the interval would mean
    /// what it says.
    #[must_use]
    pub fn new(campaign: &Campaign, size: &BigUint, prefix: &Tally) -> Option<Self> {
        let counts = Counts::of(prefix);
        Some(Running {
            estimate: counts.estimate(size)?,
            interval: scaled(&anytime_valid(&counts, centre(campaign.variant)), size),
        })
    }
}
