//! What becomes of a tally that arrives.

use std::time::Duration;

use kazoe_common::census::{Outcome, TallyError, Witness};
use kazoe_coordinator::leasing::{Purpose, Verdict};
use kazoe_coordinator::ledger::{Delivery, Ledger, LedgerError};

use crate::made_up::{
    assert_sound, deliveries, delivery, operator, owner, serial, submission, wrong_delivery,
};

use super::{LONG, NONE};

pub(crate) async fn one_tally_sent_often_counts_once(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 2 * 4096)).await.unwrap();
    let mut tokens = Vec::new();
    for _ in 0..4 {
        let lease = ledger
            .claim(&campaign.id, &owner("a"), 1, NONE)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(lease.segments[0].segment, 0);
        tokens.push(lease.token);
    }
    for round in 0..3 {
        for (place, &token) in tokens.iter().enumerate() {
            let verdicts = ledger
                .deliver(token, &[delivery(0, 4096), delivery(0, 4096)])
                .await
                .unwrap();
            let first = if round == 0 && place == 0 {
                Verdict::Accepted
            } else {
                Verdict::Repeat
            };
            assert_eq!(verdicts, [first, Verdict::Repeat]);
        }
    }
    let log = ledger.log(&campaign.id, 0).await.unwrap();
    let verdicts: Vec<Verdict> = log.iter().map(|entry| entry.verdict).collect();
    let (a, r) = (Verdict::Accepted, Verdict::Repeat);
    assert_eq!(verdicts, [a, r, r, r], "once per token");
    let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
    assert_eq!(snapshot.prefix, serial(&campaign.cut, 1));
    assert_eq!(snapshot.audited, 0);
    assert_sound(&ledger, &campaign).await;
}

pub(crate) async fn what_cannot_be_changes_nothing(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096 + 5)).await.unwrap();
    let lease = ledger
        .claim(&campaign.id, &owner("a"), 2, LONG)
        .await
        .unwrap()
        .unwrap();
    let before = ledger.snapshot(&campaign.id).await.unwrap();
    let good = delivery(0, 4096);
    let with = |change: fn(&mut Delivery)| {
        let mut bad = delivery(1, 4096);
        change(&mut bad);
        [good.clone(), bad]
    };
    let refused = async |sent: [Delivery; 2]| ledger.deliver(lease.token, &sent).await.unwrap_err();

    let error = refused(with(|bad| bad.segment = 2)).await;
    assert!(matches!(error, LedgerError::NotLent(2)), "{error:?}");
    let error = refused(with(|bad| {
        bad.tally.cells.insert(Outcome::Mirrored as u32, 1);
    }))
    .await;
    let LedgerError::Tally { segment: 1, broken } = error else {
        panic!("{error:?}")
    };
    assert!(matches!(broken, TallyError::Samples { found: 4097, .. }));
    let error = refused(with(|bad| {
        bad.tally.depths.clear();
    }))
    .await;
    assert!(
        matches!(error, LedgerError::Tally { segment: 1, .. }),
        "{error:?}"
    );
    let error = refused(with(|bad| {
        bad.tally.cells.insert(99, 1);
    }))
    .await;
    assert!(
        matches!(error, LedgerError::Tally { segment: 1, .. }),
        "{error:?}"
    );
    let error = refused(with(|bad| {
        bad.tally.cells.insert(Outcome::Mirrored as u32, u64::MAX);
    }))
    .await;
    assert!(
        matches!(error, LedgerError::Tally { segment: 1, .. }),
        "{error:?}"
    );
    for samples in [0, 4097, u64::MAX] {
        let mut bad = delivery(1, 4096);
        bad.samples = samples;
        let error = refused([good.clone(), bad]).await;
        assert!(
            matches!(error, LedgerError::Samples { segment: 1, .. }),
            "{error:?}"
        );
    }
    let error = refused(with(|bad| {
        bad.witnesses = vec![Witness::Unreachable {
            index: 4095,
            depth: 1,
        }];
    }))
    .await;
    assert!(
        matches!(
            error,
            LedgerError::Witness {
                segment: 1,
                index: 4095
            }
        ),
        "{error:?}"
    );
    let error = refused(with(|bad| bad.witnesses.reverse())).await;
    assert!(matches!(error, LedgerError::Witness { .. }), "{error:?}");

    assert_eq!(ledger.snapshot(&campaign.id).await.unwrap(), before);
    assert!(ledger.log(&campaign.id, 0).await.unwrap().is_empty());
    let beyond = ledger
        .import(&campaign.id, &owner("b"), &[delivery(4, 4096)])
        .await;
    assert!(matches!(beyond, Err(LedgerError::NotLent(4))));
    assert_sound(&ledger, &campaign).await;
}

