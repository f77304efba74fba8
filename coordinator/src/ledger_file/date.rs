//! Dates as text: `2026-11-30T02:15:00.123Z` and milliseconds since 1970.

use crate::leasing::Millis;
use crate::tally_text::number;

const DAY: i64 = 86_400_000;

/// The text of a moment from year 0 to 9999.
pub(super) fn text(at: Millis) -> String {
    let (year, month, day) = civil(at.div_euclid(DAY));
    let rest = at.rem_euclid(DAY);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The moment that a text of just that form says.
pub(super) fn parse(date: &str) -> Option<Millis> {
    let part = |from: usize, to: usize| {
        let digits = date.get(from..to)?;
        let trimmed = digits.trim_start_matches('0');
        number::<i64>(if trimmed.is_empty() { "0" } else { trimmed })
    };
    let days = days(part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute) = (part(11, 13)?, part(14, 16)?);
    let (second, milli) = (part(17, 19)?, part(20, 23)?);
    let at = days * DAY + hour * 3_600_000 + minute * 60_000 + second * 1000 + milli;
    // What is not a date comes back as another text.
    (text(at) == date).then_some(at)
}

/// Year, month and day of a day counted from 1970-01-01, by the years that begin in March: in an era
/// of 400 of them the days before year y are 365 y + y/4 - y/100, and those before month m of a year
/// (153 m + 2) / 5.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 {
        (month + 3, year)
    } else {
        (month - 9, year + 1)
    };
    (era * 400 + year, month, day)
}

/// The other way round.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    era * 146_097 + 365 * year + year / 4 - year / 100 + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::{DAY, civil, days, parse, text};

    #[test]
    fn known_moments() {
        for (at, date) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_234_567_890_123, "2009-02-13T23:31:30.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ] {
            assert_eq!(text(at), date);
            assert_eq!(parse(date), Some(at));
        }
    }

    #[test]
    fn days_go_both_ways_and_follow_each_other() {
        let mut before = civil(-200_000);
        for day in -199_999..200_000 {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year, month, of_month), day);
            let next = before.2 + 1 == of_month || of_month == 1;
            assert!(next && (1..=12).contains(&month), "{day}");
            before = (year, month, of_month);
        }
        assert_eq!(civil(1_234_567_890_123 / DAY), (2009, 2, 13));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for date in [
            "",
            "2026-11-30",
            "2026-11-30T02:15:00Z",
            "2026-02-30T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "2026-11-30T24:00:00.000Z",
            "2026-11-30T02:15:00.123Z ",
            "2026-11-30T+2:15:00.123Z",
            "2026-11-30 02:15:00.123Z",
        ] {
            assert_eq!(parse(date), None, "{date}");
        }
    }
}
