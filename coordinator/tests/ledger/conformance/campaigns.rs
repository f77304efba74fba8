//! What a campaign is, from its submission to its end.

use kazoe_common::census::{Cut, Digest, Outcome, Witness};
use kazoe_coordinator::leasing::Verdict;
use kazoe_coordinator::ledger::{
    Delivery, Ledger, LedgerError, OwnerShare, SelfTest, Submission, Submitted,
};

use crate::made_up::{
    assert_sound, campaign, deliveries, delivery, operator, owner, serial, submission, tally,
    wrong_delivery,
};

use super::LONG;

pub(crate) async fn a_campaign_is_what_it_counts(ledger: impl Ledger) {
    let (record, how) = ledger.submit(&submission(1, 10_000)).await.unwrap();
    assert_eq!(how, Submitted::New);
    assert_eq!(record.id, campaign(1).id());
    assert_eq!(record.campaign, campaign(1));
    assert_eq!(record.cut, Cut::new(10_000, 1).unwrap());
    assert_eq!(ledger.campaign(&record.id).await.unwrap(), record);
    assert_eq!(
        ledger.self_tests(&record.id).await.unwrap(),
        submission(1, 1).self_tests
    );

    // Samples and segment size are outside of the identity; the first segment size stays.
    let again = Submission {
        cut: Cut::new(10_000, 7).unwrap(),
        ..submission(1, 10_000)
    };
    assert_eq!(
        ledger.submit(&again).await.unwrap(),
        (record.clone(), Submitted::Existing)
    );
    assert_eq!(
        ledger.submit(&submission(1, 5_000)).await.unwrap(),
        (record.clone(), Submitted::Fewer { asked: 5_000 })
    );

    // The largest seed and a cap travel unharmed, and make other campaigns.
    let mut other = submission(u64::MAX, 1);
    let (second, _) = ledger.submit(&other).await.unwrap();
    other.campaign.cap = Some(u64::MAX);
    let (third, how) = ledger.submit(&other).await.unwrap();
    assert_eq!(how, Submitted::New);
    assert_eq!(third.campaign, other.campaign);
    let mut ids: Vec<String> = ledger
        .campaigns()
        .await
        .unwrap()
        .into_iter()
        .map(|record| record.id)
        .collect();
    ids.sort();
    let mut expected = vec![record.id, second.id, third.id];
    expected.sort();
    assert_eq!(ids, expected);

    let unknown = ledger.snapshot("0123456789").await;
    assert!(matches!(unknown, Err(LedgerError::UnknownCampaign(id)) if id == "0123456789"));
}

