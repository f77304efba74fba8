//! Commands for people to type.

use kazoe_common::census::Campaign;

use crate::store::StoreArgs;

/// The `kazoe run` that begins, resumes or extends a campaign.
pub(crate) fn run(campaign: &Campaign, samples: Option<u64>, store: &StoreArgs) -> String {
    let mut command = format!("kazoe run {}", campaign.variant.id);
    if let Some(samples) = samples {
        command += &format!(" --samples {}", short(samples));
    }
    if campaign.seed != 1 {
        command += &format!(" --seed {}", campaign.seed);
    }
    if let Some(cap) = campaign.cap {
        command += &format!(" --cap {cap}");
    }
    command + &store.as_typed()
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
