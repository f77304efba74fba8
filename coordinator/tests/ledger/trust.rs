//! Whom to believe, on PostgreSQL, where there are several owners: audits, purges, and who is who.

use std::time::Duration;

use kazoe_common::census::SegmentResult;
use kazoe_coordinator::leasing::Purpose;
use kazoe_coordinator::ledger::{
    AskingWorker, CampaignState, Drained, Lease, Ledger, LedgerError, NewWorker, PostgresLedger,
    Role, Roll, Service, Submission, Who, Whose, WorkerRecord,
};
use kazoe_proto::outcome::DeliveryOutcome;

use crate::made_up::{
    assert_sound, audited_submission, deliveries, delivery, operator, owner, submission,
    wrong_delivery,
};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

/// For how long a worker without a lease may be silent.
const PATIENCE: i64 = 60_000;

async fn claim(ledger: &PostgresLedger, id: &str, who: &Who, want: u32) -> Option<Lease> {
    ledger.claim_one(id, who, want, LONG).await.unwrap()
}

/// Claims and hands in what is made of each segment, until there is nothing more.
async fn work(
    ledger: &PostgresLedger,
    id: &str,
    who: &Who,
    make: impl Fn(u64, u64) -> SegmentResult,
) -> Vec<DeliveryOutcome> {
    let mut verdicts = Vec::new();
    while let Some(lease) = claim(ledger, id, who, 50).await {
        let lent = lease.segments.iter();
        let all: Vec<_> = lent.map(|lent| make(lent.segment, lent.samples)).collect();
        verdicts.extend(ledger.deliver_one(lease.key, &all).await.unwrap());
        ledger.end_one(lease.key).await.unwrap();
    }
    verdicts
}

#[tokio::test]
async fn audits_go_to_another_owner_and_complete_nothing() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger
        .submit(&audited_submission(1, 20 * 4096 + 9))
        .await
        .unwrap();
    let id = &campaign.id;
    let verdicts = work(&ledger, id, &owner("a"), delivery).await;
    assert_eq!(verdicts, [DeliveryOutcome::Accepted; 21]);
    // Complete, though nobody audited it yet; and its owner cannot.
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert!(snapshot.is_complete());
    assert_eq!(snapshot.audited, 0);
    // One at a time: what is lent to b is not lent to c.
    let lease = claim(&ledger, id, &owner("b"), 6).await.unwrap();
    assert!(
        lease
            .segments
            .iter()
            .all(|lent| lent.purpose == Purpose::Audit)
    );
    assert_eq!(lease.segments.len(), 6);
    let verdicts = work(&ledger, id, &owner("c"), delivery).await;
    assert_eq!(verdicts, [DeliveryOutcome::Audit; 15]);
    // Given back it is wanted again.
    ledger.end_one(lease.key).await.unwrap();
    assert_sound(&ledger, &campaign).await;
    let verdicts = work(&ledger, id, &owner("b"), delivery).await;
    assert_eq!(verdicts, [DeliveryOutcome::Audit; 6]);
    assert_eq!(ledger.snapshot(id).await.unwrap().audited, 21);
    assert!(claim(&ledger, id, &owner("d"), 6).await.is_none());
    assert_sound(&ledger, &campaign).await;
}

