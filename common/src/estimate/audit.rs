//! What audits that found nothing say of the segments that were not audited.

use num_bigint::BigUint;
use num_rational::Ratio;

use super::counts::exactly;
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

/// What the audits of a campaign bound.
#[derive(Clone, Debug, PartialEq)]
pub enum AuditBound {
    /// No segment was audited.
    NoAudits,
    /// Every accepted segment was audited and confirmed: there is nothing left to bound.
    All,
    /// Half of the segments or more may be wrong: too few audits to bound anything.
    TooFew,
    /// The share of wrong segments is bounded, but as many could move the estimate by its own size or
    /// more.
    Share {
        /// [`largest_wrong_share`].
        wrong: f64,
    },
    /// The estimate is bounded too.
    Estimate {
        /// [`largest_wrong_share`].
        wrong: f64,
        /// The number of positions by which as many wrong segments could move the estimate, rounded
        /// up.
        moved: BigUint,
    },
}

/// The [`largest_wrong_share`] from which on the audits bound nothing.
const USELESS: f64 = 0.5;

impl AuditBound {
    /// Returns what `audited` confirmed segments of `accepted` bound, for a population of this size;
    /// `estimate` is `None` where there is none yet.
    #[must_use]
    pub fn new(
        audited: u64,
        accepted: u64,
        size: &BigUint,
        estimate: Option<&Ratio<BigUint>>,
    ) -> Self {
        let wrong = largest_wrong_share(audited);
        if audited == 0 {
            return AuditBound::NoAudits;
        }
        if audited >= accepted {
            return AuditBound::All;
        }
        if wrong >= USELESS {
            return AuditBound::TooFew;
        }
        let moved = (exactly(wrong) * size).ceil();
        match estimate {
            Some(estimate) if moved < *estimate => AuditBound::Estimate {
                wrong,
                moved: moved.to_integer(),
            },
            _ => AuditBound::Share { wrong },
        }
    }

    /// The name on every surface.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            AuditBound::NoAudits => "no_audits",
            AuditBound::All => "all",
            AuditBound::TooFew => "too_few",
            AuditBound::Share { .. } => "share",
            AuditBound::Estimate { .. } => "estimate",
        }
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use num_rational::Ratio;

    use super::{AuditBound, largest_wrong_share};
    use crate::estimate::ALPHA;

    #[test]
    fn a_bound_that_says_nothing_is_none() {
        // Of a million positions a hundred thousand: a bound below a tenth moves it by less than all.
        let size = BigUint::from(1_000_000_u32);
        let estimate = Ratio::from_integer(BigUint::from(100_000_u32));
        let bound =
            |audited, accepted| AuditBound::new(audited, accepted, &size, Some(&estimate)).name();
        let found = [
            bound(0, 0),
            bound(0, 100),
            bound(1, 100),
            bound(8, 100),
            bound(9, 100),
            bound(56, 100),
            bound(57, 100),
            bound(99, 100),
            bound(100, 100),
            bound(1, 1),
        ];
        assert_eq!(
            found,
            [
                "no_audits",
                "no_audits",
                "too_few",
                "too_few",
                "share",
                "share",
                "estimate",
                "estimate",
                "all",
                "all"
            ]
        );
        // Without a reachable sample there is nothing that a bound could be small against.
        let nothing = Ratio::from_integer(BigUint::from(0_u8));
        for estimate in [None, Some(&nothing)] {
            let bound = AuditBound::new(1_000, 2_000, &size, estimate);
            assert_eq!(bound.name(), "share");
        }
        let AuditBound::Estimate { wrong, moved } =
            AuditBound::new(500, 600, &size, Some(&estimate))
        else {
            panic!("500 audits bound the estimate");
        };
        assert_eq!(wrong.to_bits(), largest_wrong_share(500).to_bits());
        assert_eq!(moved, BigUint::from(11_760_u32));
    }

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
