//! What holds for all counts, sizes and numbers.

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::Zero;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

use super::counts;
use crate::census::{Campaign, Outcome, Tally};
use crate::estimate::numerals::{Rounding, grouped, plain, scientific};
use crate::estimate::{
    Counts, Interval, Running, Share, anytime_valid, clopper_pearson, normal, scaled,
    two_proportion_z, unfolded,
};
use crate::game::Variant;

const CENTRES: [(u64, u64); 4] = [
    (1, 2),
    (40_491_613, 5_000_000_000),
    (14_849_198, 100_000_000),
    (999, 1000),
];

/// Counts of every order of magnitude up to n = 10^13, with r and u near 0, near n and anywhere.
fn any_counts() -> impl Strategy<Value = Counts> {
    let part = |n: u64| {
        (0..4u8, any::<u64>()).prop_map(move |(kind, draw)| match kind {
            0 => draw % (n.min(3) + 1),
            1 => n - draw % (n.min(3) + 1),
            _ => draw % (n + 1),
        })
    };
    (0..44u32, any::<u64>())
        .prop_map(|(bits, draw)| 1 + draw % (1u64 << bits).min(10_000_000_000_000))
        .prop_flat_map(move |samples| {
            part(samples).prop_flat_map(move |reachable| {
                part(samples - reachable).prop_map(move |undecided| Counts {
                    samples,
                    reachable,
                    undecided,
                })
            })
        })
}

fn any_size() -> impl Strategy<Value = BigUint> {
    proptest::collection::vec(any::<u32>(), 1..9).prop_map(BigUint::new)
}

fn all_intervals(counts: &Counts) -> Vec<Share> {
    let mut all = vec![normal(counts), clopper_pearson(counts)];
    all.extend(CENTRES.map(|centre| anytime_valid(counts, centre)));
    all
}

