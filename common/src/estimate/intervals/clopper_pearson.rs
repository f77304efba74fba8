//! The interval of Clopper and Pearson.

use super::{ALPHA, Share};
use crate::estimate::Counts;
use crate::estimate::beta::Beta;

/// Clopper and Pearson's interval at the level [`LEVEL`](super::LEVEL), for an n fixed beforehand.
///
/// *Why it holds.* Let X be the number of reachable samples, binomial with n and p. The lower end
/// L(r) is the p at which P(X >= r) = alpha/2 (0 if r = 0), and P(X >= r) grows with p. So p < L(X)
/// means that P_p(X' >= X) < alpha/2 for an independent copy X'; the values of X for which this is
/// so are an upper tail, and that tail has a probability below alpha/2. Likewise for the upper end.
/// Together they miss p with a probability of at most alpha, for every n and p; no approximation is
/// involved. P(X >= r) is the lower tail at p of Beta(r, n - r + 1), hence the ends are quantiles
/// of beta distributions. (C. J. Clopper and E. S. Pearson, Biometrika 26 (1934) 404-413.)
///
/// The ends are accurate to 10^-8 of the interval's width for n to 10^13, r = 0 and r = n included
/// (tested against 50-digit arithmetic).
#[must_use]
pub fn clopper_pearson(counts: &Counts) -> Share {
    let samples = counts.samples;
    let possibly = counts.possibly_reachable();
    // The upper end for r is 1 less the lower end for the n - r others.
    Share {
        lower: lower(samples, counts.reachable).map_or(0.0, |(share, _)| share),
        upper: lower(samples, samples - possibly).map_or(1.0, |(_, rest)| rest),
    }
}

/// The lower end and 1 less it, or `None` for 0.
fn lower(samples: u64, reachable: u64) -> Option<(f64, f64)> {
    if reachable == 0 {
        return None;
    }
    let beta = Beta::new(reachable as f64, (samples - reachable) as f64 + 1.0);
    let end = beta.lower_quantile((ALPHA / 2.0).ln());
    Some((end.share(), end.rest()))
}