/// A worker that moves one count and keeps the sums is caught by audits, and outvoted.
#[tokio::test]
async fn a_liar_is_caught_and_outvoted() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger
        .submit(&audited_submission(1, 8 * 4096))
        .await
        .unwrap();
    let id = &campaign.id;
    let make = |segment, samples| match segment {
        2 | 5 => wrong_delivery(segment, samples),
        _ => delivery(segment, samples),
    };
    work(&ledger, id, &owner("liar"), make).await;
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    let verdicts = work(&ledger, id, &owner("b"), delivery).await;
    let caught = verdicts
        .iter()
        .filter(|one| **one == DeliveryOutcome::Disputed);
    assert_eq!(caught.count(), 2);
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert_eq!((snapshot.counts.disputed, snapshot.prefix.segments), (2, 2));
    // With two owners it stays so; neither may decide.
    assert!(claim(&ledger, id, &owner("liar"), 9).await.is_none());
    assert!(claim(&ledger, id, &owner("b"), 9).await.is_none());
    // A third one does.
    let lease = claim(&ledger, id, &owner("c"), 9).await.unwrap();
    let lent: Vec<_> = lease
        .segments
        .iter()
        .map(|lent| (lent.segment, lent.purpose))
        .collect();
    assert_eq!(lent, [(2, Purpose::Resolve), (5, Purpose::Resolve)]);
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert!(snapshot.is_complete());
    // What was settled by two owners needs no audit.
    assert!(claim(&ledger, id, &owner("d"), 9).await.is_none());
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn a_purge_takes_back_what_nobody_else_confirmed() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 12 * 4096)).await.unwrap();
    let id = &campaign.id;
    let lease = claim(&ledger, id, &owner("bad"), 8).await.unwrap();
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    work(&ledger, id, &owner("good"), delivery).await;
    // Segments 0 and 1 were confirmed by another owner, 2 by the same one.
    let confirm = async |who: &Who, segment: u64| {
        let one = [delivery(segment, 4096)];
        ledger.import(id, who, &one).await.unwrap()
    };
    assert_eq!(confirm(&owner("good"), 0).await, [DeliveryOutcome::Audit]);
    assert_eq!(confirm(&operator(), 1).await, [DeliveryOutcome::Audit]);
    assert_eq!(confirm(&owner("bad"), 2).await, [DeliveryOutcome::Repeat]);
    let before = ledger.snapshot(id).await.unwrap();
    let whose = Whose::Owner("bad".to_owned());
    assert_eq!(
        ledger
            .purge(id, &whose, "op", "moved counts")
            .await
            .unwrap(),
        6
    );
    assert_eq!(ledger.purge(id, &whose, "op", "again").await.unwrap(), 0);
    let after = ledger.snapshot(id).await.unwrap();
    assert_eq!((after.counts.accepted, after.counts.retracted), (6, 6));
    assert_eq!(after.prefix.segments, 2);
    assert!(after.revision > before.revision);
    let log = ledger.audit_log(id, 0, 99).await.unwrap();
    assert_eq!(log.len(), 6);
    for line in &log {
        assert_eq!(
            (line.actor.as_str(), line.note.as_str()),
            ("op", "moved counts")
        );
        assert!(line.from_result.is_some() && line.to_result.is_none());
    }
    assert_sound(&ledger, &campaign).await;

    // A worker, a build, a segment by its number.
    work(&ledger, id, &owner("good"), delivery).await;
    let whose = Whose::Worker("good-1".to_owned());
    assert_eq!(ledger.purge(id, &whose, "op", "x").await.unwrap(), 10);
    work(&ledger, id, &owner("good"), delivery).await;
    let whose = Whose::Build("test 1".to_owned());
    assert_eq!(ledger.purge(id, &whose, "op", "x").await.unwrap(), 12);
    work(&ledger, id, &owner("good"), delivery).await;
    assert_eq!(
        ledger
            .purge(id, &Whose::Segment(0), "op", "x")
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        ledger
            .purge(id, &Whose::Segment(99), "op", "x")
            .await
            .unwrap(),
        0
    );
    work(&ledger, id, &owner("good"), delivery).await;
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
    assert!(matches!(
        ledger.purge("0123456789", &whose, "op", "x").await,
        Err(LedgerError::UnknownCampaign(_))
    ));
}

#[tokio::test]
async fn what_became_of_a_worker_s_tallies_follows_from_the_log() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger
        .submit(&audited_submission(1, 4 * 4096))
        .await
        .unwrap();
    let id = &campaign.id;
    for name in ["liar", "b", "c"] {
        let new = NewWorker {
            owner: name.to_owned(),
            credential: None,
            operator: false,
            build: "test 1".to_owned(),
            name: None,
        };
        assert!(ledger.join_one(&format!("{name}-1"), &new).await.unwrap());
        assert!(!ledger.join_one(&format!("{name}-1"), &new).await.unwrap());
    }
    let make = |segment, samples| match segment {
        3 => wrong_delivery(segment, samples),
        _ => delivery(segment, samples),
    };
    work(&ledger, id, &owner("liar"), make).await;
    work(&ledger, id, &owner("b"), delivery).await;
    let standing = async || {
        let workers = ledger.workers(Roll::Here, PATIENCE, 99).await.unwrap().0;
        let rows = workers.into_iter();
        rows.map(|one| {
            (
                one.worker.id,
                one.accepted,
                one.audited,
                one.disagreed,
                one.disputed,
            )
        })
        .collect::<Vec<_>>()
    };
    let row = |id: &str, accepted, audited, disagreed, disputed| {
        (id.to_owned(), accepted, audited, disagreed, disputed)
    };
    // As long as it is open, both are in the dispute, and neither is known to be wrong.
    let open = [
        row("b-1", 0, 0, 0, 1),
        row("c-1", 0, 0, 0, 0),
        row("liar-1", 4, 3, 0, 1),
    ];
    assert_eq!(standing().await, open);
    work(&ledger, id, &owner("c"), delivery).await;
    let settled = [
        row("b-1", 1, 0, 0, 0),
        row("c-1", 0, 0, 0, 0),
        row("liar-1", 3, 3, 1, 0),
    ];
    assert_eq!(standing().await, settled);

    ask(&ledger, "c", Some(1_000)).await.unwrap();
    let (worker, leases) = ask(&ledger, "c", None).await.unwrap();
    assert_eq!((worker.id.as_str(), leases), ("c-1", 0));
    let drain = async |id: &str| ledger.drain_worker(id, "op", PATIENCE).await.unwrap();
    assert_eq!(drain("c-1").await, Drained::Told);
    assert_eq!(drain("c-1").await, Drained::Told);
    assert_eq!(drain("d-1").await, Drained::Unknown);
    let worker = ledger.worker("c-1").await.unwrap().unwrap();
    assert_eq!((worker.threads, worker.speed), (Some(7), Some(1_000)));
    assert!(worker.drained && worker.silent >= 0);
    assert_eq!(ledger.worker("d-1").await.unwrap(), None);
}

