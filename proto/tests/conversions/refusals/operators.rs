//! The service Admin.

use std::time::Duration;

use kazoe_proto::{admin, v1};

use super::{finished, record, spoil};

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
        &admin::import_response(&[kazoe_proto::outcome::DeliveryOutcome::Accepted]),
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
    spoil(
        &admin::set_priority_request("0123456789", -1),
        admin::new_priority,
        &[("campaign", |it| it.campaign.push('x'))],
    );
    spoil(
        &admin::set_priority_response(&record(), -1),
        admin::priority_set,
        &[
            ("campaign", |it| it.campaign = None),
            ("campaign.pace", |it| it.campaign.as_mut().unwrap().pace = 0),
            ("campaign.priority", |it| {
                it.campaign.as_mut().unwrap().priority = None;
            }),
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
        disputed: 0,
        name: Some("rack-7".to_owned()),
        presence: admin::Presence::AtWork,
    };
    spoil(
        &admin::workers_response(&[worker], 0),
        admin::workers,
        &[
            ("workers[0].worker", |it| it.workers[0].worker.clear()),
            ("workers[0].owner", |it| it.workers[0].owner.clear()),
            ("workers[0].threads", |it| it.workers[0].threads = 0),
            ("workers[0].audited", |it| it.workers[0].audited = 6),
            ("workers[0].presence", |it| it.workers[0].presence = 99),
        ],
    );
    spoil(
        &admin::reclaim_request(&admin::Reclaim::Lease(7)),
        admin::reclaim,
        &[
            ("whose", |it| it.whose = None),
            ("lease", |it| {
                it.whose = Some(v1::reclaim_request::Whose::Lease(0));
            }),
            ("worker", |it| {
                it.whose = Some(v1::reclaim_request::Whose::Worker("a b".to_owned()));
            }),
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
