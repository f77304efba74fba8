//! Leases: segments that are claimed, delivered, given back and lost.

use std::time::Duration;

use kazoe_common::census::Outcome;
use kazoe_common::census::SegmentResult;
use kazoe_coordinator::ledger::{Ledger, LedgerError, Submitted};
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;

use crate::made_up::{
    assert_sound, deliveries, delivery, owner, serial, submission, wrong_delivery,
};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

/// A lease that has expired when it is made.
const NONE: Duration = Duration::ZERO;

#[tokio::test]
async fn what_is_given_back_is_lent_first() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 20 * 4096)).await.unwrap();
    let id = &campaign.id;
    let who = owner("a");
    let segments = async |want: u32, hold: Duration| {
        let lease = ledger
            .claim_one(id, &who, want, hold)
            .await
            .unwrap()
            .unwrap();
        let lent: Vec<u64> = lease.segments.iter().map(|lent| lent.segment).collect();
        (lease.key, lent)
    };
    let (first, lent) = segments(3, LONG).await;
    assert_eq!(lent, [0, 1, 2]);
    let (expired, lent) = segments(3, NONE).await;
    assert_eq!(lent, [3, 4, 5]);
    let (third, lent) = segments(2, LONG).await;
    assert_eq!(lent, [3], "expired ones before the frontier, each alone");
    let (fourth, lent) = segments(2, LONG).await;
    assert_eq!(lent, [4]);
    ledger
        .deliver_one(first, &[delivery(1, 4096)])
        .await
        .unwrap();
    assert_eq!(ledger.end_one(first).await.unwrap(), 2);
    assert!(ledger.retract(id, 1, "someone", "a test").await.unwrap());
    assert_sound(&ledger, &campaign).await;
    let (all, lent) = segments(6, LONG).await;
    assert_eq!(
        lent,
        [1, 0, 2, 6, 7, 8],
        "retracted, returned, frontier; what expired is lent alone"
    );
    assert_sound(&ledger, &campaign).await;

    // Nothing that was lost is lost: the rest is lent until all is accepted.
    let (fifth, lent) = segments(6, LONG).await;
    assert_eq!(lent, [5], "expired before the frontier");
    for token in [all, third, fourth, fifth] {
        ledger.end_one(token).await.unwrap();
    }
    assert!(matches!(
        ledger.end_one(expired).await,
        Err(LedgerError::NotHeld(token)) if token == expired
    ));
    let mut rest = Vec::new();
    for number in [17, 1, 1, 1] {
        let (token, lent) = segments(100, LONG).await;
        assert_eq!(lent.len(), number, "{lent:?}");
        let all: Vec<SegmentResult> = lent
            .iter()
            .map(|&segment| delivery(segment, 4096))
            .collect();
        ledger.deliver_one(token, &all).await.unwrap();
        rest.extend(lent);
    }
    rest.sort_unstable();
    assert!(rest.into_iter().eq(0..20));
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert!(ledger.claim_one(id, &who, 1, LONG).await.unwrap().is_none());
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn a_token_ends_and_extends_its_own_lease_only() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4096)).await.unwrap();
    let stale = ledger
        .claim_one(&campaign.id, &owner("a"), 1, NONE)
        .await
        .unwrap()
        .unwrap();
    // Nobody took its segment yet: it may go on.
    let deadline = async |token: LeaseKey| {
        let sql = "SELECT deadline FROM leases WHERE sequence = $1";
        let deadline = sqlx::query_scalar::<_, i64>(sql).bind(token.sequence);
        deadline
            .fetch_one(&mut database.admin().await)
            .await
            .unwrap()
    };
    ledger.extend(stale.key, NONE).await.unwrap();
    assert!(deadline(stale.key).await >= stale.deadline);
    let fresh = ledger
        .claim_one(&campaign.id, &owner("b"), 1, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(fresh.segments, stale.segments);
    let forged = LeaseKey {
        secret: [0; 8],
        ..fresh.key
    };
    for token in [stale.key, forged] {
        assert!(matches!(
            ledger.extend(token, LONG).await,
            Err(LedgerError::NotHeld(_))
        ));
        assert!(matches!(
            ledger.end_one(token).await,
            Err(LedgerError::NotHeld(_))
        ));
    }
    assert!(matches!(
        ledger.deliver_one(forged, &[delivery(0, 4096)]).await,
        Err(LedgerError::NotHeld(_))
    ));
    ledger.extend(fresh.key, LONG).await.unwrap();
    assert!(deadline(fresh.key).await >= fresh.deadline);

    // A tally under the expired token still fills the empty segment; the later one is an audit.
    let sent = [delivery(0, 4096)];
    assert_eq!(
        ledger.deliver_one(stale.key, &sent).await.unwrap(),
        [DeliveryOutcome::Accepted]
    );
    assert_eq!(
        ledger.deliver_one(fresh.key, &sent).await.unwrap(),
        [DeliveryOutcome::Audit]
    );
    assert_eq!(ledger.end_one(fresh.key).await.unwrap(), 0);
    assert_eq!(ledger.snapshot(&campaign.id).await.unwrap().audited, 1);
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn set_aside_counts_as_undecided() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 600 * 4096 + 1)).await.unwrap();
    let id = &campaign.id;
    for segment in [3, 600] {
        assert!(
            ledger
                .set_aside(id, segment, "op", "it kills")
                .await
                .unwrap()
        );
        assert!(
            !ledger
                .set_aside(id, segment, "op", "it kills")
                .await
                .unwrap()
        );
    }
    assert!(
        !ledger
            .set_aside(id, 601, "op", "there is none")
            .await
            .unwrap()
    );
    let lease = ledger
        .claim_one(id, &owner("a"), 999, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments.len(), 599);
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    assert!(
        !ledger
            .set_aside(id, 4, "op", "it is accepted")
            .await
            .unwrap()
    );
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert!(!snapshot.is_complete());
    assert_eq!(snapshot.prefix.segments, 601);
    assert_eq!(snapshot.prefix.samples, 600 * 4096 + 1);
    assert_eq!(snapshot.prefix.set_aside_samples, 4097);
    assert_eq!(snapshot.prefix.counted().of(Outcome::Undecided), 4097);
    assert_sound(&ledger, &campaign).await;

    for segment in [3, 600] {
        assert!(ledger.retry(id, segment, "op").await.unwrap());
        assert!(!ledger.retry(id, segment, "op").await.unwrap());
    }
    assert_eq!(
        ledger.snapshot(id).await.unwrap().prefix,
        serial(&campaign.cut, 3)
    );
    assert_sound(&ledger, &campaign).await;
    let lease = ledger
        .claim_one(id, &owner("a"), 999, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments.len(), 2);
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
    let actions: Vec<String> = ledger
        .audit_log(id, 0, 99)
        .await
        .unwrap()
        .into_iter()
        .map(|entry| entry.action)
        .collect();
    assert_eq!(actions, ["set_aside", "set_aside", "retry", "retry"]);
}

