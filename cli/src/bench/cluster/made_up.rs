//! Tallies that nobody counted: lawful, cheap, and the same for a segment whoever makes them up.
//!
//! They are of [`Variant::MADE_UP`] alone. A simulated worker is lent nothing else by a coordinator that
//! leads a bench, refuses everything else, and no ledger of counted campaigns takes theirs.

use std::collections::BTreeMap;

use kazoe_common::census::{BLOCK, Campaign, Cut, Digest, Outcome, Segment, Tally, Witness};
use kazoe_common::game::Variant;
use kazoe_proto::census::Finished;

/// How many samples of a million end so, about as in shogi; the rest are mirrored.
const SHARES: [(Outcome, u64); 5] = [
    (Outcome::TwoPawns, 480_000),
    (Outcome::Immobile, 10_000),
    (Outcome::InCheck, 2_000),
    (Outcome::Unreachable, 500),
    (Outcome::Reachable, 8_098),
];

/// How the unreachable of a thousand lie in depth; the rest lie at 0.
const DEPTHS: [(u32, u64); 2] = [(1, 120), (2, 15)];

/// The one campaign of a bench.
pub(super) fn campaign() -> Campaign {
    Campaign::new(&Variant::MADE_UP, 1)
}

/// More segments than any bench gets through, each as large as a campaign's usually are.
pub(super) fn cut() -> Cut {
    Cut {
        samples: 1_000_000_000 * Cut::SEGMENT_BLOCKS * BLOCK,
        segment_blocks: Cut::SEGMENT_BLOCKS,
    }
}

/// What a worker hands in of a segment: about as many counts and witnesses as a segment of shogi has.
pub(super) fn finished(segment: Segment, cut: &Cut) -> Finished {
    let samples = cut.samples_of(segment);
    let first = segment * cut.segment_samples();
    Finished {
        segment,
        samples,
        tally: tally(segment, samples),
        witnesses: vec![
            Witness::Unreachable {
                index: first,
                depth: 1,
            },
            Witness::Path {
                index: first + samples / 2,
                length: 100 + u32::from(noise(segment)),
                expansions: 120 + u32::from(noise(segment)),
            },
        ],
        cpu: None,
    }
}

/// The tally of so many samples of a segment.
fn tally(segment: Segment, samples: u64) -> Tally {
    let mut cells = BTreeMap::new();
    let mut left = samples;
    for (outcome, millionths) in SHARES {
        let share = samples / 1_000_000 * millionths + samples % 1_000_000 * millionths / 1_000_000;
        let count = (share + u64::from(noise(segment)) / 16).min(left);
        left -= count;
        put(&mut cells, outcome as u32, count);
    }
    put(&mut cells, Outcome::Mirrored as u32, left);
    let unreachable = cells
        .get(&(Outcome::Unreachable as u32))
        .copied()
        .unwrap_or(0);
    let mut depths = BTreeMap::new();
    let mut left = unreachable;
    for (depth, thousandths) in DEPTHS {
        let count = unreachable * thousandths / 1000;
        left -= count;
        put(&mut depths, depth, count);
    }
    put(&mut depths, 0, left);
    Tally {
        cells,
        depths,
        digest: Digest::of_block(segment, &samples.to_le_bytes()),
    }
}

fn put(counts: &mut BTreeMap<u32, u64>, key: u32, count: u64) {
    if count > 0 {
        counts.insert(key, count);
    }
}

/// What differs from segment to segment.
const fn noise(segment: Segment) -> u8 {
    (segment.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// What the first segments add up to.
pub(super) fn sum(cut: &Cut, segments: u64) -> Tally {
    let mut sum = Tally::default();
    for segment in 0..segments {
        sum.merge(&tally(segment, cut.samples_of(segment)));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_is_lawful_and_always_the_same() {
        let whole = cut();
        let small = Cut::new(3 * BLOCK + 7, 1).unwrap();
        for (cut, segments) in [(whole, 300), (small, 4)] {
            let mut before = None;
            for segment in 0..segments {
                let one = finished(segment, &cut);
                assert_eq!(one, finished(segment, &cut));
                one.tally.check(one.samples).unwrap();
                assert_ne!(before.replace(one.tally.digest), Some(one.tally.digest));
            }
        }
        let first_two = sum(&whole, 2);
        assert_eq!(first_two.samples(), 2 * whole.segment_samples());
    }

    #[test]
    fn no_variant_that_is_counted_is_made_up() {
        assert!(campaign().variant.is_made_up());
        assert!(Variant::ALL.iter().all(|variant| !variant.is_made_up()));
        assert_eq!(Variant::by_id(Variant::MADE_UP.id), None);
    }
}
