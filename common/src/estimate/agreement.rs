//! How far two experiments are apart.

use super::counts::Counts;
use super::figures::Stage;
use super::published::{Experiment, PrintedEstimate, Published, Source};

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
    /// Whether z can be judged: whether both experiments would be expected to have at least 10
    /// samples that are counted here, and 10 that are not.
    pub enough: bool,
}

impl Comparison {
    /// Compares `count` of `samples` with `other_count` of an experiment's samples.
    pub(super) fn new(count: u64, samples: u64, other: &Experiment, other_count: u64) -> Self {
        let enough =
            |count, other_count| enough_for_z((count, samples), (other_count, other.samples));
        Comparison {
            source: other.source,
            samples: other.samples,
            count: other_count,
            z: two_proportion_z((count, samples), (other_count, other.samples)),
            z_with_undecided: None,
            enough: enough(count, other_count)
                && enough(samples - count, other.samples - other_count),
        }
    }

    /// Compares the reachable samples with `other_count` of an experiment's samples.
    pub(super) fn of_reachable(counts: &Counts, other: &Experiment, other_count: u64) -> Self {
        let with = |count| Comparison::new(count, counts.samples, other, other_count);
        let mut comparison = with(counts.reachable);
        if counts.undecided > 0 {
            comparison.z_with_undecided = with(counts.possibly_reachable()).z;
        }
        comparison
    }

    /// The smallest |z| that the undecided samples leave possible; `None` where there is no z.
    ///
    /// z grows with the number of reachable samples, so an end on either side of 0 leaves 0.
    #[must_use]
    pub fn least(&self) -> Option<f64> {
        let z = self.z?;
        let most = self.z_with_undecided.unwrap_or(z);
        Some(if z <= 0.0 && most >= 0.0 {
            0.0
        } else {
            z.abs().min(most.abs())
        })
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

/// The least expected count for which the normal approximation behind z means something.
const ENOUGH: u64 = 10;

/// Whether both experiments would be expected to have at least [`ENOUGH`] of the samples counted, if
/// both drew from the same share.
pub(super) fn enough_for_z(
    (count, samples): (u64, u64),
    (other_count, other_samples): (u64, u64),
) -> bool {
    // The pooled share times the smaller number of samples.
    u128::from(count + other_count) * u128::from(samples.min(other_samples))
        >= u128::from(ENOUGH) * u128::from(samples + other_samples)
}

/// The |z| below which two figures agree.
pub const AGREES_BELOW: f64 = 3.0;

/// The published estimate, beside one's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// The experiment that it comes from.
    pub experiment: &'static Experiment,
    /// The estimate as printed.
    pub printed: PrintedEstimate,
    /// How many of the experiment's samples are reachable, and how far one's own share is from
    /// theirs. Both estimates are the share times the same population's size, so the estimates are
    /// as far apart as the shares.
    pub comparison: Comparison,
}

impl Beside {
    /// The published estimate beside these counts; `None` where no estimate is published.
    pub(super) fn new(counts: &Counts, published: &Published) -> Option<Self> {
        let (experiment, printed) = published.estimate()?;
        let other_count = experiment.passed(Stage::Reachable)?;
        Some(Beside {
            experiment,
            printed,
            comparison: Comparison::of_reachable(counts, experiment, other_count),
        })
    }

    /// Whether the two estimates agree; `complete` says whether all samples wanted are there.
    #[must_use]
    pub fn verdict(&self, complete: bool) -> Verdict {
        let (Some(least), Some(greatest), true) = (
            self.comparison.least(),
            self.comparison.greatest(),
            self.comparison.enough,
        ) else {
            return Verdict::TooFewSamples;
        };
        if !complete {
            Verdict::Unfinished
        } else if greatest < AGREES_BELOW {
            Verdict::Agrees
        } else if least < AGREES_BELOW {
            Verdict::Undecided
        } else {
            Verdict::Differs
        }
    }
}

/// Whether an estimate agrees with the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// They are less than [`AGREES_BELOW`] standard deviations of their difference apart, whatever
    /// the undecided samples are.
    Agrees,
    /// They are further apart, whatever the undecided samples are.
    Differs,
    /// It depends on the undecided samples.
    Undecided,
    /// The campaign is unfinished. z is made for a number of samples fixed beforehand: a campaign
    /// that is watched exceeds [`AGREES_BELOW`] at some moment far more often than at its end.
    Unfinished,
    /// There are too few samples for z to mean something.
    TooFewSamples,
}

impl Verdict {
    /// The name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::Undecided => "undecided",
            Verdict::Unfinished => "unfinished",
            Verdict::TooFewSamples => "too_few_samples",
        }
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