#[tokio::test]
async fn a_dead_worker_s_leases_go_back_at_once() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 10 * 4096)).await.unwrap();
    let id = &campaign.id;
    let mut tokens = Vec::new();
    for name in ["a", "a", "b"] {
        let lease = ledger
            .claim_one(id, &owner(name), 2, LONG)
            .await
            .unwrap()
            .unwrap();
        tokens.push(lease.key);
    }
    ledger
        .deliver_one(tokens[0], &[delivery(1, 4096)])
        .await
        .unwrap();
    assert_eq!(ledger.forfeit("a-1").await.unwrap(), 3);
    assert_eq!(ledger.forfeit("a-1").await.unwrap(), 0);
    let counts = ledger.snapshot(id).await.unwrap().counts;
    assert_eq!((counts.returned, counts.leased, counts.unleased), (3, 2, 4));
    assert!(matches!(
        ledger.extend(tokens[0], LONG).await,
        Err(LedgerError::NotHeld(_))
    ));
    // It was not dead after all: its tally counts all the same.
    assert_eq!(
        ledger
            .deliver_one(tokens[0], &[delivery(0, 4096)])
            .await
            .unwrap(),
        [DeliveryOutcome::Accepted]
    );
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn a_segment_that_kills_its_workers_is_set_aside() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 6 * 4096)).await.unwrap();
    let id = &campaign.id;
    let lent = async |worker: &str, want: u32, hold: Duration| {
        let lease = ledger
            .claim_one(id, &owner(worker), want, hold)
            .await
            .unwrap();
        let lease = lease?;
        let segments = lease.segments.iter().map(|lent| lent.segment);
        Some((lease.key, segments.collect::<Vec<u64>>()))
    };
    // The first loss, among others; then each alone. The same worker again and again proves nothing.
    assert_eq!(lent("a", 2, NONE).await.unwrap().1, [0, 1]);
    for worker in ["a", "a", "a", "a", "b"] {
        assert_eq!(lent(worker, 2, NONE).await.unwrap().1, [0], "{worker}");
    }
    // Its neighbour is innocent, and comes back as soon as somebody finishes it.
    let (held, segments) = lent("c", 2, LONG).await.unwrap();
    assert_eq!(segments, [0]);
    let (innocent, segments) = lent("d", 2, LONG).await.unwrap();
    assert_eq!(segments, [1]);
    ledger
        .deliver_one(innocent, &[delivery(1, 4096)])
        .await
        .unwrap();
    assert_sound(&ledger, &campaign).await;
    // The third worker, gone for good: the segment is given up, the rest goes on.
    ledger.extend(held, NONE).await.unwrap();
    let (rest, segments) = lent("d", 9, LONG).await.unwrap();
    assert_eq!(segments, [2, 3, 4, 5]);
    let all: Vec<SegmentResult> = (2..6).map(|segment| delivery(segment, 4096)).collect();
    ledger.deliver_one(rest, &all).await.unwrap();
    assert!(lent("d", 9, LONG).await.is_none());
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert_eq!(
        (snapshot.counts.set_aside, snapshot.counts.accepted),
        (1, 5)
    );
    assert_eq!(snapshot.prefix.set_aside_samples, 4096);
    assert!(!snapshot.is_complete());
    let log = ledger.audit_log(id, 0, 9).await.unwrap();
    assert_eq!(
        (log[0].action.as_str(), log[0].segment),
        ("set_aside", Some(0))
    );
    assert!(log[0].note.contains("a-1, b-1, c-1"), "{}", log[0].note);
    assert_sound(&ledger, &campaign).await;

    // Brought back it begins anew: lent with whatever else there is, and one loss is one loss.
    assert!(ledger.retry(id, 0, "operator").await.unwrap());
    assert_eq!(lent("a", 9, NONE).await.unwrap().1, [0]);
    let (token, segments) = lent("b", 9, LONG).await.unwrap();
    assert_eq!(segments, [0]);
    ledger
        .deliver_one(token, &[delivery(0, 4096)])
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn one_tally_sent_often_counts_once() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 2 * 4096)).await.unwrap();
    let mut tokens = Vec::new();
    for _ in 0..4 {
        let lease = ledger
            .claim_one(&campaign.id, &owner("a"), 1, NONE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(lease.segments[0].segment, 0);
        tokens.push(lease.key);
    }
    for round in 0..3 {
        for (place, &token) in tokens.iter().enumerate() {
            let verdicts = ledger
                .deliver_one(token, &[delivery(0, 4096), delivery(0, 4096)])
                .await
                .unwrap();
            let first = if round == 0 && place == 0 {
                DeliveryOutcome::Accepted
            } else {
                DeliveryOutcome::Repeat
            };
            assert_eq!(verdicts, [first, DeliveryOutcome::Repeat]);
        }
    }
    let log = ledger.log(&campaign.id, 0).await.unwrap();
    let verdicts: Vec<DeliveryOutcome> = log.iter().map(|entry| entry.verdict).collect();
    let (a, r) = (DeliveryOutcome::Accepted, DeliveryOutcome::Repeat);
    assert_eq!(verdicts, [a, r, r, r], "once per token");
    let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
    assert_eq!(snapshot.prefix, serial(&campaign.cut, 1));
    assert_eq!(snapshot.audited, 0);
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn an_extension_recalls_the_cut_segment_from_its_lease() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 4096 + 100)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger
        .claim_one(id, &owner("a"), 9, LONG)
        .await
        .unwrap()
        .unwrap();
    let (record, _) = ledger.submit(&submission(1, 2 * 4096)).await.unwrap();
    assert_sound(&ledger, &record).await;
    assert_eq!(
        ledger
            .deliver_one(lease.key, &deliveries(&lease))
            .await
            .unwrap(),
        [DeliveryOutcome::Accepted, DeliveryOutcome::Stale]
    );
    assert_eq!(ledger.end_one(lease.key).await.unwrap(), 0);
    let lease = ledger
        .claim_one(id, &owner("a"), 9, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments.len(), 1);
    assert_eq!(lease.segments[0].samples, 4096);
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &record).await;
}

