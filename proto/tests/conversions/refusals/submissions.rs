//! The service Campaigns.

use kazoe_common::census::{BLOCK, Cut, Witness};
use kazoe_proto::campaigns::{Findings, Submission, SubmitAnswer, Submitted, Target};
use kazoe_proto::census::MOST_SELF_TESTS;
use kazoe_proto::{campaigns, v1};

use super::{campaign, record, self_tests, snapshot, spoil};

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
            disputed: 0,
            core_seconds: None,
            estimated: 0,
        }],
        workers: vec![campaigns::WorkerShare {
            worker: "w-1".to_owned(),
            name: None,
            owner: "a".to_owned(),
            segments: 1,
        }],
        more_workers: 0,
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
            ("workers[0].worker", |it| it.workers[0].worker.clear()),
            ("workers[0].owner", |it| it.workers[0].owner.clear()),
            ("workers[0].segments", |it| it.workers[0].segments = 0),
            ("workers", |it| {
                it.workers = vec![it.workers[0].clone(); 101];
            }),
            ("snapshot.holders", |it| {
                let holders = &mut it.snapshot.as_mut().unwrap().holders;
                *holders = vec![v1::snapshot::Holder::default(); 17];
            }),
            ("snapshot.holders[0].worker", |it| {
                let holders = &mut it.snapshot.as_mut().unwrap().holders;
                *holders = vec![v1::snapshot::Holder::default()];
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
                it.segment_blocks = Some((1 << 18) + 1);
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
        &campaigns::submit_response(&SubmitAnswer {
            record: record(),
            how: Submitted::Extended { from: 1 },
            complete: Some(false),
        }),
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
            ("s.pace", |it| it.pace = 4),
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

/// What an older coordinator does not send is not known; it is no reason to refuse the rest.
#[test]
fn an_older_coordinator_reports_less() {
    let mut message = campaigns::snapshot_message(&snapshot());
    message.pace = 0;
    assert_eq!(campaigns::snapshot("s", Some(message)).unwrap().pace, None);
    let mut message = campaigns::record_message(&record());
    message.priority = None;
    assert_eq!(
        campaigns::record("r", Some(message)).unwrap().priority,
        None
    );
    let answer = v1::SubmitResponse {
        campaign: Some(campaigns::record_message(&record())),
        how: Some(v1::submit_response::How::Existing(
            v1::submit_response::Existing {},
        )),
        complete: None,
    };
    assert_eq!(campaigns::submitted(answer).unwrap().complete, None);
}

#[test]
fn a_campaign_that_this_build_does_not_know_is_of_another_build() {
    let known = campaigns::record_message(&record());
    let of_variant = |variant: &str| {
        let mut message = known.clone();
        message.id = "aaaaaaaaaa".to_owned();
        message.campaign.as_mut().unwrap().variant = variant.to_owned();
        message
    };
    let message = v1::ListResponse {
        campaigns: vec![of_variant("chushogi"), known.clone()],
        foreign: Vec::new(),
    };
    let listed = campaigns::listed(message).unwrap();
    assert_eq!(listed.known, [record()]);
    let [foreign] = &listed.foreign[..] else {
        panic!("{listed:?}");
    };
    assert_eq!(
        (foreign.id.as_str(), foreign.state.as_str()),
        ("aaaaaaaaaa", "running")
    );
    assert_eq!(foreign.why, "unknown variant `chushogi`");

    // A known one that cannot be is refused all the same.
    let mut odd = known.clone();
    odd.id = "0123456789".to_owned();
    let message = v1::ListResponse {
        campaigns: vec![of_variant("chushogi"), odd],
        foreign: Vec::new(),
    };
    assert_eq!(
        campaigns::listed(message).unwrap_err().field,
        "campaigns[1].id"
    );
    let good = v1::ListResponse {
        campaigns: Vec::new(),
        foreign: vec![v1::ForeignCampaign::default()],
    };
    spoil(
        &good,
        campaigns::listed,
        &[
            ("foreign[0].id", |it| it.foreign[0].id = "x".repeat(201)),
            ("foreign[0].design", |it| {
                it.foreign[0].design = "a\u{1b}".to_owned();
            }),
            ("foreign[0].cap", |it| {
                it.foreign[0].cap = Some("\n".to_owned());
            }),
            ("foreign[0].why", |it| it.foreign[0].why = "x".repeat(201)),
        ],
    );

    // What another program wrote is clipped and cleaned before it is sent.
    let sent = campaigns::list_response(&campaigns::Listed {
        known: Vec::new(),
        foreign: vec![campaigns::ForeignCampaign {
            variant: "\t".to_owned() + &"将".repeat(100),
            ..foreign.clone()
        }],
    });
    let listed = campaigns::listed(sent).unwrap();
    assert_eq!(
        listed.foreign[0].variant,
        "\u{fffd}".to_owned() + &"将".repeat(65)
    );
}
