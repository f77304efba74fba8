//! What an arriving tally means.

use kazoe_coordinator::leasing::{Effect, LoggedTally, SegmentLog, compare};
use kazoe_proto::outcome::DeliveryOutcome;

use crate::{received, tally};

fn docket(earlier: &[(&str, u8)], disputed: bool) -> SegmentLog {
    SegmentLog {
        samples: 10,
        earlier: earlier
            .iter()
            .zip(1..)
            .map(|(&(owner, value), lease)| received(owner, Some(lease), value))
            .collect(),
        accepted: (!earlier.is_empty()).then_some(0),
        disputed,
    }
}

/// What is in the log, whether it is disputed, what arrives, and the answer.
type Case<'a> = (
    &'a [(&'a str, u8)],
    bool,
    (&'a str, u8),
    DeliveryOutcome,
    Effect,
);

#[test]
fn a_tally_is_judged_by_what_is_there() {
    let cases: [Case<'_>; 9] = [
        (
            &[],
            false,
            ("a", 0),
            DeliveryOutcome::Accepted,
            Effect::Accept,
        ),
        (
            &[("a", 0)],
            false,
            ("a", 0),
            DeliveryOutcome::Repeat,
            Effect::None,
        ),
        (
            &[("a", 0)],
            false,
            ("b", 0),
            DeliveryOutcome::Audit,
            Effect::None,
        ),
        (
            &[("a", 0)],
            false,
            ("a", 1),
            DeliveryOutcome::Disputed,
            Effect::Dispute,
        ),
        (
            &[("a", 0)],
            false,
            ("b", 1),
            DeliveryOutcome::Disputed,
            Effect::Dispute,
        ),
        (
            &[("a", 0), ("b", 1)],
            true,
            ("c", 2),
            DeliveryOutcome::Disputed,
            Effect::None,
        ),
        (
            &[("a", 0), ("b", 1)],
            true,
            ("b", 1),
            DeliveryOutcome::Disputed,
            Effect::None,
        ),
        (
            &[("a", 0), ("b", 1)],
            true,
            ("c", 1),
            DeliveryOutcome::Disputed,
            Effect::Settle {
                stands: 1,
                by_operator: false,
            },
        ),
        // Two already agree: a third that differs moves nothing for good.
        (
            &[("a", 0), ("b", 0)],
            false,
            ("c", 1),
            DeliveryOutcome::Disputed,
            Effect::Settle {
                stands: 0,
                by_operator: false,
            },
        ),
    ];
    for (earlier, disputed, (owner, value), verdict, effect) in cases {
        let comparison = compare(
            &docket(earlier, disputed),
            &received(owner, Some(99), value),
        );
        assert_eq!(
            (comparison.verdict, comparison.effect, comparison.log),
            (verdict, effect, true),
            "{earlier:?} {owner} {value}"
        );
    }
}

#[test]
fn two_against_two_waits_for_the_operator() {
    let segment_log = docket(&[("a", 0), ("b", 1), ("c", 0)], true);
    let even = compare(&segment_log, &received("d", Some(99), 1));
    assert_eq!(even.effect, Effect::None);
    let operator = LoggedTally {
        operator: true,
        ..received("op", Some(99), 1)
    };
    let settled = compare(&segment_log, &operator);
    let by_operator = true;
    assert_eq!(
        settled.effect,
        Effect::Settle {
            stands: 1,
            by_operator
        }
    );
    let own = LoggedTally {
        tally: tally(7),
        ..operator
    };
    let settled = compare(&segment_log, &own);
    assert_eq!(
        settled.effect,
        Effect::Settle {
            stands: 3,
            by_operator
        }
    );
    assert!(settled.log, "what stands is in the log");
}

#[test]
fn what_is_sent_again_under_one_token_is_logged_once() {
    let segment_log = docket(&[("a", 0), ("b", 1)], false);
    let same = compare(&segment_log, &received("a", Some(1), 0));
    assert_eq!((same.verdict, same.log), (DeliveryOutcome::Repeat, false));
    let loser = compare(&segment_log, &received("b", Some(2), 1));
    assert_eq!(
        (loser.verdict, loser.log, loser.effect),
        (DeliveryOutcome::Disputed, false, Effect::None)
    );
}

#[test]
fn another_number_of_samples_is_stale_and_not_compared() {
    let segment_log = docket(&[("a", 0)], false);
    let stale = LoggedTally {
        samples: 9,
        ..received("b", None, 5)
    };
    let comparison = compare(&segment_log, &stale);
    assert_eq!(
        (comparison.verdict, comparison.effect),
        (DeliveryOutcome::Stale, Effect::None)
    );
}