#[tokio::test]
async fn what_nobody_told_is_estimated_by_the_speed_measured_last() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096)).await.unwrap();
    let id = &campaign.id;
    let new = NewWorker {
        owner: "a".to_owned(),
        credential: None,
        operator: false,
        build: "test 1".to_owned(),
        name: None,
    };
    ledger.join_one("a-1", &new).await.unwrap();
    ledger
        .import(id, &owner("a"), &[delivery(0, 4096)])
        .await
        .unwrap();
    let told = async || {
        let owners = ledger.owners(id).await.unwrap();
        (owners[0].core_seconds, owners[0].estimated)
    };
    assert_eq!(told().await, (None, 1));
    // Two threads make 1,024 samples a second: 8 seconds of CPU time.
    let asking = AskingWorker {
        id: "a-1".to_owned(),
        owner: "a".to_owned(),
        threads: 2,
        speed: Some(1_024),
    };
    ledger.ask_one(asking).await.unwrap().unwrap();
    assert_eq!(told().await, (Some(8), 1));
    let took = SegmentResult {
        cpu: Some(Duration::from_millis(2_500)),
        ..delivery(1, 4096)
    };
    ledger.import(id, &owner("a"), &[took]).await.unwrap();
    assert_eq!(told().await, (Some(11), 1));
}

#[tokio::test]
async fn a_credential_is_kept_found_and_revoked() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let add = async |id: &str, hash: u8| {
        let hash = [hash; 32];
        ledger
            .add_credential(id, "a", Role::Worker, &hash, "op")
            .await
            .unwrap()
    };
    assert!(add("t-1", 1).await);
    assert!(add("t-1", 1).await, "sent again");
    assert!(!add("t-1", 2).await, "another's");
    assert!(add("t-2", 2).await);
    let found = ledger
        .find_credentials(&["t-1".to_owned()])
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    assert_eq!(
        (found.owner.as_str(), found.role, found.hash),
        ("a", Role::Worker, [1; 32])
    );
    let found = ledger.find_credentials(&["t-9".to_owned()]).await;
    assert_eq!(found.unwrap(), [None]);

    let worker = NewWorker {
        owner: "a".to_owned(),
        credential: Some("t-1".to_owned()),
        operator: false,
        build: "test 1".to_owned(),
        name: None,
    };
    ledger.join_one("a-1", &worker).await.unwrap();
    let lease = claim(&ledger, &campaign.id, &owner("a"), 3).await.unwrap();
    assert!(ledger.revoke_credential("t-1", "op").await.unwrap());
    assert!(!ledger.revoke_credential("t-1", "op").await.unwrap());
    assert!(!ledger.revoke_credential("t-9", "op").await.unwrap());
    let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
    assert_eq!((snapshot.counts.returned, snapshot.counts.leased), (3, 0));
    assert!(matches!(
        ledger.extend(lease.key, LONG).await,
        Err(LedgerError::NotHeld(_))
    ));
    let revoked: Vec<_> = ledger.credentials().await.unwrap();
    let revoked: Vec<_> = revoked
        .iter()
        .map(|one| (one.id.as_str(), one.revoked))
        .collect();
    assert_eq!(revoked, [("t-1", true), ("t-2", false)]);
}

