//! How far two experiments are apart.

use super::published::{Experiment, Source};

/// The figure of another experiment, beside one's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Who found the other figure.
    pub source: Source,
    /// How many samples the other experiment took.
    pub samples: u64,
    /// How many of them were counted here.
    pub count: u64,
    /// The [`two_proportion_z`] of one's own figure against the other; `None` where it would say
    /// nothing.
    pub z: Option<f64>,
    /// The same if every undecided sample were reachable; `None` where no sample is undecided or
    /// this figure does not depend on them.
    pub z_with_undecided: Option<f64>,
}

impl Comparison {
    /// Compares `count` of `samples` with `other_count` of an experiment's samples.
    pub(super) fn new(count: u64, samples: u64, other: &Experiment, other_count: u64) -> Self {
        Comparison {
            source: other.source,
            samples: other.samples,
            count: other_count,
            z: two_proportion_z((count, samples), (other_count, other.samples)),
            z_with_undecided: None,
        }
    }

    /// The greatest distance among those given here.
    #[must_use]
    pub fn greatest(&self) -> Option<f64> {
        [self.z, self.z_with_undecided]
            .into_iter()
            .flatten()
            .map(f64::abs)
            .reduce(f64::max)
    }
}

/// The two-proportion z with pooled variance, of (count, samples) against (count, samples).
///
/// With x of n and y of m and the pooled share P = (x + y) / (n + m),
///
/// ```text
/// z = (x/n - y/m) / sqrt(P (1 - P) (1/n + 1/m)):
/// ```
///
/// positive if the first share is the greater. If both experiments draw from the same share, z is
/// close to a standard normal for large counts, so |z| < 3 in 99.73% of comparisons. The numerator
/// x m - y n is computed in integers, so nothing is lost where the shares are nearly equal; the
/// result has a relative accuracy of 10^-15. Each count is at most its samples, which are at most
/// 2^62. `None` without samples, or if all or none were counted in both, when there is no variance
/// to compare with.
#[must_use]
pub fn two_proportion_z(first: (u64, u64), second: (u64, u64)) -> Option<f64> {
    let ((x, n), (y, m)) = (first, second);
    let (counted, samples) = (x + y, n + m);
    if n == 0 || m == 0 || counted == 0 || counted == samples {
        return None;
    }
    // z = (x m - y n) sqrt((n + m) / (n m (x + y) (n + m - x - y))).
    let numerator = i128::from(x) * i128::from(m) - i128::from(y) * i128::from(n);
    let samples_product = n as f64 * m as f64;
    let counts_product = counted as f64 * (samples - counted) as f64;
    Some(numerator as f64 * (samples as f64 / samples_product / counts_product).sqrt())
}
