//! Numbers as people type and paste them: `10M`, `5e9`, `1_000_000`, `10,000,000`, `1.5k`; exact, or an error.

use std::borrow::Cow;
use std::fmt;

use kazoe_common::estimate::numerals::grouped;

use crate::pasted;

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QuantityError {
    /// Nothing is there.
    Empty,
    /// A minus sign.
    Negative,
    /// A character in the way, counted from 1.
    Character {
        /// The character.
        found: char,
        /// Where it stands.
        at: usize,
    },
    /// The text ends where a digit is expected.
    Unfinished,
    /// A number that is not whole.
    Fraction,
    /// A number that exceeds 2^64 - 1.
    Huge,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuantityError::Empty => write!(f, "expected a number, as in 10M, 5e9 or 1_000_000"),
            QuantityError::Negative => write!(f, "the number is negative"),
            QuantityError::Character { found, at } => write!(
                f,
                "`{}` at character {at} is not part of a number, expected something like 10M, 5e9 or 1_000_000",
                found.escape_debug()
            ),
            QuantityError::Unfinished => write!(f, "the number ends where a digit is expected"),
            QuantityError::Fraction => write!(f, "the number is not whole"),
            QuantityError::Huge => write!(f, "the number exceeds 2^64 - 1"),
        }
    }
}

impl std::error::Error for QuantityError {}

/// Reads a whole number, -2^63 to 2^63 - 1, as [`parse`] does, with a sign if there is one.
///
/// # Errors
/// If the text is anything else; it is never rounded.
pub(crate) fn signed(text: &str) -> Result<i64, String> {
    let text = pasted::ascii(text);
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let size = parse(digits).map_err(|error| error.to_string())?;
    i64::try_from(sign * i128::from(size))
        .map_err(|_| "the number is outside -2^63 to 2^63 - 1".to_owned())
}

/// Reads a whole number, 0 to 2^64 - 1: digits that `_` may separate, or commas or spaces in groups of three, a
/// decimal fraction, and a power of ten as `e9` or as one of the letters k, M, G (or B) and T, small or capital.
///
/// # Errors
/// If the text is anything else; it is never rounded.
pub(crate) fn parse(text: &str) -> Result<u64, QuantityError> {
    let text = pasted::ascii(text);
    let text = ungrouped(text.trim());
    if text.is_empty() {
        return Err(QuantityError::Empty);
    }
    let mut reader = Reader {
        rest: text.char_indices().peekable(),
        text: &text,
    };
    let negative = reader.take('-');
    let mut digits = reader.digits()?;
    let mut power = 0;
    if reader.take('.') {
        let fraction = reader.digits()?;
        power -= i64::try_from(fraction.len()).map_err(|_| QuantityError::Huge)?;
        digits += &fraction;
    }
    power += reader.power()?;
    reader.end()?;
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Ok(0);
    }
    if negative {
        return Err(QuantityError::Negative);
    }
    let whole = significant.trim_end_matches('0');
    power += i64::try_from(significant.len() - whole.len()).map_err(|_| QuantityError::Huge)?;
    let power = u32::try_from(power).map_err(|_| QuantityError::Fraction)?;
    whole
        .parse::<u64>()
        .ok()
        .zip(10_u64.checked_pow(power))
        .and_then(|(whole, scale)| whole.checked_mul(scale))
        .ok_or(QuantityError::Huge)
}

/// Reads a whole number that fits a narrower type, for clap.
///
/// # Errors
/// As [`parse`], or if it does not fit.
pub(crate) fn narrow<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = parse(text).map_err(|error| error.to_string())?;
    T::try_from(number).map_err(|_| format!("{number} is too large"))
}

/// Reads a whole number above 0 that fits a narrower type, for clap.
///
/// # Errors
/// As [`narrow`], or if it is 0.
pub(crate) fn positive<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    if parse(text) == Ok(0) {
        return Err("0 is too small: at least 1".to_owned());
    }
    narrow(text)
}

/// Returns the text without the separators of the groups of three digits that it begins with: `,`, `_`, `'` or a
/// space, the same between all groups. A text that is grouped in any other way is returned as it is.
pub(crate) fn ungrouped(text: &str) -> Cow<'_, str> {
    let Some(separator) = text.chars().find(|c| !c.is_ascii_digit()) else {
        return Cow::Borrowed(text);
    };
    let is_separator = matches!(separator, ',' | '_' | '\'' | ' ');
    let length = text.find(|c: char| !c.is_ascii_digit() && c != separator);
    let (number, rest) = text.split_at(length.unwrap_or(text.len()));
    let number = number.trim_end();
    let Some((first, others)) = number.split_once(separator) else {
        return Cow::Borrowed(text);
    };
    let mixed = rest.starts_with([',', '_', '\'', ' ']);
    let threes = others.split(separator).all(|group| group.len() == 3);
    if is_separator && (1..=3).contains(&first.len()) && threes && !mixed {
        Cow::Owned(number.replace(separator, "") + rest)
    } else {
        Cow::Borrowed(text)
    }
}

/// A number and what it counts: `1 segment`, `1,280 segments`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", grouped(number))
}

struct Reader<'a> {
    text: &'a str,
    rest: std::iter::Peekable<std::str::CharIndices<'a>>,
}