#[tokio::test]
async fn a_delivery_of_the_cut_segment_is_stale_after_an_extension() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 2 * 4096 + 100)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger
        .claim_one(id, &owner("a"), 9, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments[2].samples, 100);
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    let (record, how) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    assert_eq!(
        how,
        Submitted::Extended {
            from: 2 * 4096 + 100
        }
    );
    assert_eq!(record.cut.samples, 4 * 4096);
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert_eq!(snapshot.prefix, serial(&record.cut, 2));
    assert_eq!(snapshot.counts.retracted, 1);
    assert_eq!(ledger.audit_log(id, 0, 9).await.unwrap()[0].action, "recut");
    assert_sound(&ledger, &record).await;

    // The old tally is stale now, whoever sends it, and is not compared.
    assert_eq!(
        ledger
            .deliver_one(lease.key, &[delivery(2, 100)])
            .await
            .unwrap(),
        [DeliveryOutcome::Repeat].map(|_| DeliveryOutcome::Stale)
    );
    assert_eq!(
        ledger
            .import(id, &owner("b"), &[wrong_delivery(2, 100)])
            .await
            .unwrap(),
        [DeliveryOutcome::Stale]
    );
    assert_sound(&ledger, &record).await;
    let lease = ledger
        .claim_one(id, &owner("a"), 9, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        lease
            .segments
            .iter()
            .map(|lent| lent.segment)
            .collect::<Vec<_>>(),
        [2, 3]
    );
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &record).await;
}

