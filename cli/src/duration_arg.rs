//! Lengths of time as people type them: `500ms`, `20s`, `2m`, `6h`, `1.5h`, `2d`.

use std::time::Duration;

use crate::pasted;

/// The units, by their names, each with its milliseconds.
const UNITS: [(&[&str], f64); 5] = [
    (&["ms"], 1.0),
    (&["s", "sec", "second", "seconds"], 1e3),
    (&["m", "min", "minute", "minutes"], 60e3),
    (&["h", "hour", "hours"], 3_600e3),
    (&["d", "day", "days"], 86_400e3),
];

/// Reads a time of at least a millisecond, for clap.
///
/// # Errors
/// If the text is anything else.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let expected = || "expected a time, as in 500ms, 20s, 2m, 6h or 2d".to_owned();
    let text = pasted::ascii(text).trim().to_ascii_lowercase();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let (_, scale) = UNITS
        .into_iter()
        .find(|(names, _)| names.contains(&unit))
        .ok_or_else(expected)?;
    let number = number.trim_end();
    let plain = |c: char| c.is_ascii_digit() || c == '.';
    if number.is_empty() || !number.chars().all(plain) {
        return Err(expected());
    }
    let millis = number.parse::<f64>().map_err(|_| expected())? * scale;
    if !(1.0..=1e13).contains(&millis) {
        return Err("a time is at least a millisecond and at most 300 years".to_owned());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within bounds that fit"
    )]
    let millis = millis.round() as u64;
    Ok(Duration::from_millis(millis))
}

/// Reads a number of hours, more than none: `8` or `1.5`.
///
/// # Errors
/// If the text is anything else.
pub(crate) fn hours(text: &str) -> Result<Duration, String> {
    let text = pasted::ascii(text);
    let text = text.trim();
    let number = text.strip_suffix(['h', 'H']).unwrap_or(text);
    parse(&format!("{number}h")).map_err(|_| "expected hours, as in 8 or 1.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_a_number_and_a_unit() {
        for (text, millis) in [
            ("500ms", 500),
            ("20s", 20_000),
            ("2m", 120_000),
            ("1.5h", 5_400_000),
            ("2d", 172_800_000),
            ("20 s", 20_000),
            ("20S\r", 20_000),
            ("2M", 120_000),
            ("2min", 120_000),
            ("1 minute", 60_000),
            ("1.5 hours", 5_400_000),
            ("3 days", 259_200_000),
            ("30 sec", 30_000),
            ("２０ｓ", 20_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "s",
            "20",
            "-1s",
            "1e3s",
            "2 0s",
            "0s",
            "1..2s",
            "9999999999d",
            "5y",
            "5 parsecs",
            "1h30m",
            "minutes",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(hours("8"), parse("8h"));
        assert_eq!(hours(" 8 H"), parse("8h"));
        assert_eq!(hours("0.5h"), parse("30m"));
        assert!(hours("x").is_err());
    }
}