impl Reader<'_> {
    fn take(&mut self, wanted: char) -> bool {
        self.rest.next_if(|&(_, c)| c == wanted).is_some()
    }

    /// At least one digit; an underscore stands between two.
    fn digits(&mut self) -> Result<String, QuantityError> {
        let mut digits = String::new();
        loop {
            match self.rest.next_if(|&(_, c)| c.is_ascii_digit()) {
                Some((_, digit)) => digits.push(digit),
                None => return Err(self.obstacle()),
            }
            self.take('_');
            if self.rest.peek().is_none_or(|&(_, c)| !c.is_ascii_digit()) {
                return if self.text[..self.place()].ends_with('_') {
                    Err(self.obstacle())
                } else {
                    Ok(digits)
                };
            }
        }
    }

    fn power(&mut self) -> Result<i64, QuantityError> {
        let mut ahead = self.rest.clone();
        while ahead.next_if(|&(_, c)| c == ' ').is_some() {}
        let Some((_, letter)) = ahead.next_if(|&(_, c)| "kKmMgGbBtTeE".contains(c)) else {
            return Ok(0);
        };
        self.rest = ahead;
        Ok(match letter {
            'k' | 'K' => 3,
            'm' | 'M' => 6,
            'g' | 'G' | 'b' | 'B' => 9,
            't' | 'T' => 12,
            _ => {
                let negative = !self.take('+') && self.take('-');
                // More than four digits are too many either way.
                let power = self.digits()?.parse().unwrap_or(9999).min(9999);
                if negative { -power } else { power }
            }
        })
    }

    fn end(&mut self) -> Result<(), QuantityError> {
        if self.rest.peek().is_some() {
            return Err(self.obstacle());
        }
        Ok(())
    }

    /// The byte at which the rest begins.
    fn place(&mut self) -> usize {
        self.rest.peek().map_or(self.text.len(), |&(i, _)| i)
    }

    fn obstacle(&mut self) -> QuantityError {
        match self.rest.peek() {
            Some(&(i, found)) => QuantityError::Character {
                found,
                at: self.text[..i].chars().count() + 1,
            },
            None => QuantityError::Unfinished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_numbers_reach_both_ends() {
        for (text, number) in [
            ("0", 0),
            ("-1", -1),
            ("+7", 7),
            (" -1k", -1000),
            ("-9223372036854775808", i64::MIN),
            ("9_223_372_036_854_775_807", i64::MAX),
        ] {
            assert_eq!(signed(text), Ok(number), "{text}");
        }
        for text in [
            "",
            "-",
            "--1",
            "high",
            "1.5",
            "9223372036854775808",
            "-9223372036854775809",
        ] {
            assert!(signed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn quantities_are_exact() {
        for (text, value) in [
            ("0", 0),
            ("007", 7),
            ("1k", 1_000),
            ("10M", 10_000_000),
            ("5e9", 5_000_000_000),
            ("5E+9", 5_000_000_000),
            ("2G", 2_000_000_000),
            ("2B", 2_000_000_000),
            ("3T", 3_000_000_000_000),
            ("1_000_000", 1_000_000),
            ("10m", 10_000_000),
            ("2g", 2_000_000_000),
            ("2b", 2_000_000_000),
            ("3t", 3_000_000_000_000),
            ("10 M", 10_000_000),
            (" 10M\r", 10_000_000),
            ("\u{feff}10M\u{a0}", 10_000_000),
            ("１０Ｍ", 10_000_000),
            ("10,000,000", 10_000_000),
            ("10 000 000", 10_000_000),
            ("10\u{a0}000\u{202f}000", 10_000_000),
            ("1'000", 1_000),
            ("1,500.5k", 1_500_500),
            ("1 500 k", 1_500_000),
            ("999,999", 999_999),
            ("10_00", 1_000),
            ("1.5k", 1_500),
            ("1200e-2", 12),
            ("0.000001M", 1),
            ("18446744073709551615", u64::MAX),
            ("0e99999999", 0),
            ("-0", 0),
        ] {
            assert_eq!(parse(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn nouns_agree_with_their_numbers() {
        assert_eq!(counted(0, "block"), "0 blocks");
        assert_eq!(counted(1, "block"), "1 block");
        assert_eq!(counted(1280, "block"), "1,280 blocks");
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        let character = |found, at| QuantityError::Character { found, at };
        for (text, error) in [
            ("", QuantityError::Empty),
            ("-5", QuantityError::Negative),
            ("-1e3", QuantityError::Negative),
            ("1.5", QuantityError::Fraction),
            ("1e-1", QuantityError::Fraction),
            ("1.0005k", QuantityError::Fraction),
            ("18446744073709551616", QuantityError::Huge),
            ("1e20", QuantityError::Huge),
            ("1e999999999999999999999", QuantityError::Huge),
            ("99999999T", QuantityError::Huge),
            ("ten", character('t', 1)),
            ("10 x", character(' ', 3)),
            ("10Mi", character('i', 4)),
            ("1,0", character(',', 2)),
            ("1,000,00", character(',', 2)),
            ("1,000_000", character(',', 2)),
            ("1000,000", character(',', 5)),
            (",000", character(',', 1)),
            ("1.000.000", character('.', 6)),
            ("10 000 00", character(' ', 3)),
            ("1__0", character('_', 3)),
            ("1_", QuantityError::Unfinished),
            ("_1", character('_', 1)),
            ("1_k", character('k', 3)),
            ("1.", QuantityError::Unfinished),
            (".5k", character('.', 1)),
            ("1e", QuantityError::Unfinished),
            ("1kk", character('k', 3)),
            ("--1", character('-', 2)),
            ("+1", character('+', 1)),
            ("十", character('十', 1)),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }
}
