//! What [`Ledger`](kazoe_coordinator::ledger::Ledger) promises of either database. Each test takes an empty
//! ledger; `local_store` and `postgres` run them.

use std::ops::Range;
use std::time::Duration;

use kazoe_common::census::SegmentResult;
use kazoe_common::census::{Cut, Outcome, Segment, TallyError, Witness};
use kazoe_coordinator::ledger::{
    CampaignRecord, LedgerError, OwnerShare, SelfTest, Submission, Submitted,
};
use kazoe_proto::outcome::DeliveryOutcome;

use crate::made_up::{
    Sound, assert_sound, campaign, delivery, owner, serial, submission, tally, wrong_delivery,
};

/// Imports the true tallies of a range of segments.
async fn send(
    ledger: &impl Sound,
    campaign: &CampaignRecord,
    name: &str,
    segments: Range<Segment>,
) -> Vec<DeliveryOutcome> {
    let deliveries: Vec<SegmentResult> = segments
        .map(|segment| delivery(segment, campaign.cut.samples_of(segment)))
        .collect();
    let verdicts = ledger.import(&campaign.id, &owner(name), &deliveries).await;
    verdicts.unwrap()
}

pub(crate) async fn a_campaign_is_what_it_counts(ledger: impl Sound) {
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

pub(crate) async fn a_build_that_counts_otherwise_is_refused(ledger: impl Sound) {
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

pub(crate) async fn a_campaign_is_counted_from_end_to_end(ledger: impl Sound) {
    // More than two checkpoints' worth, the last segment cut.
    let samples = 1_100 * 4096 + 17;
    let (campaign, _) = ledger.submit(&submission(1, samples)).await.unwrap();
    let mut revision = 0;
    for first in (0..1_101).step_by(100) {
        let end = (first + 100).min(1_101);
        let verdicts = send(&ledger, &campaign, "a", first..end).await;
        assert!(
            verdicts
                .iter()
                .all(|&verdict| verdict == DeliveryOutcome::Accepted)
        );
        let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
        assert!(snapshot.revision > revision);
        revision = snapshot.revision;
        assert_eq!(snapshot.prefix, serial(&campaign.cut, end));
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

    // Another owner confirms one segment.
    let tally = ledger.snapshot(&campaign.id).await.unwrap().prefix.tally;
    send(&ledger, &campaign, "b", 5..6).await;
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
        disputed: 0,
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
    assert_eq!(owners, [first, share("b")]);
    assert_eq!(ledger.snapshot(&campaign.id).await.unwrap().audited, 1);
}

pub(crate) async fn a_gap_ends_the_prefix(ledger: impl Sound) {
    let (campaign, _) = ledger.submit(&submission(1, 5 * 4096)).await.unwrap();
    for (segment, prefix) in [(4, 0), (0, 1), (2, 1), (1, 3), (3, 5)] {
        send(&ledger, &campaign, "a", segment..segment + 1).await;
        let snapshot = ledger.snapshot(&campaign.id).await.unwrap();
        assert_eq!(snapshot.prefix, serial(&campaign.cut, prefix));
        assert_sound(&ledger, &campaign).await;
    }
}

pub(crate) async fn more_samples_reuse_every_whole_segment(ledger: impl Sound) {
    let (campaign, _) = ledger.submit(&submission(1, 2 * 4096 + 100)).await.unwrap();
    let id = &campaign.id;
    send(&ledger, &campaign, "a", 0..3).await;
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    let (record, how) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let from = 2 * 4096 + 100;
    assert_eq!(how, Submitted::Extended { from });
    assert_eq!(record.cut.samples, 4 * 4096);
    let snapshot = ledger.snapshot(id).await.unwrap();
    assert_eq!(snapshot.prefix, serial(&record.cut, 2));
    assert_sound(&ledger, &record).await;

    // The old tally of the cut segment is stale now, and is not compared.
    let stale = [wrong_delivery(2, 100)];
    for name in ["a", "b"] {
        let verdicts = ledger.import(id, &owner(name), &stale).await;
        assert_eq!(verdicts.unwrap(), [DeliveryOutcome::Stale]);
    }
    assert_sound(&ledger, &record).await;
    send(&ledger, &record, "a", 2..4).await;
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &record).await;
}

pub(crate) async fn an_import_fills_and_compares(ledger: impl Sound) {
    let (campaign, _) = ledger.submit(&submission(1, 10 * 4096)).await.unwrap();
    let id = &campaign.id;
    send(&ledger, &campaign, "a", 0..1).await;
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
    let log = ledger.log(id, 1).await.unwrap();
    let entries = log.iter().map(|entry| (&*entry.owner, entry.verdict));
    assert_eq!(
        entries.collect::<Vec<_>>(),
        [("b", accepted)],
        "logged once"
    );
    assert_eq!(
        ledger.log(id, 0).await.unwrap().len(),
        2,
        "one of each owner"
    );
    assert_sound(&ledger, &campaign).await;
    for segment in [2, 4, 6, 7, 8] {
        send(&ledger, &campaign, "a", segment..segment + 1).await;
    }
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}

pub(crate) async fn an_impossible_tally_changes_nothing(ledger: impl Sound) {
    let (campaign, _) = ledger.submit(&submission(1, 3 * 4096 + 5)).await.unwrap();
    let before = ledger.snapshot(&campaign.id).await.unwrap();
    let good = delivery(0, 4096);
    let with = |change: fn(&mut SegmentResult)| {
        let mut bad = delivery(1, 4096);
        change(&mut bad);
        [good.clone(), bad]
    };
    let who = owner("a");
    let refused = async |sent: [SegmentResult; 2]| {
        let refused = ledger.import(&campaign.id, &who, &sent).await;
        refused.unwrap_err()
    };

    let error = refused(with(|bad| bad.segment = 4)).await;
    assert!(matches!(error, LedgerError::NotLent(4)), "{error:?}");
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
    assert_sound(&ledger, &campaign).await;
}

/// Of the segments that count, and of no others; it changes nothing else.
pub(crate) async fn cpu_time_is_kept_beside_a_tally(ledger: impl Sound) {
    let (campaign, _) = ledger.submit(&submission(1, 4 * 4096)).await.unwrap();
    let took = |segment, millis| SegmentResult {
        cpu: Some(Duration::from_millis(millis)),
        ..delivery(segment, 4096)
    };
    let import = async |name: &str, deliveries: &[SegmentResult]| {
        let who = owner(name);
        ledger.import(&campaign.id, &who, deliveries).await.unwrap()
    };
    import("a", &[took(0, 1_400), took(1, 1_300)]).await;
    // The same tally is a repeat, and another owner's an audit, however long they took.
    let verdicts = import("a", &[took(0, 90_000)]).await;
    assert_eq!(verdicts, [DeliveryOutcome::Repeat]);
    let verdicts = import("b", &[took(1, 90_000), took(2, 0)]).await;
    assert_eq!(
        verdicts,
        [DeliveryOutcome::Audit, DeliveryOutcome::Accepted]
    );
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