pub(crate) async fn a_build_that_counts_otherwise_is_refused(ledger: impl Ledger) {
    let good = submission(1, 10_000);
    let (record, _) = ledger.submit(&good).await.unwrap();
    let other = vec![SelfTest {
        block: 0,
        tally: wrong_delivery(0, 4096).tally,
    }];
    for self_tests in [other, Vec::new()] {
        let refused = ledger
            .submit(&Submission {
                self_tests: self_tests.clone(),
                ..submission(1, 20_000)
            })
            .await;
        match refused {
            Err(LedgerError::SelfTest {
                block,
                stored,
                computed,
                ..
            }) => {
                assert_eq!(block, 0);
                assert_eq!(*stored.unwrap(), good.self_tests[0].tally);
                assert_eq!(
                    computed.map(|tally| *tally),
                    self_tests.first().map(|test| test.tally.clone())
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(ledger.campaign(&record.id).await.unwrap(), record);
}

pub(crate) async fn a_campaign_is_counted_from_end_to_end(ledger: impl Ledger) {
    // More than two checkpoints' worth, the last segment cut.
    let samples = 1_100 * 4096 + 17;
    let (campaign, _) = ledger.submit(&submission(1, samples)).await.unwrap();
    let mut revision = 0;
    while let Some(lease) = ledger
        .claim(&campaign.id, &owner("a"), 100, LONG)
        .await
        .unwrap()
    {
        assert!(lease.segments.len() <= 100);
        let verdicts = ledger
            .deliver(lease.token, &deliveries(&lease))
            .await
            .unwrap();
        assert!(verdicts.iter().all(|&verdict| verdict == Verdict::Accepted));
        assert_eq!(ledger.end(lease.token).await.unwrap(), 0);
        let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
        assert!(snapshot.revision > revision);
        revision = snapshot.revision;
        let segments = lease.segments.last().unwrap().segment + 1;
        assert_eq!(snapshot.prefix, serial(&campaign.cut, segments));
        assert_eq!(snapshot.accepted_samples, snapshot.prefix.samples);
    }
    let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
    assert!(snapshot.is_complete());
    assert_eq!(snapshot.counts.accepted, 1_101);
    assert_sound(&ledger, &campaign).await;

    // All of it can be read back in pages.
    let mut from = 0;
    loop {
        let page = ledger.segments(&campaign.id, from, 400).await.unwrap();
        let Some(last) = page.last() else { break };
        for (segment, expected) in page.iter().zip(from..) {
            assert_eq!(segment.segment, expected);
            assert_eq!(segment.samples, campaign.cut.samples_of(expected));
            assert_eq!(segment.tally, tally(expected, segment.samples));
            assert_eq!(segment.owner, "a");
            assert_eq!(segment.build, "test 1");
        }
        from = last.segment + 1;
    }
    assert_eq!(from, 1_101);
    let witnesses = ledger.witnesses(&campaign.id, 5..7).await.unwrap();
    let expected: Vec<Witness> = [5, 6]
        .into_iter()
        .flat_map(|segment| delivery(segment, 4096).witnesses)
        .collect();
    assert_eq!(witnesses, expected);
    let builds = ledger.builds(&campaign.id).await.unwrap();
    assert_eq!(builds.len(), 1);
    assert_eq!(builds[0].segments, 1_101);

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
        segments: 1_101,
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

pub(crate) async fn a_gap_ends_the_prefix(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 5 * 4096)).await.unwrap();
    let lease = ledger
        .claim(&campaign.id, &owner("a"), 5, LONG)
        .await
        .unwrap()
        .unwrap();
    for (segment, prefix) in [(4, 0), (0, 1), (2, 1), (1, 3), (3, 5)] {
        ledger
            .deliver(lease.token, &[delivery(segment, 4096)])
            .await
            .unwrap();
        let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
        assert_eq!(snapshot.prefix, serial(&campaign.cut, prefix));
        assert_sound(&ledger, &campaign).await;
    }
}

pub(crate) async fn more_samples_reuse_every_whole_segment(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 2 * 4096 + 100)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger
        .claim(id, &owner("a"), 9, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments[2].samples, 100);
    ledger
        .deliver(lease.token, &deliveries(&lease))
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
            .deliver(lease.token, &[delivery(2, 100)])
            .await
            .unwrap(),
        [Verdict::Repeat].map(|_| Verdict::Stale)
    );
    assert_eq!(
        ledger
            .import(id, &owner("b"), &[wrong_delivery(2, 100)])
            .await
            .unwrap(),
        [Verdict::Stale]
    );
    assert_sound(&ledger, &record).await;
    let lease = ledger
        .claim(id, &owner("a"), 9, LONG)
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
        .deliver(lease.token, &deliveries(&lease))
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &record).await;
}

pub(crate) async fn an_extension_recalls_the_cut_segment_from_its_lease(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 4096 + 100)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger
        .claim(id, &owner("a"), 9, LONG)
        .await
        .unwrap()
        .unwrap();
    let (record, _) = ledger.submit(&submission(1, 2 * 4096)).await.unwrap();
    assert_sound(&ledger, &record).await;
    assert_eq!(
        ledger
            .deliver(lease.token, &deliveries(&lease))
            .await
            .unwrap(),
        [Verdict::Accepted, Verdict::Stale]
    );
    assert_eq!(ledger.end(lease.token).await.unwrap(), 0);
    let lease = ledger
        .claim(id, &owner("a"), 9, LONG)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(lease.segments.len(), 1);
    assert_eq!(lease.segments[0].samples, 4096);
    ledger
        .deliver(lease.token, &deliveries(&lease))
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &record).await;
}

pub(crate) async fn an_import_fills_and_compares(ledger: impl Ledger) {
    let (campaign, _) = ledger.submit(&submission(1, 10 * 4096)).await.unwrap();
    let id = &campaign.id;
    let lease = ledger
        .claim(id, &owner("a"), 3, LONG)
        .await
        .unwrap()
        .unwrap();
    ledger
        .deliver(lease.token, &[delivery(0, 4096)])
        .await
        .unwrap();
    let foreign: Vec<Delivery> = [0, 1, 3, 5, 9]
        .into_iter()
        .map(|segment| delivery(segment, 4096))
        .collect();
    let b = owner("b");
    let (first, again) = (
        ledger.import(id, &b, &foreign).await.unwrap(),
        ledger.import(id, &b, &foreign).await.unwrap(),
    );
    let (accepted, audit, repeat) = (Verdict::Accepted, Verdict::Audit, Verdict::Repeat);
    assert_eq!(first, [audit, accepted, accepted, accepted, accepted]);
    assert_eq!(again, [audit, repeat, repeat, repeat, repeat]);
    assert_eq!(ledger.log(id, 1).await.unwrap().len(), 1, "logged once");
    assert_sound(&ledger, &campaign).await;
    // What the lease still lends is segment 2; the frontier skips what is there already.
    assert_eq!(ledger.end(lease.token).await.unwrap(), 1);
    let lease = ledger
        .claim(id, &owner("a"), 9, LONG)
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
        .deliver(lease.token, &deliveries(&lease))
        .await
        .unwrap();
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}
