//! Many at once on PostgreSQL: what waits is done together, and each gets its own answer.

use std::collections::BTreeSet;
use std::time::Duration;

use kazoe_coordinator::ledger::{
    CampaignState, Heartbeat, Lease, Ledger, LedgerError, NewWorker, PostgresLedger, Who,
};
use kazoe_proto::lease_key::LeaseKey;
use kazoe_proto::outcome::DeliveryOutcome;
use tokio::task::JoinSet;

use crate::made_up::{assert_lawful, assert_sound, deliveries, delivery, owner, submission};
use crate::single::Single;
use kazoe_coordinator_testkit::postgres_server::Server;

const LONG: Duration = Duration::from_secs(3600);

/// Workers of three owners.
pub(crate) const CROWD: u64 = 60;

pub(crate) fn worker(number: u64) -> Who {
    Who {
        worker: format!("w-{number}"),
        ..owner(["a", "b", "c"][usize::try_from(number % 3).unwrap()])
    }
}

/// Each of the crowd does it, all at once; what came of it, in their order.
pub(crate) async fn all_at_once<T, F>(act: impl Fn(u64) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let mut tasks = JoinSet::new();
    for number in 0..CROWD {
        let act = act(number);
        tasks.spawn(async move { (number, act.await) });
    }
    let mut done = tasks.join_all().await;
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, what)| what).collect()
}

pub(crate) async fn claim_all(ledger: &PostgresLedger, id: &str, want: u32) -> Vec<Lease> {
    let leases = all_at_once(|number| {
        let (ledger, id) = (ledger.clone(), id.to_owned());
        async move { ledger.claim_one(&id, &worker(number), want, LONG).await }
    });
    let leases = leases.await.into_iter();
    leases.map(|lease| lease.unwrap().unwrap()).collect()
}

/// All of them join.
pub(crate) async fn join_all(ledger: &PostgresLedger) {
    let joined = all_at_once(|number| {
        let ledger = ledger.clone();
        let who = worker(number);
        let new = NewWorker {
            owner: who.owner,
            credential: None,
            operator: false,
            build: who.build,
            name: None,
        };
        async move { ledger.join_one(&who.worker, &new).await }
    });
    assert!(joined.await.into_iter().all(|entered| entered.unwrap()));
}

