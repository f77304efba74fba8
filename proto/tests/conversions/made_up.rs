//! Values as they may be, at random.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::time::Duration;

use kazoe_common::census::SegmentResult;
use kazoe_common::census::{BLOCK, Campaign, Cut, Digest, Outcome, Tally, Witness};
use kazoe_common::game::Variant;
use kazoe_proto::admin::{Credential, Presence, Role, Worker};
use kazoe_proto::campaigns::{
    BuildShare, CampaignRecord, CampaignState, Counts, Findings, ForeignCampaign, Holder,
    OwnerShare, Snapshot, Submission, Target, WorkerShare,
};
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::name::label;
use kazoe_proto::work::Lease;
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;

pub(crate) fn campaign() -> impl Strategy<Value = Campaign> {
    (
        select(Variant::ALL.to_vec()),
        any::<u64>(),
        any::<Option<u64>>(),
    )
        .prop_map(|(variant, seed, cap)| Campaign {
            cap,
            ..Campaign::new(variant, seed)
        })
}

pub(crate) fn cut() -> impl Strategy<Value = Cut> {
    let samples = prop_oneof![1..=1_u64 << 62, 1..=100_000_u64, Just(1 << 62)];
    let blocks = prop_oneof![1..=1_u64 << 20, 1..=3_u64];
    (samples, blocks).prop_map(|(samples, blocks)| Cut::new(samples, blocks).unwrap())
}

/// A tally of so many samples.
pub(crate) fn tally(samples: u64) -> impl Strategy<Value = Tally> {
    let share = 0..=samples;
    (share.clone(), share, 0..=300_u32, any::<u128>()).prop_map(
        move |(unreachable, deep, depth, digest)| {
            let deep = deep.min(unreachable);
            let some = |entries: Vec<(u32, u64)>| {
                entries
                    .into_iter()
                    .filter(|&(_, count)| count > 0)
                    .collect()
            };
            Tally {
                cells: some(vec![
                    (Outcome::Unreachable as u32, unreachable),
                    (Outcome::Undecided as u32, samples - unreachable),
                ]),
                depths: some(vec![(depth, unreachable - deep), (depth + 7, deep)]),
                digest: Digest(digest),
            }
        },
    )
}

pub(crate) fn self_tests(
    number: RangeInclusive<usize>,
) -> impl Strategy<Value = BTreeMap<u64, Tally>> {
    btree_map(0..1_u64 << 50, tally(BLOCK), number)
}

/// A finished segment with this number and whole blocks.
pub(crate) fn finished(segment: u64, blocks: u64) -> impl Strategy<Value = SegmentResult> {
    let whole = blocks * BLOCK;
    let first = segment * whole;
    (1..=whole).prop_flat_map(move |samples| {
        let indices = btree_set(
            0..samples,
            0..=usize::try_from(samples.div_ceil(BLOCK)).unwrap(),
        );
        let cpu = option::of(0..=1_u64 << 44);
        (tally(samples), indices, 1..=99_u32, cpu).prop_map(move |(tally, indices, number, cpu)| {
            let witnesses = indices.iter().flat_map(|index| {
                let index = first + index;
                let unreachable = Witness::Unreachable {
                    index,
                    depth: number,
                };
                let path = Witness::Path {
                    index,
                    length: number,
                    expansions: number - 1,
                };
                [unreachable, path]
            });
            SegmentResult {
                segment,
                samples,
                tally,
                witnesses: witnesses.collect(),
                cpu: cpu.map(Duration::from_micros),
            }
        })
    })
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    "[ -~äé数]{1,40}"
}

/// An owner's name in its one spelling.
pub(crate) fn owner() -> impl Strategy<Value = String> {
    "[!-~äé数]{1,20}( [!-~äé数]{1,19})?"
}

pub(crate) fn id() -> impl Strategy<Value = String> {
    "[A-Za-z0-9-]{1,64}"
}

pub(crate) fn campaign_id() -> impl Strategy<Value = String> {
    campaign().prop_map(|campaign| campaign.id())
}

