//! Invented tallies: valid, cheap, and a pure function of their segment.
//!
//! They are of one campaign of mini shogi, whose seed and size no census has. The program begins it on an empty
//! database alone, and a simulated worker refuses the leases of every other campaign.

use std::collections::BTreeMap;

use kazoe_common::census::SegmentResult;
use kazoe_common::census::{BLOCK, Campaign, Cut, Digest, Outcome, Segment, Tally, Witness};
use kazoe_common::game::Variant;
use kazoe_coordinator::ledger::{Service, Submission};

use crate::BUILD;

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

/// The seed of the campaign: `load` in ASCII.
const SEED: u64 = 0x6c6f_6164;

/// Returns the campaign of a measurement.
pub(crate) fn campaign() -> Campaign {
    Campaign::new(&Variant::MINISHOGI, SEED)
}

/// Returns the submission of that campaign.
pub(crate) fn submission() -> Submission {
    Submission {
        campaign: campaign(),
        cut: cut(),
        self_tests: Vec::new(),
        build: BUILD.to_owned(),
        service: Service::default(),
    }
}

/// Returns more segments than any measurement gets through, each as large as a campaign's usually are.
fn cut() -> Cut {
    Cut {
        samples: 1_000_000_000 * Cut::SEGMENT_BLOCKS * BLOCK,
        segment_blocks: Cut::SEGMENT_BLOCKS,
    }
}

/// Returns what a worker hands in of a segment: about as many counts and witnesses as a segment of shogi has.
pub(crate) fn finished(segment: Segment, cut: &Cut) -> SegmentResult {
    let samples = cut.samples_of(segment);
    let first = segment * cut.segment_samples();
    SegmentResult {
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
pub(crate) fn sum(cut: &Cut, segments: u64) -> Tally {
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
    fn invented_tallies_are_valid_and_always_the_same() {
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
}
