//! The published estimate beside ours, in words.

use kazoe_common::estimate::numerals::{grouped, z_score};
use kazoe_common::estimate::published::Printed;
use kazoe_common::estimate::{AGREES_BELOW, Beside, Comparison, Verdict};
use num_bigint::BigUint;

/// The published estimate of one convention, as it is shown.
pub(super) struct PublishedEstimate {
    /// The number, or `none`.
    pub(super) estimate: String,
    /// The ends of its interval, if one is published.
    pub(super) interval: Option<String>,
    /// Where it comes from, or why there is none.
    pub(super) origin: String,
}

impl PublishedEstimate {
    /// The published folded or unfolded estimate of a variant with this name.
    pub(super) fn new(beside: Option<&Beside>, folded: bool, variant: &str) -> Self {
        let convention = if folded { "folded" } else { "unfolded" };
        let none = |origin| PublishedEstimate {
            estimate: "none".to_owned(),
            interval: None,
            origin,
        };
        let Some(beside) = beside else {
            return none(format!("Kazoe knows no published estimate of {variant}"));
        };
        let printed = if folded {
            Some(beside.printed.folded)
        } else {
            beside.printed.unfolded
        };
        let Some(Printed { estimate, interval }) = printed else {
            return none(format!("no {convention} estimate is published"));
        };
        let missing = match interval {
            Some(_) => "",
            None => "; no interval is published",
        };
        PublishedEstimate {
            estimate: estimate.to_owned(),
            interval: interval.map(|[lower, upper]| format!("{lower} to {upper}")),
            origin: format!(
                "{convention}; {}, {} samples{missing}",
                beside.printed.authors,
                grouped(BigUint::from(beside.experiment.samples))
            ),
        }
    }
}

/// Says in a sentence whether the two folded estimates agree.
pub(super) fn judgement(beside: &Beside, complete: bool) -> String {
    let apart = apart(&beside.comparison);
    match beside.verdict(complete) {
        Verdict::Agrees => {
            format!("The two folded estimates agree: they are {apart}, less than {AGREES_BELOW}.")
        }
        Verdict::Differs => format!(
            "The two folded estimates DO NOT AGREE: they are {apart}, not less than {AGREES_BELOW}."
        ),
        Verdict::Undecided => format!(
            "Whether the two folded estimates agree depends on the undecided samples: they are {apart}."
        ),
        Verdict::Unfinished => format!(
            "Whether the two folded estimates agree is judged when the campaign is complete; so far they \
             are {apart}."
        ),
        Verdict::TooFewSamples => {
            "There are too few samples to judge whether the two folded estimates agree: \
             fewer than 10 reachable or 10 other samples are expected in one of the two."
                .to_owned()
        }
    }
}

/// Says how far the unfolded estimates are apart, where one is published.
pub(super) const UNFOLDED: &str =
    "Both unfolded estimates are twice the folded ones: they are as far apart.";

/// How far the two are apart, with the undecided samples as unreachable and as reachable.
fn apart(comparison: &Comparison) -> String {
    let distance = match (comparison.z, comparison.z_with_undecided) {
        (Some(z), Some(most)) => format!("{} to {}", z_score(z), z_score(most)),
        (z, _) => format!("{:.2}", z.unwrap_or(0.0).abs()),
    };
    format!("{distance} standard deviations of their difference apart")
}

#[cfg(test)]
mod tests {
    use kazoe_common::census::{Campaign, Outcome, Tally};
    use kazoe_common::estimate::Report;
    use kazoe_common::game::Variant;

    use super::*;

    /// What is published beside a campaign with these counts.
    fn beside(
        variant: &'static Variant,
        reachable: u64,
        undecided: u64,
        all: u64,
    ) -> Option<Beside> {
        let mut tally = Tally::default();
        for (outcome, count) in [
            (Outcome::Reachable, reachable),
            (Outcome::Undecided, undecided),
            (Outcome::TwoPawns, all - reachable - undecided),
        ] {
            if count > 0 {
                tally.cells.insert(outcome as u32, count);
            }
        }
        let size = BigUint::from(16_014_219_505_238_849_250_u64);
        let campaign = Campaign::new(variant, 1);
        Report::new(&campaign, &size, &BigUint::from(0_u8), &tally, &[]).beside
    }

    #[test]
    fn a_sentence_says_whether_the_estimates_agree() {
        let say = |reachable, undecided, complete| {
            let beside = beside(&Variant::MINISHOGI, reachable, undecided, 1_000_000);
            judgement(&beside.unwrap(), complete)
        };
        assert_eq!(
            say(149_000, 0, true),
            "The two folded estimates agree: they are 1.42 standard deviations of their difference \
             apart, less than 3."
        );
        assert_eq!(
            say(155_000, 0, true),
            "The two folded estimates DO NOT AGREE: they are 18.21 standard deviations of their \
             difference apart, not less than 3."
        );
        assert_eq!(
            say(147_000, 5_000, true),
            "Whether the two folded estimates agree depends on the undecided samples: they are -4.18 \
             to +9.82 standard deviations of their difference apart."
        );
        assert_eq!(
            say(148_000, 500, true),
            "The two folded estimates agree: they are -1.38 to +0.02 standard deviations of their \
             difference apart, less than 3."
        );
        assert_eq!(
            say(155_000, 0, false),
            "Whether the two folded estimates agree is judged when the campaign is complete; so far \
             they are 18.21 standard deviations of their difference apart."
        );
        let few = beside(&Variant::MINISHOGI, 9, 0, 60).unwrap();
        assert_eq!(
            judgement(&few, true),
            "There are too few samples to judge whether the two folded estimates agree: fewer than 10 \
             reachable or 10 other samples are expected in one of the two."
        );
    }

    #[test]
    fn what_is_published_is_shown_as_printed() {
        let shown = |variant: &'static Variant, folded| {
            let beside = beside(variant, 100, 0, 1_000);
            let published = PublishedEstimate::new(beside.as_ref(), folded, variant.name);
            let interval = published.interval.unwrap_or_default();
            [published.estimate, interval, published.origin].join(" | ")
        };
        assert_eq!(
            [
                shown(&Variant::SHOGI, true),
                shown(&Variant::SHOGI, false),
                shown(&Variant::MINISHOGI, true),
                shown(&Variant::MINISHOGI, false),
            ],
            [
                "6.55e68 | 6.546923e68 to 6.553074e68 | folded; Ishii and Tanaka, 5,000,000,000 samples",
                "1.31e69 |  | unfolded; Ishii and Tanaka, 5,000,000,000 samples; no interval is published",
                "2.3780e18 | 2.3763e18 to 2.3797e18 | folded; Ishii and Tanaka, 100,000,000 samples",
                "none |  | no unfolded estimate is published",
            ]
        );
        static UNPUBLISHED: Variant = Variant {
            id: "unpublished",
            published_share: None,
            ..Variant::MINISHOGI
        };
        let none = shown(&UNPUBLISHED, true);
        let expected = "none |  | Kazoe knows no published estimate of ";
        assert!(none.starts_with(expected), "{none}");
    }
}
