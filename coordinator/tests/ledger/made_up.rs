//! A census that is made up: its tallies are cheap, deterministic and as lawful as the true ones.

use std::collections::BTreeMap;

use kazoe_common::census::SegmentResult;
use kazoe_common::census::{Campaign, Cut, Digest, Outcome, Segment, Tally, Witness};
use kazoe_common::game::Variant;
use kazoe_coordinator::ledger::{
    CampaignRecord, Lease, Ledger, LocalStore, PostgresLedger, Prefix, SelfTest, Service, Snapshot,
    Submission, Who,
};

/// Segments of one block.
pub(crate) const BLOCKS: u64 = 1;

pub(crate) fn campaign(seed: u64) -> Campaign {
    Campaign::new(&Variant::MINISHOGI, seed)
}

pub(crate) fn submission(seed: u64, samples: u64) -> Submission {
    Submission {
        campaign: campaign(seed),
        cut: Cut::new(samples, BLOCKS).unwrap(),
        self_tests: vec![SelfTest {
            block: 0,
            tally: tally(0, 4096),
        }],
        build: "test 1".to_owned(),
        // Nothing is computed twice unless a test says so.
        service: Service {
            audit_millionths: 0,
            ..Service::default()
        },
    }
}

/// The same, every segment of which is audited.
pub(crate) fn audited_submission(seed: u64, samples: u64) -> Submission {
    Submission {
        service: Service {
            audit_millionths: Service::ALL,
            ..Service::default()
        },
        ..submission(seed, samples)
    }
}

/// The tally of so many samples from the segment's beginning on.
pub(crate) fn tally(segment: Segment, samples: u64) -> Tally {
    let reachable = samples * (segment % 7) / 20;
    let unreachable = samples / 10;
    let mut cells = BTreeMap::new();
    let mut put = |outcome: Outcome, count: u64| {
        if count > 0 {
            cells.insert(outcome as u32, count);
        }
    };
    put(Outcome::Reachable, reachable);
    put(Outcome::Unreachable, unreachable);
    put(Outcome::TwoPawns, samples - reachable - unreachable);
    let deep = unreachable.min(2);
    let mut depths = BTreeMap::new();
    for (depth, count) in [(0, unreachable - deep), (3, deep)] {
        if count > 0 {
            depths.insert(depth, count);
        }
    }
    Tally {
        cells,
        depths,
        digest: Digest::of_block(segment, &samples.to_le_bytes()),
    }
}

/// The same sums, one count moved: only a whole comparison tells.
pub(crate) fn wrong_tally(segment: Segment, samples: u64) -> Tally {
    let mut tally = tally(segment, samples);
    *tally.cells.get_mut(&(Outcome::TwoPawns as u32)).unwrap() -= 1;
    *tally.cells.entry(Outcome::InCheck as u32).or_default() += 1;
    tally
}

pub(crate) fn delivery(segment: Segment, samples: u64) -> SegmentResult {
    let first = segment * BLOCKS * 4096;
    SegmentResult {
        segment,
        samples,
        tally: tally(segment, samples),
        witnesses: vec![
            Witness::Unreachable {
                index: first,
                depth: 3,
            },
            Witness::Path {
                index: first,
                length: 40 + u32::try_from(segment % 100).unwrap(),
                expansions: 60,
            },
        ],
        cpu: None,
    }
}

pub(crate) fn wrong_delivery(segment: Segment, samples: u64) -> SegmentResult {
    SegmentResult {
        tally: wrong_tally(segment, samples),
        ..delivery(segment, samples)
    }
}

pub(crate) fn deliveries(lease: &Lease) -> Vec<SegmentResult> {
    lease
        .segments
        .iter()
        .map(|lent| delivery(lent.segment, lent.samples))
        .collect()
}

pub(crate) fn owner(name: &str) -> Who {
    Who {
        owner: name.to_owned(),
        worker: format!("{name}-1"),
        build: "test 1".to_owned(),
        operator: false,
    }
}

pub(crate) fn operator() -> Who {
    Who {
        operator: true,
        ..owner("operator")
    }
}

/// What a serial run of the first segments sums to.
pub(crate) fn serial(cut: &Cut, segments: u64) -> Prefix {
    let mut prefix = Prefix::default();
    for segment in 0..segments {
        prefix.tally.merge(&tally(segment, cut.samples_of(segment)));
        prefix.segments += 1;
        prefix.samples += cut.samples_of(segment);
    }
    prefix
}

/// A ledger that can be checked row by row.
pub(crate) trait Sound: Ledger {
    /// What is wrong with a campaign's rows; empty if nothing is.
    async fn breaches(&self, id: &str) -> Vec<String>;
}

impl Sound for PostgresLedger {
    async fn breaches(&self, id: &str) -> Vec<String> {
        let breaches = self.check_invariants(id).await.unwrap();
        breaches
            .iter()
            .map(|breach| format!("{breach:?}"))
            .collect()
    }
}

/// Each segment is missing or accepted, and each accepted one has its size.
impl Sound for LocalStore {
    async fn breaches(&self, id: &str) -> Vec<String> {
        let cut = self.campaign(id).await.unwrap().cut;
        let accepted = self.segments(id, 0, u32::MAX).await.unwrap();
        let missing = self.missing(id).await.unwrap();
        let mut all: Vec<Segment> = missing.into_iter().flatten().collect();
        all.extend(accepted.iter().map(|one| one.segment));
        all.sort_unstable();
        let mut breaches = Vec::new();
        if all != (0..cut.segments()).collect::<Vec<_>>() {
            breaches.push(format!("missing and accepted: {all:?}"));
        }
        for one in accepted {
            if one.samples != cut.samples_of(one.segment) || one.tally.check(one.samples).is_err() {
                breaches.push(format!("{one:?}"));
            }
        }
        breaches
    }
}

/// The end of every test: the invariants hold, and a complete campaign is the serial run's (I4).
pub(crate) async fn assert_sound(ledger: &impl Sound, campaign: &CampaignRecord) {
    let snapshot = assert_lawful(ledger, campaign).await;
    if snapshot.is_complete() {
        let whole = serial(&snapshot.cut, snapshot.cut.segments());
        assert_eq!(snapshot.prefix, whole);
        assert_eq!(snapshot.accepted_samples, snapshot.cut.samples);
    }
}

/// The invariants hold, whatever the tallies say.
pub(crate) async fn assert_lawful(ledger: &impl Sound, campaign: &CampaignRecord) -> Snapshot {
    let breaches = ledger.breaches(&campaign.id).await;
    assert!(breaches.is_empty(), "{breaches:?}");
    let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
    let counts = snapshot.counts;
    assert_eq!(
        counts.accepted
            + counts.disputed
            + counts.set_aside
            + counts.leased
            + counts.returned
            + counts.retracted
            + counts.unleased,
        snapshot.cut.segments()
    );
    assert_eq!(
        snapshot.prefix.counted().samples(),
        snapshot.prefix.samples,
        "the prefix's outcomes add up to its samples"
    );
    snapshot
}