pub(crate) async fn a_difference_is_disputed_until_two_owners_agree(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger
        .claim(id, &owner("a"), 3, LONG)
        .await
        .unwrap()
        .unwrap();
    let mut sent = deliveries(&lease);
    sent[1] = wrong_delivery(1, 4096);
    ledger.deliver(lease.token, &sent).await.unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());

    // Another owner says otherwise: the digest is the same, the counts are not.
    let true_one = [delivery(1, 4096)];
    assert_eq!(true_one[0].tally.digest, sent[1].tally.digest);
    let verdicts = ledger.import(id, &owner("b"), &true_one).await.unwrap();
    assert_eq!(verdicts, [Verdict::Disputed]);
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
                .claim(id, &owner(name), 1, LONG)
                .await
                .unwrap()
                .is_none()
        );
    }
    let lease = ledger
        .claim(id, &owner("c"), 5, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments.len(), 1);
    assert_eq!(lease.segments[0].purpose, Purpose::Resolve);
    assert!(
        ledger
            .claim(id, &owner("d"), 5, LONG)
            .await
            .unwrap()
            .is_none()
    );
    assert_sound(&ledger, &campaign).await;
    ledger.end(lease.token).await.unwrap();
    let lease = ledger
        .claim(id, &owner("d"), 5, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        ledger.deliver(lease.token, &true_one).await.unwrap(),
        [Verdict::Disputed]
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
    assert_eq!(again.unwrap(), [Verdict::Disputed]);
    assert_sound(&ledger, &campaign).await;
}

pub(crate) async fn the_operator_settles_alone(ledger: impl Ledger) {
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
        .claim(id, &operator(), 1, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments[0].purpose, Purpose::Resolve);
    ledger
        .deliver(lease.token, &deliveries(&lease))
        .await
        .unwrap();
    assert_sound(&ledger, &campaign).await;
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_eq!(ledger.segments(id, 0, 1).await.unwrap()[0].owner, "b");
}

/// Of the segments that count, and of no others; it changes nothing else.
pub(crate) async fn cpu_time_is_kept_beside_a_tally(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let took = |segment, millis| Delivery {
        cpu: Some(Duration::from_millis(millis)),
        ..delivery(segment, 4096)
    };
    let import = async |name: &str, deliveries: &[Delivery]| {
        let who = owner(name);
        ledger.import(&campaign.id, &who, deliveries).await.unwrap()
    };
    import("a", &[took(0, 1_400), took(1, 1_300)]).await;
    // The same tally is a repeat, and another owner's an audit, however long they took.
    let verdicts = import("a", &[took(0, 90_000)]).await;
    assert_eq!(verdicts, [Verdict::Repeat]);
    let verdicts = import("b", &[took(1, 90_000), took(2, 0)]).await;
    assert_eq!(verdicts, [Verdict::Audit, Verdict::Accepted]);
    let owners = ledger.owners(&campaign.id).await.unwrap();
    let times = owners.iter().map(|one| (one.core_seconds, one.estimated));
    assert_eq!(times.collect::<Vec<_>>(), [(Some(3), 0), (Some(0), 0)]);

    // One of which nobody said it leaves the whole unknown, where no speed was measured.
    import("a", &[delivery(3, 4096)]).await;
    let owners = ledger.owners(&campaign.id).await.unwrap();
    assert_eq!((owners[0].core_seconds, owners[0].estimated), (None, 1));
    assert_sound(&ledger, &campaign).await;
    assert_eq!(
        ledger.snapshot(&campaign.id).await.unwrap().prefix,
        serial(&campaign.cut, 4)
    );
}
