//! What the audits of a campaign exclude, in words.

use kazoe_common::estimate::AuditBound;
use kazoe_common::estimate::numerals::{grouped, nearest};

use super::Findings;

/// What the audits bound.
pub(super) fn bound(findings: &Findings) -> AuditBound {
    let snapshot = &findings.snapshot;
    let estimates = findings.report.estimates.as_ref();
    AuditBound::new(
        snapshot.audited,
        snapshot.counts.accepted,
        &findings.report.size,
        estimates.map(|estimates| &estimates.folded.estimate),
    )
}

/// Says how many segments another owner computed as well, and what that excludes; nothing where no segment
/// was audited.
pub(super) fn audited(findings: &Findings) -> Option<String> {
    let snapshot = &findings.snapshot;
    words(&bound(findings), snapshot.audited, snapshot.counts.accepted)
}

fn words(bound: &AuditBound, audited: u64, accepted: u64) -> Option<String> {
    let confirmed = format!(
        "{} of {} segments by another owner, and confirmed",
        grouped(audited),
        grouped(accepted)
    );
    let no_more = |wrong: f64| {
        let percent = 100.0 * wrong;
        format!("at 99.73% no more than {percent:.2}% of the segments are wrong")
    };
    Some(match bound {
        AuditBound::NoAudits => return None,
        AuditBound::All => format!(
            "all {} accepted segments by another owner, and confirmed",
            grouped(accepted)
        ),
        AuditBound::TooFew => {
            format!("{confirmed}: too few audits to bound the share of wrong segments")
        }
        AuditBound::Share { wrong } => format!(
            "{confirmed}: {}; too few audits to bound what that does to the estimate",
            no_more(*wrong)
        ),
        AuditBound::Estimate { wrong, moved } => format!(
            "{confirmed}: {}, which could move the estimate by {}",
            no_more(*wrong),
            nearest(&moved.clone().into(), 3)
        ),
    })
}

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;
    use num_rational::Ratio;

    use super::*;

    #[test]
    fn a_bound_that_says_nothing_is_called_too_few_audits() {
        let size = BigUint::from(16_014_219_505_238_849_250_u64);
        let estimate = Ratio::from_integer(BigUint::from(2_378_000_000_000_000_000_u64));
        let say = |audited, accepted| {
            let bound = AuditBound::new(audited, accepted, &size, Some(&estimate));
            words(&bound, audited, accepted)
        };
        assert_eq!(say(0, 2_442), None);
        let said = [
            say(1, 2_442),
            say(8, 2_442),
            say(30, 2_442),
            say(1_000, 2_442),
            say(13, 13),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        assert_eq!(
            said,
            [
                "1 of 2,442 segments by another owner, and confirmed: too few audits to bound the share of \
                 wrong segments",
                "8 of 2,442 segments by another owner, and confirmed: too few audits to bound the share of \
                 wrong segments",
                "30 of 2,442 segments by another owner, and confirmed: at 99.73% no more than 17.89% of the \
                 segments are wrong; too few audits to bound what that does to the estimate",
                "1,000 of 2,442 segments by another owner, and confirmed: at 99.73% no more than 0.59% of the \
                 segments are wrong, which could move the estimate by 9.44e16",
                "all 13 accepted segments by another owner, and confirmed",
            ]
        );
    }
}
