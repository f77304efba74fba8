//! Do the intervals hold the true share as often as they say?

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::counts;
use crate::estimate::beta::Logit;
use crate::estimate::intervals::ln_wealth;
use crate::estimate::{ALPHA, ANYTIME_LEVEL, Share, anytime_valid, clopper_pearson};

/// The probabilities of 0 to n reachable samples, by convolution.
fn binomial(n: usize, p: f64) -> Vec<f64> {
    (0..n).fold(vec![1.0], |mass, _| step(&mass, p))
}

fn step(mass: &[f64], p: f64) -> Vec<f64> {
    let mut next = vec![0.0; mass.len() + 1];
    for (r, mass) in mass.iter().enumerate() {
        next[r] += mass * (1.0 - p);
        next[r + 1] += mass * p;
    }
    next
}

#[test]
fn clopper_pearson_covers_every_share_for_every_small_n() {
    for n in [1, 2, 3, 7, 20, 60] {
        let intervals: Vec<Share> = (0..=n).map(|r| clopper_pearson(&counts(n, r))).collect();
        for k in 1..500 {
            let p = f64::from(k) / 500.0;
            let missed: f64 = binomial(n as usize, p)
                .iter()
                .zip(&intervals)
                .filter(|(_, interval)| !interval.contains(p))
                .map(|(mass, _)| mass)
                .sum();
            assert!(missed <= ALPHA, "n {n} p {p}: missed with {missed}");
        }
    }
}

#[test]
fn clopper_pearson_is_no_wider_than_its_level_asks() {
    for (n, r) in [(5u64, 2u64), (40, 1), (40, 39), (60, 30)] {
        let interval = clopper_pearson(&counts(n, r));
        let upper_tail: f64 = binomial(n as usize, interval.lower)[r as usize..]
            .iter()
            .sum();
        let lower_tail: f64 = binomial(n as usize, interval.upper)[..=r as usize]
            .iter()
            .sum();
        for tail in [upper_tail, lower_tail] {
            assert!(
                (tail / (ALPHA / 2.0) - 1.0).abs() < 1e-9,
                "n {n} r {r}: {tail}"
            );
        }
    }
}

/// The exact probability that someone who watches the first `last` samples one by one ever sees an
/// interval without the true share.
fn ever_missed(p: f64, last: u64, holds: impl Fn(u64, u64) -> bool) -> f64 {
    let mut mass = vec![1.0];
    let mut missed = 0.0;
    for n in 1..=last {
        mass = step(&mass, p);
        for (r, mass) in mass.iter_mut().enumerate() {
            if *mass > 0.0 && !holds(n, r as u64) {
                missed += std::mem::take(mass);
            }
        }
    }
    missed
}

#[test]
fn the_anytime_valid_interval_holds_at_all_n_at_once() {
    for (p, centre) in [
        (0.5, (1, 2)),
        (0.15, (1, 2)),
        (0.1485, (14_849_198, 100_000_000)),
        (0.03, (40_491_613, 5_000_000_000)),
    ] {
        let missed = ever_missed(p, 250, |n, r| {
            anytime_valid(&counts(n, r), centre).contains(p)
        });
        assert!(
            missed > 0.0,
            "p {p}: it never missed, so nothing was tested"
        );
        assert!(missed <= 1.0 - ANYTIME_LEVEL, "p {p}: missed with {missed}");
    }
}

#[test]
fn an_interval_for_fixed_n_does_not_hold_at_all_n_at_once() {
    let missed = ever_missed(0.5, 250, |n, r| {
        clopper_pearson(&counts(n, r)).contains(0.5)
    });
    assert!(missed > 3.0 * ALPHA, "missed with {missed}");
}

/// Whether p is in the anytime-valid interval, by the wealth alone.
fn not_excluded(n: u64, r: u64, centre: (u64, u64), p: f64) -> bool {
    ln_wealth(r, n - r, centre, Logit::of_odds(p, 1.0 - p)) < -(1.0 - ANYTIME_LEVEL).ln()
}

#[test]
fn long_walks_are_missed_as_rarely_as_promised() {
    const WALKS: u32 = 1000;
    const LAST: u64 = 10_000;
    let centre = (14_849_198, 100_000_000);
    let p = 0.148_491_98;
    let below = (p * 2f64.powi(64)) as u64;
    let (mut anytime, mut fixed) = (0u32, 0u32);
    for walk in 0..WALKS {
        let mut rng = ChaCha8Rng::seed_from_u64(walk.into());
        let (mut r, mut watched) = (0u64, 1);
        let (mut anytime_missed, mut fixed_missed) = (false, false);
        for n in 1..=LAST {
            r += u64::from(rng.next_u64() < below);
            if n == watched {
                watched = (n * 21 / 20).max(n + 1);
                let inside = not_excluded(n, r, centre, p);
                anytime_missed |= !inside;
                fixed_missed |= !clopper_pearson(&counts(n, r)).contains(p);
                if walk < 20 {
                    assert_eq!(inside, anytime_valid(&counts(n, r), centre).contains(p));
                }
            }
        }
        anytime += u32::from(anytime_missed);
        fixed += u32::from(fixed_missed);
    }
    // At most 2.7 are expected; 8 is more than three standard deviations above.
    assert!(anytime <= 8, "missed in {anytime} of {WALKS} walks");
    assert!(fixed > 8, "the interval for fixed n missed in {fixed} only");
}