#[tokio::test]
async fn campaigns_are_served_by_priority_then_by_who_has_least() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let submit = async |seed: u64, priority: i64| {
        let service = Service {
            priority,
            ..Service::default()
        };
        let wanted = Submission {
            service,
            ..submission(seed, 10 * 4096)
        };
        ledger.submit(&wanted).await.unwrap().0.id
    };
    let (first, second, urgent) = (submit(1, 0).await, submit(2, 0).await, submit(3, 5).await);
    let queue = async || -> Vec<(String, u64)> {
        let market = ledger.market(60_000).await.unwrap();
        let queue = market.queue.into_iter();
        queue.map(|one| (one.campaign.id, one.left)).collect()
    };
    let at = |id: &String, left| (id.clone(), left);
    assert_eq!(
        queue().await,
        [at(&urgent, 10), at(&first, 10), at(&second, 10)]
    );
    let lease = claim(&ledger, &first, &owner("a"), 4).await.unwrap();
    assert_eq!(
        queue().await,
        [at(&urgent, 10), at(&second, 10), at(&first, 6)]
    );
    assert_eq!(ledger.holders(&first, 9).await.unwrap().0, 1);
    let mut record = ledger.leases(&[lease.key]).await.unwrap();
    let record = record.remove(0).unwrap();
    assert_eq!(
        (record.owner.as_str(), record.segments),
        ("a", vec![0, 1, 2, 3])
    );
    ledger.end_one(lease.key).await.unwrap();
    assert_eq!(queue().await[1..], [at(&first, 10), at(&second, 10)]);

    let paused = ledger
        .set_pace(&urgent, CampaignState::Paused, "op")
        .await
        .unwrap();
    assert_eq!(paused.pace, CampaignState::Paused);
    assert!(claim(&ledger, &urgent, &owner("a"), 1).await.is_none());
    assert_eq!(queue().await.len(), 2);
    ledger
        .set_pace(&urgent, CampaignState::Running, "op")
        .await
        .unwrap();
    ledger
        .set_pace(&urgent, CampaignState::Running, "op")
        .await
        .unwrap();
    assert_eq!(ledger.audit_log(&urgent, 0, 9).await.unwrap().len(), 2);
    assert!(matches!(
        ledger
            .set_pace("0123456789", CampaignState::Running, "op")
            .await,
        Err(LedgerError::UnknownCampaign(_))
    ));
}

/// Asks for work as an owner's only worker, on seven threads; what is known of it, and how many leases it holds.
async fn ask(
    ledger: &PostgresLedger,
    owner: &str,
    speed: Option<u64>,
) -> Option<(WorkerRecord, u64)> {
    let asking = AskingWorker {
        id: format!("{owner}-1"),
        owner: owner.to_owned(),
        threads: 7,
        speed,
    };
    ledger.ask_one(asking).await.unwrap()
}

/// Deadlines pass also where workers live: the coordinator was away, the machine was busy. Who is heard
/// again was not lost.
#[tokio::test]
async fn a_worker_that_is_heard_again_was_not_lost() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let id = &campaign.id;
    let lent = async |name: &str| {
        let who = owner(name);
        let new = NewWorker {
            owner: name.to_owned(),
            credential: None,
            operator: false,
            build: "test 1".to_owned(),
            name: None,
        };
        ledger.join_one(&who.worker, &new).await.unwrap();
        let lease = ledger.claim_one(id, &who, 1, Duration::ZERO).await.unwrap();
        let segments: Vec<u64> = lease
            .unwrap()
            .segments
            .iter()
            .map(|lent| lent.segment)
            .collect();
        segments
    };
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(lent(name).await, [0]);
        // The clock counts milliseconds.
        tokio::time::sleep(Duration::from_millis(3)).await;
        ask(&ledger, name, None).await.unwrap();
    }
    let all = claim(&ledger, id, &owner("f"), 9).await.unwrap();
    assert_eq!(all.segments.len(), 4, "not alone, and not set aside");
    ledger
        .deliver_one(all.key, &deliveries(&all))
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn who_is_overdue_is_told() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let late = ledger
        .claim_one(&campaign.id, &owner("a"), 2, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    claim(&ledger, &campaign.id, &owner("b"), 1).await.unwrap();
    let overdue = ledger.overdue().await.unwrap();
    assert_eq!(overdue.len(), 1, "{overdue:?}");
    assert_eq!(
        (overdue[0].sequence, overdue[0].segments),
        (late.key.sequence, 2)
    );
    assert_eq!(overdue[0].worker, "a-1");
    ledger.extend(late.key, LONG).await.unwrap();
    assert!(ledger.overdue().await.unwrap().is_empty());

    // One whose segments are all lent again before anybody looks is told as well.
    let brief = ledger
        .claim_one(&campaign.id, &owner("a"), 1, Duration::ZERO)
        .await
        .unwrap()
        .unwrap();
    claim(&ledger, &campaign.id, &owner("b"), 1).await.unwrap();
    let overdue = ledger.overdue().await.unwrap();
    assert_eq!(
        (overdue[0].sequence, overdue[0].segments),
        (brief.key.sequence, 1)
    );
}
