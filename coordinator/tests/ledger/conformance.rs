//! What every database behind [`Ledger`] must do. Each test takes an empty ledger.

use std::time::Duration;

use kazoe_common::census::{Cut, Digest, Outcome, TallyError, Witness};
use kazoe_coordinator::leasing::{Purpose, Verdict};
use kazoe_coordinator::ledger::{
    Delivery, Ledger, LedgerError, OwnerShare, SelfTest, Submission, Submitted, Token,
};

use crate::made_up::{
    assert_sound, campaign, deliveries, delivery, operator, owner, serial, submission, tally,
    wrong_delivery,
};

const LONG: Duration = Duration::from_secs(3600);

/// A lease that has run out when it is made.
const NONE: Duration = Duration::ZERO;

/// What breaks an invariant that the audit looks for, in a campaign of 200 segments of which the first
/// 150 are accepted and lie before the frontier. No ledger allows it.
pub(crate) const BREACHES: [(&str, &str); 8] = [
    (
        "I1",
        "UPDATE accepted SET result = result + 1 WHERE segment = 9",
    ),
    ("I2", "UPDATE campaigns SET samples = 149 * 4096 + 5"),
    (
        "I3",
        "INSERT INTO result_cells SELECT result, 0, 1 FROM accepted WHERE segment = 3",
    ),
    (
        "I3",
        "INSERT INTO result_depths SELECT result, 77, 1 FROM accepted WHERE segment = 3",
    ),
    ("I6", "UPDATE campaigns SET frontier = 160"),
    (
        "I6",
        "INSERT INTO waiting SELECT campaign, 3, 'returned' FROM accepted LIMIT 1",
    ),
    ("I6", "DELETE FROM accepted WHERE segment = 149"),
    (
        "I6",
        "INSERT INTO set_aside SELECT id, 200, 'x' FROM campaigns",
    ),
];

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
        disagreed: 1,
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
