//! Commands for people to type.

use kazoe_common::census::Campaign;

use crate::sqlite_args::StoreArgs;

/// The `kazoe run` that begins, resumes or extends a campaign.
pub(crate) fn run(campaign: &Campaign, samples: Option<u64>, store: &StoreArgs) -> String {
    format!(
        "kazoe run {}{}",
        identity(campaign, samples),
        store.as_typed()
    )
}

/// The `kazoe submit` that resumes or extends a campaign.
pub(crate) fn submit(campaign: &Campaign, samples: Option<u64>, url: &str) -> String {
    format!(
        "kazoe submit {} --coordinator {url}",
        identity(campaign, samples)
    )
}

/// What names a campaign and how much of it is wanted.
fn identity(campaign: &Campaign, samples: Option<u64>) -> String {
    let mut words = campaign.variant.id.to_owned();
    if let Some(samples) = samples {
        words += &format!(" --samples {}", short(samples));
    }
    if campaign.seed != 1 {
        words += &format!(" --seed {}", campaign.seed);
    }
    if let Some(cap) = campaign.cap {
        words += &format!(" --cap {cap}");
    }
    words
}

/// A number as one would type it: `10M`.
fn short(number: u64) -> String {
    for (scale, letter) in [(1_000_000_000, 'G'), (1_000_000, 'M'), (1000, 'k')] {
        if number >= scale && number.is_multiple_of(scale) {
            return format!("{}{letter}", number / scale);
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back() {
        for (number, text) in [
            (1, "1"),
            (999, "999"),
            (1500, "1500"),
            (2000, "2k"),
            (10_000_000, "10M"),
            (5_000_000_000, "5G"),
            (1_234_567, "1234567"),
        ] {
            assert_eq!(short(number), text);
            assert_eq!(crate::quantity::parse(text), Ok(number));
        }
    }
}
