//! Whatever numbers a peer sends.

use kazoe_proto::{campaigns, census, v1};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof};
use proptest::proptest;

/// Numbers at the ends of their ranges, and others.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..9_u64,
        u64::MAX - 9..=u64::MAX,
        4_090..4_100_u64
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn whatever_numbers_a_peer_sends_are_judged(
        segment in number(), samples in number(), blocks in 1..=1_u64 << 20,
        counts in vec((any::<u32>(), number()), 0..4), indices in vec(number(), 0..4),
        prefix in number(), aside in number(), accepted in number(),
    ) {
        let counts: Vec<v1::Count> =
            counts.into_iter().map(|(key, count)| v1::Count { key, count }).collect();
        let tally = v1::Tally { cells: counts.clone(), depths: counts, digest: vec![0; 16] };
        let witnesses = indices.into_iter().map(|index| v1::Witness { index, kind: None });
        let message = v1::FinishedSegment {
            segment, samples, tally: Some(tally.clone()), witnesses: witnesses.collect(),
            cpu_us: Some(accepted),
        };
        let _ = census::result("it", message, blocks);
        let _ = campaigns::snapshot("it", Some(v1::Snapshot {
            campaign: String::new(),
            cut: Some(v1::Cut { samples, segment_blocks: blocks }),
            revision: segment,
            prefix: Some(v1::snapshot::Prefix {
                segments: prefix, set_aside_samples: aside, tally: Some(tally),
            }),
            counts: Some(v1::snapshot::Counts { accepted, ..v1::snapshot::Counts::default() }),
            accepted_samples: accepted,
            audited: accepted,
            workers: u32::MAX,
            pace: 1,
            holders: Vec::new(),
        }));
    }
}
