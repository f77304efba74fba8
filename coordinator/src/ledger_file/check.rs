//! What a ledger file states of itself: the fingerprint of its counts and the checksum of its lines.
//!
//! Both stand in the text of a `build` line that no segment names, directly before `end`. Builds from
//! before fingerprints read such a line as one more build, and so they read these files too.

use kazoe_common::census::{Campaign, Digest, Fingerprint, Tally};

use super::write::Exported;

/// The beginning of the text.
const MAGIC: &str = "kazoe-check/1 ";

/// How the text goes on.
pub(super) const FORM: &str =
    "kazoe-check/1 fingerprint=F lines=L, F and L of 32 lower-case hexadecimal digits";

/// What a file states of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Check {
    /// The fingerprint of its segments' counts.
    pub(super) fingerprint: Fingerprint,
    /// The hash of the lines before this one that are [covered](Check::covers).
    pub(super) lines: Fingerprint,
}

impl Check {
    pub(super) fn text(&self) -> String {
        let Check { fingerprint, lines } = self;
        format!("{MAGIC}fingerprint={fingerprint} lines={lines}")
    }

    /// Returns whether a line enters the checksum: all do, except the two with the ledger's dates, so that the
    /// same results have the same checksum whichever ledger they come from.
    pub(super) fn covers(line: &[u8]) -> bool {
        !line.starts_with(b"submitted\t") && !line.starts_with(b"computed\t")
    }

    /// Returns whether a build's text is meant as a check.
    pub(super) fn is_meant(text: &str) -> bool {
        text.starts_with(MAGIC)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let fields = text.strip_prefix(MAGIC)?.strip_prefix("fingerprint=")?;
        let (fingerprint, lines) = fields.split_once(" lines=")?;
        Some(Check {
            fingerprint: fingerprint.parse().ok()?,
            lines: lines.parse().ok()?,
        })
    }
}

/// The sums over a file's segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// How many segments.
    pub segments: u64,
    /// The sum of their tallies.
    pub tally: Tally,
}

impl Sums {
    /// Adds a segment's tally.
    pub fn add(&mut self, tally: &Tally) {
        self.segments += 1;
        self.tally.merge(tally);
    }

    /// Returns how many samples the segments have.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.tally.samples()
    }

    /// Returns the sum of the segments' digests.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.tally.digest
    }

    /// Returns the fingerprint of the segments' counts.
    #[must_use]
    pub fn fingerprint(&self, campaign: &Campaign) -> Fingerprint {
        Fingerprint::of(campaign, &self.tally)
    }

    /// Returns them as what a file of these segments holds.
    #[must_use]
    pub fn exported(&self, campaign: &Campaign) -> Exported {
        Exported {
            segments: self.segments,
            samples: self.samples(),
            digest: self.digest(),
            fingerprint: self.fingerprint(campaign),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_is_written_in_one_way() {
        let check = Check {
            fingerprint: Fingerprint::of_bytes(b"counts"),
            lines: Fingerprint::of_bytes(b"lines"),
        };
        let text = check.text();
        assert!(Check::is_meant(&text));
        assert_eq!(Check::parse(&text), Some(check));
        let wrong = [
            "kazoe 0.1.0".to_owned(),
            text.replace("check/1", "check/2"),
            text.replace("lines=", "lines= "),
            text.to_uppercase(),
            format!("{text} more"),
            text[..text.len() - 1].to_owned(),
        ];
        for wrong in wrong {
            assert_eq!(Check::parse(&wrong), None, "{wrong}");
        }
    }
}
