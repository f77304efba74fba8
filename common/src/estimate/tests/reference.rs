//! Against values computed with 50 digits by an independent program.

use super::counts;
use crate::estimate::beta::{Beta, Logit, deviance, stirling_correction};
use crate::estimate::{Share, anytime_valid, clopper_pearson, normal};

const SHOGI: (u64, u64) = (40_491_613, 5_000_000_000);

/// Ends must agree to 10^-8 of the width, or to two units of the last place of a float where that
/// is more; a small lower end also relative to itself.
fn assert_close(found: Share, lower: f64, upper: f64, what: &str) {
    let width = upper - lower;
    for (found, expected) in [(found.lower, lower), (found.upper, upper)] {
        let allowed = (1e-8 * width).max(2.0 * f64::EPSILON * expected);
        assert!(
            (found - expected).abs() <= allowed,
            "{what}: {found:e}, expected {expected:e}"
        );
    }
    if lower > 1e-300 {
        assert!(
            (found.lower / lower - 1.0).abs() <= 1e-8,
            "{what}: {:e}, expected {lower:e}",
            found.lower
        );
    }
}

#[test]
fn ends_equal_those_of_independent_arithmetic() {
    let mut rows = 0;
    for line in include_str!("intervals.tsv").lines() {
        if line.starts_with('#') {
            continue;
        }
        let mut fields = line.split('\t');
        let [n, r] = [(); 2].map(|()| fields.next().unwrap().parse().unwrap());
        let ends = [(); 6].map(|()| fields.next().unwrap().parse::<f64>().unwrap());
        let counts = counts(n, r);
        let what = |method: &str| format!("{method} n {n} r {r}");
        assert_close(clopper_pearson(&counts), ends[0], ends[1], &what("exact"));
        assert_close(
            anytime_valid(&counts, SHOGI),
            ends[2],
            ends[3],
            &what("shogi"),
        );
        assert_close(
            anytime_valid(&counts, (1, 2)),
            ends[4],
            ends[5],
            &what("half"),
        );
        rows += 1;
    }
    assert_eq!(rows, 17);
}

#[test]
fn the_normal_interval_is_the_published_one() {
    let share = normal(&counts(100_000_000, 14_849_198));
    // Published: (2.3780 +- 0.0017)e18 of 16014219505238849250 candidates.
    let half_width = (share.upper - share.lower) / 2.0 * 16_014_219_505_238_849_250.0;
    assert!((half_width / 1e18 - 0.0017).abs() < 0.000_05);
}

#[test]
fn the_beta_density_has_its_closed_forms() {
    // On the logit scale Beta(2, 2) at 1/2 is 6 / 2^4, Beta(1, 1) at p is p (1 - p).
    let half = Beta::new(2.0, 2.0).ln_density(Logit(0.0));
    assert!((half - 0.375f64.ln()).abs() < 1e-14);
    for y in [-30.0, -3.0, 0.0, 2.0, 30.0] {
        let at = Logit(y);
        let expected = at.share().ln() + at.rest().ln();
        let found = Beta::new(1.0, 1.0).ln_density(at);
        assert!((found - expected).abs() < 1e-13 * expected.abs(), "at {y}");
    }
}

#[test]
fn stirling_s_correction_is_exact_at_one_half_and_one() {
    // Gamma(1) = 1, Gamma(1/2) = sqrt(pi).
    let at_one = 1.0 - 0.5 * (2.0 * std::f64::consts::PI).ln();
    let at_half = 0.5 - 0.5 * 2f64.ln();
    assert!((stirling_correction(1.0) - at_one).abs() < 1e-15);
    assert!((stirling_correction(0.5) - at_half).abs() < 1e-15);
}

#[test]
fn the_deviance_is_smooth_where_its_two_forms_meet() {
    for x in [1.2222f64, 1.2223, 0.8181, 0.8182, 1.0, 1.000_001] {
        let plain = x * x.ln() + 1.0 - x;
        assert!((deviance(x, 1.0, 1.0 - x) - plain).abs() < 1e-15, "at {x}");
    }
}
