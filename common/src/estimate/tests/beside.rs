//! The published estimate beside one's own, and the intervals of the stages.

use num_bigint::BigUint;
use num_rational::Ratio;

use super::report::{published_shogi, report, shogi_size, tally};
use crate::census::{Campaign, Tally};
use crate::estimate::numerals::{float, nearest};
use crate::estimate::published::Published;
use crate::estimate::{
    AGREES_BELOW, Counts, Report, Share, Stage, Verdict, clopper_pearson, normal, scaled,
};
use crate::game::Variant;
use crate::population::Candidates;

/// A tally of shogi with these reachable and undecided samples.
fn shogi(reachable: u64, undecided: u64) -> Tally {
    let rejected = 5_000_000_000 - 54_936_157 - 4_757_843_780 - 128_238_946;
    let unreachable = rejected - reachable - undecided;
    tally(
        [
            54_936_157,
            4_757_843_779,
            1,
            128_238_946,
            unreachable,
            reachable,
            undecided,
        ],
        &[unreachable],
    )
}

fn verdicts(tally: &Tally) -> [Verdict; 2] {
    let beside = report(tally, &[]).beside.unwrap();
    [true, false].map(|complete| beside.verdict(complete))
}

#[test]
fn printed_estimates_follow_from_the_published_counts() {
    for (variant, digits) in [(&Variant::SHOGI, 3), (&Variant::MINISHOGI, 5)] {
        let size = Candidates::new(variant).unwrap().size().clone();
        let (experiment, printed) = Published::of(variant).estimate().unwrap();
        let counts = Counts {
            samples: experiment.samples,
            reachable: experiment.passed(Stage::Reachable).unwrap(),
            undecided: 0,
        };
        let estimate = counts.estimate(&size).unwrap();
        assert_eq!(nearest(&estimate, digits), printed.folded.estimate);
        if let Some(unfolded) = printed.unfolded {
            let twice = estimate.clone() * BigUint::from(2_u8);
            assert_eq!(nearest(&twice, digits), unfolded.estimate);
        }
        // The printed ends are those of three standard deviations, to the last digit printed.
        let interval = scaled(&normal(&counts), &size);
        let printed = printed.folded.interval.unwrap();
        for (end, printed) in [&interval.lower, &interval.upper].into_iter().zip(printed) {
            let (mantissa, exponent) = printed.split_once('e').unwrap();
            let decimals = i32::try_from(mantissa.len()).unwrap() - 2;
            let unit = 10f64.powi(exponent.parse::<i32>().unwrap() - decimals);
            let end = float(&Ratio::from_integer(end.clone()));
            let apart = (end - printed.parse::<f64>().unwrap()).abs() / unit;
            assert!(apart < 1.0, "{}: {end:e}, printed {printed}", variant.id);
        }
    }
}

#[test]
fn a_variant_without_a_published_estimate_has_none_beside() {
    static UNPUBLISHED: Variant = Variant {
        id: "unpublished",
        published_share: None,
        ..Variant::MINISHOGI
    };
    let campaign = Campaign::new(&UNPUBLISHED, 1);
    let size = BigUint::from(1_000_000_u32);
    let tally = tally([1, 1, 1, 1, 1, 95, 0], &[1]);
    let report = Report::new(&campaign, &size, &BigUint::from(0_u8), &tally, &[]);
    assert_eq!(report.beside, None);
    assert!(report.estimates.is_some());
}

#[test]
fn equal_shares_agree_and_distant_ones_differ() {
    let unfinished = Verdict::Unfinished;
    assert_eq!(
        verdicts(&shogi(40_491_613, 0)),
        [Verdict::Agrees, unfinished]
    );
    // One standard deviation of the difference is 8963 samples.
    assert_eq!(
        verdicts(&shogi(40_518_000, 0)),
        [Verdict::Agrees, unfinished]
    );
    for distant in [40_464_000, 40_519_000] {
        let distant = shogi(distant, 0);
        assert_eq!(verdicts(&distant), [Verdict::Differs, unfinished]);
        let z = report(&distant, &[]).beside.unwrap().comparison.z.unwrap();
        assert!((AGREES_BELOW..3.2).contains(&z.abs()), "{z}");
    }
}

