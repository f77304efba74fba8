//! Numbers for people, from exact ones.
//!
//! ```
//! use kazoe_common::estimate::numerals::{Rounding, grouped, percent, plain, scientific, z_score};
//! use num_bigint::BigUint;
//! use num_rational::Ratio;
//!
//! let third = Ratio::new(BigUint::from(20_000u32), BigUint::from(3u8));
//! assert_eq!(scientific(&third, 5, Rounding::Down), "6.6666e3");
//! assert_eq!(scientific(&third, 5, Rounding::Up), "6.6667e3");
//! assert_eq!(plain(&third, 2, Rounding::HalfEven), "6700");
//! assert_eq!(grouped(5_000_000_000u64), "5,000,000,000");
//! assert_eq!(percent(1, 8, 3), "12.5%");
//! assert_eq!(z_score(-0.171), "-0.17");
//! ```

use num_bigint::BigUint;
use num_rational::Ratio;
use num_traits::{One, ToPrimitive, Zero};

use super::counts::{Interval, exactly};
use super::intervals::Share;

/// What happens to the digits that are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Toward zero: for lower ends.
    Down,
    /// To the nearest, ties to the even digit: for estimates.
    HalfEven,
    /// Away from zero: for upper ends.
    Up,
}

/// Scientific notation with `digits` significant digits, at least 1: `6.5499e68`; `0` for zero.
#[must_use]
pub fn scientific(number: &Ratio<BigUint>, digits: usize, rounding: Rounding) -> String {
    let Some(decimal) = Decimal::of(number, digits, rounding) else {
        return "0".to_owned();
    };
    let (first, rest) = decimal.digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}e{}", decimal.exponent)
}

/// Scientific notation, rounded to the nearest.
#[must_use]
pub fn nearest(number: &Ratio<BigUint>, digits: usize) -> String {
    scientific(number, digits, Rounding::HalfEven)
}

/// An interval in scientific notation, rounded outward, with as many digits as show its width to
/// `width_digits` digits or one less: `6.5469e68 to 6.5531e68`.
#[must_use]
pub fn interval(interval: &Interval, width_digits: usize) -> String {
    let digits = significant_digits(interval, width_digits);
    let [lower, upper] =
        [&interval.lower, &interval.upper].map(|end| Ratio::from_integer(end.clone()));
    format!(
        "{} to {}",
        scientific(&lower, digits, Rounding::Down),
        scientific(&upper, digits, Rounding::Up)
    )
}

/// How many significant digits of a number in the interval are worth showing: down to the
/// `width_digits`-th digit of the interval's width. At least 1, and no more than the upper end has.
#[must_use]
pub fn significant_digits(interval: &Interval, width_digits: usize) -> usize {
    let length = |number: &BigUint| number.to_string().len();
    let width = &interval.upper - &interval.lower;
    let all = length(&interval.upper);
    if width.is_zero() {
        return all;
    }
    (all - length(&width) + width_digits).clamp(1, all)
}

/// A whole number with a comma between groups of three digits: `5,000,000,000`.
#[must_use]
pub fn grouped(number: impl Into<BigUint>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `count` of `all` in percent with `digits` significant digits, rounded to the nearest:
/// `0.80983%`. `all` is at least 1.
#[must_use]
pub fn percent(count: u64, all: u64, digits: usize) -> String {
    let share = Ratio::new(BigUint::from(count) * 100u8, BigUint::from(all));
    format!("{}%", plain(&share, digits, Rounding::HalfEven))
}

/// An interval for a share in percent, rounded outward, with as many digits as show its width to
/// `width_digits` digits or one less: `0.80945% to 0.81022%`.
#[must_use]
pub fn share_interval(share: &Share, width_digits: usize) -> String {
    let [lower, upper] = [share.lower, share.upper].map(|end| exactly(end) * BigUint::from(100u8));
    let [top, width] =
        [upper.clone(), &upper - &lower].map(|number| Decimal::of(&number, 1, Rounding::Down));
    let digits = match (top, width) {
        (Some(top), Some(width)) => {
            usize::try_from(top.exponent - width.exponent).unwrap_or(0) + width_digits
        }
        _ => width_digits,
    }
    .max(1);
    format!(
        "{}% to {}%",
        plain(&lower, digits, Rounding::Down),
        plain(&upper, digits, Rounding::Up)
    )
}

/// Decimal notation without an exponent and with `digits` significant digits, at least 1:
/// `0.0080983`; digits before the point that are not significant are zeros.
#[must_use]
pub fn plain(number: &Ratio<BigUint>, digits: usize, rounding: Rounding) -> String {
    let Some(Decimal { digits, exponent }) = Decimal::of(number, digits, rounding) else {
        return "0".to_owned();
    };
    let Ok(exponent) = usize::try_from(exponent) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    if digits.len() <= exponent + 1 {
        return digits.clone() + &"0".repeat(exponent + 1 - digits.len());
    }
    let (whole, fraction) = digits.split_at(exponent + 1);
    format!("{whole}.{fraction}")
}

/// The nearest float; infinity beyond the greatest float, which is 1.8e308.
///
/// It may be the neighbour of the nearest one where the number lies within 10^-40 of itself of the
/// middle between two floats.
#[must_use]
pub fn float(number: &Ratio<BigUint>) -> f64 {
    let text = nearest(number, 40);
    text.parse()
        .expect("a float is read from scientific notation")
}

/// A z-score: `+0.61`.
#[must_use]
pub fn z_score(z: f64) -> String {
    let text = format!("{z:+.2}");
    if text == "-0.00" {
        "+0.00".to_owned()
    } else {
        text
    }
}

/// A positive number as d.ddd times a power of ten: its significant digits without a point, and the
/// exponent of the first.
struct Decimal {
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// `None` for zero.
    fn of(number: &Ratio<BigUint>, digits: usize, rounding: Rounding) -> Option<Self> {
        if number.is_zero() {
            return None;
        }
        let digits = digits.max(1);
        let length = |number: &BigUint| number.to_string().len() as i64;
        // The quotient of a k-digit and an l-digit number is between 10^(k-l-1) and 10^(k-l+1).
        let mut exponent = length(number.numer()) - length(number.denom());
        if times_power_of_ten(number, -exponent) < Ratio::one() {
            exponent -= 1;
        }
        let scaled = times_power_of_ten(number, digits as i64 - 1 - exponent);
        let mut rounded = rounded(&scaled, rounding).to_string();
        if rounded.len() > digits {
            rounded.pop();
            exponent += 1;
        }
        Some(Decimal {
            digits: rounded,
            exponent,
        })
    }
}

fn times_power_of_ten(number: &Ratio<BigUint>, exponent: i64) -> Ratio<BigUint> {
    let power = BigUint::from(10u8).pow(exponent.unsigned_abs().to_u32().unwrap_or(u32::MAX));
    if exponent >= 0 {
        number * power
    } else {
        number / power
    }
}

fn rounded(number: &Ratio<BigUint>, rounding: Rounding) -> BigUint {
    let floor = number.floor().to_integer();
    let up = match rounding {
        Rounding::Down => false,
        Rounding::Up => !number.is_integer(),
        Rounding::HalfEven => {
            let half = Ratio::new(BigUint::one(), BigUint::from(2u8));
            let rest = number.fract();
            rest > half || rest == half && floor.bit(0)
        }
    };
    if up { floor + 1u8 } else { floor }
}
