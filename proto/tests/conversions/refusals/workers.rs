//! The service Work.

use std::time::Duration;

use kazoe_common::census::BLOCK;
use kazoe_proto::outcome::DeliveryOutcome;
use kazoe_proto::work::{Lease, Notice, Offer, Report};
use kazoe_proto::{census, v1, work};

use super::{campaign, finished, held, key, record, self_tests, spoil};

#[test]
fn joins_and_claims() {
    spoil(
        &work::join_request(&work::Join {
            protocol: work::PROTOCOL,
            build: "test".to_owned(),
            self_tests: vec![(campaign(), self_tests())],
            name: Some("rack-7".to_owned()),
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
        &v1::LeaveRequest {
            worker: "w-1".to_owned(),
        },
        work::left,
        &[("worker", |it| it.worker = "a/b".to_owned())],
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
        key: key(),
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
    let good = work::deliver_request(&key(), &Report::Finished(vec![finished()]));
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
        &work::deliver_response(&Notice::Acknowledged(vec![(3, DeliveryOutcome::Accepted)])),
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
