//! The published experiment as a campaign's prefix, and what its report must say.

use std::collections::BTreeMap;

use num_bigint::BigUint;

use crate::census::{Campaign, Digest, Tally, Witness};
use crate::estimate::numerals::{interval, nearest, percent, share_interval, z_score};
use crate::estimate::published::Source;
use crate::estimate::{Method, Report, Stage};
use crate::game::Variant;
use crate::population::Candidates;

pub(super) fn tally(outcomes: [u64; 7], depths: &[u64]) -> Tally {
    let entries = |counts: &[u64]| -> BTreeMap<u32, u64> {
        (0..)
            .zip(counts.iter().copied())
            .filter(|&(_, n)| n > 0)
            .collect()
    };
    let tally = Tally {
        cells: entries(&outcomes),
        depths: entries(depths),
        digest: Digest(7),
    };
    tally.check(outcomes.iter().sum()).unwrap();
    tally
}

/// The published experiment; only the sum of the two middle rejections is published.
pub(super) fn published_shogi() -> Tally {
    tally(
        [
            54_936_157,
            4_757_843_779,
            1,
            128_238_946,
            18_489_504,
            40_491_613,
            0,
        ],
        &[18_488_938, 480, 83, 3],
    )
}

pub(super) fn shogi_size() -> BigUint {
    "80880932079767835177773204009328769812438521503800714936366945233084532"
        .parse()
        .unwrap()
}

pub(super) fn report(tally: &Tally, witnesses: &[Witness]) -> Report {
    let campaign = Campaign::new(&Variant::SHOGI, 1);
    Report::new(
        &campaign,
        &shogi_size(),
        &BigUint::from(10u8).pow(40),
        tally,
        witnesses,
    )
}

#[test]
fn the_published_experiment_agrees_with_itself() {
    let report = report(&published_shogi(), &[]);
    let passed: Vec<u64> = report.funnel.iter().map(|row| row.passed).collect();
    assert_eq!(
        passed,
        [
            4_945_063_843,
            187_220_064,
            187_220_063,
            58_981_117,
            40_491_613
        ]
    );
    for row in &report.funnel {
        let joined = row.stage == Stage::NoTwoPawns;
        assert_eq!(row.comparison.is_none(), joined, "{:?}", row.stage);
        assert_eq!(
            row.comparison.as_ref().map_or(Some(0.0), |other| other.z),
            Some(0.0)
        );
    }
    assert_eq!(report.greatest_z(), Some(0.0));
    let given: Vec<bool> = report
        .depths
        .iter()
        .map(|row| row.comparison.as_ref().unwrap().z.is_some())
        .collect();
    assert_eq!(
        given,
        [true, true, true, false],
        "3 samples are too few for a z"
    );
}

#[test]
fn the_published_estimate_comes_out() {
    let report = report(&published_shogi(), &[]);
    let estimates = report.estimates.unwrap();
    assert_eq!(nearest(&estimates.folded.estimate, 3), "6.55e68");
    assert_eq!(nearest(&estimates.unfolded.estimate, 3), "1.31e69");
    let normal = estimates.folded.interval(Method::Normal);
    // Published: 6.546923e68 to 6.553074e68, rounded to the nearest.
    assert_eq!(interval(normal, 4), "6.546923e68 to 6.553075e68");
    assert_eq!(percent(40_491_613, 5_000_000_000, 5), "0.80983%");
    assert_eq!(
        share_interval(&estimates.share_intervals[0].1, 2),
        "0.80945% to 0.81022%"
    );
    let error = estimates.relative_standard_error.unwrap();
    assert!((error - 1.565e-4).abs() < 1e-7, "{error}");
}

/// `docs/mathematics.md` prints these numbers; they were computed in Python too.
#[test]
fn self_mirrored_candidates_are_too_few_to_matter() {
    for (variant, expected) in [
        (&Variant::SHOGI, "32753125809110590713849110560191003960"),
        (&Variant::MINISHOGI, "14947310700"),
    ] {
        let candidates = Candidates::new(variant).unwrap();
        assert_eq!(candidates.self_mirrored().to_string(), expected);
        assert!(candidates.self_mirrored() * 1_000_000_000u32 < *candidates.size());
    }
}

#[test]
fn the_anytime_valid_interval_is_the_widest() {
    let estimates = report(&published_shogi(), &[]).estimates.unwrap();
    for folding in [&estimates.folded, &estimates.unfolded] {
        let [normal, exact, anytime] = Method::ALL.map(|method| folding.interval(method));
        assert!(anytime.lower < exact.lower && exact.upper < anytime.upper);
        assert!(anytime.lower < normal.lower && normal.upper < anytime.upper);
    }
}

