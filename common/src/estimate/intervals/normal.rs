//! The published interval: three standard deviations of the normal approximation.

use super::Share;
use crate::estimate::Counts;

/// p +- 3 sqrt(p (1 - p) / n), clipped to 0 and 1, for an n fixed beforehand.
///
/// It is what the published experiments print. It has no guarantee: at r = 0 or r = n its width is
/// 0, and for few reachable samples it covers less than its name says. With n = 0 it is the whole
/// range.
#[must_use]
pub fn normal(counts: &Counts) -> Share {
    if counts.samples == 0 {
        return Share::ALL;
    }
    let n = counts.samples as f64;
    let half_width = |reachable: u64| {
        let p = reachable as f64 / n;
        let q = (counts.samples - reachable) as f64 / n;
        (p, 3.0 * (p * q / n).sqrt())
    };
    let (low, low_half) = half_width(counts.reachable);
    let (high, high_half) = half_width(counts.possibly_reachable());
    Share {
        lower: (low - low_half).max(0.0),
        upper: (high + high_half).min(1.0),
    }
}
