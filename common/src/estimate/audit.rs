//! What audits that found nothing say of the segments that were not audited.

use super::intervals::ALPHA;

/// The largest share of wrong segments that `audited` confirmed ones do not exclude at the level
/// [`LEVEL`](super::LEVEL), 0 to 1.
///
/// *Why.* Audits are chosen by a salted hash after a segment was accepted, so nobody can answer well
/// only where it will be looked at: the audited segments are as good as drawn at random. If a share b
/// of all is wrong, then n draws without replacement all miss it with a probability of at most
/// (1 - b)^n, which falls below alpha where b exceeds 1 - alpha^(1/n).
///
/// As many wrong segments could hold any outcomes in truth, so they could move the share of reachable
/// samples by at most b, and the estimate by at most b times the population's size.
#[must_use]
pub fn largest_wrong_share(audited: u64) -> f64 {
    if audited == 0 {
        return 1.0;
    }
    // 1 - exp(ln(alpha) / n), without cancellation.
    -(ALPHA.ln() / audited as f64).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::largest_wrong_share;
    use crate::estimate::ALPHA;

    #[test]
    fn as_many_wrong_ones_are_missed_as_often_as_alpha() {
        assert_eq!(largest_wrong_share(0).to_bits(), 1.0_f64.to_bits());
        let mut last = 1.0;
        for audited in [1_u64, 2, 10, 500, 1_000_000] {
            let share = largest_wrong_share(audited);
            assert!(share > 0.0 && share < last);
            last = share;
            let missed = (audited as f64 * (-share).ln_1p()).exp();
            assert!((missed / ALPHA - 1.0).abs() < 1e-9, "{audited}: {missed}");
        }
        // The rule of three, at this level nearly six: 5.914 / n.
        assert!((largest_wrong_share(1_000_000) * 1e6 - 5.9146).abs() < 1e-3);
    }
}