#[test]
fn undecided_samples_may_leave_it_open() {
    // From well below to well above; from below to equal; from distant to more distant.
    for (reachable, undecided, verdict, least) in [
        (40_400_000, 200_000, Verdict::Undecided, 0.0..=0.0),
        (40_400_000, 91_613, Verdict::Undecided, 0.0..=0.0),
        (40_490_000, 2_000, Verdict::Agrees, 0.0..=0.0),
        (40_492_000, 2_000, Verdict::Agrees, 0.01..=0.1),
        (40_530_000, 10_000, Verdict::Differs, 4.2..=4.4),
        (40_400_000, 10_000, Verdict::Differs, 9.0..=9.2),
    ] {
        let tally = shogi(reachable, undecided);
        assert_eq!(verdicts(&tally), [verdict, Verdict::Unfinished]);
        let found = report(&tally, &[]).beside.unwrap().comparison.least();
        assert!(least.contains(&found.unwrap()), "{found:?}");
    }
    let all_undecided = tally([0, 0, 0, 0, 0, 0, 1_000_000], &[]);
    assert_eq!(
        verdicts(&all_undecided),
        [Verdict::Undecided, Verdict::Unfinished]
    );
}

#[test]
fn few_samples_are_not_judged() {
    let too_few = [Verdict::TooFewSamples; 2];
    assert_eq!(verdicts(&Tally::default()), too_few);
    // Ten samples with a reachable one: z is 3.2, which happens in one campaign of ten.
    let ten = tally([0, 9, 0, 0, 0, 1, 0], &[]);
    let beside = report(&ten, &[]).beside.unwrap();
    assert!(beside.comparison.z.unwrap() > AGREES_BELOW);
    assert_eq!(verdicts(&ten), too_few);
    // 0.81% of 1,000 are 8 expected, of 2,000 are 16.
    assert_eq!(verdicts(&tally([0, 992, 0, 0, 0, 8, 0], &[])), too_few);
    let enough = tally([0, 1_984, 0, 0, 0, 16, 0], &[]);
    assert_eq!(verdicts(&enough), [Verdict::Agrees, Verdict::Unfinished]);
}

#[test]
fn every_stage_and_depth_has_the_interval_of_its_counts() {
    let report = report(&shogi(40_400_000, 91_613), &[]);
    let exact = |passed, undecided| {
        clopper_pearson(&Counts {
            samples: 5_000_000_000,
            reachable: passed,
            undecided,
        })
    };
    for row in &report.funnel {
        let last = row.stage == Stage::Reachable;
        let undecided = if last { 91_613 } else { 0 };
        assert_eq!(
            row.interval,
            exact(row.passed, undecided),
            "{:?}",
            row.stage
        );
        assert!(row.interval.contains(row.passed as f64 / 5e9));
    }
    assert_eq!(
        report.depths[0].interval,
        exact(report.depths[0].count, 91_613)
    );
    // Four depths are published; those not met here have an interval from 0 on.
    assert_eq!(report.depths[3].count, 0);
    assert_eq!(report.depths[3].interval.lower.to_bits(), 0f64.to_bits());
    assert!(report.depths[3].interval.upper > 91_613.0 / 5e9);
}

#[test]
fn without_samples_an_interval_is_all_there_is() {
    let report = report(&Tally::default(), &[]);
    assert!(report.funnel.iter().all(|row| row.interval == Share::ALL));
}

#[test]
fn only_what_has_enough_samples_is_judged() {
    let open = report(&shogi(40_400_000, 91_613), &[]);
    let [least, most] = open.judged_z().unwrap();
    assert!(AGREES_BELOW < least && least <= most, "a depth differs");
    assert_eq!(open.greatest_z(), Some(most));
    let closed = report(&published_shogi(), &[]);
    assert_eq!(closed.judged_z(), Some([0.0, 0.0]));
    let ten = report(&tally([0, 9, 0, 0, 0, 1, 0], &[]), &[]);
    assert!(ten.greatest_z().unwrap() > AGREES_BELOW);
    assert_eq!(ten.judged_z(), None);
}

#[test]
fn floats_are_the_nearest() {
    for (numerator, denominator) in [(1_u64, 3_u64), (2, 3), (u64::MAX, 7), (1, u64::MAX), (0, 1)] {
        let exact = Ratio::new(BigUint::from(numerator), BigUint::from(denominator));
        let float = float(&exact);
        let back = float * denominator as f64 / (numerator.max(1)) as f64;
        assert!(numerator == 0 && float == 0.0 || (back - 1.0).abs() < 1e-15);
    }
    let size = Ratio::from_integer(shogi_size());
    let expected = 80_880_932_079_767_835_177_773_204_009_328_769_812_438_521_503_800_714_936_366_945_233_084_532.0;
    assert_eq!(float(&size).to_bits(), f64::to_bits(expected));
    let third = Ratio::new(BigUint::from(1_u8), BigUint::from(3_u8));
    assert_eq!(float(&third).to_bits(), (1.0_f64 / 3.0).to_bits());
    let beyond = Ratio::from_integer(BigUint::from(10_u8).pow(400));
    assert_eq!(float(&beyond), f64::INFINITY);
}
