//! How much of a file a coordinator has taken.

use kazoe_common::census::Segment;
use kazoe_common::estimate::numerals::grouped;

use crate::quantity::counted;

/// How much of a file a coordinator has taken: requests of ascending segments, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    file: String,
    /// Segments of the file.
    segments: u64,
    /// How many the coordinator has confirmed, the first ones of the file, and the last one's number.
    confirmed: (u64, Segment),
    /// How many of those after them are on the way, with the first one's and the last one's number.
    sent: (u64, Segment, Segment),
}

impl Taken {
    /// Nothing yet of a file with this number of segments.
    pub(super) const fn nothing_of(file: String, segments: u64) -> Self {
        Taken {
            file,
            segments,
            confirmed: (0, 0),
            sent: (0, 0, 0),
        }
    }

    /// A request with these segments is sent.
    pub(super) fn send(&mut self, segments: impl Iterator<Item = Segment>) {
        let empty = (0, 0, 0);
        self.sent = segments.fold(empty, |(count, first, _), segment| {
            (count + 1, if count == 0 { segment } else { first }, segment)
        });
    }

    /// The coordinator confirmed the request.
    pub(super) const fn confirm(&mut self) {
        let (count, _, last) = self.sent;
        self.confirmed = (self.confirmed.0 + count, last);
        self.sent = (0, 0, 0);
    }

    /// The coordinator refused the request.
    pub(super) const fn refuse(&mut self) {
        self.sent = (0, 0, 0);
    }

    /// Says what was taken and what was not.
    pub(super) fn words(&self) -> String {
        let (confirmed, last_confirmed) = self.confirmed;
        let (sent, first, last) = self.sent;
        let rest = self.segments - confirmed - sent;
        let mut parts = Vec::new();
        if confirmed > 0 {
            parts.push(format!(
                "the coordinator imported the first {}, up to segment {last_confirmed}",
                counted(confirmed, "segment")
            ));
        }
        if sent > 0 {
            parts.push(format!(
                "it may have imported the next {}, {first} to {last}, because its answer is missing",
                grouped(sent)
            ));
        }
        if rest == self.segments {
            parts.push("the coordinator imported none of them".to_owned());
        } else if rest > 0 {
            parts.push(format!("it did not import the other {}", grouped(rest)));
        }
        format!(
            "of {} in {}, {}; it is safe to import the file again, because no segment is counted \
             twice",
            counted(self.segments, "segment"),
            self.file,
            parts.join("; ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three requests of a file of 611 segments; the words name each segment's fate.
    #[test]
    fn every_segment_s_fate_is_said() {
        let mut taken = Taken::nothing_of("a.tsv".to_owned(), 611);
        let says = |taken: &Taken, what: &str| {
            let words = taken.words();
            let expected = format!("of 611 segments in a.tsv, {what}; it is safe ");
            assert!(words.starts_with(&expected), "{words}");
        };
        says(&taken, "the coordinator imported none of them");
        taken.send(0..256);
        says(
            &taken,
            "it may have imported the next 256, 0 to 255, because its answer is missing; it did not \
             import the other 355",
        );
        taken.refuse();
        says(&taken, "the coordinator imported none of them");
        taken.send(0..256);
        taken.confirm();
        let first = "the coordinator imported the first 256 segments, up to segment 255";
        says(&taken, &format!("{first}; it did not import the other 355"));
        taken.send(256..512);
        says(
            &taken,
            &format!(
                "{first}; it may have imported the next 256, 256 to 511, because its answer is missing; it \
                 did not import the other 99"
            ),
        );
        taken.confirm();
        taken.send(512..611);
        taken.confirm();
        says(
            &taken,
            "the coordinator imported the first 611 segments, up to segment 610",
        );
    }
}
