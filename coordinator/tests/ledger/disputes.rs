//! Disputes: two owners' tallies of a segment differ.

use std::time::Duration;

use kazoe_common::census::{Digest, Outcome};
use kazoe_coordinator::leasing::Purpose;
use kazoe_coordinator::ledger::{Ledger, OwnerShare};
use kazoe_proto::outcome::DeliveryOutcome;

use crate::made_up::{
    assert_sound, deliveries, delivery, operator, owner, serial, submission, wrong_delivery,
};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn a_difference_is_disputed_until_two_owners_agree() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger
        .claim_one(id, &owner("a"), 3, LONG)
        .await
        .unwrap()
        .unwrap();
    let mut sent = deliveries(&lease);
    sent[1] = wrong_delivery(1, 4096);
    ledger.deliver_one(lease.key, &sent).await.unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());

    // Another owner says otherwise: the digest is the same, the counts are not.
    let true_one = [delivery(1, 4096)];
    assert_eq!(true_one[0].tally.digest, sent[1].tally.digest);
    let verdicts = ledger.import(id, &owner("b"), &true_one).await.unwrap();
    assert_eq!(verdicts, [DeliveryOutcome::Disputed]);
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert_eq!((snapshot.counts.accepted, snapshot.counts.disputed), (2, 1));
    assert_eq!(
        snapshot.prefix,
        serial(&campaign.cut, 1),
        "the prefix moves back"
    );
    assert_eq!(snapshot.accepted_samples, 2 * 4096);
    assert_eq!(ledger.disputed(id).await.unwrap(), [1]);
    assert_sound(&ledger, &campaign).await;

    // It is lent to neither of the two, and to a third owner once at a time.
    for name in ["a", "b"] {
        assert!(
            ledger
                .claim_one(id, &owner(name), 1, LONG)
                .await
                .unwrap()
                .is_none()
        );
    }
    let lease = ledger
        .claim_one(id, &owner("c"), 5, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments.len(), 1);
    assert_eq!(lease.segments[0].purpose, Purpose::Resolve);
    assert!(
        ledger
            .claim_one(id, &owner("d"), 5, LONG)
            .await
            .unwrap()
            .is_none()
    );
    assert_sound(&ledger, &campaign).await;
    ledger.end_one(lease.key).await.unwrap();
    let lease = ledger
        .claim_one(id, &owner("d"), 5, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        ledger.deliver_one(lease.key, &true_one).await.unwrap(),
        [DeliveryOutcome::Disputed]
    );
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert!(snapshot.is_complete());
    assert_eq!(ledger.segments(id, 1, 1).await.unwrap()[0].owner, "b");
    let log = ledger.audit_log(id, 0, 10).await.unwrap();
    assert_eq!(log.len(), 1);
    assert_eq!(
        (log[0].segment, log[0].action.as_str()),
        (Some(1), "settle")
    );
    assert!(log[0].from_result.is_some() && log[0].from_result != log[0].to_result);
    assert!(
        ledger
            .audit_log(id, log[0].id, 10)
            .await
            .unwrap()
            .is_empty()
    );

    // The loser's tally, sent again, does not open the dispute again.
    let again = ledger
        .import(id, &owner("a"), &[wrong_delivery(1, 4096)])
        .await;
    assert_eq!(again.unwrap(), [DeliveryOutcome::Disputed]);
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn the_operator_settles_alone() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4096)).await.unwrap();
    let id = &campaign.id;
    ledger
        .import(id, &owner("a"), &[wrong_delivery(0, 4096)])
        .await
        .unwrap();
    ledger
        .import(id, &owner("b"), &[delivery(0, 4096)])
        .await
        .unwrap();
    let lease = ledger
        .claim_one(id, &operator(), 1, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments[0].purpose, Purpose::Resolve);
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    assert_sound(&ledger, &campaign).await;
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_eq!(ledger.segments(id, 0, 1).await.unwrap()[0].owner, "b");
}

#[tokio::test]
async fn an_owner_disagrees_when_a_dispute_is_settled_against_it() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 7 * 4096)).await.unwrap();
    let all: Vec<_> = (0..7).map(|segment| delivery(segment, 4096)).collect();
    ledger
        .import(&campaign.id, &owner("a"), &all)
        .await
        .unwrap();
    // Another owner confirms one segment and gets another otherwise.
    let tally = ledger.snapshot(&campaign.id).await.unwrap().prefix.tally;
    let (confirms, mut differs) = (delivery(5, 4096), delivery(6, 4096));
    differs.tally.digest = Digest(differs.tally.digest.0 ^ 1);
    ledger
        .import(&campaign.id, &owner("b"), &[confirms, differs])
        .await
        .unwrap();
    let mut owners = ledger.owners(&campaign.id).await.unwrap();
    for one in &mut owners {
        (one.core_seconds, one.estimated) = (None, 0);
    }
    let share = |owner: &str| OwnerShare {
        owner: owner.to_owned(),
        segments: 0,
        samples: 0,
        reachable: 0,
        audited: 0,
        disagreed: 0,
        disputed: 1,
        core_seconds: None,
        estimated: 0,
    };
    let first = OwnerShare {
        segments: 7,
        samples: tally.samples(),
        reachable: tally.of(Outcome::Reachable),
        audited: 1,
        ..share("a")
    };
    assert!(first.reachable > 0);
    // Who is wrong is not known: neither disagrees as long as the dispute is open.
    let first = OwnerShare {
        disputed: 1,
        ..first
    };
    assert_eq!(owners, [first.clone(), share("b")]);

    // The operator gets what b got: now a disagrees with what counts.
    let mut decides = delivery(6, 4096);
    decides.tally.digest = Digest(decides.tally.digest.0 ^ 1);
    ledger
        .import(&campaign.id, &operator(), &[decides])
        .await
        .unwrap();
    let owners = ledger.owners(&campaign.id).await.unwrap();
    let standing = owners
        .iter()
        .map(|one| (one.owner.as_str(), one.disagreed, one.disputed));
    let ruled = [("a", 1, 0), ("b", 0, 0), ("operator", 0, 0)];
    assert_eq!(standing.collect::<Vec<_>>(), ruled);
}