#[test]
fn the_preliminary_experiment_agrees_with_the_published_one() {
    let preliminary = tally([10_946, 951_636, 1, 25_657, 3_677, 8_083, 0], &[3_677]);
    let report = report(&preliminary, &[]);
    let z: Vec<Option<f64>> = report
        .funnel
        .iter()
        .map(|row| row.comparison.as_ref().and_then(|other| other.z))
        .collect();
    // (0.008083 - 0.0080983226) / sqrt(P (1 - P) (1e-6 + 2e-10)), computed in Python.
    assert!((z[4].unwrap() - -0.170_945_342_171_029_66).abs() < 1e-12);
    assert_eq!(z_score(z[4].unwrap()), "-0.17");
    assert_eq!(z[1], None);
    assert!(report.greatest_z().unwrap() < 3.0);
}

#[test]
fn mini_shogi_s_stages_name_their_source() {
    let check = tally(
        [32_216, 18_584, 170_469, 563_122, 66_609, 149_000, 0],
        &[66_543, 40, 23, 1, 2],
    );
    let campaign = Campaign::new(&Variant::MINISHOGI, 1);
    let size = BigUint::from(16_014_219_505_238_849_250u64);
    let report = Report::new(&campaign, &size, &BigUint::from(0u8), &check, &[]);
    let sources: Vec<Source> = report
        .funnel
        .iter()
        .map(|row| row.comparison.as_ref().unwrap().source)
        .collect();
    let mut expected = [Source::OwnCheck; 5];
    expected[4] = Source::Published;
    assert_eq!(sources, expected);
    let z = report.funnel[4].comparison.as_ref().unwrap().z.unwrap();
    assert!((z - 1.421_569_772_014_837_3).abs() < 1e-12);
}

#[test]
fn undecided_samples_are_shown_at_both_ends() {
    let with = tally(
        [
            54_936_157,
            4_757_843_779,
            1,
            128_238_946,
            18_389_504,
            40_491_613,
            100_000,
        ],
        &[18_388_938, 480, 83, 3],
    );
    let (with, without) = (report(&with, &[]), report(&published_shogi(), &[]));
    assert_eq!(with.undecided, 100_000);
    let last = &with.funnel[4];
    assert_eq!((last.passed, last.rejected), (40_491_613, 18_389_504));
    let comparison = last.comparison.as_ref().unwrap();
    assert_eq!(comparison.z, Some(0.0));
    assert_eq!(
        with.funnel[3].comparison.as_ref().unwrap().z_with_undecided,
        None
    );
    assert!(comparison.z_with_undecided.unwrap() > 10.0);
    assert!(with.greatest_z() >= comparison.z_with_undecided);
    let [with, without] = [with, without].map(|report| report.estimates.unwrap().folded);
    for method in Method::ALL {
        let (with, without) = (with.interval(method), without.interval(method));
        assert_eq!(with.lower, without.lower);
        assert!(with.upper > without.upper);
    }
}

#[test]
fn a_prefix_without_samples_has_no_estimate() {
    let report = report(&Tally::default(), &[]);
    assert_eq!(report.estimates, None);
    assert_eq!(report.greatest_z(), None);
    assert!(report.funnel.iter().all(|row| row.passed == 0));
}

#[test]
fn paths_of_the_prefix_alone_are_summed_up() {
    let path = |index, length, expansions| Witness::Path {
        index,
        length,
        expansions,
    };
    let witnesses = [
        path(3, 100, 110),
        path(5000, 60, 60),
        path(9000, 80, 240),
        path(9001, 90, 99),
        path(5_000_000_000, 1, 1000),
        Witness::Unreachable { index: 4, depth: 1 },
    ];
    let paths = report(&published_shogi(), &witnesses).paths.unwrap();
    assert_eq!(paths.count, 4);
    assert_eq!(
        (paths.length_min, paths.length_median, paths.length_max),
        (60, 80, 100)
    );
    let ratios =
        [paths.ratio_median, paths.ratio_p95, paths.ratio_max].map(|r| (*r.numer(), *r.denom()));
    assert_eq!(ratios, [(11, 10), (3, 1), (3, 1)]);
    assert_eq!(report(&published_shogi(), &witnesses[5..]).paths, None);
}