proptest! {
    #[test]
    fn an_interval_is_ordered_and_holds_what_was_found(counts in any_counts()) {
        let n = counts.samples as f64;
        for share in all_intervals(&counts) {
            prop_assert!(0.0 <= share.lower && share.upper <= 1.0, "{share:?}");
            prop_assert!(share.contains(counts.reachable as f64 / n), "{share:?}");
            prop_assert!(share.contains(counts.possibly_reachable() as f64 / n), "{share:?}");
        }
    }

    #[test]
    fn an_undecided_sample_is_unreachable_below_and_reachable_above(given in any_counts()) {
        let lowest = all_intervals(&counts(given.samples, given.reachable));
        let highest = all_intervals(&counts(given.samples, given.possibly_reachable()));
        for ((share, low), high) in all_intervals(&given).iter().zip(lowest).zip(highest) {
            prop_assert_eq!(share.lower.to_bits(), low.lower.to_bits());
            prop_assert_eq!(share.upper.to_bits(), high.upper.to_bits());
        }
    }

    #[test]
    fn one_more_reachable_sample_lowers_no_end(given in any_counts()) {
        let r = given.reachable.min(given.samples - 1);
        let all = |r| {
            let counts = counts(given.samples, r);
            let mut all = vec![clopper_pearson(&counts)];
            all.extend(CENTRES.map(|centre| anytime_valid(&counts, centre)));
            all
        };
        // Ends are true to 10^-8 of the width.
        for (one, more) in all(r).into_iter().zip(all(r + 1)) {
            let slack = 1e-8 * (more.upper - one.lower) + f64::EPSILON;
            prop_assert!(more.lower >= one.lower - slack, "{one:?} {more:?}");
            prop_assert!(more.upper >= one.upper - slack, "{one:?} {more:?}");
        }
    }

    #[test]
    fn exchanging_reachable_and_not_mirrors_the_interval(given in any_counts()) {
        let there = counts(given.samples, given.reachable);
        let back = counts(given.samples, given.samples - given.reachable);
        let pairs = [
            (clopper_pearson(&there), clopper_pearson(&back)),
            (anytime_valid(&there, (1, 4)), anytime_valid(&back, (3, 4))),
        ];
        for (one, other) in pairs {
            prop_assert!((one.lower + other.upper - 1.0).abs() <= f64::EPSILON);
            prop_assert!((one.upper + other.lower - 1.0).abs() <= f64::EPSILON);
        }
    }

    #[test]
    fn scaling_rounds_outward_by_less_than_one(given in any_counts(), size in any_size()) {
        let share = clopper_pearson(&given);
        let interval = scaled(&share, &size);
        let exact = |end: f64| Ratio::from_float_exact(end) * &size;
        let (lower, upper) = (exact(share.lower), exact(share.upper));
        let one = Ratio::from_integer(BigUint::from(1u8));
        let [low, high] = [interval.lower, interval.upper].map(Ratio::from_integer);
        prop_assert!(low <= lower && lower < low + &one);
        prop_assert!(upper <= high && high < upper + one);
    }

    #[test]
    fn the_estimate_lies_in_its_intervals_exactly(given in any_counts(), size in any_size()) {
        let estimate = given.estimate(&size).unwrap();
        // r/n itself is no float: with the normal interval of r = n or r = 0 the ends touch it, and
        // are exact there.
        for share in [clopper_pearson(&given), anytime_valid(&given, (1, 2))] {
            let interval = scaled(&share, &size);
            prop_assert!(Ratio::from_integer(interval.lower) <= estimate);
            prop_assert!(Ratio::from_integer(interval.upper) >= estimate);
        }
    }

    #[test]
    fn unfolding_holds_for_every_number_of_self_mirrored_positions(
        lower in 0u64..1000, width in 0u64..1000, place in 0u64..1000, bound in 0u64..500,
        of_them in 0u64..500,
    ) {
        let folded = lower + place.min(width);
        let self_mirrored = of_them.min(bound).min(folded);
        let interval = unfolded(
            &Interval { lower: lower.into(), upper: (lower + width).into() },
            &bound.into(),
        );
        prop_assert!(interval.contains(&(2 * folded - self_mirrored).into()));
    }

    #[test]
    fn z_changes_its_sign_with_the_order(
        x in 0u64..1 << 62, n in 0u64..1 << 62, y in 0u64..1 << 62, m in 0u64..1 << 62,
    ) {
        let (first, second) = ((x.min(n), n), (y.min(m), m));
        let one = two_proportion_z(first, second);
        let other = two_proportion_z(second, first);
        prop_assert_eq!(one, other.map(|z| 0.0 - z));
        prop_assert!(one.is_none_or(f64::is_finite));
    }

    #[test]
    fn scientific_notation_is_within_a_digit_on_the_right_side(
        numerator in any_size(), denominator in any_size(), digits in 1usize..30,
    ) {
        let number = Ratio::new(numerator, denominator + 1u8);
        let read = |text: &str| -> Ratio<BigUint> {
            let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
            let decimals = mantissa.len().saturating_sub(2) as i32;
            let whole: BigUint = mantissa.replace('.', "").parse().unwrap();
            power_of_ten(exponent.parse::<i32>().unwrap() - decimals) * whole
        };
        let down = scientific(&number, digits, Rounding::Down);
        let up = scientific(&number, digits, Rounding::Up);
        let near = scientific(&number, digits, Rounding::HalfEven);
        let (low, high) = (read(&down), read(&up));
        prop_assert!(low <= number && number <= high, "{down} {up}");
        prop_assert!(near == down || near == up);
        prop_assert_eq!(read(&plain(&number, digits, Rounding::Down).replace('.', "")).is_zero(), number.is_zero());
        if !number.is_zero() {
            let slack = power_of_ten(-(digits as i32 - 1)) * &low;
            prop_assert!(&high - &low <= slack, "{down} {up}");
            let limit = (&high - &low) / BigUint::from(2u8);
            let near = read(&near);
            let off = if near > number { near - &number } else { &number - near };
            prop_assert!(off <= limit);
        }
    }

    #[test]
    fn grouping_changes_no_digit(number in any_size()) {
        let text = grouped(number.clone());
        prop_assert_eq!(text.replace(',', ""), number.to_string());
        prop_assert!(text.rsplit(',').all(|group| (1..=3).contains(&group.len())));
        prop_assert!(text.split(',').skip(1).all(|group| group.len() == 3));
    }

    #[test]
    fn the_running_estimate_is_the_report_s(reachable in 0u64..1000, others in 0u64..100_000) {
        let campaign = Campaign::new(&Variant::MINISHOGI, 1);
        let size = BigUint::from(16_014_219_505_238_849_250u64);
        let mut tally = Tally::default();
        for (outcome, count) in [(Outcome::Reachable, reachable), (Outcome::Mirrored, others)] {
            if count > 0 {
                tally.cells.insert(outcome as u32, count);
            }
        }
        let running = Running::new(&campaign, &size, &tally);
        prop_assert_eq!(running.is_none(), reachable + others == 0);
        if let Some(running) = running {
            let counts = Counts::of(&tally);
            let share = anytime_valid(&counts, (14_849_198, 100_000_000));
            prop_assert_eq!(running.interval, scaled(&share, &size));
            prop_assert_eq!(Some(running.estimate), counts.estimate(&size));
        }
    }
}

fn power_of_ten(exponent: i32) -> Ratio<BigUint> {
    let power = Ratio::from_integer(BigUint::from(10u8).pow(exponent.unsigned_abs()));
    if exponent < 0 { power.recip() } else { power }
}

/// A float's value, by repeated doubling: another way than the code's.
trait FromFloatExact {
    fn from_float_exact(value: f64) -> Self;
}

impl FromFloatExact for Ratio<BigUint> {
    fn from_float_exact(value: f64) -> Self {
        let (mut value, mut doublings) = (value, 0u32);
        while value.fract() != 0.0 {
            value *= 2.0;
            doublings += 1;
        }
        // At most 2^53 now, or 0.
        Ratio::new(BigUint::from(value as u64), BigUint::from(1u8) << doublings)
    }
}
