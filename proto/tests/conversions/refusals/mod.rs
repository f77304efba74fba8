//! What cannot be is refused by the name of its field, and nothing that a peer sends ends the process.

mod numbers;
mod operators;
mod submissions;
mod workers;

use std::collections::BTreeMap;

use kazoe_common::census::SegmentResult;
use kazoe_common::census::{BLOCK, Campaign, Cut, Digest, Outcome, Tally, Witness};
use kazoe_common::game::Variant;
use kazoe_proto::Invalid;
use kazoe_proto::campaigns::{CampaignRecord, CampaignState, Counts, Snapshot};
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::work::Held;
use tonic::{Code, Status};

/// The field that must be refused, and how it is spoilt.
type Way<'a, M> = (&'a str, fn(&mut M));

/// Spoils a good message in each way, and compares the field that is refused.
fn spoil<M: Clone, T: std::fmt::Debug>(
    good: &M,
    convert: impl Fn(M) -> Result<T, Invalid>,
    ways: &[Way<'_, M>],
) {
    convert(good.clone()).unwrap();
    for (field, change) in ways {
        let mut bad = good.clone();
        change(&mut bad);
        let refused = convert(bad).expect_err(field);
        assert_eq!(refused.field, *field, "{refused}");
        let status = Status::from(refused);
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().contains(field), "{}", status.message());
    }
}

fn tally(samples: u64) -> Tally {
    Tally {
        cells: BTreeMap::from([
            (Outcome::Unreachable as u32, 2),
            (Outcome::Undecided as u32, samples - 2),
        ]),
        depths: BTreeMap::from([(0, 1), (3, 1)]),
        digest: Digest(9),
    }
}

fn self_tests() -> BTreeMap<u64, Tally> {
    BTreeMap::from([(0, tally(BLOCK)), (5, tally(BLOCK))])
}

/// Segment 3, of two blocks each.
fn finished() -> SegmentResult {
    let first = 3 * 2 * BLOCK;
    SegmentResult {
        segment: 3,
        samples: 2 * BLOCK,
        tally: tally(2 * BLOCK),
        witnesses: vec![
            Witness::Unreachable {
                index: first,
                depth: 1,
            },
            Witness::Path {
                index: first + 9,
                length: 1,
                expansions: 0,
            },
        ],
        cpu: None,
    }
}

fn key() -> LeaseKey {
    LeaseKey::parse("token", "7-0123456789abcdef").unwrap()
}

fn held() -> Held {
    Held {
        key: key(),
        segment_blocks: 2,
        segments: [3, 4].into(),
    }
}

fn campaign() -> Campaign {
    Campaign::new(&Variant::MINISHOGI, 1)
}

fn record() -> CampaignRecord {
    CampaignRecord {
        id: campaign().id(),
        campaign: campaign(),
        cut: Cut::new(100 * BLOCK, 2).unwrap(),
        pace: CampaignState::Running,
        build: "test".to_owned(),
        submitted_at: 1,
        revision: 2,
        priority: Some(5),
    }
}

fn snapshot() -> Snapshot {
    Snapshot {
        campaign: campaign().id(),
        cut: record().cut,
        revision: 1,
        prefix_segments: 10,
        set_aside_samples: 2 * BLOCK,
        tally: tally(18 * BLOCK),
        counts: Counts {
            accepted: 9,
            set_aside: 1,
            unleased: 40,
            ..Counts::default()
        },
        accepted_samples: 18 * BLOCK,
        audited: 2,
        workers: 3,
        pace: Some(CampaignState::Paused),
        holders: Vec::new(),
    }
}