#[tokio::test]
async fn a_crowd_gets_every_segment_once_and_each_its_own_answer() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let samples = CROWD * 3 * 4096 - 7;
    let (campaign, _) = ledger.submit(&submission(1, samples)).await.unwrap();
    let id = &campaign.id;
    let leases = claim_all(&ledger, id, 3).await;
    let tokens: BTreeSet<i64> = leases.iter().map(|lease| lease.key.sequence).collect();
    let segments = leases.iter().flat_map(|lease| &lease.segments);
    let segments: BTreeSet<u64> = segments.map(|lent| lent.segment).collect();
    assert_eq!((tokens.len(), segments.len()), (60, 180));
    assert_lawful(&ledger, &campaign).await;

    // A few hand in what cannot be: they are refused, and nobody else.
    let verdicts = all_at_once(|number| {
        let (ledger, lease) = (
            ledger.clone(),
            leases[usize::try_from(number).unwrap()].clone(),
        );
        async move {
            let mut tallies = deliveries(&lease);
            match number % 10 {
                3 => tallies.push(delivery(100_000, 4096)),
                5 => tallies[1].tally.cells.clear(),
                _ => {}
            }
            let mut token = lease.key;
            token.secret[0] ^= u8::from(number % 10 == 7);
            ledger.deliver_one(token, &tallies).await
        }
    });
    for (number, verdict) in (0..).zip(verdicts.await) {
        match number % 10 {
            3 => assert!(matches!(verdict, Err(LedgerError::NotLent(100_000)))),
            5 => assert!(matches!(verdict, Err(LedgerError::Tally { .. }))),
            7 => assert!(matches!(verdict, Err(LedgerError::NotHeld(_)))),
            _ => assert_eq!(verdict.unwrap(), [DeliveryOutcome::Accepted; 3]),
        }
    }
    let snapshot = assert_lawful(&ledger, &campaign).await;
    assert_eq!(snapshot.counts.accepted, 3 * (CROWD - 18));

    // Handed in as it should be, twice: the rest fills its segments, and nothing counts twice.
    let again = all_at_once(|number| {
        let (ledger, lease) = (
            ledger.clone(),
            leases[usize::try_from(number).unwrap()].clone(),
        );
        async move {
            let tallies = deliveries(&lease);
            let (one, other) = tokio::join!(
                ledger.deliver_one(lease.key, &tallies),
                ledger.deliver_one(lease.key, &tallies)
            );
            [one.unwrap(), other.unwrap()].concat()
        }
    });
    for verdicts in again.await {
        let filled = verdicts
            .iter()
            .filter(|&&one| one == DeliveryOutcome::Accepted)
            .count();
        assert!([0, 3].contains(&filled), "{verdicts:?}");
        assert!(
            verdicts
                .iter()
                .all(|one| [DeliveryOutcome::Accepted, DeliveryOutcome::Repeat].contains(one))
        );
    }
    let ended = all_at_once(|number| {
        let (ledger, token) = (ledger.clone(), leases[usize::try_from(number).unwrap()].key);
        async move { ledger.end_one(token).await }
    });
    assert!(
        ended
            .await
            .into_iter()
            .all(|returned| returned.unwrap() == 0)
    );
    assert!(ledger.snapshot(id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn what_a_crowd_gives_back_waits_for_the_next() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger
        .submit(&submission(1, CROWD * 4 * 4096))
        .await
        .unwrap();
    let leases = claim_all(&ledger, &campaign.id, 2).await;
    let returned = all_at_once(|number| {
        let (ledger, lease) = (
            ledger.clone(),
            leases[usize::try_from(number).unwrap()].clone(),
        );
        async move {
            ledger
                .deliver_one(lease.key, &deliveries(&lease)[..1])
                .await
                .unwrap();
            ledger.end_one(lease.key).await.unwrap()
        }
    });
    assert_eq!(returned.await, [1; 60]);
    let counts = assert_lawful(&ledger, &campaign).await.counts;
    assert_eq!(
        (counts.accepted, counts.returned, counts.leased),
        (60, 60, 0)
    );
    for lease in claim_all(&ledger, &campaign.id, 3).await {
        ledger
            .deliver_one(lease.key, &deliveries(&lease))
            .await
            .unwrap();
    }
    assert!(ledger.snapshot(&campaign.id).await.unwrap().is_complete());
    assert_sound(&ledger, &campaign).await;
}

#[tokio::test]
async fn a_heartbeat_tells_how_the_lease_stands() {
    let server = Server::shared().await;
    let ledger = server.fresh().await.ledger().await;
    let (campaign, _) = ledger
        .submit(&submission(1, CROWD * 4 * 4096))
        .await
        .unwrap();
    join_all(&ledger).await;
    let leases = claim_all(&ledger, &campaign.id, 1).await;
    let beat = async |shift: u8| {
        let beats = all_at_once(|number| {
            let (ledger, lease) = (
                ledger.clone(),
                leases[usize::try_from(number).unwrap()].clone(),
            );
            async move {
                let mut token: LeaseKey = lease.key;
                token.secret[0] = token.secret[0].wrapping_add(shift);
                ledger
                    .beat_one(token, &format!("w-{number}"), LONG)
                    .await
                    .unwrap()
            }
        });
        beats.await
    };
    assert_eq!(beat(0).await, [Heartbeat::Extended; 60]);
    assert_eq!(beat(1).await, [Heartbeat::NotHeld; 60], "another's token");
    ledger.end_one(leases[4].key).await.unwrap();
    ledger.drain_worker("w-5", "op", 60_000).await.unwrap();
    let beats = beat(0).await;
    assert_eq!(
        beats[3..7],
        [
            Heartbeat::Extended,
            Heartbeat::NotHeld,
            Heartbeat::Drained,
            Heartbeat::Extended
        ]
    );
    ledger
        .set_pace(&campaign.id, CampaignState::Cancelled, "op")
        .await
        .unwrap();
    assert_eq!(beat(0).await[3], Heartbeat::Cancelled);
}
