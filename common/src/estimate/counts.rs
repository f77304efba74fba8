//! What an estimate is made from, and how a share becomes a number of positions.

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::Zero;

use super::intervals::Share;
use crate::census::{Outcome, Tally};

/// The counts that the estimate needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// n: all samples.
    pub samples: u64,
    /// r: the reachable ones. At most n.
    pub reachable: u64,
    /// u: the undecided ones. r + u is at most n.
    pub undecided: u64,
}

impl Counts {
    /// The counts of a tally of the design `plain`.
    #[must_use]
    pub fn of(tally: &Tally) -> Self {
        Counts {
            samples: tally.samples(),
            reachable: tally.of(Outcome::Reachable),
            undecided: tally.of(Outcome::Undecided),
        }
    }

    /// r + u: the most samples that may be reachable.
    #[must_use]
    pub const fn possibly_reachable(&self) -> u64 {
        self.reachable + self.undecided
    }

    /// |P| r / n, exactly; `None` without samples.
    ///
    /// It is unbiased for every n fixed beforehand if no sample is undecided: each sample is
    /// uniform on the population, so the expectation of r is n times the share of the reachable
    /// ones, which is their number over |P|. Undecided samples bias it downward, by at most their
    /// own share.
    #[must_use]
    pub fn estimate(&self, size: &BigUint) -> Option<Ratio<BigUint>> {
        (self.samples > 0).then(|| Ratio::new(size * self.reachable, self.samples.into()))
    }

    /// sqrt((1 - p) / (p n)) with p = r / n: the standard error of the estimate over the estimate;
    /// `None` if r = 0.
    #[must_use]
    pub fn relative_standard_error(&self) -> Option<f64> {
        (self.reachable > 0).then(|| {
            let others = (self.samples - self.reachable) as f64;
            (others / (self.samples as f64 * self.reachable as f64)).sqrt()
        })
    }
}

/// An interval for a number of positions; the lower end was rounded down, the upper end up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The lower end.
    pub lower: BigUint,
    /// The upper end.
    pub upper: BigUint,
}

impl Interval {
    /// Whether the number lies in the interval.
    #[must_use]
    pub fn contains(&self, number: &BigUint) -> bool {
        (&self.lower..=&self.upper).contains(&number)
    }
}

/// The interval for a share, times the population's size: exact products (a float is a ratio of
/// integers), the lower one rounded down to an integer and the upper one up.
#[must_use]
pub fn scaled(share: &Share, size: &BigUint) -> Interval {
    Interval {
        lower: (exactly(share.lower) * size).floor().to_integer(),
        upper: (exactly(share.upper) * size).ceil().to_integer(),
    }
}

/// The interval for the number of positions with mirror images counted separately, from that for
/// the folded number and a bound on the self-mirrored ones.
///
/// A position and its mirror image are one in the folded count F and two in the unfolded count,
/// but for the self-mirrored ones, S in number, which are one in both: the unfolded count is
/// 2F - S. Every reachable self-mirrored position is a self-mirrored candidate, so 0 <= S <=
/// `self_mirrored`, and the unfolded count lies in [2 lower - `self_mirrored`, 2 upper] whenever F
/// lies in [lower, upper].
#[must_use]
pub fn unfolded(folded: &Interval, self_mirrored: &BigUint) -> Interval {
    let twice = &folded.lower << 1u32;
    Interval {
        lower: if &twice > self_mirrored {
            twice - self_mirrored
        } else {
            BigUint::zero()
        },
        upper: &folded.upper << 1u32,
    }
}

/// A float from 0 to 1 as the ratio of integers that it is.
pub(super) fn exactly(share: f64) -> Ratio<BigUint> {
    assert!((0.0..=1.0).contains(&share), "{share} is no proportion");
    let bits = share.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    // A normal float is 1.fraction * 2^(exponent - 1023), a subnormal one 0.fraction * 2^-1022.
    let (digits, shift) = match bits >> 52 {
        0 => (fraction, 1074),
        exponent => (fraction | 1 << 52, 1075 - exponent),
    };
    Ratio::new(BigUint::from(digits), BigUint::from(1u8) << shift)
}
