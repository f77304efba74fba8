//! What is lent, given back and lost.

use std::time::Duration;

use kazoe_common::census::Outcome;
use kazoe_coordinator::leasing::Verdict;
use kazoe_coordinator::ledger::{Delivery, Ledger, LedgerError, Token};

use crate::made_up::{assert_sound, deliveries, delivery, owner, serial, submission};

use super::{LONG, NONE};

pub(crate) async fn what_is_given_back_is_lent_first(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 20 * 4096)).await.unwrap();
    let id = &campaign.id;
    let who = owner("a");
    let segments = async |want: u32, hold: Duration| {
        let lease = ledger.claim(id, &who, want, hold).await.unwrap().unwrap();
        let lent: Vec<u64> = lease.segments.iter().map(|lent| lent.segment).collect();
        (lease.token, lent)
    };
    let (first, lent) = segments(3, LONG).await;
    assert_eq!(lent, [0, 1, 2]);
    let (expired, lent) = segments(3, NONE).await;
    assert_eq!(lent, [3, 4, 5]);
    let (third, lent) = segments(2, LONG).await;
    assert_eq!(lent, [3], "expired ones before the frontier, each alone");
    let (fourth, lent) = segments(2, LONG).await;
    assert_eq!(lent, [4]);
    ledger.deliver(first, &[delivery(1, 4096)]).await.unwrap();
    assert_eq!(ledger.end(first).await.unwrap(), 2);
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
        ledger.end(token).await.unwrap();
    }
    assert!(matches!(
        ledger.end(expired).await,
        Err(LedgerError::NotHeld(token)) if token == expired
    ));
    let mut rest = Vec::new();
    for number in [17, 1, 1, 1] {
        let (token, lent) = segments(100, LONG).await;
        assert_eq!(lent.len(), number, "{lent:?}");
        let all: Vec<Delivery> = lent
            .iter()
            .map(|&segment| delivery(segment, 4096))
            .collect();
        ledger.deliver(token, &all).await.unwrap();
        rest.extend(lent);
    }
    rest.sort_unstable();
    assert!(rest.into_iter().eq(0..20));
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert!(ledger.claim(id, &who, 1, LONG).await.unwrap().is_none());
    assert_sound(&ledger, &campaign).await;
}

pub(crate) async fn a_token_ends_and_extends_its_own_lease_only(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 4096)).await.unwrap();
    let stale = ledger
        .claim(&campaign.id, &owner("a"), 1, NONE)
        .await
        .unwrap()
        .unwrap();
    // Nobody took its segment yet: it may go on.
    let deadline = ledger.extend(stale.token, NONE).await.unwrap();
    assert!(deadline >= stale.deadline);
    let fresh = ledger
        .claim(&campaign.id, &owner("b"), 1, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(fresh.segments, stale.segments);
    let forged = Token {
        secret: [0; 8],
        ..fresh.token
    };
    for token in [stale.token, forged] {
        assert!(matches!(
            ledger.extend(token, LONG).await,
            Err(LedgerError::NotHeld(_))
        ));
        assert!(matches!(
            ledger.end(token).await,
            Err(LedgerError::NotHeld(_))
        ));
    }
    assert!(matches!(
        ledger.deliver(forged, &[delivery(0, 4096)]).await,
        Err(LedgerError::NotHeld(_))
    ));
    assert!(ledger.extend(fresh.token, LONG).await.unwrap() >= fresh.deadline);

    // A tally under the expired token still fills the empty segment; the later one is an audit.
    let sent = [delivery(0, 4096)];
    assert_eq!(
        ledger.deliver(stale.token, &sent).await.unwrap(),
        [Verdict::Accepted]
    );
    assert_eq!(
        ledger.deliver(fresh.token, &sent).await.unwrap(),
        [Verdict::Audit]
    );
    assert_eq!(ledger.end(fresh.token).await.unwrap(), 0);
    assert_eq!(ledger.snapshot(&campaign.id).await.unwrap().audited, 1);
    assert_sound(&ledger, &campaign).await;
}

pub(crate) async fn set_aside_counts_as_undecided(ledger: impl Ledger) {
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
        .claim(id, &owner("a"), 999, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments.len(), 599);
    ledger
        .deliver(lease.token, &deliveries(&lease))
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
        .claim(id, &owner("a"), 999, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments.len(), 2);
    ledger
        .deliver(lease.token, &deliveries(&lease))
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

pub(crate) async fn a_dead_worker_s_leases_go_back_at_once(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 10 * 4096)).await.unwrap();
    let id = &campaign.id;
    let mut tokens = Vec::new();
    for name in ["a", "a", "b"] {
        let lease = ledger
            .claim(id, &owner(name), 2, LONG)
            .await
            .unwrap()
            .unwrap();
        tokens.push(lease.token);
    }
    ledger
        .deliver(tokens[0], &[delivery(1, 4096)])
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
            .deliver(tokens[0], &[delivery(0, 4096)])
            .await
            .unwrap(),
        [Verdict::Accepted]
    );
    assert_sound(&ledger, &campaign).await;
}

pub(crate) async fn a_segment_that_kills_its_workers_is_set_aside(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 6 * 4096)).await.unwrap();
    let id = &campaign.id;
    let lent = async |worker: &str, want: u32, hold: Duration| {
        let lease = ledger.claim(id, &owner(worker), want, hold).await.unwrap();
        let lease = lease?;
        let segments = lease.segments.iter().map(|lent| lent.segment);
        Some((lease.token, segments.collect::<Vec<u64>>()))
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
        .deliver(innocent, &[delivery(1, 4096)])
        .await
        .unwrap();
    assert_sound(&ledger, &campaign).await;
    // The third worker, gone for good: the segment is given up, the rest goes on.
    ledger.extend(held, NONE).await.unwrap();
    let (rest, segments) = lent("d", 9, LONG).await.unwrap();
    assert_eq!(segments, [2, 3, 4, 5]);
    let all: Vec<Delivery> = (2..6).map(|segment| delivery(segment, 4096)).collect();
    ledger.deliver(rest, &all).await.unwrap();
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
    ledger.deliver(token, &[delivery(0, 4096)]).await.unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}