pub(crate) fn millis(range: RangeInclusive<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

pub(crate) fn submission() -> impl Strategy<Value = Submission> {
    (campaign(), cut(), any::<i64>(), self_tests(0..=4), name()).prop_map(
        |(campaign, cut, priority, self_tests, build)| Submission {
            campaign,
            target: Target::Samples(cut.samples),
            segment_blocks: cut.segment_blocks.min(1 << 18),
            priority,
            self_tests,
            build,
        },
    )
}

pub(crate) fn record() -> impl Strategy<Value = CampaignRecord> {
    let pace = select(vec![
        CampaignState::Running,
        CampaignState::Paused,
        CampaignState::Cancelled,
    ]);
    let numbers = (any::<i64>(), any::<u64>(), any::<Option<i64>>());
    (campaign(), cut(), pace, name(), numbers).prop_map(
        |(campaign, cut, pace, build, (submitted_at, revision, priority))| CampaignRecord {
            id: campaign.id(),
            campaign,
            cut,
            pace,
            build,
            submitted_at,
            revision,
            priority,
        },
    )
}

pub(crate) fn foreign() -> impl Strategy<Value = ForeignCampaign> {
    let names = (
        id(),
        name(),
        name(),
        name(),
        name(),
        option::of(name()),
        name(),
    );
    let numbers = (any::<Option<u64>>(), any::<Option<i64>>(), any::<i64>());
    (names, numbers, name(), name()).prop_map(|(names, numbers, build, why)| {
        let (id, variant, population, design, seed, cap, state) = names;
        let (samples, priority, submitted_at) = numbers;
        ForeignCampaign {
            id,
            variant,
            population,
            design,
            seed,
            cap,
            samples,
            state,
            priority,
            build,
            submitted_at,
            why,
        }
    })
}

/// A snapshot of a campaign that is cut so.
pub(crate) fn snapshot(campaign: String, cut: Cut) -> impl Strategy<Value = Snapshot> {
    (0..=cut.segments(), any::<u64>(), any::<u64>(), any::<u32>()).prop_flat_map(
        move |(prefix_segments, aside, revision, workers)| {
            let campaign = campaign.clone();
            let samples = cut.samples.min(prefix_segments * cut.segment_samples());
            let set_aside_samples = aside % (samples + 1);
            tally(samples - set_aside_samples).prop_map(move |tally| Snapshot {
                campaign: campaign.clone(),
                cut,
                revision,
                prefix_segments,
                set_aside_samples,
                tally,
                counts: Counts {
                    accepted: prefix_segments,
                    unleased: cut.segments() - prefix_segments,
                    ..Counts::default()
                },
                accepted_samples: samples,
                audited: prefix_segments / 2,
                workers,
                pace: [
                    None,
                    Some(CampaignState::Running),
                    Some(CampaignState::Cancelled),
                ][workers as usize % 3],
                holders: (0..workers % 17)
                    .map(|number| Holder {
                        worker: format!("w-{number}"),
                        name: label(["", "rack-7"][number as usize % 2]),
                    })
                    .collect(),
            })
        },
    )
}

pub(crate) fn findings() -> impl Strategy<Value = Findings> {
    record().prop_flat_map(|record| {
        let share = (
            name(),
            1..=record.cut.segments(),
            any::<i32>(),
            any::<u32>(),
        )
            .prop_map(|(build, segments, first, later)| BuildShare {
                build,
                segments,
                first_at: i64::from(first),
                last_at: i64::from(first) + i64::from(later),
            });
        let snapshot = snapshot(record.campaign.id(), record.cut);
        let owner = (name(), 0..2_u64, 0..9_u32, option::of(any::<u64>())).prop_map(
            |(owner, samples, disagreed, core_seconds)| OwnerShare {
                owner,
                segments: samples.min(1),
                samples,
                reachable: samples,
                audited: samples.min(1),
                disagreed: u64::from(disagreed),
                disputed: u64::from(disagreed / 2),
                core_seconds,
                estimated: samples.min(1),
            },
        );
        let owners = option::of(owner).prop_map(|owner| owner.into_iter().collect());
        (Just(record), snapshot, vec(share, 0..4), owners, 0..9_u64).prop_map(
            |(record, snapshot, builds, owners, paths)| {
                let samples = snapshot.cut.samples;
                let samples =
                    samples.min(snapshot.prefix_segments * snapshot.cut.segment_samples());
                let indices = (0..paths).map(|block| block * BLOCK + block);
                Findings {
                    record,
                    snapshot,
                    builds,
                    owners,
                    workers: vec![WorkerShare {
                        worker: "w-1".to_owned(),
                        name: label("rack-7"),
                        owner: "a".to_owned(),
                        segments: 1,
                    }],
                    more_workers: paths,
                    paths: indices
                        .filter(|&index| index < samples)
                        .map(|index| Witness::Path {
                            index,
                            length: 3,
                            expansions: 4,
                        })
                        .collect(),
                }
            },
        )
    })
}

pub(crate) fn key() -> impl Strategy<Value = LeaseKey> {
    (0..=i64::MAX, any::<[u8; 8]>()).prop_map(|(sequence, secret)| LeaseKey { sequence, secret })
}

pub(crate) fn lease() -> impl Strategy<Value = Lease> {
    (key(), campaign(), cut(), millis(0..=86_400_000)).prop_flat_map(
        |(key, campaign, cut, hold)| {
            btree_set(
                0..cut.segments(),
                1..9.min(1 + usize::try_from(cut.segments()).unwrap()),
            )
            .prop_map(move |segments: BTreeSet<u64>| Lease {
                key,
                campaign: campaign.clone(),
                cut,
                segments: segments.into_iter().rev().collect(),
                hold,
            })
        },
    )
}

pub(crate) fn worker() -> impl Strategy<Value = Worker> {
    (
        (id(), name(), name()),
        (1..=65_536_u32, 0..99_u64, any::<u32>()),
        (any::<u64>(), any::<bool>(), presence(), any::<String>()),
        (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()),
    )
        .prop_map(
            |(
                (worker, owner, build),
                (threads, speed, leases),
                (silent, drained, presence, called),
                (accepted, audited, disagreed, disputed),
            )| Worker {
                worker,
                owner,
                build,
                threads,
                samples_per_second: (speed > 0).then_some(speed),
                leases,
                silent: Duration::from_millis(silent),
                drained,
                accepted,
                audited: audited.min(accepted),
                disagreed,
                disputed,
                name: label(&called),
                presence,
            },
        )
}

fn presence() -> impl Strategy<Value = Presence> {
    select(vec![
        Presence::AtWork,
        Presence::Idle,
        Presence::Leaving,
        Presence::Gone,
    ])
}

pub(crate) fn role() -> impl Strategy<Value = Role> {
    select(vec![Role::Viewer, Role::Worker, Role::Operator])
}

pub(crate) fn credential() -> impl Strategy<Value = Credential> {
    (id(), name(), role(), any::<i64>(), any::<bool>()).prop_map(
        |(id, owner, role, created_at, revoked)| Credential {
            id,
            owner,
            role,
            created_at,
            revoked,
        },
    )
}
