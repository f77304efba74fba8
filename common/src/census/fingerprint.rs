//! The fingerprint: a hash of what a tally counts of a campaign, the counts included.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::str::FromStr;

use super::campaign::Campaign;
use super::tally::Tally;

/// The first 16 bytes of a BLAKE3 hash, printed as 32 hexadecimal digits in the order of the bytes.
///
/// A campaign's fingerprint covers its identity, the number of samples, every count of the tally and the
/// digest. Two computations of the same samples have the same fingerprint, because neither segments nor
/// leases nor workers enter it. It has no key: it detects changed counts, and does not say who wrote them.
///
/// ```
/// use kazoe_common::census::{Campaign, Fingerprint, Tally};
/// use kazoe_common::game::Variant;
/// let campaign = Campaign::new(Variant::by_id("minishogi").unwrap(), 1);
/// let mut tally = Tally::default();
/// let before = Fingerprint::of(&campaign, &tally);
/// tally.cells.insert(5, 1);
/// assert_ne!(Fingerprint::of(&campaign, &tally), before);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 16]);

impl Fingerprint {
    /// Returns the fingerprint of a tally of some of a campaign's samples.
    #[must_use]
    pub fn of(campaign: &Campaign, tally: &Tally) -> Self {
        Fingerprint::of_bytes(canonical(campaign, tally).as_bytes())
    }

    /// Returns the first 16 bytes of the BLAKE3 hash.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Fingerprint::of_hasher(blake3::Hasher::new().update(bytes))
    }

    /// Returns the first 16 bytes of the BLAKE3 hash of what a hasher was fed.
    #[must_use]
    pub fn of_hasher(hasher: &blake3::Hasher) -> Self {
        let mut first = [0; 16];
        hasher.finalize_xof().fill(&mut first);
        Fingerprint(first)
    }
}

/// Returns the ASCII text that the fingerprint is the hash of (docs/mathematics.md, section 7): six lines,
/// each ended by a line feed.
fn canonical(campaign: &Campaign, tally: &Tally) -> String {
    format!(
        "kazoe-fingerprint/1\n{}\nsamples {}\ncells {}\ndepths {}\ndigest {}\n",
        campaign.canonical(),
        tally.samples(),
        counts(&tally.cells),
        counts(&tally.depths),
        tally.digest
    )
}

/// Returns `key:count` pairs joined by commas in ascending order of the key, or `-` without an entry.
fn counts(counts: &BTreeMap<u32, u64>) -> String {
    let mut text = String::new();
    for (key, count) in counts {
        let comma = if text.is_empty() { "" } else { "," };
        let _ = write!(text, "{comma}{key}:{count}");
    }
    if text.is_empty() {
        text.push('-');
    }
    text
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Fingerprint {
    type Err = FingerprintError;

    /// Reads exactly 32 lower-case hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 32 || !text.bytes().all(plain) {
            return Err(FingerprintError);
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| FingerprintError)?;
        Ok(Fingerprint(number.to_be_bytes()))
    }
}

/// A text that is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FingerprintError;

impl fmt::Display for FingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fingerprint is 32 lower-case hexadecimal digits")
    }
}

impl std::error::Error for FingerprintError {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::census::Digest;
    use crate::game::Variant;

    fn example() -> (Campaign, Tally) {
        let campaign = Campaign::new(Variant::by_id("minishogi").unwrap(), 1);
        let tally = Tally {
            cells: BTreeMap::from([(0, 132), (1, 75), (4, 294), (5, 607)]),
            depths: BTreeMap::from([(0, 293), (1, 1)]),
            digest: Digest(0x98b9_9c24_6fb9_ecff_4a84_3303_31b3_2ba9),
        };
        (campaign, tally)
    }

    #[test]
    fn the_text_is_the_documented_one() {
        let (campaign, tally) = example();
        assert_eq!(
            canonical(&campaign, &tally),
            "kazoe-fingerprint/1\n\
             kazoe-campaign/1 variant=minishogi population=candidates design=plain seed=1 cap=none\n\
             samples 1108\n\
             cells 0:132,1:75,4:294,5:607\n\
             depths 0:293,1:1\n\
             digest 98b99c246fb9ecff4a84330331b32ba9\n"
        );
        assert!(canonical(&campaign, &Tally::default()).contains("\ncells -\ndepths -\n"));
    }

    /// Everything that the text names changes it, and each change differently.
    #[test]
    fn every_part_counts() {
        let (campaign, tally) = example();
        let other_variant = Variant::by_id("shogi").unwrap();
        let campaigns = [
            campaign.clone(),
            Campaign::new(other_variant, 1),
            Campaign::new(campaign.variant, 2),
            Campaign {
                cap: Some(5),
                ..campaign
            },
        ];
        let change = |change: fn(&mut Tally)| {
            let mut tally = tally.clone();
            change(&mut tally);
            tally
        };
        let tallies = [
            tally.clone(),
            Tally::default(),
            change(|it| it.digest.0 ^= 1),
            // A count moved between cells, and between depths.
            change(|it| {
                it.cells.insert(0, 131);
                it.cells.insert(5, 608);
            }),
            change(|it| {
                it.depths.insert(0, 292);
                it.depths.insert(1, 2);
            }),
            // Digits moved over a boundary.
            change(|it| {
                it.cells.remove(&1);
                it.cells.insert(0, 13_217);
            }),
        ];
        let mut found = Vec::new();
        for campaign in &campaigns {
            for tally in &tallies {
                found.push(Fingerprint::of(campaign, tally));
            }
        }
        for (i, one) in found.iter().enumerate() {
            assert!(!found[..i].contains(one), "{i}");
        }
    }

    #[test]
    fn it_is_written_in_one_way() {
        let (campaign, tally) = example();
        let fingerprint = Fingerprint::of(&campaign, &tally);
        let text = fingerprint.to_string();
        assert_eq!(text.parse(), Ok(fingerprint));
        // As docs/recheck.py computes it.
        assert_eq!(text, "efc34c0d323e8be2e8fc2343bc74696e");
        for wrong in [
            "",
            &text[1..],
            &text.to_uppercase(),
            &text.replace(&text[..1], "+"),
        ] {
            assert_eq!(
                wrong.parse::<Fingerprint>(),
                Err(FingerprintError),
                "{wrong}"
            );
        }
    }
}
