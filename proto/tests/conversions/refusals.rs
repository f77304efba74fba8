//! What cannot be is refused by the name of its field, and nothing that a peer sends ends the process.

use std::collections::BTreeMap;
use std::time::Duration;

use kazoe_common::census::{BLOCK, Campaign, Cut, Digest, Outcome, Tally, Witness};
use kazoe_common::game::Variant;
use kazoe_proto::campaigns::{
    Counts, Findings, Pace, Record, Snapshot, Submission, Submitted, Target,
};
use kazoe_proto::census::{Finished, MOST_SELF_TESTS};
use kazoe_proto::work::{Held, Lease, Notice, Offer, Report, Token, Verdict};
use kazoe_proto::{Invalid, admin, campaigns, census, v1, work};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof};
use proptest::proptest;
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
fn finished() -> Finished {
    let first = 3 * 2 * BLOCK;
    Finished {
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

fn token() -> Token {
    Token::parse("token", "7-0123456789abcdef").unwrap()
}

fn held() -> Held {
    Held {
        token: token(),
        segment_blocks: 2,
        segments: [3, 4].into(),
    }
}

fn campaign() -> Campaign {
    Campaign::new(&Variant::MINISHOGI, 1)
}

fn record() -> Record {
    Record {
        campaign: campaign(),
        cut: Cut::new(100 * BLOCK, 2).unwrap(),
        pace: Pace::Running,
        build: "test".to_owned(),
        submitted_at: 1,
        revision: 2,
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
    }
}

#[test]
fn paths_of_reports() {
    let path = |index| Witness::Path {
        index,
        length: 3,
        expansions: 4,
    };
    let good = campaigns::report_response(&Findings {
        record: record(),
        snapshot: snapshot(),
        builds: Vec::new(),
        owners: vec![campaigns::OwnerShare {
            owner: "a".to_owned(),
            segments: 1,
            samples: 2,
            reachable: 2,
            audited: 1,
            disagreed: 0,
            core_seconds: None,
            estimated: 0,
        }],
        paths: vec![path(7), path(BLOCK), path(20 * BLOCK - 1)],
    });
    spoil(
        &good,
        campaigns::findings,
        &[
            ("snapshot.campaign", |it| {
                it.snapshot.as_mut().unwrap().campaign = "0123456789".to_owned();
            }),
            ("paths[0].kind", |it| it.paths[0].kind = None),
            ("owners[0].owner", |it| it.owners[0].owner.clear()),
            ("owners[0].segments", |it| it.owners[0].segments = 1 << 60),
            ("owners[0].samples", |it| it.owners[0].samples = u64::MAX),
            ("owners[0].reachable", |it| it.owners[0].reachable = 3),
            ("owners[0].audited", |it| it.owners[0].audited = 2),
            ("owners[1].samples", |it| {
                it.owners.push(it.owners[0].clone());
                it.owners[0].segments = 0;
                it.owners[0].audited = 0;
                it.owners[0].samples = it.campaign.as_ref().unwrap().cut.unwrap().samples;
            }),
            ("paths[1]", |it| it.paths[1].index = BLOCK - 1),
            ("paths[2]", |it| it.paths[2].index += 1),
            ("paths[2]", |it| {
                let depth = v1::witness::Unreachable { depth: 1 };
                it.paths[2].kind = Some(v1::witness::Kind::Unreachable(depth));
            }),
        ],
    );
}

#[test]
fn submissions() {
    let good = campaigns::submit_request(&Submission {
        campaign: campaign(),
        target: Target::Samples(1),
        segment_blocks: 1,
        priority: -1,
        self_tests: self_tests(),
        build: "test".to_owned(),
    });
    spoil(
        &good,
        campaigns::submission,
        &[
            ("campaign", |it| it.campaign = None),
            ("campaign.variant", |it| {
                it.campaign.as_mut().unwrap().variant = "chess\n".repeat(99);
            }),
            ("campaign.population", |it| {
                it.campaign.as_mut().unwrap().population.clear();
            }),
            ("campaign.design", |it| {
                it.campaign.as_mut().unwrap().design = "Plain".to_owned();
            }),
            ("target", |it| it.target = None),
            ("samples", |it| {
                it.target = Some(v1::submit_request::Target::Samples(0));
            }),
            ("samples", |it| {
                it.target = Some(v1::submit_request::Target::Samples((1 << 62) + 1));
            }),
            ("segment_blocks", |it| it.segment_blocks = Some(0)),
            ("segment_blocks", |it| {
                it.segment_blocks = Some((1 << 20) + 1);
            }),
            ("self_tests", |it| {
                it.self_tests = vec![v1::SelfTest::default(); MOST_SELF_TESTS + 1];
            }),
            ("self_tests[0].block", |it| it.self_tests[0].block = 1 << 50),
            ("self_tests[1].block", |it| it.self_tests[1].block = 0),
            ("self_tests[1].tally", |it| it.self_tests[1].tally = None),
            ("self_tests[1].tally.cells", |it| {
                it.self_tests[1].tally.as_mut().unwrap().cells[0].count += 1;
            }),
            ("build", |it| it.build.clear()),
            ("build", |it| it.build = "x".repeat(201)),
            ("build", |it| it.build = "two\nlines".to_owned()),
        ],
    );
    let absent = v1::SubmitRequest {
        segment_blocks: None,
        ..good
    };
    let submission = campaigns::submission(absent).unwrap();
    assert_eq!(submission.segment_blocks, Cut::SEGMENT_BLOCKS);
}

#[test]
fn records_and_snapshots() {
    spoil(
        &campaigns::submit_response(&record(), Submitted::Extended { from: 1 }),
        campaigns::submitted,
        &[
            ("campaign", |it| it.campaign = None),
            ("campaign.id", |it| {
                it.campaign.as_mut().unwrap().id = "0123456789".to_owned();
            }),
            ("campaign.cut", |it| {
                it.campaign.as_mut().unwrap().cut = None;
            }),
            ("campaign.cut.samples", |it| {
                it.campaign.as_mut().unwrap().cut.as_mut().unwrap().samples = 0;
            }),
            ("campaign.pace", |it| it.campaign.as_mut().unwrap().pace = 0),
            ("campaign.pace", |it| it.campaign.as_mut().unwrap().pace = 4),
            ("how", |it| it.how = None),
            ("extended.from", |it| {
                use v1::submit_response::{Extended, How};
                let from = it.campaign.as_ref().unwrap().cut.unwrap().samples;
                it.how = Some(How::Extended(Extended { from }));
            }),
        ],
    );
    spoil(
        &campaigns::snapshot_message(&snapshot()),
        |message| campaigns::snapshot("s", Some(message)),
        &[
            ("s.campaign", |it| it.campaign = "ABCDEF0123".to_owned()),
            ("s.cut", |it| it.cut = None),
            ("s.prefix", |it| it.prefix = None),
            ("s.prefix.segments", |it| {
                it.prefix.as_mut().unwrap().segments = 51;
            }),
            ("s.prefix.set_aside_samples", |it| {
                it.prefix.as_mut().unwrap().set_aside_samples = u64::MAX;
            }),
            ("s.prefix.tally.cells", |it| {
                it.prefix.as_mut().unwrap().set_aside_samples += 1;
            }),
            ("s.counts", |it| it.counts.as_mut().unwrap().leased = 1),
            ("s.counts", |it| {
                it.counts.as_mut().unwrap().leased = u64::MAX;
            }),
            ("s.accepted_samples", |it| it.accepted_samples = 1),
            ("s.audited", |it| it.audited = 10),
        ],
    );
    spoil(
        &v1::CampaignRef {
            id: "0123456789".to_owned(),
        },
        campaigns::named,
        &[
            ("id", |it| it.id.clear()),
            ("id", |it| it.id.push('0')),
            ("id", |it| it.id = "012345678g".to_owned()),
        ],
    );
    spoil(
        &v1::ExportChunk { text: vec![7; 9] },
        campaigns::export_text,
        &[("text", |it| it.text = vec![0; campaigns::EXPORT_CHUNK + 1])],
    );
}

#[test]
fn joins_and_claims() {
    spoil(
        &work::join_request(&work::Join {
            protocol: work::PROTOCOL,
            build: "test".to_owned(),
            self_tests: vec![(campaign(), self_tests())],
        }),
        work::join,
        &[
            ("protocol", |it| it.protocol = 0),
            ("build", |it| it.build.clear()),
            ("self_tests", |it| {
                it.self_tests = vec![it.self_tests[0].clone(); 65];
            }),
            ("self_tests[0].campaign", |it| {
                it.self_tests[0].campaign = None;
            }),
            ("self_tests[0].tests", |it| it.self_tests[0].tests.clear()),
            ("self_tests[0].tests[1].block", |it| {
                it.self_tests[0].tests[1].block = 0;
            }),
        ],
    );
    spoil(
        &v1::JoinResponse {
            worker: "w-1".to_owned(),
            heartbeat_ms: 1_000,
            owner: "a".to_owned(),
        },
        work::joined,
        &[
            ("worker", |it| it.worker = "a b".to_owned()),
            ("heartbeat_ms", |it| it.heartbeat_ms = 0),
            ("owner", |it| it.owner.clear()),
        ],
    );
    spoil(
        &v1::ClaimRequest {
            worker: "w-1".to_owned(),
            threads: 4,
            samples_per_second: 0,
        },
        work::claim,
        &[
            ("worker", |it| it.worker.clear()),
            ("worker", |it| it.worker = "x".repeat(65)),
            ("threads", |it| it.threads = 0),
            ("threads", |it| it.threads = 65_537),
            ("samples_per_second", |it| {
                it.samples_per_second = u64::MAX;
            }),
        ],
    );
    let lease = |message: v1::Lease| {
        work::offer(v1::ClaimResponse {
            answer: Some(v1::claim_response::Answer::Lease(message)),
        })
    };
    let good = work::claim_response(&Offer::Lease(Lease {
        token: token(),
        campaign: campaign(),
        cut: record().cut,
        segments: vec![3, 4],
        hold: Duration::from_secs(60),
    }));
    let Some(v1::claim_response::Answer::Lease(good)) = good.answer else {
        panic!("no lease");
    };
    assert!(
        !format!("{good:?}").contains("0123456789abcdef"),
        "{good:?}"
    );
    spoil(
        &good,
        lease,
        &[
            ("lease.token", |it| it.token = "7".to_owned()),
            ("lease.token", |it| {
                it.token = "7-0123456789ABCDEF".to_owned();
            }),
            ("lease.token", |it| {
                it.token = "-7-0123456789abcdef".to_owned();
            }),
            ("lease.campaign", |it| it.campaign = None),
            ("lease.cut", |it| it.cut = None),
            ("lease.segments", |it| it.segments.clear()),
            ("lease.segments", |it| {
                it.segments = vec![0; work::MOST_LENT + 1];
            }),
            ("lease.segments[1]", |it| it.segments[1] = 50),
            ("lease.segments[1]", |it| it.segments[1] = 3),
            ("lease.hold_ms", |it| it.hold_ms = u32::MAX),
        ],
    );
    let none = work::offer(v1::ClaimResponse { answer: None });
    assert_eq!(none.unwrap_err().field, "answer");
}

/// The first finished segment of a message.
fn first(message: &mut v1::DeliverRequest) -> &mut v1::FinishedSegment {
    match message.step.as_mut().unwrap() {
        v1::deliver_request::Step::Finished(finished) => &mut finished.segments[0],
        other => panic!("{other:?}"),
    }
}

fn all(message: &mut v1::DeliverRequest) -> &mut Vec<v1::FinishedSegment> {
    match message.step.as_mut().unwrap() {
        v1::deliver_request::Step::Finished(finished) => &mut finished.segments,
        other => panic!("{other:?}"),
    }
}

#[test]
fn deliveries() {
    let good = work::deliver_request(&token(), &Report::Finished(vec![finished()]));
    assert!(
        !format!("{good:?}").contains("0123456789abcdef"),
        "{good:?}"
    );
    spoil(
        &good,
        |message| work::report(message, &held()),
        &[
            ("token", |it| it.token.clear()),
            ("token", |it| it.token = "7-0123456789abcdee".to_owned()),
            ("step", |it| it.step = None),
            ("finished.segments", |it| all(it).clear()),
            ("finished.segments", |it| {
                *all(it) = vec![v1::FinishedSegment::default(); work::MOST_FINISHED + 1];
            }),
            ("finished.segments[1].segment", |it| {
                let twice = first(it).clone();
                all(it).push(twice);
            }),
            ("finished.segments[0].segment", |it| first(it).segment = 5),
            ("finished.segments[0].segment", |it| {
                first(it).segment = u64::MAX;
            }),
            ("finished.segments[0].samples", |it| first(it).samples = 0),
            ("finished.segments[0].samples", |it| {
                first(it).samples = 2 * BLOCK + 1;
            }),
            ("finished.segments[0].tally", |it| first(it).tally = None),
            ("finished.segments[0].tally.digest", |it| {
                first(it).tally.as_mut().unwrap().digest.push(0);
            }),
            ("finished.segments[0].tally.cells", |it| {
                first(it).samples -= 1;
            }),
            ("finished.segments[0].tally.cells", |it| {
                let cells = &mut first(it).tally.as_mut().unwrap().cells;
                cells.last_mut().unwrap().key = 99;
            }),
            ("finished.segments[0].tally.cells", |it| {
                let tally = first(it).tally.as_mut().unwrap();
                tally.cells[0].count = u64::MAX;
            }),
            ("finished.segments[0].tally.cells", |it| {
                let tally = first(it).tally.as_mut().unwrap();
                tally.cells = vec![v1::Count::default(); census::MOST_COUNTS + 1];
            }),
            ("finished.segments[0].tally.cells[0].count", |it| {
                first(it).tally.as_mut().unwrap().cells[0].count = 0;
            }),
            ("finished.segments[0].tally.cells[1].key", |it| {
                let cells = &mut first(it).tally.as_mut().unwrap().cells;
                cells.reverse();
            }),
            ("finished.segments[0].tally.depths", |it| {
                first(it).tally.as_mut().unwrap().depths[0].count += 1;
            }),
            ("finished.segments[0].tally.depths[1].key", |it| {
                first(it).tally.as_mut().unwrap().depths[1].key = 0;
            }),
            ("finished.segments[0].cpu_us", |it| {
                first(it).cpu_us = Some((1 << 44) + 1);
            }),
            ("finished.segments[0].witnesses", |it| {
                first(it).witnesses = vec![v1::Witness::default(); 11];
            }),
            ("finished.segments[0].witnesses[0].kind", |it| {
                first(it).witnesses[0].kind = None;
            }),
            ("finished.segments[0].witnesses[0].index", |it| {
                first(it).witnesses[0].index -= 1;
            }),
            ("finished.segments[0].witnesses[1].index", |it| {
                first(it).witnesses[1].index += 2 * BLOCK;
            }),
            ("finished.segments[0].witnesses[1].index", |it| {
                first(it).witnesses.reverse();
            }),
            (
                "finished.segments[0].witnesses[0].unreachable.depth",
                |it| {
                    use v1::witness::{Kind, Unreachable};
                    first(it).witnesses[0].kind = Some(Kind::Unreachable(Unreachable { depth: 0 }));
                },
            ),
            ("finished.segments[0].witnesses[1].path.length", |it| {
                use v1::witness::{Kind, Path};
                first(it).witnesses[1].kind = Some(Kind::Path(Path::default()));
            }),
        ],
    );
}

#[test]
fn notices() {
    use v1::deliver_response::{Extended, Step, Stop};
    fn receipt(message: &mut v1::DeliverResponse) -> &mut v1::deliver_response::Receipt {
        match message.step.as_mut().unwrap() {
            Step::Acknowledged(acknowledged) => &mut acknowledged.receipts[0],
            other => panic!("{other:?}"),
        }
    }
    spoil(
        &work::deliver_response(&Notice::Acknowledged(vec![(3, Verdict::Accepted)])),
        |message| work::notice(message, &held().segments),
        &[
            ("step", |it| it.step = None),
            ("acknowledged.receipts", |it| {
                it.step = Some(Step::Acknowledged(
                    v1::deliver_response::Acknowledged::default(),
                ));
            }),
            ("acknowledged.receipts[0].segment", |it| {
                receipt(it).segment = 5;
            }),
            ("acknowledged.receipts[0].verdict", |it| {
                receipt(it).verdict = 0;
            }),
            ("acknowledged.receipts[0].verdict", |it| {
                receipt(it).verdict = 6;
            }),
            ("extended.hold_ms", |it| {
                it.step = Some(Step::Extended(Extended { hold_ms: u32::MAX }));
            }),
            ("stop.reason", |it| {
                it.step = Some(Step::Stop(Stop { reason: 0 }));
            }),
        ],
    );
}

#[test]
fn operators() {
    use v1::purge_request::Whose;
    spoil(
        &v1::PurgeRequest {
            campaign: "0123456789".to_owned(),
            whose: Some(Whose::Owner("a".to_owned())),
            why: "a test".to_owned(),
        },
        admin::purge,
        &[
            ("campaign", |it| it.campaign.clear()),
            ("whose", |it| it.whose = None),
            ("worker", |it| {
                it.whose = Some(Whose::Worker("a/b".to_owned()));
            }),
            ("owner", |it| it.whose = Some(Whose::Owner(String::new()))),
            ("build", |it| {
                it.whose = Some(Whose::Build("x".repeat(201)));
            }),
            ("segment", |it| it.whose = Some(Whose::Segment(u64::MAX))),
            ("why", |it| it.why.clear()),
            ("why", |it| it.why = "x".repeat(1_001)),
        ],
    );
    spoil(
        &admin::resolve_request("0123456789", &finished()),
        |message| admin::resolution(message, 2),
        &[
            ("finished", |it| it.finished = None),
            ("finished.segment", |it| {
                it.finished.as_mut().unwrap().segment = u64::MAX;
            }),
            ("finished.tally.cells", |it| {
                it.finished.as_mut().unwrap().samples = 1;
            }),
        ],
    );
    let import = admin::Import {
        campaign: "0123456789".to_owned(),
        segment_blocks: 2,
        build: "test".to_owned(),
        segments: vec![finished()],
    };
    spoil(
        &admin::import_request(&import),
        admin::import,
        &[
            ("campaign", |it| it.campaign.push('x')),
            ("segment_blocks", |it| it.segment_blocks = 0),
            ("segment_blocks", |it| it.segment_blocks = (1 << 20) + 1),
            ("build", |it| it.build = "x".repeat(201)),
            ("segments", |it| it.segments.clear()),
            ("segments", |it| {
                it.segments = vec![it.segments[0].clone(); 257];
            }),
            ("segments[1].segment", |it| {
                it.segments.push(it.segments[0].clone());
            }),
            ("segments[0].tally.cells", |it| it.segments[0].samples = 1),
        ],
    );
    spoil(
        &admin::import_response(&[kazoe_proto::work::Verdict::Accepted]),
        |message| admin::imported(message, 1),
        &[
            ("verdicts", |it| it.verdicts.clear()),
            ("verdicts[0]", |it| it.verdicts[0] = 0),
            ("verdicts[0]", |it| it.verdicts[0] = 99),
        ],
    );
    spoil(
        &admin::retry_request("0123456789", 1),
        admin::retry,
        &[
            ("campaign", |it| it.campaign.push('x')),
            ("segment", |it| it.segment = 1 << 50),
        ],
    );
    let worker = admin::Worker {
        worker: "w-1".to_owned(),
        owner: "a".to_owned(),
        build: "test".to_owned(),
        threads: 2,
        samples_per_second: None,
        leases: 1,
        silent: Duration::from_secs(1),
        drained: false,
        accepted: 5,
        audited: 2,
        disagreed: 0,
    };
    spoil(
        &admin::workers_response(&[worker]),
        admin::workers,
        &[
            ("workers[0].worker", |it| it.workers[0].worker.clear()),
            ("workers[0].owner", |it| it.workers[0].owner.clear()),
            ("workers[0].threads", |it| it.workers[0].threads = 0),
            ("workers[0].audited", |it| it.workers[0].audited = 6),
        ],
    );
    let drain = v1::DrainRequest {
        worker: "w-1".to_owned(),
    };
    spoil(
        &drain,
        admin::drained,
        &[("worker", |it| it.worker.clear())],
    );
    spoil(
        &admin::create_token_request("a", admin::Role::Worker),
        admin::new_token,
        &[
            ("owner", |it| it.owner.clear()),
            ("role", |it| it.role = 0),
            ("role", |it| it.role = -1),
        ],
    );
    let new = v1::CreateTokenResponse {
        id: "t-1".to_owned(),
        secret: "0123456789abcdef".to_owned(),
    };
    assert!(!format!("{new:?}").contains(&new.secret), "{new:?}");
    spoil(
        &new,
        admin::new_credential,
        &[
            ("id", |it| it.id.clear()),
            ("secret", |it| it.secret.truncate(15)),
        ],
    );
    let revoke = v1::RevokeTokenRequest {
        id: "t-1".to_owned(),
    };
    spoil(&revoke, admin::revoked, &[("id", |it| it.id.clear())]);
}

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
        let _ = census::finished("it", message, blocks);
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
        }));
    }
}