#[tokio::test]
async fn a_lease_skips_what_an_import_filled() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 10 * 4096)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger
        .claim_one(id, &owner("a"), 3, LONG)
        .await
        .unwrap()
        .unwrap();
    ledger
        .deliver_one(lease.key, &[delivery(0, 4096)])
        .await
        .unwrap();
    let foreign: Vec<SegmentResult> = [0, 1, 3, 5, 9]
        .into_iter()
        .map(|segment| delivery(segment, 4096))
        .collect();
    let b = owner("b");
    let (first, again) = (
        ledger.import(id, &b, &foreign).await.unwrap(),
        ledger.import(id, &b, &foreign).await.unwrap(),
    );
    let (accepted, audit, repeat) = (
        DeliveryOutcome::Accepted,
        DeliveryOutcome::Audit,
        DeliveryOutcome::Repeat,
    );
    assert_eq!(first, [audit, accepted, accepted, accepted, accepted]);
    assert_eq!(again, [audit, repeat, repeat, repeat, repeat]);
    assert_eq!(ledger.log(id, 1).await.unwrap().len(), 1, "logged once");
    assert_sound(&ledger, &campaign).await;
    // What the lease still lends is segment 2; the frontier skips what is there already.
    assert_eq!(ledger.end_one(lease.key).await.unwrap(), 1);
    let lease = ledger
        .claim_one(id, &owner("a"), 9, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        lease
            .segments
            .iter()
            .map(|lent| lent.segment)
            .collect::<Vec<_>>(),
        [2, 4, 6, 7, 8]
    );
    ledger
        .deliver_one(lease.key, &deliveries(&lease))
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn a_delivery_of_a_segment_outside_its_lease_changes_nothing() {
    let server = Server::shared().await;
    let database = server.fresh().await;
    let ledger = database.ledger().await;
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096 + 5)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger.claim_one(id, &owner("a"), 2, LONG).await.unwrap();
    let token = lease.unwrap().key;
    let before = ledger.snapshot(id).await.unwrap();
    let mut impossible = delivery(1, 4096);
    impossible.tally.depths.clear();
    let outside = [delivery(0, 4096), delivery(2, 4096)];
    let error = ledger.deliver_one(token, &outside).await.unwrap_err();
    assert!(matches!(error, LedgerError::NotLent(2)), "{error:?}");
    let impossible = [delivery(0, 4096), impossible];
    let error = ledger.deliver_one(token, &impossible).await.unwrap_err();
    assert!(
        matches!(error, LedgerError::Tally { segment: 1, .. }),
        "{error:?}"
    );
    assert_eq!(ledger.snapshot(id).await.unwrap(), before);
    assert!(ledger.log(id, 0).await.unwrap().is_empty());
    assert_sound(&ledger, &campaign).await;
}
